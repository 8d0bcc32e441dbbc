"""Published columns of numbers as exact ticks, and the values of each group from them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import QueryError, SchemaError
from hedgerow.exact import ticks
from hedgerow.query.aggregates import AGGREGATES, Gives
from hedgerow.query.evidence.groups import Ints, Values
from hedgerow.query.evidence.view import View
from hedgerow.query.result import Rounding
from hedgerow.query.sql.kinds import NUMBERS
from hedgerow.query.sql.question import Kind

__all__ = ["Numbers", "numbers_of", "sorted_codes", "ticks_of", "values_at", "values_of"]


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column's distinct values between ticks, and what its sums owe to floating point.

    Dates are days and timestamps microseconds. Texts and truth values are their places in `domain`, which order them;
    floats that lie on no decimal grid come with theirs, because ticks do not tell all of them apart.
    """

    lows: Ints
    highs: Ints
    unit: Fraction
    kind: Kind
    domain: pa.Array | None = None

    @property
    def is_rounded(self) -> bool:
        """Tell whether the values lie on no decimal grid."""
        return self.lows is not self.highs

    @property
    def slack(self) -> Fraction:
        """Most that a published float, summed, may differ from the decimal that it prints: zero on whole numbers."""
        if self.kind is not Kind.FLOAT or self.unit.denominator == 1 or self.is_rounded:
            return Fraction(0)
        return int(np.abs(self.lows).max(initial=0)) * self.unit / 2**52

    def rounding(self, function: str) -> Rounding:
        """Say how bounds of an aggregate of this column become numbers."""
        gives = AGGREGATES[function].gives
        if self.kind not in NUMBERS and gives is Gives.VALUE:
            return Rounding.VALUE
        is_whole = self.kind is Kind.INT and gives in (Gives.TOTAL, Gives.VALUE)
        if gives is Gives.NUMBER or is_whole:
            return Rounding.WHOLE
        return Rounding.NEAREST if gives is Gives.VALUE and not self.is_rounded else Rounding.OUTWARD

    def value(self, code: int) -> Fraction:
        """A rounded value as the float that was published."""
        assert self.domain is not None, "rounded values come with the list of them"
        return Fraction(self.domain[code].as_py())

    def at(self, codes: Ints) -> tuple[Ints, Ints, Ints | None]:
        """Lows, highs and labels of the values with these codes."""
        lows = self.lows[codes]
        return (lows, self.highs[codes], codes) if self.is_rounded else (lows, lows, None)


def numbers_of(view: View, name: str) -> Numbers:
    """Return the ticks of a column's distinct values."""
    numbers: Numbers = view.remember(
        f"numbers of {name}", lambda: ticks_of(view.codes(name).domain, view.column(name).kind)
    )
    return numbers


def ticks_of(domain: pa.Array, kind: Kind) -> Numbers:
    """Return the ticks of an array without missing values."""
    if kind in (Kind.DATE, Kind.TIME):
        moments = domain.cast(pa.int32() if kind is Kind.DATE else pa.int64()).to_numpy(zero_copy_only=False)
        days = moments.astype(np.int64)
        return Numbers(days, days, Fraction(1), kind, domain)
    if kind not in NUMBERS:
        places = np.arange(len(domain), dtype=np.int64)
        return Numbers(places, places, Fraction(1), kind, domain)
    if kind is Kind.DECIMAL:
        steps = _decimal_steps(domain)
        return Numbers(steps, steps, Fraction(1, 10**domain.type.scale), kind)
    try:
        lows, highs, unit = ticks(domain.to_numpy(zero_copy_only=False))
    except SchemaError as error:
        raise QueryError(str(error)) from None
    if np.array_equal(lows, highs):
        return Numbers(lows, lows, unit, kind)
    return Numbers(lows, highs, unit, kind, domain)


def _decimal_steps(domain: pa.Array) -> Ints:
    """Read 128-bit decimals as 64-bit numbers of steps of their last digit."""
    halves = np.frombuffer(domain.buffers()[1], dtype=np.int64)[2 * domain.offset : 2 * (domain.offset + len(domain))]
    low, high = halves[0::2], halves[1::2]
    if np.any(high != low >> 63):
        raise QueryError("decimals beyond 18 digits cannot be summed exactly here; publish the column in larger units")
    return low.copy()


def values_of(view: View, name: str, keep: NDArray[np.bool_] | None = None) -> Values:
    """Return each group's values of a column; `keep` marks the distinct values (missing last) that count."""
    codes = sorted_codes(view, name)
    values: Values = view.remember(f"values of {name}", lambda: _values(view, name, codes))
    return values if keep is None or keep.all() else values.kept(keep[codes])


def sorted_codes(view: View, name: str) -> Ints:
    """Codes of the column, ascending inside each group, missing last; sorted when first asked."""
    codes: Ints = view.remember(f"sorted codes of {name}", lambda: _sorted_codes(view, name))
    return codes


def _sorted_codes(view: View, name: str) -> Ints:
    codes = view.codes(name)
    width = len(codes.domain) + 1
    # One sort of (group, code) in a single integer; the group drops out again.
    ascending: Ints = np.sort(view.groups * width + codes.codes)
    ascending -= view.groups * width
    return ascending


def _values(view: View, name: str, codes: Ints) -> Values:
    sizes = np.diff(view.offsets)
    numbers = numbers_of(view, name)
    lows, highs, labels = _with_missing(numbers, codes)
    return Values(view.offsets, sizes, lows, highs, numbers.unit, labels=labels)


def _with_missing(numbers: Numbers, codes: Ints) -> tuple[Ints, Ints, Ints | None]:
    """Lows, highs and labels; missing values never count in sums, but conditions on them can be counted."""
    lows = np.append(numbers.lows, 0)[codes]
    return (lows, np.append(numbers.highs, 0)[codes], codes) if numbers.is_rounded else (lows, lows, None)


def values_at(view: View, name: str, rows: NDArray[np.bool_]) -> Values:
    """Return each group's values of a column at the marked rows only; the others do not count."""
    codes, numbers = view.codes(name), numbers_of(view, name)
    places = codes.codes[rows].astype(np.int64)
    width = len(codes.domain) + 1
    keys = np.sort(view.groups[rows] * width + places)
    owner, code = np.divmod(keys, width)
    counts = np.bincount(owner, minlength=len(view.offsets) - 1)
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    lows, highs, labels = _with_missing(numbers, code)
    return Values(offsets, np.diff(view.offsets), lows, highs, numbers.unit, labels=labels)
