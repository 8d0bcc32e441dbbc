"""Find the published rows that fit a person best.

Guarantee  exact: all rows at the least distance, up to a stated number of them
Cost       O((people + rows) log rows) for people who are found as they are; O(rows x columns) for each of the others,
           most rows ending at the first column that is too far off

The distance is the sum over the columns of how far a value lies outside the interval, in units of the column's spread,
and of 1 for each text that differs. Rows come group after group under secret numbers, so that the first of many are as
good as any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.attack.candidates import SET, People, Seen, numbered
from hedgerow.kernel import kernel

__all__ = ["Fit", "fit"]

MOST_TIES = 20_000
_WORTH_COMPILING = 20_000


@dataclass(frozen=True, eq=False)
class Fit:
    """Person p fits the rows `rows[offsets[p]:offsets[p + 1]]` best, at `distances[p]`; 0 is a perfect fit."""

    offsets: Ints
    rows: Ints
    distances: NDArray[np.float64]

    def of(self, person: int) -> Ints:
        """The rows of one person."""
        return self.rows[self.offsets[person] : self.offsets[person + 1]]


def fit(seen: Seen, people: People, *, most: int = MOST_TIES) -> Fit:
    """Compare people with published rows; at most `most` rows are listed for each person."""
    row_keys, keys = _keys(seen, people)
    order = np.argsort(row_keys, kind="stable")
    heads = np.flatnonzero(np.diff(row_keys[order], prepend=-1))
    tails = np.append(heads[1:], len(order))
    is_point = all(column.low is column.high and column.kind != SET for column in seen.columns)
    place = np.minimum(np.searchsorted(row_keys[order[heads]], keys), len(heads) - 1)
    # Only where all columns are points does a person who looks like a row fit it; boxes are compared one by one.
    found = (row_keys[order[heads[place]]] == keys) & is_point
    near = _scan(seen, people[:, ~found], order[heads])
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


def _keys(seen: Seen, people: People) -> tuple[Ints, Ints]:
    """Number the different looks of rows and people alike."""
    parts: list[NDArray[Any]] = []
    for column, values in zip(seen.columns, people, strict=True):
        theirs = (np.isnan(values) if part is column.gaps else values for part in column.look)
        parts += [np.concatenate(both) for both in zip(column.look, theirs, strict=True)]
    keys = numbered(parts)
    return keys[: len(seen.groups)], keys[len(seen.groups) :]


def _scan(seen: Seen, people: People, heads: Ints) -> tuple[list[Ints], NDArray[np.float64]]:
    """Compare people with one row of each look; return the nearest looks and their distance."""
    # The column with the most values first: it sends most rows away.
    first = np.argsort([-len(np.unique(column.low)) for column in seen.columns], kind="stable").tolist()
    columns = [seen.columns[place] for place in first]
    low, high, gaps = (
        np.ascontiguousarray(np.stack([getattr(c, part)[heads] for c in columns], axis=1))
        for part in ("low", "high", "gaps")
    )
    members, places, widths = _flat_members(columns)
    kinds, scales = np.array([c.kind for c in columns]), np.array([1 / c.scale for c in columns])
    shape = (np.ascontiguousarray(people[first].T), low, high, gaps, kinds, scales, members, places, widths)
    is_large = people.shape[1] * len(heads) > _WORTH_COMPILING
    scan = _nearest.compiled if is_large else _nearest.plain
    distances, looks = np.empty(people.shape[1]), np.empty(len(heads), np.int64)
    near: list[Ints] = []
    for person in range(people.shape[1]):
        count, distances[person] = scan(person, *shape, looks)
        near.append(looks[:count].copy())
    return near, distances


def _flat_members(columns: list[Any]) -> tuple[NDArray[np.bool_], Ints, Ints]:
    """The tables of sets, one after another, where each begins and how wide it is."""
    tables = [c.members if c.kind == SET else np.zeros((0, 0), bool) for c in columns]
    flat = np.concatenate([*(table.ravel() for table in tables), np.zeros(1, bool)])
    return flat, np.cumsum([0, *(table.size for table in tables[:-1])]), np.array([t.shape[1] for t in tables])


@kernel
def _nearest(
    person: int,
    people: Any,
    low: Any,
    high: Any,
    gaps: Any,
    kinds: Any,
    scales: Any,
    members: Any,
    places: Any,
    widths: Any,
    looks: Any,
) -> tuple[int, float]:
    """Write the looks at the least distance of a person into `looks`; return how many there are, and the distance."""
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
