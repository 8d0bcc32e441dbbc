"""What the COUNT studies share: tables as codes, workloads of random questions, mean errors, trends, times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Codes
from hedgerow.exact import Line, column_line
from hedgerow.randomness import seeded_keys
from hedgerow.table import read_table
from studies.counts import CountQuery, count_errors, count_queries, true_counts

__all__ = [
    "Coded",
    "Workload",
    "coded",
    "error_of",
    "falls",
    "grows",
    "least_seconds",
    "mean_error",
    "workload",
]

_MOST_DRAWS = 20

Estimate = Callable[[Sequence[CountQuery]], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Coded:
    """A table as codes: quasi-identifiers, their sizes and places on the line, and the sensitive column."""

    name: str
    quasi: Codes
    sizes: list[int]
    sensitive: Codes
    counts: NDArray[np.int64]
    where: Line | None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.sensitive)


@dataclass(frozen=True, eq=False)
class Workload:
    """Questions and their true answers, none of them 0."""

    queries: list[CountQuery]
    truth: NDArray[np.float64]


def coded(name: str, table: pa.Table, quasi: Sequence[str], sensitive: str, *, numeric: bool = False) -> Coded:
    """Encode a table."""
    read = read_table(table)
    columns, hidden = [read.encode(column) for column in quasi], read.encode(sensitive)
    where = column_line(hidden.domain, sensitive) if numeric else None
    sizes = [column.size for column in columns]
    return Coded(name, np.stack([column.codes for column in columns]), sizes, hidden.codes, hidden.counts(), where)


def workload(table: Coded, *, dimensions: int, volume: float, count: int, exact_value: bool, seed: int = 1) -> Workload:
    """Draw questions that select something; the same seed draws the same ones."""
    keys = seeded_keys(seed)
    draw_some = partial(
        count_queries,
        table.sizes,
        len(table.counts),
        dimensions=dimensions,
        volume=volume,
        exact_value=exact_value,
        keys=keys,
    )
    found: list[tuple[CountQuery, float]] = []
    for _ in range(_MOST_DRAWS):
        drawn = draw_some(count=count)
        truth = true_counts(drawn, table.quasi, table.sensitive)
        found += [(query, answer) for query, answer in zip(drawn, truth.tolist(), strict=True) if answer > 0]
        if len(found) >= count:
            break
    return Workload([query for query, _ in found[:count]], np.array([answer for _, answer in found[:count]]))


def mean_error(asked: Workload, estimate: Estimate) -> float:
    """The mean relative error of the expected answers."""
    return error_of(asked, estimate)[0]


def error_of(asked: Workload, estimate: Estimate) -> tuple[float, float]:
    """The mean and the median relative error: a few queries with tiny answers carry the mean."""
    errors = count_errors(asked.truth, estimate(asked.queries))
    return float(np.nanmean(errors)), float(np.nanmedian(errors))


def grows(ys: Sequence[float | None], *, slack: float = 0.05) -> bool:
    """Whether a line rises on the whole: its end above its start, and no step down by more than the slack."""
    known = [y for y in ys if y is not None]
    return len(known) > 1 and known[-1] > known[0] and _steps_hold(known, slack)


def falls(ys: Sequence[float | None], *, slack: float = 0.05) -> bool:
    """Whether a line sinks on the whole."""
    known = [y for y in ys if y is not None]
    return len(known) > 1 and known[-1] < known[0] and _steps_hold(known[::-1], slack)


def _steps_hold(ys: Sequence[float], slack: float) -> bool:
    top = 0.0
    for y in ys:
        if y < top * (1 - slack):
            return False
        top = max(top, y)
    return True


def least_seconds(work: Callable[[], object], *, runs: int = 5) -> float:
    """The least processor time of several runs after one that warms up: other programs do not count."""
    work()
    took = []
    for _ in range(runs):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return min(took)
