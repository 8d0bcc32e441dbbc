"""What a release tells about a question, per group: how many rows match, and which values they may have.

Numbers are whole multiples of a unit (`exact.ticks`), so that bounds are sums of integers. A value is an interval
`low <= value <= high`; the two differ only where a float lies on no decimal grid of 15 digits. Entries of (result row,
group) are reduced to one number per result row, exactly.

Evidence comes in pieces of whole groups: one for a release in one file, one for each part of others. Groups draw
independently, so that whatever an aggregate needs is a sum, a least or a greatest number, or a set, over pieces, and
bounds are those of one piece that holds everything.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Codes, Floats, Ints
from hedgerow.cores import cores
from hedgerow.query.evidence.ragged import Ragged

__all__ = [
    "Celled",
    "Evidence",
    "Floats",
    "Hits",
    "Ints",
    "Moments",
    "Piece",
    "Values",
    "best",
    "deviation",
    "different",
    "in_parts",
    "join_values",
    "joined_sets",
    "matches",
    "means",
    "runs_of",
    "small_sums",
    "totals",
    "unroll",
]

_HALF = np.int64(2**32 - 1)


class Celled(Protocol):
    """Entries sorted by their cell, each with a group (or whatever a reduction looks up)."""

    @property
    def cells(self) -> int:
        """The number of cells."""

    @property
    def cell(self) -> Ints:
        """The cell of each entry, ascending."""

    @property
    def group(self) -> Ints:
        """The group of each entry."""


def totals(where: Celled, entries: Ints) -> list[int]:
    """Sum 64-bit integers per cell without overflow: high and low halves apart, joined as Python integers."""
    if len(entries) == 0:
        return [0] * where.cells
    high, low = small_sums(where, entries >> 32), small_sums(where, entries & _HALF)
    return [(int(upper) << 32) + int(lower) for upper, lower in zip(high, low, strict=True)]


def small_sums(where: Celled, entries: Ints) -> Ints:
    """Sum integers per cell that together stay within 64 bits."""
    if where.cells == 1:
        return np.array([entries.sum()])
    edges = np.searchsorted(where.cell, np.arange(where.cells + 1))
    filled, sums = np.flatnonzero(np.diff(edges)), np.zeros(where.cells, dtype=np.int64)
    if len(filled):
        sums[filled] = np.add.reduceat(entries, edges[filled])
    return sums


def means(where: Celled, entries: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum floats per cell; for expectations, where the last digit does not matter."""
    if where.cells == 1:
        return np.array([entries.sum()])
    return np.bincount(where.cell, weights=entries, minlength=where.cells).astype(np.float64)


def best(choose: Any, where: Celled, among: NDArray[np.bool_], value: Callable[[Ints], Ints]) -> list[int | None]:
    """Minimum or maximum per cell of the entries marked by `among`; None where there is none."""
    cell, group = where.cell[among], where.group[among]
    result: list[int | None] = [None] * where.cells
    if len(cell) == 0:
        return result
    starts = np.flatnonzero(np.concatenate(([True], cell[1:] != cell[:-1])))
    for index, bound in zip(cell[starts], choose.reduceat(value(group), starts), strict=True):
        result[index] = int(bound)
    return result


def unroll(numbers: Ints) -> tuple[Ints, Ints]:
    """List each entry `numbers` times: its index, and 0, 1, 2, ... inside it."""
    owner = np.repeat(np.arange(len(numbers)), numbers)
    starts = np.cumsum(numbers) - numbers
    return owner, np.arange(len(owner)) - starts[owner]


def runs_of(group: Ints, first: Ints) -> tuple[Ints, Ints]:
    """For every entry all runs of its group, which are `first[g]:first[g+1]`: the entries repeated, and the runs."""
    owner, order = unroll(first[group + 1] - first[group])
    return owner, first[group][owner] + order


def deviation(variance: Floats) -> Floats:
    """Square root of variances; rounding may have left one slightly below zero."""
    result: Floats = np.sqrt(np.maximum(variance, 0.0))
    return result


