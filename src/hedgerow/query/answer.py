"""From exact bounds to answers: what an engine hands over, what a question says about it, and how it is rounded.

Bounds of whole numbers stay whole. A bound that is a published value (MIN, MAX) is that value. Every other bound
becomes the nearest float outside it. HAVING and ORDER BY look at expected values. Arithmetic between results is
interval arithmetic in fractions: it takes its operands as independent, so bounds hold and are tight where no operand
occurs twice. Its deviation is that of the linearized expression if all operands deviated together, an upper limit.
"""

from __future__ import annotations

import functools
import html
import math
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.digits import lower_text, number_text, upper_text
from hedgerow.errors import QueryError
from hedgerow.exact import float_above, float_below

__all__ = [
    "MEANING",
    "NO_DATES",
    "NO_NUMBERS",
    "Answer",
    "Estimate",
    "Learned",
    "Number",
    "Result",
    "Rounding",
    "as_compared",
    "as_days",
    "combine",
    "constant",
    "require_mean",
]

Number = int | float
MEANING = "std is the deviation over fair assignments, not a standard error of the truth; the guarantee is the bounds"
"""What has to be said wherever a deviation is printed."""


@dataclass(frozen=True)
class Learned:
    """What known columns tell about the answer: an estimate inside the bounds, and its standard error.

    The guarantee is the bounds. `note` says where no model helps, or where the estimate was moved to a bound.
    """

    estimate: Any
    standard_error: float | None
    note: str = ""

    def __str__(self) -> str:
        error = "" if self.standard_error is None else f" ± {self.standard_error:.6g}"
        note = f" ({self.note})" if self.note else ""
        return f"learned {number_text(self.estimate, 8, mark='')}{error}{note}"


