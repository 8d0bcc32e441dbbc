"""Check that the rows of a published group cannot be told apart by their quasi-identifiers.

Source     own: the form generalized, docs/bundle.md
Guarantee  passes exactly the releases whose boxes are the same for all rows of a group, are well formed, and refer to
           sets that are listed; sets that no row refers to are refused, for they could tell of suppressed rows. Labels
           are those that follow from the boxes, or names, one for each box: then the sentence says whose they are
Cost       O(n) per column, and a sort of the listed sets
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import has_column, one_array
from hedgerow.cores import on_cores
from hedgerow.errors import BrokenPromise
from hedgerow.verify.made import least_boxes
from hedgerow.verify.names import SETS, BoxColumns, box_columns
from hedgerow.verify.structure import group_starts
from hedgerow.verify.values import PublishedRelease

__all__ = ["check_boxes", "check_names"]

_MOST_LISTED = 6
_BLOCK = 1 << 16


def check_boxes(release: PublishedRelease) -> str:
    """Every group has one box, whose ends are in order and whose sets are listed."""
    table = release.tables["release"]
    starts = group_starts(table, release)
    boxes = box_columns(release.columns, release.group_column)
    listed = _listed_sets(release, {name for name, box in boxes.items() if has_column(table, box.set)})
    # Labels of intervals are put together for every group, which would take the memory of several columns at once.
    rows = table.num_rows if SETS in release.tables else 0
    least = frozenset(least_boxes(release.made))
    look = _Look(release, starts, _follows_own(starts, table.num_rows), listed, least)
    follow = on_cores(lambda name: _check_box(look, name, boxes[name]), boxes, rows=rows)
    named = [f"'{name}'" for name, follows in zip(boxes, follow, strict=True) if not follows]
    if release.whole is not None:
        release.whole.named |= set(named)
        named = sorted(release.whole.named)
    told = f"; the labels of {', '.join(named)} are names that the owner gave" if named else ""
    told += "; that each end and value of a box is some row's is the owner's word" if least else ""
    return f"the rows of a group look alike in {len(boxes)} quasi-identifiers{told}"


class _ListedSets(NamedTuple):
    """The listed sets of a column: their numbers, ascending, how many values each has, and the values, ascending."""

    numbers: NDArray[np.int32]
    sizes: NDArray[np.int64]
    values: pa.Array


class _Look(NamedTuple):
    """What is looked at in every column: where groups begin, which rows follow one of their own, sets, least boxes."""

    release: PublishedRelease
    starts: NDArray[np.int64]
    follows_own: pa.Array
    listed: dict[str, _ListedSets]
    least: frozenset[str]


def _check_box(look: _Look, name: str, box: BoxColumns) -> bool:
    """The rows of each group have one well-formed box in this column; tell whether its labels follow from it."""
    release, starts, follows_own, listed, least = look
    table = release.tables["release"]
    parts = [part for part in box.all if has_column(table, part)]
    if not all(_is_constant(table.column(part), follows_own) for part in parts):
        raise BrokenPromise(f"Rows of a group can be told apart by '{name}'.")
    gaps = _gaps(table, box, starts)
    if gaps.any() and release.made.missing.get(name, "value") != "value":
        raise BrokenPromise(f"'{name}' has missing values, which its policy rules out.")
    if box.set in parts:
        numbers, sets = _heads(table, box.set, starts), listed[name]
        _check_sets(name, sets, numbers, gaps)
        places = pc.index_in(numbers, value_set=pa.array(sets.numbers))
        texts, boxes = _set_texts(sets).take(places), numbers.to_pylist
        values = np.append(sets.sizes, 0)[places.fill_null(len(sets.sizes)).to_numpy()]
    else:
        low, high = (_heads(table, end, starts) for end in (box.low, box.high))
        _check_ends(name, low, high, gaps)
        apart = pc.fill_null(pc.not_equal(low, high), False).to_numpy(False)
        values = low.is_valid().to_numpy(False).astype(np.int64) + apart
        low, high = low.cast(pa.string()), high.cast(pa.string())
        texts = pc.if_else(pc.equal(low, high), low, pc.binary_join_element_wise(low, high, ".."))
        boxes = partial(_intervals, low, high)
    # A box is only said to be the least one where its group has a row for each end, or each value, and for a gap.
    if name in least and (values + gaps > np.diff(np.append(starts, table.num_rows))).any():
        raise BrokenPromise(f"A group has fewer rows than its box of '{name}', said to be the least one, has values.")
    return _labels_follow(name, _heads(table, box.label, starts), texts, gaps, boxes)


def _labels_follow(
    name: str, labels: pa.Array, texts: pa.Array, gaps: NDArray[np.bool_], boxes: Callable[[], list[Any]]
) -> bool:
    """Tell whether labels are the texts of the boxes; raise unless they are or are names, the same for the same box."""
    with_gaps = pc.binary_join_element_wise(texts, pa.scalar(" or missing"), "") if gaps.any() else texts
    if labels.equals(pc.fill_null(pc.if_else(pa.array(gaps), with_gaps, texts), "missing")):
        return True
    names: dict[object, str | None] = {}
    _check_names(name, zip(boxes(), gaps.tolist(), labels.to_pylist(), strict=True), names)
    return False


def _intervals(low: pa.Array, high: pa.Array) -> list[tuple[str, str] | None]:
    ends = zip(low.to_pylist(), high.to_pylist(), strict=True)
    return [None if end is None else (end, other) for end, other in ends]


def check_names(release: PublishedRelease, named: Mapping[str, dict[object, str | None]]) -> None:
    """Labels that are names are the same for the same interval in all parts, by column; sets are a part's own."""
    table, boxes = release.tables["release"], box_columns(release.columns, release.group_column)
    starts = group_starts(table, release)
    for name, names in named.items():
        if not has_column(table, boxes[name].set):
            ends = boxes[name].low, boxes[name].high
            intervals = _intervals(*(_heads(table, end, starts).cast(pa.string()) for end in ends))
            labels = _heads(table, boxes[name].label, starts).to_pylist()
            gaps = _gaps(table, boxes[name], starts).tolist()
            _check_names(name, zip(intervals, gaps, labels, strict=True), names)


