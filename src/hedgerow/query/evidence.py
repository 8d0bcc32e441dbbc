"""What a release tells about a question, per group: how many rows are hit, and which values they may have.

Numbers are whole multiples of a unit (`exact.ticks`), so that bounds are sums of integers. A value is an interval
`low <= value <= high`; the two differ only where a float lies on no decimal grid of 15 digits.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import QueryError

__all__ = ["Hits", "Moments", "Values", "matches", "rank"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Hits:
    """Rows that a question touches: one entry per cell (row of the result) and group, sorted by cell.

    `lower <= rows touched <= upper`, with the mean `expected`; all three agree where quasi-identifiers are published
    as they are.
    """

    cells: int
    cell: Ints
    group: Ints
    lower: Ints
    upper: Ints
    expected: Ints

    def mirrored(self, groups: int) -> Hits:
        """Return the hits for `Values.mirrored`, which numbers groups from the other end."""
        return replace(self, group=groups - 1 - self.group)


@dataclass(frozen=True, eq=False)
class Moments:
    """Count, mean and sum of squared deviations of each group's values, in units."""

    count: NDArray[np.float64]
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Values:
    """The values of each group that count: `lows` and `highs` ascending inside `offsets[g]:offsets[g+1]`.

    `sizes` are the numbers of values from which a group's rows draw; it exceeds the values listed where some of them do
    not count: they are missing, or fail a condition.
    """

    offsets: Ints
    sizes: Ints
    lows: Ints
    highs: Ints
    unit: Fraction

    @functools.cached_property
    def counts(self) -> Ints:
        """The number of values that count, per group."""
        return np.diff(self.offsets)

    @functools.cached_property
    def is_complete(self) -> bool:
        """Tell whether all values from which rows draw count."""
        return np.array_equal(self.counts, self.sizes)

    @functools.cached_property
    def prefix(self) -> Ints:
        """Sums of the first lows over all groups. They may wrap around; differences inside a group do not."""
        _check_sums(self)
        return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(self.lows)))

    @functools.cached_property
    def bases(self) -> Ints:
        """The prefix sums at which the groups start."""
        return self.prefix[self.offsets[:-1]]

    @functools.cached_property
    def mirrored(self) -> Values:
        """The negated values from the last group to the first: least becomes greatest."""
        offsets = len(self.lows) - self.offsets[::-1]
        return Values(offsets, self.sizes[::-1], -self.highs[::-1], -self.lows[::-1], self.unit)

    @functools.cached_property
    def is_rounded(self) -> bool:
        """Tell whether some value is known only to lie between two ticks."""
        return self.lows is not self.highs and bool(np.any(self.lows != self.highs))

    @functools.cached_property
    def points(self) -> Values:
        """The same values with every interval shrunk to its low end."""
        return replace(self, highs=self.lows)

    @functools.cached_property
    def moments(self) -> Moments:
        """Moments of each group's values, for expectations."""
        groups = np.repeat(np.arange(len(self.counts)), self.counts)
        count = self.counts.astype(np.float64)
        sums = (self.prefix[self.offsets[1:]] - self.prefix[self.offsets[:-1]]).astype(np.float64)
        mean = sums / np.maximum(count, 1.0)
        squares = np.bincount(groups, weights=(self.lows - mean[groups]) ** 2, minlength=len(count))
        return Moments(count, mean, squares.astype(np.float64))

    @functools.cached_property
    def scatter(self) -> NDArray[np.float64]:
        """Population variance over N - 1, per group: times h (N-h) it is the variance of a sum of h values."""
        result: NDArray[np.float64] = self.moments.squares / np.maximum(self.sizes * (self.sizes - 1), 1)
        return result

    def kept(self, keep: NDArray[np.bool_]) -> Values:
        """Only the values that pass a condition count."""
        running = np.concatenate(([0], np.cumsum(keep)))
        lows = self.lows[keep]
        highs = lows if self.lows is self.highs else self.highs[keep]
        return Values(running[self.offsets], self.sizes, lows, highs, self.unit)


def _check_sums(values: Values) -> None:
    """Refuse columns of which a group's sum leaves 64 bits."""
    largest = int(max(np.abs(values.lows).max(initial=0), np.abs(values.highs).max(initial=0)))
    if largest * int(values.counts.max(initial=0)) < 2**63:
        return
    magnitudes = np.concatenate(([0.0], np.cumsum(np.maximum(np.abs(values.lows), np.abs(values.highs)) / 2.0**62)))
    if np.any(np.diff(magnitudes[values.offsets]) >= 1.0):
        raise QueryError("sums inside a group leave 64-bit whole numbers; publish the column in larger units")


def matches(hits: Hits, values: Values) -> tuple[Ints, Ints]:
    """Return the least and the most values that count among the rows hit, per entry of `hits`."""
    if values.is_complete:
        return hits.lower, hits.upper
    count, size = values.counts[hits.group], values.sizes[hits.group]
    return np.maximum(hits.lower + count - size, 0), np.minimum(hits.upper, count)


def rank(values: Values, sorted_values: Ints, group: Ints, threshold: Ints) -> Ints:
    """Count the values of each group below its threshold, by bisection in all groups at once."""
    start = values.offsets[group]
    low, high = start.copy(), values.offsets[group + 1]
    while np.any(active := low < high):
        middle = (low + high) >> 1
        below = np.zeros(len(group), dtype=np.bool_)
        below[active] = sorted_values[middle[active]] < threshold[active]
        low = np.where(below, middle + 1, low)
        high = np.where(active & ~below, middle, high)
    return low - start
