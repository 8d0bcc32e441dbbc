"""MIN, MAX, quantiles and variances of what rows give together with their hidden values, over all assignments.

Source     own; `mixed` solves the assignment problems
Guarantee  the true answer lies inside. MIN, MAX and discrete quantiles are reached by an assignment where each pair of
           a row and a value gives one known number; interpolated quantiles where they fall on one value or the bounds
           agree. Variances hold: squares and sums are bounded one by one
Cost       a bisection over the different numbers of pairs; each step is one assignment problem per entry

A discrete quantile b/d of N values is at most t if the number of values up to t, times d, is at least b * N: if the
sum over counted pairs of (d if the pair is up to t, else 0) - b is not negative. That is an assignment problem, also
where N is open, and so is every order statistic. Greatest quantiles are least ones of the negated numbers.
"""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from hedgerow.errors import QueryError
from hedgerow.query.aggregates import AGGREGATES, Gives
from hedgerow.query.aggregates.aggregator import in_units, root_of
from hedgerow.query.aggregates.mixed import (
    MixedBounds,
    Pairs,
    average_of_pairs,
    count_of_pairs,
    expect_number,
    expect_pairs,
    least_total,
    negate,
    sum_of_pairs,
)
from hedgerow.query.answer import Estimate, Rounding
from hedgerow.query.evidence.groups import Floats, Ints, deviation

__all__ = ["RANKED", "Place", "estimate_ranked", "quantile_of_pairs", "variance_of_pairs"]

RANKED = ("min", "max", "quantile_disc", "quantile_cont", "var_pop", "var_samp", "stddev_pop", "stddev_samp")
"""The aggregates that are answered here."""

_STEPS = 12
_LARGEST_SQUARE = 29
"""Bits of a number whose square is summed in 64 bits."""


@dataclass(frozen=True)
class Place:
    """Where a value stands among all: a quantile `by` / `of`, discrete or interpolated."""

    by: int
    of: int
    is_discrete: bool = True

    @staticmethod
    def of_fraction(fraction: Fraction, *, is_discrete: bool) -> Place:
        """The place of a quantile."""
        return Place(fraction.numerator, fraction.denominator, is_discrete)

    @property
    def mirrored(self) -> Place:
        """The same place counted from the other end."""
        return Place(self.of - self.by, self.of, self.is_discrete)


def estimate_ranked(
    function: str, fraction: Fraction | None, pairs: Pairs, rounding: Rounding, slack: Fraction, domain: pa.Array | None
) -> Estimate:
    """Bounds and expectation of one of the aggregates; floats may come as places in a `domain` of them."""
    count = count_of_pairs(pairs)
    number = expect_number(pairs)
    gives = AGGREGATES[function].gives
    if gives in (Gives.SQUARE, Gives.ROOT):
        is_sample = function.endswith("samp")
        bounds = variance_of_pairs(pairs, count, is_sample=is_sample)
        mean, std = variance_spread(pairs, number, is_sample=is_sample)
        unit, needed = pairs.unit**2, 1 + is_sample
    else:
        share = {"min": Fraction(0), "max": Fraction(1)}.get(function, fraction or Fraction(0))
        place = Place.of_fraction(share, is_discrete=function != "quantile_cont")
        bounds = quantile_of_pairs(pairs, place, count)
        if domain is not None and pa.types.is_floating(domain.type):
            pairs, bounds = _as_floats(pairs, bounds, domain.to_numpy(zero_copy_only=False))
        mean, std = quantile_spread(pairs, place, bounds, number)
        unit, needed = pairs.unit, 1
    is_sure = [int(fewest or 0) >= needed for fewest in count.lower]
    if unit > sys.float_info.max:
        raise QueryError("squares of numbers this large are beyond the largest float; divide the column by 1e200 or so")
    found = Estimate(
        [None if end is None else end * unit for end in bounds.lower],
        [None if end is None else end * unit for end in bounds.upper],
        in_units(mean, unit).tolist(),
        in_units(std, unit).tolist(),
        [a is None or (a == b and sure) for a, b, sure in zip(bounds.lower, bounds.upper, is_sure, strict=True)],
        rounding,
        [slack] * pairs.cells if slack and gives is Gives.MEAN else None,
        domain=domain if rounding is Rounding.VALUE else None,
        reached=bounds.reached,
    )
    return root_of(found) if gives is Gives.ROOT else found


