"""From exact bounds to numbers: what an engine hands over, and how it is rounded.

Bounds of whole numbers stay whole. A bound that is a published value (MIN, MAX) is that value. Every other bound
becomes the nearest float outside it.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.exact import float_above, float_below
from hedgerow.query.answer import Answer, Number

__all__ = ["Estimate", "Result", "Rounding"]


_ALIKE = Fraction(1, 10**9)
"""Share of its size up to which a number that has only one value may be uncertain and is still called exact."""


class Rounding(Enum):
    """How an exact bound becomes a number."""

    WHOLE = "it is whole"
    NEAREST = "it is a published value"
    OUTWARD = "away from the truth"
    VALUE = "it is a text, a date or a truth value"


@dataclass(frozen=True, eq=False)
class Estimate:
    """One aggregate in every cell. `slack` widens bounds by what floats differ from the decimals that they print.

    Where `is_bounded` is false, bounds are None and `expected` is an estimate. `domain` lists values that are no
    numbers. `reached` says of each cell whether some assignment reaches both bounds, where that is known.
    """

    lower: list[Fraction | None]
    upper: list[Fraction | None]
    expected: list[float]
    std: list[float]
    exact: list[bool]
    rounding: Rounding
    slack: list[Fraction] | None = None
    is_known: bool = False
    is_bounded: bool = True
    domain: pa.Array | None = None
    reached: list[bool] | None = None

    @functools.cached_property
    def answers(self) -> list[Answer]:
        """Return the rounded answer of each cell."""
        return [self._answer(cell) for cell in range(len(self.lower))]

    def take(self, cells: list[int]) -> Estimate:
        """Return only some cells."""
        names = ["lower", "upper", "expected", "std", "exact"]
        names += [name for name in ("slack", "reached") if getattr(self, name) is not None]
        parts: dict[str, Any] = {name: [getattr(self, name)[cell] for cell in cells] for name in names}
        return replace(self, **parts)

    def _answer(self, cell: int) -> Answer:
        lower, upper = self.lower[cell], self.upper[cell]
        if not self.is_bounded:
            return Answer(None, None, _number(self.expected[cell]), _number(self.std[cell]), False, bounded=False)
        if lower is None or upper is None:
            return Answer(None, None, None, None, True)
        if self.rounding is Rounding.VALUE:
            return self._valued(int(lower), int(upper), cell)
        slack = self.slack[cell] if self.slack is not None else Fraction(0)
        low, high = self._rounded(lower - slack, upper + slack)
        if self.exact[cell]:
            middle = (lower + upper) / 2
            mean = int(middle) if self.rounding is Rounding.WHOLE else float(middle)
            # Floats on no common decimal grid are known to 15 digits of the largest: of small ones that may be few.
            is_exact = upper - lower <= abs(middle) * _ALIKE
            return Answer(low, high, mean, 0.0, is_exact, reached=is_exact)
        # Rounding of the mean must not carry it out of its own bounds.
        expected = min(max(self.expected[cell], float(low)), float(high))
        reached = self.reached is None or self.reached[cell]
        return Answer(low, high, expected, self.std[cell], False, reached=reached)

    def _rounded(self, lower: Fraction, upper: Fraction) -> tuple[Number, Number]:
        if self.rounding is Rounding.WHOLE:
            return int(lower), int(upper)
        if self.rounding is Rounding.NEAREST:
            return float(lower), float(upper)
        return float_below(lower), float_above(upper) + 0.0  # no negative zero

    def _valued(self, lower: int, upper: int, cell: int) -> Answer:
        """Texts and truth values have no mean; that of dates is the nearest moment, its deviation days or seconds."""
        assert self.domain is not None, "values come with the list of them"
        kind = self.domain.type
        if not pa.types.is_temporal(kind):
            low, high = self.domain[lower].as_py(), self.domain[upper].as_py()
            return Answer(
                low, high, low if self.exact[cell] else None, 0.0 if self.exact[cell] else None, self.exact[cell]
            )
        middle = lower if self.exact[cell] else round(min(max(self.expected[cell], lower), upper))
        low, high, mean = (_moment(tick, kind) for tick in (lower, upper, middle))
        scale = 1.0 if pa.types.is_date(kind) else 1e6
        return Answer(low, high, mean, 0.0 if self.exact[cell] else self.std[cell] / scale, self.exact[cell])

    def means(self) -> list[float]:
        """The expected value of each cell, nan for NULL."""
        return [math.nan if not isinstance(a.expected, int | float) else float(a.expected) for a in self.answers]

    def widened(self) -> list[tuple[Fraction, Fraction] | None]:
        """The bounds of each cell with all that floats owe them, None for NULL."""
        slack = self.slack if self.slack is not None else [Fraction(0)] * len(self.lower)
        ends = zip(self.lower, self.upper, slack, strict=True)
        return [None if low is None or high is None else (low - s, high + s) for low, high, s in ends]

    def middle(self) -> pa.Array:
        """The expected values as a column."""
        answers = [answer.expected for answer in self.answers]
        return (
            pa.array(answers, self._kind)
            if self._kind is not None
            else _array(answers, self._is_whole and self.is_known)
        )

    @property
    def _is_whole(self) -> bool:
        return self.rounding is Rounding.WHOLE and self.is_bounded

    @property
    def _kind(self) -> pa.DataType | None:
        return self.domain.type if self.domain is not None and self.rounding is Rounding.VALUE else None

    def columns(self, alias: str) -> dict[str, pa.Array]:
        """Return the aggregate as columns of a result table."""
        lower, upper = [a.lower for a in self.answers], [a.upper for a in self.answers]
        is_whole, kind = self._is_whole, self._kind
        return {
            alias: self.middle(),
            f"{alias}_lower": pa.array(lower, kind) if kind is not None else _array(lower, is_whole),
            f"{alias}_upper": pa.array(upper, kind) if kind is not None else _array(upper, is_whole, outward=1),
            f"{alias}_std": _array([a.std for a in self.answers], False),
        }


def _number(number: Any) -> Any:
    """What is not a number is NULL; estimates of texts and dates are such values."""
    return None if isinstance(number, float) and math.isnan(number) else number


def _moment(tick: int, kind: pa.DataType) -> Any:
    width = pa.int32() if pa.types.is_date(kind) else pa.int64()
    return pa.scalar(tick, width).cast(kind).as_py()


def _array(numbers: list[Any], is_whole: bool, outward: int = -1) -> pa.Array:
    """Whole numbers as BIGINT where they fit, otherwise floats rounded outwards."""
    if is_whole and all(number is None or -(2**63) <= number < 2**63 for number in numbers):
        return pa.array(numbers, pa.int64())
    away = float_above if outward > 0 else float_below
    floats = [away(Fraction(number)) if isinstance(number, int) else number for number in numbers]
    return pa.array(floats, pa.float64())


@dataclass(frozen=True, eq=False)
class Result:
    """An answered question: the values of its keys per cell, and one estimate per aggregate."""

    keys: dict[str, pa.Array]
    estimates: dict[str, Estimate]
    cells: int

    def take(self, cells: NDArray[np.int64]) -> Result:
        """Return only some cells."""
        keys = {alias: values.take(pa.array(cells)) for alias, values in self.keys.items()}
        estimates = {alias: estimate.take(cells.tolist()) for alias, estimate in self.estimates.items()}
        return Result(keys, estimates, len(cells))

    def table(self) -> pa.Table:
        """Return keys first, then x, x_lower, x_upper and x_std for each aggregate x."""
        columns = dict(self.keys)
        for alias, estimate in self.estimates.items():
            columns |= estimate.columns(alias)
        return pa.table(columns)
