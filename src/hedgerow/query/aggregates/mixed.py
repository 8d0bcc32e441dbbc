"""Sums of what a row adds together with its hidden value, over all assignments of a group's values to its rows.

Source     own; [Hoeffding 1951] for the variance
Guarantee  least and greatest sums enclose the true one. They are reached by an assignment unless a group is too large
           for the exact solution, numbers leave 64 bits, or a pair is known between two numbers only
Cost       per entry at most (R + V) times R * V for R different rows and V different values; large entries R * V

Let f(i, j) be what row i adds if it gets value j: zero where the pair fails a condition or is missing. The answer of a
group is the sum of f(i, p(i)) over a bijection p. Least and greatest sums are transportation problems on the counts of
equal rows and equal values, solved in whole numbers. Over fair assignments of n values the mean is the sum of all
f(i, j) over n, and with d(i, j) = f(i, j) - mean of row i - mean of column j + overall mean the variance is the sum of
d(i, j)^2 over n - 1. Rows of a group that a question does not touch add zero, whatever they get.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.cores import cores, on_cores
from hedgerow.kernel import kernel
from hedgerow.query.evidence.groups import Floats, Ints, means, totals

__all__ = [
    "LARGEST_WORK",
    "AddedPairs",
    "MixedBounds",
    "Pairs",
    "average_of_pairs",
    "compared_counts",
    "count_of_pairs",
    "expect_number",
    "expect_pairs",
    "join_pairs",
    "least_total",
    "negate",
    "ones_of",
    "ratio_of_pairs",
    "sum_of_pairs",
]

LARGEST_WORK = 2**31
"""Steps that one entry may take; above, sums of row and column minima stand in for the exact solution."""
_LARGEST_COST = 2**58
_ROUNDS = 100
_FEW = 300

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Different rows and different values that may meet, per entry: one entry per cell (row of the result) and group.

    Entry e has the row classes `rows[e]:rows[e+1]`, each of `supply` equal rows, the value classes
    `values[e]:values[e+1]`, each of `demand` equal values, and the pairs `pairs[e]:pairs[e+1]`, value by value for the
    first row class, then for the next. A pair adds between `low` and `high` units. It counts for sure (`sure`), perhaps
    (`possible`), or not at all. `middle` and `chance` are what to expect where the two ends differ.
    """

    cells: int
    cell: Ints
    rows: Ints
    values: Ints
    pairs: Ints
    supply: Ints
    demand: Ints
    low: Ints
    high: Ints
    sure: Mask
    possible: Mask
    unit: Fraction = Fraction(1)
    middle: Floats | None = None
    chance: Floats | None = None

    @property
    def group(self) -> Ints:
        """Entries by number: what reductions over cells look up."""
        return np.arange(len(self.cell))

    @property
    def edges(self) -> Ints:
        """Where row classes, value classes and pairs of each entry begin."""
        return np.stack([self.rows, self.values, self.pairs])

    @property
    def owner(self) -> Ints:
        """The entry of each pair."""
        return np.repeat(self.group, np.diff(self.pairs))

    @property
    def is_sharp(self) -> bool:
        """Tell whether each pair adds one known number."""
        return (self.low is self.high or np.array_equal(self.low, self.high)) and (
            self.sure is self.possible or np.array_equal(self.sure, self.possible)
        )


def join_pairs(pieces: Sequence[Pairs]) -> Pairs:
    """The pairs of several releases without a common group, whose cells and numbers are those of all, by cell."""
    first = pieces[0]
    cell = np.concatenate([piece.cell for piece in pieces])
    order = np.argsort(cell, kind="stable")
    rows, row = _reorder([piece.rows for piece in pieces], order)
    values, value = _reorder([piece.values for piece in pieces], order)
    pairs, pair = _reorder([piece.pairs for piece in pieces], order)

    def join(name: str, places: Ints) -> NDArray[Any]:
        found: NDArray[Any] = np.concatenate([getattr(piece, name) for piece in pieces])[places]
        return found

    low, sure = join("low", pair), join("sure", pair)
    is_sharp = all(piece.is_sharp for piece in pieces)
    return replace(
        first,
        cell=cell[order],
        rows=rows,
        values=values,
        pairs=pairs,
        supply=join("supply", row),
        demand=join("demand", value),
        low=low,
        high=low if is_sharp else join("high", pair),
        sure=sure,
        possible=sure if is_sharp else join("possible", pair),
    )


