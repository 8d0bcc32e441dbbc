"""Anatomy and permutation anonymization on the generated census, against np.lexsort of the 7 quasi-identifiers."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import peak_beyond, seconds, show, sized
from hedgerow.criteria.proximity import same_value
from hedgerow.datasets import census
from hedgerow.partition.anatomy import anatomize
from hedgerow.partition.permutation import ncp_split, round_robin
from hedgerow.partition.proximity import proximity_split
from hedgerow.table import read_table

QUASI = ("age", "gender", "education", "marital", "race", "workclass", "country")
L = 8

_SETUP = """
from benchmarks.anatomy import PARTITIONS, coded
from benchmarks.measure import sized
partition = PARTITIONS[{name!r}]
partition(10_000)  # compiles and imports, which is not the data's fault
coded(sized(1_000_000))
"""


@cache
def coded(rows: int) -> tuple[NDArray[np.int32], list[int], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Codes and sizes of the quasi-identifiers, codes of salary class and income, and the incomes.

    They are kept in a file, so that a fresh process that measures memory holds them and no more.
    """
    file = Path(tempfile.gettempdir()) / f"hedgerow-benchmark-{os.getuid()}-{rows}.npz"
    if not file.exists():
        np.savez(file, *_encoded(rows))
    with np.load(file) as kept:
        quasi, sizes, salary, income, values = (kept[f"arr_{place}"] for place in range(5))
    return quasi, sizes.tolist(), salary, income, values


def _encoded(rows: int) -> tuple[NDArray, ...]:
    table = read_table(census(rows))
    encoded = [table.encode(name) for name in QUASI]
    quasi, sizes = np.stack([column.codes for column in encoded]), np.array([column.size for column in encoded])
    income = table.encode("income")
    return quasi, sizes, table.encode("salary_class").codes, income.codes, income.domain.to_numpy()


def _near(rows: int) -> NDArray[np.int32]:
    quasi, sizes, salary, _, _ = coded(rows)
    return proximity_split(quasi, sizes, salary, same_value(int(salary.max()) + 1), m=L)


PARTITIONS = {
    "anatomize": lambda rows: anatomize(coded(rows)[2], l=L),
    "round_robin": lambda rows: round_robin(coded(rows)[2], l=L),
    "ncp_split": lambda rows: ncp_split(*coded(rows)[:3], l=L),
    "near (proximity_split, a value near itself alone)": _near,
}


def penalty(labels: NDArray[np.int32]) -> float:
    """The normalized certainty penalty of a row: ranges over domains, summed over the quasi-identifiers."""
    rows = len(labels)
    quasi, sizes, *_ = coded(rows)
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(labels[order]) > 0))
    members = np.diff(np.append(starts, rows))
    ranges = (np.maximum.reduceat(c[order], starts) - np.minimum.reduceat(c[order], starts) for c in quasi)
    return sum(float((r * members).sum()) / (size - 1) for r, size in zip(ranges, sizes, strict=True)) / rows


def main() -> None:
    compare("l-diverse partitions, l = 8, 7 quasi-identifiers", PARTITIONS, _SETUP)
    rows = [(name, penalty(partition(sized(1_000_000))), "") for name, partition in PARTITIONS.items()]
    show("normalized certainty penalty of a row (at most 7)", rows)


def compare(title: str, partitions: dict, setup: str) -> None:
    """Time, growth and memory of partitions that take a number of rows."""
    reference = seconds(lambda: np.lexsort(coded(sized(1_000_000))[0]))
    table = (len(QUASI) + 1) * 4 * sized(1_000_000)
    rows = []
    for name, partition in partitions.items():
        large, small = (seconds(lambda p=partition, n=n: p(n)) for n in (sized(1_000_000), sized(100_000)))
        memory = peak_beyond(setup.format(name=name), "partition(sized(1_000_000))") / table
        rows += [
            (f"{name}, 1M rows / np.lexsort", large / reference, "x"),
            (f"{name}, 1M rows / 100k rows", large / small, "x"),
            (f"{name}, peak beyond the encoded table / that table", memory, "x"),
        ]
    show(title, rows)


if __name__ == "__main__":
    main()
