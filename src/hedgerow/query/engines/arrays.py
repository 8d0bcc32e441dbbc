"""The array engine: questions answered from the evidence of a release, without a database."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

import numpy as np
import pyarrow as pa

from hedgerow.exact import float_above, float_below
from hedgerow.query.aggregates import AGGREGATES, Gives
from hedgerow.query.aggregates.aggregator import Interval, Spread
from hedgerow.query.answer import Estimate, Result, Rounding
from hedgerow.query.evidence.groups import Floats, Hits, Values, totals
from hedgerow.query.evidence.permuted import Plan
from hedgerow.query.evidence.rows import Selection, hits_of
from hedgerow.query.sql.question import Aggregate, Arithmetic, Bound

__all__ = ["ArrayEngine", "Selection", "Source", "estimate", "hits_of"]


class Source(Protocol):
    """What a form tells about a question."""

    def plan(self, bound: Bound) -> Plan:
        """Prepare the answer."""


class ArrayEngine:
    """Answers questions about one release."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def run(self, bound: Bound) -> Result:
        """Answer a bound question."""
        plan = self._source.plan(bound)
        estimates = {item.alias: _answered(plan, item) for item in bound.aggregates}
        estimates |= _ratios(plan, bound, estimates)
        result = Result(plan.keys, estimates, plan.cells)
        if not bound.groups:
            return result
        # Cells that are empty under every assignment are not listed, as SQL would not list them.
        count = Aggregate("count", None, "")
        most = _answered(plan, count).upper
        possible = np.array([number is None or number > 0 for number in most], dtype=np.bool_)
        return result if possible.all() else result.take(np.flatnonzero(possible))


def _ratios(plan: Plan, bound: Bound, estimates: dict[str, Estimate]) -> dict[str, Estimate]:
    """Quotients of two sums that are both open: their best ratios, and not ratios of their bounds."""
    items = {item.alias: item for item in bound.aggregates}
    found: dict[str, Estimate] = {}
    for computed in bound.outcome.computed:
        node = computed.expression
        if not isinstance(node, Arithmetic) or node.operator != "/":
            continue
        names = [getattr(side, "text", "") for side in (node.left, node.right)]
        if all(name in items for name in names) and not any(all(estimates[name].exact) for name in names):
            ratio = plan.ratio(items[names[0]], items[names[1]])
            found |= {} if ratio is None else {computed.alias: ratio}
    return found


def _answered(plan: Plan, item: Aggregate) -> Estimate:
    return plan.crossed(item) or plan.known(item) or _estimate(plan, item)


def _estimate(plan: Plan, item: Aggregate) -> Estimate:
    numbers = plan.numbers(item)
    hits, values = plan.evidence(item if item.column is not None else None)
    if numbers is None:
        return estimate(item.function, hits, values, Rounding.WHOLE, Fraction(0))
    rounding, slack = numbers.rounding(item.function), numbers.slack
    return estimate(item.function, hits, values, rounding, slack, item.fraction, numbers.domain)


def estimate(
    function: str,
    hits: Hits,
    values: Values,
    rounding: Rounding,
    slack: Fraction,
    fraction: Fraction | None = None,
    domain: pa.Array | None = None,
) -> Estimate:
    """Bounds and expectation of one aggregate over hidden values."""
    aggregator = AGGREGATES[function]
    interval, spread = aggregator.answer(hits, values, fraction)
    if values.is_rounded and aggregator.gives is Gives.VALUE:
        return _published(aggregator.answer(hits, values.points, fraction)[0], _scaled_spread(spread, values), domain)
    unit = _unit(aggregator.gives, values)
    widths = None
    if slack and aggregator.gives in (Gives.TOTAL, Gives.MEAN):
        numbers = totals(hits, hits.upper) if aggregator.gives is Gives.TOTAL else [1] * hits.cells
        widths = [slack * number for number in numbers]
    found = Estimate(
        [None if tick is None else tick * unit for tick in interval.lower],
        [None if tick is None else tick * unit for tick in interval.upper],
        _scaled(spread.mean, unit).tolist(),
        _scaled(spread.std, unit).tolist(),
        interval.exact,
        rounding,
        widths,
        domain=domain,
    )
    return _rooted(found) if aggregator.gives is Gives.ROOT else found


def _published(interval: Interval, spread: Spread, domain: pa.Array | None) -> Estimate:
    """Bounds that are published floats, found by their places among these: ticks do not tell all of them apart."""
    assert domain is not None, "rounded values come with the list of them"
    floats = [Fraction(value) for value in domain.to_pylist()]
    lower, upper = (
        [None if place is None else floats[place] for place in ends] for ends in (interval.lower, interval.upper)
    )
    return Estimate(lower, upper, spread.mean.tolist(), spread.std.tolist(), interval.exact, Rounding.NEAREST)


def _scaled_spread(spread: Spread, values: Values) -> Spread:
    return Spread(_scaled(spread.mean, values.unit), _scaled(spread.std, values.unit))


def _unit(gives: Gives, values: Values) -> Fraction:
    if gives is Gives.NUMBER:
        return Fraction(1)
    return values.unit**2 if gives in (Gives.SQUARE, Gives.ROOT) else values.unit


def _scaled(numbers: Floats, unit: Fraction) -> Floats:
    return numbers * float(unit) if unit >= 1 else numbers / float(1 / unit)


def _rooted(found: Estimate) -> Estimate:
    """Standard deviations from variances: roots of the bounds, rounded outwards."""
    lower = [None if v is None else _root(float_below(v), -math.inf) for v in found.lower]
    upper = [None if v is None else _root(float_above(v), math.inf) for v in found.upper]
    mean = [math.sqrt(max(v, 0.0)) for v in found.expected]
    std = [s / (2.0 * m) if m else 0.0 for s, m in zip(found.std, mean, strict=True)]
    return Estimate(lower, upper, mean, std, found.exact, found.rounding)


def _root(number: float, outward: float) -> Fraction:
    """A square root that is not inside the true one; that of zero is zero."""
    root = math.sqrt(max(number, 0.0))
    return Fraction(max(math.nextafter(root, outward), 0.0) if root else 0.0)
