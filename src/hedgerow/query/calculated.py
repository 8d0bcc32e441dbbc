"""Functions of results: what ABS, ROUND, CASE, COALESCE, GREATEST and others say about numbers that lie between bounds.

Source     own
Guarantee  whatever the operands are between their bounds, and NULL where they may be, the true value lies inside.
           Reached where one operand is open, its bounds are, and the function only rises or only falls
Cost       O(rows) per function
Deviates   `expected` is the function of what is expected; `std` half of what one deviation up and down changes
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from hedgerow.errors import QueryError
from hedgerow.query.answer import Estimate, Rounding

__all__ = ["FLOATING_RESULTS", "FUNCTIONS", "NEAR", "Uncertain", "calculate", "choose"]

Ends = tuple[Fraction, Fraction]
NEAR = Fraction(1, 10**12)
"""How far a database's float may lie from the number that it stands for, as a share of it."""
_TEXTS = "functions of results take numbers; texts and dates can be selected, grouped by and compared"


@dataclass(frozen=True, eq=False)
class Uncertain:
    """Numbers with bounds, a row each; `gaps` tells where the truth may be NULL."""

    estimate: Estimate
    gaps: list[bool]

    def __post_init__(self) -> None:
        if not self.estimate.is_bounded:
            raise QueryError("the release gives estimates without bounds, so that nothing computed from them has any")

    def take(self, rows: list[int]) -> Uncertain:
        """Return some rows."""
        return Uncertain(self.estimate.take(rows), [self.gaps[row] for row in rows])

    def is_missing(self, row: int) -> bool:
        """Tell whether the truth is NULL for sure."""
        if self.estimate.lower[row] is not None:
            return False
        if not self.estimate.exact[row]:
            raise QueryError("a number of the question has no bounds, so nothing that is computed from it has")
        return True

    def is_reached(self, row: int) -> bool:
        """Tell whether both bounds are some table's answer."""
        return (self.estimate.exact[row] and self.estimate.shake is None) or self.estimate.is_firm(row)


@dataclass(frozen=True)
class _Cell:
    """One number: its bounds, with `room` for floats, or None for NULL; what is expected; how sure all that is."""

    ends: Ends | None
    mean: float = math.nan
    std: float = 0.0
    is_exact: bool = True
    is_reached: bool = True
    may_miss: bool = False
    room: Fraction = Fraction(0)


_NULL = _Cell(None, may_miss=True)


def _cells(operand: Uncertain) -> list[_Cell]:
    estimate = operand.estimate
    if estimate.rounding is Rounding.VALUE:
        raise QueryError(_TEXTS)
    ends, means = estimate.widened(), estimate.means()
    return [
        _NULL
        if operand.is_missing(row) or pair is None
        else _Cell(
            pair,
            means[row],
            estimate.std[row],
            estimate.exact[row],
            operand.is_reached(row),
            operand.gaps[row],
            (estimate.lower[row] or pair[0]) - pair[0],
        )
        for row, pair in enumerate(ends)
    ]


def _together(cells: Sequence[_Cell], *, is_whole: bool, endless: list[bool] | None = None) -> Uncertain:
    estimate = Estimate(
        [None if cell.ends is None else cell.ends[0] for cell in cells],
        [None if cell.ends is None else cell.ends[1] for cell in cells],
        [cell.mean for cell in cells],
        [cell.std for cell in cells],
        [cell.is_exact for cell in cells],
        Rounding.WHOLE if is_whole else Rounding.OUTWARD,
        reached=[cell.is_reached for cell in cells],
        endless=endless,
    )
    return Uncertain(estimate, [cell.may_miss for cell in cells])


