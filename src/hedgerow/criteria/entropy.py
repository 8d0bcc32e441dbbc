"""Whether a group's entropy is at least log l, decided exactly.

Source     ours; the inequality is N^N >= l^N * product of c^c over the counts c of a group of N rows
Guarantee  no rounding decides: floats settle the groups whose margin exceeds a bound on their error, decimals with more
           and more digits the rest, and where those see no difference prime factors tell whether both sides are equal
Cost       O(p) on p (group, value) pairs; a group at the border costs logarithms of a few dozen digits

The float error: each of the p + 2 terms is a product of a count and a logarithm, off by less than four units in the
last place, and adding up terms of total size S is off by less than (p + 2) * S * 2^-53. The bound used is eight times
larger than the sum of both.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from math import gcd, log

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.groupwise import Groups

__all__ = ["has_entropy"]

_FIRST_DIGITS = 50


def has_entropy(groups: Groups, l: Fraction) -> NDArray[np.bool_]:  # noqa: E741
    """Tell for each group whether its entropy is at least log l."""
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
    """The sign of the margin, or 0 where this many digits do not tell."""
    with localcontext() as context:
        context.prec = digits
        terms = [rows * Decimal(rows).ln(), rows * Decimal(l.denominator).ln(), -rows * Decimal(l.numerator).ln()]
        terms += [-share * times * Decimal(share).ln() for share, times in shares.items()]
        margin = sum(terms, Decimal(0))
        # Logarithms are rounded correctly; each product and each partial sum adds half a unit of at most this size.
        error = 4 * len(terms) * sum((abs(term) for term in terms), Decimal(1)) * Decimal(10) ** (1 - digits)
        return 0 if abs(margin) <= error else 1 if margin > 0 else -1


def _equal(shares: Counter[int], rows: int, l: Fraction) -> bool:  # noqa: E741
    """Tell whether rows^rows * den^rows == num^rows * product of share^(share * times), by prime factors."""
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
