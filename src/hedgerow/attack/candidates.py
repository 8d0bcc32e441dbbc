"""Candidate rows: published rows as an adversary compares people with them, each value a point, an interval or a set.

A release in boxes has one row per group that stands for all of its rows. Numbers, dates and truth values are compared
by how far they lie outside the interval, texts by whether they are the same or in the set. Missing is a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.attack.beliefs import codes_in
from hedgerow.errors import ParameterError
from hedgerow.release import Release
from hedgerow.release.forms.generalized import SETS, BoxColumns, box_columns

ORDERED, SAME, SET = 0, 1, 2
WIDEST = 2**62
"""Numbers of combinations below it are exact in 64 bits."""
NARROW = 2**20
"""Whole numbers of a narrower range need no sort."""
_LARGEST = float(np.finfo(np.float64).max) / 2
"""Larger numbers are taken for it, so that the difference of any two is a number."""


@dataclass(frozen=True, eq=False)
class CandidateColumn:
    """One column of the published rows, from `low` to `high`; `gaps` marks where a value may be missing.

    A text is its code in `domain`; of the kind SET it is the number of a row of `members`, which says which codes the
    set has. `scale` is the distance that counts as 1.
    """

    name: str
    kind: int
    low: Floats
    high: Floats
    gaps: Bools
    scale: float = 1.0
    domain: pa.Array | None = None
    members: Bools | None = None

    def holds(self, row: int, values: Floats) -> Bools:
        """Return which people's values a published row allows."""
        if self.kind == SET and self.members is not None:
            # A row without a set allows no text; an unknown text is the last place of the table.
            table = np.append(self.members[int(self.low[row])] & (self.low[row] >= 0), False)
            inside = table[np.where(np.isnan(values), -1, values).astype(np.int64)]
        else:
            inside = (values >= self.low[row]) & (values <= self.high[row])
        return np.asarray(inside | (np.isnan(values) & self.gaps[row]))

    def take(self, rows: Ints) -> CandidateColumn:
        """Return the column at other rows."""
        low = self.low[rows]
        return replace(self, low=low, high=low if self.high is self.low else self.high[rows], gaps=self.gaps[rows])

    @property
    def look(self) -> tuple[NDArray[Any], ...]:
        """What makes two published rows look alike in this column."""
        return (self.low, self.gaps) if self.low is self.high else (self.low, self.high, self.gaps)


@dataclass(frozen=True, eq=False)
class CandidateRows:
    """The published rows: `columns` of what is known, and for each row its group and how many people it stands for."""

    columns: tuple[CandidateColumn, ...]
    groups: Ints
    weights: Ints

    def select(self, names: Sequence[str]) -> CandidateRows:
        """Return the same rows with fewer columns."""
        return CandidateRows(
            tuple(column for column in self.columns if column.name in names), self.groups, self.weights
        )


People = Floats
"""A row per candidate column, an entry per person: numbers, or codes of texts; NaN is missing, -1 an unknown text."""


def candidate_rows(release: Release) -> CandidateRows:
    """Read the quasi-identifiers of a release."""
    table = release.tables["quasi" if "quasi" in release.tables else "release"]
    is_grouped = release.group_column in table.column_names
    groups = table.column(release.group_column).to_numpy().astype(np.int64) if is_grouped else None
    if not release.form.has_boxes or groups is None:
        columns = tuple(point_column(name, table.column(name)) for name in release.columns.quasi)
        rows = np.arange(table.num_rows) if groups is None else groups
        return CandidateRows(columns, rows, np.ones(table.num_rows, np.int64))
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    heads = table.take(pa.array(starts))
    boxes = box_columns(release.columns, release.group_column)
    columns = tuple(_box_column(name, box, heads, release) for name, box in boxes.items())
    return CandidateRows(columns, groups[starts], np.diff(np.append(starts, len(groups))))


def number_looks(parts: Sequence[NDArray[Any]]) -> Ints:
    """Number the different combinations of several columns of the same rows, with holes; missing is a value."""
    return combine_codes([_rank_values(part) for part in parts])


