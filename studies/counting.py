"""What the COUNT studies share: tables as codes, workloads of random questions, mean errors, lines in figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Codes
from hedgerow.exact import Line, column_line
from hedgerow.randomness import seeded_keys
from hedgerow.report.release_figures import new_figure, save_figure
from hedgerow.table import read_table
from studies.counts import CountQuery, count_errors, count_queries, true_counts

__all__ = [
    "Coded",
    "Panel",
    "Series",
    "Workload",
    "coded",
    "draw",
    "error_of",
    "falls",
    "grows",
    "least_seconds",
    "mean_error",
    "table_of",
    "workload",
]

_MOST_DRAWS = 20
_MARKS = "osD^v*"  # lines differ without colour, too
_MOST_TICKS = 10

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


@dataclass(frozen=True)
class Series:
    """A line of a figure: a label and a y for each x; None where there is none."""

    label: str
    ys: tuple[float | None, ...]


Panel = tuple[str, str, Sequence[Any], Sequence[Series]]
"""Title, x label, xs and lines."""


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


def draw(
    folder: Path,
    name: str,
    panels: Sequence[Panel],
    *,
    ylabel: str,
    log: bool = False,
    log_x: bool = False,
) -> Path:
    """Draw panels side by side: title, x label, xs and lines each."""
    figure, axes = new_figure(len(panels))
    for axis, (title, xlabel, xs, lines) in zip(np.atleast_1d(axes), panels, strict=True):
        for mark, line in zip(_MARKS, lines, strict=False):
            known = [(x, y) for x, y in zip(xs, line.ys, strict=True) if y is not None]
            label = line.label if len(known) == len(xs) else f"{line.label} (infeasible beyond)"
            axis.plot([x for x, _ in known], [y for _, y in known], f"{mark}-", markersize=4, label=label)
        if all(float(x).is_integer() for x in xs) and len(xs) <= _MOST_TICKS:
            axis.set_xticks(list(xs))
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(xlabel)
        axis.set_yscale("log" if log else "linear")
        if log_x:
            axis.set_xscale("log")
            axis.set_xticks(list(xs), [f"{x:,.3g}" if x < 1000 else f"{x:,.0f}" for x in xs], fontsize=8)
            axis.set_xticks([], minor=True)
        axis.set_ylabel(ylabel)
        axis.legend(fontsize=8)
        if not log:
            axis.set_ylim(bottom=0)
    return save_figure(figure, folder, name)


def least_seconds(work: Callable[[], object], *, runs: int = 5) -> float:
    """The least processor time of several runs after one that warms up: other programs do not count."""
    work()
    took = []
    for _ in range(runs):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return min(took)


def table_of(x: str, xs: Sequence[Any], lines: Sequence[Series]) -> pa.Table:
    """The numbers behind a panel."""
    columns: Mapping[str, Any] = {x: [str(value) for value in xs], **{line.label: list(line.ys) for line in lines}}
    return pa.table(dict(columns))
