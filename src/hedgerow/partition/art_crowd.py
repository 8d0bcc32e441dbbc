"""Rows as the adversary sees them: cells of equal signatures, with the odds of each protected set of values.

A row matters to r-robustness only through its signatures and its value, so rows with equal signatures in every
attribute set form one cell, and everything that depends on f is kept once per cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.knowledge import Distribution, Knowledge
from hedgerow.errors import ParameterError
from hedgerow.partition.art_grow import NOBODY, Group, Pool
from hedgerow.partition.art_tree import Tree, build_tree
from hedgerow.randomness import Keys

__all__ = ["Crowd", "new_group"]

_LANES = 8
"""Attribute sets are padded to a multiple of this, so that sums are added in full registers."""


_MOST_ODDS = 2.0**27
"""A gigabyte of odds."""


@dataclass(frozen=True, eq=False)
class Crowd:
    """Rows with their signatures in each attribute set, their value, and which values are protected together."""

    knowledge: Knowledge
    signatures: list[NDArray[np.int32]]
    values: NDArray[np.int64]
    member: NDArray[np.bool_]

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
    def example(self) -> NDArray[np.int64]:
        """A row of each cell."""
        return np.unique(self.cell, return_index=True)[1]

    @cached_property
    def odds(self) -> NDArray[np.float64]:
        """The odds by protected set, cell and attribute set."""
        shape = (self.secrets, len(self.example), len(self.signatures))
        if np.prod(np.array(shape, float)) > _MOST_ODDS:
            raise ParameterError(
                f"{self.secrets:,} protected values times {shape[1]:,} kinds of people times {shape[2]:,} sets of "
                "quasi-identifiers are too many odds to hold; protect fewer values, or take smaller sets ('size')."
            )
        odds = np.empty(shape)
        for i, row in enumerate(self.member):
            for k, (known, signatures) in enumerate(zip(self.distributions, self.signatures, strict=True)):
                yes, no = known.of(np.flatnonzero(row))
                with np.errstate(divide="ignore"):
                    odds[i, :, k] = np.where(no > 0, yes / np.maximum(no, 1), np.inf)[signatures[self.example]]
        return odds

    @cached_property
    def ticks(self) -> NDArray[np.int32]:
        """The probabilities f in ticks by protected set, cell and attribute set, padded with zeros."""
        secrets, cells, sets = self.odds.shape
        width = -(-sets // _LANES) * _LANES
        ticks = np.zeros((secrets, cells, width), np.int32)
        f = np.where(np.isinf(self.odds), 1.0, self.odds / (1.0 + np.minimum(self.odds, 1e300)))
        ticks[:, :, :sets] = np.rint(f * ((2**31 - 1) // (2 * width)))
        return ticks

    @cached_property
    def trees(self) -> tuple[Tree, ...]:
        """A tree over the cells for each protected set."""
        return tuple(build_tree(ticks) for ticks in self.ticks)

    def pool(self, keys: Keys) -> Pool:
        """All rows free, with secret ranks drawn from `keys`."""
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
        return Pool(
            ticks=self.ticks,
            odds=self.odds,
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
            order=np.stack([tree.order for tree in self.trees]),
            borders=self.trees[0].borders,
            leaf=np.stack([tree.leaf_of() for tree in self.trees]),
            low=np.stack([tree.low for tree in self.trees]),
            high=np.stack([tree.high for tree in self.trees]),
            node_rank=np.stack([_upwards(tree, cell_rank, np.minimum) for tree in self.trees]),
            node_mask=np.stack([_upwards(tree, cell_mask, np.bitwise_or) for tree in self.trees]),
        )


def new_group(crowd: Crowd, most: int) -> Group:
    """An empty group with room for `most` rows."""
    secrets, _, sets = crowd.odds.shape
    width = crowd.ticks.shape[2]
    return Group(
        rows=np.empty(most, np.int32),
        counts=np.zeros(secrets, np.int64),
        low=np.full((secrets, width), np.iinfo(np.int32).max, np.int32),
        high=np.full((secrets, width), -1, np.int32),
        odds_low=np.full((secrets, sets), np.inf),
        odds_high=np.full((secrets, sets), -np.inf),
        odds_sum=np.zeros((secrets, sets)),
    )


def _upwards(tree: Tree, of_cell: NDArray[np.int64], join: np.ufunc) -> NDArray[np.int64]:
    """Join what the cells below each node have, from the leaves to the root."""
    nodes = np.full(2 * tree.leaves - 1, NOBODY, np.int64)
    level = join.reduceat(of_cell[tree.order], tree.borders[:-1])
    while True:
        nodes[len(level) - 1 : 2 * len(level) - 1] = level
        if len(level) == 1:
            return nodes
        level = join(level[::2], level[1::2])
