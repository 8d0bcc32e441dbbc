"""The ledger and m-invariant releases on the generated census, against np.lexsort of the 7 quasi-identifiers."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

import hedgerow as hr
from benchmarks.anatomy import QUASI
from benchmarks.measure import seconds, show, sized
from hedgerow.datasets import census
from hedgerow.ledger.fingerprint import Hashes
from hedgerow.partition.m_invariant import Signatures, m_invariant
from hedgerow.partition.permutation import round_robin
from hedgerow.randomness import seeded_keys
from hedgerow.table import Table, read_table

M = 8
SCHEMA = hr.Schema(quasi=QUASI, sensitive="salary_class", identifier=["person"])
KEY = bytes(32)


@cache
def people(rows: int) -> Table:
    """The census with a text that names everybody; encoded, as a method has it anyway."""
    table = census(rows)
    names = pa.array([f"p{n:08d}" for n in range(rows)])
    read = read_table(table.select([*QUASI, "salary_class"]).append_column("person", names))
    for name in read.names:
        read.encode(name)
    return read


def _second(rows: int) -> float:
    """Seconds for a second release in which one in ten left."""
    codes = people(rows).encode("salary_class").codes
    first = m_invariant(codes, np.full(rows, -1, np.int32), Signatures.none(), m=M, keys=seeded_keys(1))
    stay = np.arange(rows) % 10 > 0
    return seconds(
        lambda: m_invariant(codes[stay], first.owners[stay], first.signatures, m=M, keys=seeded_keys(2)), runs=3
    )


def _publish(folder: str, ledger: bool) -> None:
    place = Path(folder) / f"{np.random.default_rng().integers(2**60)}.json"
    hr.Anatomy(M).publish(people(sized(1_000_000)), SCHEMA, ledger=place if ledger else None)


def main() -> None:
    rows = sized(1_000_000)
    table = people(rows)
    codes = np.stack([table.encode(name).codes for name in QUASI])
    reference = seconds(lambda: np.lexsort(codes))
    new = np.full(rows, -1, np.int32)
    salaries = table.encode("salary_class").codes
    measured = [
        ("row hashes of 7 quasi-identifiers", lambda: Hashes(table).rows(tuple(sorted(QUASI)), KEY)),
        ("row hashes of a name", lambda: Hashes(table).rows(("person",), KEY)),
        ("hash of the whole table", lambda: Hashes(table).mark(KEY)),
        ("round_robin, for comparison", lambda: round_robin(salaries, l=M)),
        ("m_invariant, first release", lambda: m_invariant(salaries, new, Signatures.none(), m=M)),
    ]
    lines = [(f"{what}, 1M rows / np.lexsort", seconds(work) / reference, "x") for what, work in measured]
    later, smaller = _second(rows), _second(rows // 10)
    lines += [
        ("m_invariant, one in ten left, 1M rows / np.lexsort", later / reference, "x"),
        ("m_invariant, one in ten left, 1M rows / 100k rows", later / smaller, "x"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        without, kept = (seconds(lambda k=k: _publish(folder, k), runs=2) for k in (False, True))
    lines += [("Anatomy publish with a ledger / without", kept / without, "x")]
    show("ledger and m-invariance, 7 quasi-identifiers", lines)


if __name__ == "__main__":
    main()
