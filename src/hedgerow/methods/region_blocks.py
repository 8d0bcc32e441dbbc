"""Blocks that are regions of quasi-identifiers: the first cuts of Mondrian, made on counts of the whole table.

Source     [LeFevre 2006]; the choice of cuts is that of `partition/mondrian`
Guarantee  both sides of every cut satisfy the full criterion, compared with the whole table; strict Mondrian inside of
           the blocks gives the groups that it gives on the whole table
Cost       a pass over the coded rows per level of the first cuts, and one for each cut that the criterion forbids;
           memory on the driver for a histogram of every tested column on both sides of the cuts of one level

A region is cut as long as it has more rows than a block may have. Its histograms are counted together with the
trial of the cut that makes it, so that a cut that holds costs no further pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Counts
from hedgerow.criteria.groupwise import Limits
from hedgerow.kernel import kernel
from hedgerow.methods.prepared import Prepared
from hedgerow.methods.row_groups import axes_of
from hedgerow.partition.mondrian.grow import DONE, LEAF, border_of, median_of, next_widest, tree_border
from hedgerow.partition.mondrian.records import SplitRules
from hedgerow.partition.mondrian.split import split_rules
from hedgerow.scale.coding import CountedTable, codes_of
from hedgerow.scale.dealing import Placing

Holds = Callable[[Sequence[Counts]], bool]
"""Tell from the counts of each tested column whether a region may be a block."""

_MOST_COUNTED = 1 << 24
"""Numbers that are counted in one pass."""


@dataclass(frozen=True, eq=False)
class RegionTree:
    """Cuts of regions: a row of node n goes to `left[n]` if its code in `column[n]` is at most `code[n]`.

    A node without a column is a region, numbered by `number[n]`. `places` maps the codes of a column with a hierarchy
    to the order of its leaves.
    """

    names: tuple[str, ...]
    places: tuple[NDArray[np.int32] | None, ...]
    column: NDArray[np.int64]
    code: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    number: NDArray[np.int32]

    def fields(self, batch: pa.Table) -> NDArray[np.int32]:
        """The quasi-identifiers of a coded batch, a line each."""
        lines = [codes_of(batch, name) for name in self.names]
        return np.stack([line if own is None else own[line] for line, own in zip(lines, self.places, strict=True)])

    def __call__(self, batch: pa.Table) -> NDArray[np.int32]:
        """The region of each row of a coded batch."""
        return self.regions(self.fields(batch))

    def regions(self, fields: NDArray[np.int32]) -> NDArray[np.int32]:
        """The region of each row."""
        found = np.empty(fields.shape[1], np.int32)
        _descend(fields, self.column, self.code, self.left, self.right, self.number, found)
        return found


@kernel
def _descend(
    fields: NDArray[np.int32],
    column: NDArray[np.int64],
    code: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    number: NDArray[np.int32],
    found: NDArray[np.int32],
) -> None:
    """Follow the cuts of the tree for each row, and write the number of its region."""
    for row in range(len(found)):
        node = 0
        while column[node] >= 0:
            node = left[node] if fields[column[node], row] <= code[node] else right[node]
        found[row] = number[node]


@dataclass(eq=False)
class _Region:
    """A region that may be cut: histograms of its quasi-identifiers, counts of the tested columns, what was tried."""

    node: int
    known: list[Counts]
    tested: list[Counts]
    tried: NDArray[np.int16]
    cut: tuple[int, int] = (LEAF, 0)

    @property
    def rows(self) -> int:
        return int(self.known[0].sum())


@dataclass(eq=False)
class _Tree:
    column: list[int] = field(default_factory=lambda: [LEAF])
    code: list[int] = field(default_factory=lambda: [0])
    left: list[int] = field(default_factory=lambda: [0])
    right: list[int] = field(default_factory=lambda: [0])

    def cut(self, node: int, column: int, code: int) -> tuple[int, int]:
        first = len(self.column)
        self.column[node], self.code[node], self.left[node], self.right[node] = column, code, first, first + 1
        for _ in range(2):
            self.column.append(LEAF)
            self.code.append(0)
            self.left.append(0)
            self.right.append(0)
        return first, first + 1


def cut_regions(whole: Prepared, counted: CountedTable, tested: Sequence[str], holds: Holds, *, least: int) -> Placing:
    """Cut the table into regions of at most a block's rows, as far as both sides of each cut hold."""
    engine, names = counted.engine, whole.columns.quasi
    columns = [counted.column(name) for name in (*names, *tested)]
    axes = axes_of(whole)
    places = tuple(_places(whole, name) for name in names)
    ranks = list(axes.ranks)
    rules = split_rules(axes.scales, ranks, [Limits.of(np.ones(1, np.int64), rows=least)], False)
    sizes = [len(scale) for scale in axes.scales]
    known = [
        column.counts
        if own is None
        else np.bincount(own[: column.size], column.counts, minlength=size).astype(np.int64)
        for column, own, size in zip(columns, places, sizes, strict=False)
    ]
    widths = [*sizes, *(column.size for column in columns[len(names) :])]
    tree = _Tree()
    waiting = [_Region(0, known, [column.counts for column in columns[len(names) :]], np.zeros(len(names), np.int16))]
    done: list[_Region] = []
    while waiting:
        asked: list[_Region] = []
        for region in waiting:
            region.cut = _next_cut(region, rules) if region.rows > engine.block_rows else (LEAF, 0)
            (done if region.cut[0] == LEAF else asked).append(region)
        waiting = []
        room = max(1, _MOST_COUNTED // (2 * sum(widths)))
        for first in range(0, len(asked), room):
            some = asked[first : first + room]
            sides = _count_sides(counted, tree, some, names, places, (tuple(tested), widths))
            for region, pair in zip(some, sides, strict=True):
                parts = [(pair[side][: len(names)], pair[side][len(names) :]) for side in (0, 1)]
                if all(holds(counts) if tested else True for _, counts in parts):
                    nodes = tree.cut(region.node, *region.cut)
                    waiting += [
                        _Region(node, own, counts, np.zeros(len(names), np.int16))
                        for node, (own, counts) in zip(nodes, parts, strict=True)
                    ]
                else:
                    waiting.append(region)
    number = np.full(len(tree.column), LEAF, np.int32)
    number[[region.node for region in done]] = np.arange(len(done))
    found = _frozen(tree, names, places, number)
    blocks = np.arange(len(done), dtype=np.int32)
    rows = np.array([region.rows for region in done], np.int64)
    return Placing.of(found, blocks, blocks, rows, size=len(done), keys=whole.keys)


def _places(whole: Prepared, name: str) -> NDArray[np.int32] | None:
    """The order of a hierarchy's leaves, missing behind them."""
    if name not in whole.schema.hierarchies:
        return None
    tree = whole.schema.hierarchies[name]
    return np.append(tree.leaf_codes(name, whole.table.encode(name).domain), np.int32(tree.num_leaves))


def _next_cut(region: _Region, rules: SplitRules) -> tuple[int, int]:
    """The next cut to try, that of Mondrian on the region's rows; LEAF for none."""
    rows = region.rows
    if rows < 2 * rules.rows:
        return LEAF, 0
    there = [np.flatnonzero(counts) for counts in region.known]
    low, high = np.array([places[0] for places in there]), np.array([places[-1] for places in there])
    while True:
        column = next_widest.plain(rules.places, rules.firsts, low, high, region.tried)
        if column == LEAF:
            return LEAF, 0
        counts = region.known[column][low[column] : high[column] + 1]
        if rules.has_tree[column]:
            code, left, rank = tree_border.plain(
                counts, rows, low[column], high[column], column, rules, region.tried[column]
            )
            region.tried[column] = DONE if rank == DONE else rank + 1
            if rank == DONE:
                continue
        else:
            place, below, at = median_of.plain(counts, rows)
            code, _, left = border_of.plain(low[column] + place, below, at, rows, False)
            region.tried[column] = DONE
        if min(left, rows - left) >= rules.rows:
            return int(column), int(code)


def _frozen(
    tree: _Tree, names: Sequence[str], places: tuple[NDArray[np.int32] | None, ...], number: NDArray[np.int32]
) -> RegionTree:
    column, code, left, right = (np.array(part, np.int64) for part in (tree.column, tree.code, tree.left, tree.right))
    return RegionTree(tuple(names), places, column, code, left, right, number)


def _count_sides(
    counted: CountedTable,
    tree: _Tree,
    asked: Sequence[_Region],
    names: Sequence[str],
    places: tuple[NDArray[np.int32] | None, ...],
    tested: tuple[tuple[str, ...], list[int]],
) -> list[list[list[Counts]]]:
    """For each region and side of its cut the counts of every column, from one pass."""
    trial = _Tree(list(tree.column), list(tree.code), list(tree.left), list(tree.right))
    sides = [trial.cut(region.node, *region.cut) for region in asked]
    number = np.full(len(trial.column), LEAF, np.int32)
    for place, pair in enumerate(sides):
        number[list(pair)] = [2 * place, 2 * place + 1]
    others, widths = tested
    count = SideCounter(_frozen(trial, names, places, number), others, tuple(widths), 2 * len(asked))
    flat = sum(counted.engine.fold(counted.coder, count), np.zeros(count.size, np.int64))
    lines = np.split(flat.reshape(2 * len(asked), -1), np.cumsum(widths)[:-1], axis=1)
    return [[[line[2 * place + side] for line in lines] for side in (0, 1)] for place in range(len(asked))]


@dataclass(frozen=True, eq=False)
class SideCounter:
    """Count every column in each of `regions` numbered regions; rows of no region are passed over."""

    tree: RegionTree
    tested: tuple[str, ...]
    widths: tuple[int, ...]
    regions: int

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self.regions * sum(self.widths)

    def __call__(self, batch: pa.Table) -> Counts:
        """The counts of a coded batch, region after region, column after column."""
        fields = self.tree.fields(batch)
        found = self.tree.regions(fields)
        inside = found >= 0
        owners = found[inside].astype(np.int64)
        lines = [*fields, *(codes_of(batch, name) for name in self.tested)]
        tables = [
            np.bincount(owners * width + line[inside], minlength=self.regions * width).reshape(self.regions, width)
            for line, width in zip(lines, self.widths, strict=True)
        ]
        return np.concatenate(tables, axis=1).ravel()
