"""Normalized certainty penalty: how much of its domain the box of a row covers, summed over columns and rows.

Source     Xu et al., 2006; permutation anonymization, definition 3
Cost       O(n) per column

A column of numbers costs its range over the range of the domain; a column of categories the values covered over all of
them, and nothing where there is one. A box with missing values costs a column's whole domain, for a missing value may
be any. The sum runs from 0 to rows times columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import Floats
from hedgerow.errors import ParameterError
from hedgerow.exact import column_line
from hedgerow.release.forms.generalized import SETS, BoxColumns, box_columns

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["ncp", "partition_ncp"]


def ncp(release: Release, *, widths: Mapping[str, float] | None = None) -> float:
    """Add up the penalty of a generalized release.

    `widths` gives the range, or the number of values, of each column's domain; without it the domain is what the boxes
    cover together.
    """
    if not release.form.has_boxes:
        raise ParameterError(f"'release' must be generalized, for boxes are measured; this one is {release.form}.")
    boxes, known = box_columns(release.columns, release.group_column), widths or {}
    return float(sum(_column_penalty(release, name, box, known.get(name)) for name, box in boxes.items()))


def partition_ncp(columns: Mapping[str, pa.Array | pa.ChunkedArray], labels: NDArray[np.int32]) -> float:
    """Add up the penalty that a partition of these columns would have if it were generalized.

    `labels` number the group of each row; rows held back, -1, cost every column's whole domain.
    """
    order = np.argsort(labels, kind="stable")
    kept = order[np.searchsorted(labels[order], 0) :]
    starts = np.flatnonzero(np.diff(labels[kept], prepend=-1))
    sizes = np.diff(starts, append=len(kept))
    total = float((len(labels) - len(kept)) * len(columns))
    return total + sum(float(_penalties(column, kept, starts, sizes) @ sizes) for column in columns.values())


def _column_penalty(release: Release, name: str, box: BoxColumns, width: float | None) -> float:
    table = release.tables["release"]
    if box.set in table.column_names:
        penalty = _set_penalties(release, name, table.column(box.set), width)
    else:
        penalty = _interval_penalties(table.column(box.low), table.column(box.high), width)
    if box.missing in table.column_names:
        penalty = np.where(table.column(box.missing).to_numpy(), 1.0, penalty)
    return float(penalty.sum())


def _interval_penalties(low: pa.ChunkedArray, high: pa.ChunkedArray, width: float | None) -> Floats:
    both = pa.concat_arrays([_filled(low), _filled(high)])
    at = _positions(both)
    lows, highs = at[: len(low)], at[len(low) :]
    spread = float(at.max() - at.min()) if width is None else width / _unit(both)
    return (highs - lows) / spread if spread > 0 else np.zeros(len(low))


def _set_penalties(release: Release, name: str, numbers: pa.ChunkedArray, width: float | None) -> Floats:
    sets = release.tables[SETS]
    listed = sets.filter(pc.equal(sets.column("column"), name))
    sizes = np.bincount(listed.column("set").to_numpy(), minlength=1)
    covered = sizes[numbers.fill_null(0).to_numpy()]
    total = len(listed.column("value").unique()) if width is None else width
    return np.where(covered > 1, covered / total, 0.0)


def _penalties(
    column: pa.Array | pa.ChunkedArray, kept: NDArray[np.int64], starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> Floats:
    """The penalty of each group in one column."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    gaps = np.maximum.reduceat(whole.is_null().to_numpy(zero_copy_only=False)[kept].astype(np.int8), starts) > 0
    if pa.types.is_string(whole.type) or pa.types.is_boolean(whole.type):
        penalty = _covered(whole, kept, sizes)
    else:
        at = _positions(_filled(whole))
        spread = float(at.max() - at.min()) or 1.0
        penalty = (np.maximum.reduceat(at[kept], starts) - np.minimum.reduceat(at[kept], starts)) / spread
    return np.where(gaps, 1.0, penalty)


def _covered(column: pa.Array, kept: NDArray[np.int64], sizes: NDArray[np.int64]) -> Floats:
    encoded = column.dictionary_encode()
    total = len(encoded.dictionary)
    codes = encoded.indices.fill_null(total).to_numpy().astype(np.int64)[kept]
    pairs = np.unique(np.repeat(np.arange(len(sizes)), sizes) * (total + 1) + codes)
    covered = np.bincount(pairs // (total + 1), minlength=len(sizes))
    return np.where(covered > 1, covered / max(total, 1), 0.0)


def _filled(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column with gaps replaced by some value that it has: they are charged elsewhere."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not whole.null_count:
        return whole
    return whole.fill_null(pc.min(whole)) if whole.null_count < len(whole) else pa.array(np.zeros(len(whole)))


def _positions(column: pa.Array) -> Floats:
    if pa.types.is_boolean(column.type) or pa.types.is_timestamp(column.type):
        return np.asarray(column.cast(pa.int64()), dtype=np.float64)
    return column_line(column).positions.astype(np.float64)


def _unit(column: pa.Array) -> float:
    is_counted = pa.types.is_boolean(column.type) or pa.types.is_timestamp(column.type)
    return float(Fraction(1) if is_counted else column_line(column).unit)
