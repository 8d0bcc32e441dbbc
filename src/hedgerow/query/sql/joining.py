"""JOIN with tables that an analyst brings along: their columns become functions of the key's columns.

An inner JOIN keeps the rows that have a match; a LEFT JOIN keeps all, with NULL where there is none.

A column of a table that an analyst brings along is a function of a unique key's columns, so that it is known of a row
where these are, and hidden where one of them is. No text and no value of it reaches a release or a database: it is
looked up in arrays.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from hedgerow.errors import QueryError
from hedgerow.exact import floats_of
from hedgerow.query.sql.bind import check_forms
from hedgerow.query.sql.groupings import SpelledKeys
from hedgerow.query.sql.kinds import MOST_DIGITS
from hedgerow.query.sql.question import DECIMAL_DIGITS, Column, Expression, Kind, Lookup, kind_of
from hedgerow.query.sql.strict import is_set

__all__ = ["FOREIGN", "Joined", "Joins", "grouped_names", "join", "names_result", "own_nodes", "own_tables"]

_numbers = itertools.count()
_TYPES = {
    Kind.BOOL: pa.bool_(),
    Kind.INT: pa.int64(),
    Kind.DECIMAL: pa.float64(),
    Kind.FLOAT: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.timestamp("us"),
}


def own_tables(tables: Mapping[str, Any] | None) -> dict[str, pa.Table]:
    """Take frames of pandas, polars or Arrow by name, each column as a kind that questions know, or not at all."""
    found: dict[str, pa.Table] = {}
    for name, frame in (tables or {}).items():
        if not isinstance(name, str) or name.lower() in ("release", *found):
            raise QueryError(f"a table of your own cannot be called '{name}'; that name has a meaning already")
        try:
            table = frame if isinstance(frame, pa.Table) else pa.table(frame)
        except (TypeError, ValueError, pa.ArrowInvalid):
            raise QueryError(f"'{name}' is no table: give a frame of pandas, polars or Arrow, or a file") from None
        lowered = [column.lower() for column in table.column_names]
        twice = next((column for column in lowered if lowered.count(column) > 1), None)
        if twice is not None:
            raise QueryError(f"table '{name}' has two columns '{twice[:60]}', upper and lower case aside; rename one")
        columns = {column: _plain(table.column(column)) for column in table.column_names}
        known = pa.table({column: array for column, array in columns.items() if array is not None})
        others = {column: str(table.schema.field(column).type) for column in columns if columns[column] is None}
        found[name.lower()] = known.replace_schema_metadata(others)
    return found


def kind_in(array: pa.Array) -> Kind:
    """The kind of a column of one's own, when it is plain."""
    if pa.types.is_decimal(array.type):
        return Kind.FLOAT  # they are looked up as the nearest floats
    return next(kind for kind, arrow in _TYPES.items() if kind is not Kind.DECIMAL and arrow == array.type)


def _plain(column: pa.ChunkedArray) -> pa.Array | None:
    """One array of a type that questions know; None for other types."""
    array = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    tests = {
        Kind.BOOL: pa.types.is_boolean,
        Kind.INT: pa.types.is_integer,
        Kind.DECIMAL: pa.types.is_decimal,
        Kind.FLOAT: pa.types.is_floating,
        Kind.TEXT: lambda t: pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t),
        Kind.DATE: pa.types.is_date,
        Kind.TIME: lambda t: pa.types.is_timestamp(t) and t.tz is None,
    }
    kind = next((kind for kind, test in tests.items() if test(array.type)), None)
    if kind is Kind.DECIMAL:
        return _told_apart(array)
    try:
        plain = None if kind is None else floats_of(array) if kind is Kind.FLOAT else array.cast(_TYPES[kind])
    except pa.ArrowInvalid:
        return None
    if kind is Kind.FLOAT and plain is not None:
        return pc.if_else(pc.is_finite(plain), plain, pa.scalar(None, pa.float64()))  # frames write NaN for missing
    return plain


def _told_apart(decimals: pa.Array) -> pa.Array | None:
    """Decimal numbers of which each has a float of its own."""
    scale = decimals.type.scale
    if (pc.max(pc.abs(decimals)).as_py() or 0) >= Decimal(10) ** (MOST_DIGITS - scale) or scale > DECIMAL_DIGITS:
        return None
    return decimals.cast(pa.decimal128(max(MOST_DIGITS, scale), max(0, scale)))


