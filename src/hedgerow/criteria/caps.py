"""Caps on shares as fractions that 64-bit integers can decide.

Source     own: continued fractions, the neighbours of a number among fractions of bounded denominator
Guarantee  a share c/N with N <= n is at most w exactly when it is at most the largest fraction below w with a
           denominator of at most n; so an irrational or long w becomes a short fraction without changing any decision
Cost       O(log n) per distinct cap
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["cap_arrays", "enclose", "floor_fraction", "floor_irrational"]

_FIRST_DIGITS = 40


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
