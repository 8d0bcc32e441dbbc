"""Rows by what the adversary knows of them: cells of equal signatures, with the odds of each protected set of values.

A row matters to r-robustness only through its signatures and its value, so rows with equal signatures in every
attribute set form one cell, and everything that depends on f is kept once per cell.

The candidate closest to a box, in the sum of overhangs over all dimensions (the rise of Delta of [Wong 2009], summed
over attribute sets), is found by a k-d tree [Bentley 1975]: O(C K log C) to build one on C points of K dimensions, all
nodes of a level at once. Node i has the children 2i + 1 and 2i + 2; the leaves are the last level. Every node knows the
box of its points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.errors import ParameterError
from hedgerow.inference.knowledge import Distribution, Knowledge
from hedgerow.partition.robust.grow import NOBODY, FreeRows, Group
from hedgerow.randomness import Keys

_LEAF = 8
"""Points per leaf: a leaf costs about as much to scan as its parents to descend."""

_SCANNED = 14
"""Up to 2 to this many points a scan is no worse than a tree that nearly every box keeps busy."""


class KdTrees(NamedTuple):
    """Trees over the same points, one for each of several ways to see them: the first axis of all but `borders`.

    `order` lists the points leaf after leaf, `borders` where leaves begin, `leaf` the node number of each point's leaf;
    `low` and `high` are the nodes' boxes.
    """

    order: NDArray[np.int32]
    borders: Ints
    leaf: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]


def build_trees(points: NDArray[np.int32], attributes: int) -> KdTrees:
    """A tree for each way (first axis) to see the points (second axis), which `attributes` independent facts decide.

    With n facts and fewer than 2^n points nearly every node is as close as any other, so no node could be skipped: the
    trees are then single leaves.
    """
    ways, count, dimensions = points.shape
    is_crowded = count >= 2 ** min(attributes, _SCANNED)
    levels = max(0, int(np.ceil(np.log2(max(count, 1) / _LEAF)))) if is_crowded else 0
    borders = count * np.arange(2**levels + 1, dtype=np.int64) // 2**levels
    order, leaf = np.empty((2, ways, count), np.int32)
    low, high = np.empty((2, ways, 2 ** (levels + 1) - 1, dimensions), np.int32)
    for way in range(ways):
        order[way] = _halve(points[way], levels, low[way], high[way])
        leaf[way, order[way]] = np.repeat(np.arange(2**levels) + 2**levels - 1, np.diff(borders))
    return KdTrees(order, borders, leaf, low, high)


def _halve(
    points: NDArray[np.int32], levels: int, low: NDArray[np.int32], high: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Halve the points at the median of their widest dimension, level by level; fill in the boxes."""
    count = len(points)
    order = np.arange(count, dtype=np.int32)
    for level in range(levels + 1):
        borders = count * np.arange(2**level + 1, dtype=np.int64) // 2**level
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        sorted_points = points[order]
        low[nodes] = np.minimum.reduceat(sorted_points, borders[:-1])
        high[nodes] = np.maximum.reduceat(sorted_points, borders[:-1])
        if level < levels:
            node = np.repeat(np.arange(2**level), np.diff(borders))
            widest = np.argmax(high[nodes] - low[nodes], axis=1)
            order = order[np.lexsort((sorted_points[np.arange(count), widest[node]], node))]
    return order


_LANES = 8
"""Attribute sets are padded to a multiple of this, so that sums are added in full registers."""


_MOST_TICKS = 2**27
"""Half a gigabyte of positions, and as much again for the trees over them."""


