"""What a question says about the results of its aggregates: arithmetic, HAVING, ORDER BY and LIMIT.

Guarantee  a row of HAVING about which all tables agree is kept, or left out, for sure; others as their expected results
           say, and the result tells that rows were picked
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.errors import QueryError
from hedgerow.query.answer import Estimate, Result, as_compared, combine, constant, require_mean
from hedgerow.query.answered import FALSE, NULL, TRUE, Answered, best_of
from hedgerow.query.calculated import Uncertain
from hedgerow.query.cut import spell_keys
from hedgerow.query.evidence.view import evaluate, values
from hedgerow.query.sql.question import (
    SLOT,
    Aggregate,
    Arithmetic,
    Bound,
    Call,
    Case,
    Column,
    Computed,
    Constant,
    Expression,
    Kind,
    Name,
    Outcome,
    Predicate,
    Truth,
    columns_of,
)

__all__ = ["conclude_result", "finish_result", "mark_types"]

_DECIMALS = ("sum", "min", "max", "quantile_disc")


def conclude_result(bound: Bound, result: Result) -> Result:
    """What a question says about the results of its aggregates, checked and computed; HAVING, ORDER BY and LIMIT."""
    typed = mark_types(bound, result)
    _check_results(bound, typed)
    computed = _calculate_results(bound, typed) if bound.outcome.computed else {}
    return finish_result(bound, replace(result, estimates=result.estimates | computed))


def _check_results(bound: Bound, result: Result) -> None:
    """Refuse what a question computes from its results, or asks of them, where it has no value for sure."""
    if not bound.outcome.may_fail:
        return
    bounded = {name: found for name, found in result.estimates.items() if found.is_bounded}
    rows = _rows_of(bound, replace(result, estimates=bounded))
    rows.defined.predicate(bound.outcome.having)
    for expression in bound.outcome.expressions:
        rows.defined.expression(expression)


def _calculate_results(bound: Bound, result: Result) -> dict[str, Estimate]:
    """The computed results of a question that are more than arithmetic of results: functions, CASE, and keys."""
    wanted = [
        item for item in bound.outcome.computed if item.alias not in result.estimates and _is_more(item.expression)
    ]
    if not wanted:
        return {}
    found, counts = _rows_of(bound, result), _counts(bound)
    made = {item.alias: found.number(item.expression).estimate for item in wanted}
    if not bound.groups:
        return made
    # A group that may be empty is listed; what a CASE says of it is sure only if the group is there.
    sure = [
        any(_shows_rows(result.estimates[name], name in counts, row) for name in found.numbers)
        for row in range(result.cells)
    ]
    return {
        name: replace(one, exact=[flag and there for flag, there in zip(one.exact, sure, strict=True)])
        for name, one in made.items()
    }


def _rows_of(bound: Bound, result: Result) -> Answered:
    counts, everything = _counts(bound), [True] * result.cells
    numbers = {
        name: Uncertain(estimate, [name not in counts and not _is_there(estimate, row) for row in range(result.cells)])
        for name, estimate in result.estimates.items()
    }
    return Answered(result.keys, numbers, everything, everything)


def mark_types(bound: Bound, result: Result) -> Result:
    """A result whose keys and numbers tell decimal numbers from floating-point ones, as SQL does."""
    found = {
        item.alias: replace(result.estimates[item.alias], is_decimal=True)
        for item in bound.aggregates
        if _is_decimal(item) and item.alias in result.estimates
    }
    return replace(spell_keys(bound, result), estimates=result.estimates | found)


def _is_decimal(item: Aggregate) -> bool:
    """Tell whether an aggregate is a decimal number for SQL."""
    column = item.column
    return item.function in _DECIMALS and isinstance(column, Column) and column.kind is Kind.DECIMAL


def _counts(bound: Bound) -> set[str]:
    return {item.alias for item in bound.aggregates if item.function in ("count", "distinct", "regr_count")}


def _shows_rows(estimate: Estimate, is_count: bool, row: int) -> bool:
    """Tell whether a number proves that its group has a row."""
    low = estimate.lower[row]
    return low is not None and (low >= 1 if is_count else bool(estimate.exact[row]))


def _is_more(node: Expression) -> bool:
    if isinstance(node, Arithmetic):
        return _is_more(node.left) or _is_more(node.right)
    return isinstance(node, Call | Case) or (isinstance(node, Name) and not node.text.startswith(SLOT))


def _is_there(estimate: Estimate, row: int) -> bool:
    """Tell whether a number is not NULL for sure."""
    return estimate.exact[row] and estimate.lower[row] is not None


def finish_result(bound: Bound, result: Result) -> Result:
    """Compute, filter, sort and cut the results, and keep those that are shown."""
    outcome, shown_keys, result = bound.outcome, result.keys, mark_types(bound, result)
    estimates = dict(result.estimates)
    for item in outcome.computed:
        if item.alias not in estimates:  # an engine may know better
            estimates[item.alias] = _compute(item.expression, estimates, result.cells)
    whole = replace(result, estimates=estimates)
    having, is_near = _cells_having(bound, whole)
    cells = _sort_cells(outcome, whole, having)[outcome.offset :][: outcome.limit]
    shown = [name for name in outcome.shown if name in estimates]
    keys = {name: array for name, array in shown_keys.items() if name in outcome.shown}
    is_picked = is_near or _is_picked(outcome, whole, is_cut=len(cells) < len(having))
    final = replace(whole, keys=keys, estimates={name: estimates[name] for name in shown}, is_picked=is_picked)
    return final if np.array_equal(cells, np.arange(result.cells)) else final.take(cells)


def _compute(node: Expression, estimates: dict[str, Estimate], cells: int) -> Estimate:
    if isinstance(node, Arithmetic):
        left, right = (_compute(side, estimates, cells) for side in (node.left, node.right))
        return combine(node.operator, left, right)
    if isinstance(node, Constant):
        return constant(node.value, cells)
    return estimates[getattr(node, "text", "")]


def _cells_having(bound: Bound, result: Result) -> tuple[np.ndarray, bool]:
    """The rows that HAVING keeps, and whether it is open for some, be it by what a database rounds."""
    outcome = bound.outcome
    if outcome.having == Truth(True):
        return np.arange(result.cells), False
    sure, is_near = _decide_having(bound, result)
    read, found = columns_of(outcome.having), _expected_columns(result, outcome.having)
    is_result = read & set(result.estimates)  # keys keep all their digits
    arrays = {name: as_compared(array) if name in is_result else array for name, array in found.items()}
    truth = evaluate(outcome.having, arrays, result.cells)
    hoped = truth.fill_null(False).to_pylist()
    kept = [hope if flag is None else flag for hope, flag in zip(hoped, sure, strict=True)]
    return np.flatnonzero(kept), is_near


def _decide_having(bound: Bound, result: Result) -> tuple[list[bool | None], bool]:
    """Where HAVING is true, or not, of every table that the release allows, and whether it is open (None) for some.

    What cannot be decided is as open as the results that it reads.
    """
    bounded = {name: found for name, found in result.estimates.items() if found.is_bounded}
    taken = {name.lower() for name in (*result.keys, *result.estimates)}
    columns = {key.column.name: result.keys[key.alias] for key in bound.keys if isinstance(key.column, Column)}
    keys = result.keys | {name: array for name, array in columns.items() if name.lower() not in taken}
    rows = _rows_of(bound, replace(result, keys=keys, estimates=bounded))
    try:
        named = (item for item in bound.outcome.computed if item.alias in rows.numbers)
        numbers = {item.alias: _rounded_as(rows, item) for item in named}
        truths = replace(rows, numbers=rows.numbers | numbers).truths(bound.outcome.written)
    except QueryError:
        return [None] * result.cells, False
    found = [flags == TRUE if flags in (TRUE, FALSE, NULL) else None for flags in truths]
    return found, None in found


def _rounded_as(rows: Answered, item: Computed) -> Uncertain:
    """A computed result, which HAVING may name, with what databases may be off that compute it in floats."""
    own = rows.numbers[item.alias]
    return replace(own, estimate=best_of(rows.named_number(item.expression), own.estimate).estimate)


def _sort_cells(outcome: Outcome, result: Result, cells: np.ndarray) -> np.ndarray:
    """Sort by the last term first; each sort keeps the order of equals."""
    arrays = _expected_columns(result, *(term.expression for term in outcome.order)) if outcome.order else {}
    for term in reversed(outcome.order):
        column = values(term.expression, arrays, result.cells).take(pa.array(cells))
        ranks = pc.rank(column, tiebreaker="dense").to_numpy().astype(np.int64)
        ranks = -ranks if term.is_descending else ranks
        missing = column.is_null().to_numpy(zero_copy_only=False)
        ranks[missing] = np.iinfo(np.int64).min if term.nulls_first else np.iinfo(np.int64).max
        cells = cells[np.argsort(ranks, kind="stable")]
    return cells


def _expected_columns(result: Result, *read: Predicate | Expression) -> dict[str, pa.Array]:
    """Keys and expected results; those that some of the nodes read must have an expected result."""
    arrays = dict(result.keys)
    names = frozenset().union(*map(columns_of, read))
    for alias, estimate in result.estimates.items():
        if alias in names:
            require_mean(estimate)
        arrays[alias] = estimate.middle()
    return arrays


def _is_picked(outcome: Outcome, result: Result, *, is_cut: bool) -> bool:
    """Tell whether other tables that the release allows may have other rows after HAVING, or after LIMIT."""

    def is_open(*nodes: Predicate | Expression) -> bool:
        read = frozenset().union(*map(columns_of, nodes))
        return any(not all(result.estimates[name].exact) for name in read if name in result.estimates)

    may_miss = result.sure is not None and not all(result.sure)
    by_order = is_cut and (may_miss or is_open(*(term.expression for term in outcome.order)))
    return result.is_picked or by_order or is_open(outcome.having)
