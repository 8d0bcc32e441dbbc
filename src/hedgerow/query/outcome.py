"""What is said about results: arithmetic between them, HAVING, ORDER BY, LIMIT. The same for every engine.

HAVING and ORDER BY look at expected values. Arithmetic is interval arithmetic in fractions: it takes its operands as
independent, so bounds hold and are tight where no operand occurs twice. Its deviation is that of the linearized
expression if all operands deviated together, an upper limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.errors import QueryError
from hedgerow.query.aggregates import AGGREGATES, Gives
from hedgerow.query.evidence.view import evaluate, values
from hedgerow.query.intervals import combined, constant
from hedgerow.query.result import Estimate, Result
from hedgerow.query.sql.binder import Binder
from hedgerow.query.sql.kinds import NUMBERS
from hedgerow.query.sql.question import (
    SLOT,
    Aggregate,
    Arithmetic,
    Bound,
    Column,
    Computed,
    Constant,
    Expression,
    Key,
    Kind,
    Order,
    Outcome,
    Truth,
    columns_of,
    kind_of,
)

__all__ = ["bind_outcome", "finished"]


def bind_outcome(bound: Bound, outcome: Outcome, computed: Sequence[Computed]) -> Bound:
    """Resolve the names of results."""
    results = {item.alias: _result_column(item) for item in bound.aggregates}
    named = tuple(
        replace(item, alias=item.alias or _free(f"result_{n}", results)) for n, item in enumerate(computed, 1)
    )
    for item in named:
        _check_arithmetic(item.expression)
    results |= {item.alias: Column(item.alias, Kind.FLOAT) for item in named}
    keys = {key.alias: Column(key.alias, _kind(key)) for key in bound.keys}
    others = {c.name: Column(f"{SLOT}{c.name}", c.kind) for c in bound.groups if c.name not in results | keys}
    binder = Binder({**others, **results, **keys})
    order = tuple(_order(term, binder, [*keys, *results]) for term in outcome.order)
    having = binder.predicate(outcome.having)
    used = columns_of(having).union(*(columns_of(term.expression) for term in order))
    extra = tuple(Key(c, f"{SLOT}{c.name}") for c in bound.groups if f"{SLOT}{c.name}" in used)
    shown = tuple(name for name in [*keys, *results] if not name.startswith(SLOT))
    final = Outcome(named, having, order, outcome.limit, outcome.offset, shown)
    return replace(bound, keys=(*bound.keys, *extra), outcome=final)


def _result_column(item: Aggregate) -> Column:
    is_value = item.function in AGGREGATES and AGGREGATES[item.function].gives is Gives.VALUE
    is_valued = is_value and isinstance(item.column, Column) and item.column.kind not in NUMBERS
    return Column(item.alias, item.column.kind if is_valued and isinstance(item.column, Column) else Kind.FLOAT)


def _kind(key: Key) -> Kind:
    kind = kind_of(key.column)
    assert kind is not None, "a key is a column"
    return kind


def _free(wanted: str, taken: dict[str, Column]) -> str:
    return wanted if wanted not in taken else _free(f"{wanted}_", taken)


def _order(term: Order, binder: Binder, names: list[str]) -> Order:
    place = term.expression
    if isinstance(place, Constant):
        shown = [name for name in names if not name.startswith(SLOT)]
        if type(place.value) is not int or not 1 <= place.value <= len(shown):
            raise QueryError(f"ORDER BY takes results by name, or by place from 1 to {len(shown)}")
        return replace(term, expression=binder.columns[shown[place.value - 1]])
    return replace(term, expression=binder.expression(place))


def _check_arithmetic(node: Expression) -> None:
    if isinstance(node, Arithmetic):
        _check_arithmetic(node.left)
        _check_arithmetic(node.right)
    elif not getattr(node, "text", "").startswith(SLOT) and not (
        isinstance(node, Constant) and not isinstance(node.value, bool | str | None)
    ):
        raise QueryError("between aggregates there may be + - * / and numbers: sum(x) / count(*) * 100")


def finished(bound: Bound, result: Result) -> Result:
    """Compute, filter, sort and cut the results, and keep those that are shown."""
    outcome = bound.outcome
    estimates = dict(result.estimates)
    for item in outcome.computed:
        if item.alias not in estimates:  # an engine may know better
            estimates[item.alias] = _computed(item.expression, estimates, result.cells)
    whole = Result(result.keys, estimates, result.cells)
    cells = _sorted(outcome, whole, _kept(outcome, whole))
    cells = cells[outcome.offset :][: outcome.limit]
    shown = [name for name in outcome.shown if name in estimates]
    keys = {name: array for name, array in whole.keys.items() if name in outcome.shown}
    final = Result(keys, {name: estimates[name] for name in shown}, result.cells)
    return final if np.array_equal(cells, np.arange(result.cells)) else final.take(cells)


def _computed(node: Expression, estimates: dict[str, Estimate], cells: int) -> Estimate:
    if isinstance(node, Arithmetic):
        left, right = (_computed(side, estimates, cells) for side in (node.left, node.right))
        return combined(node.operator, left, right)
    if isinstance(node, Constant):
        assert not isinstance(node.value, bool | str | None), "checked when bound"
        return constant(node.value, cells)
    return estimates[getattr(node, "text", "")]


def _expected(result: Result) -> dict[str, pa.Array]:
    arrays = dict(result.keys)
    for alias, estimate in result.estimates.items():
        array = estimate.middle()
        arrays[alias] = array.cast(pa.float64()) if pa.types.is_integer(array.type) else array
    return arrays


def _kept(outcome: Outcome, result: Result) -> np.ndarray:
    if outcome.having == Truth(True):
        return np.arange(result.cells)
    truth = evaluate(outcome.having, _expected(result), result.cells)
    return np.flatnonzero(truth.fill_null(False).to_numpy(zero_copy_only=False))


def _sorted(outcome: Outcome, result: Result, cells: np.ndarray) -> np.ndarray:
    """Sort by the last term first; each sort keeps the order of equals."""
    arrays = _expected(result) if outcome.order else {}
    for term in reversed(outcome.order):
        column = values(term.expression, arrays, result.cells).take(pa.array(cells))
        ranks = pc.rank(column, tiebreaker="dense").to_numpy().astype(np.int64)
        ranks = -ranks if term.is_descending else ranks
        missing = column.is_null().to_numpy(zero_copy_only=False)
        ranks[missing] = np.iinfo(np.int64).min if term.nulls_first else np.iinfo(np.int64).max
        cells = cells[np.argsort(ranks, kind="stable")]
    return cells
