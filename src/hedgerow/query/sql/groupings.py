"""ROLLUP, CUBE and GROUPING SETS: which groupings they stand for, and a question with one of them."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sqlglot import exp

from hedgerow.errors import QueryError
from hedgerow.query.sql.strict import is_set

__all__ = ["SpelledKeys", "bare_text", "groupings_of", "has_groupings", "one_grouping", "plain_names"]

_PARTS = ("rollup", "cube", "grouping_sets")
_SEVERAL = (exp.Rollup, exp.Cube, exp.GroupingSets)
_MARKS = (exp.Grouping, exp.GroupingId)
_MOST_KEYS = 7
Keys = tuple[exp.Expression, ...]
TWICE = "GROUP BY names one expression in two ways; group by it once, with one name"


def has_groupings(select: exp.Select) -> bool:
    """Tell whether GROUP BY has ROLLUP, CUBE or GROUPING SETS."""
    group = select.args.get("group")
    return group is not None and group.find(*_SEVERAL) is not None


def groupings_of(select: exp.Select, columns: Collection[str]) -> list[Keys] | None:
    """The groupings of a GROUP BY, each as its keys, which name selected expressions unless a column is called so.

    None where there is only one. What GROUPING names is written out as the keys are.
    """
    group = select.args.get("group")
    if not isinstance(group, exp.Group):
        return None
    # Where they stand in the tree depends on the parser's version.
    several = [item for item in group.expressions if isinstance(item, _SEVERAL)]
    several += [item for part in _PARTS for item in group.args.get(part) or []]
    if not several:
        return None
    if any(is_set(content) for part, content in group.args.items() if part not in ("expressions", *_PARTS)):
        raise QueryError("GROUP BY takes columns, ROLLUP, CUBE and GROUPING SETS")
    selected = [item.this if isinstance(item, exp.Alias) else item for item in select.expressions]
    known = {name.lower() for name in columns}
    aliases = {item.alias.lower(): item.this for item in select.expressions if isinstance(item, exp.Alias)}

    def resolve(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
            if not 1 <= int(node.this) <= len(selected):
                raise QueryError(f"GROUP BY {node.this[:9]} must be the position of a selected column, counted from 1")
            place: exp.Expression = selected[int(node.this) - 1].copy()
            return place
        meant: exp.Expression | None = (
            aliases.get(node.name.lower()) if isinstance(node, exp.Column) and not node.table else None
        )
        return meant.copy() if meant is not None and node.name.lower() not in known else node

    spellings: dict[str, str] = {}

    def key(node: exp.Expression) -> exp.Expression:
        found, spelling = resolve(node), bare_text(node, keeps_tables=True)
        if spellings.setdefault(bare_text(found), spelling) != spelling:
            raise QueryError(TWICE)
        return found

    plain = tuple(key(item) for item in group.expressions if not isinstance(item, _SEVERAL))
    parts = [[plain], *([tuple(map(key, keys)) for keys in _sets(item)] for item in several)]
    for item in selected:
        if isinstance(item, _MARKS):
            item.set("expressions", [resolve(part) for part in item.expressions])
            if any(bare_text(part) not in spellings for part in item.expressions):
                raise QueryError("GROUPING takes what GROUP BY has: SELECT a, grouping(a) ... GROUP BY ROLLUP (a)")
    return [tuple(dict.fromkeys(itertools.chain(*chosen))) for chosen in itertools.product(*parts)]


def _sets(node: exp.Expression) -> Iterator[Keys]:
    """The groupings of one part."""
    if isinstance(node, exp.Rollup | exp.Cube):
        if any(is_set(content) for part, content in node.args.items() if part != "expressions") or not node.expressions:
            raise QueryError("write ROLLUP (a, b) or CUBE (a, b)")
        items = [_keys(item) for item in node.expressions]
        if len(items) > _MOST_KEYS:
            raise QueryError(f"ROLLUP and CUBE take at most {_MOST_KEYS} columns")
        sizes = range(len(items), -1, -1)
        if isinstance(node, exp.Rollup):
            chosen = [tuple(items[:size]) for size in sizes]
        else:
            chosen = [part for size in sizes for part in itertools.combinations(items, size)]
        for part in chosen:
            yield tuple(itertools.chain(*part))
    elif isinstance(node, exp.GroupingSets):
        for item in node.expressions:
            if isinstance(item, exp.Rollup | exp.Cube | exp.GroupingSets):
                yield from _sets(item)
            else:
                yield _keys(item)
    else:
        raise QueryError("GROUP BY takes columns, ROLLUP, CUBE and GROUPING SETS")


def _keys(node: exp.Expression) -> Keys:
    if isinstance(node, exp.Tuple):
        return tuple(node.expressions)
    return (node.this,) if isinstance(node, exp.Paren) else (node,)


def one_grouping(
    select: exp.Select, names: Sequence[str], keys: Sequence[exp.Expression], groupings: Sequence[Keys]
) -> tuple[exp.Select, dict[str, int]]:
    """The question grouped by some of the keys; what GROUPING says of them, by the name of the result."""
    asked, marks, items = select.copy(), {}, []
    columns = [bare_text(key) for key in keys]
    every = {bare_text(key) for grouping in groupings for key in grouping}
    for item, name in zip(asked.expressions, names, strict=True):
        plain = item.this if isinstance(item, exp.Alias) else item
        if isinstance(plain, _MARKS):
            marks[name] = sum(
                (bare_text(part) not in columns) << place for place, part in enumerate(reversed(plain.expressions))
            )
        elif bare_text(plain) in columns or bare_text(plain) not in every:
            # A sub-query would take the name for itself, and lose it with its place.
            items.append(exp.Alias(this=plain.copy(), alias=exp.to_identifier(name, quoted=True)))
    asked.set("expressions", items)
    asked.set("group", exp.Group(expressions=[key.copy() for key in keys]) if keys else None)
    for clause in ("order", "limit", "offset"):
        asked.set(clause, None)
    if asked.args.get("having") is not None:
        _write_missing(asked.args["having"], every.difference(columns))
    return asked, marks


def _write_missing(having: exp.Expression, missing: Collection[str]) -> None:
    """Keys that a grouping does not have are NULL in HAVING."""
    nodes: list[Any] = list(having.walk(prune=lambda node: isinstance(node, exp.AggFunc | exp.WithinGroup | exp.Query)))
    for node in nodes:
        if not isinstance(node, exp.AggFunc | exp.Literal | exp.Having) and bare_text(node) in missing:
            node.replace(exp.Null())


def plain_names(items: Sequence[exp.Expression]) -> list[str]:
    """Names of columns, and of functions of one column: `sum_x`, `count`; no such one if two are equal."""
    names = [_plain_name(item) for item in items]
    columns = [name for name, item in zip(names, items, strict=True) if isinstance(item, exp.Column)]
    return [
        name if (columns if isinstance(item, exp.Column) else names).count(name) == 1 else ""
        for name, item in zip(names, items, strict=True)
    ]


def _plain_name(item: exp.Expression) -> str:
    if isinstance(item, exp.Column):
        return str(item.name)
    inner = item.this if isinstance(item, exp.Count | exp.Sum | exp.Avg | exp.Min | exp.Max) else None
    if isinstance(inner, exp.Star):
        return str(item.key)
    return f"{item.key}_{inner.name}" if isinstance(inner, exp.Column) else ""


def bare_text(node: exp.Expression, *, keeps_tables: bool = False) -> str:
    """What tells keys apart: their text without the table's name and without the case of names."""
    copied = node.copy()
    for column in copied.find_all(exp.Column):
        if not keeps_tables:
            column.set("table", None)
        column.this.set("this", column.name.lower())
    return str(copied.sql(normalize=True, identify=True))


class SpelledKeys:
    """Refuses what ROLLUP, CUBE and GROUPING SETS name twice: they tell keys apart by names, which are replaced."""

    def __init__(self, select: exp.Select) -> None:
        self._group = select.args["group"] if has_groupings(select) else None
        self._names: dict[str, str] = {}

    def check_result(self, meant: exp.Expression) -> None:
        """The name of a result stands for what is a key itself."""
        nodes = [] if self._group is None else self._group.find_all(type(meant))
        if any(bare_text(node) == bare_text(meant) for node in nodes):
            raise QueryError(TWICE)

    def check_column(self, column: exp.Column, meant: exp.Expression) -> None:
        """Two names, of a sub-query or of joined tables, stand for one column."""
        is_key = self._group is not None and column.find_ancestor(exp.Group, exp.Select) is self._group
        spelling = bare_text(column, keeps_tables=True)
        if is_key and self._names.setdefault(bare_text(meant), spelling) != spelling:
            raise QueryError(TWICE)