def calculate(function: str, operands: Sequence[Uncertain]) -> Uncertain:
    """A function of numbers, row by row."""
    least, most = FUNCTIONS[function]
    if not least <= len(operands) <= most:
        raise QueryError(f"{function.upper()} of results takes {least} to {most} numbers; got {len(operands)}")
    is_whole = all(operand.estimate.rounding is Rounding.WHOLE for operand in operands)
    rows = list(zip(*map(_cells, operands), strict=True))
    endless = [any(row) for row in zip(*(one.estimate.endless or [False] * len(rows) for one in operands), strict=True)]
    is_whole &= function != "cast to double"
    if function in _CHOOSING:
        return _together([_CHOOSING[function](row) for row in rows], is_whole=is_whole, endless=endless)
    made = [_monotone(function, row, is_whole=is_whole) for row in rows]
    found = _together(made, is_whole=is_whole and function in ("abs", "sign"), endless=endless)
    is_printed = function in _STEPS
    return replace(found, estimate=replace(found.estimate, rounding=Rounding.NEAREST)) if is_printed else found


def choose(branches: Sequence[tuple[Sequence[int], Sequence[bool], Uncertain]], otherwise: Uncertain) -> Uncertain:
    """CASE: what each condition may be (1 true, 2 false, 4 unknown), whether it is expected, and its value."""
    values = [value for _, _, value in branches]
    last = _cells(otherwise)
    listed = [_cells(value) for value in values]
    made: list[_Cell] = []
    for row in range(len(last)):
        possible: list[_Cell] = []
        hoped: _Cell | None = None
        for (truths, hopes, _), cells in zip(branches, listed, strict=True):
            if truths[row] & 1:
                possible.append(cells[row])
                hoped = cells[row] if hoped is None and hopes[row] else hoped
            if truths[row] == 1:
                break
        else:
            possible.append(last[row])
            hoped = last[row] if hoped is None else hoped
        made.append(_either(possible, hoped or possible[-1]))
    is_whole = all(value.estimate.rounding is Rounding.WHOLE for value in (*values, otherwise))
    return _together(made, is_whole=is_whole)


def _either(cells: Sequence[_Cell], hoped: _Cell) -> _Cell:
    """One of several numbers, it is not known which."""
    if len(cells) == 1:
        return cells[0]
    ends = [cell.ends for cell in cells if cell.ends is not None]
    if not ends:
        return _NULL
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    misses = any(cell.may_miss or cell.ends is None for cell in cells)
    is_exact = all(cell.is_exact for cell in cells) and low == high and not misses
    middle = hoped if hoped.ends is not None else next(cell for cell in cells if cell.ends is not None)
    return _Cell((low, high), middle.mean, middle.std, is_exact, is_exact, misses)


def _coalesce(cells: Sequence[_Cell]) -> _Cell:
    found: list[_Cell] = []
    for cell in cells:
        if cell.ends is None:
            continue
        found.append(cell)
        if not cell.may_miss:
            break
    if not found:
        return _NULL
    made = _either([replace(cell, may_miss=False) for cell in found], found[0])
    return replace(made, may_miss=all(cell.may_miss for cell in found))


def _nullify(cells: Sequence[_Cell]) -> _Cell:
    one, other = cells
    if one.ends is None or other.ends is None:
        return one
    meets = one.ends[0] <= other.ends[1] and other.ends[0] <= one.ends[1]
    if not meets:
        return one
    if one.is_exact and other.is_exact and one.ends == other.ends and not (one.may_miss or other.may_miss):
        return _NULL
    return replace(one, is_exact=False, is_reached=False, may_miss=True)


def _extreme(cells: Sequence[_Cell], *, is_greatest: bool) -> _Cell:
    """GREATEST and LEAST pass over NULLs."""
    present = [cell for cell in cells if cell.ends is not None]
    if not present:
        return _NULL
    pick: Callable[..., Fraction] = max if is_greatest else min
    sure = [cell.ends for cell in present if not cell.may_miss and cell.ends is not None]
    every = [cell.ends for cell in present if cell.ends is not None]
    near, far = (0, 1) if is_greatest else (1, 0)
    close = pick(ends[near] for ends in sure) if sure else (min if is_greatest else max)(ends[near] for ends in every)
    distant = pick(ends[far] for ends in every)
    low, high = (close, distant) if is_greatest else (distant, close)
    open_ones = [cell for cell in present if not cell.is_exact]
    misses = any(cell.may_miss for cell in present)
    hoped = (max if is_greatest else min)(present, key=lambda cell: cell.mean)
    is_exact = (not open_ones and not misses) or (low == high and bool(sure))
    is_reached = len(open_ones) <= 1 and not misses and all(cell.is_reached for cell in open_ones)
    return _Cell((low, high), hoped.mean, hoped.std, is_exact, is_exact or is_reached, not sure)


