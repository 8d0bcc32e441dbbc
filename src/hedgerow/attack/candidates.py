"""Candidate rows: published rows as an adversary compares people with them, and which of them fit a person best.

Each value of a row is a point, an interval or a set. A release in boxes has one row per group that stands for all of
its rows. Numbers, dates and truth values are compared by how far they lie outside the interval, texts by whether they
are the same or in the set. Missing is a value.

Matching finds the rows that fit a person best, and the groups in which the person may be.

Guarantee  exact: all rows at the least distance, up to a stated number of them. In a release that shows combinations of
           quasi-identifiers a person may be any of these rows, all equally likely; where every column was shuffled on
           its own, any group that has all of the person's values, in proportion to the rows expected to have them
Cost       O((people + rows) log rows) for people who are found as they are; O(rows x columns) for each of the others,
           most rows ending at the first column that is too far off; O(rows of the rarest value) for shuffled columns

The distance is the sum over the columns of how far a value lies outside the interval, in units of the column's spread,
and of 1 for each text that differs. Rows come group after group under secret numbers, so that the first of many are as
good as any.
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
from hedgerow.kernel import kernel
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


MOST_TIES = 20_000
_WORTH_COMPILING = 20_000


@dataclass(frozen=True, eq=False)
class Fit:
    """Person p fits the rows `rows[offsets[p]:offsets[p + 1]]` best, at `distances[p]`; 0 is a perfect fit."""

    offsets: Ints
    rows: Ints
    distances: Floats

    def of(self, person: int) -> Ints:
        """The rows of one person."""
        return self.rows[self.offsets[person] : self.offsets[person + 1]]


def fit(candidates: CandidateRows, people: People, *, most: int = MOST_TIES) -> Fit:
    """Compare people with published rows; at most `most` rows are listed for each person."""
    row_keys, keys = _keys(candidates, people)
    order = np.argsort(row_keys, kind="stable")
    heads = np.flatnonzero(np.diff(row_keys[order], prepend=-1))
    tails = np.append(heads[1:], len(order))
    is_point = all(column.low is column.high and column.kind != SET for column in candidates.columns)
    place = np.minimum(np.searchsorted(row_keys[order[heads]], keys), len(heads) - 1)
    # Only where all columns are points does a person who looks like a row fit it; boxes are compared one by one.
    found = (row_keys[order[heads[place]]] == keys) & is_point
    near = _scan(candidates, people[:, ~found], order[heads])
    lists: list[Ints] = [np.zeros(0, np.int64)] * len(keys)
    for person in np.flatnonzero(found).tolist():
        lists[person] = order[heads[place[person]] : tails[place[person]]][:most]
    for person, looks in zip(np.flatnonzero(~found).tolist(), near[0], strict=True):
        lists[person] = _spread(looks, order, heads, tails, most)
    distances = np.zeros(len(keys))
    distances[~found] = near[1]
    return Fit(np.append(0, np.cumsum([len(rows) for rows in lists])), np.concatenate(lists), distances)


def _spread(looks: Ints, order: Ints, heads: Ints, tails: Ints, most: int) -> Ints:
    """All rows that look like one of `looks`."""
    lengths = tails[looks] - heads[looks]
    looks = looks[: np.searchsorted(np.cumsum(lengths), most) + 1]
    return np.concatenate([order[heads[look] : tails[look]] for look in looks.tolist()])[:most]


def _keys(candidates: CandidateRows, people: People) -> tuple[Ints, Ints]:
    """Number the different looks of rows and people alike."""
    parts: list[NDArray[Any]] = []
    for column, values in zip(candidates.columns, people, strict=True):
        theirs = (np.isnan(values) if part is column.gaps else values for part in column.look)
        parts += [np.concatenate(both) for both in zip(column.look, theirs, strict=True)]
    keys = number_looks(parts)
    return keys[: len(candidates.groups)], keys[len(candidates.groups) :]


def _scan(candidates: CandidateRows, people: People, heads: Ints) -> tuple[list[Ints], Floats]:
    """Compare people with one row of each look; return the nearest looks and their distance."""
    # The column with the most values first: it sends most rows away.
    first = np.argsort([-len(np.unique(column.low)) for column in candidates.columns], kind="stable").tolist()
    columns = [candidates.columns[place] for place in first]
    low, high, gaps = (
        np.ascontiguousarray(np.stack([getattr(c, part)[heads] for c in columns], axis=1))
        for part in ("low", "high", "gaps")
    )
    members, places, widths = _flat_members(columns)
    kinds, scales = np.array([c.kind for c in columns]), np.array([1 / c.scale for c in columns])
    shape = (np.ascontiguousarray(people[first].T), (low, high, gaps), (kinds, scales), (members, places, widths))
    is_large = people.shape[1] * len(heads) > _WORTH_COMPILING
    scan = _nearest.compiled if is_large else _nearest.plain
    distances, looks = np.empty(people.shape[1]), np.empty(len(heads), np.int64)
    near: list[Ints] = []
    for person in range(people.shape[1]):
        count, distances[person] = scan(person, *shape, looks)
        near.append(looks[:count].copy())
    return near, distances


def _flat_members(columns: list[Any]) -> tuple[Bools, Ints, Ints]:
    """The tables of sets, one after another, where each begins and how wide it is."""
    tables = [c.members if c.kind == SET else np.zeros((0, 0), bool) for c in columns]
    flat = np.concatenate([*(table.ravel() for table in tables), np.zeros(1, bool)])
    return flat, np.cumsum([0, *(table.size for table in tables[:-1])]), np.array([t.shape[1] for t in tables])


@kernel
def _nearest(person: int, people: Any, boxes: Any, columns: Any, sets: Any, looks: Any) -> tuple[int, float]:
    """Write the looks at the least distance of a person into `looks`; return how many there are, and the distance."""
    low, high, gaps = boxes
    kinds, scales = columns
    members, places, widths = sets
    best, count = np.inf, 0
    for row in range(low.shape[0]):
        total = 0.0
        for c in range(low.shape[1]):
            value, least = people[person, c], low[row, c]
            if np.isnan(value):
                total += 0.0 if gaps[row, c] else 1.0
            elif np.isnan(least):
                total += 1.0
            elif kinds[c] == 0:
                if value < least:
                    total += (least - value) * scales[c]
                elif value > high[row, c]:
                    total += (value - high[row, c]) * scales[c]
            elif kinds[c] == 1:
                total += 0.0 if value == least else 1.0
            elif least < 0 or value < 0 or not members[places[c] + int(least) * widths[c] + int(value)]:
                total += 1.0
            if total > best + 1e-9:
                break
        if total < best - 1e-9:
            best, count = total, 0
        if total <= best + 1e-9:
            looks[count] = row
            count += 1
    return count, best


@dataclass(frozen=True, eq=False)
class Placement:
    """Person p may be in `groups[p]`, with odds `weights[p]`; `is_fit` says whether the person fits them perfectly."""

    groups: tuple[Ints, ...]
    weights: tuple[Floats, ...]
    is_fit: Bools

    def __len__(self) -> int:
        return len(self.groups)


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Where each value of columns that were shuffled apart occurs: value v of column c in `groups[c][v]`."""

    groups: tuple[dict[float, Ints], ...]
    counts: tuple[dict[float, Ints], ...]
    sizes: Ints

    def of(self, person: Floats) -> tuple[Ints, Ints]:
        """The groups that have all values of a person, and how often each has each of them (a row per column)."""
        found = [column.get(_key(value)) for column, value in zip(self.groups, person, strict=True)]
        if any(groups is None for groups in found):
            return np.zeros(0, np.int64), np.zeros((len(person), 0), np.int64)
        present = [groups for groups in found if groups is not None]
        shared = min(present, key=len)
        for groups in sorted(present, key=len)[1:]:
            shared = np.intersect1d(shared, groups, assume_unique=True)
        counts = [
            column[_key(value)][np.searchsorted(groups, shared)]
            for column, value, groups in zip(self.counts, person, present, strict=True)
        ]
        return shared, np.stack(counts)

    def expected_rows(self, groups: Ints, counts: Ints) -> Floats:
        """How many rows of each group have all of the values, on average over the shuffles."""
        rows = self.sizes[groups].astype(np.float64)
        return np.asarray(rows * np.prod(counts / rows, axis=0))


