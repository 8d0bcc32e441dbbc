"""(k,e)-anonymity by permuting the sensitive column.

Source     dissertation on permutation-based microdata protection, chapter 2
Guarantee  every group has at least k distinct sensitive values over a range of at least e; the grouping looks at the
           sensitive values and secret coins alone, so knowing the algorithm does not help
Cost       a counting pass, a partition of the distinct values, two shuffles
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hedgerow.criteria.ke import KE, Number
from hedgerow.errors import ParameterError, SchemaError
from hedgerow.exact import column_line, written
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.release import Guarantee, Made, Release
from hedgerow.release.guarantee import NOT_PROMISED
from hedgerow.release.permuted import free_name, permuted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hedgerow.exact import Line
    from hedgerow.partition.pieces import Pieces

__all__ = ["OBJECTIVES", "KEAnonymity"]

OBJECTIVES = ("sum", "max", "max_overlap", "count", "random")

_PROMISE = (
    "In each group of published rows the column '{column}' has at least {k} distinct values, and they span a range of "
    "at least {e}. Which row of a group has which of its values was decided by a fair shuffle."
)
_ADVERSARY = (
    "Knows everybody's quasi-identifiers, that they are in the table, and this algorithm; knows nobody's sensitive "
    "value and no relation between sensitive values and quasi-identifiers."
)
_FREQUENCY = (
    "Frequency: the criterion bounds how many values a group has and how far they spread, not how often each occurs; "
    "the most frequent value of a group can be likely. l-diversity bounds that."
)


@dataclass(frozen=True)
class KEAnonymity(Method):
    """Groups of at least `k` distinct sensitive values that span at least `e`, values shuffled inside each group.

    `objective` says which partition is best:

    - "sum", the default: least total range, so that the answers of arbitrary queries are tightest on the whole
    - "max": least largest range, so that no answer is very bad; groups do not overlap
    - "max_overlap": the same with overlapping groups, exact and slower
    - "count": most groups
    - "random": the baseline, which looks at nothing
    """

    k: int
    e: Number = 0
    objective: str = "sum"

    def __post_init__(self) -> None:
        KE(self.k, self.e)
        if self.objective not in OBJECTIVES:
            raise ParameterError(f"'objective' must be one of {', '.join(OBJECTIVES)}.")

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        column = _one_sensitive(prepared)
        progress("counting", 0.1)
        sensitive = prepared.table.encode(column)
        if sensitive.has_missing:
            raise SchemaError(
                f"'{column}' has missing values, which have no distance to others; "
                f'missing={{"{column}": "suppress"}} holds these rows back and counts them.'
            )
        where = column_line(sensitive.domain, column)
        criterion = KE(self.k, self.e)
        KE(self.k, where.distance(criterion.e)).require(where.positions, unit=where.unit, column=column)
        progress("partitioning", 0.3)
        pieces = self._partition(where, sensitive.counts(), prepared)
        progress("permuting", 0.5)
        group_column = free_name("group", prepared.columns.all)
        table = permuted(
            prepared.table.arrow, prepared.columns, sensitive, pieces, group_column=group_column, keys=prepared.keys
        )
        return Release(
            form="permuted",
            tables={"release": table},
            columns=prepared.columns,
            group_column=group_column,
            guarantee=_guarantee(column, criterion),
            rows=prepared.rows,
            groups=pieces.num_groups,
            made=self._made(prepared, criterion),
            kind=prepared.table.kind,
        )

    def _partition(self, where: Line, counts: NDArray[np.int64], prepared: Prepared) -> Pieces:
        name = f"ke_{self.objective}"
        partition = getattr(importlib.import_module(f"hedgerow.partition.{name}"), name)
        coins = {"keys": prepared.keys} if self.objective == "random" else {}
        pieces: Pieces = partition(where.positions, counts, k=self.k, e=where.distance(KE(self.k, self.e).e), **coins)
        return pieces

    def _made(self, prepared: Prepared, criterion: KE) -> Made:
        parameters: dict[str, int | str] = {"k": criterion.k, "e": written(criterion.e), "objective": self.objective}
        return Made("KEAnonymity", parameters, prepared.policies, prepared.reproducible)


def _one_sensitive(prepared: Prepared) -> str:
    if len(prepared.columns.sensitive) != 1:
        raise SchemaError(
            f"(k,e)-anonymity protects one sensitive column; {len(prepared.columns.sensitive)} were given. "
            "Publish the others as quasi-identifiers only if everyone may know them."
        )
    return prepared.columns.sensitive[0]


def _guarantee(column: str, criterion: KE) -> Guarantee:
    e = written(criterion.e)
    return Guarantee(
        criterion="ke",
        parameters={"k": criterion.k, "e": e},
        columns=(column,),
        promise=_PROMISE.format(column=column, k=criterion.k, e=e),
        adversary=_ADVERSARY,
        not_promised=(_FREQUENCY, *NOT_PROMISED),
    )
