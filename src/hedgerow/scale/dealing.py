"""Deal rows to blocks by exact numbers, uniformly, though no block of rows is seen twice.

Source     own; the draw is that of an urn without replacement, batch after batch
Guarantee  of the rows of a class exactly so many go to each block as the plan says, and every such assignment is
           equally likely; where several tasks see the rows, a multivariate hypergeometric draw divides the urns first
Cost       one step a row of a class that lies in one block; one 64-bit key and as many steps as the class has blocks
           for the others
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.errors import InputError
from hedgerow.kernel import kernel
from hedgerow.randomness import Keys, system_keys

CHANGED = (
    "The table changed while it was read: a second pass over it found other rows than the first. Publish it again."
)

_NEGLIGIBLE = 1e-25


@dataclass(eq=False)
class Placing:
    """Which block takes a row: `rows[i]` rows of class c go to `blocks[i]`, for i in starts[c]:starts[c + 1].

    `classify` gives the class of each row of a coded batch. It has to be a function of the row alone, so that it says
    the same in every pass. `place` uses up the urns: with several tasks, call `tally` in each one, and give every
    task its own share of the urns (`divide`).
    """

    classify: Callable[[pa.Table], NDArray[np.int32]]
    starts: Ints
    blocks: NDArray[np.int32]
    rows: Ints
    keys: Keys = system_keys
    left: Ints = field(init=False)

    def __post_init__(self) -> None:
        self.rows = self.rows.astype(np.int64)
        self.left = np.add.reduceat(np.append(self.rows, 0), self.starts[:-1]) * (np.diff(self.starts) > 0)

    @classmethod
    def of(
        cls,
        classify: Callable[[pa.Table], NDArray[np.int32]],
        classes: NDArray[np.int32],
        blocks: NDArray[np.int32],
        rows: Ints,
        *,
        size: int,
        keys: Keys = system_keys,
    ) -> Placing:
        """Put together urns of `size` classes from triples (class, block, rows) in any order; equal pairs add up."""
        width = int(blocks.max(initial=0)) + 1
        pairs, places = np.unique(classes.astype(np.int64) * width + blocks, return_inverse=True)
        summed = np.zeros(len(pairs), np.int64)
        np.add.at(summed, places, rows)
        starts = np.searchsorted(pairs, np.arange(size + 1) * width)
        return cls(classify, starts, (pairs % width).astype(np.int32), summed, keys)

    @classmethod
    def of_table(
        cls, classify: Callable[[pa.Table], NDArray[np.int32]], table: Ints, *, keys: Keys = system_keys
    ) -> Placing:
        """Put together urns from a table of rows with a line for each class and a column for each block."""
        own, block = np.nonzero(table)
        counts = table[own, block]
        return cls.of(classify, own.astype(np.int32), block.astype(np.int32), counts, size=len(table), keys=keys)

    @property
    def num_blocks(self) -> int:
        """How many blocks there are."""
        return int(self.blocks.max(initial=0)) + 1

    @property
    def sizes(self) -> Ints:
        """The rows that each block is still to get."""
        return np.bincount(self.blocks, self.rows, minlength=self.num_blocks).astype(np.int64)

    def tally(self, batch: pa.Table) -> Ints:
        """The rows of each class in a batch."""
        return np.bincount(self.classify(batch), minlength=len(self.left)).astype(np.int64)

    def divide(self, tallies: Sequence[Ints]) -> list[Placing]:
        """Divide the urns among tasks that will see so many rows of each class."""
        if not np.array_equal(sum(tallies, np.zeros_like(self.left)), self.left):
            raise InputError(CHANGED)
        drawn = np.zeros((len(tallies), len(self.rows)), np.int64)
        for one in range(len(self.left)):
            own = slice(int(self.starts[one]), int(self.starts[one + 1]))
            drawn[:, own] = draw_tables(self.rows[own], np.array([tally[one] for tally in tallies]), keys=self.keys)
        return [Placing(self.classify, self.starts, self.blocks, share, self.keys) for share in drawn]

    def place(self, batch: pa.Table) -> NDArray[np.int32]:
        """The block of each row of a batch, drawn from the urns."""
        classes = self.classify(batch)
        if len(classes) and int(classes.max()) >= len(self.left):
            raise InputError(CHANGED)
        keys = self.keys(int((np.diff(self.starts) > 1)[classes].sum()))
        chosen = np.empty(len(classes), np.int32)
        if not _draw(classes, keys, (self.starts, self.blocks), self.rows, self.left, chosen):
            raise InputError(CHANGED)
        return chosen

    def finish(self) -> None:
        """Raise InputError unless every row that was counted has come."""
        if self.left.any():
            raise InputError(CHANGED)


@kernel
def _draw(
    classes: NDArray[np.int32],
    keys: NDArray[np.uint64],
    urns: tuple[Ints, NDArray[np.int32]],
    rows: Ints,
    left: Ints,
    chosen: NDArray[np.int32],
) -> bool:
    """Draw a block for each row; False if an urn is empty."""
    starts, blocks = urns
    drawn = 0
    for n in range(len(classes)):
        own = classes[n]
        if left[own] <= 0:
            return False
        place = starts[own]
        if starts[own + 1] - place > 1:
            # The remainder of a 64-bit key favours no row by more than their number / 2^64.
            ticket = np.int64(keys[drawn] % np.uint64(left[own]))
            drawn += 1
            while ticket >= rows[place]:
                ticket -= rows[place]
                place += 1
        chosen[n] = blocks[place]
        rows[place] -= 1
        left[own] -= 1
    return True


def draw_tables(counts: Ints, sizes: Ints, *, keys: Keys = system_keys) -> Ints:
    """Draw how many things of each kind fall into each bin: `counts` by kind, `sizes` by bin, equal in total.

    The result has a line a bin; it is distributed as if all things were shuffled and dealt one by one.
    """
    table = np.zeros((len(sizes), len(counts)), np.int64)
    _fill(counts.astype(np.int64).copy(), sizes.astype(np.int64), keys(len(counts) * len(sizes)), table)
    return table


@kernel
def _fill(counts: Ints, sizes: Ints, keys: NDArray[np.uint64], table: Ints) -> None:
    """Draw `sizes[i]` items without replacement for each line i, and write how many of each kind it gets."""
    drawn = 0
    for line in range(len(sizes)):
        wanted, total = sizes[line], np.int64(0)
        for kind in range(len(counts)):
            total += counts[kind]
        for kind in range(len(counts)):
            total -= counts[kind]
            taken = hypergeometric(counts[kind], total, wanted, keys[drawn])
            drawn += 1
            table[line, kind] = taken
            counts[kind] -= taken
            wanted -= taken


@kernel
def hypergeometric(good: int, bad: int, draws: int, key: int) -> int:
    """How many of `draws` things are among the `good` ones: the quantile of a key, counted from the mode outwards.

    Weights come from the ratio of neighbours, so that they are right to the last digits of a float at any size.
    """
    low, high = max(0, draws - bad), min(good, draws)
    if low == high:
        return low
    mode = min(max(int((draws + 1.0) * (good + 1.0) / (good + bad + 2.0)), low), high)
    total, rest = 1.0, 0.0
    for walk in range(2):
        if walk == 1:
            rest = float(np.uint64(key) >> np.uint64(11)) * 2.0**-53 * total - 1.0
            if rest < 0.0:
                return mode
        weight, x = 1.0, mode
        while x < high and weight > _NEGLIGIBLE:
            weight *= (good - x) * 1.0 * (draws - x) / ((x + 1.0) * (bad - draws + x + 1.0))
            x += 1
            total += weight * (1 - walk)
            rest -= weight
            if walk == 1 and rest < 0.0:
                return x
        weight, x = 1.0, mode
        while x > low and weight > _NEGLIGIBLE:
            weight *= x * 1.0 * (bad - draws + x) / ((good - x + 1.0) * (draws - x + 1.0))
            x -= 1
            total += weight * (1 - walk)
            rest -= weight
            if walk == 1 and rest < 0.0:
                return x
    return mode
