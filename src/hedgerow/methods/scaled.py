"""Publish a table that is larger than memory: what a method decides on counts, and what it does in each block.

A method that can do so has `_plan_blocks`: it looks at the counts of the whole table, says which rows belong to which
block, and how a block is published. A block holds whole groups and its codes, domains and places are those of the whole
table, so that the kernels, forms and criteria of `publish` run in it as they are. A group that is larger than a block
is a run of blocks: each has a random share of the group's rows and an independent random share of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    groups numbered from 0. `runs` lists the blocks, those of one group that several blocks share together.
    """

    placing: Placing
    publish: Callable[[int, Prepared], Release]
    runs: Sequence[Sequence[int]]


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


def pack_blocks(rows: NDArray[np.int64], most: int) -> tuple[NDArray[np.int32], list[list[int]]]:
    """Put groups, in the given order, into blocks of at most `most` rows, and larger groups into several blocks each.

    Returned are the (first) block of each group and the runs of blocks.
    """
    first, runs, filled, block = np.empty(len(rows), np.int32), list[list[int]](), 0, -1
    for group, size in enumerate(rows.tolist()):
        if size > most:
            shares = -(-size // most)
            runs.append(list(range(block + 1, block + 1 + shares)))
            first[group], block, filled = block + 1, block + shares, most
        elif block < 0 or filled + size > most:
            block, filled = block + 1, size
            runs.append([block])
            first[group] = block
        else:
            filled += size
            first[group] = block
    return first, runs


@dataclass(frozen=True, eq=False)
class Decided:
    """What is left to do when everything is decided: run `block` on the blocks in this secret order.

    `continues` tells for each of them whether it goes on with the last group of the block before it.
    """

    whole: Prepared
    block: BlockWork
    order: tuple[int, ...]
    continues: tuple[bool, ...]


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
    order = [plan.runs[place] for place in permutation(len(plan.runs), keys=order_keys(keys)).tolist()]
    return Decided(
        # Keys of a seeded source are a closure, which no other process needs: blocks draw their own.
        whole=replace(whole, keys=system_keys),
        block=BlockWork(plan.publish, replace(whole, keys=system_keys), counted.coder, seed),
        order=tuple(block for run in order for block in run),
        continues=tuple(place > 0 for run in order for place in range(len(run))),
    )
