"""Add at most t fake values so that the generalization towards a target has the least total range.

Source     dissertation on permutation-based microdata protection, section 3.5 and algorithm 4
Guarantee  no multiset of at most t fake values gives least_range a smaller sum of ranges (with blocks: no multiset
           whose numbers per value are multiples of the block)
Cost       O(t^2 (n + t nodes) / 2) steps in the worst case for ratios of 1:1, fewer for larger ratios; t in blocks
Deviates   the printed recurrence sums where it must minimize and loses the fakes in its last term. Any fan-out: how
           often the ratio of weights is pushed down is a state of the program instead of a consequence of one split

For a node let cost(k, m) be the least cost with k fakes below it and m of its values kept there. If the ratio of the
children's weights is pushed down c times, child i keeps c w_i values and the node (m - c W) of them, so

    cost(k, m) = m range + min over c <= m / W of [ sum of cost_i(x_i, c w_i) - c W range ],  x_1 + x_2 + ... = k.

The bracket depends on (c, k) alone: one table per node, filled by min-plus convolutions over the children.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.kernel import kernel
from hedgerow.partition.forest import planted
from hedgerow.schema.hierarchy import Hierarchy

__all__ = ["Fakes", "fake_values", "least_block", "work"]

_NEVER = 2**60
_MOST_CELLS = 60_000_000
_PLAIN = 4096


@dataclass(frozen=True, eq=False)
class Fakes:
    """The cheapest fakes: how many of each value in leaf order, and the least cost for each number of blocks."""

    counts: NDArray[np.int64]
    costs: NDArray[np.int64]
    block: int

    @property
    def number(self) -> int:
        """How many fakes are added."""
        return int(self.counts.sum())


def fake_values(
    counts: NDArray[np.int64], tree: Hierarchy, ranges: NDArray[np.int64], *, most: int, block: int = 1
) -> Fakes:
    """Choose at most `most` fakes, the fewest among equally good, added to each value in multiples of `block`."""
    if most < 0 or block < 1:
        raise ParameterError("'most' must be at least 0 and 'block' at least 1.")
    layout = _layout(counts, tree, most // block, block)
    if layout.cells > _MOST_CELLS:
        raise ParameterError(
            f"this many fake values on this hierarchy need {layout.cells:,} cells; allow fewer, add them in larger "
            "blocks, or use a coarser hierarchy."
        )
    # The program is kept out of the compiler where the loop is short: a group of thirty rows has two fakes.
    run = _program.plain if work(counts, tree, most, block) < _PLAIN else _program.compiled
    chosen, costs = run(
        layout.inside, layout.tops, layout.starts, layout.splits, layout.cells, layout.split_cells,
        layout.weights, layout.children, layout.first, layout.fan, ranges, most // block, block,
    )  # fmt: skip
    return Fakes(chosen[: tree.num_leaves] * block, costs, block)


def work(counts: NDArray[np.int64], tree: Hierarchy, most: int, block: int = 1) -> int:
    """About how many steps the program takes: what a caller compares with its patience."""
    layout = _layout(counts, tree, most // block, block)
    return (layout.split_cells + layout.cells) * (most // block + 1)


def least_block(counts: NDArray[np.int64], tree: Hierarchy, *, most: int, patience: int) -> int:
    """The smallest power of two as block with which the program fits into memory and takes at most `patience` steps."""
    block = 1
    while _layout(counts, tree, most // block, block).cells > _MOST_CELLS or work(counts, tree, most, block) > patience:
        block *= 2
    return block


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where each node's tables lie: (tops + 1) x (t + 1) cells, and as many splits for each child but the first."""

    inside: NDArray[np.int64]
    tops: NDArray[np.int64]
    starts: NDArray[np.int64]
    splits: NDArray[np.int64]
    cells: int
    split_cells: int
    weights: NDArray[np.int64]
    children: NDArray[np.int32]
    first: NDArray[np.int32]
    fan: NDArray[np.int32]


