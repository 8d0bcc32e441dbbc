"""Which rows of a table larger than memory share a block: regions of quasi-identifiers, or rows dealt in turn.

Regions are the first cuts of Mondrian, made on counts of the whole table.

Source     [LeFevre 2006]; the choice of cuts is that of `partition/mondrian`
Guarantee  both sides of every cut satisfy the full criterion, compared with the whole table; strict Mondrian inside of
           the blocks gives the groups that it gives on the whole table
Cost       a pass over the coded rows per level of the first cuts, and one for each cut that the criterion forbids;
           memory on the driver for a histogram of every tested column on both sides of the cuts of one level

A region is cut as long as it has more rows than a block may have. Its histograms are counted together with the
trial of the cut that makes it, so that a cut that holds costs no further pass.

For groupings that use sensitive values only, rows are dealt to blocks in turn, in the order of their values.

Source     own; the dealing in turn is that of [Li 2015], section 3, with blocks of its groups in the place of groups
Guarantee  with m rows for each group, no value, and no neighbourhood of values that at most 1/m of all rows lie in, has
           more rows in a block than the block has room for groups: every block can be divided as the whole table can
Cost       O(values x blocks) on the driver

Row i in the order of values goes to group i mod G of G = rows // m groups, and blocks are runs of groups. A
neighbourhood of at most G rows then has at most one row in each group. Which rows of a value these are is random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Counts, Ints
from hedgerow.criteria.groupwise import Limits, require
from hedgerow.criteria.l_diversity import FrequencyDiversity
from hedgerow.errors import SchemaError
from hedgerow.kernel import kernel
from hedgerow.methods.prepared import Prepared
from hedgerow.methods.row_groups import axes_of
from hedgerow.partition.mondrian.grow import DONE, LEAF, border_of, median_of, next_widest, tree_border
from hedgerow.partition.mondrian.records import SplitRules
from hedgerow.partition.mondrian.split import split_rules
from hedgerow.randomness import Keys
from hedgerow.scale.coding import ColumnClass, CountedTable, codes_of
from hedgerow.scale.dealing import Placing, draw_tables

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
    column: Ints
    code: Ints
    left: Ints
    right: Ints
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
    column: Ints,
    code: Ints,
    left: Ints,
    right: Ints,
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


_MOST_DEALT = 1 << 24
_TRIES = 3
_LEAST_WINDOW = 8
"""Ranks inside a block that a row may swap over; where there would be fewer, blocks are runs of ranks."""


def deal_in_turn(counts: Counts, column: str, *, m: int, most: int, keys: Keys) -> Placing:
    """Deal rows to blocks of about `most` rows, in turn and in the order of values."""
    rows = int(counts.sum())
    groups = max(1, rows // m)
    blocks = min(groups, -(-rows // most))
    if blocks * len(counts) > _MOST_DEALT:
        raise _too_many(column, counts, rows)
    borders = np.arange(blocks + 1) * groups // blocks
    ends = np.cumsum(counts)
    table = _before(ends, groups, borders) - _before(ends - counts, groups, borders)
    return Placing.of_table(ColumnClass(column), table, keys=keys)


def deal_ranks(counts: Counts, column: str, *, window: int, most: int, keys: Keys) -> tuple[Placing, int]:
    """Deal rows to blocks so that near ranks in a block are near in the table; also return the window inside of blocks.

    Of every B neighbouring ranks each of the B blocks gets one at random, so that rows whose ranks in a block are w
    apart have ranks at most B w + B - 1 apart in the table. Where the window is too narrow for that, blocks are runs of
    ranks, and nobody swaps across their borders.
    """
    rows = int(counts.sum())
    blocks = -(-rows // most)
    inside = (window + 1) // blocks - 1
    if blocks * len(counts) > _MOST_DEALT:
        raise _too_many(column, counts, rows)
    ends = np.cumsum(counts)
    if blocks == 1 or inside < _LEAST_WINDOW:
        borders, inside = np.arange(blocks + 1) * rows // blocks, window
        table = np.diff(np.clip(borders, (ends - counts)[:, None], ends[:, None]), axis=1).astype(np.int64)
        return Placing.of_table(ColumnClass(column), table, keys=keys), inside
    rounds, rest = np.divmod(np.append(0, ends), blocks)
    seen, place = np.unique(rounds, return_inverse=True)
    turn = np.argsort(keys(len(seen) * blocks).reshape(-1, blocks), axis=1).argsort(axis=1)
    before = rounds[:, None] + (turn[place] < rest[:, None])
    return Placing.of_table(ColumnClass(column), np.diff(before, axis=0), keys=keys), inside


def _too_many(column: str, counts: Counts, rows: int) -> SchemaError:
    return SchemaError(
        f"'{column}' has {len(counts):,} different values, too many to deal {rows:,} rows outside of memory; "
        "round it, or allow more memory."
    )


def _before(ranks: Counts, groups: int, borders: Counts) -> Ints:
    """How many of the first so many rows go to the groups of each block."""
    rounds, rest = np.divmod(ranks[:, None], groups)
    widths = np.diff(borders)
    table: Ints = rounds * widths + np.clip(rest - borders[:-1], 0, widths)
    return table


@dataclass(frozen=True)
class JointCodes:
    """The combination of several columns' codes as one code."""

    columns: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many combinations there can be."""
        return int(np.prod([float(size) for size in self.sizes]))

    def __call__(self, batch: pa.Table) -> NDArray[np.int32]:
        """The combination of each row of a coded batch."""
        joint = np.zeros(batch.num_rows, np.int32)
        for name, size in zip(self.columns, self.sizes, strict=True):
            joint = joint * np.int32(size) + codes_of(batch, name)
        return joint

    def count(self, batch: pa.Table) -> Counts:
        """How often each combination occurs in a coded batch."""
        return np.bincount(self(batch), minlength=self.size).astype(np.int64)

    def apart(self, counts: Counts) -> list[Counts]:
        """The counts of each column."""
        table = counts.reshape(self.sizes)
        axes = range(len(self.sizes))
        return [table.sum(axis=tuple(other for other in axes if other != own)) for own in axes]


def deal_jointly(counted: CountedTable, columns: Sequence[str], *, m: int, keys: Keys) -> Placing:
    """Deal rows to blocks at random, by a draw that leaves each block able to keep 1/m in every column."""
    joint = JointCodes(tuple(columns), tuple(counted.column(name).size for name in columns))
    if joint.size > _MOST_DEALT // 4:
        raise SchemaError(
            f"The sensitive columns have {joint.size:,} combinations of values, too many to deal rows outside of "
            "memory; round them, or publish them in releases of their own."
        )
    counts = sum(counted.engine.fold(counted.coder, joint.count), np.zeros(joint.size, np.int64))
    there = np.flatnonzero(counts)
    rows = int(counts.sum())
    blocks = min(-(-rows // counted.engine.block_rows), max(1, _MOST_DEALT // len(there)))
    while True:
        sizes = np.full(blocks, rows // blocks) + (np.arange(blocks) < rows % blocks)
        for _ in range(_TRIES if blocks > 1 else 1):
            table = np.zeros((blocks, joint.size), np.int64)
            table[:, there] = draw_tables(counts[there], sizes, keys=keys)
            if blocks == 1 or all(m * int(own.max()) <= line.sum() for line in table for own in joint.apart(line)):
                block, value = np.nonzero(table)
                classes, places = value.astype(np.int32), block.astype(np.int32)
                return Placing.of(joint, classes, places, table[block, value], size=joint.size, keys=keys)
        blocks = blocks * 3 // 4


def plan_diverse(whole: Prepared, counted: CountedTable, *, l: int, grouping: str) -> Placing:  # noqa: E741
    """Blocks in which no value of any sensitive column fills more than 1/l: blind, or regions of quasi-identifiers."""
    names, criterion = whole.columns.sensitive, FrequencyDiversity(l)
    counts = [counted.column(name).counts for name in names]
    require([criterion] * len(names), counts, names)
    if grouping != "blind":
        return cut_regions(whole, counted, names, partial(_are_diverse, l), least=l)
    if len(names) > 1:
        return deal_jointly(counted, names, m=l, keys=whole.keys)
    return deal_in_turn(counts[0], names[0], m=l, most=counted.engine.block_rows, keys=whole.keys)


def _are_diverse(l: int, counts: Sequence[Counts]) -> bool:  # noqa: E741
    return all(l * int(own.max()) <= int(own.sum()) for own in counts)


def deal_rows(counted: CountedTable, *, keys: Keys) -> Placing:
    """Deal rows to blocks at random, whatever their values: for methods that replace values row by row."""
    rows = counted.rows.published
    blocks = -(-rows // counted.engine.block_rows)
    sizes = np.full(blocks, rows // blocks) + (np.arange(blocks) < rows % blocks)
    places = np.arange(blocks, dtype=np.int32)
    return Placing.of(ColumnClass(), np.zeros(blocks, np.int32), places, sizes, size=1, keys=keys)
