"""MIN and MAX: each the other seen in the mirror."""

from __future__ import annotations

import functools
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
    spread_of_points,
)
from hedgerow.query.evidence.groups import Evidence, Floats, Hits, Ints, Values, best, matches, unroll
from hedgerow.query.evidence.tally import rank

__all__ = ["MAX", "MIN", "maximum", "minimum"]

_NEAREST = 4096
_CERTAIN = 45.0  # exp(-45) is 3e-20


def minimum(evidence: Evidence) -> Interval:
    """MIN: from the smallest value in reach to the smallest that must be taken when all take their largest."""
    lower, upper = least_value(evidence), _greatest_minimum(evidence)
    agree = zip(lower, upper, may_be_null(evidence), strict=True)
    return Interval(lower, upper, [low == high and not null for low, high, null in agree])


def maximum(evidence: Evidence) -> Interval:
    """MAX: MIN seen in the mirror."""
    mirror = minimum(evidence.mirrored)
    return Interval(mirror_ends(mirror.upper), mirror_ends(mirror.lower), mirror.exact)


def _greatest_minimum(evidence: Evidence) -> list[int | None]:
    bounds = evidence.least(_smallest_of_largest)
    if None not in bounds:
        return bounds
    # No group has to contribute: the largest minimum is that of a single value, the largest in reach.
    single = evidence.greatest(_largest)
    return [one if bound is None else bound for bound, one in zip(bounds, single, strict=True)]


def _smallest_of_largest(hits: Hits, values: Values) -> list[int | None]:
    """The smallest value that must be taken when every group takes its largest."""
    least, _ = matches(hits, values)
    forced: NDArray[np.bool_] = least >= 1
    return best(np.minimum, hits, forced, lambda group: values.highs[values.offsets[group + 1] - least[forced]])


def _largest(hits: Hits, values: Values) -> list[int | None]:
    _, most = matches(hits, values)
    return best(np.maximum, hits, most >= 1, lambda group: values.highs[values.offsets[group + 1] - 1])


def expected_minimum(evidence: Evidence, bounds: Interval) -> Spread:
    """MIN: walk up the values in reach and multiply the chances that each is missed."""
    evidence = evidence.typical
    mean, std = np.full(evidence.cells, np.nan), np.full(evidence.cells, np.nan)
    inside = np.array([upper is not None for upper in bounds.upper], dtype=np.bool_)
    ends = np.array([0 if upper is None else upper for upper in bounds.upper], dtype=np.int64)
    ends = functools.reduce(np.minimum, evidence.each(lambda hits, values: _horizon(hits, values, inside, ends)))
    above, missed, edges = _chances(evidence, inside, ends)
    for cell in np.flatnonzero(inside):
        part = slice(edges[cell], edges[cell + 1])
        survival = np.concatenate(([1.0], np.cumprod(missed[part])))
        if survival[-1] == 1.0:
            continue  # that a row counts is less likely than the last digit of a float, so that nothing is expected
        chance = (survival[:-1] - survival[1:]) / (1.0 - survival[-1])
        shift = float(above[part] @ chance)
        mean[cell] = ends[cell] + shift
        std[cell] = np.sqrt(max(float((above[part] - shift) ** 2 @ chance), 0.0))
    return Spread(mean, std)


def expected_maximum(evidence: Evidence, bounds: Interval) -> Spread:
    """MAX: MIN seen in the mirror."""
    flipped = Interval([], [None if bound is None else -bound for bound in bounds.lower], [])
    mirror = expected_minimum(evidence.mirrored, flipped)
    return Spread(-mirror.mean, mirror.std)


def _drawing(hits: Hits, values: Values, inside: NDArray[np.bool_]) -> Hits:
    """Rows hit that draw from values, in cells that may have one."""
    return hits.only((values.counts[hits.group] > 0) & inside[hits.cell])


def _horizon(hits: Hits, values: Values, inside: NDArray[np.bool_], ends: Ints) -> Ints:
    """Draw each cell's end in to where a larger minimum is less likely than the last digit of a float.

    A group's smallest value is missed with chance 1 - h/N at most, so the nearest smallest values decide.
    """
    hits = _drawing(hits, values, inside)
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


def _chances(evidence: Evidence, inside: NDArray[np.bool_], ends: Ints) -> tuple[Floats, Floats, Ints]:
    """Values up to each cell's end, ascending by cell: distance to the end, and chance to be missed.

    The chance is given that all smaller ones were missed; the third result is where each cell starts.
    """

    def list_values(hits: Hits, values: Values) -> tuple[Ints, Ints, Floats]:
        hits = _drawing(hits, values, inside)
        hits = hits.only(values.lows[values.offsets[hits.group]] <= ends[hits.cell])
        owner, order = unroll(rank(values, hits.group, ends[hits.cell] + 1))
        cell, low = hits.cell[owner], values.lows[values.offsets[hits.group[owner]] + order]
        ascending = np.lexsort((low, cell))
        return cell[ascending], low[ascending], missed_chances(hits, values, owner, order)[ascending]

    pieces = evidence.each(list_values)
    cell, low, missed = pieces[0] if len(pieces) == 1 else _together([_together([piece]) for piece in pieces])
    above = (low - ends[cell]).astype(np.float64)
    return above, missed, np.searchsorted(cell, np.arange(evidence.cells + 1))


def _together(pieces: list[tuple[Ints, Ints, Floats]]) -> tuple[Ints, Ints, Floats]:
    """Equal values of a cell as one, which is missed if all of them are: no more than there are different ones."""
    cell, low, missed = (np.concatenate(column) for column in zip(*pieces, strict=True))
    order = np.lexsort((low, cell))
    cell, low, missed = cell[order], low[order], missed[order]
    is_new = np.ones(len(cell), dtype=np.bool_)
    is_new[1:] = (cell[1:] != cell[:-1]) | (low[1:] != low[:-1])
    first = np.flatnonzero(is_new)
    return cell[first], low[first], np.multiply.reduceat(missed, first) if len(first) else missed


def _least(evidence: Evidence, _: Fraction | None) -> tuple[Interval, Spread]:
    interval = minimum(evidence)
    return interval, spread_of_points(evidence, expected_minimum(evidence, interval))


def _greatest(evidence: Evidence, _: Fraction | None) -> tuple[Interval, Spread]:
    interval = maximum(evidence)
    return interval, spread_of_points(evidence, expected_maximum(evidence, interval))


MIN = Aggregator("min", Gives.VALUE, _least, ("Min",), True, "min")
MAX = Aggregator("max", Gives.VALUE, _greatest, ("Max",), True, "max")
