"""The same question as plain SQL over the tables `release` and `help`.

Source     [Zhang 2008], section 2.5.2
Guarantee  bounds are the array engine's, from sums of whole numbers and decimals; AVG is rounded outwards
Deviates   the map from rows to groups is a column of the release, so no third table is joined; mean and deviation are
           computed as well, those of MIN and MAX by walking along the help table's sorted values

`hits` counts the rows that satisfy the condition per group, `parts` joins it with `help` and adds up. The final SELECT
reads as a person expects it. Engines run the same statement with the parts themselves, and round them; they join the
help table by group and count texts by small numbers (`HelpLayout`), which is faster and harder to read.

Mean and variance of MIN and MAX are a walk along the help table's sorted values. The chance that a minimum lies above a
value is the product, over all values up to it, of the chance that the matching rows miss it: (N - h - t) / (N - t) for
the t-th smallest value (from 0) of a group of N rows of which h match. Only values up to the upper bound matter. A
maximum is the same downwards. Row h of a group in `help` holds the h-th smallest and largest value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hedgerow.errors import QueryError
from hedgerow.query.aggregates import AGGREGATES
from hedgerow.query.answer import NO_DATES, Estimate, Result, Rounding
from hedgerow.query.engines.help import GROUPED, help_name, is_helped
from hedgerow.query.engines.placeholders import is_portable, whole_limits
from hedgerow.query.evidence.rows import numbers_of
from hedgerow.query.evidence.view import View
from hedgerow.query.sql.printing import predicate_sql, quote, select_sql, value_sql
from hedgerow.query.sql.question import NUMBERS, Aggregate, Bound, Column, Kind, Truth, columns_of

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = [
    "HelpLayout",
    "extreme_sql",
    "is_plain",
    "parts_sql",
    "result_of",
    "rewritten",
]

_BY_GROUP = {
    "sum_lower": "{sums}[hits]",
    "sum_upper": "{sums}[size + hits]",
    "sum_expected": "{mean} * hits",
    "sum_variance": "{variance} * hits * (size - hits) / others",
}
"""Statistics of sums from the help table by group."""


@dataclass(frozen=True)
class HelpLayout:
    """How a database holds what it joins: `help` as in a bundle, or by group; and columns that number others' values.

    By group there are no minima and maxima.
    """

    by_group: bool = False
    codes: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """Hits beside their row of the help table."""
        return f'hits JOIN {GROUPED} USING ("group")' if self.by_group else 'hits JOIN help USING ("group", hits)'

    @property
    def count(self) -> str:
        """Rows hit; lists of some databases take 32-bit places alone."""
        return "CAST(count(*) AS INTEGER)" if self.by_group else "count(*)"

    def statistic(self, view: View, column: str, name: str) -> str:
        """A column of the help table."""
        if not self.by_group:
            return quote(help_name(view, column, name))
        return _BY_GROUP[name].format(
            **{part: quote(help_name(view, column, part)) for part in ("sums", "mean", "variance")}
        )


def is_plain(release: Release, view: View, bound: Bound) -> bool:
    """Tell whether rows and the help table answer a question, so that plain SQL does."""
    limits = whole_limits(release)
    nodes = (bound.known, *bound.derived.values())
    if not release.form.is_permutation or not all(is_portable(node, limits) for node in nodes):
        return False
    try:
        _Writer(view, bound, release.group_column)
    except QueryError:
        return False
    return True


def rewritten(view: View, bound: Bound, group_column: str) -> str:
    """Print the question for an analyst: keys, then x, x_lower, x_upper and x_std for each aggregate x."""
    writer = _Writer(view, bound, group_column)
    keys = [f"parts.{writer.key(key.column)} AS {quote(key.alias)}" for key in bound.keys]
    shown = [line for number, item in enumerate(bound.aggregates, 1) for line in _select_items(number, item, bound)]
    return writer.statement([*keys, *shown])


def parts_sql(view: View, bound: Bound, group_column: str, layout: HelpLayout) -> str:
    """Print the question for the engine: keys, then rows hit, exact lower and upper, mean and variance of each."""
    is_extreme = any(item.function in ("min", "max") and bound.hides(item) for item in bound.aggregates)
    writer = _Writer(view, bound, group_column, replace(layout, by_group=layout.by_group and not is_extreme))
    parts = [
        f"{part}_{number}"
        for number, _ in enumerate(bound.aggregates, 1)
        for part in ("number", "lower", "upper", "mean", "variance")
    ]
    return writer.statement([*(f"parts.{writer.key(key.column)}" for key in bound.keys), *parts])


def _select_items(number: int, item: Aggregate, bound: Bound) -> Iterator[str]:
    over = f" / number_{number}" if item.function == "avg" else ""
    mean = f"mean_{number}{over}" if bound.hides(item) and item.function != "count" else f"lower_{number}{over}"
    yield f"{mean} AS {quote(item.alias)}"
    for side, end in (("lower", "-infinity"), ("upper", "infinity")):
        bound_sql = f"{side}_{number}"
        if item.function == "avg":
            # Conversion and division round once each: one float further on either side encloses both.
            bound_sql = f"CAST({bound_sql} AS DOUBLE) / number_{number}"
            for _ in range(2):
                bound_sql = f"nextafter({bound_sql}, CAST('{end}' AS DOUBLE))"
        yield f"{bound_sql} AS {quote(f'{item.alias}_{side}')}"
    yield f"sqrt(variance_{number}){over} AS {quote(item.alias + '_std')}"


@dataclass(frozen=True)
class _Writer:
    """Writes the common table expressions of one question."""

    view: View
    bound: Bound
    group_column: str
    layout: HelpLayout = field(default_factory=HelpLayout)

    def __post_init__(self) -> None:
        hidden = columns_of(self.bound.hidden) | columns_of(self.bound.mixed)
        hidden |= {column.name for column in self.bound.groups if column.name in self.bound.bases}
        if hidden & frozenset(self.bound.bases):
            name = min(hidden & frozenset(self.bound.bases))
            raise QueryError(
                f"the help table knows no condition on the sensitive column '{name}'; ask the array engine"
            )
        self.view.derive(self.bound.derived)
        for item in self.bound.aggregates:
            if isinstance(item.column, Column):
                self._check(item, item.column)
        _check_twins(self.view, self.bound)

    def _check(self, item: Aggregate, column: Column) -> None:
        is_number = column.kind in NUMBERS or item.function == "count"
        if not _help_columns(item) or not is_number or (self.bound.hides(item) and column.name in self.bound.derived):
            raise QueryError(
                "plain SQL has bounds for COUNT, SUM, AVG, MIN and MAX of columns of numbers; ask the array engine"
            )
        is_counted = item.function == "count" and not (self.bound.hides(item) and self.view.has_missing(column.name))
        if not is_counted and self.bound.hides(item) and not is_helped(self.view, column.name):
            raise QueryError(f"the help table has no bounds for '{column.name}'; ask the array engine")
        if column.kind is Kind.FLOAT and not is_counted and numbers_of(self.view, column.name).is_rounded:
            raise QueryError(
                f"'{column.name}' has no common number of decimals, so a database cannot sum it exactly; "
                "ask the array engine"
            )

    def _column(self, column: Column) -> str:
        """Print a column, or what it is derived from."""
        derived = self.bound.derived
        return value_sql(derived[column.name]) if column.name in derived else quote(column.name)

    def key(self, column: object) -> str:
        """Name a GROUP BY column inside the statement."""
        return f"key_{self.bound.groups.index(column) + 1}"

    @property
    def _keys(self) -> list[str]:
        return [self.key(column) for column in self.bound.groups]

    def statement(self, shown: list[str]) -> str:
        """Assemble the whole."""
        tables = [("hits", self._hits()), ("parts", self._parts()), *self._spreads()]
        joins = "".join(f"\nLEFT JOIN spread_{n} ON {self._same_cell(n)}" for n, _ in self._extremes())
        order = ", ".join(f"parts.{key} NULLS LAST" for key in self._keys)
        select = select_sql(shown, "parts" + joins)
        body = ",\n".join(f"{name} AS (\n{_indent(sql)}\n)" for name, sql in tables)
        return f"WITH {body}\n{select}" + (f"\nORDER BY {order}" if order else "")

    def _hits(self) -> str:
        keys = [f"{self._group_sql(column)} AS {self.key(column)}" for column in self.bound.groups]
        group = quote(self.group_column)
        own = [line for number, item in self._known_aggregates() for line in self._known_parts(number, item)]
        columns = [
            *keys,
            group if self.group_column == "group" else f'{group} AS "group"',
            f"{self.layout.count} AS hits",
            *own,
        ]
        grouped = ", ".join([*(self._group_sql(column) for column in self.bound.groups), group])
        where = "" if self.bound.known == Truth(True) else f"\nWHERE {predicate_sql(self.bound.known)}"
        return f"{select_sql(columns, 'release')}{where}\nGROUP BY {grouped}"

    def _group_sql(self, column: Column) -> str:
        """Print a GROUP BY column, or the numbers of its values."""
        code = self.layout.codes.get(column.name)
        return self._column(column) if code is None else quote(code)

    def _known_aggregates(self) -> list[tuple[int, Aggregate]]:
        """Aggregates of columns that are published as they are, with their numbers."""
        numbered = enumerate(self.bound.aggregates, 1)
        return [(n, item) for n, item in numbered if item.column is not None and not self.bound.hides(item)]

    def _extremes(self) -> list[tuple[int, Aggregate]]:
        """MIN and MAX of sensitive columns, with their numbers."""
        numbered = enumerate(self.bound.aggregates, 1)
        return [(n, item) for n, item in numbered if self.bound.hides(item) and item.function in ("min", "max")]

    def _known_parts(self, number: int, item: Aggregate) -> Iterator[str]:
        assert isinstance(item.column, Column)
        yield f"count({self._column(item.column)}) AS present_{number}"
        if item.function != "count":
            function = _help_columns(item)
            yield f"{function}({self._exact(item.column)}) AS part_{number}"

    def _exact(self, column: Column) -> str:
        """Print a column as a type that adds up exactly."""
        if column.kind is not Kind.FLOAT:
            return self._column(column)
        places = len(str(numbers_of(self.view, column.name).unit.denominator)) - 1
        return f"CAST({self._column(column)} AS DECIMAL(18, {places}))"

    def _parts(self) -> str:
        lines = [line for n, item in enumerate(self.bound.aggregates, 1) for line in self._part(n, item)]
        is_helped = any(self.bound.hides(item) and item.function != "count" for item in self.bound.aggregates)
        source = self.layout.source if is_helped else "hits"
        grouped = f"\nGROUP BY {', '.join(self._keys)}" if self._keys else ""
        return select_sql([*self._keys, *lines], source) + grouped

    def _part(self, number: int, item: Aggregate) -> list[str]:
        if item.column is None or (self.bound.hides(item) and item.function == "count"):
            return _sums_as(number, "coalesce(sum(hits), 0)", "coalesce(sum(hits), 0)")
        if not self.bound.hides(item):
            counted = f"coalesce(sum(present_{number}), 0)"
            function = _help_columns(item)
            return _sums_as(number, counted, counted if item.function == "count" else f"{function}(part_{number})")
        assert isinstance(item.column, Column)
        function = _help_columns(item)
        statistics = (
            f"{function}({self.layout.statistic(self.view, item.column.name, f'{function}_{end}')})"
            for end in (("lower", "upper", "expected", "variance") if function == "sum" else ("lower", "upper"))
        )
        if function != "sum":
            low, high = statistics
            return [f"sum(hits) AS number_{number}", f"{low} AS lower_{number}", f"{high} AS upper_{number}"]
        return _sums_as(number, "sum(hits)", *statistics)

    def _spreads(self) -> Iterator[tuple[str, str]]:
        for number, item in self._extremes():
            yield from self._spread(number, item)

    def _spread(self, number: int, item: Aggregate) -> Iterator[tuple[str, str]]:
        assert isinstance(item.column, Column)
        names = [quote(help_name(self.view, item.column.name, name)) for name in ("min_upper", "max_lower")]
        return extreme_sql(number, item.function, self._keys, *names)

    def _same_cell(self, number: int) -> str:
        """Join condition between parts and a spread; cells with missing keys match too."""
        pairs = [f"parts.{key} IS NOT DISTINCT FROM spread_{number}.{key}" for key in self._keys]
        return " AND ".join(pairs) or "TRUE"


def _help_columns(item: Aggregate) -> str:
    """The columns of the help table that answer an aggregate; none for those that one statement cannot answer."""
    return AGGREGATES[item.function].helped if item.function in AGGREGATES else ""


def _sums_as(number: int, count: str, low: str, high: str = "", mean: str = "0.0", variance: str = "0.0") -> list[str]:
    return [
        f"{count} AS number_{number}",
        f"{low} AS lower_{number}",
        f"{high or low} AS upper_{number}",
        f"{mean} AS mean_{number}",
        f"{variance} AS variance_{number}",
    ]


_LINE_BREAK = re.compile(r"""'[^']*'|"[^"]*"|\n""")
"""A line break of the statement, or a quoted text or name, whose own line breaks are left as they are."""


