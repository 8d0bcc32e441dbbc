"""l-diversity: the sensitive values of a group are well represented, in four senses.

Source     [Machanavajjhala 2007]; the frequency version is the one of [Xiao 2006]
Guarantee  distinct: l different values. Frequency: no value fills more than 1/l of a group. Entropy: a group's entropy
           is at least log l. Recursive (c,l): the most frequent value occurs less than c times as often as all values
           together from the l-th most frequent on
Cost       O(p log p) for recursive, else O(p), on p (group, value) pairs; an entropy at the border costs
           logarithms of a few dozen digits
Deviates   decided exactly: entropy as N^N >= l^N * product of c^c over the counts c of a group of N rows. Floats decide
           the groups whose margin exceeds a bound on their error, decimals with more and more digits the rest, and
           where those show no difference prime factors decide whether both sides are equal

The float error of an entropy: each of the p + 2 terms is a product of a count and a logarithm, off by less than four
units in the last place, and adding up terms of total size S is off by less than (p + 2) * S * 2^-53. The bound used is
eight times larger than the sum of both.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from math import gcd, log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Counts
from hedgerow.criteria.groupwise import Groups, Limited, Limits, group_sums
from hedgerow.criteria.shares import cap_arrays, floor_fraction
from hedgerow.parameters import read_number, read_whole, what_works

_WHY = "A group of one value reveals it."


@dataclass(frozen=True)
class DistinctDiversity(Limited):
    """At least `l` different values."""

    l: int  # noqa: E741

    absorbing: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", read_whole("l", self.l, least=2, why=_WHY))

    def limits(self, overall: Counts) -> Limits:
        """At least l distinct values, and so as many rows."""
        return Limits.of(overall, rows=self.l, distinct=self.l)

    def nearest(self, overall: Counts) -> str:
        """Describe what the column could satisfy instead."""
        distinct = int(np.count_nonzero(overall))
        return f"{self.l}-diversity needs {self.l} distinct values; {what_works('l', distinct)}."


@dataclass(frozen=True)
class FrequencyDiversity(Limited):
    """No value fills more than 1/`l` of a group: l * c <= N."""

    l: int  # noqa: E741

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", read_whole("l", self.l, least=2, why=_WHY))

    def limits(self, overall: Counts) -> Limits:
        """A cap of 1/l, and l rows, which it implies."""
        return Limits(self.l, 1, *cap_arrays(lambda _: Fraction(1, self.l), overall))

    def nearest(self, overall: Counts) -> str:
        """Describe what the column could satisfy instead."""
        needs = f"frequency {self.l}-diversity needs every value in at most 1/{self.l} of the rows;"
        return f"{needs} {what_works('l', int(overall.sum() // overall.max(initial=1)))}."


@dataclass(frozen=True)
class EntropyDiversity:
    """An entropy of at least log `l`, which need not be whole."""

    l: Fraction  # noqa: E741

    monotone: ClassVar[bool] = True
    """Entropy is concave: a mixture has at least the weighted mean of its parts' entropies."""

    absorbing: ClassVar[bool] = False

    relative: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", read_number("l", self.l, above=1))

    def limits(self, overall: Counts) -> Limits:
        """At least l distinct values: the entropy of fewer is below log l."""
        least = math.ceil(self.l)
        return Limits.of(overall, rows=least, distinct=least, whole=False)

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Return for each group whether its entropy is at least log l, exactly."""
        return has_entropy(groups, self.l)

    def nearest(self, overall: Counts) -> str:
        """Describe what the column could satisfy instead."""
        share = overall[overall > 0] / overall.sum()
        reached = np.exp(-(share * np.log(share)).sum())
        return f"the column's entropy allows an l of about {reached:.3f}, not {float(self.l):g}."


@dataclass(frozen=True)
class RecursiveDiversity:
    """Recursive (`c`, `l`): with counts r1 >= r2 >= ..., r1 < c * (r_l + r_(l+1) + ...)."""

    c: Fraction
    l: int  # noqa: E741

    monotone: ClassVar[bool] = True
    """In a union r1 is at most the sum of both r1, and the l - 1 largest counts at most the sums of both, so that what
    is left below them is at least the sum of both rests."""

    absorbing: ClassVar[bool] = False

    relative: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", read_number("c", self.c, above=0))
        object.__setattr__(self, "l", read_whole("l", self.l, least=2, why=_WHY))

    def limits(self, overall: Counts) -> Limits:
        """At least l distinct values: with fewer there is no rest."""
        return Limits.of(overall, rows=self.l, distinct=self.l, whole=False)

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Return for each group whether its largest count stays below c times the rest from the l-th on."""
        if not len(groups.sizes):
            return np.ones(0, np.bool_)
        largest, rest = _largest_and_rest(groups, self.l)
        # largest < c * rest says that largest is less than c / (1 + c) of both: a share, which short fractions decide.
        wanted = self.c / (1 + self.c)
        cap = floor_fraction(wanted, int(groups.overall.sum()))
        left, right = largest * cap.denominator, (largest + rest) * cap.numerator
        below: NDArray[np.bool_] = left < right if cap == wanted else left <= right
        return below

    def nearest(self, overall: Counts) -> str:
        """Describe what the column could satisfy instead."""
        ordered = np.sort(overall)[::-1]
        rest = int(ordered[self.l - 1 :].sum())
        if rest == 0:
            return f"recursive ({float(self.c):g}, {self.l})-diversity needs {self.l} distinct values."
        return f"recursive (c, {self.l})-diversity works for c above {float(Fraction(int(ordered[0]), rest)):.6g}."