def _check_names(name: str, found: Iterable[tuple[object, bool, str | None]], names: dict[object, str | None]) -> None:
    for key, gap, label in found:
        bare = label.removesuffix(" or missing") if gap and key is not None and label is not None else label
        if names.setdefault(key, bare) != bare or label != (_label(bare, gap) if key is not None else "missing"):
            raise BrokenPromise(f"One box of '{name}' has two labels, or one that does not tell what is missing.")


def _label(text: str | None, gap: bool) -> str:
    return "missing" if text is None else f"{text} or missing" if gap else text


def _set_texts(sets: _ListedSets) -> pa.Array:
    """The label that each set has: its value, or the first of its values."""
    shown = np.minimum(sets.sizes, _MOST_LISTED)
    ends = np.append(0, np.cumsum(shown))
    places = np.arange(ends[-1]) + np.repeat(np.cumsum(sets.sizes) - sets.sizes - ends[:-1], shown)
    first = pc.binary_join(pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), sets.values.take(places)), ", ")
    number = pc.binary_join_element_wise(", ... (", pa.array(sets.sizes).cast(pa.string()), " values)", "")
    more = pc.if_else(pa.array(sets.sizes > _MOST_LISTED), number, "")
    return pc.if_else(pa.array(sets.sizes == 1), first, pc.binary_join_element_wise("{", first, more, "}", ""))


def _listed_sets(release: PublishedRelease, names: set[str]) -> dict[str, _ListedSets]:
    """The listed sets of each column; raise unless they are of columns that are published as sets, all with numbers."""
    if SETS not in release.tables:
        return {}
    sets = release.tables[SETS]
    if sets.column("column").null_count or sets.column("set").null_count:
        raise BrokenPromise("A listed set has no column or no number.")
    if not set(sets.column("column").unique().to_pylist()) <= names:
        raise BrokenPromise("Sets are listed for a column that is not published as sets.")
    ascending = sets.sort_by([(name, "ascending") for name in ("column", "set", "value")]).combine_chunks()
    none = _ListedSets(np.empty(0, np.int32), np.empty(0, np.int64), pa.nulls(0, pa.string()))
    found, first = dict.fromkeys(names, none), 0
    for column in ascending.column("column").value_counts().to_pylist():
        mine = ascending.slice(first, column["counts"])
        numbers, sizes = np.unique(mine.column("set").to_numpy(), return_counts=True)
        found[column["values"]] = _ListedSets(numbers, sizes, mine.column("value").combine_chunks())
        first += column["counts"]
    return found


def _follows_own(starts: NDArray[np.int64], rows: int) -> pa.Array:
    """Tell for each row but the first whether the one before is of its group."""
    own = np.ones(rows, np.bool_)
    own[starts] = False
    return pa.array(own[1:])


def _is_constant(column: pa.ChunkedArray, follows_own: pa.Array) -> bool:
    """Tell whether a column changes at the borders of groups only; missing is a value."""
    whole = one_array(column)
    for first in range(0, len(follows_own), _BLOCK):
        before, inside = whole.slice(first, min(_BLOCK, len(follows_own) - first)), follows_own.slice(first, _BLOCK)
        after = whole.slice(first + 1, _BLOCK)
        if pc.any(pc.and_(pc.not_equal(before, after), inside)).as_py():
            return False
        if whole.null_count and pc.any(pc.and_(pc.not_equal(before.is_null(), after.is_null()), inside)).as_py():
            return False
    return True


def _heads(table: pa.Table, name: str, starts: NDArray[np.int64]) -> pa.Array:
    """One entry per group."""
    return one_array(table.column(name)).take(pa.array(starts))


def _gaps(table: pa.Table, box: BoxColumns, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which groups say that values are missing."""
    if not has_column(table, box.missing):
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


def _check_sets(name: str, sets: _ListedSets, numbers: pa.Array, gaps: NDArray[np.bool_]) -> None:
    if (numbers.is_null().to_numpy(zero_copy_only=False) & ~gaps).any():
        raise BrokenPromise(f"A set of '{name}' is not named although no value is missing.")
    named = np.unique(numbers.drop_null().to_numpy(zero_copy_only=False))
    # Readers count rows by the numbers of their sets, of which no group has two.
    if not np.array_equal(named, sets.numbers) or not ((named >= 0) & (named < len(numbers))).all():
        raise BrokenPromise(f"The sets of '{name}' that rows refer to are not those that are listed, from 0 on.")
    owners = np.repeat(np.arange(len(sets.sizes)), sets.sizes)
    twice = pc.equal(sets.values[1:], sets.values[:-1]).fill_null(False).to_numpy(False) & (owners[1:] == owners[:-1])
    if sets.values.null_count or twice.any():
        raise BrokenPromise(f"A set of '{name}' lists a value twice, or a missing one.")