def _as_floats(pairs: Pairs, bounds: MixedBounds, floats: Floats) -> tuple[Pairs, MixedBounds]:
    """Floats in the place of their places in order."""
    lower, upper = (
        [None if end is None else Fraction(float(floats[int(end)])) for end in side]
        for side in (bounds.lower, bounds.upper)
    )
    middle = np.append(floats, 0.0)[pairs.low]
    return replace(pairs, middle=middle, chance=pairs.sure.astype(np.float64)), replace(
        bounds, lower=lower, upper=upper
    )


def quantile_of_pairs(pairs: Pairs, place: Place, count: MixedBounds) -> MixedBounds:
    """The least and the greatest value at a place; `count` bounds how many pairs there are."""
    mirror = negate(pairs)
    if place.is_discrete:
        lower, low_reached = _least_discrete(pairs, place, is_strict=False)
        upper, high_reached = _least_discrete(mirror, place.mirrored, is_strict=True)
    else:
        lower, low_reached = _least_interpolated(pairs, place, count)
        upper, high_reached = _least_interpolated(mirror, place.mirrored, count)
    empty = [not most for most in count.upper]
    return MixedBounds(
        [None if none else end for end, none in zip(lower, empty, strict=True)],
        [None if none else -end for end, none in zip(upper, empty, strict=True)],
        [none or (a and b and pairs.is_sharp) for a, b, none in zip(low_reached, high_reached, empty, strict=True)],
    )


def _least_discrete(pairs: Pairs, place: Place, *, is_strict: bool) -> tuple[list[Fraction], list[bool]]:
    """The least value up to which a share of the values lies, or more than it; the first one at least."""
    of, by, need = (1, 0, 1) if place.by == 0 else (place.of, place.by, int(is_strict))
    if is_strict and place.by == place.of:
        # More than all of them there cannot be: the place from this end is that of the last value.
        of, by, need = 1, 1, 0
    return _smallest(pairs, of, by, np.full(pairs.cells, need))


def _least_interpolated(pairs: Pairs, place: Place, count: MixedBounds) -> tuple[list[Fraction], list[bool]]:
    """The least value between two ranks; where the number of values is open, that of the lower rank."""
    numbers = [int(n or 0) for n in count.lower]
    is_known = [low == high for low, high in zip(count.lower, count.upper, strict=True)]
    share = Fraction(place.by, place.of)
    below = [math.floor(share * max(n - 1, 0)) for n in numbers]
    rest = [share * max(n - 1, 0) - b for n, b in zip(numbers, below, strict=True)]
    first, first_reached = _smallest(pairs, 1, 0, np.array([b + 1 for b in below], dtype=np.int64))
    second, second_reached = _smallest(
        pairs, 1, 0, np.array([b + 1 + (r > 0) for b, r in zip(below, rest, strict=True)], dtype=np.int64)
    )
    loose = first
    if not all(is_known):
        loose, _ = _smallest(pairs, place.of, place.by, np.full(pairs.cells, 1 - place.by))
    found = [
        a + (b - a) * r if known else c for a, b, c, r, known in zip(first, second, loose, rest, is_known, strict=True)
    ]
    # Both ranks may be least in different assignments.
    reached = [
        known and a and b and (r == 0 or one == other)
        for known, a, b, r, one, other in zip(is_known, first_reached, second_reached, rest, first, second, strict=True)
    ]
    return found, reached


