"""(k,e)-anonymity on 1M and 10M rows with 100,000 distinct values, against np.argsort of the column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import hedgerow as hr
from benchmarks.measure import peak_beyond, seconds, show, sized
from hedgerow.exact import line
from hedgerow.partition.ke import ke_count, ke_max, ke_max_overlap, ke_random, ke_sum
from hedgerow.release import PublishedColumns
from hedgerow.release.forms.permuted import publish_permuted
from hedgerow.table import read_table
from hedgerow.table.encode import encode

DISTINCT = sized(100_000)
SCHEMA = hr.Schema(quasi=["age", "zip"], sensitive="salary")

_SETUP = """
import hedgerow as hr
from benchmarks.ke import table
from benchmarks.measure import sized
source = table(sized(10_000_000))
schema = hr.Schema(quasi=["age", "zip"], sensitive="salary")
hr.KEAnonymity(k=4, e=10).publish(source.slice(0, 200_000), schema)  # compiles and imports
"""


def table(rows: int) -> pa.Table:
    """Two quasi-identifiers and a sensitive column."""
    rng = np.random.Generator(np.random.PCG64(1))
    return pa.table(
        {
            "age": rng.integers(0, 90, rows),
            "zip": rng.integers(0, 30_000, rows),
            "salary": rng.integers(0, DISTINCT, rows),
        }
    )


def partition_and_permute(source: pa.Table) -> pa.Table:
    """Everything between the columns and the published table: counting, partition, deal, two shuffles, gather."""
    sensitive = encode(source.column("salary"))
    where = line(sensitive.domain.to_numpy())
    pieces = ke_sum(where.positions, sensitive.counts(), k=4, e=10)
    columns = PublishedColumns(("age", "zip"), ("salary",))
    return publish_permuted(read_table(source), columns, sensitive, pieces, group_column="group")


def main() -> None:
    took = {}
    few, many = sized(1_000_000), sized(10_000_000)
    for rows in (few, many):
        source = table(rows)
        column = source.column("salary").to_numpy()
        reference = seconds(lambda column=column: np.argsort(column))
        took[rows] = seconds(lambda source=source: partition_and_permute(source))
        whole = seconds(lambda source=source: hr.KEAnonymity(k=4, e=10).publish(source, SCHEMA))
        show(
            f"(k,e)-anonymity, {rows:,} rows, {DISTINCT:,} distinct values",
            [
                ("partition + permutation / np.argsort of the column", took[rows] / reference, "x"),
                ("publish (reading and audit too) / np.argsort", whole / reference, "x"),
            ],
        )
    show("growth", [("10M rows / 1M rows", took[many] / took[few], "x")])
    partitions()
    memory()


def partitions() -> None:
    """The partitions alone, on distinct values."""
    rng = np.random.Generator(np.random.PCG64(2))
    positions = np.unique(rng.integers(0, 1_000_000, DISTINCT))
    counts = rng.integers(1, 200, len(positions))
    column = rng.permutation(np.repeat(positions, counts))
    reference = seconds(lambda: np.argsort(column))
    rows = [(p.__name__, seconds(lambda p=p: p(positions, counts, k=4, e=10)) / reference, "x")
            for p in (ke_sum, ke_max, ke_count, ke_random)]  # fmt: skip
    show(f"partition / np.argsort of the {int(counts.sum()):,} rows", rows)
    few = np.sort(rng.choice(4000, 89, replace=False))
    small = rng.multinomial(1427 - 89, np.ones(89) / 89) + 1
    took = seconds(lambda: ke_max_overlap(few, small, k=4, e=100))
    show("ke_max_overlap, 1,427 rows, 89 distinct values", [("seconds", took, "s")])


def memory() -> None:
    """Peak memory beyond the input, as a multiple of the input columns."""
    beyond = peak_beyond(_SETUP, "release = hr.KEAnonymity(k=4, e=10).publish(source, schema)")
    show(
        "memory, 10M rows, three columns",
        [("peak beyond the input / input columns", beyond / (24 * sized(10_000_000)), "x")],
    )


if __name__ == "__main__":
    main()