def place_people(candidates: CandidateRows, people: People, *, columns_apart: bool) -> Placement:
    """Place people in groups; `columns_apart` says that every column was shuffled on its own."""
    if columns_apart:
        return _place_by_counts(occurrences_of(candidates), people)
    return _place_by_fit(candidates, fit(candidates, people))


def occurrences_of(candidates: CandidateRows) -> Occurrences:
    """List for each value of each column the groups that have it."""
    listed = [_list_groups(column.low, candidates.groups) for column in candidates.columns]
    return Occurrences(
        tuple(one for one, _ in listed), tuple(other for _, other in listed), np.bincount(candidates.groups)
    )


def _key(value: float) -> float:
    """A missing value is a value like others; NaN would not be found."""
    return float("inf") if np.isnan(value) else float(value)


def _list_groups(values: Floats, groups: Ints) -> tuple[dict[float, Ints], dict[float, Ints]]:
    known = np.where(np.isnan(values), np.inf, values)
    distinct, codes = np.unique(known, return_inverse=True)
    width = int(groups.max()) + 1
    pairs, counts = np.unique(codes * width + groups, return_counts=True)
    starts = np.searchsorted(pairs // width, np.arange(1, len(distinct)))
    by_value = np.split(pairs % width, starts), np.split(counts, starts)
    keys = distinct.tolist()
    return dict(zip(keys, by_value[0], strict=True)), dict(zip(keys, by_value[1], strict=True))


def _place_by_fit(candidates: CandidateRows, found: Fit) -> Placement:
    rows = [found.of(person) for person in range(len(found.distances))]
    groups = tuple(candidates.groups[one] for one in rows)
    weights = tuple(candidates.weights[one].astype(np.float64) for one in rows)
    return Placement(groups, weights, found.distances <= 1e-9)


def _place_by_counts(occurrences: Occurrences, people: People) -> Placement:
    groups, weights = [], []
    for person in people.T:
        among, counts = occurrences.of(person)
        groups.append(among)
        weights.append(occurrences.expected_rows(among, counts))
    return Placement(tuple(groups), tuple(weights), np.array([len(one) > 0 for one in groups], bool))