@dataclass(frozen=True, eq=False)
class Joined:
    """A table of one's own with its key: columns of the same kinds as those that are looked up."""

    name: str
    table: pa.Table
    keys: tuple[pa.Array, ...]
    number: int = field(default_factory=lambda: next(_numbers))

    def values(self, column: str, operands: Sequence[pa.Array]) -> pa.Array:
        """The value of a column for each key, missing without a match; the column '' tells whether there is one."""
        rows = self._rows(operands)
        if not column:
            return pc.is_valid(rows)
        found = self.table.column(column).combine_chunks().take(rows)
        return floats_of(found) if pa.types.is_decimal(found.type) else found

    def _rows(self, operands: Sequence[pa.Array]) -> pa.Array:
        sides = [
            floats_of(operand) if pa.types.is_floating(key.type) else operand.cast(key.type)
            for operand, key in zip(operands, self.keys, strict=True)
        ]
        return pc.index_in(*_as_one(sides, self.keys)).cast(pa.int64())


def _as_one(sides: Sequence[pa.Array], keys: Sequence[pa.Array]) -> tuple[pa.Array, pa.Array]:
    """Several columns as one: places among the values of each key, in one number."""
    if len(keys) == 1:
        return sides[0], keys[0]
    looked, known = pa.scalar(0, pa.int64()), pa.scalar(0, pa.int64())
    for side, key in zip(sides, keys, strict=True):
        listed = key.unique()
        places = [pc.index_in(part, value_set=listed).cast(pa.int64()) for part in (side, key)]
        looked, known = (
            pc.add(pc.multiply(total, pa.scalar(len(listed) + 1, pa.int64())), place)
            for total, place in zip((looked, known), places, strict=True)
        )
    return looked, known


def join(name: str, table: pa.Table, on: Sequence[tuple[str, Kind]]) -> Joined:
    """Fit a table to the kinds of what its key is compared with; refuse a key that is not unique."""
    keys = [_key(name, table, column, kind) for column, kind in on]
    present = pc.and_(*(pc.is_valid(key) for key in keys)) if len(keys) == 2 else _all_valid(keys)
    rows = pc.indices_nonzero(present)
    kept = [key.take(rows) for key in keys]
    _, one = _as_one(kept, kept)
    if len(one.unique()) < len(one):
        columns = " and ".join(f"'{column}'" for column, _ in on)
        raise QueryError(
            f"table '{name}' has several rows for one value of {columns}, so that rows would be counted twice; a table "
            "that is joined has one row for each key"
        )
    return Joined(name, table.take(rows), tuple(kept))


def _all_valid(keys: Sequence[pa.Array]) -> pa.Array:
    valid = pc.is_valid(keys[0])
    for key in keys[1:]:
        valid = pc.and_(valid, pc.is_valid(key))
    return valid


def _key(name: str, table: pa.Table, column: str, kind: Kind) -> pa.Array:
    array = table.column(column).combine_chunks()
    own = kind_in(array)
    numbers = (Kind.INT, Kind.FLOAT, Kind.DECIMAL)
    if own is not kind and not (own in numbers and kind in numbers):
        raise QueryError(f"'{column}' of table '{name}' holds a {own}, and what it is compared with a {kind}")
    if own is Kind.INT and kind is Kind.INT:
        return array
    return floats_of(array) if own in numbers else array  # as SQL compares whole numbers with floats


FOREIGN = "\1"
"""How the name of a column of a joined table starts; no column that is published is called so."""
_UNREAD = "\2"
"""How what stands for a column starts whose type questions do not know; the type follows."""
_ARGUMENTS = ("this", "on", "using", "side", "kind")
_CONDITIONS = {
    "SEMI": "WHERE release.a IN (SELECT a FROM t)",
    "ANTI": "FROM release LEFT JOIN t USING (a) WHERE t.a IS NULL",
}
_SAY = "tables of your own are joined on equal columns: FROM release JOIN t ON release.a = t.a, or USING (a)"


def own_nodes(tree: exp.Expression, kind: type[Any]) -> Iterator[Any]:
    """Nodes of a SELECT that do not belong to a sub-query inside it; the sub-queries themselves do."""
    for node in tree.walk(prune=lambda node: node is not tree and isinstance(node, exp.Query | exp.With)):
        if isinstance(node, kind) and node is not tree:
            yield node


