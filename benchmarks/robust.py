"""ART against a sort of the table, and its growth with the number of rows.

python -m benchmarks.robust
"""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pyarrow as pa

from benchmarks.measure import sized
from hedgerow.inference.knowledge import KnowledgeEstimate
from hedgerow.inference.robust import members
from hedgerow.partition.robust.candidates import RobustRows
from hedgerow.partition.robust.check import Check
from hedgerow.partition.robust.gather import art
from hedgerow.randomness import seeded_keys
from hedgerow.table import read_table
from studies.real import acs, adult
from studies.robust_data import PROTECTED

ADULT = ["age", "workclass", "marital-status", "occupation", "race"]
ACS = ["Age", "Workclass", "Marital Status", "Race", "Gender"]


def sort_seconds(table: pa.Table, quasi: list[str]) -> float:
    codes = [read_table(table).encode(name).codes for name in quasi]
    best = np.inf
    for _ in range(5):
        begin = time.process_time()
        np.lexsort(codes)
        best = min(best, time.process_time() - begin)
    return float(best)


def art_seconds(table: pa.Table, quasi: list[str], sensitive: str, protect: list[object], r: int) -> dict[str, float]:
    source = read_table(table.select([*quasi, sensitive]))
    begin = time.process_time()
    knowledge = KnowledgeEstimate(support=100).of(source, quasi=quasi, sensitive=sensitive)
    signatures = knowledge.signatures(source.arrow.select(quasi))
    codes = knowledge.value_codes(source.arrow.column(sensitive))
    candidates = RobustRows(knowledge, signatures, codes, members(knowledge.values, protect))
    _ = candidates.trees
    estimated = time.process_time()
    found = art(Check(candidates, Fraction(r)), allowed=candidates.size, restarts=0, keys=seeded_keys(3))
    done = time.process_time()
    return {
        "sets": len(knowledge.distributions),
        "estimate": estimated - begin,
        "art": done - estimated,
        "left": found.left_out,
    }


def against_sort() -> None:
    table, protect = adult().drop_null(), [list(PROTECTED)]
    art_seconds(table.slice(0, 5000), ADULT, "education", protect, 3)  # load the compiled kernels
    sort = sort_seconds(table, ADULT)
    for r in (5, 10):
        found = art_seconds(table, ADULT, "education", protect, r)
        per_set = found["art"] / found["sets"] / sort
        print(
            f"Adult {table.num_rows:,} rows, r = {r}: lexsort {1000 * sort:.1f} ms, {found['sets']:.0f} sets, "
            f"estimate {found['estimate']:.2f} s, ART {found['art']:.2f} s = {per_set:.1f} sorts per set; "
            f"{found['left']:.0f} rows left out"
        )


def growth() -> None:
    table = acs()
    early = [
        "No schooling completed",
        "Nursery school, preschool",
        "Kindergarten",
        *(f"Grade {g}" for g in range(1, 9)),
    ]
    order = np.random.default_rng(0).permutation(table.num_rows)
    first = None
    for rows in map(sized, (18_000, 37_000, 74_000, 148_000, table.num_rows)):
        part = table.take(pa.array(order[:rows]))
        found = art_seconds(part, ACS, "Education", [early], 5)
        scaled = found["art"] / (rows * np.log2(rows))
        first = first or scaled
        print(
            f"ACS {rows:,} rows, r = 5: ART {found['art']:.2f} s, n log n times {scaled / first:.2f}; "
            f"{found['left']:.0f} left out"
        )


def main() -> None:
    """Print the ratios."""
    against_sort()
    growth()


if __name__ == "__main__":
    main()