_CHOOSING: dict[str, Callable[[Sequence[_Cell]], _Cell]] = {
    "cast to double": _coalesce,
    "coalesce": _coalesce,
    "ifnull": _coalesce,
    "nullif": _nullify,
    "greatest": lambda cells: _extreme(cells, is_greatest=True),
    "least": lambda cells: _extreme(cells, is_greatest=False),
}


def _monotone(function: str, cells: Sequence[_Cell], *, is_whole: bool) -> _Cell:
    """A function of one number that rises, or falls and then rises; other operands are constants."""
    subject, *others = cells
    if any(cell.ends is None for cell in cells):
        return _NULL
    if any(not cell.is_exact or cell.may_miss for cell in others):
        raise QueryError(f"the second argument of {function.upper()} of a result must be a constant")
    constants = [cell.ends[0] for cell in others if cell.ends is not None]
    assert subject.ends is not None, "NULLs are gone"
    steps = function in _STEPS
    low, high = _shaken(subject.ends) if steps and not is_whole else subject.ends
    if function == "sqrt" and high < 0:
        raise QueryError("SQRT of a result that is below zero has no value; write sqrt(greatest(x, 0)) or CASE")
    work = _work(function, constants)
    points = [low, high, *([Fraction(0)] if function in ("abs", "power") and low < 0 < high else [])]
    found = [work(point) for point in points]
    ends = min(pair[0] for pair in found), max(pair[1] for pair in found)
    is_exact = subject.is_exact and (ends[0] == ends[1] or not (steps or function == "sign"))
    mean, std = _middle(work, subject, ends)
    # The end of a step function belongs to the end of what it steps over; a turning point need not be any table's.
    turns = len(points) > 2
    is_reached = is_exact or (subject.is_reached and not turns)
    if is_reached and (steps or function == "sign"):
        near = [_NONE if is_whole else abs(end) * _FAR + _TINY + 2 * subject.room for end in subject.ends]
        both = [{work(end + by) for by in (-room, _NONE, room)} for end, room in zip(subject.ends, near, strict=True)]
        is_reached = is_exact or both == [{(end, end)} for end in ends]
    return _Cell(ends, mean, std, is_exact, is_reached, subject.may_miss)


_NONE, _FAR, _TINY = Fraction(0), 64 * NEAR, Fraction(1, 10**14)
"""How far from a number others may lie that a few operations in floats make of it."""


def _shaken(ends: Ends) -> Ends:
    """Bounds with room for the float that a database rounds."""
    return ends[0] - abs(ends[0]) * NEAR, ends[1] + abs(ends[1]) * NEAR


def _middle(work: Callable[[Fraction], Ends], subject: _Cell, ends: Ends) -> tuple[float, float]:
    def at(number: float) -> float:
        assert subject.ends is not None, "NULLs are gone"
        inside = min(max(Fraction(number), subject.ends[0]), subject.ends[1])
        low, high = work(inside)
        return float((low + high) / 2)

    if math.isnan(subject.mean):
        return float((ends[0] + ends[1]) / 2), math.nan
    std = subject.std
    if math.isnan(std):
        return at(subject.mean), math.nan
    return at(subject.mean), abs(at(subject.mean + std) - at(subject.mean - std)) / 2