@dataclass(frozen=True, eq=False)
class RobustRows:
    """Rows with their signatures in each attribute set, their value, and which values are protected together."""

    knowledge: Knowledge
    signatures: list[NDArray[np.int32]]
    values: Ints
    member: Bools

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.values)

    @property
    def secrets(self) -> int:
        """The number of protected sets of values."""
        return len(self.member)

    @property
    def distributions(self) -> tuple[Distribution, ...]:
        """What is known, one attribute set each."""
        return self.knowledge.distributions

    @cached_property
    def secret(self) -> NDArray[np.int32]:
        """The protected set of each row's value, or `secrets` where it is not protected."""
        of_value = np.where(self.member.any(axis=0), self.member.argmax(axis=0), self.secrets)
        return of_value[self.values].astype(np.int32)

    @cached_property
    def cell(self) -> NDArray[np.int32]:
        """The cell of each row."""
        cell = np.zeros(self.size, np.int64)
        for signatures in self.signatures:
            _, cell = np.unique(cell * (int(signatures.max()) + 1) + signatures, return_inverse=True)
        return cell.astype(np.int32)

    @cached_property
    def example(self) -> Ints:
        """A row of each cell."""
        return np.unique(self.cell, return_index=True)[1]

    @cached_property
    def entry(self) -> NDArray[np.int32]:
        """Where the odds of each cell are listed, by attribute set."""
        first = np.cumsum([0, *(len(known.totals) for known in self.distributions)])
        places = [signatures[self.example] + start for signatures, start in zip(self.signatures, first, strict=False)]
        return np.stack(places, axis=1).astype(np.int32)

    @cached_property
    def odds(self) -> Floats:
        """The odds by protected set and signature, those of one attribute set after those of another."""
        odds = np.empty((self.secrets, sum(len(known.totals) for known in self.distributions)))
        for i, row in enumerate(self.member):
            pairs = [known.of(np.flatnonzero(row)) for known in self.distributions]
            yes, no = (np.concatenate(part) for part in zip(*pairs, strict=True))
            with np.errstate(divide="ignore"):
                odds[i] = np.where(no > 0, yes / np.maximum(no, 1), np.inf)
        return odds

    @cached_property
    def positions(self) -> NDArray[np.int32]:
        """The probabilities f in positions by protected set, cell and attribute set, padded with zeros."""
        cells, sets = self.entry.shape
        if self.secrets * cells * sets > _MOST_TICKS:
            raise ParameterError(
                f"{self.secrets:,} protected values times {cells:,} kinds of people times {sets:,} sets of "
                "quasi-identifiers are too many probabilities to hold; protect fewer values, or take smaller sets "
                "('size')."
            )
        width = -(-sets // _LANES) * _LANES
        positions = np.zeros((self.secrets, cells, width), np.int32)
        f = np.where(np.isinf(self.odds), 1.0, self.odds / (1.0 + np.minimum(self.odds, 1e300)))
        of_signature = np.rint(f * ((2**31 - 1) // (2 * width))).astype(np.int32)
        for i in range(self.secrets):
            positions[i, :, :sets] = of_signature[i, self.entry]
        return positions

    @cached_property
    def trees(self) -> KdTrees:
        """A tree over the cells for each protected set."""
        return build_trees(self.positions, len({name for known in self.distributions for name in known.attributes}))

    def sample(self, rows: int, keys: Keys) -> RobustRows:
        """Some of the rows, drawn by `keys`, to an adversary who knows the same; all of them where they are few."""
        if rows >= self.size:
            return self
        drawn = np.sort(np.argsort(keys(self.size))[:rows])
        return RobustRows(self.knowledge, [known[drawn] for known in self.signatures], self.values[drawn], self.member)

    def free(self, keys: Keys) -> FreeRows:
        """All rows free, with secret ranks drawn from `keys`."""
        trees = self.trees
        rank = np.argsort(np.argsort(keys(self.size))).astype(np.int64)
        stacked = np.lexsort((rank, self.secret, self.cell)).astype(np.int32)
        is_new = np.diff(self.cell[stacked], prepend=-1) != 0
        is_new |= np.diff(self.secret[stacked], prepend=-1) != 0
        head = np.flatnonzero(is_new)
        place, stack = np.empty(self.size, np.int64), np.empty(self.size, np.int32)
        place[stacked], stack[stacked] = np.arange(self.size), np.cumsum(is_new) - 1
        cell_stacks = np.searchsorted(self.cell[stacked[head]], np.arange(len(self.example) + 1))
        cell_rank = np.minimum.reduceat(rank[stacked[head]], cell_stacks[:-1])
        bits = np.int64(1) << (self.secret[stacked[head]].astype(np.int64) % 62)
        cell_mask = np.bitwise_or.reduceat(bits, cell_stacks[:-1])
        return FreeRows(
            positions=self.positions,
            odds=self.odds,
            entry=self.entry,
            cell=self.cell,
            value=self.secret,
            rank=rank,
            is_free=np.ones(self.size, bool),
            stacked=stacked,
            place=place,
            stack=stack,
            stack_value=self.secret[stacked[head]],
            stack_head=head.astype(np.int64),
            stack_end=np.append(head[1:], self.size).astype(np.int64),
            cell_stacks=cell_stacks.astype(np.int64),
            cell_rank=cell_rank,
            cell_mask=cell_mask,
            order=trees.order,
            borders=trees.borders,
            leaf=trees.leaf,
            low=trees.low,
            high=trees.high,
            node_rank=np.stack([_upwards(order, trees.borders, cell_rank, np.minimum) for order in trees.order]),
            node_mask=np.stack([_upwards(order, trees.borders, cell_mask, np.bitwise_or) for order in trees.order]),
        )


def new_group(candidates: RobustRows) -> Group:
    """An empty group with room for everybody; it serves one attempt after the other."""
    (_, sets), width = candidates.entry.shape, candidates.positions.shape[2]
    return Group(
        rows=np.empty(candidates.size, np.int32),
        counts=np.zeros(candidates.secrets, np.int64),
        is_full=np.zeros(candidates.secrets, bool),
        low=np.empty((candidates.secrets, width), np.int32),
        high=np.empty((candidates.secrets, width), np.int32),
        odds_low=np.empty((candidates.secrets, sets)),
        odds_high=np.empty((candidates.secrets, sets)),
        odds_sum=np.empty((candidates.secrets, sets)),
    )


def _upwards(order: NDArray[np.int32], borders: Ints, of_cell: Ints, join: np.ufunc) -> Ints:
    """Join what the cells below each node of a tree have, from the leaves to the root."""
    nodes = np.full(2 * len(borders) - 3, NOBODY, np.int64)
    level = join.reduceat(of_cell[order], borders[:-1])
    while True:
        nodes[len(level) - 1 : 2 * len(level) - 1] = level
        if len(level) == 1:
            return nodes
        level = join(level[::2], level[1::2])
