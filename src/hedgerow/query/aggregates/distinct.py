"""How many different values the rows hit have: bounds and expectation of COUNT(DISTINCT x).

Source     own
Guarantee  the true number lies inside. Both ends are reached where all rows hit are in one group; over several groups
           the least number is a covering problem, and the bounds here may be wider than the best
Cost       O(values) after their sort

At least as many values as some group needs by itself, and all values that some group cannot avoid; at most one new
value per row hit and no more than there are in reach. Of ranges: at least as many as the most that must be there and
do not overlap; at most one per range, and points count once. What is expected of ranges takes every tick
of one for equally likely, and ticks as independent.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from hedgerow.errors import QueryError
from hedgerow.query.aggregates.aggregator import Aggregator, Gives, Interval, Spread
from hedgerow.query.evidence.groups import (
    Evidence,
    Floats,
    Hits,
    Ints,
    Values,
    deviation,
    different,
    joined_sets,
    matches,
    runs_of,
    totals,
    unroll,
)

__all__ = ["AVG_DISTINCT", "DISTINCT", "SUM_DISTINCT", "distinct"]


def distinct(evidence: Evidence) -> tuple[Interval, Spread]:
    """Bounds and expectation of the number of different values."""
    if evidence.is_ranged:
        return _distinct_in_ranges(evidence)
    found, cells = functools.reduce(_Found.join, evidence.each(_Found.of)), evidence.cells
    upper = [min(a, b) for a, b in zip(found.per_cell(found.reached, cells), found.slots, strict=True)]
    lower = [max(a, b) for a, b in zip(found.per_cell(found.forced, cells), found.alone.tolist(), strict=True)]
    chance, cell = 1.0 - np.exp(found.logs), found.pairs // max(len(found.domain), 1)
    mean = np.bincount(cell, chance, minlength=cells).astype(np.float64)
    spread = deviation(np.bincount(cell, chance * (1.0 - chance), minlength=cells).astype(np.float64))
    return Interval(lower, upper, [a == b for a, b in zip(lower, upper, strict=True)]), Spread(mean, spread)


@dataclass(frozen=True, eq=False)
class _Found:
    """The different values of a piece (`domain`), and pairs of cells and values: cell times their number, plus place.

    Pairs that are in reach, pairs that no assignment avoids, and all that may be drawn, with the logarithms of the
    chances that all rows miss them. `slots`: one new value for each row hit, and no more than each group has; `alone`:
    the most, over the groups of a cell, of the fewest values that one needs.
    """

    domain: Ints
    reached: Ints
    forced: Ints
    pairs: Ints
    logs: Floats
    slots: list[int]
    alone: Ints

    @staticmethod
    def of(hits: Hits, values: Values) -> _Found:
        """What a piece tells."""
        least, most = matches(hits, values)
        group, tick, count = _runs(values)
        kinds = np.bincount(group, minlength=len(values.counts))
        entry, run = runs_of(hits.group, np.concatenate(([0], np.cumsum(kinds))))
        domain, label = np.unique(tick, return_inverse=True)
        pair = hits.cell[entry] * len(domain) + label.reshape(-1)[run]
        forced = values.counts[hits.group][entry] - count[run] < least[entry]
        pairs, place = np.unique(pair, return_inverse=True)
        logs = np.bincount(place.reshape(-1), _log_missed(hits, values, entry, count[run]), minlength=len(pairs))
        slots = totals(hits, np.minimum(most, kinds[hits.group]))
        reached, alone = different(pair[most[entry] > 0]), _fewest(hits, least, entry, count[run])
        return _Found(domain, reached, different(pair[forced]), pairs, logs.astype(np.float64), slots, alone)

    def join(self, other: _Found) -> _Found:
        """What two pieces tell together."""
        domain = joined_sets([self.domain, other.domain])
        both = [one._renumber(domain) for one in (self, other)]
        reached, forced = (joined_sets([getattr(one, name) for one in both]) for name in ("reached", "forced"))
        pairs, place = np.unique(np.concatenate([one.pairs for one in both]), return_inverse=True)
        logs = np.bincount(place.reshape(-1), np.concatenate([one.logs for one in both]), minlength=len(pairs))
        slots = [mine + its for mine, its in zip(self.slots, other.slots, strict=True)]
        return _Found(
            domain, reached, forced, pairs, logs.astype(np.float64), slots, np.maximum(self.alone, other.alone)
        )

    def _renumber(self, domain: Ints) -> _Found:
        """The same pairs by the places of values in a larger domain."""
        places, width = np.searchsorted(domain, self.domain), max(len(self.domain), 1)

        def move(pairs: Ints) -> Ints:
            result: Ints = pairs // width * len(domain) + places[pairs % width]
            return result

        return replace(self, reached=move(self.reached), forced=move(self.forced), pairs=move(self.pairs))

    def per_cell(self, pairs: Ints, cells: int) -> list[int]:
        """How many pairs each cell has."""
        counts: list[int] = np.bincount(pairs // max(len(self.domain), 1), minlength=cells).tolist()
        return counts

    def values(self, pairs: Ints, cell: int) -> list[int]:
        """The values of the pairs of a cell, ascending."""
        first = cell * len(self.domain)
        ends = np.searchsorted(pairs, (first, first + len(self.domain)))
        found: list[int] = self.domain[pairs[ends[0] : ends[1]] - first].tolist()
        return found


def _distinct_in_ranges(evidence: Evidence) -> tuple[Interval, Spread]:
    """Values that lie anywhere in ranges: bounds that hold, and what to expect."""
    lower = _disjoint(evidence)
    points = _per_cell_and_tick(evidence.each(_points), evidence.cells)
    spread_out, slots = evidence.added(_slots_of_ranges)
    upper = [min(a + b, c) for a, b, c in zip(points, spread_out, slots, strict=True)]
    spread = _expected_distinct(evidence)
    mean = np.clip(spread.mean, np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64))
    is_exact = [a == b for a, b in zip(lower, upper, strict=True)]
    return Interval(lower, upper, is_exact), Spread(mean, np.where(is_exact, 0.0, spread.std))


def _per_cell_and_tick(pieces: list[Ints], cells: int) -> list[int]:
    counts: list[int] = np.bincount(_different(pieces)[:, 0], minlength=cells).tolist()
    return counts


def _different(pieces: list[Ints]) -> Ints:
    """The different rows of all pieces."""
    found: Ints = np.unique(np.concatenate(pieces), axis=0)
    return found


def _points(hits: Hits, values: Values) -> Ints:
    """The cells and values in reach that are known exactly."""
    entry, place = runs_of(hits.group, values.offsets)
    is_point = (values.lows[place] == values.highs[place]) & (matches(hits, values)[1][entry] > 0)
    return np.unique(np.stack((hits.cell[entry[is_point]], values.lows[place[is_point]]), axis=1), axis=0)


def _slots_of_ranges(hits: Hits, values: Values) -> tuple[list[int], list[int]]:
    most = matches(hits, values)[1]
    entry, place = runs_of(hits.group, values.offsets)
    spans = np.bincount(entry[values.lows[place] < values.highs[place]], minlength=len(most))
    return totals(hits, np.minimum(most, spans)), totals(hits, most)


def _disjoint(evidence: Evidence) -> list[int]:
    """The most ranges of a cell that do not overlap, among those that must be there: one value cannot serve two."""
    cell, start, end = _different(evidence.each(_needed_ranges)).T
    number, reached, current = [0] * evidence.cells, 0, -1
    for place in np.lexsort((start, end, cell)).tolist():
        is_next = cell[place] != current
        if is_next or start[place] > reached:
            current, reached = cell[place], end[place]
            number[current] += 1
    return number


def _needed_ranges(hits: Hits, values: Values) -> Ints:
    """Cell, start and end of the different ranges in which some value must lie.

    A group of which all values must be there gives all its ranges, another one the range of all that it may have.
    """
    least, _ = matches(hits, values)
    entry, place = runs_of(hits.group, values.offsets)
    low, high = values.lows[place], values.highs[place]
    whole = least >= values.counts[hits.group]
    first, last = np.full(len(least), np.iinfo(np.int64).max), np.full(len(least), np.iinfo(np.int64).min)
    np.minimum.at(first, entry, low)
    np.maximum.at(last, entry, high)
    partly = np.flatnonzero(~whole & (least > 0))
    mine = whole[entry]
    cell = np.concatenate((hits.cell[entry[mine]], hits.cell[partly]))
    start, end = np.concatenate((low[mine], first[partly])), np.concatenate((high[mine], last[partly]))
    return np.unique(np.stack((cell, start, end), axis=1), axis=0)


def _expected_distinct(evidence: Evidence) -> Spread:
    """Mean and deviation: a tick is missed by all rows with a chance; logarithms add up over the ranges over it."""
    pieces = evidence.each(_loads)
    ranges, place = np.unique(np.concatenate([ranges for ranges, _ in pieces]), axis=0, return_inverse=True)
    load = np.bincount(place.reshape(-1), np.concatenate([loads for _, loads in pieces]), minlength=len(ranges))
    cell, low, high = ranges.T
    cell, tick = np.tile(cell, 2), np.concatenate((low, high + 1))
    order = np.lexsort((tick, cell))
    cell, tick = cell[order], tick[order]
    open_ranges = np.cumsum(np.concatenate((np.ones(len(low)), -np.ones(len(low))))[order])
    loads = np.cumsum(np.concatenate((load, -load))[order])
    # Floats that were added and taken away leave a rest, which must not count where no range is open.
    loads = np.where(open_ranges > 0.5, np.maximum(loads, 0.0), 0.0)[:-1]
    length = np.where(cell[1:] == cell[:-1], tick[1:] - tick[:-1], 0).astype(np.float64)
    found = -np.expm1(-loads)
    mean = np.bincount(cell[:-1], length * found, minlength=evidence.cells).astype(np.float64)
    around = np.bincount(cell[:-1], length * found * (1.0 - found), minlength=evidence.cells).astype(np.float64)
    return Spread(mean, deviation(around))


def _loads(hits: Hits, values: Values) -> tuple[Ints, Floats]:
    """Different cells, starts and ends of ranges, and what each adds to the logarithm of a tick's being missed."""
    entry, place = runs_of(hits.group, values.offsets)
    low, high = values.lows[place], values.highs[place]
    share = hits.expected[entry] / np.maximum(values.sizes[hits.group[entry]], 1)
    chance = share if values.chances is None else share * values.chances[place]
    width = (high - low).astype(np.float64) + 1.0
    load = -np.log1p(-np.minimum(chance / width, 1.0 - 1e-16))
    every = np.stack((hits.cell[entry], low, high), axis=1)
    ranges, number = np.unique(every, axis=0, return_inverse=True)
    return ranges, np.bincount(number.reshape(-1), load, minlength=len(ranges)).astype(np.float64)


