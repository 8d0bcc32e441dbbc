"""MIN and MAX: each the other seen in the mirror."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.query.aggregates.aggregator import (
    Aggregator,
    Gives,
    Interval,
    Spread,
    least_value,
    may_be_null,
    mirror_ends,
    missed_chances,
)
from hedgerow.query.evidence.groups import Floats, Hits, Ints, Values, best, matches, rank, unroll

__all__ = ["MAX", "MIN", "maximum", "minimum"]

_NEAREST = 4096
_CERTAIN = 45.0  # exp(-45) is 3e-20


def minimum(hits: Hits, values: Values) -> Interval:
    """MIN: from the smallest value in reach to the smallest that must be taken when all take their largest."""
    lower, upper = least_value(hits, values), _greatest_minimum(hits, values)
    agree = zip(lower, upper, may_be_null(hits, values), strict=True)
    return Interval(lower, upper, [low == high and not null for low, high, null in agree])


def maximum(hits: Hits, values: Values) -> Interval:
    """MAX: MIN seen in the mirror."""
    mirror = minimum(hits.mirrored(len(values.sizes)), values.mirrored)
    return Interval(mirror_ends(mirror.upper), mirror_ends(mirror.lower), mirror.exact)


def _greatest_minimum(hits: Hits, values: Values) -> list[int | None]:
    least, most = matches(hits, values)

    def smallest_of_largest(group: Ints, forced: Ints) -> Ints:
        result: Ints = values.highs[values.offsets[group + 1] - forced]
        return result

    forced: NDArray[np.bool_] = least >= 1
    bounds = best(np.minimum, hits, forced, lambda group: smallest_of_largest(group, least[forced]))
    if None not in bounds:
        return bounds
    # No group has to contribute: the largest minimum is that of a single value, the largest in reach.
    single = best(np.maximum, hits, most >= 1, lambda group: values.highs[values.offsets[group + 1] - 1])
    return [one if bound is None else bound for bound, one in zip(bounds, single, strict=True)]


def expected_minimum(hits: Hits, values: Values, bounds: Interval) -> Spread:
    """MIN: walk up the values in reach and multiply the chances that each is missed."""
    values = values.typical
    mean, std = np.full(hits.cells, np.nan), np.full(hits.cells, np.nan)
    inside = np.array([upper is not None for upper in bounds.upper], dtype=np.bool_)
    ends = np.array([0 if upper is None else upper for upper in bounds.upper], dtype=np.int64)
    hits = hits.only((values.counts[hits.group] > 0) & inside[hits.cell])
    ends = _horizon(hits, values, ends)
    above, missed, edges = _chances(hits, values, ends)
    for cell in np.flatnonzero(inside):
        part = slice(edges[cell], edges[cell + 1])
        survival = np.concatenate(([1.0], np.cumprod(missed[part])))
        chance = (survival[:-1] - survival[1:]) / (1.0 - survival[-1])
        shift = float(above[part] @ chance)
        mean[cell] = ends[cell] + shift
        std[cell] = np.sqrt(max(float((above[part] - shift) ** 2 @ chance), 0.0))
    return Spread(mean, std)


def expected_maximum(hits: Hits, values: Values, bounds: Interval) -> Spread:
    """MAX: MIN seen in the mirror."""
    flipped = Interval([], [None if bound is None else -bound for bound in bounds.lower], [])
    mirror = expected_minimum(hits.mirrored(len(values.sizes)), values.mirrored, flipped)
    return Spread(-mirror.mean, mirror.std)


def _horizon(hits: Hits, values: Values, ends: Ints) -> Ints:
    """Draw each cell's end in to where a larger minimum is less likely than the last digit of a float.

    A group's smallest value is missed with chance 1 - h/N at most, so the nearest smallest values decide.
    """
    ends, edges = ends.copy(), np.searchsorted(hits.cell, np.arange(hits.cells + 1))
    for cell in np.flatnonzero(np.diff(edges) > _NEAREST):
        group = hits.group[edges[cell] : edges[cell + 1]]
        smallest = values.lows[values.offsets[group]]
        near = np.argpartition(smallest, _NEAREST)[:_NEAREST]
        near = near[np.argsort(smallest[near])]
        weight = np.cumsum(hits.expected[edges[cell] + near] / values.sizes[group[near]])
        if weight[-1] >= _CERTAIN:
            ends[cell] = min(ends[cell], smallest[near[np.searchsorted(weight, _CERTAIN)]])
    return ends


def _chances(hits: Hits, values: Values, ends: Ints) -> tuple[Floats, Floats, Ints]:
    """Values up to each cell's end, ascending by cell: distance to the end, and chance to be missed.

    The chance is given that all smaller ones were missed; the third result is where each cell starts.
    """
    hits = hits.only(values.lows[values.offsets[hits.group]] <= ends[hits.cell])
    owner, order = unroll(rank(values, values.lows, hits.group, ends[hits.cell] + 1))
    cell, low = hits.cell[owner], values.lows[values.offsets[hits.group[owner]] + order]
    ascending = np.lexsort((low, cell))
    above = (low - ends[cell])[ascending].astype(np.float64)
    edges = np.searchsorted(cell[ascending], np.arange(hits.cells + 1))
    return above, missed_chances(hits, values, owner, order)[ascending], edges


def _least(hits: Hits, values: Values, _: Fraction | None) -> tuple[Interval, Spread]:
    interval = minimum(hits, values)
    return interval, expected_minimum(hits, values, interval)


def _greatest(hits: Hits, values: Values, _: Fraction | None) -> tuple[Interval, Spread]:
    interval = maximum(hits, values)
    return interval, expected_maximum(hits, values, interval)


MIN = Aggregator("min", Gives.VALUE, _least, ("Min",), True, "min")
MAX = Aggregator("max", Gives.VALUE, _greatest, ("Max",), True, "max")
