"""Separate the rows of a household, or of a person with several rows, so that no group holds two rows of one cluster.

Source     own; a search by swaps in the manner of min-conflicts
Guarantee  every group keeps its sensitive values, so that promises about them still hold; never more rows of one
           cluster share a group than before
Cost       O(n) and a number of swaps in the order of the conflicts; each looks at a few dozen rows

In groups that depend on sensitive values and random numbers alone, rows of equal sensitive values are interchangeable.
A row that shares its group with another of its cluster is swapped with a row of the same sensitive values in another
group. Separating all rows is not always possible (one group, or a cluster with more rows than groups), and deciding
whether it is, is hard in general: conflicts that are left are counted, and the guarantee states their number.
"""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import Codes, Ints
from hedgerow.randomness import Keys, system_keys

_TRIED = 48
_SPARE_STEPS = 40


def most_together(labels: Codes, clusters: Ints) -> int:
    """The most rows that one cluster has in one group; rows labelled -1 are in none."""
    kept = labels >= 0
    pairs = labels[kept].astype(np.int64) * (int(clusters.max(initial=0)) + 1) + clusters[kept]
    return int(np.unique(pairs, return_counts=True)[1].max(initial=0))


def separate_clusters(labels: Codes, codes: Codes, clusters: Ints, *, keys: Keys = system_keys) -> Codes:
    """Swap rows of equal `codes` between groups so that as few as possible share a group with another of their cluster.

    Returns new labels. `codes` number the combinations of sensitive values, `clusters` the households or persons.
    """
    search = _ClusterSearch(labels.astype(np.int64), codes, clusters.astype(np.int64), keys)
    before = most_together(labels, clusters)
    found = search.run().astype(labels.dtype)
    return found if most_together(found, clusters) <= before else labels


class _ClusterSearch:
    """Labels in the making, and how many rows each cluster has in each group."""

    def __init__(self, labels: Ints, codes: Codes, clusters: Ints, keys: Keys) -> None:
        self.labels, self.codes, self.clusters, self.keys = labels, codes, clusters, keys
        self.width = int(clusters.max(initial=0)) + 1
        pairs, counts = np.unique((labels * self.width + clusters)[labels >= 0], return_counts=True)
        self.count: dict[int, int] = dict(zip(pairs.tolist(), counts.tolist(), strict=True))
        order = np.argsort(codes, kind="stable")
        self.order = order[labels[order] >= 0]
        ends = np.cumsum(np.bincount(codes[self.order], minlength=int(codes.max(initial=0)) + 1))
        self.starts, self.ends = np.append(0, ends[:-1]), ends
        self.draws: list[int] = []

    def run(self) -> Ints:
        """Resolve conflicts one after the other; if no swap helps, make a random one and continue."""
        spare, best, least = _SPARE_STEPS, self.labels.copy(), self._excess()
        while least and spare:
            waiting = self._conflicts()
            for row in waiting:
                self._resolve(row, below=0)
            left = self._excess()
            if left < least:
                best, least, spare = self.labels.copy(), left, _SPARE_STEPS
            else:
                spare -= 1
                self._resolve(waiting[self._draw(len(waiting))], below=1 + self._draw(2))
        return best

    def _excess(self) -> int:
        return sum(count - 1 for count in self.count.values() if count > 1)

    def _conflicts(self) -> list[int]:
        """The rows that share their group with another of their cluster."""
        crowded = [pair for pair, count in self.count.items() if count > 1]
        return [int(row) for row in np.flatnonzero(np.isin(self.labels * self.width + self.clusters, crowded))]

    def _resolve(self, row: int, *, below: int) -> None:
        """Swap a row of a conflict with one of the same code, if that adds fewer conflicts than `below`."""
        if self._at(int(self.labels[row]), int(self.clusters[row])) < 2:
            return
        low, high = int(self.starts[self.codes[row]]), int(self.ends[self.codes[row]])
        size = high - low
        begin, tried = self._draw(size), min(size, _TRIED)
        places = range(tried) if size <= _TRIED else (self._draw(size) for _ in range(tried))
        for place in places:
            other = int(self.order[low + (begin + place) % size])
            change = self._change(row, other)
            if change is not None and change < below:
                self._swap(row, other)
                return

    def _change(self, row: int, other: int) -> int | None:
        """How many conflicts a swap adds; None for a swap that changes nothing."""
        here, there = int(self.labels[row]), int(self.labels[other])
        mine, its = int(self.clusters[row]), int(self.clusters[other])
        if here == there or mine == its:
            return None
        gained = (self._at(there, mine) > 0) + (self._at(here, its) > 0)
        return gained - (self._at(here, mine) > 1) - (self._at(there, its) > 1)

    def _at(self, group: int, cluster: int) -> int:
        return self.count.get(group * self.width + cluster, 0)

    def _swap(self, row: int, other: int) -> None:
        for moved, target in ((row, int(self.labels[other])), (other, int(self.labels[row]))):
            cluster = int(self.clusters[moved])
            self.count[int(self.labels[moved]) * self.width + cluster] -= 1
            self.count[target * self.width + cluster] = self._at(target, cluster) + 1
        self.labels[row], self.labels[other] = self.labels[other], self.labels[row]

    def _draw(self, below: int) -> int:
        """A random number from 0 to `below` - 1."""
        if not self.draws:
            self.draws = self.keys(1024).tolist()
        return int(self.draws.pop() % below)
