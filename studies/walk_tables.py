"""The tables of the study of the random walk, the walk on arrays, and generalization by Mondrian with group means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.criteria.l_diversity import DistinctDiversity
from hedgerow.methods.property_walk import walk_column
from hedgerow.partition.mondrian.split import mondrian
from hedgerow.partition.walk.plan import WalkSettings, plan_column
from hedgerow.randomness import Keys, seeded_keys
from hedgerow.schema import Domain
from hedgerow.table.encode import encode
from studies.averages import AverageQuery

AGES = 1.0, 120.0
"""The paper's example of a domain."""

__all__ = [
    "Generalized",
    "Numbers",
    "acs_table",
    "adult_table",
    "first_rows",
    "generalize",
    "substitute",
    "synthetic_table",
]


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numeric quasi-identifiers (rows x columns) and the codes of a sensitive column."""

    name: str
    columns: tuple[str, ...]
    values: NDArray[np.float64]
    sensitive: NDArray[np.int64]
    unit: float = 1.0
    """Values are whole multiples of it."""
    domains: tuple[tuple[float, float] | None, ...] = (None, None, None)
    """Where values may lie, where that is not the range of the column."""


def first_rows(table: Numbers, rows: int) -> Numbers:
    """The first so many rows."""
    return replace(table, values=table.values[:rows], sensitive=table.sensitive[:rows])


@cache
def adult_table(rows: int) -> Numbers:
    """The first rows of Adult: age, final weight, years of education; occupation is sensitive."""
    from studies.real import adult

    table = adult().slice(0, rows)
    names = ("age", "fnlwgt", "education-num")
    return Numbers("Adult", names, _stacked(table, names), _codes(table["occupation"]), domains=(AGES, None, None))


def acs_table(rows: int, *, keys: Keys) -> Numbers:
    """A random sample of the census: age, and place of birth and occupation as code numbers from 1."""
    from studies.real import acs

    table = acs()
    table = table.take(pa.array(np.argsort(keys(table.num_rows))[:rows]))
    codes = [_codes(table[name]) + 1 for name in ("Place of birth", "Occupation")]
    values = np.column_stack([table["Age"].to_numpy(), *codes]).astype(float)
    return Numbers(
        "ACS", ("age", "birthplace", "occupation"), values, _codes(table["Education"]), domains=(AGES, None, None)
    )


def synthetic_table(rows: int, *, keys: Keys) -> Numbers:
    """Three independent columns, uniform from 0 to 1 with six decimals."""
    draws = (keys(3 * rows) >> np.uint64(11)).astype(float) / 2.0**53
    values = np.rint(draws.reshape(rows, 3) * 1e6) / 1e6
    return Numbers("synthetic", ("x", "y", "z"), values, np.zeros(rows, np.int64), unit=1e-6, domains=((0.0, 1.0),) * 3)


def substitute(
    table: Numbers, share: float, *, segment: int = 20, layout: str = "runs", seed: int = 1
) -> NDArray[np.float64]:
    """Every column walked, published with decimals, aligned with the original rows."""
    settings = WalkSettings(share, segment, layout, whole=False)
    keys, columns = seeded_keys(seed), []
    for name, column in zip(table.columns, table.values.T, strict=True):
        plan = plan_column(name, encode(pa.array(column)), Domain.numeric(), (), settings, keys=keys)
        columns.append(walk_column(plan, len(column), steps="auto", keys=keys).published.to_numpy())
    return np.column_stack(columns)


@dataclass(frozen=True, eq=False)
class Generalized:
    """A Mondrian partition: each group as a box with the mean of each column and its counts of the categories."""

    groups: NDArray[np.int64]
    centres: NDArray[np.float64]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    counts: NDArray[np.int64]

    @property
    def means(self) -> NDArray[np.float64]:
        """The means of each row's group."""
        return self.centres[self.groups]

    def answer(self, query: AverageQuery) -> float:
        """The average, values being spread evenly over their group's range; nan where nothing is selected."""
        weights = self.counts[:, query.categories].sum(axis=1).astype(float)
        for column, threshold in enumerate(query.thresholds):
            if column != query.target:
                weights = weights * self._shares_above(column, threshold)
        total = weights.sum()
        return float(weights @ self.centres[:, query.target] / total) if total > 0 else float("nan")

    def _shares_above(self, column: int, threshold: float) -> NDArray[np.float64]:
        low, high = self.lows[:, column], self.highs[:, column]
        width = np.where(high > low, high - low, 1.0)
        inside = np.clip((high - threshold) / width, 0.0, 1.0)
        return np.where(high > low, inside, (low > threshold).astype(float))


def generalize(table: Numbers, l: int) -> Generalized:  # noqa: E741
    """Mondrian with distinct l-diversity of the sensitive column."""
    encoded = [encode(pa.array(column)) for column in table.values.T]
    domains = [code.domain.to_numpy() for code in encoded]
    groups = mondrian(
        np.array([code.codes for code in encoded]),
        [(domain - domain[0]) / max(domain[-1] - domain[0], 1e-300) for domain in domains],
        table.sensitive.astype(np.int32),
        DistinctDiversity(l),
    )
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(groups)))
    number = np.empty(len(groups), np.int64)
    number[order] = np.repeat(np.arange(len(sizes)), sizes)
    kinds = int(table.sensitive.max()) + 1
    ascending = table.values[order]
    return Generalized(
        number,
        np.add.reduceat(ascending, starts) / sizes[:, None],
        np.minimum.reduceat(ascending, starts),
        np.maximum.reduceat(ascending, starts),
        np.bincount(number * kinds + table.sensitive, minlength=len(sizes) * kinds).reshape(-1, kinds),
    )


def _stacked(table: pa.Table, names: tuple[str, ...]) -> NDArray[np.float64]:
    return np.column_stack([table[name].to_numpy() for name in names]).astype(float)


def _codes(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Codes from 0; missing is one more category."""
    return encode(column).codes.astype(np.int64)