@dataclass(frozen=True, eq=False)
class Hits:
    """Rows that a question touches: one entry per cell (row of the result) and group, sorted by cell.

    `lower <= rows touched <= upper`, with mean `expected` and `variance`; without a variance the three agree, because
    quasi-identifiers are published as they are.
    """

    cells: int
    cell: Ints
    group: Ints
    lower: Ints
    upper: Ints
    expected: Ints | Floats
    variance: Floats | None = None

    @staticmethod
    def exactly(cells: int, cell: Ints, group: Ints, number: Ints) -> Hits:
        """Hits whose number is known."""
        return Hits(cells, cell, group, number, number, number)

    def only(self, chosen: NDArray[np.bool_]) -> Hits:
        """Some of the entries."""
        if chosen.all():
            return self
        names = ("cell", "group", "lower", "upper", "expected", *(("variance",) if self.variance is not None else ()))
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def mirrored(self, groups: int) -> Hits:
        """Return the hits for `Values.mirrored`, which numbers groups from the other end."""
        return replace(self, group=groups - 1 - self.group)


@dataclass(frozen=True, eq=False)
class Moments:
    """What to expect of one value drawn from a group, in units.

    It counts with chance `share`. Its distance from the group's `mean`, zero if it does not count, has variance
    `values` over the group; `both` is the covariance with "counts", whose own variance is `counts`. Where a value is
    itself a matter of chance (a subdomain), `inner` holds the same three inside a value; None where it is not.
    """

    share: Floats
    mean: Floats
    values: Floats
    both: Floats
    counts: Floats
    inner: tuple[Floats, Floats, Floats] | None = None

    def spread(self, group: Ints, distance: Floats) -> tuple[Floats, Floats | None]:
        """Variance over the groups, and inside values, of what counts, at a distance from the group's mean."""
        outer = _quadratic((self.values, self.both, self.counts), group, distance)
        return outer, None if self.inner is None else _quadratic(self.inner, group, distance)


def _quadratic(parts: tuple[Floats, Floats, Floats], group: Ints, distance: Floats) -> Floats:
    values, both, counts = (part[group] for part in parts)
    result: Floats = values + distance * (2.0 * both + distance * counts)
    return result


