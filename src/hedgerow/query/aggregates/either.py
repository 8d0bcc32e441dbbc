"""COUNT, SUM and AVG of hidden values under `known OR hidden`: rows that count whatever they get, and rows that may.

Source     own
Guarantee  the bounds are reached: they are those of the transportation problems that `mixed` solves
Cost       three passes over the sorted values of each entry; AVG some five times as many

Of a group's n values q fail the hidden condition, and the others, h of them, meet it. M rows satisfy the known part:
they count with any value. R rows do not: they count if their value meets the condition. The rest of the group is not
asked about. Let t of the M rows have values that fail, and x of all M + R rows have values that meet: then N = t + x
rows count, and the sum is that of t failing and x meeting values. Any t and x are possible with

    0 <= t <= min(M, q),   max(0, M + R - q) <= x <= min(h, M + R),   M <= t + x <= M + R.

For the least sum these are the t least and the x least values. A sum of two convex functions of t and of x under a
bound on t + x is least where the next least value is taken, whichever of the two it belongs to, until M are taken and
the next one is not negative. The greatest sum is the same from above. For AVG a ratio is subtracted from each value,
which leaves their order as it is, until no assignment goes below zero (Dinkelbach).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernel import kernel
from hedgerow.query.aggregates.mixed import MixedBounds
from hedgerow.query.evidence.groups import Floats, Ints, means, totals

__all__ = ["Either"]

_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class Either:
    """Rows per entry (cell and group), and the values that their groups hold: in ticks, ascending inside a group.

    `must` rows count with any value, `may` rows if it is marked; entry e draws from the values `start[e]:end[e]`.
    """

    cells: int
    cell: Ints
    start: Ints
    end: Ints
    must: Ints
    may: Ints
    ticks: Ints
    marked: NDArray[np.bool_]

    @property
    def _shape(self) -> Ints:
        return np.stack([self.start, self.end, self.must, self.may])

    @property
    def group(self) -> Ints:
        """Entries by number: what reductions over cells look up."""
        return np.arange(len(self.cell))

    def numbers(self) -> MixedBounds:
        """The least and the most rows that count, per cell."""
        before = np.concatenate(([0], np.cumsum(self.marked)))
        meeting = before[self.end] - before[self.start]
        failing = self.end - self.start - meeting
        least = self.must + np.maximum(self.may - failing, 0)
        ends = [totals(self, end) for end in (least, self.must + np.minimum(self.may, meeting))]
        return MixedBounds(*([Fraction(n) for n in end] for end in ends), [True] * self.cells)

    def sums(self) -> MixedBounds | None:
        """The least and the greatest total; None where 64 bits do not hold it."""
        ends = [self._extreme([Fraction(0)] * self.cells, sign) for sign in (1, -1)]
        if ends[0] is None or ends[1] is None:
            return None
        return MixedBounds(ends[0][0], [-total for total in ends[1][0]], [True] * self.cells)

    def averages(self) -> MixedBounds | None:
        """The least and the greatest ratio of total and number where some row counts for sure; None as for sums."""
        ends = [self._least_ratio(sign) for sign in (1, -1)]
        if ends[0] is None or ends[1] is None:
            return None
        return MixedBounds(list(ends[0]), [-ratio for ratio in ends[1]], [True] * self.cells)

    def _least_ratio(self, sign: int) -> list[Fraction] | None:
        ratios = [Fraction(0)] * self.cells
        for _ in range(_ROUNDS):
            found = self._extreme(ratios, sign)
            if found is None:
                return None
            better = [ratio + lack / number for ratio, lack, number in zip(ratios, *found, strict=True)]
            if better == ratios:
                return ratios
            ratios = better
        return None

    def _extreme(self, ratios: list[Fraction], sign: int) -> tuple[list[Fraction], list[int]] | None:
        """The least total of (sign * value - ratio) per cell, and how many rows count there."""
        tops, bottoms = [ratio.numerator for ratio in ratios], [ratio.denominator for ratio in ratios]
        largest = int(np.abs(self.ticks).max(initial=0)) * max(bottoms, default=1) + max(map(abs, tops), default=0)
        if largest * max(int((self.must + self.may).sum()), 1) >= 2**62:
            return None
        scale, minus = sign * np.array(bottoms, dtype=np.int64), np.array(tops, dtype=np.int64)
        total, number = _least_totals(self._shape, self.ticks, self.marked, scale[self.cell], minus[self.cell])
        lack = [Fraction(n, bottom) for n, bottom in zip(totals(self, total), bottoms, strict=True)]
        return lack, totals(self, number)

    def expect(self, minus: Floats | None = None) -> tuple[Floats, Floats]:
        """Mean and variance per cell of the total over fair assignments; `minus` is taken off values that count."""
        shift = np.zeros(self.cells) if minus is None else minus
        mean, variance = _moments(self._shape, self.ticks, self.marked, shift[self.cell])
        return means(self, mean), means(self, variance)

    def expect_number(self) -> tuple[Floats, Floats]:
        """Mean and variance per cell of the number of rows that count."""
        return replace(self, ticks=np.ones_like(self.ticks)).expect()


@kernel
def _least_totals(shape: Ints, ticks: Ints, marked: NDArray[np.bool_], scale: Ints, minus: Ints) -> tuple[Ints, Ints]:
    """The least total of scale * tick - minus per entry, and how many rows count; a negative scale turns the order."""
    start, end, must, may = shape[0], shape[1], shape[2], shape[3]
    entries = len(start)
    total, number = np.zeros(entries, dtype=np.int64), np.zeros(entries, dtype=np.int64)
    for e in range(entries):
        size, meeting = end[e] - start[e], 0
        for place in range(start[e], end[e]):
            meeting += marked[place]
        failing, rows = size - meeting, must[e] + may[e]
        most_failing, most_meeting = min(must[e], failing), min(meeting, rows)
        forced = max(0, rows - failing)
        taken, failed, met = forced, 0, 0
        for step in range(size):
            place = start[e] + step if scale[e] > 0 else end[e] - 1 - step
            value = scale[e] * ticks[place] - minus[e]
            if marked[place]:
                met += 1
                if met <= forced:
                    total[e] += value
                    continue
                has_room = met <= most_meeting
            else:
                has_room = failed < most_failing
            if has_room and (taken < must[e] or (value < 0 and taken < rows)):
                total[e] += value
                taken += 1
                failed += not marked[place]
        number[e] = taken
    return total, number


@kernel
def _moments(shape: Ints, ticks: Ints, marked: NDArray[np.bool_], shift: Floats) -> tuple[Floats, Floats]:
    """Mean and Hoeffding's variance of the total per entry: rows of two kinds, the second without unmarked values."""
    start, end, must, may = shape[0], shape[1], shape[2], shape[3]
    entries = len(start)
    mean, variance = np.zeros(entries), np.zeros(entries)
    for e in range(entries):
        size, base = end[e] - start[e], ticks[start[e]]
        every, some, meeting = 0.0, 0.0, 0
        for place in range(start[e], end[e]):
            # Differences from the least value keep the digits that the variance is made of.
            every += ticks[place] - base
            if marked[place]:
                some += (ticks[place] - base) + (base - shift[e])
                meeting += 1
        middle, part = every / size, some / size
        mean[e] = must[e] * (middle + (base - shift[e])) + may[e] * part
        if size == 1:
            continue
        inner = 0.0
        for place in range(start[e], end[e]):
            one = (ticks[place] - base) - middle
            other = ((ticks[place] - shift[e]) if marked[place] else 0.0) - part
            inner += must[e] * one**2 + may[e] * other**2 - (must[e] * one + may[e] * other) ** 2 / size
        variance[e] = max(inner, 0.0) / (size - 1)
    return mean, variance