def _runs(values: Values) -> tuple[Ints, Ints, Ints]:
    """Group, value and number of copies of each different value of each group."""
    owner = np.repeat(np.arange(len(values.counts)), values.counts)
    is_new = np.ones(len(owner), dtype=np.bool_)
    value = values.identity
    is_new[1:] = (owner[1:] != owner[:-1]) | (value[1:] != value[:-1])
    starts = np.flatnonzero(is_new)
    return owner[starts], value[starts], np.diff(np.append(starts, len(owner)))


def _fewest(hits: Hits, least: Ints, entry: Ints, count: Ints) -> Ints:
    """The most, over the groups of a cell, of the fewest values that fill the rows that must be filled."""
    order = np.lexsort((-count, entry))
    entry, count = entry[order], count[order]
    running = np.concatenate(([0], np.cumsum(count)))
    start = np.searchsorted(entry, np.arange(len(least)))
    before = running[:-1] - running[start[entry]]
    needed = np.bincount(entry[before < least[entry]], minlength=len(least))
    fewest = np.zeros(hits.cells, dtype=np.int64)
    np.maximum.at(fewest, hits.cell, needed)
    return fewest


def _log_missed(hits: Hits, values: Values, entry: Ints, count: Ints) -> Floats:
    """The logarithm of the hypergeometric chance that a group's rows miss a value; values are taken as independent."""
    owner, order = unroll(count)
    size, h = values.sizes[hits.group[entry[owner]]], hits.expected[entry[owner]]
    missed: Floats = np.maximum(size - h - order, 1e-300) / (size - order)
    return np.bincount(owner, np.log(missed), minlength=len(entry)).astype(np.float64)


