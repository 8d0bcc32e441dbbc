"""Publish a table that is larger than memory: what a method decides on counts, and what it does in each block.

A method that can do so has `_plan_blocks`: it looks at the counts of the whole table, says which rows belong to which
block, and how a block is published. A block holds whole groups and its codes, domains and places are those of the whole
table, so that the kernels, forms and criteria of `publish` run in it as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.methods.prepared import Prepared
from hedgerow.partition.shuffles import permutation
from hedgerow.randomness import order_keys, seeded_keys, system_keys
from hedgerow.release import Release
from hedgerow.scale.coding import Coder, CountedTable
from hedgerow.scale.dealing import Placing

__all__ = ["BlockPlan", "BlockWork", "Decided", "decide_and_scatter", "pack_blocks"]


@dataclass(frozen=True, eq=False)
class BlockPlan:
    """Which rows go to which block, and how one is published.

    `publish` takes the number of a block and its rows; the release that it returns has the block's rows alone, and
    groups numbered from 0.
    """

    placing: Placing
    publish: Callable[[int, Prepared], Release]


@dataclass(frozen=True, eq=False)
class BlockWork:
    """What is to be done with a block; it can be sent to another process. `seed` makes it reproducible and insecure."""

    plan: Callable[[int, Prepared], Release]
    whole: Prepared
    coder: Coder
    seed: int | None

    def __call__(self, number: int, coded: pa.Table) -> Release:
        """Publish a block of coded rows."""
        keys = system_keys if self.seed is None else seeded_keys(hash((self.seed, number)) & (2**63 - 1))
        return self.plan(number, replace(self.whole, table=self.coder.table(coded), keys=keys))


def pack_blocks(rows: NDArray[np.int64], most: int) -> NDArray[np.int32]:
    """The block of each group: groups in the given order fill blocks of at most `most` rows, larger ones one alone."""
    blocks, filled, block = np.empty(len(rows), np.int32), most + 1, -1
    for group, size in enumerate(rows.tolist()):
        if filled + size > most:
            block, filled = block + 1, 0
        blocks[group] = block
        filled += size
    return blocks


@dataclass(frozen=True, eq=False)
class Decided:
    """What is left to do when everything is decided: run `block` on the blocks in this secret order."""

    whole: Prepared
    block: BlockWork
    order: tuple[int, ...]


def decide_and_scatter(
    decide: Callable[[Prepared, CountedTable], BlockPlan], counted: CountedTable, *, seed: int | None = None
) -> Decided:
    """Decide on counts and bring the rows of each block together: the steps of the plan before the kernels."""
    keys = system_keys if seed is None else seeded_keys(seed)
    whole = Prepared(
        table=counted.example,
        schema=counted.schema,
        columns=counted.columns,
        rows=counted.rows,
        keys=keys,
        reproducible=seed is not None,
        merged=counted.merged,
    )
    plan = decide(whole, counted)
    counted.engine.scatter(counted.coder, plan.placing)
    return Decided(
        # Keys of a seeded source are a closure, which no other process needs: blocks draw their own.
        whole=replace(whole, keys=system_keys),
        block=BlockWork(plan.publish, replace(whole, keys=system_keys), counted.coder, seed),
        order=tuple(permutation(plan.placing.num_blocks, keys=order_keys(keys)).tolist()),
    )
