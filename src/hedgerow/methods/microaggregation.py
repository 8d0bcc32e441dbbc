"""Microaggregation: near rows in groups of k, each published with the group's means. A baseline.

Source     [Hansen 2003] (one column); [Domingo-Ferrer 2002], MDAV of [Domingo-Ferrer 2005] (several)
Guarantee  every combination of published means is shared by at least k rows
Cost       see partition/microaggregate
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import Infeasible
from hedgerow.exact import column_line
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.row_groups import (
    asked_columns,
    is_number,
    listed,
    release_of_rows,
    require_complete,
    require_squares,
)
from hedgerow.parameters import read_whole
from hedgerow.partition.microaggregate import microaggregate
from hedgerow.release import Guarantee, Release
from hedgerow.release.forms.perturbed import PERTURBED, perturbed

__all__ = ["Microaggregation"]


@dataclass(frozen=True)
class Microaggregation(Method):
    """Replace numbers by the means of groups of `k` to 2k-1 near rows.

    `columns` names the columns that are replaced together; without it all quasi-identifiers that are numbers.
    """

    k: int
    columns: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        read_whole("k", self.k, least=2, why="A group of one hides nobody.")

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        names = asked_columns(prepared, self.columns, prepared.columns.quasi, is_number)
        require_complete(prepared, names)
        require_squares(prepared, names)
        if prepared.rows.published < self.k:
            raise Infeasible(f"Groups of {self.k:,} rows need at least as many; there are {prepared.rows.published:,}.")
        progress("grouping", 0.2)
        points = np.stack([_numbers(prepared, name) for name in names], axis=1)
        labels = microaggregate(points, k=self.k, keys=prepared.keys)
        means = {name: _means(points[:, n], labels) for n, name in enumerate(names)}
        same = [name for n, name in enumerate(names) if (means[name].to_numpy() == points[:, n]).all()]
        table = perturbed(prepared.table.arrow, prepared.columns, means, keys=prepared.keys)
        return release_of_rows(
            prepared,
            {"release": table},
            form=PERTURBED,
            guarantee=self._guarantee(names, same),
            method="Microaggregation",
            parameters={"k": int(self.k), "columns": ",".join(names)},
        )

    def _guarantee(self, names: tuple[str, ...], same: Sequence[str]) -> Guarantee:
        return Guarantee(
            criterion="microaggregation",
            parameters={"k": int(self.k)} | listed("unchanged", same),
            columns=names,
        )


def _numbers(prepared: Prepared, name: str) -> NDArray[np.float64]:
    where = column_line(prepared.table.arrow.column(name), name)
    at = where.positions.astype(np.float64)
    return at * float(where.unit) if where.unit >= 1 else at / float(1 / where.unit)


def _means(values: NDArray[np.float64], labels: NDArray[np.int32]) -> pa.Array:
    # Centred first, so that equal values have exactly their own value as the mean.
    base = np.full(int(labels.max()) + 1, np.inf)
    np.minimum.at(base, labels, values)
    sizes = np.bincount(labels)
    means = base + np.bincount(labels, weights=values - base[labels]) / sizes
    return pa.array(means[labels] + 0.0)
