"""Check that the rows of a published group cannot be told apart by their quasi-identifiers.

Source     own: the form generalized, docs/bundle.md
Guarantee  passes exactly the releases whose boxes are the same for all rows of a group, are well formed, and refer to
           sets that are listed; sets that no row refers to are refused, for they could tell of suppressed rows
Cost       O(n) per column, and a sort of the listed sets
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.errors import BrokenPromise
from hedgerow.verify.ke import group_starts
from hedgerow.verify.names import SETS, BoxColumns, box_columns
from hedgerow.verify.values import PublishedRelease

__all__ = ["check_boxes"]


def check_boxes(release: PublishedRelease) -> str:
    """Every group has one box, whose ends are in order and whose sets are listed."""
    table = release.tables["release"]
    starts = group_starts(table, release)
    boxes = box_columns(release.columns, release.group_column)
    _check_listed(release, [name for name, box in boxes.items() if box.set in table.column_names])
    for name, box in boxes.items():
        parts = [part for part in box.all if part in table.column_names]
        if not all(_is_constant(table.column(part), starts) for part in parts):
            raise BrokenPromise(f"Rows of a group can be told apart by '{name}'.")
        if box.set in parts:
            _check_sets(release, name, _heads(table, box.set, starts), _gaps(table, box, starts))
        else:
            _check_ends(
                name, _heads(table, box.low, starts), _heads(table, box.high, starts), _gaps(table, box, starts)
            )
    return f"the rows of a group look alike in {len(boxes)} quasi-identifiers"


def _check_listed(release: PublishedRelease, names: list[str]) -> None:
    """The listed sets are those of columns that are published as sets, none without a column or a number."""
    if SETS not in release.tables:
        return
    sets = release.tables[SETS]
    if sets.column("column").null_count or sets.column("set").null_count:
        raise BrokenPromise("A listed set has no column or no number.")
    if not set(sets.column("column").unique().to_pylist()) <= set(names):
        raise BrokenPromise("Sets are listed for a column that is not published as sets.")


def _is_constant(column: pa.ChunkedArray, starts: NDArray[np.int64]) -> bool:
    """Tell whether a column changes at the borders of groups only; missing is a value."""
    whole = column.combine_chunks()
    before, after = whole.slice(0, max(len(whole) - 1, 0)), whole.slice(1)
    is_open = pc.not_equal(before.is_null(), after.is_null())
    changes = pc.or_(is_open, pc.fill_null(pc.not_equal(before, after), False)).to_numpy(zero_copy_only=False)
    inside = np.ones(len(whole), np.bool_)
    inside[starts] = False
    return not bool((changes & inside[1:]).any())


def _heads(table: pa.Table, name: str, starts: NDArray[np.int64]) -> pa.Array:
    """One entry per group."""
    return table.column(name).combine_chunks().take(pa.array(starts))


def _gaps(table: pa.Table, box: BoxColumns, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which groups say that values are missing."""
    if box.missing not in table.column_names:
        return np.zeros(len(starts), np.bool_)
    flags = _heads(table, box.missing, starts)
    if flags.null_count or not pa.types.is_boolean(flags.type):
        raise BrokenPromise(f"'{box.missing}' must hold true and false and nothing missing.")
    told: NDArray[np.bool_] = flags.to_numpy(zero_copy_only=False)
    return told


def _check_ends(name: str, low: pa.Array, high: pa.Array, gaps: NDArray[np.bool_]) -> None:
    open_low, open_high = (end.is_null().to_numpy(zero_copy_only=False) for end in (low, high))
    if not np.array_equal(open_low, open_high) or (open_low & ~gaps).any():
        raise BrokenPromise(f"An interval of '{name}' has no ends although no value is missing.")
    # Arrow orders everything but truth values, of which false comes first.
    low, high = (end.cast(pa.int8()) if pa.types.is_boolean(end.type) else end for end in (low, high))
    if pc.any(pc.greater(low, high)).as_py():
        raise BrokenPromise(f"An interval of '{name}' ends before it begins.")


def _check_sets(release: PublishedRelease, name: str, numbers: pa.Array, gaps: NDArray[np.bool_]) -> None:
    if (numbers.is_null().to_numpy(zero_copy_only=False) & ~gaps).any():
        raise BrokenPromise(f"A set of '{name}' is not named although no value is missing.")
    sets = release.tables[SETS]
    listed = sets.filter(pc.equal(sets.column("column"), name))
    used, known = (
        np.unique(part.drop_null().to_numpy(zero_copy_only=False))
        for part in (numbers, listed.column("set").combine_chunks())
    )
    if not np.array_equal(used, known):
        raise BrokenPromise(f"The sets of '{name}' that rows refer to are not those that are listed.")
    if listed.column("value").null_count or listed.group_by(["set", "value"]).aggregate([]).num_rows != listed.num_rows:
        raise BrokenPromise(f"A set of '{name}' lists a value twice, or a missing one.")