def _distinct_totals(function: str, evidence: Evidence) -> tuple[Interval, Spread]:
    """SUM and AVG of different values: those that no assignment avoids count, others that are in reach may."""
    if evidence.is_ranged:
        raise QueryError("of a column that is published as ranges SUM and AVG of different values have no bound")
    if evidence.is_rounded:
        raise QueryError("of floats without a common number of decimals SUM and AVG of different values have no bound")
    found = functools.reduce(_Found.join, evidence.each(_Found.of))
    forced = np.intersect1d(found.forced, found.reached, assume_unique=True)
    loosely = np.setdiff1d(found.reached, forced, assume_unique=True)
    lower: list[Fraction | None] = []
    upper: list[Fraction | None] = []
    exact: list[bool] = []
    means: list[float] = []
    for cell in range(evidence.cells):
        sure, loose = found.values(forced, cell), found.values(loosely, cell)
        ends = _ends(function, sure, loose)
        lower.append(None if ends is None else ends[0])
        upper.append(None if ends is None else ends[1])
        exact.append(not loose)
        every = [*sure, *loose]
        middle = sum(every) / (len(every) if function == "avg" else 1) if every else np.nan
        means.append(middle if not loose or ends is None else float((ends[0] + ends[1]) / 2))
    wide = np.array([0.0 if a is None or b is None else float(b - a) for a, b in zip(lower, upper, strict=True)])
    return Interval(lower, upper, exact), Spread(np.array(means, dtype=np.float64), wide / np.sqrt(12.0))


