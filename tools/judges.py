"""Releases for outside judges: released rows and our own numbers about them, as files that any program can read.

python tools/judges.py FOLDER          writes the tables
JUDGES/bin/python tools/judge_pycanon.py FOLDER   asks pycanon, in an environment of its own
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.csv as pc_csv

import hedgerow as hr
from hedgerow.datasets import census
from hedgerow.release import Release

QUASI = ["age", "gender", "education", "marital"]
ROWS = 5_000


@dataclass(frozen=True)
class Case:
    """A release to be judged."""

    name: str
    method: hr.Mondrian | hr.FullDomain
    sensitive: str


CASES = (
    Case("mondrian k=5", hr.Mondrian(k=5), "occupation"),
    Case("mondrian relaxed k=10", hr.Mondrian(k=10, relaxed=True), "occupation"),
    Case("mondrian k=8, frequency l=4", hr.Mondrian(k=8, l=4), "occupation"),
    Case("mondrian k=4, distinct l=4", hr.Mondrian(k=4, l=4, diversity="distinct"), "salary_class"),
    Case("mondrian k=20, t=0.35 equal", hr.Mondrian(k=20, t="0.35"), "occupation"),
    Case("mondrian k=20, t=0.15 ordered", hr.Mondrian(k=20, t="0.15", distance="ordered"), "salary_class"),
    Case("full domain k=5, distinct l=3", hr.FullDomain(k=5, l=3, diversity="distinct"), "occupation"),
)


def main(folder: Path) -> None:
    """Publish every case and write its rows and our numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    table = census(ROWS).select([*QUASI, "occupation", "salary_class"])
    for number, case in enumerate(CASES):
        source = table.select([*QUASI, case.sensitive])
        release = case.method.publish(source, hr.Schema(quasi=QUASI, sensitive=case.sensitive))
        rows = release.tables["release"].select([*QUASI, case.sensitive])
        pc_csv.write_csv(rows, folder / f"{number}.csv")
        facts = {
            "name": case.name,
            "quasi": QUASI,
            "sensitive": case.sensitive,
            "ours": ours(release, case.sensitive),
            "promised": {"k": case.method.k, "l": float(case.method.l or 1), "t": float(case.method.t or 1)},
        }
        (folder / f"{number}.json").write_text(json.dumps(facts))
        print(f"{case.name:<32} {facts['ours']}")


def ours(release: Release, sensitive: str) -> dict[str, float]:
    """Our k, l and t over classes of equal published labels: two groups of the same box are one class to a judge."""
    rows = release.tables["release"].to_pylist()
    classes: dict[tuple[str, ...], list[object]] = {}
    for row in rows:
        classes.setdefault(tuple(row[name] for name in QUASI), []).append(row[sensitive])
    values = sorted({row[sensitive] for row in rows})
    is_number = not isinstance(values[0], str)
    return {
        "k": min(len(members) for members in classes.values()),
        "l": min(len(set(members)) for members in classes.values()),
        "t": float(max(distance(members, rows, values, sensitive, is_number) for members in classes.values())),
    }


def distance(
    members: list[object], rows: list[dict[str, object]], values: list[object], sensitive: str, is_number: bool
) -> Fraction:
    """Earth mover's distance of a class from the whole: ordered for numbers, equal for texts."""
    here, whole = Counter(members), Counter(row[sensitive] for row in rows)
    gaps = [Fraction(here[value], len(members)) - Fraction(whole[value], len(rows)) for value in values]
    if not is_number:
        return sum(map(abs, gaps), Fraction(0)) / 2
    running = np.cumsum(np.array(gaps, dtype=object))
    return sum(map(abs, running), Fraction(0)) / (len(values) - 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
