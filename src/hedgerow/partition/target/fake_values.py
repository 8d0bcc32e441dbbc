"""Add at most t fake values so that the generalization towards a target has the least total range.

Source     [Zhang 2008], section 3.5 and algorithm 4
Guarantee  no multiset of at most t fake values gives least_range a smaller sum of ranges (with blocks: no multiset
           whose numbers per value are multiples of the block)
Cost       O(t^2 (n + t nodes) / 2) steps in the worst case for ratios of 1:1, fewer for larger ratios; t in blocks
Deviates   the printed recurrence sums where it must minimize and loses the fakes in its last term. Any fan-out: how
           often the ratio of weights is pushed down is a state of the program instead of a consequence of one split

For a node let cost(k, m) be the least cost with k fakes below it and m of its values kept there. If the ratio of the
children's weights is pushed down c times, child i keeps c w_i values and the node (m - c W) of them, so

    cost(k, m) = m range + min over c <= m / W of [ sum of cost_i(x_i, c w_i) - c W range ],  x_1 + x_2 + ... = k.

The bracket depends on (c, k) alone: one table per node, filled by min-plus convolutions over the children.

Choose the subdomains of many groups: exactly by the target, with fake values, or within a shift.

Source     [Zhang 2008], sections 3.4 to 3.6
Guarantee  every group satisfies criteria.target for its tree
Cost       one pass over the entries without fakes and shift; otherwise one program per group
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.errors import ParameterError
from hedgerow.kernel import kernel
from hedgerow.partition.target.least_range import (
    PublishedNodes,
    arrays_of_tree,
    arrays_of_trees,
    least_range,
    least_range_groups,
    node_counts,
    node_ranges,
)
from hedgerow.schema.hierarchy import Hierarchy

_NEVER = 2**60
_MOST_CELLS = 60_000_000
_PLAIN = 4096


@dataclass(frozen=True, eq=False)
class Fakes:
    """The cheapest fakes: how many of each value in leaf order, and the least cost for each number of blocks."""

    counts: Ints
    costs: Ints
    block: int

    @property
    def number(self) -> int:
        """How many fakes are added."""
        return int(self.counts.sum())


def fake_values(counts: Ints, tree: Hierarchy, ranges: Ints, *, most: int, block: int = 1) -> Fakes:
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
    chosen, costs = run(layout.task, ranges, layout.memory())
    return Fakes(chosen[: tree.num_leaves] * block, costs, block)


def work(counts: Ints, tree: Hierarchy, most: int, block: int = 1) -> int:
    """About how many steps the program takes: what a caller compares with its patience."""
    layout = _layout(counts, tree, most // block, block)
    return (layout.split_cells + layout.cells) * (most // block + 1)


def least_block(counts: Ints, tree: Hierarchy, *, most: int, patience: int) -> int:
    """The smallest power of two as block with which the program fits into memory and takes at most `patience` steps."""
    block = 1
    while _layout(counts, tree, most // block, block).cells > _MOST_CELLS or work(counts, tree, most, block) > patience:
        block *= 2
    return block


class _Task(NamedTuple):
    """A tree, the values below each node and the fakes to choose; `best` of node v begins at cell `starts[v]`."""

    inside: Ints
    weights: Ints
    totals: Ints
    children: NDArray[np.int32]
    first: NDArray[np.int32]
    fan: NDArray[np.int32]
    tops: Ints
    starts: Ints
    splits: Ints
    most: int
    block: int


class _Memory(NamedTuple):
    """The least gain by units pushed down and blocks below a node, the units and the shares that reach it."""

    best: Ints
    pushed: NDArray[np.int32]
    split: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class _Layout:
    """A task and the memory that it needs: (tops + 1) x (t + 1) cells per node, and as many per child but the first."""

    task: _Task
    cells: int
    split_cells: int

    def memory(self) -> _Memory:
        return _Memory(
            np.zeros(self.cells, np.int64), np.zeros(self.cells, np.int32), np.zeros(self.split_cells, np.int32)
        )


def _layout(counts: Ints, tree: Hierarchy, most: int, block: int) -> _Layout:
    forest = arrays_of_tree(tree)
    shape, weights = forest.shape, forest.weights
    prefix = np.append(0, np.cumsum(counts))
    inside = prefix[tree.high] - prefix[tree.low]
    totals = np.zeros(tree.num_nodes, np.int64)
    np.add.at(totals, tree.parents[:-1], weights[:-1])
    tops = np.where(totals > 0, (inside + most * block) // np.maximum(totals, 1), 0)
    sizes = np.where(shape.fan > 0, (tops + 1) * (most + 1), 0)
    split_sizes = sizes * np.maximum(shape.fan - 1, 0)
    task = _Task(
        inside, weights, totals, shape.children, shape.first, shape.fan, tops,
        np.cumsum(sizes) - sizes, np.cumsum(split_sizes) - split_sizes, most, block,
    )  # fmt: skip
    return _Layout(task, int(sizes.sum()), int(split_sizes.sum()))


@kernel
def _program(task: _Task, ranges: Ints, memory: _Memory) -> tuple[Ints, Ints]:
    """The blocks of each node in the cheapest choice, and the least cost for each number of blocks."""
    root = len(task.fan) - 1
    for node in range(root + 1):
        if task.fan[node] > 0:
            _fill(task, ranges, memory, node)
    costs = np.zeros(task.most + 1, np.int64)
    cheapest = 0
    for k in range(task.most + 1):
        costs[k] = _cost(task, ranges, memory.best, root, k, task.inside[root] + k * task.block)
        if costs[k] < costs[cheapest]:
            cheapest = k
    return _walk_back(task, memory, cheapest), costs


@kernel
def _fill(task: _Task, ranges: Ints, memory: _Memory, node: int) -> None:
    """Fill a node's table: for each number of units pushed down and of blocks below it the least gain so far."""
    width = task.most + 1
    best, pushed = memory.best, memory.pushed
    row, before, column = np.zeros(width, np.int64), np.zeros(width, np.int64), np.zeros(width, np.int64)
    for units in range(task.tops[node] + 1):
        for i in range(task.fan[node]):
            child = task.children[task.first[node] + i]
            for k in range(width):
                column[k] = _cost(task, ranges, best, child, k, units * task.weights[child])
            if i == 0:
                row[:] = column
                continue
            before[:] = row
            at = task.splits[node] + ((i - 1) * (task.tops[node] + 1) + units) * width
            _convolve(column, before, row, memory.split[at : at + width])
        at = task.starts[node] + units * width
        for k in range(width):
            gain = row[k] - units * task.totals[node] * ranges[node] if row[k] < _NEVER else _NEVER
            best[at + k], pushed[at + k] = gain, units
            if units > 0 and best[at - width + k] <= gain:
                best[at + k], pushed[at + k] = best[at - width + k], pushed[at - width + k]


