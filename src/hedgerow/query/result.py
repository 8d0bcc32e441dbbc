"""From exact bounds to numbers: what an engine hands over, and how it is rounded.

Bounds of whole numbers stay whole. A bound that is a published value (MIN, MAX) is that value. Every other bound
becomes the nearest float outside it.
"""

from __future__ import annotations

import functools
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


class Rounding(Enum):
    """How an exact bound becomes a number."""

    WHOLE = "it is whole"
    NEAREST = "it is a published value"
    OUTWARD = "away from the truth"


@dataclass(frozen=True, eq=False)
class Estimate:
    """One aggregate in every cell. `slack` widens bounds by what floats differ from the decimals that they print."""

    lower: list[Fraction | None]
    upper: list[Fraction | None]
    expected: list[float]
    std: list[float]
    exact: list[bool]
    rounding: Rounding
    slack: list[Fraction] | None = None
    is_known: bool = False

    @functools.cached_property
    def answers(self) -> list[Answer]:
        """Return the rounded answer of each cell."""
        return [self._answer(cell) for cell in range(len(self.lower))]

    def take(self, cells: list[int]) -> Estimate:
        """Return only some cells."""
        names = ("lower", "upper", "expected", "std", "exact", *(("slack",) if self.slack is not None else ()))
        parts: dict[str, Any] = {name: [getattr(self, name)[cell] for cell in cells] for name in names}
        return replace(self, **parts)

    def _answer(self, cell: int) -> Answer:
        lower, upper = self.lower[cell], self.upper[cell]
        if lower is None or upper is None:
            return Answer(None, None, None, None, True)
        slack = self.slack[cell] if self.slack is not None else Fraction(0)
        low, high = self._rounded(lower - slack, upper + slack)
        if self.exact[cell]:
            middle = (lower + upper) / 2
            return Answer(low, high, int(middle) if self.rounding is Rounding.WHOLE else float(middle), 0.0, True)
        # Rounding of the mean must not carry it out of its own bounds.
        expected = min(max(self.expected[cell], float(low)), float(high))
        return Answer(low, high, expected, self.std[cell], False)

    def _rounded(self, lower: Fraction, upper: Fraction) -> tuple[Number, Number]:
        if self.rounding is Rounding.WHOLE:
            return int(lower), int(upper)
        if self.rounding is Rounding.NEAREST:
            return float(lower), float(upper)
        return float_below(lower), float_above(upper)

    def columns(self, alias: str) -> dict[str, pa.Array]:
        """Return the aggregate as columns of a result table."""
        is_whole = self.rounding is Rounding.WHOLE
        answers = self.answers
        return {
            alias: _array([a.expected for a in answers], is_whole and self.is_known),
            f"{alias}_lower": _array([a.lower for a in answers], is_whole),
            f"{alias}_upper": _array([a.upper for a in answers], is_whole, outward=1),
            f"{alias}_std": _array([a.std for a in answers], False),
        }


def _array(numbers: list[Number | None], is_whole: bool, outward: int = -1) -> pa.Array:
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

    def take(self, cells: NDArray[np.int64]) -> Result:
        """Return only some cells."""
        keys = {alias: values.take(pa.array(cells)) for alias, values in self.keys.items()}
        return Result(keys, {alias: estimate.take(cells.tolist()) for alias, estimate in self.estimates.items()})

    def table(self) -> pa.Table:
        """Return keys first, then x, x_lower, x_upper and x_std for each aggregate x."""
        columns = dict(self.keys)
        for alias, estimate in self.estimates.items():
            columns |= estimate.columns(alias)
        return pa.table(columns)
