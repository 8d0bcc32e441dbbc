"""Random questions in which names and places could mean several things, judged by DuckDB's rules of names.

A question over known columns alone has one answer, so that the whole table of results must be DuckDB's over the
original table: the names of its columns, its rows in the order that ORDER BY says, every cell. Names of results come
from a small pool that holds the names of columns in other cases, and keywords. Where a question asks for the sensitive
column, too, what is exact must be equal and the rest lie inside the bounds.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from hedgerow.errors import QueryError
from hedgerow.query import Session
from hedgerow.query.answer import Answer, Result
from hedgerow.release import Release
from tests.support.assignments import release_of
from tests.support.every_form import as_padded
from tests.support.form_worlds import as_separated
from tests.support.truth import contradiction_of, database_of

__all__ = ["NAME_FORMS", "NameQuestion", "NameQuestions", "judge", "name_sample"]

NAME_FORMS: dict[str, Callable[[Release], Release]] = {
    "permuted": lambda release: release,
    "separated": as_separated,
    "padded": as_padded,
}
"""Forms that publish known columns as they are, together."""

_POOL = ("a", "A", "b", '"B"', "town", "Town", '"count"', '"order"', "n", "N", "x", "w", "g", "s")
_KEYWORDS = ("count", "order")
_Choice = TypeVar("_Choice")


def name_sample(rng: random.Random, form: str) -> tuple[Release, dict[str, pa.Table]]:
    """A release, and the tables of a question to it: the original one, and two of one's own with the same names."""
    rows = rng.randrange(6, 30)
    columns = {
        "a": pa.array([rng.choice([None, 0, 1, 2, 3]) for _ in range(rows)], pa.int64()),
        "B": pa.array([rng.choice([None, 1, 2, 5]) for _ in range(rows)], pa.int64()),
        "Town": pa.array([rng.choice([None, "Bern", "Biel", "Chur"]) for _ in range(rows)], pa.string()),
        "count": pa.array([rng.randrange(4) for _ in range(rows)], pa.int64()),
        "s": pa.array([rng.randrange(9) for _ in range(rows)], pa.int64()),
    }
    labels = [row // 3 for row in range(rows)]
    region = pa.table({"town": ["Bern", "Biel", "Genf"], "a": [7, 8, None], "W": [1, 1, 2], "n": [3, None, 4]})
    steps = pa.table({"b": [1, 2, 3], "Count": ["one", "two", None], "A": [2, 1, 0]})
    tables = {"release": pa.table(columns), "region": region, "steps": steps}
    return NAME_FORMS[form](release_of(columns, labels, sensitive="s", plain=["count"])), tables


@dataclass(frozen=True)
class _Named:
    """A column of what a SELECT is about; open ones are known of every row, others are numbers of a sub-query."""

    name: str
    kind: str
    is_open: bool = True
    of: str = ""
    is_joined: bool = False


@dataclass(frozen=True)
class _Item:
    """An entry of a select list: its text, the name that it is given, and what it is."""

    text: str
    alias: str
    sort: str
    kind: str

    @property
    def sql(self) -> str:
        """As it is selected."""
        return f"{self.text} AS {self.alias}" if self.alias else self.text


@dataclass(frozen=True)
class NameQuestion:
    """A question, and what is known of its answer: whether its rows have an order, and whether some may be cut off."""

    text: str
    is_ordered: bool
    is_cut: bool


@dataclass
class NameQuestions:
    """Draws questions; with `hides` the sensitive column is one of those that are asked about."""

    rng: random.Random
    hides: bool = False
    ctes: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def question(self) -> NameQuestion:
        """One question, or parts of UNION ALL."""
        self.ctes = []
        is_union = self._chance(0.15)
        if is_union:
            width = self.rng.randrange(1, 4)
            parts = [self._select(sorts=self._sorts(width)) for _ in range(2)]
            body, items, is_cut = " UNION ALL ".join(part for part, _, _ in parts), parts[0][1], False
            is_cut = any(cut for _, _, cut in parts)
        else:
            body, items, is_cut = self._select()
        order, is_total = self._order(items, only_names=is_union)
        limit = ""
        if is_total and self._chance(0.5):
            limit = f" LIMIT {self.rng.randrange(1, 5)}" + (" OFFSET 1" if self._chance(0.4) else "")
        clauses = f"WITH {', '.join(self.ctes)} " if self.ctes else ""
        return NameQuestion(f"{clauses}{body}{order}{limit}", is_total, bool(limit) or is_cut)

    def _chance(self, share: float) -> bool:
        return self.rng.random() < share

    def _one(self, *choices: _Choice) -> _Choice:
        return self.rng.choice(choices)

    def _spelled(self, name: str) -> str:
        """A name in some case, or in quotes as it is."""
        if name.lower() in _KEYWORDS:
            return f'"{name}"'
        return self._one(name, name, name.lower(), name.upper(), f'"{name}"')

    # What a SELECT is about.

    def _source(self, depth: int = 2) -> tuple[str, list[_Named]]:
        """The text behind FROM, and its columns."""
        kind = self.rng.random()
        if depth == 0 or kind < 0.45:
            return self._table()
        if kind < 0.55:
            return self._joined()
        body, columns = self._renamed(depth) if kind < 0.8 else self._grouped(depth)
        name = self._one("t", "q", "a", "town") + str(len(self.ctes) + depth)
        if self._chance(0.35):
            self.ctes.append(f"{name} AS ({body})")
            return name, columns
        return f"({body}) AS {name}" if self._chance(0.6) else f"({body})", columns

    def _table(self) -> tuple[str, list[_Named]]:
        alias = self._one("", "", "", " AS r", " a")
        of = alias.split()[-1] if alias else "release"
        plain = [("a", "number"), ("B", "number"), ("Town", "text"), ("count", "number")]
        columns = [_Named(name, kind, of=of) for name, kind in plain]
        return f"release{alias}", columns + ([_Named("s", "number", False, of)] if self.hides else [])

    def _joined(self) -> tuple[str, list[_Named]]:
        source, columns = self._table()
        of, side = columns[0].of, self._one("", "LEFT ")
        table, key, own = self._one(
            ("region", "town", [("town", "text"), ("a", "number"), ("W", "number"), ("n", "number")]),
            ("steps", "b", [("b", "number"), ("Count", "text"), ("A", "number")]),
        )
        alias = self._one(table, table, "j")
        called = table if alias == table else f"{table} AS {alias}"
        if self._chance(0.5):
            on = f"USING ({self._spelled(key)})"
        else:
            on = f"ON {of}.{self._spelled(key.title() if key == 'town' else key)} = {alias}.{key}"
        more = [_Named(name, kind, of=alias) for name, kind in own]
        return f"{source} {side}JOIN {called} {on}", [replace(column, is_joined=True) for column in columns + more]

    def _renamed(self, depth: int) -> tuple[str, list[_Named]]:
        """Rows under other names, perhaps one another's."""
        source, columns = self._source(depth - 1)
        if " JOIN " not in source and self._chance(0.15):
            return f"SELECT * FROM {source}{self._where(columns)}", columns
        kept = self.rng.sample(columns, self.rng.randrange(1, len(columns) + 1))
        names = [column.name for column in kept]
        self.rng.shuffle(names)
        items, made = [], []
        for column, name in zip(kept, names, strict=True):
            alias = name if self._chance(0.9) else self.rng.choice(_POOL).strip('"')
            text = self._column(column)
            text = f"{text} + 1" if column.kind == "number" and self._chance(0.2) else text
            items.append(text if self._chance(0.15) and " " not in text else f'{text} AS "{alias}"')
            made.append(_Named(alias if " AS " in items[-1] else column.name, column.kind, column.is_open))
        lowered = [column.name.lower() for column in made]
        made = [column for column in made if lowered.count(column.name.lower()) == 1 or self._chance(0.1)]
        return f"SELECT {', '.join(items)} FROM {source}{self._where(columns)}", made or columns[:1]

    def _grouped(self, depth: int) -> tuple[str, list[_Named]]:
        """Answers of a question, or of several with their columns in another order."""
        if self._chance(0.25):
            sorts = self._sorts(2)
            parts = [self._select(depth - 1, sorts=sorts) for _ in range(2)]
            body, items = " UNION ALL ".join(part for part, _, _ in parts), parts[0][1]
        else:
            body, items, _ = self._select(depth - 1)
        columns = [
            _Named(item.alias.strip('"') or item.text.strip('"'), item.kind, item.sort == "key")
            for item in items
            if item.alias or item.sort == "key"
        ]
        return body, [column for column in columns if " " not in column.name] or [_Named("n", "number", False)]

    def _column(self, column: _Named) -> str:
        text = self._spelled(column.name)
        return f"{column.of}.{text}" if column.of and self._chance(0.9 if column.is_joined else 0.25) else text

    # Selecting.

    def _alias(self) -> str:
        """A name that no other result of this SELECT has, or perhaps one has."""
        free = [name for name in _POOL if name.strip('"').lower() not in self.taken] or _POOL
        alias = self.rng.choice(_POOL if self._chance(0.04) else free)
        self.taken.add(alias.strip('"').lower())
        return alias

    def _sorts(self, width: int) -> list[str]:
        return [self._one("key", "number") for _ in range(width)]

    def _select(self, depth: int = 2, *, sorts: Sequence[str] | None = None) -> tuple[str, list[_Item], bool]:
        """A SELECT with its items, without ORDER BY; and whether HAVING may have chosen its rows."""
        source, columns = self._source(depth)
        self.taken = set()
        keys = [column for column in columns if column.is_open]
        wanted = list(sorts or [self._one("key", "key", "number", "number", "computed", "constant") for _ in range(3)])
        wanted = wanted if sorts else wanted[: self.rng.randrange(1, 4)]
        if sorts is None and "number" not in wanted and "computed" not in wanted:
            wanted.append("number")
        if sorts is None:
            self.rng.shuffle(wanted)
        grouped: list[str] = []
        items = [self._item(sort, keys, columns, grouped, is_named=sorts is not None) for sort in wanted]
        group = self._group(items, keys, grouped)
        if group is None:
            items = [item if item.sort != "key" else self._item("number", keys, columns, []) for item in items]
        having = ""
        if self._chance(0.3):
            having = f" HAVING {self._about_results(items, columns)} {self._one('>', '<', '<>', '>=')} {self._whole()}"
        listed = ", ".join(item.sql for item in items)
        text = f"SELECT {listed} FROM {source}{self._where(columns)}{group or ''}{having}"
        return text, items, bool(having)

    def _item(
        self,
        sort: str,
        keys: Sequence[_Named],
        columns: Sequence[_Named],
        grouped: list[str],
        *,
        is_named: bool = False,
    ) -> _Item:
        alias = self._alias() if is_named or self._chance(0.8) else ""
        kind = "number"
        if sort == "key" and keys:
            column = self.rng.choice(keys)
            text, kind = self._column(column), column.kind
            if self._chance(0.25):
                text = f"{text} % 2" if kind == "number" else f"upper({text})"
                alias = alias or self._alias()
            elif not alias and not column.is_joined:
                text = self._spelled(column.name)
            grouped.append(text)
            return _Item(text, alias, "key", kind)
        if sort == "computed":
            text = self._computed(columns, grouped)
            return _Item(text, alias or self._alias(), "computed", kind)
        if sort == "constant":
            text = self._one("1", "7", "'x'", "NULL", "-2", "TRUE")
            kind = {"'x'": "text", "TRUE": "truth"}.get(text, "number")
            return _Item(text, alias or self._alias(), "constant", kind)
        text, kind = self._aggregate(columns)
        return _Item(text, alias, "number", kind)

    def _aggregate(self, columns: Sequence[_Named]) -> tuple[str, str]:
        numbers = [column for column in columns if column.kind == "number"]
        texts = [column for column in columns if column.kind == "text" and column.is_open]
        if not numbers or self._chance(0.25):
            return "count(*)" + self._filter(columns), "number"
        if texts and self._chance(0.12):
            return f"{self._one('min', 'max')}({self._column(self.rng.choice(texts))})", "text"
        column = self._column(self.rng.choice(numbers))
        text = self._one(
            *(f"{function}({column})" for function in ("sum", "sum", "max", "min", "count", "avg")),
            f"count(DISTINCT {column})",
            f"sum(DISTINCT {column})",
            f"quantile_cont({column}, 0.5)",
            f"percentile_cont(0.5) WITHIN GROUP (ORDER BY {column})",
            f"sum({column} + 1)",
            "count(NULL)",
        )
        return text + self._filter(columns), "number"

    def _filter(self, columns: Sequence[_Named]) -> str:
        return f" FILTER (WHERE {self._condition(columns)})" if self._chance(0.12) else ""

    def _computed(self, columns: Sequence[_Named], grouped: Sequence[str]) -> str:
        one, other = self._aggregate(columns)[0], self._aggregate(columns)[0]
        choices = [
            f"{one} + {other}",
            f"{one} - 1",
            f"abs({one})",
            f"coalesce({one}, 0)",
            f"greatest({one}, {other})",
            f"CASE WHEN {one} > {self._whole()} THEN 1 ELSE 0 END",
            f"{one} > {self._whole()}",
            f"(SELECT {one} FROM release) + {other}",
            "(SELECT max(a) FROM release)",
        ]
        choices += [f"{self.rng.choice(grouped)} + {one}"] * 2 if grouped else []
        return str(self.rng.choice(choices))

    def _whole(self) -> str:
        return str(self.rng.randrange(6))

    def _condition(self, columns: Sequence[_Named]) -> str:
        column = self.rng.choice(
            [column for column in columns if column.is_open] or list(columns) or [_Named("a", "number")]
        )
        text = self._column(column)
        if column.kind != "number":
            return f"{text} {self._one('<>', '>', '=')} 'Biel'" if self._chance(0.8) else f"{text} IS NOT NULL"
        return self._one(
            f"{text} > {self._whole()}",
            f"{text} <> {self._whole()}",
            f"{text} IS NOT NULL",
            f"{text} IN (SELECT a FROM release WHERE b > 1)",
            f"{text} >= (SELECT min(B) FROM release)",
        )

    def _where(self, columns: Sequence[_Named]) -> str:
        return f" WHERE {self._condition(columns)}" if self._chance(0.2) else ""

    def _group(self, items: Sequence[_Item], keys: Sequence[_Named], grouped: list[str]) -> str | None:
        """GROUP BY by name, place or expression; None where nothing is grouped by."""
        chosen = [(place, item) for place, item in enumerate(items, 1) if item.sort == "key"]
        if not chosen:
            if keys and self._chance(0.2):
                return f" GROUP BY {self._spelled(self.rng.choice(keys).name)}"
            return None
        if self._chance(0.12):
            return " GROUP BY ALL"
        parts = [
            self._one(item.text, item.text, str(place), item.alias or item.text, item.alias or str(place))
            for place, item in chosen
        ]
        if keys and self._chance(0.15):
            parts.append(self._spelled(self.rng.choice(keys).name))
        parts = [part.removesuffix(" % 2") if self._chance(0.1) else part for part in parts]
        self.rng.shuffle(parts)
        listed = ", ".join(parts)
        if self._chance(0.12):
            sets = ", ".join(f"({part})" for part in parts)
            return " GROUP BY " + self._one(f"ROLLUP ({listed})", f"CUBE ({listed})", f"GROUPING SETS ({sets}, ())")
        return f" GROUP BY {listed}"

    def _about_results(self, items: Sequence[_Item], columns: Sequence[_Named]) -> str:
        """Something that HAVING or ORDER BY may be about: the name of a result, a key, an aggregate, an expression."""
        names = [item.alias for item in items if item.alias and item.kind == "number"] or ["n"]
        keys = [item.text for item in items if item.sort == "key" and item.kind == "number"] or names
        name = self.rng.choice(names)
        return str(
            self._one(
                name,
                name,
                self.rng.choice(keys),
                self.rng.choice(keys),
                self._aggregate([column for column in columns if column.kind == "number"])[0],
                f"{name} + 1",
                f"{self.rng.choice(keys)} + {self._aggregate(columns)[0]}",
                f"-{name}",
            )
        )

    def _order(self, items: Sequence[_Item], *, only_names: bool = False) -> tuple[str, bool]:
        """ORDER BY, and whether it says the order of all rows that differ."""
        if self._chance(0.3):
            return "", False
        if self._chance(0.07):
            return f" ORDER BY ALL{self._direction()}", True
        places = list(range(1, len(items) + 1))
        self.rng.shuffle(places)
        terms = [str(place) for place in places]
        if self._chance(0.6):
            named = [item.alias or item.text for item in items if item.alias or item.sort == "key"] or ["1"]
            known = [_Named("a", "number"), _Named("B", "number")]
            first = (
                self.rng.choice(named)
                if only_names
                else self._one(self.rng.choice(named), self.rng.choice(named), self._about_results(items, known))
            )
            terms.insert(0, first)
        return " ORDER BY " + ", ".join(term + self._direction() for term in terms), True

    def _direction(self) -> str:
        return self._one("", "", " ASC", " DESC", " DESC NULLS FIRST", " NULLS FIRST", " DESC NULLS LAST")


def judge(session: Session, tables: dict[str, pa.Table], question: NameQuestion, counts: Counter[str]) -> str | None:
    """Say how an answer contradicts DuckDB's; None if it does not, or one of the two refuses."""
    own = {name: table for name, table in tables.items() if name != "release"}
    try:
        found = session.answers(question.text, own)
    except QueryError as error:
        counts["refused"] += 1
        counts[f"refused: {error!s:.60}"] += 1
        return None
    with database_of(**tables) as database:
        try:
            cursor = database.execute(question.text)
            names, truth = [column[0] for column in cursor.description or []], cursor.fetchall()
        except duckdb.Error as error:
            # In an expression of ORDER BY the name of a result that a column has, too, which is not grouped by.
            counts["no truth"] += 1
            counts[f"DuckDB: {str(error).splitlines()[0]:.60}"] += 1
            return None
        counts["answered"] += 1
        is_exact = all(answer.exact for one in found.estimates.values() for answer in one.answers)
        if is_exact and (found.sure is None or all(found.sure)) and not found.is_picked:
            return _difference(found, names, truth, is_ordered=question.is_ordered)
        if question.is_cut or found.is_picked or not _tells_rows_apart(found):
            counts["not judged"] += 1
            return None
        if any(name not in (*found.keys, *found.estimates) for name in names):
            counts["not judged"] += 1
            return _missing_names(found, names)
        counts["bounds"] += 1
        return _missing_names(found, names) or contradiction_of(found, database, question.text)


def _tells_rows_apart(found: Result) -> bool:
    rows = list(zip(*(array.to_pylist() for array in found.keys.values()), strict=True))
    return len(set(rows)) == len(rows) and (bool(rows) or found.cells <= 1)


def _missing_names(found: Result, names: Sequence[str]) -> str | None:
    mine = [*found.keys, *found.estimates]
    if len(mine) != len(names):
        return f"columns {mine}, and in the truth {list(names)}"
    other = [name for name in names if name not in mine]
    return f"no columns {other} among {mine}" if any(name.isidentifier() for name in other) else None


def _difference(found: Result, names: list[str], truth: list[tuple[Any, ...]], *, is_ordered: bool) -> str | None:
    """Compare names and cells; results without a name of their own stand in the order in which they were selected."""
    problem = _missing_names(found, names)
    if problem is not None:
        return problem
    cells = {name: array.to_pylist() for name, array in found.keys.items()}
    cells |= {name: [_single(answer) for answer in one.answers] for name, one in found.estimates.items()}
    rest = iter([name for name in cells if name not in names])
    mine = [cells[name] if name in cells else cells[next(rest)] for name in names]
    rows = [tuple(map(_plain, row)) for row in zip(*mine, strict=True)]
    wanted = [tuple(map(_plain, row)) for row in truth]
    if not is_ordered:
        rows, wanted = sorted(rows, key=repr), sorted(wanted, key=repr)
    return None if rows == wanted else f"{names}: {rows} and in the truth {wanted}"


def _single(answer: Answer) -> Any:
    return answer.lower if answer.lower is None or not isinstance(answer.expected, float) else answer.expected


def _plain(value: Any) -> Any:
    """Numbers as floats of twelve digits."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return value
    number = float(value)
    return None if math.isnan(number) else float(f"{number:.11e}")
