"""Bounds on a value's share in a group: (alpha,k)-anonymity, beta-likeness, delta-disclosure, delta-presence.

With p the share of a value in a group and q its share in the column:

Source     (alpha,k)-anonymity [Wong 2006] in its general form, every value is sensitive: N >= k and p <= alpha
           beta-likeness [Cao 2012]: p <= (1 + beta) * q; enhanced: p <= (1 + min(beta, -ln q)) * q, which keeps
           frequent values below certainty
           delta-disclosure [Brickell 2008]: |ln(p / q)| < delta for every value of the column; so every value occurs in
           every group
           delta-presence [Nergiz 2007]: the share of rows that are members lies between low and high; the table is the
           public population, and its sensitive column says who is a member of the private table
Cost       O(p) on p (group, value) pairs, after one or two caps per distinct frequency
Deviates   decided exactly, natural logarithms included (see `caps`); e^delta is irrational, so no share lies on the
           border

Caps on shares as fractions that 64-bit integers can decide.

Source     own: continued fractions, the neighbours of a number among fractions of bounded denominator
Guarantee  a share c/N with N <= n is at most w exactly when it is at most the largest fraction below w with a
           denominator of at most n; so an irrational or long w becomes a short fraction without changing any decision
Cost       O(log n) per distinct cap
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Counts
from hedgerow.criteria.groupwise import Groups, Limited, Limits, group_sums
from hedgerow.errors import ParameterError
from hedgerow.parameters import read_number, read_whole

_FIRST_DIGITS = 40


@dataclass(frozen=True)
class BetaLikeness(Limited):
    """No value's share in a group exceeds its share in the column by more than `beta` times that share."""

    beta: Fraction
    enhanced: bool = True

    relative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", read_number("beta", self.beta, above=0))

    def limits(self, overall: NDArray[np.int64]) -> Limits:
        """A cap per value."""
        rows = int(overall.sum())
        return Limits(1, 1, *cap_arrays(lambda frequency: self._cap(frequency, rows), overall))

    def nearest(self, overall: NDArray[np.int64]) -> str:
        """Describe what the column could satisfy instead: in the column itself nothing gains."""
        return "the column as one group gains nothing, so any beta works."

    def _cap(self, frequency: int, rows: int) -> Fraction:
        share = Fraction(frequency, rows)
        if not self.enhanced or frequency == 0 or self._below_log(share):
            return (1 + self.beta) * share
        if share == 1:
            return share

        def bounds(digits: int) -> tuple[Fraction, Fraction]:
            low, high = enclose(Decimal.ln, 1 / share, digits)
            return (1 + low) * share, (1 + high) * share

        return floor_irrational(bounds, rows)

    def _below_log(self, share: Fraction) -> bool:
        """Return whether beta < -ln(share); a logarithm of a fraction other than 1 is never a fraction."""
        if share == 1:
            return False
        digits = _FIRST_DIGITS
        while True:
            low, high = enclose(Decimal.ln, 1 / share, digits)
            if self.beta < low or self.beta > high:
                return self.beta < low
            digits *= 2


@dataclass(frozen=True)
class AlphaK(Limited):
    """At least `k` rows, no value in more than `alpha` of them."""

    alpha: Fraction
    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", read_number("alpha", self.alpha, above=0, most=1))
        object.__setattr__(self, "k", read_whole("k", self.k, least=2, why="A group of one hides nobody."))

    def limits(self, overall: NDArray[np.int64]) -> Limits:
        """At least k rows and a cap of alpha."""
        return Limits(self.k, 1, *cap_arrays(lambda _: self.alpha, overall))

    def nearest(self, overall: NDArray[np.int64]) -> str:
        """Describe what the column could satisfy instead."""
        rows, most = int(overall.sum()), int(overall.max(initial=0))
        return f"(alpha, k)-anonymity works for k up to {rows} and alpha from {most}/{rows} on."


_BEYOND = Fraction(100)  # e^100 exceeds the square of any number of rows: from there on only presence counts


