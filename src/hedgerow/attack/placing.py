"""Place people in groups: in which groups may a person be, and how likely is each?

Guarantee  in a release that shows combinations of quasi-identifiers a person may be any of the rows that fit best, all
           equally likely; where every column was shuffled apart, any group that has all of the person's values, in
           proportion to the rows expected to have them together
Cost       that of `fit`; for shuffled columns O(rows of the rarest value) per person
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.attack.candidates import People, Seen
from hedgerow.attack.matching import Fit, fit

__all__ = ["Placed", "Scatter", "placed", "scatter_of"]


@dataclass(frozen=True, eq=False)
class Placed:
    """Person p may be in `groups[p]`, with chances in proportion to `weights[p]`; `is_fit` tells whether perfectly."""

    groups: tuple[Ints, ...]
    weights: tuple[Floats, ...]
    is_fit: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.groups)


@dataclass(frozen=True, eq=False)
class Scatter:
    """Where each value of columns that were shuffled apart occurs: value v of column c in `groups[c][v]`."""

    groups: tuple[dict[float, Ints], ...]
    counts: tuple[dict[float, Ints], ...]
    sizes: Ints

    def of(self, person: Floats) -> tuple[Ints, NDArray[np.int64]]:
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

    def expected(self, groups: Ints, counts: NDArray[np.int64]) -> Floats:
        """How many rows of each group have all of the values, on average over the shuffles."""
        rows = self.sizes[groups].astype(np.float64)
        return np.asarray(rows * np.prod(counts / rows, axis=0))


def placed(seen: Seen, people: People, *, form: str) -> Placed:
    """Place people in the groups of a release of a form."""
    return _by_counts(scatter_of(seen), people) if form == "scattered" else _by_fit(seen, fit(seen, people))


def scatter_of(seen: Seen) -> Scatter:
    """List for each value of each column the groups that have it."""
    listed = [_occurrences(column.low, seen.groups) for column in seen.columns]
    return Scatter(tuple(one for one, _ in listed), tuple(other for _, other in listed), np.bincount(seen.groups))


def _key(value: float) -> float:
    """A missing value is a value like others; NaN would not be found."""
    return float("inf") if np.isnan(value) else float(value)


def _occurrences(values: Floats, groups: Ints) -> tuple[dict[float, Ints], dict[float, Ints]]:
    known = np.where(np.isnan(values), np.inf, values)
    distinct, codes = np.unique(known, return_inverse=True)
    width = int(groups.max()) + 1
    pairs, counts = np.unique(codes * width + groups, return_counts=True)
    starts = np.searchsorted(pairs // width, np.arange(1, len(distinct)))
    by_value = np.split(pairs % width, starts), np.split(counts, starts)
    keys = distinct.tolist()
    return dict(zip(keys, by_value[0], strict=True)), dict(zip(keys, by_value[1], strict=True))


def _by_fit(seen: Seen, found: Fit) -> Placed:
    rows = [found.of(person) for person in range(len(found.distances))]
    groups = tuple(seen.groups[one] for one in rows)
    weights = tuple(seen.weights[one].astype(np.float64) for one in rows)
    return Placed(groups, weights, found.distances <= 1e-9)


def _by_counts(scatter: Scatter, people: People) -> Placed:
    groups, weights = [], []
    for person in people.T:
        among, counts = scatter.of(person)
        groups.append(among)
        weights.append(scatter.expected(among, counts))
    return Placed(tuple(groups), tuple(weights), np.array([len(one) > 0 for one in groups], bool))