def _reorder(edges: Sequence[Ints], order: Ints) -> tuple[Ints, Ints]:
    """Where stretches begin that are put into another order, and which things they then hold."""
    sizes = np.concatenate([np.diff(own) for own in edges])
    shifts = np.cumsum([0, *(int(own[-1]) for own in edges[:-1])])
    starts = np.concatenate([own[:-1] + shift for own, shift in zip(edges, shifts, strict=True)])[order]
    sizes = sizes[order]
    ends = np.concatenate(([0], np.cumsum(sizes)))
    return ends, np.repeat(starts - ends[:-1], sizes) + np.arange(int(ends[-1]))


@dataclass(frozen=True)
class MixedBounds:
    """Bounds per cell in units, None where no assignment has anything to aggregate; `reached` by some assignment."""

    lower: list[Fraction | None]
    upper: list[Fraction | None]
    reached: list[bool]

    @property
    def exact(self) -> list[bool]:
        """Cells in which every assignment gives the same number."""
        return [low is not None and low == high for low, high in zip(self.lower, self.upper, strict=True)]


def count_of_pairs(pairs: Pairs) -> MixedBounds:
    """COUNT: the least and the most pairs that count."""
    nothing = np.zeros(len(pairs.low), dtype=np.int64)
    least, _, low_reached = _least(pairs, pairs.sure.astype(np.int64), nothing)
    most, _, high_reached = _least(pairs, -pairs.possible.astype(np.int64), nothing)
    reached = [a and b and pairs.is_sharp for a, b in zip(low_reached, high_reached, strict=True)]
    return MixedBounds([Fraction(n) for n in least], [Fraction(-n) for n in most], reached)


def sum_of_pairs(pairs: Pairs) -> MixedBounds:
    """SUM: the least and the greatest total; None where no assignment has a pair that counts."""
    low, low_number, low_reached = _least(pairs, _least_share(pairs, pairs.low), _preferring(pairs))
    mirror = negate(pairs)
    high, high_number, high_reached = _least(mirror, _least_share(mirror, mirror.low), _preferring(pairs))
    empty = _are_empty(pairs)
    # An optimum without a pair that counts is NULL and not zero: zero still encloses what other assignments give.
    reached = [
        a and b and pairs.is_sharp and m > 0 and n > 0
        for a, b, m, n in zip(low_reached, high_reached, low_number, high_number, strict=True)
    ]
    return MixedBounds(
        [None if null else Fraction(n) for n, null in zip(low, empty, strict=True)],
        [None if null else Fraction(-n) for n, null in zip(high, empty, strict=True)],
        [r or null for r, null in zip(reached, empty, strict=True)],
    )


def average_of_pairs(pairs: Pairs) -> MixedBounds:
    """AVG: the least and the greatest ratio of total and number (Dinkelbach)."""
    return ratio_of_pairs(pairs, pairs.possible.astype(np.int64))


def ratio_of_pairs(pairs: Pairs, by: Ints) -> MixedBounds:
    """The least and the greatest ratio of two totals, of which the lower one adds `by`, never negative, for each pair.

    They speak of the assignments in which the lower total is not zero.
    """
    lower, low_reached = _least_ratio(pairs, by)
    upper, high_reached = _least_ratio(negate(pairs), by)
    reached = [a and b and pairs.is_sharp for a, b in zip(low_reached, high_reached, strict=True)]
    return MixedBounds(lower, [None if end is None else -end for end in upper], reached)


@dataclass(frozen=True, eq=False)
class AddedPairs:
    """What COUNT, SUM and AVG ask about pairs."""

    pairs: Pairs

    def numbers(self) -> MixedBounds:
        """The least and the most pairs that count."""
        return count_of_pairs(self.pairs)

    def sums(self) -> MixedBounds:
        """The least and the greatest total."""
        return sum_of_pairs(self.pairs)

    def averages(self) -> MixedBounds:
        """The least and the greatest ratio of total and number."""
        return average_of_pairs(self.pairs)

    def expect(self, minus: Floats | None = None) -> tuple[Floats, Floats]:
        """Mean and variance per cell of the total; `minus` is taken off pairs that count."""
        return expect_pairs(self.pairs, minus)

    def expect_number(self) -> tuple[Floats, Floats]:
        """Mean and variance per cell of the number of pairs that count."""
        return expect_pairs(ones_of(self.pairs))


