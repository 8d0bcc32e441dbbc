"""(k,e)-anonymity by permuting the sensitive column.

Source     [Zhang 2008], chapter 2
Guarantee  every group has at least k distinct sensitive values over a range of at least e and, with l, none that
           fills more than 1/l of it; the grouping looks at the sensitive values and secret random numbers alone, so
           knowing the algorithm does not help, unless it is refined
Cost       a counting pass, a partition of the distinct values, two shuffles; refined, a Mondrian

Groups of a table that is larger than memory, packed into blocks:

Source     own; the groups are those of `ke_sum`, `ke_max`, `ke_max_overlap`, `ke_count` and `ke_capped`
Guarantee  the groups that the whole table would have in memory, but for those that are larger than a block; which rows
           of a value go to which of its groups is uniformly random, across blocks, too
Cost       O(pieces) on the driver; O(n) in the blocks

A group of more rows than a block can hold, as nine zeros in ten rows make one, is divided at random into groups that
keep the promise as well, if there are any: its values are dealt to them by a multivariate hypergeometric draw, and the
rows of each value at random. Bounds of answers get no wider by that: the largest so many values of each part are at
most those of the whole. A random partition looks at nothing, so that it can be made block by block, of rows that were
dealt to blocks at random.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints, free_unused
from hedgerow.criteria.ke import KE, Number
from hedgerow.errors import Infeasible, ParameterError, SchemaError
from hedgerow.exact import Line, column_line, fraction_text
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.prepared import ONLY_KNOWN, missing_error, one_sensitive
from hedgerow.methods.row_groups import part_clusters, quasi_codes, release_of
from hedgerow.methods.scaled import BlockPlan, pack_blocks
from hedgerow.parameters import read_whole
from hedgerow.partition.ke.runs import Pieces
from hedgerow.randomness import Keys
from hedgerow.release import Guarantee, Release
from hedgerow.release.forms.permuted import PERMUTED, publish_permuted
from hedgerow.release.release import free_name
from hedgerow.scale.coding import CodedColumn, ColumnClass
from hedgerow.scale.dealing import Placing, draw_tables

if TYPE_CHECKING:
    from hedgerow.scale.coding import CodedColumn, CountedTable
    from hedgerow.table import Encoded


OBJECTIVES = ("sum", "max", "max_overlap", "count", "random")
REFINEMENTS = ("none", "quasi")


@dataclass(frozen=True)
class KEAnonymity(Method):
    """Groups of at least `k` distinct sensitive values that span at least `e`, values shuffled inside each group.

    `objective` says which partition is best:

    - "sum", the default: least total range, so that the answers of arbitrary queries are tightest on the whole
    - "max": least largest range, so that no answer is very bad; groups do not overlap
    - "max_overlap": the same with overlapping groups, exact and slower
    - "count": most groups
    - "random": the baseline, which optimises nothing

    `refine` "quasi" divides the groups further by quasi-identifiers as long as the parts keep the promise. Where there
    are far more rows than distinct values, questions with conditions get much tighter bounds; but then the grouping
    looks at quasi-identifiers while it tests sensitive values, and an attacker who knows the algorithm can learn from
    where it stopped. The guarantee says so. It is off by default.

    `l` caps how likely any value is: none fills more than 1/`l` of a group. k distinct values say nothing about how
    often each occurs, so a column that is mostly one value needs it. With "sum" the total range is the least of all
    partitions; with "max" and "count" cuts between values are best, up to 20,000 distinct values; "max_overlap" and
    "random" are refused. `refine` keeps it.
    """

    keeps_clusters: ClassVar[bool] = True

    k: int
    e: Number = 0
    objective: str = "sum"
    refine: str = "none"
    l: int | None = None  # noqa: E741

    def __post_init__(self) -> None:
        KE(self.k, self.e)
        if self.l is not None:
            object.__setattr__(self, "l", read_whole("l", self.l, least=2))
            if self.objective in ("max_overlap", "random"):
                raise ParameterError(
                    "'l' goes with objective 'sum', 'max' or 'count': 'random' looks at nothing, so at no frequency, "
                    "and for 'max_overlap' no exact search is known that also divides values."
                )
        if self.objective not in OBJECTIVES:
            raise ParameterError(f"'objective' must be one of {', '.join(OBJECTIVES)}.")
        if self.refine not in REFINEMENTS:
            raise ParameterError(f"'refine' must be one of {', '.join(REFINEMENTS)}.")

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        progress("counting", 0.1)
        sensitive = prepared.table.encode(_one_sensitive(prepared))
        where = self._line(prepared, sensitive)
        progress("partitioning", 0.3)
        pieces = self._partition(where, sensitive.counts(), prepared.keys)
        progress("permuting", 0.5)
        return self._make_release(prepared, sensitive, where, pieces)

    def _plan_blocks(self, whole: Prepared, counted: CountedTable) -> BlockPlan:

        column, most, keys = _one_sensitive(whole), counted.engine.block_rows, whole.keys
        found = counted.column(column)
        where = self._line(whole, found)
        if self.objective == "random":
            criterion = KE(self.k, self.e)
            placing = deal_at_random(where, found, column, criterion=criterion, most=most, keys=keys)
            return BlockPlan(placing, partial(self._publish_random, where))
        pieces = self._partition(where, found.counts, keys)
        pieces = divide_large(pieces, partial(self._holds, where), most=most, keys=keys)
        placing, blocks = pack_pieces(pieces, column, found.size, most=most, keys=keys)
        return BlockPlan(placing, partial(self._publish_pieces, where, blocks))

    def _holds(self, where: Line, values: NDArray[np.int32], counts: Ints) -> bool:
        kept = KE(self.k, where.distance(KE(self.k, self.e).e)).feasible(where.positions[values])
        return kept and (self.l is None or self.l * int(counts.max()) <= int(counts.sum()))

    def _publish_pieces(self, where: Line, blocks: KEBlocks, number: int, prepared: Prepared) -> Release:
        sensitive = prepared.table.encode(prepared.columns.sensitive[0])
        return self._make_release(prepared, sensitive, where, blocks.pieces(number))

    def _publish_random(self, where: Line, number: int, prepared: Prepared) -> Release:
        sensitive = prepared.table.encode(prepared.columns.sensitive[0])
        return self._make_release(prepared, sensitive, where, self._partition(where, sensitive.counts(), prepared.keys))

    def _line(self, prepared: Prepared, sensitive: Encoded | CodedColumn) -> Line:
        """Where the sensitive values lie, if they can keep the promise."""
        column = _one_sensitive(prepared)
        if self.refine == "quasi" and not prepared.columns.quasi:
            raise SchemaError("refine='quasi' divides groups by quasi-identifiers; there is none, so leave it out.")
        if sensitive.has_missing:
            raise missing_error(column, "missing values, which have no distance to others;")
        where = column_line(sensitive.domain, column)
        KE(self.k, where.distance(KE(self.k, self.e).e)).require(where.positions, unit=where.unit, column=column)
        return where

    def _make_release(self, prepared: Prepared, sensitive: Encoded, where: Line, pieces: Pieces) -> Release:
        """Publish rows that pieces deal to groups."""
        if self.refine == "quasi" or prepared.schema.cluster:
            return self._of_rows(prepared, sensitive, where, pieces)
        group_column = free_name("group", prepared.columns.all)
        free_unused()
        table = publish_permuted(
            prepared.table, prepared.columns, sensitive, pieces, group_column=group_column, keys=prepared.keys
        )
        return Release(
            form=PERMUTED,
            tables={"release": table},
            columns=prepared.columns,
            group_column=group_column,
            guarantee=_guarantee(prepared.columns.sensitive[0], KE(self.k, self.e), self.l),
            rows=prepared.rows,
            groups=pieces.num_groups,
            made=prepared.provenance("KEAnonymity", self._parameters()),
            kind=prepared.table.kind,
        )

    def _of_rows(self, prepared: Prepared, sensitive: Encoded, where: Line, pieces: Pieces) -> Release:
        """Deal the rows to the groups, part clusters or divide the groups by quasi-identifiers, and shuffle inside."""
        from hedgerow.partition.ke.runs import ke_refine
        from hedgerow.partition.shuffles import deal

        rows, offsets = deal(sensitive.codes, pieces.values, pieces.groups, pieces.counts, keys=prepared.keys)
        labels = np.empty(len(rows), np.int32)
        labels[rows] = np.repeat(np.arange(pieces.num_groups), np.diff(offsets))
        labels, criterion = part_clusters(prepared, labels), KE(self.k, self.e)
        if self.refine == "quasi":
            quasi, scales = quasi_codes(prepared)
            least = where.distance(criterion.e)
            kept = KE(self.k, least)
            labels = ke_refine(labels, quasi, scales, sensitive.codes, where.positions, criterion=kept, l=self.l)
        return release_of(
            prepared,
            labels,
            form=PERMUTED.name,
            together=True,
            guarantee=_guarantee(prepared.columns.sensitive[0], criterion, self.l),
            made=prepared.provenance("KEAnonymity", self._parameters()),
        )

    def _partition(self, where: Line, counts: Ints, keys: Keys) -> Pieces:
        if self.l is not None:
            from hedgerow.partition.ke.capped import ke_capped

            e = where.distance(KE(self.k, self.e).e)
            return ke_capped(where.positions, counts, k=self.k, e=e, l=self.l, objective=self.objective)
        name = f"ke_{self.objective}"
        partition = getattr(importlib.import_module("hedgerow.partition.ke"), name)
        random = {"keys": keys} if self.objective == "random" else {}
        pieces: Pieces = partition(where.positions, counts, k=self.k, e=where.distance(KE(self.k, self.e).e), **random)
        return pieces

    def _parameters(self) -> dict[str, int | str]:
        e = fraction_text(KE(self.k, self.e).e)
        parameters: dict[str, int | str] = {"k": self.k, "e": e, "objective": self.objective, "refine": self.refine}
        return parameters if self.l is None else parameters | {"l": self.l}


def _one_sensitive(prepared: Prepared) -> str:
    return one_sensitive(prepared, "(k,e)-anonymity protects one sensitive column", hint=ONLY_KNOWN)


def _guarantee(column: str, criterion: KE, l: int | None) -> Guarantee:  # noqa: E741
    """The promise as data."""
    parameters: dict[str, int | str] = {"k": criterion.k, "e": fraction_text(criterion.e)}
    return Guarantee(criterion="ke", parameters=parameters if l is None else parameters | {"l": l}, columns=(column,))


_MOST_DRAWN = 1 << 24
_TRIES = 3

Holds = Callable[[NDArray[np.int32], Ints], bool]
"""Return whether a group of so many rows of these values keeps the promise."""


@dataclass(frozen=True, eq=False)
class KEBlocks:
    """The pieces of each block: block b has pieces starts[b]:starts[b + 1], its groups numbered from 0."""

    starts: Ints
    values: NDArray[np.int32]
    groups: NDArray[np.int32]
    counts: Ints

    def pieces(self, block: int) -> Pieces:
        """The pieces of a block, sorted by value and group."""
        own = slice(int(self.starts[block]), int(self.starts[block + 1]))
        return Pieces(self.values[own], self.groups[own], self.counts[own])


def divide_large(pieces: Pieces, holds: Holds, *, most: int, keys: Keys) -> Pieces:
    """Divide groups of more than `most` rows at random into groups that keep the promise, where that can be."""
    large = np.flatnonzero(pieces.rows() > most)
    if not len(large):
        return pieces
    is_large = np.isin(pieces.groups, large)
    parts = [(pieces.values[~is_large], pieces.groups[~is_large], pieces.counts[~is_large])]
    following = pieces.num_groups
    for group in large.tolist():
        own = pieces.groups == group
        values, counts = pieces.values[own], pieces.counts[own]
        table = _divide_rows(values, counts, holds, most=most, keys=keys)
        line, kind = np.nonzero(table)
        numbers = np.append(group, following + np.arange(len(table) - 1))
        following += len(table) - 1
        parts.append((values[kind], numbers[line].astype(np.int32), table[line, kind]))
    values, groups, counts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((groups, values))
    return Pieces(values[order], groups[order], counts[order])


def _divide_rows(values: NDArray[np.int32], counts: Ints, holds: Holds, *, most: int, keys: Keys) -> Ints:
    """The rows of each value in each part, one line a part."""
    rows = int(counts.sum())
    parts = -(-rows // most)
    while parts > 1:
        sizes = np.full(parts, rows // parts) + (np.arange(parts) < rows % parts)
        for _ in range(_TRIES):
            table = draw_tables(counts, sizes, keys=keys)
            if all(holds(values[line > 0], line[line > 0]) for line in table):
                return table
        parts = parts * 3 // 4
    return counts[None, :]


def pack_pieces(pieces: Pieces, column: str, size: int, *, most: int, keys: Keys) -> tuple[Placing, KEBlocks]:
    """Pack groups into blocks of about `most` rows, in the order of their least values."""
    order = np.argsort(pieces.lowest(), kind="stable")
    block = np.empty(pieces.num_groups, np.int32)
    block[order] = pack_blocks(pieces.rows()[order], most)
    blocks = block[pieces.groups]
    placing = Placing.of(ColumnClass(column), pieces.values, blocks, pieces.counts, size=size, keys=keys)
    order = np.lexsort((pieces.groups, pieces.values, blocks))
    blocks, groups = blocks[order], pieces.groups[order]
    members = np.bincount(block)
    # Groups of a block are numbered in the order of their global numbers.
    local = np.empty(pieces.num_groups, np.int32)
    by_block = np.argsort(block, kind="stable")
    local[by_block] = np.arange(len(block)) - np.repeat(np.cumsum(members) - members, members)
    starts = np.searchsorted(blocks, np.arange(len(members) + 1))
    return placing, KEBlocks(starts, pieces.values[order], local[groups], pieces.counts[order])


def deal_at_random(where: Line, column: CodedColumn, name: str, *, criterion: KE, most: int, keys: Keys) -> Placing:
    """Deal the rows of each value to blocks at random, by a draw that leaves no block without a partition."""
    counts = column.counts
    rows, blocks = int(counts.sum()), -(-int(counts.sum()) // most)
    if blocks * len(counts) > _MOST_DRAWN:
        raise SchemaError(
            f"'{name}' has {len(counts):,} different values, too many to deal {rows:,} rows at random outside of "
            "memory; choose another objective, or allow more memory."
        )
    sizes = np.full(blocks, rows // blocks) + (np.arange(blocks) < rows % blocks)
    table = draw_tables(counts, sizes, keys=keys)
    return Placing.of_table(ColumnClass(name), _join_blocks(table, where, criterion).T, keys=keys)


def _join_blocks(table: Ints, where: Line, criterion: KE) -> Ints:
    """Join a block that cannot keep the criterion with the one after it; the last one with the one before."""
    kept = KE(criterion.k, where.distance(criterion.e))
    done, pending = list[Ints](), np.zeros(table.shape[1], np.int64)
    for line in table:
        pending = pending + line
        if kept.feasible(where.positions[pending > 0]):
            done.append(pending)
            pending = np.zeros_like(pending)
    if pending.any():
        if not done:
            raise Infeasible("No block of rows keeps the criterion.")
        done[-1] = done[-1] + pending
    return np.stack(done)