@dataclass(frozen=True, eq=False)
class Values:
    """The values of each group that count: `lows` and `highs` ascending inside `offsets[g]:offsets[g+1]`.

    Values that are `is_rounded` lie between two ticks of 15 digits; `ragged` has them as they were published, for ticks
    do not tell all of them apart. `sizes` are the numbers of values from which a group's rows draw; it
    exceeds the values listed where some of them do not count: they are missing, or fail a condition. Intervals that are
    `ranged` are published as such: a value may lie anywhere in them, and perhaps only `sure` of a group's values count
    for sure; `expectation` tells what to expect, and `middles` the mean of each interval, ascending inside a group,
    with the `chances` that these intervals count.
    """

    offsets: Ints
    sizes: Ints
    lows: Ints
    highs: Ints
    unit: Fraction
    ranged: bool = False
    sure: Ints | None = None
    expectation: Moments | None = None
    middles: Floats | None = None
    chances: Floats | None = None
    ragged: Ragged | None = None

    @functools.cached_property
    def counts(self) -> Ints:
        """The number of values that count, per group."""
        return np.diff(self.offsets)

    @functools.cached_property
    def is_complete(self) -> bool:
        """Tell whether all values from which rows draw count."""
        return self.sure is None and np.array_equal(self.counts, self.sizes)

    @functools.cached_property
    def domain(self) -> Ints:
        """The different lows, ascending."""
        return different(self.lows)

    @functools.cached_property
    def prefix(self) -> Ints:
        """Sums of the first lows over all groups. They may wrap around; differences inside a group do not.

        Where a group's sum leaves 64 bits (`is_large`) these are sums of the lower halves alone, `high_prefix` has the
        others.
        """
        return _running(self.lows & _HALF if self.is_large else self.lows)

    @functools.cached_property
    def within(self) -> Ints | Codes:
        """Sums of the first lows of each group, in four bytes each where they fit; not for groups that are large."""
        running = _running(self.lows)
        sums: Ints = running[1:] - np.repeat(running[self.offsets[:-1]], self.counts)
        fits = int(np.abs(sums).max(initial=0)) < 2**31
        return sums.astype(np.int32) if fits else sums

    @functools.cached_property
    def high_prefix(self) -> Ints:
        """Sums of the upper halves of the first lows, in units of 2^32."""
        return _running(self.lows >> 32)

    @functools.cached_property
    def is_large(self) -> bool:
        """Tell whether the sum of some group leaves 64 bits."""
        largest = int(max(np.abs(self.lows).max(initial=0), np.abs(self.highs).max(initial=0)))
        if largest * int(self.counts.max(initial=0)) < 2**63:
            return False
        magnitudes = np.maximum(np.abs(self.lows), np.abs(self.highs)) / 2.0**62
        return bool(np.any(np.diff(np.concatenate(([0.0], np.cumsum(magnitudes)))[self.offsets]) >= 1.0))

    @functools.cached_property
    def bases(self) -> Ints:
        """The prefix sums at which the groups start."""
        return self.prefix[self.offsets[:-1]]

    def drawn(self, group: Ints, taken: Ints) -> tuple[Ints, Ints | None]:
        """Sum the `taken` smallest lows of each group: whole, or lower halves and upper ones (in units of 2^32)."""
        start = self.offsets[group]
        sums = self.prefix[start + taken] - self.bases[group]
        return sums, self.high_prefix[start + taken] - self.high_prefix[start] if self.is_large else None

    @functools.cached_property
    def mirrored(self) -> Values:
        """The negated values from the last group to the first: least becomes greatest."""
        offsets = len(self.lows) - self.offsets[::-1]
        lows = -self.highs[::-1]
        highs = lows if self.lows is self.highs else -self.lows[::-1]
        sure = None if self.sure is None else self.sure[::-1]
        middles = None if self.middles is None else -self.middles[::-1]
        chances = None if self.chances is None else self.chances[::-1]
        ragged = None if self.ragged is None else self.ragged.mirrored
        return Values(
            offsets,
            self.sizes[::-1],
            lows,
            highs,
            self.unit,
            self.ranged,
            sure,
            middles=middles,
            chances=chances,
            ragged=ragged,
        )

    @functools.cached_property
    def is_rounded(self) -> bool:
        """Tell whether some value is known only to lie between two ticks, for want of digits."""
        return self.ragged is not None

    @functools.cached_property
    def points(self) -> Values:
        """Rounded values as their numbers in ascending order: which of them are equal, and which is less."""
        assert self.ragged is not None, "rounded values have labels"
        return replace(self, lows=self.ragged.labels, highs=self.ragged.labels, unit=Fraction(1), ragged=None)

    @property
    def identity(self) -> Ints:
        """A number for each value that no other value has."""
        return self.lows if self.ragged is None else self.ragged.labels

    @functools.cached_property
    def typical(self) -> Values:
        """The values with each interval shrunk to its mean, between ticks: for expectations alone."""
        if self.middles is None:
            return self
        middles = cast(Ints, self.middles)
        return replace(self, lows=middles, highs=middles)

    @functools.cached_property
    def moments(self) -> Moments:
        """What to expect of a value of each group."""
        if self.expectation is not None:
            return self.expectation
        groups = np.repeat(np.arange(len(self.counts)), self.counts)
        count, size = self.counts.astype(np.float64), np.maximum(self.sizes, 1).astype(np.float64)
        # Distances from a group's smallest value are exact; those from its mean would lose the digits of large values.
        first = np.append(self.lows, 0)[self.offsets[:-1]]
        above = (self.lows - first[groups]).astype(np.float64)
        rise = np.bincount(groups, weights=above, minlength=len(count)) / np.maximum(count, 1.0)
        mean = np.where(count > 0, first + rise, 0.0)
        squares = np.bincount(groups, weights=(above - rise[groups]) ** 2, minlength=len(count))
        share = count / size
        return Moments(share, mean, squares / size, np.zeros(len(count)), share * (1.0 - share))

    @functools.cached_property
    def scatter(self) -> NDArray[np.float64]:
        """Population variance over N - 1, per group: times h (N-h) it is the variance of a sum of h values."""
        result: NDArray[np.float64] = self.moments.values / np.maximum(self.sizes - 1, 1)
        return result

    def kept(self, keep: NDArray[np.bool_]) -> Values:
        """Only the values that pass a condition count."""
        running = np.concatenate(([0], np.cumsum(keep)))
        lows = self.lows[keep]
        highs = lows if self.lows is self.highs else self.highs[keep]
        ragged = None if self.ragged is None else self.ragged.take(keep)
        return Values(running[self.offsets], self.sizes, lows, highs, self.unit, ragged=ragged)