def _are_empty(pairs: Pairs) -> list[bool]:
    """Cells in which no pair can count."""
    used = np.bincount(pairs.cell[pairs.owner[pairs.possible]], minlength=pairs.cells)
    return [not number for number in used.tolist()]


def negate(pairs: Pairs) -> Pairs:
    """The mirror image: what pairs add, below zero."""
    return replace(pairs, low=-pairs.high, high=-pairs.low)


def _preferring(pairs: Pairs) -> Ints:
    """Among equal optima one with a pair that counts is wanted."""
    return pairs.possible.astype(np.int64)


def _least_share(pairs: Pairs, low: Ints) -> Ints:
    """The least that a pair adds: nothing, where it may fail to count and would add more."""
    share: Ints = np.where(pairs.sure, low, np.where(pairs.possible, np.minimum(low, 0), 0))
    return share


def least_total(pairs: Pairs, cost: Ints) -> tuple[list[int], list[bool]]:
    """The least total cost per cell, or a number below it; and whether it is the total of an assignment."""
    total, _, is_best = _least(pairs, cost, np.zeros(len(cost), dtype=np.int64), prefer=False)
    return total, is_best


def _least(pairs: Pairs, cost: Ints, other: Ints, *, prefer: bool = True) -> tuple[list[int], list[int], list[bool]]:
    """Per cell the least total cost, the total of `other` in that assignment, and whether it is the best one.

    With `prefer` the assignment has as much of `other`, which is zero or one, as the least cost allows.
    """
    most = max(int(pairs.supply.sum()), 1)
    nodes = int((np.diff(pairs.rows) + np.diff(pairs.values)).max(initial=0)) + 2
    largest = max(int(np.abs(cost).max(initial=0)), 1) * max(nodes, most)
    # Equal costs are told apart by `other`, which never outweighs a unit of cost.
    scale = most + 1 if prefer and (largest + 1) * (most + 1) < _LARGEST_COST else 1
    shift = max(largest.bit_length() - _LARGEST_COST.bit_length() + 1, 0)
    used = (cost >> shift) * scale - (other if scale > 1 else 0)
    total, second, is_best = _solve(pairs, used, other)
    ends = [end << shift for end in totals(pairs, (total + second) // scale if scale > 1 else total)]
    every = np.ones(pairs.cells, dtype=np.bool_)
    np.logical_and.at(every, pairs.cell, is_best)
    return ends, totals(pairs, second), (every & (shift == 0)).tolist()


def _solve(pairs: Pairs, cost: Ints, other: Ints) -> tuple[Ints, Ints, Mask]:
    # The work grows faster than the number of pairs, so that compiled code pays earlier than elsewhere.
    solve = _least_cost.compiled if len(cost) > _FEW else _least_cost
    edges, entries = pairs.edges, len(pairs.rows) - 1
    pieces = max(min(4 * cores(), entries), 1) if len(cost) > _FEW and cores() > 1 else 1
    # Entries are solved one by one, so that any core may take any of them.
    found = on_cores(
        lambda part: solve(
            np.ascontiguousarray(edges[:, part[0] : part[1] + 1]),
            pairs.supply,
            pairs.demand,
            cost,
            other,
            LARGEST_WORK,
        ),
        itertools.pairwise([entries * piece // pieces for piece in range(pieces + 1)]),
        rows=len(cost),
    )
    total, second, is_best = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return total, second, is_best


def _least_ratio(pairs: Pairs, by: Ints) -> tuple[list[Fraction | None], list[bool]]:
    """The least ratio per cell: subtract it from every pair that counts, and no assignment goes below zero."""
    ratios = _some_ratios(pairs, by)
    fewest = [max(n, 1) for n in _least(pairs, np.where(pairs.sure, by, 0), np.zeros(len(by), dtype=np.int64))[0]]
    is_open = [r is not None for r in ratios]
    is_best = [True] * pairs.cells
    for _ in range(_ROUNDS):
        deficit, numbers, best = _below(pairs, by, ratios)
        for cell, (ratio, lack, number) in enumerate(zip(ratios, deficit, numbers, strict=True)):
            if ratio is None or not is_open[cell]:
                continue
            if lack >= 0:
                is_open[cell], is_best[cell] = False, best[cell]
            elif number:
                ratios[cell] = ratio + lack / number
            else:
                # The lower total may be zero. Of the others every ratio is at least this one less what may be lacking.
                ratios[cell], is_open[cell], is_best[cell] = ratio + lack / fewest[cell], False, False
        if not any(is_open):
            return ratios, is_best
    deficit, _, _ = _below(pairs, by, ratios)
    ends = [r if r is None else r + min(d, Fraction(0)) / f for r, d, f in zip(ratios, deficit, fewest, strict=True)]
    return ends, [best and not still for best, still in zip(is_best, is_open, strict=True)]


def _some_ratios(pairs: Pairs, by: Ints) -> list[Fraction | None]:
    """A ratio per cell from which to descend: that of an assignment with the greatest lower total; None without any."""
    lower, upper, _ = _least(
        pairs, np.where(pairs.possible, -by, 0), np.where(pairs.possible, pairs.low, 0), prefer=False
    )
    return [Fraction(top, -bottom) if bottom else None for bottom, top in zip(lower, upper, strict=True)]


def _below(pairs: Pairs, by: Ints, ratios: list[Fraction | None]) -> tuple[list[Fraction], list[int], list[bool]]:
    """The least total of (pair - ratio * by) per cell, rounded down, and the total of `by` in it."""
    owner = pairs.cell[pairs.owner]
    tops = [0 if r is None else r.numerator for r in ratios]
    bottoms = [1 if r is None else r.denominator for r in ratios]
    largest, most = int(np.abs(pairs.low).max(initial=0)), int(by.max(initial=0))
    size = max((largest * b + most * abs(t) for t, b in zip(tops, bottoms, strict=True)), default=0)
    shift = max(size.bit_length() - 62, 0)
    kind: type = np.int64 if shift == 0 else object
    gap: Any = pairs.low.astype(kind) * np.array(bottoms, dtype=kind)[owner] - (
        np.array(tops, dtype=kind)[owner] * by.astype(kind)
    )
    gap = gap if shift == 0 else np.array([number >> shift for number in gap], dtype=np.int64)
    counts = np.where(pairs.sure | (pairs.possible & (gap < 0)), by, 0)
    total, number, best = _least(pairs, _least_share(pairs, gap), counts, prefer=most <= 1)
    deficit = [Fraction(t << shift, b) for t, b in zip(total, bottoms, strict=True)]
    return deficit, number, [b and not shift for b in best]


def expect_pairs(pairs: Pairs, minus: Floats | None = None) -> tuple[Floats, Floats]:
    """Mean and variance per cell of the total over fair assignments, in units; `minus` is taken off counted pairs."""
    chance = pairs.sure.astype(np.float64) if pairs.chance is None else pairs.chance
    shift = np.zeros(pairs.cells) if minus is None else minus
    middle = pairs.low if pairs.middle is None else pairs.middle
    mean, variance = _moments(pairs.edges, pairs.supply, pairs.demand, middle, chance, shift[pairs.cell])
    if pairs.chance is not None:
        variance = variance + _chance_variance(pairs, middle - shift[pairs.cell][pairs.owner])
    return means(pairs, mean), means(pairs, variance)


def expect_number(pairs: Pairs) -> Floats:
    """How many pairs count, per cell, over fair assignments."""
    return expect_pairs(ones_of(pairs))[0]


def ones_of(pairs: Pairs) -> Pairs:
    """The same pairs, each of which adds one where it counts."""
    middle = None if pairs.chance is None else np.ones(len(pairs.low))
    return replace(pairs, low=pairs.sure.astype(np.int64), middle=middle)


def _chance_variance(pairs: Pairs, middle: Floats | Ints) -> Floats:
    """What the chances of single pairs add to the variance: each row meets value j with its share of the values."""
    assert pairs.chance is not None, "only pairs with chances"
    width = np.diff(pairs.values)
    size = np.add.reduceat(pairs.demand, pairs.values[:-1])
    place = np.arange(len(pairs.low)) - pairs.pairs[pairs.owner]
    row = pairs.rows[pairs.owner] + place // width[pairs.owner]
    value = pairs.values[pairs.owner] + place % width[pairs.owner]
    weight = pairs.supply[row] * pairs.demand[value] / size[pairs.owner]
    inner = weight * middle**2 * pairs.chance * (1.0 - pairs.chance)
    return np.bincount(pairs.owner, weights=inner, minlength=len(pairs.cell)).astype(np.float64)


def compared_counts(
    first: Ints, start: Ints, end: Ints, limits: Ints, values: Ints
) -> tuple[Ints, Ints, Floats, Floats]:
    """Per entry the least and the most rows whose value is above their limit, the mean and the variance.

    Rows `first[e]:first[e+1]` draw from the values `start[e]:end[e]`; limits and values ascend inside an entry. The
    most pairs come from giving each value in turn to the least limit that is left, the fewest from doing so with the
    pairs that do not count.
    """
    return _compare(first, start, end, limits, values)


@kernel
def _compare(first: Ints, start: Ints, end: Ints, limits: Ints, values: Ints) -> tuple[Ints, Ints, Floats, Floats]:
    """One merge of limits and values per entry and number."""
    entries = len(start)
    least, most = np.zeros(entries, dtype=np.int64), np.zeros(entries, dtype=np.int64)
    mean, variance = np.zeros(entries), np.zeros(entries)
    for e in range(entries):
        rows, size = first[e + 1] - first[e], end[e] - start[e]
        above, below, at = 0, 0, first[e]
        for v in range(start[e], end[e]):
            if above < rows and values[v] > limits[first[e] + above]:
                above += 1
        for i in range(first[e], first[e + 1]):
            if values[start[e] + below] <= limits[i]:
                below += 1
        least[e], most[e] = rows - below, above
        # Pairs that count: by row, by value, and in all.
        total, by_row, by_value, v = 0.0, 0.0, 0.0, start[e]
        for i in range(first[e], first[e + 1]):
            while v < end[e] and values[v] <= limits[i]:
                v += 1
            total += end[e] - v
            by_row += float(end[e] - v) ** 2
        for v in range(start[e], end[e]):
            while at < first[e + 1] and limits[at] < values[v]:
                at += 1
            by_value += float(at - first[e]) ** 2
        mean[e] = total / size
        if size > 1:
            inner = total - by_row / size - by_value / size + (total / size) ** 2
            variance[e] = max(inner, 0.0) / (size - 1)
    return least, most, mean, variance


@kernel
def _least_cost(
    edges: Ints, supply: Ints, demand: Ints, cost: Ints, other: Ints, largest_work: int
) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Least total cost per entry, the total of `other` in that solution, and whether the solution is exact."""
    rows, values, pairs = edges[0], edges[1], edges[2]
    entries = len(rows) - 1
    total, second = np.zeros(entries, dtype=np.int64), np.zeros(entries, dtype=np.int64)
    exact = np.ones(entries, dtype=np.bool_)
    for e in range(entries):
        height, width, first = rows[e + 1] - rows[e], values[e + 1] - values[e], pairs[e]
        if height * width * (height + width) > largest_work:
            exact[e] = False
            total[e] = _minima(cost, first, supply[rows[e] : rows[e + 1]], demand[values[e] : values[e + 1]])
            continue
        flow = _flow(cost, first, supply[rows[e] : rows[e + 1]], demand[values[e] : values[e + 1]])
        for i in range(height):
            for j in range(width):
                total[e] += flow[i, j] * cost[first + i * width + j]
                second[e] += flow[i, j] * other[first + i * width + j]
    return total, second, exact


@kernel
def _minima(cost: Ints, first: int, supply: Ints, demand: Ints) -> int:
    """A bound below the least total: rows take their cheapest values, or values their cheapest rows if that is more."""
    height, width = len(supply), len(demand)
    by_row, by_value, rows, size = 0, 0, 0, 0
    for i in range(height):
        rows += supply[i]
        least = cost[first + i * width]
        for j in range(1, width):
            least = min(least, cost[first + i * width + j])
        by_row += supply[i] * least
    for j in range(width):
        size += demand[j]
    for j in range(width):
        least = cost[first + j]
        for i in range(1, height):
            least = min(least, cost[first + i * width + j])
        # Values that no row of the entry takes cost nothing.
        by_value += demand[j] * (min(least, 0) if rows < size else least)
    return max(by_row, by_value)


@kernel
def _flow(cost: Ints, first: int, supply: Ints, demand: Ints) -> Ints:
    """How many rows of each class take each value at least cost: successive shortest paths with potentials."""
    height, width = len(supply), len(demand)
    flow = np.zeros((height, width), dtype=np.int64)
    left, room = supply.copy(), demand.copy()
    row_price, value_price = np.zeros(height, dtype=np.int64), np.zeros(width, dtype=np.int64)
    far = np.int64(2**62)
    for i in range(height):
        row_price[i] = cost[first + i * width]
        for j in range(1, width):
            row_price[i] = min(row_price[i], cost[first + i * width + j])
    row_far, value_far = np.empty(height, dtype=np.int64), np.empty(width, dtype=np.int64)
    from_value, from_row = np.empty(height, dtype=np.int64), np.empty(width, dtype=np.int64)
    row_done, value_done = np.empty(height, dtype=np.bool_), np.empty(width, dtype=np.bool_)
    for start in range(height):
        while left[start] > 0:
            row_far[:], value_far[:] = far, far
            row_done[:], value_done[:] = False, False
            row_far[start] = 0
            from_value[start] = -1
            end, distance = -1, np.int64(0)
            while end < 0:
                # Rows that are reached at no more than the nearest value's distance come first.
                i, j = -1, -1
                for r in range(height):
                    if not row_done[r] and row_far[r] < far and (i < 0 or row_far[r] < row_far[i]):
                        i = r
                for v in range(width):
                    if not value_done[v] and value_far[v] < far and (j < 0 or value_far[v] < value_far[j]):
                        j = v
                if i >= 0 and (j < 0 or row_far[i] <= value_far[j]):
                    row_done[i] = True
                    for v in range(width):
                        if not value_done[v]:
                            step = row_far[i] + cost[first + i * width + v] - row_price[i] - value_price[v]
                            if step < value_far[v]:
                                value_far[v] = step
                                from_row[v] = i
                else:
                    value_done[j] = True
                    if room[j] > 0:
                        end, distance = j, value_far[j]
                    else:
                        for r in range(height):
                            if flow[r, j] > 0 and not row_done[r] and value_far[j] < row_far[r]:
                                row_far[r] = value_far[j]
                                from_value[r] = j
            for r in range(height):
                if row_done[r]:
                    row_price[r] += distance - row_far[r]
            for v in range(width):
                if value_done[v]:
                    value_price[v] -= distance - value_far[v]
            # The whole path carries as much as its narrowest step.
            amount, v = min(left[start], room[end]), end
            while from_value[from_row[v]] >= 0:
                r = from_row[v]
                v = from_value[r]
                amount = min(amount, flow[r, v])
            v = end
            while True:
                r = from_row[v]
                flow[r, v] += amount
                v = from_value[r]
                if v < 0:
                    break
                flow[r, v] -= amount
            left[start] -= amount
            room[end] -= amount
    return flow


@kernel
def _moments(
    edges: Ints, supply: Ints, demand: Ints, low: Ints | Floats, chance: Floats, shift: Floats
) -> tuple[Floats, Floats]:
    """Mean and Hoeffding's variance of the total per entry, where a pair adds chance * (low - shift)."""
    rows, values, pairs = edges[0], edges[1], edges[2]
    entries = len(rows) - 1
    mean, variance = np.zeros(entries), np.zeros(entries)
    for e in range(entries):
        first_row, first_value = rows[e], values[e]
        height, width, first = rows[e + 1] - first_row, values[e + 1] - first_value, pairs[e]
        if height == 0:
            continue
        size, touched = 0, 0
        for j in range(width):
            size += demand[first_value + j]
        for i in range(height):
            touched += supply[first_row + i]
        add, row_mean, column_mean = np.empty((height, width)), np.zeros(height), np.zeros(width)
        for i in range(height):
            at = first + i * width
            counts = True
            for j in range(width):
                counts = counts and chance[at + j] == 1.0
            # What all values of a row share adds nothing to the variance: without it small differences stay exact.
            base = low[at] if counts else low[at] - low[at]
            for j in range(width):
                part = chance[at + j] * ((low[at + j] - base) - (0.0 if counts else shift[e]))
                add[i, j] = part
                row_mean[i] += part * demand[first_value + j] / size
                column_mean[j] += part * supply[first_row + i] / size
            mean[e] += supply[first_row + i] * (row_mean[i] + ((base - shift[e]) if counts else 0.0))
        overall = 0.0
        for i in range(height):
            overall += supply[first_row + i] * row_mean[i] / size
        if size == 1:
            continue
        for j in range(width):
            rest = overall - column_mean[j]
            inner = (size - touched) * rest**2
            for i in range(height):
                inner += supply[first_row + i] * (add[i, j] - row_mean[i] + rest) ** 2
            variance[e] += demand[first_value + j] * inner / (size - 1)
    return mean, variance