def _layout(counts: NDArray[np.int64], tree: Hierarchy, most: int, block: int) -> _Layout:
    forest = planted(tree)
    shape, weights = forest.shape, forest.weights
    prefix = np.append(0, np.cumsum(counts))
    inside = prefix[tree.high] - prefix[tree.low]
    totals = np.zeros(tree.num_nodes, np.int64)
    np.add.at(totals, tree.parents[:-1], weights[:-1])
    tops = np.where(totals > 0, (inside + most * block) // np.maximum(totals, 1), 0)
    sizes = np.where(shape.fan > 0, (tops + 1) * (most + 1), 0)
    split_sizes = sizes * np.maximum(shape.fan - 1, 0)
    return _Layout(
        inside, tops, np.cumsum(sizes) - sizes, np.cumsum(split_sizes) - split_sizes, int(sizes.sum()),
        int(split_sizes.sum()), weights, shape.children, shape.first, shape.fan,
    )  # fmt: skip


@kernel
def _cost(
    node: int,
    fakes: int,
    kept: int,
    inside: NDArray[np.int64],
    tops: NDArray[np.int64],
    starts: NDArray[np.int64],
    best: NDArray[np.int64],
    fan: NDArray[np.int32],
    weights: NDArray[np.int64],
    total: NDArray[np.int64],
    ranges: NDArray[np.int64],
    most: int,
    block: int,
) -> int:
    """The least cost of keeping `kept` values below a node that gets `fakes` blocks of fakes."""
    if kept > inside[node] + fakes * block:
        return _NEVER
    if fan[node] == 0:
        return 0
    units = 0 if total[node] == 0 else min(kept // total[node], tops[node])
    cost: int = kept * ranges[node] + best[starts[node] + units * (most + 1) + fakes]
    return cost


@kernel
def _convolve(
    column: NDArray[np.int64], before: NDArray[np.int64], row: NDArray[np.int64], split: NDArray[np.int32]
) -> None:
    """row[k] = least of column[x] + before[k - x]; split[k] is the x that reaches it."""
    # Below these numbers of blocks a side cannot keep what the ratio asks of it.
    least_here, least_before = 0, 0
    while least_here < len(row) and column[least_here] >= _NEVER:
        least_here += 1
    while least_before < len(row) and before[least_before] >= _NEVER:
        least_before += 1
    for k in range(len(row)):
        cheapest, chosen = _NEVER, 0
        for x in range(least_here, k - least_before + 1):
            cost = column[x] + before[k - x]
            if cost < cheapest:
                cheapest, chosen = cost, x
        row[k] = cheapest
        split[k] = chosen


@kernel
def _fill(
    node: int,
    inside: NDArray[np.int64],
    tops: NDArray[np.int64],
    starts: NDArray[np.int64],
    splits: NDArray[np.int64],
    weights: NDArray[np.int64],
    children: NDArray[np.int32],
    first: NDArray[np.int32],
    fan: NDArray[np.int32],
    ranges: NDArray[np.int64],
    total: NDArray[np.int64],
    best: NDArray[np.int64],
    pushed: NDArray[np.int32],
    split: NDArray[np.int32],
    most: int,
    block: int,
) -> None:
    """Fill a node's table: for each number of units pushed down and of blocks below it the least gain so far."""
    width = most + 1
    row, before, column = np.zeros(width, np.int64), np.zeros(width, np.int64), np.zeros(width, np.int64)
    for units in range(tops[node] + 1):
        for i in range(fan[node]):
            child = children[first[node] + i]
            kept = units * weights[child]
            for k in range(width):
                column[k] = _cost(child, k, kept, inside, tops, starts, best, fan, weights, total, ranges, most, block)
            if i == 0:
                row[:] = column
                continue
            before[:] = row
            at = splits[node] + ((i - 1) * (tops[node] + 1) + units) * width
            _convolve(column, before, row, split[at : at + width])
        at = starts[node] + units * width
        for k in range(width):
            gain = row[k] - units * total[node] * ranges[node] if row[k] < _NEVER else _NEVER
            best[at + k], pushed[at + k] = gain, units
            if units > 0 and best[at - width + k] <= gain:
                best[at + k], pushed[at + k] = best[at - width + k], pushed[at - width + k]


@kernel
def _walk_back(
    cheapest: int,
    inside: NDArray[np.int64],
    tops: NDArray[np.int64],
    starts: NDArray[np.int64],
    splits: NDArray[np.int64],
    weights: NDArray[np.int64],
    children: NDArray[np.int32],
    first: NDArray[np.int32],
    fan: NDArray[np.int32],
    total: NDArray[np.int64],
    pushed: NDArray[np.int32],
    split: NDArray[np.int32],
    width: int,
    block: int,
) -> NDArray[np.int64]:
    """The blocks that each leaf gets when `cheapest` of them are added in all."""
    root = len(fan) - 1
    given, kept = np.zeros(len(fan), np.int64), np.zeros(len(fan), np.int64)
    given[root], kept[root] = cheapest, inside[root] + cheapest * block
    for node in range(root, -1, -1):
        if fan[node] == 0:
            continue
        units = 0 if total[node] == 0 else min(kept[node] // total[node], tops[node])
        units = pushed[starts[node] + units * width + given[node]]
        left = given[node]
        for i in range(fan[node] - 1, -1, -1):
            child = children[first[node] + i]
            chosen = left
            if i > 0:
                chosen = split[splits[node] + ((i - 1) * (tops[node] + 1) + units) * width + left]
            given[child], kept[child] = chosen, units * weights[child]
            left -= chosen
        given[node] = 0
    return given


@kernel
def _program(
    inside: NDArray[np.int64],
    tops: NDArray[np.int64],
    starts: NDArray[np.int64],
    splits: NDArray[np.int64],
    cells: int,
    split_cells: int,
    weights: NDArray[np.int64],
    children: NDArray[np.int32],
    first: NDArray[np.int32],
    fan: NDArray[np.int32],
    ranges: NDArray[np.int64],
    most: int,
    block: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    best, pushed, split = np.zeros(cells, np.int64), np.zeros(cells, np.int32), np.zeros(split_cells, np.int32)
    total = np.zeros(len(fan), np.int64)
    for node in range(len(fan)):
        for i in range(fan[node]):
            total[node] += weights[children[first[node] + i]]
        if fan[node] > 0:
            _fill(
                node, inside, tops, starts, splits, weights, children, first, fan, ranges, total, best, pushed, split,
                most, block,
            )  # fmt: skip
    root = len(fan) - 1
    costs = np.zeros(most + 1, np.int64)
    cheapest = 0
    for k in range(most + 1):
        kept = inside[root] + k * block
        costs[k] = _cost(root, k, kept, inside, tops, starts, best, fan, weights, total, ranges, most, block)
        if costs[k] < costs[cheapest]:
            cheapest = k
    given = _walk_back(
        cheapest, inside, tops, starts, splits, weights, children, first, fan, total, pushed, split, most + 1, block
    )
    return given, costs
