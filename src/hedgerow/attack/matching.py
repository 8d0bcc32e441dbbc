"""Match people with candidate rows: which rows fit a person best, and in which groups may the person be?

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

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.attack.candidates import SET, CandidateRows, People, number_looks
from hedgerow.kernel import kernel

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
