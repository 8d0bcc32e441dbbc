"""Questions to the answers of other questions: aggregates over rows that may be there and numbers with bounds.

Source     own
Guarantee  that of `answered`, on which it is built: the true answer lies inside the bounds
Cost       O(rows of the inner answer) per aggregate
Deviates   `expected` takes rows and numbers as expected; `std` is the deviation if all numbers deviated together
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import pyarrow as pa

from hedgerow.errors import QueryError
from hedgerow.query.answer import Estimate, Result, Rounding
from hedgerow.query.answered import Answered, best_of
from hedgerow.query.calculated import NEAR, Uncertain
from hedgerow.query.conclude import conclude_result
from hedgerow.query.evidence.view import column_of
from hedgerow.query.sql.bind import bind_outcome
from hedgerow.query.sql.question import (
    SLOT,
    Aggregate,
    Bound,
    Case,
    Column,
    Computed,
    Constant,
    Expression,
    Key,
    Name,
    Outcome,
    Question,
    Truth,
    names_of,
)

__all__ = ["check_names", "finish", "over", "subquery_answer"]

_AGGREGATES = ("count", "sum", "avg", "min", "max")
_LIMIT = "LIMIT inside a sub-query picks rows by answers that are not sure; put it into the outer question"


def over(inner: Answered, question: Question, *, is_inner: bool) -> Answered:
    """Answer a question about an answer. What it says about its own results is left to the caller unless `is_inner`."""
    question = _without_filter(question)
    rows = inner.where(question.where)
    # HAVING makes one row of all, as an aggregate does.
    is_grouped = bool(question.groups) or question.outcome.having != Truth(True)
    is_grouped |= any(isinstance(item, Aggregate | Computed) for item in (*question.select, *question.slots))
    found = _aggregate_groups(rows, question) if is_grouped else _project(rows, question)
    return narrow(found, question) if is_inner else found


def _without_filter(question: Question) -> Question:
    """Write FILTER as CASE, for aggregates pass over NULLs."""

    def plain(item: Any) -> Any:
        if not isinstance(item, Aggregate) or item.where == Truth(True):
            return item
        then = Constant(1) if item.column is None else item.column
        return replace(item, column=Case(((item.where, then),), Constant(None)), where=Truth(True))

    return replace(question, select=tuple(map(plain, question.select)), slots=tuple(map(plain, question.slots)))


def narrow(found: Answered, question: Question) -> Answered:
    """Apply HAVING where rows and numbers are not sure; hide what only HAVING needed."""
    if question.outcome.limit is not None or question.outcome.offset:
        raise QueryError(_LIMIT)
    kept = found.where(question.outcome.having)
    shown = {name: column for name, column in kept.numbers.items() if not name.startswith(SLOT)}
    return replace(kept, numbers=shown)


def finish(result: Result, question: Question, names: Sequence[str]) -> Result:
    """Apply HAVING, ORDER BY and LIMIT of the outermost question, which look at expected values.

    `names` are the results in the order in which they were selected.
    """
    keys = tuple(Key(column_of(name, array.type), name) for name, array in result.keys.items())
    items = [Aggregate("max", _kind_of(name, found), name) for name, found in result.estimates.items()]
    groups = tuple(key.column for key in keys if isinstance(key.column, Column))
    bound = Bound(keys, tuple(items), groups, Truth(True), Truth(True), {})
    results: list[Key | Aggregate] = [*keys, *items]
    named = {item.alias: item for item in results}
    bound = bind_outcome(bound, question.outcome, [named[name] for name in names])
    return conclude_result(bound, result)


def _kind_of(name: str, estimate: Estimate) -> Column:
    is_value = estimate.rounding is Rounding.VALUE and estimate.domain is not None
    return column_of(name, estimate.domain.type if is_value and estimate.domain is not None else pa.float64())


def subquery_answer(run: Callable[[Question, tuple[str, ...]], Result], question: Question) -> Answered:
    """Answer a question over the release as a sub-query: with the rows that are sure, and where numbers may be NULL.

    `run` answers a question, and shows results besides that have no names of their own.
    """
    if not question.groups and not any(isinstance(item, Aggregate) for item in (*question.select, *question.slots)):
        raise QueryError(
            "single rows cannot be answered with a bound; a sub-query counts or groups, or is asked about in FROM (...)"
        )
    named = _name_results(question)
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
    gaps = {item.alias: found.named_number(item.expression) for item in computed}
    more = {name: best_of(column, result.estimates[name]) for name, column in gaps.items()}
    kept = narrow(replace(found, numbers=numbers | more), question)
    order = tuple(item.alias for item in named.select[: len(question.select)])
    return replace(kept, keys={name: array for name, array in kept.keys.items() if name in order}, order=order)


_ROWS = Aggregate("count", None, f"{SLOT}rows")


def _name_results(question: Question) -> Question:
    """Give every result a name, and show what is grouped by."""
    select: list[Key | Aggregate | Computed] = []
    for place, item in enumerate(question.select, 1):
        if isinstance(item, Aggregate):
            select.append(item)
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


def _project(rows: Answered, question: Question) -> Answered:
    """Columns and expressions of each row, without aggregates."""
    keys: dict[str, pa.Array] = {}
    numbers: dict[str, Uncertain] = {}
    order: list[str] = []
    for place, item in enumerate(question.select, 1):
        assert isinstance(item, Key), "there are no aggregates"
        rows.defined.expression(item.column)
        alias = item.alias or (item.column.text if isinstance(item.column, Name) else f"result_{place}")
        if rows.is_known(item.column) and names_of(item.column):
            keys[alias] = rows.values(item.column)
        else:
            numbers[alias] = rows.named_number(item.column)
        order.append(alias)
    check_names(order)
    return Answered(keys, numbers, rows.sure, rows.expected, tuple(order))


def check_names(names: Sequence[str]) -> None:
    """Refuse two columns of one name, upper and lower case aside."""
    lowered = [name.lower() for name in names]
    twice = next((name for place, name in enumerate(names) if name.lower() in lowered[:place]), None)
    if twice is not None:
        raise QueryError(f"two results would be called '{twice}'; name them with AS")


def _aggregate_groups(rows: Answered, question: Question) -> Answered:
    aliases = {item.alias.lower(): item.column for item in question.select if isinstance(item, Key) and item.alias}
    groups = [_resolve_alias(group, aliases, rows) for group in question.groups]
    if not all(rows.is_known(group) for group in groups):
        raise QueryError("GROUP BY takes columns that the sub-query groups by; its numbers have bounds and no values")
    for group in groups:
        rows.defined.expression(group)
    columns = [rows.values(group) for group in groups]
    members = _cells(columns, len(rows)) if groups else [list(range(len(rows)))]
    keys, order = {}, []
    places = itertools.count(1)
    for item in question.select:
        if not isinstance(item, Key):
            order.append(item.alias or f"result_{next(places)}")
            continue
        if _loose(item.column) not in map(_loose, (*groups, *question.groups)):
            raise QueryError(f"'{item.alias or 'a column'}' is selected but not grouped; add it to GROUP BY")
        column = _resolve_alias(item.column, aliases, rows)
        order.append(item.alias or (column.text if isinstance(column, Name) else "expression"))
        keys[order[-1]] = rows.values(column).take(pa.array([cell[0] for cell in members], pa.int64()))
    check_names(order)
    aggregates = [item for item in (*question.select, *question.slots) if isinstance(item, Aggregate)]
    for aggregate in aggregates:
        if aggregate.column is not None:
            rows.defined.expression(aggregate.column)
    numbers = {item.alias: _aggregate(rows, item, members) for item in aggregates}
    sure = [not groups or any(rows.sure[row] for row in cell) for cell in members]
    expected = [not groups or any(rows.expected[row] for row in cell) for cell in members]
    found = Answered(keys, numbers, sure, expected, tuple(order))
    computed = {
        name: item.expression for name, item in zip(order, question.select, strict=True) if isinstance(item, Computed)
    }
    for expression in computed.values():
        found.defined.expression(expression)
    return replace(found, numbers=numbers | {name: found.named_number(node) for name, node in computed.items()})


def _loose(node: Expression) -> Expression:
    """A name in any case; other expressions are the same where they are written alike."""
    return Name(node.text.lower()) if isinstance(node, Name) else node


def _resolve_alias(item: Expression, aliases: Mapping[str, Expression], rows: Answered) -> Expression:
    if not isinstance(item, Name) or item.text.lower() in {name.lower() for name in rows.names}:
        return item
    return aliases.get(item.text.lower(), item)


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
        return _count([[(row, rows.sure[row]) for row in cell] for cell in members], rows)
    if item.function == "count" and rows.is_known(item.column):
        present = rows.values(item.column).is_valid().to_pylist()
        return _count([[(row, rows.sure[row]) for row in cell if present[row]] for cell in members], rows)
    column = rows.bounded(item.column, is_named=True)
    offered = [
        [(row, rows.sure[row] and not column.gaps[row]) for row in cell if not column.is_missing(row)]
        for cell in members
    ]
    if item.function == "count":
        return _count(offered, rows)
    if column.estimate.rounding is Rounding.VALUE:
        raise QueryError("of texts and dates that a sub-query found there is COUNT alone; numbers have the others")
    return _fold_groups(item.function, column.estimate, offered, rows)


def _count(offered: list[list[tuple[int, bool]]], rows: Answered) -> Uncertain:
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


def _fold_groups(function: str, estimate: Estimate, offered: list[list[tuple[int, bool]]], rows: Answered) -> Uncertain:
    ends = estimate.widened()
    means = estimate.means()
    answers = [_fold(function, [(*_ends_of(ends[row]), is_sure) for row, is_sure in cell]) for cell in offered]
    hoped = [[row for row, _ in cell if rows.expected[row] and not math.isnan(means[row])] for cell in offered]
    hoped = [rows_ or [row for row, _ in cell] for rows_, cell in zip(hoped, offered, strict=True)]
    expected = [_mean(function, [means[row] for row in cell]) for cell in hoped]
    std = [_std(function, [estimate.std[row] for row in cell]) for cell in hoped]
    is_whole = estimate.rounding is Rounding.WHOLE and function != "avg"
    is_decimal = estimate.is_decimal and function != "avg"
    adds_floats = function in ("sum", "avg") and not estimate.is_decimal and estimate.rounding is not Rounding.WHOLE
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
        shake=[_room_of_sum([ends[row] for row, _ in cell]) for cell in offered] if adds_floats else None,
        is_decimal=is_decimal,
    )
    return Uncertain(made, [not any(is_sure for _, is_sure in cell) for cell in offered])


def _room_of_sum(numbers: Sequence[tuple[Fraction, Fraction] | None]) -> Fraction:
    """How far a database's sum of floats may lie from the true one."""
    sizes = [max(map(abs, ends)) for ends in numbers if ends is not None]
    return sum(sizes, Fraction(0)) * NEAR if len(sizes) > 1 else Fraction(0)


def _ends_of(ends: tuple[Fraction, Fraction] | None) -> tuple[Fraction, Fraction]:
    assert ends is not None, "missing numbers are left out"
    return ends


def _is_reached(estimate: Estimate, cell: list[tuple[int, bool]]) -> bool:
    """One open number, and rows that are all sure."""
    open_rows = [row for row, _ in cell if not estimate.exact[row]]
    firm = [row for row, _ in cell] if estimate.shake is not None else open_rows
    return all(is_sure for _, is_sure in cell) and len(open_rows) <= 1 and all(map(estimate.is_firm, firm))


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
    if not numbers or any(map(math.isnan, numbers)):
        return math.nan
    total = math.fsum(numbers)
    return total if function == "sum" else total / len(numbers) if function == "avg" else max(numbers)