def _smallest(pairs: Pairs, of: int, by: int, need: Ints) -> tuple[list[Fraction], list[bool]]:
    """Per cell the smallest number up to which some assignment of pairs has enough; and whether it is the best one.

    An assignment has enough if the sum of (`of` if the pair is up to the number) - `by` over its pairs that count is
    `need` at least, and one pair counts.
    """
    domain = np.unique(pairs.low[pairs.possible])
    if not len(domain):
        return [Fraction(0)] * pairs.cells, [True] * pairs.cells
    most = int(pairs.supply.sum()) + 1
    low, high = np.zeros(pairs.cells, dtype=np.int64), np.full(pairs.cells, len(domain) - 1)
    is_best = [False] * pairs.cells
    for _ in range(len(domain).bit_length() + 1):
        middle = (low + high) >> 1
        gain = (of * (pairs.low <= domain[middle][pairs.cell[pairs.owner]]) - by) * most + 1
        cost = np.where(pairs.sure, -gain, np.where(pairs.possible, np.minimum(-gain, 0), 0))
        total, best = least_total(pairs, cost)
        enough = np.array([-cell >= n * most + 1 for cell, n in zip(total, need.tolist(), strict=True)])
        is_best = [b if e else old for b, e, old in zip(best, enough, is_best, strict=True)]
        low, high = np.where(enough, low, np.minimum(middle + 1, high)), np.where(enough, middle, high)
        # The last step decides the smallest number itself, so that its assignment is known to be the best or not.
    return [Fraction(int(number)) for number in domain[low]], is_best


def quantile_spread(pairs: Pairs, place: Place, bounds: MixedBounds, number: Floats) -> tuple[Floats, Floats]:
    """Mean and deviation in units: the number of pairs up to a threshold is taken as normally distributed."""
    ends = [[float(end or 0) for end in side] for side in (bounds.lower, bounds.upper)]
    low, high = np.array(ends[0]), np.array(ends[1])
    rank = place.by / place.of * (number - 1.0) + 1.0
    counted = pairs.sure.astype(np.float64) if pairs.chance is None else pairs.chance
    numbers = pairs.low if pairs.middle is None else pairs.middle
    mean, square, before = np.zeros(pairs.cells), np.zeros(pairs.cells), np.zeros(pairs.cells)
    ones = np.ones(len(numbers))
    for left, right in itertools.pairwise(np.linspace(0.0, 1.0, _STEPS + 1).tolist()):
        chance = np.ones(pairs.cells)
        if right < 1:
            limit = (low + (high - low) * right)[pairs.cell[pairs.owner]]
            below, variance = expect_pairs(replace(pairs, middle=ones, chance=np.where(numbers <= limit, counted, 0.0)))
            scores = (below - rank + 0.5) / np.maximum(np.sqrt(np.maximum(variance, 0.0)), 1e-9)
            chance = np.array([0.5 * math.erfc(-s / math.sqrt(2.0)) for s in np.clip(scores, -40.0, 40.0).tolist()])
        middle = (left + right) / 2
        mean += np.maximum(chance - before, 0.0) * middle
        square += np.maximum(chance - before, 0.0) * middle**2
        before = np.maximum(before, chance)
    return low + (high - low) * mean, (high - low) * np.sqrt(np.maximum(square - mean**2, 0.0))


def variance_of_pairs(pairs: Pairs, count: MixedBounds, *, is_sample: bool) -> MixedBounds:
    """The variance in squared units, from the mean square and the mean about a centre; it holds."""
    centre = _centre(pairs)
    # What a pair gives that never counts would only cost digits of the squares.
    lows = np.where(pairs.possible, pairs.low - centre, 0)
    highs = lows if pairs.low is pairs.high else np.where(pairs.possible, pairs.high - centre, 0)
    about = replace(pairs, low=lows, high=highs)
    squares, scale = _square(about)
    mean, square = _mean_ends(about, count), _mean_ends(squares, count)
    spans = _spans(pairs)
    lower: list[Fraction | None] = []
    upper: list[Fraction | None] = []
    needed = 2 if is_sample else 1
    for cell in range(pairs.cells):
        fewest, most = int(count.lower[cell] or 0), int(count.upper[cell] or 0)
        ends = (mean.lower[cell], mean.upper[cell], square.lower[cell], square.upper[cell])
        if most < needed or None in ends:
            lower.append(None)
            upper.append(None)
            continue
        low, high, least, greatest = (Fraction(end or 0) for end in ends)
        nearest = Fraction(0) if low <= 0 <= high else min(low**2, high**2)
        least, greatest = least * scale - max(low**2, high**2), greatest * scale - nearest
        greatest = min(max(greatest, Fraction(0)), Fraction(spans[cell] ** 2, 4))
        small, large = max(fewest, needed), max(most, needed)
        factors = (Fraction(large, large - 1), Fraction(small, small - 1)) if is_sample else (Fraction(1), Fraction(1))
        lower.append(max(least, Fraction(0)) * factors[0])
        upper.append(greatest * factors[1])
    exact = [a is None or a == b for a, b in zip(lower, upper, strict=True)]
    return MixedBounds(lower, upper, exact)