def _running(numbers: Ints) -> Ints:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(numbers)))


def matches(hits: Hits, values: Values) -> tuple[Ints, Ints]:
    """Return the least and the most values that count among the rows hit, per entry of `hits`."""
    if values.is_complete:
        return hits.lower, hits.upper
    sure = values.counts if values.sure is None else values.sure
    least = np.maximum(hits.lower + sure[hits.group] - values.sizes[hits.group], 0)
    return least, np.minimum(hits.upper, values.counts[hits.group])


def in_parts(parts: list[tuple[Hits, Values]]) -> tuple[Hits, Values]:
    """Several pieces of evidence about the same cells as one."""
    if len(parts) == 1:
        return parts[0]
    first = np.cumsum([0, *(len(values.sizes) for _, values in parts)])
    whole = [hits for hits, _ in parts]
    cell = np.concatenate([hits.cell for hits in whole])
    order = np.argsort(cell, kind="stable")
    group = np.concatenate([hits.group + first[n] for n, hits in enumerate(whole)])[order]
    lower, upper, expected = (
        np.concatenate([getattr(hits, name) for hits in whole])[order] for name in ("lower", "upper", "expected")
    )
    is_exact = all(hits.variance is None for hits in whole)
    spread = [np.zeros(len(hits.cell)) if hits.variance is None else hits.variance for hits in whole]
    variance = None if is_exact else np.concatenate(spread)[order]
    hits = Hits(whole[0].cells, cell[order], group, lower, upper, expected, variance)
    return hits, join_values([values for _, values in parts])


def join_values(parts: list[Values]) -> Values:
    """Several kinds of values as if each had groups of its own, the groups of the first coming first.

    They are of one column of one release: if one is ranged or has an expectation, all are and have. What is sure
    differs, because each may come with a condition of its own.
    """
    shifts = np.cumsum([0, *(len(part.lows) for part in parts)])
    offsets = [part.offsets[:-1] + shift for part, shift in zip(parts, shifts[:-1], strict=True)]
    is_plain = all(part.lows is part.highs for part in parts)
    lows = np.concatenate([part.lows for part in parts])
    is_sure = all(part.sure is None for part in parts)
    return Values(
        np.concatenate([*offsets, shifts[-1:]]),
        np.concatenate([part.sizes for part in parts]),
        lows,
        lows if is_plain else np.concatenate([part.highs for part in parts]),
        parts[0].unit,
        any(part.ranged for part in parts),
        None if is_sure else np.concatenate([part.counts if part.sure is None else part.sure for part in parts]),
        _joined_moments([part.expectation for part in parts if part.expectation is not None]),
        _chain([part.middles for part in parts if part.middles is not None]),
        _chain([part.chances for part in parts if part.chances is not None]),
        Ragged.join([part.ragged for part in parts if part.ragged is not None]),
    )


def _joined_moments(parts: list[Moments]) -> Moments | None:
    if not parts:
        return None
    share, mean, values, both, counts = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("share", "mean", "values", "both", "counts")
    )
    inner = [np.concatenate(each) for each in zip(*(part.inner for part in parts if part.inner), strict=True)]
    return Moments(share, mean, values, both, counts, (inner[0], inner[1], inner[2]) if inner else None)


def _chain(parts: list[Any]) -> Any:
    return np.concatenate(parts) if parts else None