@dataclass(frozen=True)
class Answer:
    """One aggregate over a release.

    `lower` and `upper` enclose the true answer and are reached by some assignment of values to rows that the release
    allows. `expected` and `std` are mean and standard deviation over all such assignments, each as likely as the
    others: `std` is no standard error of the truth, which is one assignment; the guarantee is the bounds. `exact` says
    that every assignment gives the same answer. SQL's NULL is None, in all four; `std` is also None where none is
    known: that of MIN, MAX, quantiles and variances over values that are published as ranges.

    Bounds are `int` where column and aggregate are of whole numbers, otherwise `float`, rounded outwards. Where an
    assignment may leave the aggregate without a single row (only conditions on sensitive values and missing sensitive
    values can), the numbers speak of the assignments that leave it one. MIN and MAX of texts, dates and truth values
    are such values; texts and truth values have no mean.

    A release of changed values (perturbed, swapped, substituted) allows no bounds: `bounded` is false, `lower` and
    `upper` are None, and `expected` is an estimate. Where `reached` is false, the bounds hold and may be wider than the
    best ones. `learned` is a better guess than `expected`, where it was asked for.
    """

    lower: Any
    upper: Any
    expected: Any
    std: float | None
    exact: bool
    bounded: bool = True
    reached: bool = True
    learned: Learned | None = None

    def __repr__(self) -> str:
        """Read as `80000 (exact)` or `between 530000 and 540000, expected 535000 ± 4082.48 over fair assignments`."""
        if not self.bounded:
            return f"about {number_text(self.expected, 8, mark='')} (an estimate without bounds)"
        if self.lower is None or self.upper is None:
            return "NULL (exact)"
        if self.exact:
            return f"{number_text(self.expected, 15, mark='')} (exact)"
        bounds = f"between {lower_text(self.lower)} and {upper_text(self.upper)}"
        if self.expected is None:
            return bounds
        middle = number_text(self.expected, 8, mark="")
        deviation = "" if self.std is None else f" ± {self.std:.6g}"
        guess = "" if self.learned is None else f"; {self.learned}"
        return f"{bounds}, expected {middle}{deviation} over fair assignments{guess}"

    def _repr_html_(self) -> str:
        """Say the same in a notebook, and what the deviation is."""
        meaning = f"<br><small>{MEANING}</small>" if self.bounded and self.std else ""
        reached = "" if self.reached else "<br><small>bounds that hold, and may be wider than the best ones</small>"
        return f"<div>{html.escape(repr(self))}{reached}{meaning}</div>"


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

    `shake` is what a database may be off that adds up floats: what is computed from a sum has room for it. Numbers that
    are not whole and not `is_decimal` are floats for it.

    Where `is_bounded` is false, bounds are None and `expected` is an estimate. `domain` lists values that are no
    numbers. `reached` says of each cell whether some assignment reaches both bounds, where that is known; `endless`
    where some table divides by zero: bounds, if there are any, speak of the others.
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
    endless: list[bool] | None = None
    shake: list[Fraction] | None = None
    is_decimal: bool = False

    @functools.cached_property
    def answers(self) -> list[Answer]:
        """Return the rounded answer of each cell."""
        return [self._answer(cell) for cell in range(len(self.lower))]

    def take(self, cells: list[int]) -> Estimate:
        """Return only some cells."""
        names = ["lower", "upper", "expected", "std", "exact"]
        names += [name for name in ("slack", "reached", "endless", "shake") if getattr(self, name) is not None]
        parts: dict[str, Any] = {name: [getattr(self, name)[cell] for cell in cells] for name in names}
        return replace(self, **parts)

    def _answer(self, cell: int) -> Answer:
        lower, upper = self.lower[cell], self.upper[cell]
        if not self.is_bounded:
            return Answer(None, None, _number(self.expected[cell]), _number(self.std[cell]), False, bounded=False)
        if lower is None or upper is None:
            if self.endless is not None and self.endless[cell]:
                return Answer(None, None, _number(self.expected[cell]), None, False, bounded=False)
            return Answer(None, None, None, None, True)
        if self.rounding is Rounding.VALUE:
            return self._value_answer(math.floor(lower), math.ceil(upper), cell)
        if self.slack is None:
            low, high = self._round(lower, upper)
        else:
            low, high = self._round(lower - self.slack[cell], upper + self.slack[cell])
        if self.exact[cell]:
            middle = (lower + upper) / 2
            mean = int(middle) if self.rounding is Rounding.WHOLE else float(middle)
            # What is computed from sums of floats has room for what databases round.
            is_exact = upper - lower <= abs(middle) * _ALIKE
            return Answer(low, high, mean, 0.0, is_exact, reached=is_exact)
        reached = self.reached is None or self.reached[cell]
        # Rounding of the mean must not carry it out of its own bounds.
        expected = _number(min(max(self.expected[cell], float(low)), float(high)))
        std = None if expected is None else _number(self.std[cell])
        return Answer(low, high, expected, std, False, reached=reached)

    def _round(self, lower: Fraction, upper: Fraction) -> tuple[Number, Number]:
        if self.rounding is Rounding.WHOLE:
            return int(lower), int(upper)
        if self.rounding is Rounding.NEAREST:
            return float(lower), float(upper)
        return float_below(lower), float_above(upper) + 0.0  # no negative zero

    def _value_answer(self, lower: int, upper: int, cell: int) -> Answer:
        """Texts and truth values have no mean; that of dates is the nearest moment, its deviation days or seconds."""
        assert self.domain is not None, "values come with the list of them"
        kind, exact = self.domain.type, self.exact[cell]
        reached = exact or self.reached is None or self.reached[cell]
        if not pa.types.is_temporal(kind):
            low, high = self.domain[lower].as_py(), self.domain[upper].as_py()
            return Answer(low, high, low if exact else None, 0.0 if exact else None, exact, reached=reached)
        low, high = (_moment(tick, kind) for tick in (lower, upper))
        if exact:
            return Answer(low, high, _moment(round(self.lower[cell] or 0), kind), 0.0, True, reached=reached)
        if math.isnan(self.expected[cell]):
            return Answer(low, high, None, None, False, reached=reached)
        mean = _moment(round(min(max(self.expected[cell], lower), upper)), kind)
        scale = 1.0 if pa.types.is_date(kind) else 1e6
        return Answer(low, high, mean, _number(self.std[cell] / scale), False, reached=reached)

    def means(self) -> list[float]:
        """The expected value of each cell, nan for NULL."""
        return [math.nan if not isinstance(a.expected, int | float) else float(a.expected) for a in self.answers]

    def widened(self) -> list[tuple[Fraction, Fraction] | None]:
        """The bounds of each cell with all that floats owe them, None for NULL; texts and dates are no numbers."""
        if self.rounding is Rounding.VALUE:
            raise QueryError(NO_NUMBERS)
        slack, shake = (each or [Fraction(0)] * len(self.lower) for each in (self.slack, self.shake))
        ends = zip(self.lower, self.upper, map(sum, zip(slack, shake, strict=True)), strict=True)
        return [None if low is None or high is None else (low - s, high + s) for low, high, s in ends]

    def is_firm(self, cell: int) -> bool:
        """Tell whether some table has both ends of `widened`, up to the decimals that floats print."""
        return (self.reached is None or self.reached[cell]) and not (self.shake is not None and self.shake[cell])

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
    """What is not a number, or beyond the largest float, is NULL; estimates of texts and dates are such values."""
    return None if isinstance(number, float) and not math.isfinite(number) else number