def _centre(pairs: Pairs) -> Ints:
    """A whole number near the mean of each cell, pair by pair."""
    total, number = expect_pairs(pairs)[0], expect_number(pairs)
    mean = np.divide(total, number, out=np.zeros(pairs.cells), where=number > 0)
    centre: Ints = np.rint(np.clip(mean, -(2.0**61), 2.0**61)).astype(np.int64)[pairs.cell[pairs.owner]]
    return centre


def _square(pairs: Pairs) -> tuple[Pairs, int]:
    """The squares of what pairs give, in multiples of a scale where they would be too large."""
    largest = max(int(np.abs(pairs.low).max(initial=0)), int(np.abs(pairs.high).max(initial=0)))
    shift = max(largest.bit_length() - _LARGEST_SQUARE, 0)
    low, high = pairs.low >> shift, -(-pairs.high >> shift)
    ends = low**2, high**2
    least = np.where((low <= 0) & (high >= 0), 0, np.minimum(*ends))
    middle = None if pairs.middle is None else np.maximum(*ends) / 2.0 + least / 2.0
    if pairs.low is pairs.high and not shift:
        return replace(pairs, low=ends[0], high=ends[0], middle=middle), 1
    return replace(pairs, low=least, high=np.maximum(*ends), middle=middle), 4**shift


def _mean_ends(pairs: Pairs, count: MixedBounds) -> MixedBounds:
    """Bounds of the mean, which divides the sum where the number of pairs is known."""
    if count.lower != count.upper:
        return average_of_pairs(pairs)
    found = sum_of_pairs(pairs)
    numbers = [max(int(n or 0), 1) for n in count.upper]
    lower, upper = (
        [None if end is None else end / n for end, n in zip(side, numbers, strict=True)]
        for side in (found.lower, found.upper)
    )
    return MixedBounds(lower, upper, found.reached)


def _spans(pairs: Pairs) -> list[int]:
    """From the least to the greatest number that a pair of each cell may give."""
    cell = pairs.cell[pairs.owner[pairs.possible]]
    least, greatest = np.full(pairs.cells, 2**62), np.full(pairs.cells, -(2**62))
    np.minimum.at(least, cell, pairs.low[pairs.possible])
    np.maximum.at(greatest, cell, pairs.high[pairs.possible])
    return [max(int(b) - int(a), 0) for a, b in zip(least, greatest, strict=True)]


def variance_spread(pairs: Pairs, number: Floats, *, is_sample: bool) -> tuple[Floats, Floats]:
    """Mean and deviation in squared units: squares about the mean less that of the sum; that of the squares."""
    centre = _centre(pairs)
    about = replace(
        pairs,
        low=pairs.low - centre,
        high=pairs.high - centre,
        middle=None if pairs.middle is None else pairs.middle - centre,
    )
    squares = replace(about, middle=(about.low if about.middle is None else about.middle).astype(np.float64) ** 2)
    (mean, spread), (square, square_spread) = expect_pairs(about), expect_pairs(squares)
    by = np.maximum(number - (1.0 if is_sample else 0.0), 1.0)
    inner = square - (mean**2 + spread) / np.maximum(number, 1.0)
    return np.maximum(inner, 0.0) / by, deviation(square_spread) / by