def _work(function: str, constants: Sequence[Fraction]) -> Callable[[Fraction], Ends]:
    """The bounds of a function's value at one point."""
    if function == "cast to whole":
        return lambda point: _fitting(_STEPS[function](point), *constants)
    if function in _STEPS:
        digits = int(constants[0]) if constants else 0
        if not -300 <= digits <= 300:
            raise QueryError("ROUND takes a number of digits between -300 and 300")
        scale = Fraction(10) ** digits
        return lambda point: _scale(_STEPS[function](point * scale), scale)
    if function == "abs":
        return lambda point: (abs(point), abs(point))
    if function == "sign":
        return lambda point: (Fraction((point > 0) - (point < 0)),) * 2
    if function == "power":
        return lambda point: _power(point, constants[0])
    return lambda point: _floating(function, point)


def _fitting(ends: tuple[int, int], largest: Fraction = Fraction(2**127)) -> Ends:
    """Whole numbers of a type; others are an error in SQL."""
    if not -largest <= ends[0] <= ends[1] < largest:
        raise QueryError("a result may be beyond the type that it is cast to; write a larger type: x::BIGINT")
    return Fraction(ends[0]), Fraction(ends[1])


def _scale(ends: tuple[int, int], scale: Fraction) -> Ends:
    return Fraction(ends[0]) / scale, Fraction(ends[1]) / scale


def _away(number: Fraction) -> int:
    return math.floor(abs(number) + Fraction(1, 2)) * (-1 if number < 0 else 1)


_STEPS: dict[str, Callable[[Fraction], tuple[int, int]]] = {
    "floor": lambda number: (math.floor(number),) * 2,
    "ceil": lambda number: (math.ceil(number),) * 2,
    "ceiling": lambda number: (math.ceil(number),) * 2,
    "trunc": lambda number: (math.trunc(number),) * 2,
    "round": lambda number: (_away(number),) * 2,
    # Halves go to even numbers or away from zero, as the type has it.
    "cast to whole": lambda number: (math.ceil(number - Fraction(1, 2)), math.floor(number + Fraction(1, 2))),
}


def _power(point: Fraction, exponent: Fraction) -> Ends:
    if exponent.denominator == 1 and 0 <= exponent <= 64:
        value = point ** int(exponent)
        return value - abs(value) * NEAR, value + abs(value) * NEAR
    if point <= 0 or abs(exponent) > 64:
        raise QueryError("POWER of a result takes exponents from 0 to 64, and others only of what is above zero")
    return _near(float(point) ** float(exponent))


_LOGARITHMS = {"ln": math.log, "log": math.log10, "log10": math.log10, "log2": math.log2}


def _floating(function: str, point: Fraction) -> Ends:
    if function == "sqrt":
        return _near(math.sqrt(max(float(point), 0.0)))
    if function == "exp":
        if abs(point) > 700:
            raise QueryError("EXP of a result leaves the range of numbers")
        return _near(math.exp(float(point)))
    if point <= 0:
        raise QueryError(f"{function.upper()} of a result that may be zero or less has no bound")
    return _near(_LOGARITHMS[function](float(point)))


def _near(value: float) -> Ends:
    exact = Fraction(value)
    room = abs(exact) * NEAR + Fraction(1, 10**15)
    return exact - room, exact + room


FUNCTIONS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("abs", "sign", "floor", "ceil", "ceiling"), (1, 1)),
    **dict.fromkeys(("sqrt", "exp", *_LOGARITHMS, "cast to double"), (1, 1)),
    **dict.fromkeys(("round", "trunc", "cast to whole"), (1, 2)),
    **dict.fromkeys(("power", "nullif", "ifnull"), (2, 2)),
    **dict.fromkeys(("coalesce", "greatest", "least"), (1, 50)),
}
"""Functions of results, each with the least and the most numbers that it takes."""
FLOATING_RESULTS = ("cast to double", "sqrt", "exp", *_LOGARITHMS, "power", "floor", "ceil", "ceiling", "trunc")
"""Functions that give floats of whole numbers, too."""