@dataclass
class Joins:
    """Reads the joins of a question; `closed` says why rows have no single value of a column, or nothing."""

    columns: Mapping[str, Column]
    tables: Mapping[str, pa.Table]
    closed: Callable[[str], str | None]
    lookups: dict[str, Lookup]

    def merge(self, select: exp.Select, alias: str) -> exp.Select:
        """Replace JOIN by conditions and the columns of joined tables by lookups."""
        joins = select.args.get("joins") or []
        if not joins:
            return select
        if any(isinstance(item, exp.Star) for item in select.expressions):
            raise QueryError("* cannot be used with JOIN; name the columns")
        select.set("joins", None)
        lowered = [name.lower() for name in self.columns]
        scope = _Scope(
            {
                alias: {
                    low: name if lowered.count(low) == 1 else ""
                    for low, name in zip(lowered, self.columns, strict=True)
                }
            }
        )
        for node in joins:
            self._add(select, node, scope)
        _rename(select, scope)
        return select

    def _add(self, select: exp.Select, node: exp.Join, scope: _Scope) -> None:
        kind, side = (str(node.args.get(part) or "").upper() for part in ("kind", "side"))
        if any(is_set(content) for part, content in node.args.items() if part not in _ARGUMENTS):
            raise QueryError(_SAY)
        if kind in _CONDITIONS:
            raise QueryError(f"{kind} JOIN is a condition; write {_CONDITIONS[kind]}")
        if (side, kind) not in (("", ""), ("", "INNER"), ("LEFT", ""), ("LEFT", "OUTER")):
            raise QueryError(
                f"a {side or kind} JOIN adds rows that the release does not have; JOIN and LEFT JOIN do not"
            )
        table, alias = self._table(node.this, scope)
        own = {name.lower(): name for name in table.column_names}
        pairs = [self._pair(left, right, own, alias, scope) for left, right in _equations(node, alias, own)]
        operands = tuple(operand for operand, _ in pairs)
        kinds = [(column, kind_of(operand) or Kind.TEXT) for operand, column in pairs]
        for operand, (column, kind) in zip(operands, kinds, strict=True):
            if kind is Kind.TEXT and isinstance(operand, Column):
                check_forms(operand, table.column(column).unique().to_pylist())
        joined = join(node.this.name, table, kinds)
        names = {}
        for lowered, name in own.items():
            names[lowered] = f"{FOREIGN}{alias}.{name}"
            array = table.column(name).combine_chunks()
            scale = array.type.scale if pa.types.is_decimal(array.type) else None
            self.lookups[names[lowered]] = Lookup(joined, name, operands, kind_in(array), scale)
        for other, kind_name in (table.schema.metadata or {}).items():
            names[other.decode().lower()] = f"{_UNREAD}{kind_name.decode()}"
        match = f"{FOREIGN}{alias}."
        self.lookups[match] = Lookup(joined, "", operands, Kind.BOOL)
        scope.add(alias, names, {str(part.name).lower() for part in node.args.get("using") or []})
        if side != "LEFT":
            own_condition = select.args.get("where")
            is_matched = exp.EQ(this=_column(match), expression=exp.Boolean(this=True))
            both = (
                exp.And(this=exp.Paren(this=own_condition.this), expression=is_matched) if own_condition else is_matched
            )
            select.set("where", exp.Where(this=both))

    def _table(self, node: exp.Expression, scope: _Scope) -> tuple[pa.Table, str]:
        extras = {part for part, content in node.args.items() if is_set(content)} - {"this", "alias"}
        known = self.tables.get(node.name.lower()) if isinstance(node, exp.Table) and not extras else None
        if known is None:
            listed = ", ".join(sorted(self.tables)) or "none: give them as tables={'name': frame}, or --table name=FILE"
            raise QueryError(f"only tables of your own can be joined with the release; there are {listed}")
        alias = node.alias_or_name.lower()
        if alias in scope.places:
            raise QueryError(f"two tables are called '{alias}'; name one of them with AS")
        return known, alias

    def _pair(
        self, left: exp.Column, right: exp.Column, own: Mapping[str, str], alias: str, scope: _Scope
    ) -> tuple[Expression, str]:
        """What a column of the table is compared with, and that column."""
        sides = [left, right]
        mine = [side for side in sides if _belongs(side, own, alias, scope)]
        if len(mine) != 1:
            raise QueryError(_SAY)
        (other,) = (side for side in sides if side is not mine[0])
        name = scope.resolve(other)
        if name is None:
            raise QueryError(f"there is no column '{other.name[:60]}' to join on")
        return self._operand(name), own[mine[0].name.lower()]

    def _operand(self, name: str) -> Expression:
        if name in self.lookups:
            return self.lookups[name]
        reason = self.closed(name)
        if reason is not None:
            raise QueryError(f"'{name}' {reason}; join on another column")
        if self.columns[name].digits > MOST_DIGITS:
            raise QueryError(f"'{name}' has more digits than floats tell apart; join on another column")
        return self.columns[name]


@dataclass
class _Scope:
    """Names of columns by the table that they belong to; `hidden` ones are only found with the table's name.

    A name in lower case that stands for two columns has the name "".
    """

    places: dict[str, dict[str, str]]
    hidden: set[str] = field(default_factory=set)

    def add(self, alias: str, names: dict[str, str], used: set[str]) -> None:
        self.places[alias] = names
        self.hidden |= {names[name] for name in used if name in names}

    def resolve(self, column: exp.Column) -> str | None:
        """The name of a column inside; None if there is none."""
        name = column.name.lower()
        if column.table:
            place = self.places.get(column.table.lower())
            if place is None or name not in place:
                raise QueryError(f"there is no column '{column.name[:60]}' in '{column.table[:60]}'")
            return _single(place[name], column)
        found = [place[name] for place in self.places.values() if name in place and place[name] not in self.hidden]
        if len(found) > 1:
            raise QueryError(f"'{column.name[:60]}' is a column of two tables; write the table's name before it")
        return _single(found[0], column) if found else None