def _indent(sql: str) -> str:
    return "    " + _LINE_BREAK.sub(lambda found: "\n    " if found[0] == "\n" else found[0], sql)


def _check_twins(view: View, bound: Bound) -> None:
    """Databases ignore case in names; two columns that differ in nothing else cannot be told apart there."""
    used = columns_of(bound.known) | {column.name for column in bound.groups}
    used |= {item.column.name for item in bound.aggregates if isinstance(item.column, Column)}
    used = used.union(*(columns_of(expression) for expression in bound.derived.values()))
    for name in used:
        if sum(other.lower() == name.lower() for other in view.columns) > 1:
            raise QueryError(
                f"a database cannot tell '{name}' from a column that differs in case; ask the array engine"
            )


_HIT = 'hits JOIN help USING ("group", hits)'
_MISSED = "greatest(size - reach.hits - help.hits + 1, 0) / CAST(size - help.hits + 1 AS DOUBLE) AS missed"


def extreme_sql(n: int, function: str, keys: list[str], min_upper: str, max_lower: str) -> Iterator[tuple[str, str]]:
    """Name and text of the tables that end in spread_n, with mean_n and variance_n per combination of keys."""
    is_min = function == "min"
    bound, value = (min_upper, max_lower) if is_min else (max_lower, min_upper)
    partition = f"PARTITION BY {', '.join(keys)}" if keys else ""
    over = f"OVER ({partition} ORDER BY gap{'' if is_min else ' DESC'})".replace("( ", "(")
    reach = [*keys, '"group"', "hits", f"{function}({bound}) OVER ({partition}) AS bound"]
    yield f"reach_{n}", select_sql(reach, _HIT)
    points = [*keys, "bound", f"CAST({value} - bound AS DOUBLE) AS gap", _MISSED]
    in_reach = f"\nWHERE {value} {'<=' if is_min else '>='} bound"
    yield f"points_{n}", select_sql(points, f'reach_{n} AS reach JOIN help USING ("group")') + in_reach
    # DISTINCT leaves one row per value, with the chance to miss all its copies.
    steps = [*keys, "bound", "gap", f"product(missed) {over} AS survival"]
    yield f"steps_{n}", select_sql(steps, f"points_{n}", "SELECT DISTINCT")
    chances = [*keys, "bound", "gap", f"lag(survival, 1, 1.0) {over} - survival AS chance"]
    yield f"chances_{n}", select_sql(chances, f"steps_{n}")
    # Squares of distances from the mean: those from the bound would lose the digits that differ.
    centred = [*keys, "bound", "chance", f"sum(gap * chance) OVER ({partition}) AS shift", "gap"]
    yield f"centred_{n}", select_sql(centred, f"chances_{n}")
    yield f"spread_{n}", _moments(n, keys)


