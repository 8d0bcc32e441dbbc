"""Check that the rows of a published group cannot be told apart by their quasi-identifiers.

Source     own: the form generalized, docs/bundle.md
Guarantee  passes exactly the releases whose boxes are the same for all rows of a group, are well formed, and refer to
           sets that are listed; sets that no row refers to are refused, for they could tell of suppressed rows. Labels
           are those that follow from the boxes, or names, one for each box: then the sentence says whose they are
Cost       O(n) per column, and a sort of the listed sets
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import one_array
from hedgerow.cores import on_cores
from hedgerow.errors import BrokenPromise
from hedgerow.verify.made import least_boxes
from hedgerow.verify.names import SETS, BoxColumns, box_columns
from hedgerow.verify.structure import group_starts
from hedgerow.verify.values import PublishedRelease

__all__ = ["check_box_shape", "check_boxes", "check_names"]

_MOST_LISTED = 6
_BLOCK = 1 << 16


def check_boxes(release: PublishedRelease) -> str:
    """Every group has one box, whose ends are in order and whose sets are listed."""
    table = release.tables["release"]
    starts, boxes = check_box_shape(release)
    # Labels of intervals are put together for every group, which would take the memory of several columns at once.
    rows = table.num_rows if SETS in release.tables else 0
    follow = on_cores(lambda name: _labels_follow(release, name, boxes[name], starts), boxes, rows=rows)
    named = [f"'{name}'" for name, follows in zip(boxes, follow, strict=True) if not follows]
    if release.whole is not None:
        release.whole.seen |= set(named)
        named = sorted(release.whole.seen)
    _check_least(release, starts)
    told = f"; the labels of {', '.join(named)} are names that the owner gave" if named else ""
    told += "; that each end and value of a box is some row's is the owner's word" if least_boxes(release.made) else ""
    return f"the rows of a group look alike in {len(boxes)} quasi-identifiers{told}"


def check_box_shape(release: PublishedRelease) -> tuple[NDArray[np.int64], dict[str, BoxColumns]]:
    """Raise unless every group has one well-formed box; return where groups begin, and the columns of boxes."""
    table = release.tables["release"]
    starts, boxes = group_starts(table, release), box_columns(release.columns, release.group_column)
    _check_listed(release, [name for name, box in boxes.items() if box.set in table.column_names])
    on_cores(lambda name: _check_box(release, name, boxes[name], starts), boxes, rows=table.num_rows)
    return starts, boxes


def _check_box(release: PublishedRelease, name: str, box: BoxColumns, starts: NDArray[np.int64]) -> None:
    """The rows of each group have one well-formed box in this column."""
    table = release.tables["release"]
    parts = [part for part in box.all if part in table.column_names]
    if not all(_is_constant(table.column(part), starts) for part in parts):
        raise BrokenPromise(f"Rows of a group can be told apart by '{name}'.")
    gaps = _gaps(table, box, starts)
    if box.set in parts:
        _check_sets(release, name, _heads(table, box.set, starts), gaps)
    else:
        _check_ends(name, _heads(table, box.low, starts), _heads(table, box.high, starts), gaps)


def _check_least(release: PublishedRelease, starts: NDArray[np.int64]) -> None:
    """A box is only said to be the least one where its group has a row for each end, or each value, and for a gap."""
    table = release.tables["release"]
    sizes = np.diff(np.append(starts, table.num_rows))
    for name in least_boxes(release.made):
        box = box_columns(release.columns, release.group_column)[name]
        if box.set in table.column_names:
            sets = release.tables[SETS]
            numbers = sets.filter(pc.equal(sets.column("column"), name)).column("set").to_numpy()
            used = _heads(table, box.set, starts)
            needed = np.bincount(numbers, minlength=1)[used.fill_null(0).to_numpy()] * used.is_valid().to_numpy(False)
        else:
            low, high = (_heads(table, end, starts) for end in (box.low, box.high))
            apart = pc.fill_null(pc.not_equal(low, high), False).to_numpy(False)
            needed = low.is_valid().to_numpy(False).astype(np.int64) + apart
        if (needed + _gaps(table, box, starts) > sizes).any():
            raise BrokenPromise(
                f"A group has fewer rows than its box of '{name}', said to be the least one, has values."
            )


def _labels_follow(release: PublishedRelease, name: str, box: BoxColumns, starts: NDArray[np.int64]) -> bool:
    """Tell whether labels follow from the boxes; raise unless they do or are names, the same for the same box."""
    table = release.tables["release"]
    labels, gaps = _heads(table, box.label, starts), _gaps(table, box, starts)
    if box.set in table.column_names:
        numbers = _heads(table, box.set, starts)
        listed = _set_texts(release.tables[SETS], name)
        places = pc.index_in(numbers, value_set=pa.array(list(listed), numbers.type))
        texts = pa.array(list(listed.values()), pa.string()).take(places)
        boxes = numbers.to_pylist
    else:
        low, high = (_heads(table, end, starts).cast(pa.string()) for end in (box.low, box.high))
        texts = pc.if_else(pc.equal(low, high), low, pc.binary_join_element_wise(low, high, ".."))
        boxes = partial(_intervals, low, high)
    with_gaps = pc.binary_join_element_wise(texts, pa.scalar(" or missing"), "") if gaps.any() else texts
    if labels.equals(pc.fill_null(pc.if_else(pa.array(gaps), with_gaps, texts), "missing")):
        return True
    names: dict[object, str | None] = {}
    _check_names(name, zip(boxes(), gaps.tolist(), labels.to_pylist(), strict=True), names)
    return False


def _intervals(low: pa.Array, high: pa.Array) -> list[tuple[str, str] | None]:
    ends = zip(low.to_pylist(), high.to_pylist(), strict=True)
    return [None if end is None else (end, other) for end, other in ends]


def check_names(release: PublishedRelease, name: str, names: dict[object, str | None]) -> None:
    """Labels that are names are the same for the same interval in all parts; sets are a part's own."""
    table, box = release.tables["release"], box_columns(release.columns, release.group_column)[name]
    if box.set in table.column_names:
        return
    starts = group_starts(table, release)
    boxes = _intervals(*(_heads(table, end, starts).cast(pa.string()) for end in (box.low, box.high)))
    labels = _heads(table, box.label, starts).to_pylist()
    _check_names(name, zip(boxes, _gaps(table, box, starts).tolist(), labels, strict=True), names)