def _ends(function: str, sure: list[int], loose: list[int]) -> tuple[Fraction, Fraction] | None:
    """Least and greatest SUM or AVG of all that is sure and any of what is loose; None without any value."""
    if not sure and not loose:
        return None
    if function == "sum":
        parts = [sum(value for value in loose if (value > 0) == is_up) for is_up in (False, True)]
        if not sure:
            # Without a value there is no sum: one value at least is there.
            parts = [parts[0] if loose[0] < 0 else loose[0], parts[1] if loose[-1] > 0 else loose[-1]]
        return Fraction(sum(sure) + parts[0]), Fraction(sum(sure) + parts[1])
    return _best_mean(sure, loose), -_best_mean([-value for value in sure], [-value for value in reversed(loose)])


def _best_mean(sure: list[int], loose: list[int]) -> Fraction:
    """The least mean; what is loose comes in ascending order."""
    total, number = sum(sure), len(sure)
    for value in loose:
        if number and value * number >= total:
            break
        total, number = total + value, number + 1
    return Fraction(total, number)


SUM_DISTINCT = Aggregator(
    "sum_distinct", Gives.TOTAL, lambda evidence, _: _distinct_totals("sum", evidence), is_tight=False
)
AVG_DISTINCT = Aggregator(
    "avg_distinct", Gives.MEAN, lambda evidence, _: _distinct_totals("avg", evidence), is_tight=False
)
DISTINCT = Aggregator("distinct", Gives.NUMBER, lambda evidence, _: distinct(evidence), takes_any=True, is_tight=False)