def _has_dates(moments: pa.Array) -> bool:
    """Tell whether all of them lie in the years that Python has."""
    is_date = pa.types.is_date(moments.type)
    per_day, ends = 1 if is_date else 86_400 * 10**6, pc.min_max(moments.cast(pa.int32() if is_date else pa.int64()))
    low, high = ends["min"].as_py(), ends["max"].as_py()
    return low is None or (_FIRST_DAY * per_day <= low and high < (_LAST_DAY + 1) * per_day)


def _moment(tick: int, kind: pa.DataType) -> Any:
    width = pa.int32() if pa.types.is_date(kind) else pa.int64()
    try:
        return pa.scalar(tick, width).cast(kind).as_py()
    except (OverflowError, pa.ArrowInvalid):
        raise QueryError(NO_DATES) from None


def _array(numbers: list[Any], is_whole: bool, outward: int = -1) -> pa.Array:
    """Whole numbers as BIGINT where they fit, otherwise floats rounded outwards."""
    if is_whole and all(number is None or -(2**63) <= number < 2**63 for number in numbers):
        return pa.array(numbers, pa.int64())
    away = float_above if outward > 0 else float_below
    floats = [away(Fraction(number)) if isinstance(number, int) else number for number in numbers]
    return pa.array(floats, pa.float64())


@dataclass(frozen=True, eq=False)
class Result:
    """An answered question: the values of its keys per cell, and one estimate per aggregate.

    `sure` marks the rows that every table has which the release allows, None all of them: a group may have no row under
    a condition on what is hidden. `is_picked` says that HAVING, LIMIT or OFFSET chose rows by what is expected.
    """

    keys: dict[str, pa.Array]
    estimates: dict[str, Estimate]
    cells: int
    sure: list[bool] | None = None
    is_picked: bool = False

    def __post_init__(self) -> None:
        if not all(_has_dates(values) for values in self.keys.values() if pa.types.is_temporal(values.type)):
            raise QueryError(NO_DATES)

    def take(self, cells: NDArray[np.int64]) -> Result:
        """Return only some cells."""
        keys = {alias: values.take(pa.array(cells)) for alias, values in self.keys.items()}
        estimates = {alias: estimate.take(cells.tolist()) for alias, estimate in self.estimates.items()}
        sure = None if self.sure is None else [self.sure[cell] for cell in cells.tolist()]
        return replace(self, keys=keys, estimates=estimates, cells=len(cells), sure=sure)

    def table(self) -> pa.Table:
        """Return keys first, then x, x_lower, x_upper and x_std for each aggregate x."""
        columns = dict(self.keys)
        for alias, estimate in self.estimates.items():
            columns |= estimate.columns(alias)
        return pa.table(columns)