def _check_names(name: str, found: Iterable[tuple[object, bool, str | None]], names: dict[object, str | None]) -> None:
    for key, gap, label in found:
        bare = label.removesuffix(" or missing") if gap and key is not None and label is not None else label
        if names.setdefault(key, bare) != bare or label != (_label(bare, gap) if key is not None else "missing"):
            raise BrokenPromise(f"One box of '{name}' has two labels, or one that does not tell what is missing.")


def _label(text: str | None, gap: bool) -> str:
    return "missing" if text is None else f"{text} or missing" if gap else text


def _set_texts(sets: pa.Table, name: str) -> dict[object, str]:
    """The label that each listed set of a column has: its value, or the first of its values."""
    found: dict[object, list[str]] = {}
    listed = sets.filter(pc.equal(sets.column("column"), name))
    for number, value in zip(listed.column("set").to_pylist(), listed.column("value").to_pylist(), strict=True):
        found.setdefault(number, []).append(value)
    return {number: _listed(sorted(values, key=str.encode)) for number, values in found.items()}


def _listed(texts: list[str]) -> str:
    more = f", ... ({len(texts)} values)" if len(texts) > _MOST_LISTED else ""
    return texts[0] if len(texts) == 1 else "{" + ", ".join(texts[:_MOST_LISTED]) + more + "}"


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
    whole = one_array(column)
    borders = np.zeros(len(whole) + 1, np.bool_)
    borders[starts] = True
    for first in range(0, len(whole) - 1, _BLOCK):
        before, after = whole.slice(first, min(_BLOCK, len(whole) - 1 - first)), whole.slice(first + 1, _BLOCK)
        changes = pc.fill_null(pc.not_equal(before, after), False)
        if whole.null_count:
            changes = pc.or_(pc.not_equal(before.is_null(), after.is_null()), changes)
        if (changes.to_numpy(zero_copy_only=False) & ~borders[first + 1 : first + 1 + len(before)]).any():
            return False
    return True


def _heads(table: pa.Table, name: str, starts: NDArray[np.int64]) -> pa.Array:
    """One entry per group."""
    return one_array(table.column(name)).take(pa.array(starts))


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
        for part in (numbers, one_array(listed.column("set")))
    )
    if not np.array_equal(used, known):
        raise BrokenPromise(f"The sets of '{name}' that rows refer to are not those that are listed.")
    if listed.column("value").null_count or listed.group_by(["set", "value"]).aggregate([]).num_rows != listed.num_rows:
        raise BrokenPromise(f"A set of '{name}' lists a value twice, or a missing one.")