def _moments(n: int, keys: list[str]) -> str:
    mean = f"CAST(any_value(bound) AS DOUBLE) + any_value(shift) AS mean_{n}"
    variance = f"sum((gap - shift) * (gap - shift) * chance) AS variance_{n}"
    grouped = f"\nGROUP BY {', '.join(keys)}" if keys else ""
    return select_sql([*keys, mean, variance], f"centred_{n}") + grouped


_PARTS = 5


def result_of(view: View, bound: Bound, rows: list[tuple[Any, ...]], codes: Container[str] = ()) -> Result:
    """Read the rows of `rewriter.parts_sql`: keys, then number, lower, upper, mean and variance of each aggregate.

    Columns in `codes` come as places among their sorted values.
    """
    keys = {
        key.alias: _key(view, key.column.name, [row[i] for row in rows], coded=key.column.name in codes)
        for i, key in enumerate(bound.keys)
        if isinstance(key.column, Column)
    }
    first = len(bound.keys)
    estimates = {
        item.alias: _estimate(view, bound, item, [row[first + _PARTS * n : first + _PARTS * (n + 1)] for row in rows])
        for n, item in enumerate(bound.aggregates)
    }
    return Result(keys, estimates, len(rows))


def _key(view: View, name: str, found: list[Any], *, coded: bool) -> pa.Array:
    if not coded:
        try:
            return pa.array(found, view.array(name).type)
        except pa.ArrowTypeError:  # DuckDB gives dates that Python has not as texts
            raise QueryError(NO_DATES) from None
    domain = view.codes(name).domain
    return domain.take(pa.array([None if place == len(domain) else place for place in found], pa.int64()))


