"""Questions to the answers of other questions: interval arithmetic over rows that may be there and numbers with bounds.

Source     own
Guarantee  the true answer lies inside the bounds: a row counts for sure or may count; a number lies between its bounds
           or may be NULL. Reached where a single number is open and every row is sure, otherwise marked as not reached
Cost       O(rows of the inner answer) per aggregate
Deviates   `expected` takes rows and numbers as expected; `std` is the deviation if all numbers deviated together
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.errors import QueryError
from hedgerow.query.answer import (
    NO_NUMBERS,
    Estimate,
    Result,
    Rounding,
    as_days,
    combine,
    constant,
    finish_result,
)
from hedgerow.query.calculated import FUNCTIONS, Uncertain, calculate, choose
from hedgerow.query.evidence.view import column_of, evaluate, values
from hedgerow.query.sql.bind import Binder, bind_outcome
from hedgerow.query.sql.question import (
    NUMBERS,
    SLOT,
    Aggregate,
    And,
    Arithmetic,
    Bound,
    Call,
    Case,
    Column,
    Compare,
    Computed,
    Constant,
    Expression,
    In,
    IsNull,
    Key,
    Name,
    Not,
    Or,
    Outcome,
    Predicate,
    Question,
    Truth,
    names_of,
)

__all__ = ["Answered", "answered_by", "below_each_other", "calculated", "finish", "over", "stack"]

_TRUE, _FALSE, _NULL = 1, 2, 4
_AGGREGATES = ("count", "sum", "avg", "min", "max")
_LIMIT = "LIMIT inside a sub-query picks rows by answers that are not sure; put it into the outer question"
_NUMBERS = (
    "between aggregates there may be + - * /, numbers, CASE, ABS, ROUND, FLOOR, CEIL, SIGN, SQRT, LN, EXP, POWER, "
    "COALESCE, NULLIF, GREATEST and LEAST; texts and dates can be selected and grouped by"
)


@dataclass(frozen=True, eq=False)
class Answered:
    """The rows of an answer: what is known of them, numbers with bounds, which rows are sure and which expected."""

    keys: dict[str, pa.Array]
    numbers: dict[str, Uncertain]
    sure: list[bool]
    expected: list[bool]
    order: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.sure)

    def take(self, rows: list[int]) -> Answered:
        """Return some rows."""
        keys = {name: array.take(pa.array(rows, pa.int64())) for name, array in self.keys.items()}
        numbers = {name: column.take(rows) for name, column in self.numbers.items()}
        sure, expected = ([flags[row] for row in rows] for flags in (self.sure, self.expected))
        return Answered(keys, numbers, sure, expected, self.order)

    def result(self) -> Result:
        """The rows that are expected, as an engine hands them over."""
        kept = self.take([row for row in range(len(self)) if self.expected[row]])
        return Result(kept.keys, {name: column.estimate for name, column in kept.numbers.items()}, len(kept))

    @property
    def names(self) -> list[str]:
        """Names of all columns, in the order in which they were selected."""
        return list(self.order) or [*self.keys, *self.numbers]

    @functools.cached_property
    def binder(self) -> Binder:
        """Binds expressions of what is known."""
        return Binder({name: column_of(name, array.type) for name, array in self.keys.items()})

    def is_known(self, node: Predicate | Expression) -> bool:
        """Tell whether an expression reads only what is known of rows."""
        known = {name.lower() for name in self.keys}
        return all(name.lower() in known for name in names_of(node))

    def values(self, node: Expression) -> pa.Array:
        """The values of an expression of what is known."""
        return values(self.binder.expression(node), self.keys, len(self))

    def number(self, node: Expression) -> Uncertain:
        """The bounds of an expression, row by row."""
        if node == Constant(None):
            nothing: list[Any] = [None] * len(self)
            unknown = Estimate(
                nothing, nothing, [math.nan] * len(self), [0.0] * len(self), [True] * len(self), Rounding.WHOLE
            )
            return Uncertain(unknown, [True] * len(self))
        if isinstance(node, Constant):
            return Uncertain(constant(node.value, len(self)), [False] * len(self))
        if isinstance(node, Name) and (found := self._named(node)) is not None:
            return found
        if self.is_known(node):
            return _exact_numbers(self.values(node))
        if isinstance(node, Arithmetic):
            return _combined(node.operator, self.number(node.left), self.number(node.right))
        if isinstance(node, Call) and node.function in FUNCTIONS:
            return calculate(node.function, [self.number(operand) for operand in node.operands])
        if isinstance(node, Case):
            branches = [
                (self.truths(when), self.expected_truth(when), self.number(then)) for when, then in node.branches
            ]
            return choose(branches, self.number(node.otherwise))
        if isinstance(node, Name):
            Binder({name: _column(name) for name in self.names}).column(node)
        raise QueryError(_NUMBERS)

    def bounded(self, node: Expression) -> Uncertain:
        """The same, where there are bounds: a quotient whose divisor may be zero has none."""
        found = self.number(node)
        if any(found.estimate.endless or ()):
            raise QueryError(
                "a quotient whose divisor may be zero has no bounds, and neither has a condition on it or an aggregate "
                "of it; ask about numerator and divisor"
            )
        return found

    def _named(self, node: Name) -> Uncertain | None:
        found = [name for name in self.numbers if name.lower() == node.text.lower()]
        return self.numbers[found[0]] if found else None

    def truths(self, node: Predicate) -> list[int]:
        """What a condition may be in each row: true, false, unknown, as a sum of flags."""
        if self.is_known(node):
            found = evaluate(self.binder.predicate(node), self.keys, len(self)).to_pylist()
            return [_NULL if truth is None else _TRUE if truth else _FALSE for truth in found]
        if isinstance(node, Not):
            return [_inverted(flags) for flags in self.truths(node.operand)]
        if isinstance(node, And | Or):
            parts = [self.truths(operand) for operand in node.operands]
            return [functools.reduce(_AND if isinstance(node, And) else _OR, row) for row in zip(*parts, strict=True)]
        if isinstance(node, Compare):
            return self._compared(node)
        if isinstance(node, IsNull):
            return self._missing(self.bounded(node.operand))
        if isinstance(node, In):
            return self.truths(Or(tuple(Compare("=", node.operand, value) for value in node.values)))
        raise QueryError("conditions on answers of a sub-query are comparisons with numbers, AND, OR, NOT and IS NULL")

    def _compared(self, node: Compare) -> list[int]:
        left, right = self.bounded(node.left), self.bounded(node.right)
        sides = left.estimate, right.estimate
        if len({side.rounding is Rounding.VALUE for side in sides}) > 1:
            raise QueryError(NO_NUMBERS)  # a date and a number
        ends = zip(*(as_days(side).widened() for side in sides), strict=True)
        found: list[int] = []
        for row, (low, high) in enumerate(ends):
            if left.is_missing(row) or right.is_missing(row):
                found.append(_NULL)
                continue
            assert low is not None, "missing numbers are NULL"
            assert high is not None, "missing numbers are NULL"
            flags = _compare(node.operator, low, high)
            found.append(flags | (_NULL if left.gaps[row] or right.gaps[row] else 0))
        return found

    def _missing(self, column: Uncertain) -> list[int]:
        return [
            _TRUE if column.is_missing(row) else (_FALSE | _TRUE if column.gaps[row] else _FALSE)
            for row in range(len(self))
        ]

    def expected_truth(self, node: Predicate) -> list[bool]:
        """Whether a condition holds for the expected numbers."""
        arrays = dict(self.keys)
        for name, column in self.numbers.items():
            array = column.estimate.middle()
            arrays[name] = array.cast(pa.float64()) if pa.types.is_integer(array.type) else array
        bound = Binder({name: column_of(name, array.type) for name, array in arrays.items()}).predicate(node)
        truth: list[bool] = evaluate(bound, arrays, len(self)).fill_null(False).to_pylist()
        return truth

    def where(self, condition: Predicate) -> Answered:
        """Keep the rows for which a condition may be true."""
        if condition == Truth(True):
            return self
        truths = self.truths(condition)
        hoped = self.expected_truth(condition)
        sure = [was and flags == _TRUE for was, flags in zip(self.sure, truths, strict=True)]
        expected = [was and hope for was, hope in zip(self.expected, hoped, strict=True)]
        possible = [row for row, flags in enumerate(truths) if flags & _TRUE]
        return Answered(self.keys, self.numbers, sure, expected, self.order).take(possible)


def over(inner: Answered, question: Question, *, is_inner: bool) -> Answered:
    """Answer a question about an answer. What it says about its own results is left to the caller unless `is_inner`."""
    question = _unfiltered(question)
    rows = inner.where(question.where)
    is_grouped = bool(question.groups) or any(
        isinstance(item, Aggregate | Computed) for item in (*question.select, *question.slots)
    )
    found = _aggregated(rows, question) if is_grouped else _projected(rows, question)
    return narrow(found, question) if is_inner else found


def _unfiltered(question: Question) -> Question:
    """Write FILTER as CASE, for aggregates pass over NULLs."""

    def plain(item: Any) -> Any:
        if not isinstance(item, Aggregate) or item.where == Truth(True):
            return item
        then = Constant(1) if item.column is None else item.column
        return replace(item, column=Case(((item.where, then),), Constant(None)), where=Truth(True), alias=_alias(item))

    return replace(question, select=tuple(map(plain, question.select)), slots=tuple(map(plain, question.slots)))


def narrow(found: Answered, question: Question) -> Answered:
    """Apply HAVING where rows and numbers are not sure; hide what only HAVING needed."""
    if question.outcome.limit is not None or question.outcome.offset:
        raise QueryError(_LIMIT)
    kept = found.where(question.outcome.having)
    shown = {name: column for name, column in kept.numbers.items() if not name.startswith(SLOT)}
    return replace(kept, numbers=shown)


def finish(result: Result, question: Question) -> Result:
    """Apply HAVING, ORDER BY and LIMIT of the outermost question, which look at expected values."""
    keys = tuple(Key(column_of(name, array.type), name) for name, array in result.keys.items())
    items = [Aggregate("max", _kind_of(name, found), name) for name, found in result.estimates.items()]
    groups = tuple(key.column for key in keys if isinstance(key.column, Column))
    bound = Bound(keys, tuple(items), groups, Truth(True), Truth(True), {})
    return finish_result(bind_outcome(bound, question.outcome, []), result)


def _kind_of(name: str, estimate: Estimate) -> Column:
    is_value = estimate.rounding is Rounding.VALUE and estimate.domain is not None
    return column_of(name, estimate.domain.type if is_value and estimate.domain is not None else pa.float64())


def calculated(bound: Bound, result: Result) -> dict[str, Estimate]:
    """The computed results of a question that are more than arithmetic: functions of results and CASE."""
    wanted = [
        item for item in bound.outcome.computed if item.alias not in result.estimates and _is_more(item.expression)
    ]
    if not wanted:
        return {}
    counts = {item.alias for item in bound.aggregates if item.function in ("count", "distinct", "regr_count")}
    numbers = {
        name: Uncertain(estimate, [name not in counts and not _is_there(estimate, row) for row in range(result.cells)])
        for name, estimate in result.estimates.items()
    }
    everything = [True] * result.cells
    found = Answered(result.keys, numbers, everything, everything)
    made = {item.alias: found.number(item.expression).estimate for item in wanted}
    if not bound.groups:
        return made
    # A group that may be empty is listed; what a CASE says of it is sure only if the group is there.
    sure = [
        any(_shows_rows(result.estimates[name], name in counts, row) for name in numbers) for row in range(result.cells)
    ]
    return {
        name: replace(one, exact=[flag and there for flag, there in zip(one.exact, sure, strict=True)])
        for name, one in made.items()
    }


def _shows_rows(estimate: Estimate, is_count: bool, row: int) -> bool:
    """Tell whether a number proves that its group has a row."""
    low = estimate.lower[row]
    return low is not None and (low >= 1 if is_count else bool(estimate.exact[row]))


def _is_more(node: Expression) -> bool:
    if isinstance(node, Arithmetic):
        return _is_more(node.left) or _is_more(node.right)
    return isinstance(node, Call | Case)


def _is_there(estimate: Estimate, row: int) -> bool:
    """Tell whether a number is not NULL for sure."""
    return estimate.exact[row] and estimate.lower[row] is not None


def answered_by(run: Callable[[Question, tuple[str, ...]], Result], question: Question) -> Answered:
    """Answer a question over the release as a sub-query: with the rows that are sure, and where numbers may be NULL.

    `run` answers a question, and shows results besides that have no names of their own.
    """
    if not question.groups and not any(isinstance(item, Aggregate) for item in (*question.select, *question.slots)):
        raise QueryError(
            "single rows cannot be answered with a bound; a sub-query counts or groups, or is asked about in FROM (...)"
        )
    named = _named(question)
    items = [item for item in (*named.select, *named.slots) if isinstance(item, Aggregate)]
    counts = {item.alias: _count_of(item, place) for place, item in enumerate(items)}
    extra = (*named.slots, *(count for count in counts.values() if count is not None), _ROWS)
    result = run(replace(named, slots=extra, outcome=Outcome()), tuple(slot.alias for slot in extra))
    if not all(estimate.is_bounded for estimate in result.estimates.values()):
        raise QueryError("the release gives estimates without bounds, so that answers about answers have none")
    numbers = {item.alias: _with_gaps(result, item, counts[item.alias]) for item in items}
    sure = [low is not None and low >= 1 for low in result.estimates[_ROWS.alias].lower]
    sure = sure if question.groups else [True] * result.cells
    found = Answered(result.keys, numbers, sure, [True] * result.cells)
    computed = [item for item in named.select if isinstance(item, Computed)]
    gaps = {item.alias: found.number(item.expression) for item in computed}
    more = {name: _best(column, result.estimates[name]) for name, column in gaps.items()}
    kept = narrow(replace(found, numbers=numbers | more), question)
    order = tuple(item.alias for item in named.select[: len(question.select)])
    return replace(kept, keys={name: array for name, array in kept.keys.items() if name in order}, order=order)


_ROWS = Aggregate("count", None, f"{SLOT}rows")


def _named(question: Question) -> Question:
    """Give every result a name, and show what is grouped by."""
    select: list[Key | Aggregate | Computed] = []
    for place, item in enumerate(question.select, 1):
        if isinstance(item, Aggregate):
            select.append(replace(item, alias=_alias(item)))
        elif isinstance(item, Computed):
            select.append(replace(item, alias=item.alias or f"result_{place}"))
        else:
            name = item.column.text if isinstance(item.column, Name) else f"expression_{place}"
            select.append(replace(item, alias=item.alias or name))
    shown = {item.alias.lower() for item in select}
    hidden = [group for group in question.groups if isinstance(group, Name) and group.text.lower() not in shown]
    return replace(question, select=(*select, *(Key(group, group.text) for group in hidden)))


def _count_of(item: Aggregate, place: int) -> Aggregate | None:
    """The number of values that an aggregate is over."""
    if item.function in ("count", "distinct", "regr_count") or item.other is not None:
        return None
    return replace(item, function="count", alias=f"{SLOT}values {place}", fraction=None)


def _with_gaps(result: Result, item: Aggregate, count: Aggregate | None) -> Uncertain:
    estimate = result.estimates[item.alias]
    if item.function in ("count", "distinct", "regr_count"):
        return Uncertain(estimate, [False] * result.cells)
    if count is None:
        return Uncertain(estimate, [True] * result.cells)
    number = result.estimates[count.alias]
    least = 2 if item.function.endswith("samp") else 1
    gaps = [low is None or low < least for low in number.lower]
    missing = [high is not None and high < least for high in number.upper]
    exact = [
        is_missing if low is None else is_exact
        for low, is_exact, is_missing in zip(estimate.lower, estimate.exact, missing, strict=True)
    ]
    return Uncertain(replace(estimate, exact=exact), gaps)


def _best(column: Uncertain, estimate: Estimate) -> Uncertain:
    """What the engine found is as good as, or better than, arithmetic between its parts."""
    pairs = zip(estimate.lower, estimate.exact, column.estimate.exact, strict=True)
    exact = [other if low is None else own for low, own, other in pairs]
    return Uncertain(replace(estimate, exact=exact), column.gaps)


def _projected(rows: Answered, question: Question) -> Answered:
    """Columns and expressions of each row, without aggregates."""
    keys: dict[str, pa.Array] = {}
    numbers: dict[str, Uncertain] = {}
    order: list[str] = []
    for place, item in enumerate(question.select, 1):
        assert isinstance(item, Key), "there are no aggregates"
        alias = item.alias or (item.column.text if isinstance(item.column, Name) else f"result_{place}")
        if alias.lower() in {name.lower() for name in order}:
            raise QueryError(f"two results would be called '{alias}'; name them with AS")
        if rows.is_known(item.column) and names_of(item.column):
            keys[alias] = rows.values(item.column)
        else:
            numbers[alias] = rows.number(item.column)
        order.append(alias)
    return Answered(keys, numbers, rows.sure, rows.expected, tuple(order))


def _aggregated(rows: Answered, question: Question) -> Answered:
    aliases = {item.alias.lower(): item.column for item in question.select if isinstance(item, Key) and item.alias}
    groups = [_unaliased(group, aliases, rows) for group in question.groups]
    if not all(rows.is_known(group) for group in groups):
        raise QueryError("GROUP BY takes columns that the sub-query groups by; its numbers have bounds and no values")
    columns = [rows.values(group) for group in groups]
    members = _cells(columns, len(rows)) if groups else [list(range(len(rows)))]
    keys = {}
    for item in (item for item in question.select if isinstance(item, Key)):
        if item.column not in (*groups, *question.groups):
            raise QueryError(f"'{item.alias or 'a column'}' is selected but not grouped; add it to GROUP BY")
        column = _unaliased(item.column, aliases, rows)
        alias = item.alias or (column.text if isinstance(column, Name) else "expression")
        keys[alias] = rows.values(column).take(pa.array([cell[0] for cell in members], pa.int64()))
    aggregates = [item for item in (*question.select, *question.slots) if isinstance(item, Aggregate)]
    numbers = {_alias(item): _aggregate(rows, item, members) for item in aggregates}
    if len(numbers) < len(aggregates):
        raise QueryError("two results would have one name; name them with AS")
    sure = [not groups or any(rows.sure[row] for row in cell) for cell in members]
    expected = [not groups or any(rows.expected[row] for row in cell) for cell in members]
    found = Answered(keys, numbers, sure, expected)
    computed = [item for item in question.select if isinstance(item, Computed)]
    more = {item.alias or f"result_{n}": found.number(item.expression) for n, item in enumerate(computed, 1)}
    return replace(found, numbers=numbers | more)


def _unaliased(item: Expression, aliases: Mapping[str, Expression], rows: Answered) -> Expression:
    if not isinstance(item, Name) or item.text.lower() in {name.lower() for name in rows.names}:
        return item
    return aliases.get(item.text.lower(), item)


def _alias(item: Aggregate) -> str:
    name = item.column.text if isinstance(item.column, Name) else "expression"
    return item.alias or (item.function if item.column is None else f"{item.function}_{name}")


def _cells(columns: Sequence[pa.Array], length: int) -> list[list[int]]:
    """Rows of each combination of values, in the order of the first."""
    lists = [column.to_pylist() for column in columns]
    found: dict[tuple[Any, ...], list[int]] = {}
    for row in range(length):
        found.setdefault(tuple(values[row] for values in lists), []).append(row)
    return list(found.values())


_SAID = {field.name for field in fields(Aggregate)} & {"function", "column", "alias"}


def _aggregate(rows: Answered, item: Aggregate, members: list[list[int]]) -> Uncertain:
    more = [getattr(item, field.name) for field in fields(item) if field.name not in _SAID]
    said = [part for part in more if part not in (None, False, (), Truth(True))]
    if item.function == "distinct" and not said and item.column is not None and rows.is_known(item.column):
        return _distinct(rows, item.column, members)
    if item.function not in _AGGREGATES or said:
        raise QueryError("over the answers of a sub-query there are COUNT, SUM, AVG, MIN and MAX")
    if item.column is None:
        return _counted([[(row, rows.sure[row]) for row in cell] for cell in members], rows)
    if item.function == "count" and rows.is_known(item.column):
        present = rows.values(item.column).is_valid().to_pylist()
        return _counted([[(row, rows.sure[row]) for row in cell if present[row]] for cell in members], rows)
    column = rows.bounded(item.column)
    offered = [
        [(row, rows.sure[row] and not column.gaps[row]) for row in cell if not column.is_missing(row)]
        for cell in members
    ]
    if item.function == "count":
        return _counted(offered, rows)
    if column.estimate.rounding is Rounding.VALUE:
        raise QueryError("of texts and dates that a sub-query found there is COUNT alone; numbers have the others")
    return _folded(item.function, column.estimate, offered, rows)


def _counted(offered: list[list[tuple[int, bool]]], rows: Answered) -> Uncertain:
    lower = [Fraction(sum(is_sure for _, is_sure in cell)) for cell in offered]
    upper = [Fraction(len(cell)) for cell in offered]
    expected = [float(sum(rows.expected[row] for row, _ in cell)) for cell in offered]
    return _whole(lower, upper, expected)


def _distinct(rows: Answered, column: Expression, members: list[list[int]]) -> Uncertain:
    listed = rows.values(column).to_pylist()

    def number(cell: list[int], which: Sequence[bool]) -> int:
        return len({listed[row] for row in cell if which[row] and listed[row] is not None})

    lower = [Fraction(number(cell, rows.sure)) for cell in members]
    upper = [Fraction(number(cell, [True] * len(rows))) for cell in members]
    return _whole(lower, upper, [float(number(cell, rows.expected)) for cell in members])


def _whole(lower: list[Fraction], upper: list[Fraction], expected: list[float]) -> Uncertain:
    exact = [low == high for low, high in zip(lower, upper, strict=True)]
    estimate = Estimate(
        list(lower), list(upper), expected, [0.0] * len(lower), exact, Rounding.WHOLE, reached=list(exact)
    )
    return Uncertain(estimate, [False] * len(lower))


def _folded(function: str, estimate: Estimate, offered: list[list[tuple[int, bool]]], rows: Answered) -> Uncertain:
    ends = estimate.widened()
    means = estimate.means()
    answers = [_fold(function, [(*_given(ends[row]), is_sure) for row, is_sure in cell]) for cell in offered]
    hoped = [[row for row, _ in cell if rows.expected[row] and not math.isnan(means[row])] for cell in offered]
    hoped = [rows_ or [row for row, _ in cell] for rows_, cell in zip(hoped, offered, strict=True)]
    expected = [_mean(function, [means[row] for row in cell]) for cell in hoped]
    std = [_std(function, [estimate.std[row] for row in cell]) for cell in hoped]
    is_whole = estimate.rounding is Rounding.WHOLE and function != "avg"
    exact = [all(is_sure and estimate.exact[row] for row, is_sure in cell) for cell in offered]
    reached = [_is_reached(estimate, cell) for cell in offered]
    made = Estimate(
        [None if pair is None else pair[0] for pair in answers],
        [None if pair is None else pair[1] for pair in answers],
        expected,
        std,
        exact,
        Rounding.WHOLE if is_whole else Rounding.OUTWARD,
        reached=reached,
    )
    return Uncertain(made, [not any(is_sure for _, is_sure in cell) for cell in offered])


def _given(ends: tuple[Fraction, Fraction] | None) -> tuple[Fraction, Fraction]:
    assert ends is not None, "missing numbers are left out"
    return ends


def _is_reached(estimate: Estimate, cell: list[tuple[int, bool]]) -> bool:
    """One open number, and rows that are all sure."""
    open_rows = [row for row, _ in cell if not estimate.exact[row]]
    reached = estimate.reached
    return all(is_sure for _, is_sure in cell) and (
        not open_rows or (len(open_rows) == 1 and (reached is None or reached[open_rows[0]]))
    )


def _fold(function: str, cell: list[tuple[Fraction, Fraction, bool]]) -> tuple[Fraction, Fraction] | None:
    """Least and greatest value, if rows that are sure count and others may; None without a row."""
    if not cell:
        return None
    lows, highs = [low for low, _, _ in cell], [high for _, high, _ in cell]
    fixed = [(low, high) for low, high, is_sure in cell if is_sure]
    if function == "sum":
        loose = [(low, high) for low, high, is_sure in cell if not is_sure]
        least = sum((low for low, _ in fixed), Fraction(0)) + sum(
            (min(low, Fraction(0)) for low, _ in loose), Fraction(0)
        )
        most = sum((high for _, high in fixed), Fraction(0)) + sum(
            (max(high, Fraction(0)) for _, high in loose), Fraction(0)
        )
        return least, most
    if function == "min":
        return min(lows), min((high for _, high in fixed), default=max(highs))
    if function == "max":
        return max((low for low, _ in fixed), default=min(lows)), max(highs)
    loose_lows = sorted(low for low, _, is_sure in cell if not is_sure)
    loose_highs = sorted((high for _, high, is_sure in cell if not is_sure), reverse=True)
    least = _best_mean([low for low, _ in fixed], loose_lows, lambda new, old: new < old)
    return least, _best_mean([high for _, high in fixed], loose_highs, lambda new, old: new > old)


def _best_mean(
    fixed: list[Fraction], loose: list[Fraction], is_better: Callable[[Fraction, Fraction], bool]
) -> Fraction:
    """The least (or greatest) mean of the fixed numbers and any of the loose ones, which come in their best order."""
    total, number = sum(fixed, Fraction(0)), len(fixed)
    for value in loose:
        if number and not is_better(value, total / number):
            break
        total, number = total + value, number + 1
    return total / number


def _mean(function: str, numbers: list[float]) -> float:
    numbers = [number for number in numbers if not math.isnan(number)]
    if not numbers:
        return math.nan
    folds: dict[str, Callable[[Iterable[float]], float]] = {"sum": math.fsum, "min": min, "max": max}
    return folds[function](numbers) if function in folds else math.fsum(numbers) / len(numbers)


def _std(function: str, numbers: list[float]) -> float:
    known = [0.0 if number is None or math.isnan(number) else number for number in numbers]
    if not known:
        return math.nan
    return math.fsum(known) if function == "sum" else math.fsum(known) / len(known) if function == "avg" else max(known)


def _combined(operator: str, left: Uncertain, right: Uncertain) -> Uncertain:
    made = combine(operator, left.estimate, right.estimate)
    gaps = [a or b for a, b in zip(left.gaps, right.gaps, strict=True)]
    exact = list(made.exact)
    for row, ends in enumerate(as_days(right.estimate).widened()):
        if left.is_missing(row) or right.is_missing(row):
            exact[row] = True  # NULL for sure
        elif operator == "/" and ends is not None and ends[0] == ends[1] == 0:
            exact[row] = True
        elif operator == "/" and ends is not None and ends[0] <= 0 <= ends[1]:
            gaps[row] = True
    return Uncertain(replace(made, exact=exact), gaps)


def _exact_numbers(array: pa.Array) -> Uncertain:
    """Known numbers as bounds that meet."""
    if column_of("", array.type).kind not in NUMBERS:
        raise QueryError(_NUMBERS)
    listed = [_fraction(value) for value in array.to_pylist()]
    if any(value is not None and not np.isfinite(float(value)) for value in listed):
        raise QueryError("infinite numbers have no bounds")
    is_decimal = pa.types.is_decimal(array.type)  # the nearest float may lie on the wrong side of it
    rounding = Rounding.OUTWARD if is_decimal else Rounding.NEAREST
    rounding = Rounding.WHOLE if pa.types.is_integer(array.type) else rounding
    means = [math.nan if value is None else float(value) for value in listed]
    estimate = Estimate(listed, list(listed), means, [0.0] * len(listed), [True] * len(listed), rounding)
    return Uncertain(estimate, [value is None for value in listed])


def _fraction(value: Any) -> Fraction | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return Fraction(value)


def _column(name: str) -> Column:
    return column_of(name, pa.float64())


def _compare(operator: str, left: tuple[Fraction, Fraction], right: tuple[Fraction, Fraction]) -> int:
    if operator in (">", ">="):
        return _compare("<" if operator == ">" else "<=", right, left)
    if operator == "<":
        true, false = left[0] < right[1], left[1] >= right[0]
    elif operator == "<=":
        true, false = left[0] <= right[1], left[1] > right[0]
    else:
        meets = left[0] <= right[1] and right[0] <= left[1]
        differs = not left[0] == left[1] == right[0] == right[1]
        true, false = (meets, differs) if operator == "=" else (differs, meets)
    return (_TRUE if true else 0) | (_FALSE if false else 0)


def _inverted(flags: int) -> int:
    return (flags & _NULL) | (_FALSE if flags & _TRUE else 0) | (_TRUE if flags & _FALSE else 0)


def _joined(order: tuple[int, int, int]) -> Callable[[int, int], int]:
    """AND and OR on what may be: the stronger of two truths wins, FALSE in the one and TRUE in the other."""

    def join(left: int, right: int) -> int:
        pairs = [(a, b) for a in order if left & a for b in order if right & b]
        return functools.reduce(lambda found, pair: found | min(pair, key=order.index), pairs, 0)

    return join


_AND = _joined((_FALSE, _NULL, _TRUE))
_OR = _joined((_TRUE, _NULL, _FALSE))


def stack(parts: Sequence[Answered]) -> Answered:
    """UNION ALL: the rows of all parts under the names of the first."""
    first = parts[0]
    if any(len(part.names) != len(first.names) for part in parts):
        raise QueryError("the parts of UNION ALL must have equally many columns")
    keys: dict[str, pa.Array] = {}
    numbers: dict[str, Uncertain] = {}
    for place, name in enumerate(first.names):
        columns = [part.keys.get(part.names[place]) for part in parts]
        if all(column is not None for column in columns):
            keys[name] = _concatenated(columns)
        else:
            numbers[name] = _concatenated_numbers([_numbers_at(part, place) for part in parts])
    flags = [(sure, hope) for part in parts for sure, hope in zip(part.sure, part.expected, strict=True)]
    return Answered(keys, numbers, [sure for sure, _ in flags], [hope for _, hope in flags])


def below_each_other(results: Sequence[Result], names: Sequence[str]) -> Result:
    """The rows of several answers under common names; a key that one of them does not have is NULL there."""
    cells = sum(result.cells for result in results)
    keys: dict[str, pa.Array] = {}
    estimates: dict[str, Estimate] = {}
    for name in names:
        owners = [result.keys[name] for result in results if name in result.keys]
        if owners:
            kind = owners[0].type
            columns = [result.keys.get(name, pa.nulls(result.cells, kind)) for result in results]
            keys[name] = pa.concat_arrays(columns)
        else:
            estimates[name] = _below([result.estimates[name] for result in results])
    return Result(keys, estimates, cells)


def _below(parts: Sequence[Estimate]) -> Estimate:
    """Estimates of one result, one below the other."""
    first = parts[0]

    def joined(name: str, empty: Any) -> list[Any]:
        return [value for part in parts for value in (getattr(part, name) or [empty] * len(part.lower))]

    return replace(
        first,
        lower=joined("lower", None),
        upper=joined("upper", None),
        expected=joined("expected", None),
        std=joined("std", None),
        exact=joined("exact", None),
        slack=joined("slack", Fraction(0)) if any(part.slack is not None for part in parts) else None,
        reached=joined("reached", True) if any(part.reached is not None for part in parts) else None,
        endless=joined("endless", False) if any(part.endless is not None for part in parts) else None,
        is_known=all(part.is_known for part in parts),
    )


def _numbers_at(part: Answered, place: int) -> Uncertain:
    name = part.names[place]
    return part.numbers[name] if name in part.numbers else _exact_numbers(part.keys[name])


def _concatenated(columns: Sequence[Any]) -> pa.Array:
    try:
        return (
            pa.concat_tables([pa.table({"x": column}) for column in columns], promote_options="permissive")
            .column(0)
            .combine_chunks()
        )
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        raise QueryError("the parts of UNION ALL must have columns of one kind, in the same order") from None


def _concatenated_numbers(columns: Sequence[Uncertain]) -> Uncertain:
    estimates = [column.estimate for column in columns]
    if any(estimate.rounding is Rounding.VALUE for estimate in estimates):
        raise QueryError("UNION ALL stacks numbers; texts and dates that were found can be asked one by one")
    roundings = {estimate.rounding for estimate in estimates}
    pairs = [pair for estimate in estimates for pair in estimate.widened()]
    made = Estimate(
        [None if pair is None else pair[0] for pair in pairs],
        [None if pair is None else pair[1] for pair in pairs],
        [mean for estimate in estimates for mean in estimate.means()],
        [std for estimate in estimates for std in estimate.std],
        [exact for estimate in estimates for exact in estimate.exact],
        roundings.pop() if len(roundings) == 1 else Rounding.OUTWARD,
        is_bounded=all(estimate.is_bounded for estimate in estimates),
        reached=[
            flag
            for estimate in estimates
            for flag in (estimate.reached if estimate.reached is not None else [True] * len(estimate.lower))
        ],
        endless=[flag for estimate in estimates for flag in estimate.endless or [False] * len(estimate.lower)],
    )
    return Uncertain(made, [gap for column in columns for gap in column.gaps])