def require_mean(estimate: Estimate) -> None:
    """Refuse an estimate of which some cell has bounds, which differ, and no expected number to look at."""
    cells = zip(estimate.lower, estimate.exact, estimate.expected, strict=True)
    if estimate.rounding is not Rounding.VALUE and any(
        low is not None and not exact and math.isnan(mean) for low, exact, mean in cells
    ):
        raise QueryError(
            "HAVING, ORDER BY and conditions on results look at expected answers; a COUNT(DISTINCT) that mixes known "
            "and sensitive columns, or counts ranges, has bounds alone; leave it out there"
        )


def as_compared(array: pa.Array) -> pa.Array:
    """Results as the floats that conditions compare; whole numbers that floats do not tell apart are refused."""
    try:
        return array.cast(pa.float64()) if pa.types.is_integer(array.type) else array
    except pa.ArrowInvalid:
        raise QueryError(
            "HAVING and conditions on results compare floats, which hold whole numbers up to 2^53; a result is larger, "
            "so leave the condition out, or divide the column in the question"
        ) from None


_SMALLEST = Fraction(1, 10**300)
_FIRST_DAY, _LAST_DAY = ((day - date(1970, 1, 1)).days for day in (date.min, date.max))
Ends = tuple[Fraction, Fraction]


NO_DATES = "this computation leaves the range of dates, which are those of the years 1 to 9999"
"""What is said of a result that Python and most databases have no date for."""
NO_NUMBERS = (
    "results that are texts, truth values or timestamps are not computed with or compared; of dates there are "
    "max(d) - min(d) in days and max(d) + 7, and they compare with dates"
)


def constant(value: object, cells: int) -> Estimate:
    """A number, a date, or NULL as an estimate without doubt."""
    if value is None:
        nothing: list[Any] = [None] * cells
        return Estimate(nothing, nothing, [math.nan] * cells, [0.0] * cells, [True] * cells, Rounding.WHOLE)
    if isinstance(value, date) and not isinstance(value, datetime):
        day = pa.array([value], pa.date32())
        found = constant(day.cast(pa.int32())[0].as_py(), cells)
        return replace(found, rounding=Rounding.VALUE, domain=day)
    if isinstance(value, bool):
        raise QueryError("a comparison of results is written CASE WHEN avg(x) > 5 THEN 1 ELSE 0 END")
    if not isinstance(value, int | float | Decimal):
        raise QueryError(NO_NUMBERS)
    exact = Fraction(value)
    if exact and not _SMALLEST < abs(exact) < 1 / _SMALLEST:
        raise QueryError("numbers between aggregates must lie between 1e-300 and 1e300 in size")
    rounding = Rounding.WHOLE if exact.denominator == 1 else Rounding.OUTWARD
    return Estimate([exact] * cells, [exact] * cells, [float(exact)] * cells, [0.0] * cells, [True] * cells, rounding)


def as_days(estimate: Estimate) -> Estimate:
    """Dates as whole numbers of days, and everything else as it is."""
    is_date = estimate.domain is not None and pa.types.is_date32(estimate.domain.type) and estimate.is_bounded
    if estimate.rounding is not Rounding.VALUE or not is_date:
        return estimate
    return replace(estimate, rounding=Rounding.WHOLE, domain=None)


def _combine_dates(operator: str, left: Estimate, right: Estimate) -> Estimate:
    """Combine where one side at least is no number: days between dates, and dates some days away."""
    days = as_days(left), as_days(right)
    sides = [side.rounding is Rounding.VALUE for side in (left, right)]
    is_whole = all(side.rounding is Rounding.WHOLE for side in days)
    if not is_whole or operator not in "+-" or (operator == "-" and not sides[0]) or (operator == "+" and all(sides)):
        raise QueryError(NO_NUMBERS)
    found = combine(operator, *days)
    if all(sides):
        return found
    if not all(day is None or _FIRST_DAY <= day <= _LAST_DAY for day in (*found.lower, *found.upper)):
        raise QueryError(NO_DATES)
    return replace(found, rounding=Rounding.VALUE, domain=left.domain if sides[0] else right.domain)