@kernel
def _cost(task: _Task, ranges: Ints, best: Ints, node: int, fakes: int, kept: int) -> int:
    """The least cost of keeping `kept` values below a node that gets `fakes` blocks of fakes."""
    if kept > task.inside[node] + fakes * task.block:
        return _NEVER
    if task.fan[node] == 0:
        return 0
    cost: int = kept * ranges[node] + best[task.starts[node] + _units(task, node, kept) * (task.most + 1) + fakes]
    return cost


@kernel
def _units(task: _Task, node: int, kept: int) -> int:
    """How often the ratio of the children can be pushed down from `kept` values."""
    units: int = 0 if task.totals[node] == 0 else min(kept // task.totals[node], task.tops[node])
    return units


@kernel
def _convolve(column: Ints, before: Ints, row: Ints, split: NDArray[np.int32]) -> None:
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
def _walk_back(task: _Task, memory: _Memory, cheapest: int) -> Ints:
    """The blocks that each leaf gets when `cheapest` of them are added in all."""
    width, root = task.most + 1, len(task.fan) - 1
    given, kept = np.zeros(root + 1, np.int64), np.zeros(root + 1, np.int64)
    given[root], kept[root] = cheapest, task.inside[root] + cheapest * task.block
    for node in range(root, -1, -1):
        if task.fan[node] == 0:
            continue
        units = memory.pushed[task.starts[node] + _units(task, node, kept[node]) * width + given[node]]
        left = given[node]
        for i in range(task.fan[node] - 1, -1, -1):
            child = task.children[task.first[node] + i]
            chosen = left
            if i > 0:
                chosen = memory.split[task.splits[node] + ((i - 1) * (task.tops[node] + 1) + units) * width + left]
            given[child], kept[child] = chosen, units * task.weights[child]
            left -= chosen
        given[node] = 0
    return given


PATIENCE = 20_000_000_000
"""Steps of the fake-value program, about a billion a second, that one group may take before fakes come in blocks."""

Chooser = Callable[[Ints, Hierarchy], Ints]


def disguise(
    leaves: NDArray[np.int32],
    offsets: Ints,
    trees: Sequence[Hierarchy],
    which: NDArray[np.int32],
    *,
    fakes: Fraction = Fraction(0),
    shift: Fraction = Fraction(0),
) -> PublishedNodes:
    """Generalize groups of leaf codes, one per row; `which[g]` is the tree of group g."""
    if fakes and shift:
        raise ParameterError("fake values and a shift factor exclude each other; give one of them.")
    if fakes:
        return _one_by_one(leaves, offsets, trees, which, lambda counts, tree: with_fakes(counts, tree, fakes))
    if shift:
        return _one_by_one(leaves, offsets, trees, which, lambda counts, tree: node_counts(counts, tree, shift=shift))
    return least_range_groups(*_entries(leaves, offsets, trees), arrays_of_trees(trees), which)


def with_fakes(counts: Ints, tree: Hierarchy, share: Fraction) -> Ints:
    """Publish the values with the best fakes, at most `share` of their number; in blocks where that would take long."""
    most = int(share * int(counts.sum()))
    if most == 0:
        return least_range(counts, tree)
    block = least_block(counts, tree, most=most, patience=PATIENCE)
    best = fake_values(counts, tree, node_ranges(tree)[0], most=most, block=block)
    return least_range(counts + best.counts, tree)


def _entries(
    leaves: NDArray[np.int32], offsets: Ints, trees: Sequence[Hierarchy]
) -> tuple[NDArray[np.int32], Ints, Ints]:
    """Rows as entries; counted where a group has many more rows than there are values."""
    groups, width = len(offsets) - 1, max(tree.num_leaves for tree in trees)
    if groups * width > len(leaves):
        return leaves, np.ones(len(leaves), np.int64), offsets
    counts = np.stack([np.bincount(leaves[a:b], minlength=width) for a, b in pairwise(offsets.tolist())])
    owner, values = np.nonzero(counts)
    return values.astype(np.int32), counts[owner, values], np.searchsorted(owner, np.arange(groups + 1))


def _one_by_one(
    leaves: NDArray[np.int32], offsets: Ints, trees: Sequence[Hierarchy], which: NDArray[np.int32], choose: Chooser
) -> PublishedNodes:
    nodes, counts, ends = [], [], [0]
    for group, tree_number in enumerate(which.tolist()):
        tree = trees[tree_number]
        published = choose(np.bincount(leaves[offsets[group] : offsets[group + 1]], minlength=tree.num_leaves), tree)
        found = np.flatnonzero(published)
        nodes.append(found.astype(np.int32))
        counts.append(published[found])
        ends.append(ends[-1] + len(found))
    return PublishedNodes(np.concatenate(nodes), np.concatenate(counts), np.array(ends))
