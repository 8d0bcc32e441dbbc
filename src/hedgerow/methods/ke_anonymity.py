"""(k,e)-anonymity by permuting the sensitive column.

Source     [Zhang 2008], chapter 2
Guarantee  every group has at least k distinct sensitive values over a range of at least e and, with l, none that
           fills more than 1/l of it; the grouping looks at the sensitive values and secret random numbers alone, so
           knowing the algorithm does not help, unless it is refined
Cost       a counting pass, a partition of the distinct values, two shuffles; refined, a Mondrian
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hedgerow.arrays import free_unused
from hedgerow.criteria.ke import KE, Number
from hedgerow.errors import ParameterError, SchemaError
from hedgerow.exact import column_line, fraction_text
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.row_groups import part_clusters, quasi_codes, release_of
from hedgerow.methods.scaled import BlockPlan
from hedgerow.parameters import read_whole
from hedgerow.release import Guarantee, Release
from hedgerow.release.forms.permuted import PERMUTED, publish_permuted
from hedgerow.release.release import free_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.exact import Line
    from hedgerow.methods.ke_blocks import KEBlocks
    from hedgerow.partition.ke.runs import Pieces
    from hedgerow.randomness import Keys
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
        from hedgerow.methods.ke_blocks import deal_at_random, divide_large, pack_pieces

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

    def _holds(self, where: Line, values: NDArray[np.int32], counts: NDArray[np.int64]) -> bool:
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
            raise SchemaError(
                f"'{column}' has missing values, which have no distance to others; "
                f'missing={{"{column}": "suppress"}} suppresses these rows and counts them.'
            )
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

    def _partition(self, where: Line, counts: NDArray[np.int64], keys: Keys) -> Pieces:
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
    if len(prepared.columns.sensitive) != 1:
        raise SchemaError(
            f"(k,e)-anonymity protects one sensitive column; {len(prepared.columns.sensitive)} were given. "
            "Publish the others as quasi-identifiers only if everyone may know them."
        )
    return prepared.columns.sensitive[0]


def _guarantee(column: str, criterion: KE, l: int | None) -> Guarantee:  # noqa: E741
    """The promise as data."""
    parameters: dict[str, int | str] = {"k": criterion.k, "e": fraction_text(criterion.e)}
    return Guarantee(criterion="ke", parameters=parameters if l is None else parameters | {"l": l}, columns=(column,))
