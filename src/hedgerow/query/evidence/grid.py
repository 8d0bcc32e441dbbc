"""What a condition on one column says about boxes: does it hold for all values, for some, for which share of them.

An interval of numbers or dates is looked at through points and the stretches between them. Where there are few whole
values all of them are points; otherwise the points are the constants of the condition and the ends of the boxes,
between which nothing changes, and the condition must compare the column itself with constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.exact import without_exponent
from hedgerow.query.evidence.groups import Floats, Ints
from hedgerow.query.evidence.rows import ticks_of
from hedgerow.query.evidence.view import evaluate
from hedgerow.query.sql.question import And, Column, Compare, Constant, In, IsNull, Kind, Not, Or, Predicate, Truth

__all__ = ["Coverage", "coverage_of_intervals", "coverage_of_sets", "property_of"]

_MOST_VALUES = 2_000_000


@dataclass(frozen=True, eq=False)
class Coverage:
    """For each box: whether all of its values have a property, whether some have, and the share that has.

    Of intervals, `ends` enclose the values that have it, as ticks or floats; they are zero where none has.
    """

    all: NDArray[np.bool_]
    any: NDArray[np.bool_]
    share: Floats
    ends: tuple[NDArray[Any], NDArray[Any]] | None = None


def coverage_of_sets(member: NDArray[np.bool_], number: Ints, sets: int) -> Coverage:
    """Sets of values: `member` tells of each listed value whether it has the property, `number` its set."""
    size = np.maximum(np.bincount(number, minlength=sets), 1)
    count = np.bincount(number, member, minlength=sets)
    return Coverage(count == size, count > 0, count / size)


def coverage_of_intervals(
    column: Column, low: pa.Array, high: pa.Array, condition: Predicate, met: Callable[[pa.Array], NDArray[np.bool_]]
) -> Coverage:
    """Intervals without missing ends; `met` tells whether `met(pa.nulls)`-like values have the property."""
    if column.kind is Kind.BOOL:
        return _few_values(low, high, met)
    if column.kind is Kind.FLOAT:
        ends = [side.to_numpy(zero_copy_only=False) for side in (low, high)]
        return _stretches(ends[0], ends[1], _constants(condition, column), met, lambda ticks: pa.array(ticks, low.type))
    whole = [ticks_of(side, column.kind).lows for side in (low, high)]

    def to_column(ticks: Any) -> pa.Array:
        return _as_column(np.asarray(ticks, dtype=np.int64), column, low.type)

    first, last = int(whole[0].min()), int(whole[1].max())
    if column.kind is not Kind.TIME and last - first < _MOST_VALUES:
        return _all_values(whole[0], whole[1], first, met(to_column(np.arange(first, last + 1))))
    return _stretches(whole[0], whole[1], _constants(condition, column), met, to_column)


def _few_values(low: pa.Array, high: pa.Array, met: Callable[[pa.Array], NDArray[np.bool_]]) -> Coverage:
    ends = [side.cast(pa.int8()).to_numpy(zero_copy_only=False).astype(np.int64) for side in (low, high)]
    held = _all_values(ends[0], ends[1], 0, met(pa.array([False, True])))
    return Coverage(held.all, held.any, (held.any.astype(float) + held.all) / 2.0)


def _all_values(low: Ints, high: Ints, origin: int, met: NDArray[np.bool_]) -> Coverage:
    """Every value from `origin` on is a point, and the stretch between two has the property if both have."""
    low, high = low - origin, high - origin
    points = np.concatenate(([0], np.cumsum(met)))
    stretches = np.concatenate(([0], np.cumsum(met[:-1] & met[1:])))
    number = points[high + 1] - points[low]
    length = (stretches[high] - stretches[low]) / np.maximum(high - low, 1)
    share = np.where(length > 0, length, number / (high - low + 1))
    after, before = _nearest(met)
    found = number > 0
    ends = (np.where(found, place + origin, 0) for place in (after[low], before[high]))
    return Coverage(number == high - low + 1, found, share, (next(ends), next(ends)))


def _nearest(met: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """For each place the next one, and the last one, that is met: at it, or beyond it."""
    places = np.arange(len(met))
    after = np.minimum.accumulate(np.where(met, places, len(met))[::-1])[::-1]
    return after, np.maximum.accumulate(np.where(met, places, -1))


def _stretches(
    low: Any,
    high: Any,
    constants: list[Any],
    met: Callable[[pa.Array], NDArray[np.bool_]],
    shown: Callable[[Any], pa.Array],
) -> Coverage:
    """Points where the property may change, and one value between each two of them, if there is one."""
    points = np.unique(np.concatenate([low, high, np.array(constants, dtype=low.dtype)]))
    is_whole = points.dtype.kind == "i"
    middles = points[:-1] + (points[1:] - points[:-1]) // 2 if is_whole else points[:-1] / 2 + points[1:] / 2
    is_open = middles > points[:-1]
    on_point, between = met(shown(points)), met(shown(middles))
    first, last = np.searchsorted(points, low), np.searchsorted(points, high)
    count = np.concatenate(([0], np.cumsum(on_point)))
    inner = np.concatenate(([0], np.cumsum(between & is_open)))
    closed = np.concatenate(([0], np.cumsum(~is_open)))
    at = without_exponent(points.astype(np.float64))
    length = np.concatenate(([0.0], np.cumsum(np.where(between, np.diff(at), 0.0))))
    number, parts = count[last + 1] - count[first], inner[last] - inner[first]
    whole = (number == last - first + 1) & (parts + closed[last] - closed[first] == last - first)
    width = np.maximum(at[last] - at[first], 1e-300)
    share = np.where(low == high, number > 0, np.clip((length[last] - length[first]) / width, 0.0, 1.0))
    found = (number > 0) | (parts > 0)
    # Points and the stretches after them, alternately: a stretch begins at its point and ends at the next one.
    steps = np.empty(2 * len(points) - 1, dtype=np.bool_)
    steps[0::2], steps[1::2] = on_point, between & is_open
    after, before = _nearest(steps)
    least, most = after[2 * first] // 2, (before[2 * last] + 1) // 2
    ends = (np.where(found, points[np.clip(place, 0, len(points) - 1)], 0) for place in (least, most))
    return Coverage(whole, found, share, (next(ends), next(ends)))


def _constants(condition: Predicate, column: Column) -> list[Any]:
    """The constants with which a condition compares the column, as ticks or floats."""
    found = [constant.value for constant in _compared_constants(condition, column)]
    if column.kind is Kind.FLOAT:
        return [float(value) for value in found if np.isfinite(float(value))]  # type: ignore[arg-type]
    kind = pa.decimal128(38, column.scale) if column.kind is Kind.DECIMAL else _KINDS[column.kind]
    return ticks_of(pa.array(found, kind), column.kind).lows.tolist() if found else []


_KINDS = {Kind.INT: pa.int64(), Kind.DATE: pa.date32(), Kind.TIME: pa.timestamp("us")}


def _compared_constants(node: Predicate, column: Column) -> Iterator[Constant]:
    if isinstance(node, And | Or):
        for operand in node.operands:
            yield from _compared_constants(operand, column)
    elif isinstance(node, Not):
        yield from _compared_constants(node.operand, column)
    elif isinstance(node, Compare) and node.left == column and isinstance(node.right, Constant):
        yield node.right
    elif isinstance(node, In) and node.operand == column:
        yield from node.values
    elif not isinstance(node, Truth) and not _is_plain(node, column):
        raise QueryError(
            f"'{column.name}' is published as ranges; compare the column itself with constants, without arithmetic"
        )


def _is_plain(node: Predicate, column: Column) -> bool:
    """Tell whether a test is the same for all values that are not missing."""
    is_itself = isinstance(node, Compare) and node.left == column and node.right == column
    return is_itself or (isinstance(node, IsNull) and node.operand == column)


def _as_column(ticks: Ints, column: Column, kind: pa.DataType) -> pa.Array:
    if column.kind is Kind.DECIMAL:
        from hedgerow.query.engines.help import decimals

        return decimals(ticks, kind.precision, kind.scale)
    return pa.array(ticks).cast(pa.int32()).cast(kind) if column.kind is Kind.DATE else pa.array(ticks).cast(kind)


def property_of(column: Column, condition: Predicate, wanted: bool | None) -> Callable[[pa.Array], NDArray[np.bool_]]:
    """Tell which values make a condition true, or false, or unknown."""

    def is_met(values: pa.Array) -> NDArray[np.bool_]:
        truth = evaluate(condition, {column.name: values}, len(values))
        if wanted is None:
            unknown: NDArray[np.bool_] = truth.is_null().to_numpy(zero_copy_only=False)
            return unknown
        told: NDArray[np.bool_] = truth.fill_null(not wanted).to_numpy(zero_copy_only=False)
        return told if wanted else ~told

    return is_met