Piece = tuple[Hits, Values]
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rows hit and values drawn; each piece is made, or read, when it is called."""

    cells: int
    pieces: Sequence[Callable[[], Piece]]

    @staticmethod
    def of(hits: Hits, values: Values) -> Evidence:
        """Evidence in one piece."""
        return Evidence(hits.cells, (lambda: (hits, values),))

    @functools.cached_property
    def _traits(self) -> tuple[Fraction, bool, bool]:
        _, values = self.pieces[0]()
        return values.unit, values.ranged, values.is_rounded

    @property
    def unit(self) -> Fraction:
        """The unit of all values."""
        return self._traits[0]

    @property
    def is_ranged(self) -> bool:
        """Tell whether values are published as ranges."""
        return self._traits[1]

    @property
    def is_rounded(self) -> bool:
        """Tell whether some value is known only to lie between two ticks, for want of digits."""
        return self._traits[2]

    def each(self, function: Callable[[Hits, Values], Result]) -> list[Result]:
        """What a function finds in each piece."""
        if len(self.pieces) == 1:
            return [function(*self.pieces[0]())]
        with ThreadPoolExecutor(cores()) as pool:
            return list(pool.map(lambda piece: function(*piece()), self.pieces))

    def added(self, function: Callable[[Hits, Values], Any]) -> Any:
        """Sums over the pieces of what a function finds for each cell: a list, an array, or a tuple of these."""
        return functools.reduce(_sum, self.each(function))

    def least(self, function: Callable[[Hits, Values], list[Any]]) -> list[Any]:
        """The least over the pieces of what a function finds for each cell, None being nothing."""
        return [min((n for n in found if n is not None), default=None) for found in self._by_cell(function)]

    def greatest(self, function: Callable[[Hits, Values], list[Any]]) -> list[Any]:
        """The greatest over the pieces of what a function finds for each cell, None being nothing."""
        return [max((n for n in found if n is not None), default=None) for found in self._by_cell(function)]

    def _by_cell(self, function: Callable[[Hits, Values], list[Any]]) -> list[tuple[Any, ...]]:
        return list(zip(*self.each(function), strict=True))

    def every(self, function: Callable[[Hits, Values], bool]) -> bool:
        """Tell whether something is so in every piece."""
        return all(self.each(function))

    @functools.cached_property
    def mirrored(self) -> Evidence:
        """The negated values: least becomes greatest."""
        return self._map_pieces(lambda hits, values: (hits.mirrored(len(values.sizes)), values.mirrored))

    @functools.cached_property
    def points(self) -> Evidence:
        """Rounded values as their numbers in ascending order."""
        return self._map_pieces(lambda hits, values: (hits, values.points))

    @functools.cached_property
    def typical(self) -> Evidence:
        """The values with each interval shrunk to its mean: for expectations alone."""
        return self._map_pieces(lambda hits, values: (hits, values.typical))

    def _map_pieces(self, change: Callable[[Hits, Values], Piece]) -> Evidence:
        if len(self.pieces) == 1:
            return Evidence.of(*change(*self.pieces[0]()))
        return replace(self, pieces=[functools.partial(_change, change, piece) for piece in self.pieces])


def _change(change: Callable[[Hits, Values], Piece], piece: Callable[[], Piece]) -> Piece:
    return change(*piece())


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, tuple):
        return tuple(_sum(left, right) for left, right in zip(one, other, strict=True))
    if isinstance(one, list):
        return [left + right for left, right in zip(one, other, strict=True)]
    return one + other


def joined_sets(sets: Sequence[Ints]) -> Ints:
    """The different numbers of all pieces, ascending."""
    return sets[0] if len(sets) == 1 else different(np.concatenate(sets))


def different(numbers: Ints) -> Ints:
    """The different numbers, ascending: sorting takes a fifth of the time of hashing, as NumPy does."""
    ascending = np.sort(numbers)
    is_new = np.concatenate((np.ones(min(len(numbers), 1), dtype=np.bool_), ascending[1:] != ascending[:-1]))
    found: Ints = ascending[is_new]
    return found