def combine(operator: str, left: Estimate, right: Estimate) -> Estimate:
    """Combine two estimates cell by cell; dividing by what may be zero gives NULL."""
    if Rounding.VALUE in (left.rounding, right.rounding):
        return _combine_dates(operator, left, right)
    is_count = right.rounding is Rounding.WHOLE
    pairs = [_ends(operator, a, b, is_count) for a, b in zip(left.widened(), right.widened(), strict=True)]
    middles = [_middle(operator, *cell) for cell in zip(left.means(), right.means(), left.std, right.std, strict=True)]
    is_whole = operator != "/" and left.rounding is Rounding.WHOLE and right.rounding is Rounding.WHOLE
    is_bounded = left.is_bounded and right.is_bounded
    return Estimate(
        [None if pair is None else pair[0] for pair in pairs],
        [None if pair is None else pair[1] for pair in pairs],
        [mean for mean, _ in middles],
        [std for _, std in middles],
        [a and b and pair is not None for a, b, pair in zip(left.exact, right.exact, pairs, strict=True)],
        Rounding.WHOLE if is_whole else Rounding.OUTWARD,
        is_bounded=is_bounded,
        reached=_ends_reached(left, right, operator == "/"),
        endless=_endless(left, right, divides=operator == "/"),
    )


def _endless(left: Estimate, right: Estimate, *, divides: bool) -> list[bool]:
    """Where a table may have no number, or one beyond all bounds: dividing by what may be zero, and is not for sure."""
    flags = []
    for cell, (one, other) in enumerate(zip(left.widened(), right.widened(), strict=True)):
        was = any(side.endless is not None and side.endless[cell] for side in (left, right))
        spans_zero = divides and other is not None and other[0] <= 0 <= other[1] and not right.exact[cell]
        flags.append(was or (spans_zero and one is not None))
    return flags


def _ends_reached(left: Estimate, right: Estimate, divides: bool) -> list[bool]:
    """Two open numbers need not take their ends together; one alone can, unless it divides and may be zero."""
    flags = []
    for cell, ends in enumerate(right.widened()):
        spans_zero = divides and not right.exact[cell] and (ends is None or ends[0] <= 0 <= ends[1])
        is_firm = all(side.is_firm(cell) for side in (left, right) if not side.exact[cell] or side.shake is not None)
        flags.append(is_firm and (left.exact[cell] or right.exact[cell]) and not spans_zero)
    return flags


def _ends(operator: str, left: Ends | None, right: Ends | None, is_whole: bool) -> Ends | None:
    if left is None or right is None:
        return None
    if operator == "/":
        corners = [a / b for a in left for b in _divisors(right, is_whole)]
        return (min(corners), max(corners)) if corners else None
    if operator == "+":
        return left[0] + right[0], left[1] + right[1]
    if operator == "-":
        return left[0] - right[1], left[1] - right[0]
    corners = [a * b for a in left for b in right]
    return min(corners), max(corners)


def _divisors(ends: Ends, is_whole: bool) -> list[Fraction]:
    """The divisors that matter: the ends, and around zero the nearest whole numbers; none where there is no nearest.

    Zero itself gives NULL, of which bounds do not speak.
    """
    low, high = ends
    if not low <= 0 <= high:
        return [low, high]
    whole = (low, Fraction(-1), Fraction(1), high)
    return [number for number in whole if number and low <= number <= high] if is_whole else []


def _middle(operator: str, left: float, right: float, left_std: float, right_std: float) -> tuple[float, float]:
    if operator in "+-":
        return (left + right if operator == "+" else left - right), left_std + right_std
    if operator == "*":
        return left * right, abs(right) * left_std + abs(left) * right_std
    if right == 0 or math.isnan(right):
        return math.nan, math.nan
    return left / right, left_std / abs(right) + abs(left) * right_std / right**2