def _largest_and_rest(groups: Groups, l: int) -> tuple[Counts, Counts]:  # noqa: E741
    """The largest count of each group, and the sum of its counts from the l-th largest on."""
    order = np.lexsort((-groups.counts, groups.owners))
    descending = groups.counts[order]
    rank = np.arange(len(order)) - groups.starts[groups.owners]
    return descending[groups.starts], group_sums(groups, np.where(rank >= l - 1, descending, 0))


_FIRST_DIGITS = 50


def has_entropy(groups: Groups, l: Fraction) -> NDArray[np.bool_]:  # noqa: E741
    """Return for each group whether its entropy is at least log l."""
    if not len(groups.sizes):
        return np.ones(0, np.bool_)
    log_l = log(l.numerator) - log(l.denominator)
    inside = np.add.reduceat(groups.counts * np.log(groups.counts), groups.starts)
    whole = groups.sizes * np.log(groups.sizes)
    margin = whole - inside - groups.sizes * log_l
    size = whole + inside + groups.sizes * (log(l.numerator) + log(l.denominator))
    error = (groups.distinct + 8) * size * 2.0**-50
    held: NDArray[np.bool_] = margin > 0
    ends = np.append(groups.starts[1:], len(groups.counts))
    for g in np.flatnonzero(np.abs(margin) <= error):
        held[g] = _decide(groups.counts[groups.starts[g] : ends[g]].tolist(), l)
    return held


def _decide(counts: list[int], l: Fraction) -> bool:  # noqa: E741
    """Decide N log N >= N log l + sum of c log c."""
    common = gcd(*counts)
    # Only shares matter; a smaller group with the same shares decides sooner.
    shares = Counter(count // common for count in counts)
    rows = sum(share * times for share, times in shares.items())
    digits = _FIRST_DIGITS
    while not (sign := _sign(shares, rows, l, digits)):
        if _equal(shares, rows, l):
            return True
        digits *= 2
    return sign > 0


def _sign(shares: Counter[int], rows: int, l: Fraction, digits: int) -> int:  # noqa: E741
    """The sign of the margin, or 0 if this many digits do not decide it."""
    with localcontext() as context:
        context.prec = digits
        terms = [rows * Decimal(rows).ln(), rows * Decimal(l.denominator).ln(), -rows * Decimal(l.numerator).ln()]
        terms += [-share * times * Decimal(share).ln() for share, times in shares.items()]
        margin = sum(terms, Decimal(0))
        # Logarithms are rounded correctly; each product and each partial sum adds half a unit of at most this size.
        error = 4 * len(terms) * sum((abs(term) for term in terms), Decimal(1)) * Decimal(10) ** (1 - digits)
        return 0 if abs(margin) <= error else 1 if margin > 0 else -1


def _equal(shares: Counter[int], rows: int, l: Fraction) -> bool:  # noqa: E741
    """Return whether rows^rows * den^rows == num^rows * product of share^(share * times), by prime factors."""
    powers: Counter[int] = Counter()
    sides = [(rows, rows), (l.denominator, rows), (l.numerator, -rows)]
    for base, power in [*sides, *((share, -share * times) for share, times in shares.items())]:
        for prime, times in _factors(base).items():
            powers[prime] += times * power
    return not any(powers.values())


def _factors(number: int) -> Counter[int]:
    factors: Counter[int] = Counter()
    prime = 2
    while prime * prime <= number:
        while number % prime == 0:
            factors[prime] += 1
            number //= prime
        prime += 1
    if number > 1:
        factors[number] += 1
    return factors