def combine_codes(codes: Sequence[Ints]) -> Ints:
    """One number per combination of codes; numbered afresh only where the product would leave 64 bits."""
    together, width = np.zeros_like(codes[0]), 1
    for code in codes:
        size = int(code.max(initial=0)) + 1
        if width * size > WIDEST:
            distinct, together = np.unique(together, return_inverse=True)
            width = len(distinct)
        together, width = together * size + code, width * size
    return together


def _rank_values(part: NDArray[Any]) -> Ints:
    """Numbers from 0 in the order of the values, missing last: whole numbers of a narrow range by counting."""
    values = part.astype(np.float64)
    is_missing = np.isnan(values)
    known = np.where(is_missing, 0.0, values)
    low, high = known.min(initial=0.0), known.max(initial=0.0)
    if high - low < NARROW and np.array_equal(known, np.floor(known)):
        return np.asarray(np.where(is_missing, high - low + 1, known - low), np.int64)
    return np.asarray(np.unique(np.where(is_missing, np.inf, values), return_inverse=True)[1])


def people_of(candidates: CandidateRows, table: pa.Table, rows: Ints) -> People:
    """Read what is known of some people of another table, in the codes of the candidate rows."""
    missing = [column.name for column in candidates.columns if column.name not in table.column_names]
    if missing:
        raise ParameterError(f"The table has no column '{missing[0]}', which the release publishes.")
    chosen = table.select([column.name for column in candidates.columns]).take(pa.array(rows))
    return np.stack([_values(column, chosen.column(column.name)) for column in candidates.columns])


def point_column(name: str, column: pa.ChunkedArray) -> CandidateColumn:
    """A column that is published as it is."""
    whole = column.combine_chunks()
    gaps = whole.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_string(whole.type):
        domain = whole.drop_null().unique()
        codes = _text_codes(name, domain, column)
        return CandidateColumn(name, SAME, codes, codes, gaps, domain=domain)
    numbers = _floats(whole)
    return CandidateColumn(name, ORDERED, numbers, numbers, gaps, _scale(numbers))


def _box_column(name: str, box: BoxColumns, heads: pa.Table, release: Release) -> CandidateColumn:
    has_gaps = box.missing in heads.column_names
    gaps = heads.column(box.missing).to_numpy().astype(bool) if has_gaps else np.zeros(heads.num_rows, bool)
    if box.set not in heads.column_names:
        low, high = (_floats(heads.column(end).combine_chunks()) for end in (box.low, box.high))
        return CandidateColumn(name, ORDERED, low, high, gaps, _scale(np.concatenate((low, high))))
    sets = release.tables[SETS]
    listed = sets.filter(pc.equal(sets.column("column"), name))
    domain = listed.column("value").combine_chunks().unique()
    numbers = listed.column("set").to_numpy()
    members = np.zeros((int(numbers.max(initial=0)) + 1, len(domain)), bool)
    members[numbers, codes_in(domain, listed.column("value"), name)] = True
    of_row = pc.fill_null(heads.column(box.set), -1).to_numpy().astype(np.float64)
    return CandidateColumn(name, SET, of_row, of_row, gaps, domain=domain, members=members)


def _values(column: CandidateColumn, values: pa.ChunkedArray) -> Floats:
    if column.domain is not None:
        return _text_codes(column.name, column.domain, values)
    try:
        return _floats(values.combine_chunks())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ParameterError(
            f"'{column.name}' is of another type in the table than in the release; is it the table that was published?"
        ) from None


def _text_codes(name: str, domain: pa.Array, column: pa.ChunkedArray) -> Floats:
    codes = codes_in(domain, column, name).astype(np.float64)
    return np.where(codes == len(domain), np.nan, codes)


def _floats(column: pa.Array) -> Floats:
    """Numbers, dates, times and truth values as floats; missing is NaN."""
    kind: Any = column.type
    if pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    numbers = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    clipped: Floats = np.clip(numbers, -_LARGEST, _LARGEST)
    return clipped


def _scale(numbers: Floats) -> float:
    known = numbers[~np.isnan(numbers)]
    spread = float(known.max() - known.min()) if len(known) else 0.0
    return spread if spread > 0 else 1.0