def _single(name: str, column: exp.Column) -> str:
    if not name:
        raise QueryError(f"two columns are called '{column.name[:60]}', upper and lower case aside; JOIN needs one")
    if name.startswith(_UNREAD):
        raise QueryError(
            f"'{column.name[:60]}' of a joined table has a type that questions do not know ({name[1:60]}), or numbers "
            "with more digits than floats have; cast it"
        )
    return name


def _equations(node: exp.Join, alias: str, own: Mapping[str, str]) -> list[tuple[exp.Column, exp.Column]]:
    """Pairs of columns that must be equal."""
    using, on = node.args.get("using"), node.args.get("on")
    if using and on is None:
        names = [part.name for part in using]
        missing = next((name for name in names if name.lower() not in own), None)
        if missing is not None:
            raise QueryError(f"there is no column '{missing[:60]}' in '{alias}'")
        return [(exp.column(name), exp.column(name, table=alias)) for name in names]
    pairs = []
    waiting = [on]
    while waiting:
        part = waiting.pop()
        if isinstance(part, exp.And):
            waiting += [part.this, part.expression]
        elif isinstance(part, exp.Paren):
            waiting.append(part.this)
        elif isinstance(part, exp.EQ) and isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Column):
            pairs.append((part.this, part.expression))
        else:
            raise QueryError(_SAY)
    return pairs


def _belongs(column: exp.Column, own: Mapping[str, str], alias: str, scope: _Scope) -> bool:
    """Tell whether a column is one of the table that is joined."""
    if column.table:
        return column.table.lower() == alias and column.name.lower() in own
    elsewhere = any(column.name.lower() in place for place in scope.places.values())
    return column.name.lower() in own and not elsewhere


def grouped_names(select: exp.Select) -> set[str]:
    """Columns that GROUP BY names, in lower case: by name, by place, in brackets, or by ALL."""
    group = select.args.get("group")
    if group is None:
        return set()
    selected = [item.unalias() for item in select.expressions]
    keys = selected if is_set(group.args.get("all")) else [_at(key, selected) for key in _leaves(group)]
    return {key.name.lower() for key in keys if isinstance(key, exp.Column)}


def _leaves(node: exp.Expression) -> Iterator[exp.Expression]:
    """What GROUP BY, ROLLUP, CUBE and GROUPING SETS list."""
    for item in node.iter_expressions():
        if isinstance(item, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple | exp.Paren):
            yield from _leaves(item)
        else:
            yield item


def _at(key: exp.Expression, selected: Sequence[exp.Expression]) -> exp.Expression:
    """What is selected at a place."""
    is_place = isinstance(key, exp.Literal) and key.this.isdecimal() and 1 <= int(key.this[:6]) <= len(selected)
    return selected[int(key.this[:6]) - 1] if is_place else key


def names_result(column: exp.Column, grouped: Collection[str]) -> bool:
    """Tell whether a name that is that of a result means it: alone in ORDER BY, or in HAVING if not grouped by."""
    clause = column.find_ancestor(exp.Having, exp.Order, exp.AggFunc, exp.Filter, exp.Select)
    if column.table or not isinstance(clause, exp.Having | exp.Order) or isinstance(clause.parent, exp.WithinGroup):
        return False
    return isinstance(column.parent, exp.Ordered) or column.name.lower() not in grouped


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))


def _own_name(name: str) -> str:
    """What a column inside is called in its table."""
    return name.partition(".")[2] if name.startswith(FOREIGN) else name


def _rename(select: exp.Select, scope: _Scope) -> None:
    items = []
    for item in select.expressions:
        known = scope.resolve(item) if isinstance(item, exp.Column) else None
        called = item.name if known is None else _own_name(known)
        items.append(exp.alias_(item.copy(), called, quoted=True) if isinstance(item, exp.Column) else item)
    select.set("expressions", items)
    results = {item.alias.lower() for item in items if isinstance(item, exp.Alias)}
    grouped, spelled = grouped_names(select), SpelledKeys(select)
    for column in list(own_nodes(select, exp.Column)):
        if column.name.startswith(FOREIGN) or (column.name.lower() in results and names_result(column, grouped)):
            continue
        name = scope.resolve(column)
        if name is not None:
            spelled.check_column(column, _column(name))
            column.replace(_column(name))
