"""The help table: for every group and every number of hits, the bounds of every aggregate.

Source     [Zhang 2008], section 2.5.2 and table 2.4
Guarantee  derived from the release alone; bounds are exact: BIGINT for whole numbers, DECIMAL on a decimal grid
Cost       O(n) after one sort of (group, value); as many rows as the release

Columns are group, hits, size (rows of the group), then per sensitive column of numbers sum_lower, sum_upper,
sum_expected, sum_variance, min_lower, min_upper, max_lower, max_upper. With several sensitive columns each name is
preceded by the column's own and an underscore. A sensitive column with missing values, of text or of dates has none.
Row h of a group also holds its h-th smallest value (max_lower) and its h-th largest (min_upper).

Databases also hold the sums with one row per group (`help_by_group`), which they join in half the time: `size`,
`others` (one less, but at least one), `mean` and `variance` of a value, and `sums`, a list of the least sums of 1 to
`size` values, then of the greatest.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.exact import DecimalGrid
from hedgerow.query.evidence.groups import Ints, Values
from hedgerow.query.evidence.rows import numbers_of, values_of
from hedgerow.query.evidence.view import View
from hedgerow.query.sql.question import Kind

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = [
    "GROUPED",
    "decimals",
    "exact_column",
    "help_by_group",
    "help_name",
    "help_of",
    "help_part",
    "is_helped",
    "sum_columns",
]

GROUPED = "help_by_group"
"""The table of databases with one row per group."""

MOST_LISTED = 2**31 - 1
"""Entries of all lists of a column whose places take 32 bits."""

_MOST_PLACES = 38
_BOUNDS = ("sum_lower", "sum_upper", "min_lower", "min_upper", "max_lower", "max_upper")


def help_name(view: View, column: str, statistic: str) -> str:
    """Name a statistic of a sensitive column in the help table."""
    return statistic if len(view.sensitive) == 1 else f"{column}_{statistic}"


def is_helped(view: View, column: str) -> bool:
    """Tell whether the help table has bounds for a sensitive column."""
    grid = view.grids.get(column)
    if view.columns[column].kind not in (Kind.INT, Kind.DECIMAL, Kind.FLOAT) or view.has_missing(column):
        return False
    if grid is not None and (grid.has_missing or not grid.fits):
        return False
    try:
        unit = numbers_of(view, column).unit
    except QueryError:  # numbers beyond 64 bits of ticks: asked for, they are refused with the reason
        return False
    return is_decimal_unit(unit)


def is_decimal_unit(unit: Fraction) -> bool:
    """Tell whether decimals can hold multiples of a unit; coarser ones would be read as if they were of one."""
    return unit.numerator == 1 and unit.denominator <= 10**_MOST_PLACES


def help_of(view: View) -> pa.Table:
    """Build the help table."""
    sizes = np.repeat(np.diff(view.offsets), np.diff(view.offsets))
    hits = np.arange(view.num_rows) - view.offsets[view.groups] + 1
    columns = {"group": pa.array(view.groups.astype(np.int32)), "hits": pa.array(hits), "size": pa.array(sizes)}
    for name in view.sensitive:
        if is_helped(view, name):
            statistics = _statistics(view, values_of(view, name), hits, sizes)
            columns |= {help_name(view, name, statistic): column for statistic, column in statistics.items()}
    return pa.table(columns)


def help_part(helper: pa.Table, release: Release, rows: int, which: str = "all") -> pa.Table:
    """The help table of a release that is one part of a whole of so many rows, in the types that all parts share.

    `which` is "all", or "sums" for the sums alone. The part's `grids` are those of the whole.
    """
    names = release.columns.sensitive
    for column in names:
        for statistic in _BOUNDS:
            name = statistic if len(names) == 1 else f"{column}_{statistic}"
            if name not in helper.column_names:
                continue
            place = helper.column_names.index(name)
            if which == "sums" and not statistic.startswith("sum"):
                helper = helper.remove_column(place)
            else:
                kind = _part_type(release.grids[column], rows if statistic.startswith("sum") else 1)
                helper = helper.set_column(place, name, helper.column(name).cast(kind))
    return helper


def _part_type(grid: DecimalGrid, rows: int) -> pa.DataType:
    """The type of bounds over up to so many rows of any part."""
    places, most = len(str(grid.unit.denominator)) - 1, grid.steps * rows
    if places == 0 and most < 2**62:
        return pa.int64()
    return pa.decimal128(18 if 0 < places <= 18 and most < 10**18 else 38, places)


def help_by_group(view: View) -> pa.Table:
    """Build the help table with one row per group and lists; ragged floats, which no database sums, have none."""
    sizes = np.diff(view.offsets)
    hits = np.arange(view.num_rows) - view.offsets[view.groups] + 1
    columns = {"group": pa.array(np.arange(len(sizes), dtype=np.int32)), "size": pa.array(sizes.astype(np.int32))}
    columns["others"] = pa.array(np.maximum(sizes - 1, 1).astype(np.float64))
    for name in view.sensitive:
        if not is_helped(view, name) or numbers_of(view, name).is_rounded:
            continue
        statistics = _lists(view, values_of(view, name), hits)
        columns |= {help_name(view, name, statistic): column for statistic, column in statistics.items()}
    return pa.table(columns)


def _lists(view: View, values: Values, hits: Ints) -> dict[str, pa.Array]:
    lower, upper = sum_columns(values, view.groups, hits).values()
    if lower.type != upper.type:
        wide = pa.decimal128(38, lower.type.scale)
        lower, upper = lower.cast(wide), upper.cast(wide)
    start, size = view.offsets[view.groups], np.diff(view.offsets)[view.groups]
    place = np.empty(2 * len(hits), dtype=np.int64)
    place[2 * start + hits - 1] = np.arange(len(hits))
    place[2 * start + size + hits - 1] = np.arange(len(hits), 2 * len(hits))
    sums = pa.concat_arrays([lower, upper]).take(pa.array(place))
    scale, ends = float(values.unit.denominator), 2 * view.offsets
    lists, width = (pa.ListArray, np.int32) if ends[-1] <= MOST_LISTED else (pa.LargeListArray, np.int64)
    return {
        "mean": pa.array(values.moments.mean / scale),
        "variance": pa.array(values.moments.values / scale**2),
        "sums": lists.from_arrays(pa.array(ends.astype(width)), sums),
    }


def _statistics(view: View, values: Values, hits: Ints, sizes: Ints) -> dict[str, pa.Array]:
    start, end = view.offsets[view.groups], view.offsets[view.groups + 1]
    exact = {
        "min_lower": values.lows[start],
        "min_upper": values.highs[end - hits],
        "max_lower": values.lows,
        "max_upper": values.highs[end - 1],
    }
    bounds = {name: exact_column(ticks, values.unit) for name, ticks in exact.items()}
    return {**sum_columns(values, view.groups, hits), **_expected_sums(view, values, hits, sizes), **bounds}


def sum_columns(values: Values, group: Ints, hits: Ints) -> dict[str, pa.Array]:
    """The least and the greatest sum of so many values of a group; decimals where they leave 64 bits."""
    low, high = values.drawn(group, hits)
    upper_low, upper_high = values.mirrored.drawn(len(values.sizes) - 1 - group, hits)
    if high is None or upper_high is None:
        return {"sum_lower": exact_column(low, values.unit), "sum_upper": exact_column(-upper_low, values.unit)}
    places = len(str(values.unit.denominator)) - 1
    return {
        "sum_lower": _wide(low, high, places),
        "sum_upper": _wide(-upper_low, -upper_high, places),
    }


def _wide(low: Ints, high: Ints, places: int) -> pa.Array:
    """Decimals of 38 digits from sums of halves: low + 2^32 * high."""
    carried = high + (low >> 32)
    words: NDArray[np.int64] = np.empty(2 * len(low), dtype=np.int64)
    words[0::2], words[1::2] = (carried << 32) | (low & np.int64(2**32 - 1)), carried >> 32
    return pa.Array.from_buffers(pa.decimal128(38, places), len(low), [None, pa.py_buffer(words)])


def _expected_sums(view: View, values: Values, hits: Ints, sizes: Ints) -> dict[str, pa.Array]:
    moments, scale = values.moments, float(values.unit.denominator)
    mean = moments.mean[view.groups] / scale
    variance = moments.values[view.groups] / scale**2
    draws = hits * ((sizes - hits) / np.maximum(sizes - 1, 1))
    return {"sum_expected": pa.array(hits * mean), "sum_variance": pa.array(draws * variance)}


def exact_column(ticks: Ints, unit: Fraction) -> pa.Array:
    """Whole numbers as they are, others as decimals: of 18 digits, which databases keep in 64 bits, where they fit."""
    if unit.denominator == 1:
        return pa.array(ticks)
    places = len(str(unit.denominator)) - 1
    largest = int(np.abs(ticks).max(initial=0))
    digits = 18 if places <= 18 and largest < 10**18 else 38
    return decimals(ticks, digits, places)


def decimals(ticks: Ints, digits: int, places: int) -> pa.Array:
    """Whole numbers of steps as decimals."""
    halves: NDArray[np.int64] = np.empty(2 * len(ticks), dtype=np.int64)
    halves[0::2], halves[1::2] = ticks, ticks >> 63
    return pa.Array.from_buffers(pa.decimal128(digits, places), len(ticks), [None, pa.py_buffer(halves)])
