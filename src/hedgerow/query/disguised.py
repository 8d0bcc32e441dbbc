"""The engine for disguised releases: known rows per group, subdomains instead of values, perhaps more than rows.

Source     dissertation on permutation-based microdata protection, section 3.3.3
Guarantee  the true answer lies inside the bounds; SUM, AVG, MIN and MAX take the least lows and the greatest highs
Cost       one sort of the subdomains when first asked, then that of the permuted form
Deviates   fake values: h rows draw h of a group's subdomains, so bounds are over all of them

The mean of MIN and MAX puts every subdomain at its expected value. A condition on the sensitive column can be counted;
its sum would need to know which subdomains meet it, so that is refused.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.errors import QueryError
from hedgerow.query import bounds, expectation
from hedgerow.query.arrays import ArrayEngine, Selection
from hedgerow.query.bounds import Interval
from hedgerow.query.cells import means, totals
from hedgerow.query.evidence import Hits, Ints
from hedgerow.query.expectation import Spread
from hedgerow.query.help import exact_column
from hedgerow.query.known import known_estimate
from hedgerow.query.question import Aggregate, Bound, Column, Truth
from hedgerow.query.result import Estimate, Result, Rounding
from hedgerow.query.subdomains import NUMBERS, Floats, Subdomains
from hedgerow.query.view import View, view_of
from hedgerow.release import Release

__all__ = ["DisguisedEngine", "engine_of", "help_of_subdomains", "subdomain_estimate"]


def engine_of(release: Release) -> DisguisedEngine:
    """The engine of a release; its arrays are built once and live as long as its view."""
    view = view_of(release)
    return DisguisedEngine(view, _subdomains(release))


def _subdomains(release: Release) -> Subdomains:
    view, name = view_of(release), release.columns.sensitive[0]
    found: Subdomains = view.remember("subdomains", lambda: Subdomains(release, view.columns[name]))
    return found


def subdomain_estimate(release: Release, function: str, hits: Hits) -> Estimate:
    """Bounds and expectation of sum, avg, min or max of the sensitive column over the rows hit."""
    return _aggregated(function, hits, _subdomains(release))


class DisguisedEngine(ArrayEngine):
    """Answers questions about one disguised release."""

    def __init__(self, view: View, subdomains: Subdomains) -> None:
        super().__init__(view)
        self._subdomains = subdomains

    def _estimate(self, bound: Bound, aggregate: Aggregate, selection: Selection, hits: Hits) -> Estimate:
        is_free = isinstance(bound.hidden, Truth)
        if is_free and not bound.hides(aggregate):
            return known_estimate(self._view, aggregate, selection.rows, selection.cell, selection.cells)
        if aggregate.function == "count":
            return _counted(hits, self._subdomains, None if is_free else bound.hidden)
        if not is_free:
            raise QueryError(
                "over subdomains a condition on the sensitive column can be counted, not summed or averaged; "
                "ask for count(*), or leave the condition out"
            )
        assert isinstance(aggregate.column, Column)
        return _aggregated(aggregate.function, hits, self._subdomains)

    def _possible(self, bound: Bound, hits: Hits, result: Result) -> Result:
        most = _counted(hits, self._subdomains, bound.hidden).upper
        return result.take(np.flatnonzero(np.array(most, dtype=np.int64)))


def _aggregated(function: str, hits: Hits, subdomains: Subdomains) -> Estimate:
    values, numbers = subdomains.values, subdomains.numbers
    name = {"sum": "total", "avg": "average", "min": "minimum", "max": "maximum"}[function]
    interval: Interval = getattr(bounds, name)(hits, values)
    spread = _spread(function, hits, subdomains)
    widths = None
    if numbers.slack and function in ("sum", "avg"):
        widths = [numbers.slack * n for n in (totals(hits, hits.upper) if function == "sum" else [1] * hits.cells)]
    return Estimate(
        [None if tick is None else tick * values.unit for tick in interval.lower],
        [None if tick is None else tick * values.unit for tick in interval.upper],
        _scaled(spread.mean, values.unit).tolist(),
        _scaled(spread.std, values.unit).tolist(),
        [low == high for low, high in zip(interval.lower, interval.upper, strict=True)],
        numbers.rounding(function),
        widths,
    )


def _spread(function: str, hits: Hits, subdomains: Subdomains) -> Spread:
    if function in ("min", "max"):
        name = "minimum" if function == "min" else "maximum"
        points = subdomains.points
        spread: Spread = getattr(expectation, name)(hits, points, getattr(bounds, name)(hits, points))
        return spread
    centre, within = subdomains.centres
    total = _drawn(hits, subdomains, centre, within)
    number = means(hits, hits.expected.astype(np.float64))
    if function == "sum":
        return Spread(np.where(number > 0, total.mean, np.nan), total.std)
    divisor = np.where(number > 0, number, np.nan)
    return Spread(total.mean / divisor, total.std / divisor)


def _drawn(hits: Hits, subdomains: Subdomains, centre: Floats, within: Floats) -> Spread:
    """The sum over the rows hit: subdomains are drawn without replacement, values inside them independently."""
    mean = subdomains.mean(centre)
    between = subdomains.mean((centre - mean[subdomains.groups]) ** 2)
    size, h = subdomains.sizes[hits.group], hits.expected
    variance = h * ((size - h) / np.maximum(size - 1, 1)) * between[hits.group]
    variance = variance + h * subdomains.mean(within)[hits.group]
    return Spread(means(hits, h * mean[hits.group]), np.sqrt(means(hits, variance)))


def _counted(hits: Hits, subdomains: Subdomains, hidden: Any) -> Estimate:
    """COUNT: surely and possibly satisfying subdomains bound the matches of each group."""
    if hidden is None:
        surely, possibly, chance = subdomains.sizes, subdomains.sizes, np.ones(len(subdomains.nodes))
    else:
        surely, possibly, chance = subdomains.satisfying(hidden)
    size = subdomains.sizes
    least = np.maximum(hits.lower + surely[hits.group] - size[hits.group], 0)
    most = np.minimum(hits.upper, possibly[hits.group])
    lower, upper = totals(hits, least), totals(hits, most)
    spread = _drawn(hits, subdomains, chance, chance * (1.0 - chance))
    return Estimate(
        [Fraction(number) for number in lower],
        [Fraction(number) for number in upper],
        spread.mean.tolist(),
        spread.std.tolist(),
        [a == b for a, b in zip(lower, upper, strict=True)],
        Rounding.WHOLE,
    )


def _scaled(numbers: Floats, unit: Fraction) -> Floats:
    return numbers * float(unit) if unit >= 1 else numbers / float(1 / unit)


def help_of_subdomains(release: Release) -> pa.Table:
    """The help table: for every group and number of hits the bounds of each aggregate; `size` counts subdomains."""
    view, subdomains = view_of(release), _subdomains(release)
    sizes, rows = subdomains.sizes, np.diff(view.offsets)
    group = np.repeat(np.arange(len(rows)), rows)
    hits = np.arange(view.num_rows) - view.offsets[group] + 1
    columns = {"group": pa.array(group.astype(np.int32)), "hits": pa.array(hits), "size": pa.array(sizes[group])}
    if subdomains.column.kind in NUMBERS:
        columns |= _bounds_by_hits(subdomains, group, hits)
    return pa.table(columns)


def _bounds_by_hits(subdomains: Subdomains, group: Ints, hits: Ints) -> dict[str, pa.Array]:
    values, start, end = subdomains.values, subdomains.offsets[group], subdomains.offsets[group + 1]
    size, mirrored = len(values.lows), values.mirrored.prefix
    exact: dict[str, Ints] = {
        "sum_lower": values.prefix[start + hits] - values.prefix[start],
        "sum_upper": mirrored[size - end] - mirrored[size - end + hits],
        "min_lower": values.lows[start],
        "min_upper": values.highs[end - hits],
        "max_lower": values.lows[start + hits - 1],
        "max_upper": values.highs[end - 1],
    }
    one_by_one = Hits(len(hits), np.arange(len(hits)), group, hits, hits, hits)
    spread = _drawn(one_by_one, subdomains, *subdomains.centres)
    return {
        **{name: exact_column(ticks, values.unit) for name, ticks in exact.items()},
        "sum_expected": pa.array(_scaled(spread.mean, values.unit)),
        "sum_variance": pa.array(_scaled(spread.std, values.unit) ** 2),
    }