def _estimate(view: View, bound: Bound, item: Aggregate, parts: list[tuple[Any, ...]]) -> Estimate:
    """Turn (number, lower, upper, mean, variance) per cell into an estimate; AVG divides by the number."""
    is_counted = item.function == "count" or not isinstance(item.column, Column)
    numbers = None if is_counted else numbers_of(view, item.column.name)  # type: ignore[union-attr]
    # Databases count and average in types of their own: whole numbers come as decimals from some.
    by = [int(part[0] or 1) if item.function == "avg" else 1 for part in parts]
    lower = [None if p[1] is None else Fraction(p[1]) / n for p, n in zip(parts, by, strict=True)]
    upper = [None if p[2] is None else Fraction(p[2]) / n for p, n in zip(parts, by, strict=True)]
    is_known = is_counted or not bound.hides(item)
    slack = None
    if numbers is not None and numbers.slack and item.function in ("sum", "avg"):
        slack = [numbers.slack * (int(p[0] or 0) if item.function == "sum" else 1) for p in parts]
    return Estimate(
        lower,
        upper,
        [math.nan if p[3] is None else float(p[3]) / n for p, n in zip(parts, by, strict=True)],
        [math.nan if p[4] is None else math.sqrt(max(p[4], 0)) / n for p, n in zip(parts, by, strict=True)],
        [low == high for low, high in zip(lower, upper, strict=True)],
        Rounding.WHOLE if numbers is None else numbers.rounding(item.function),
        slack,
        is_known,
    )
