"""Floats on no common decimal grid: as they were published, so that their sums are exact.

Between ticks such a float is known to 15 digits of the largest one of its column, which of a small one may be few. Its
place among the different floats tells which is less, and whole digits to the base 2^32 add up without rounding.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.exact import float_above

__all__ = ["Ragged", "float_sums"]

_BITS = 32
_MANTISSA = 53


@dataclass(frozen=True, eq=False)
class Ragged:
    """Published floats, and the numbers of these among the different ones of their column, ascending."""

    labels: Ints
    floats: Floats

    def take(self, places: Ints | np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ragged:
        """Some of them."""
        return Ragged(self.labels[places], self.floats[places])

    @property
    def mirrored(self) -> Ragged:
        """The negated floats from the last to the first."""
        return Ragged(-self.labels[::-1], -self.floats[::-1])

    @staticmethod
    def join(parts: list[Ragged]) -> Ragged | None:
        """Those of all parts; None of no part."""
        if not parts:
            return None
        labels, floats = (np.concatenate([getattr(part, name) for part in parts]) for name in ("labels", "floats"))
        return Ragged(labels, floats)

    @functools.cached_property
    def line(self) -> Ragged:
        """The different ones, ascending."""
        labels, first = np.unique(self.labels, return_index=True)
        return Ragged(labels, self.floats[first])

    def number(self, label: int) -> Fraction:
        """The float that a label stands for."""
        return Fraction(float(self.line.floats[np.searchsorted(self.line.labels, label)]))

    def first_from(self, limits: list[Fraction]) -> Ints:
        """For each limit the label below which labels are those of smaller floats."""
        place = np.searchsorted(self.line.floats, [float_above(limit) for limit in limits])
        after = self.line.labels[-1:] + 1 if len(self.line.labels) else np.zeros(1, dtype=np.int64)
        found: Ints = np.append(self.line.labels, after)[place]
        return found

    @functools.cached_property
    def running(self) -> tuple[Fraction, list[Ints]]:
        """Sums of the first floats, digit by digit from the lowest, and the unit of that one."""
        unit, digits = _digits_of(self.floats)
        return unit, [np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(digit))) for digit in digits]

    def sums(self, start: Ints, taken: Ints, added: Callable[[Ints], list[int]]) -> list[Fraction]:
        """The sums of so many floats from each start on, as `added` adds up what it is given by cells."""
        unit, digits = self.running
        return _join_digits(unit, [added(running[start + taken] - running[start]) for running in digits])


def float_sums(floats: Floats, added: Callable[[Ints], list[int]]) -> list[Fraction]:
    """The sums of floats, as `added` adds up what it is given by cells."""
    unit, digits = _digits_of(floats)
    return _join_digits(unit, [added(digit) for digit in digits])


def _digits_of(floats: Floats) -> tuple[Fraction, list[Ints]]:
    """Whole digits to the base 2^32 of each float, the lowest first, all with its sign; and the unit of the lowest."""
    _, exponents = np.frexp(floats[floats != 0.0])
    lowest, highest = (int(exponents.min()) - _MANTISSA, int(exponents.max())) if len(exponents) else (0, 1)
    lowest = max(lowest, -1074)  # no float is finer
    rest, digits = floats, []
    for place in reversed(range(-(-(highest - lowest) // _BITS))):
        scale = math.ldexp(1.0, lowest + _BITS * place)
        digit = np.trunc(rest / scale)
        rest = rest - digit * scale
        digits.append(digit.astype(np.int64))
    return Fraction(2) ** lowest, digits[::-1]


def _join_digits(unit: Fraction, digits: list[list[int]]) -> list[Fraction]:
    wholes = (sum(digit << (_BITS * place) for place, digit in enumerate(each)) for each in zip(*digits, strict=True))
    return [unit * whole for whole in wholes]