@dataclass(frozen=True)
class DeltaDisclosure:
    """Shares between e^-`delta` and e^`delta` times those of the column."""

    delta: Fraction

    monotone: ClassVar[bool] = True
    """A share of a union lies between the shares of its parts."""

    absorbing: ClassVar[bool] = False

    relative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", read_number("delta", self.delta, above=0))

    def limits(self, overall: Counts) -> Limits:
        """Every value of the column, and a cap per value; how rare a value may be is left to `holds`."""
        distinct = int(np.count_nonzero(overall))
        upper = cap_arrays(lambda frequency: self._share(1, frequency, int(overall.sum())), overall)
        return Limits(distinct, distinct, *upper, whole=False)

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Return for each group whether every value of the column is neither too frequent nor too rare in it."""
        rows = int(groups.overall.sum())
        numerators, denominators = cap_arrays(lambda frequency: self._share(-1, frequency, rows), groups.overall)
        size, values = groups.sizes[groups.owners], groups.values
        rare = groups.counts * denominators[values] <= numerators[values] * size
        common: NDArray[np.bool_] = group_sums(groups, rare) == 0
        return self.limits(groups.overall).hold(groups) & common

    def nearest(self, overall: Counts) -> str:
        """Describe what the column could satisfy instead: the column's shares are its own."""
        return "the column as one group discloses nothing, so any delta works."

    def _share(self, sign: int, frequency: int, rows: int) -> Fraction:
        """The largest share of at most `rows` rows that is below e^(sign * delta) * frequency / rows."""
        if frequency == 0:
            return Fraction(0)
        return floor_irrational(self._bounds(sign, Fraction(frequency, rows)), rows)

    def _bounds(self, sign: int, share: Fraction) -> Callable[[int], tuple[Fraction, Fraction]]:
        def bounds(digits: int) -> tuple[Fraction, Fraction]:
            low, high = enclose(Decimal.exp, min(self.delta, _BEYOND), digits)
            return (low * share, high * share) if sign > 0 else (share / high, share / low)

        return bounds


@dataclass(frozen=True)
class DeltaPresence(Limited):
    """A share of members from `low` to `high`; `member` is their code in a column of at most two codes."""

    low: Fraction
    high: Fraction
    member: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", read_number("low", self.low, least=0, most=1))
        object.__setattr__(self, "high", read_number("high", self.high, least=0, most=1))
        if self.low > self.high:
            raise ParameterError("'low' must not exceed 'high'.")

    def limits(self, overall: NDArray[np.int64]) -> Limits:
        """Members fill at most `high`, the others at most 1 - `low`."""
        if len(overall) > 2:
            raise ParameterError(f"delta-presence needs a column of two values, member or not; got {len(overall)}.")
        rows = int(overall.sum())
        wanted = [self.high if code == self.member else 1 - self.low for code in range(len(overall))]
        caps = [floor_fraction(share, rows) for share in wanted]
        numerators, denominators = ([cap.numerator for cap in caps], [cap.denominator for cap in caps])
        return Limits(1, 1, np.array(numerators, np.int64), np.array(denominators, np.int64))

    def nearest(self, overall: NDArray[np.int64]) -> str:
        """Describe what the column could satisfy instead."""
        members = int(overall[self.member]) if 0 <= self.member < len(overall) else 0
        return f"delta-presence needs bounds around {members}/{int(overall.sum())}, the share of members."


def floor_fraction(number: Fraction, most: int) -> Fraction:
    """The largest fraction not above `number` whose denominator is at most `most`."""
    if number.denominator <= most:
        return number
    before, last = (0, 1), (1, 0)
    above, below = number.numerator, number.denominator
    while True:
        step = above // below
        if before[1] + step * last[1] > most:
            break
        before, last = last, (before[0] + step * last[0], before[1] + step * last[1])
        above, below = below, above - step * below
    steps = (most - before[1]) // last[1]
    # These two are neighbours among the allowed fractions, one on either side of the number.
    return min(Fraction(before[0] + steps * last[0], before[1] + steps * last[1]), Fraction(*last))


def floor_irrational(bounds: Callable[[int], tuple[Fraction, Fraction]], most: int) -> Fraction:
    """The same for an irrational number, given by bounds at any number of digits."""
    digits = _FIRST_DIGITS
    while True:
        low, high = (floor_fraction(bound, most) for bound in bounds(digits))
        if low == high:
            return low
        digits *= 2


def enclose(function: Callable[[Decimal], Decimal], number: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Bounds on an increasing `function` (Decimal's own exp or ln, which round correctly) of a positive number."""
    with localcontext() as context:
        context.prec = digits
        quotient = Decimal(number.numerator) / Decimal(number.denominator)
        # The quotient and the function are each off by at most one unit in their last place; two steps cover it.
        low, high = function(quotient.next_minus()).next_minus(), function(quotient.next_plus()).next_plus()
        return Fraction(low), Fraction(high)


def cap_arrays(
    cap_of: Callable[[int], Fraction], overall: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numerators and denominators of a cap that depends on how often a value occurs in the whole column."""
    rows = int(overall.sum())
    frequencies, places = np.unique(overall, return_inverse=True)
    caps = [min(floor_fraction(cap_of(int(f)), rows), Fraction(1)) for f in frequencies]
    numerators = np.array([cap.numerator for cap in caps], np.int64)
    denominators = np.array([cap.denominator for cap in caps], np.int64)
    return numerators[places], denominators[places]
