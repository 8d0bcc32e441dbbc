"""Releases turned into rows for a judge of synthetic data: rows, the people behind them, others, and our own verdict.

python tools/judge_rows.py FOLDER                            writes the tables
JUDGE/bin/python tools/judge_anonymeter.py FOLDER            asks anonymeter, in an environment of its own

A permuted release is rows already. Of two tables one world is sampled: the values of a group are dealt to its rows. Of
boxes each row takes values from its own box. The table itself, as if it were published, shows what a leak looks like.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc_csv

import hedgerow as hr
from hedgerow.attack.adversaries.singling_out import SortedPeople
from hedgerow.attack.candidates import ORDERED, CandidateColumn, CandidateRows, people_of, point_column
from hedgerow.attack.report import run
from hedgerow.datasets import census
from hedgerow.release import Release

QUASI = ["age", "gender", "education", "marital"]
SENSITIVE = "occupation"
ROWS = 3_000
OTHERS = 3_000
TARGETS = 500
TRIES = 20_000
OURS = ("singling out", "linkability", "inference")

CASES: dict[str, Any] = {
    "Anatomy l = 4, permuted": hr.Anatomy(l=4, form="permuted"),
    "Anatomy l = 4, separated": hr.Anatomy(l=4),
    "PermutationAnonymization l = 4, scattered": hr.PermutationAnonymization(l=4),
    "Mondrian k = 5, generalized": hr.Mondrian(k=5),
    "Mondrian k = 8, l = 4, generalized": hr.Mondrian(k=8, l=4),
}


def main(folder: Path) -> None:
    """Publish every case and write rows, people, others and our own findings."""
    folder.mkdir(parents=True, exist_ok=True)
    everybody = census(ROWS + OTHERS, seed=9).select([*QUASI, SENSITIVE])
    people, others = everybody.slice(0, ROWS).combine_chunks(), everybody.slice(ROWS).combine_chunks()
    pc_csv.write_csv(people, folder / "people.csv")
    pc_csv.write_csv(others, folder / "others.csv")
    schema = hr.Schema(quasi=QUASI, sensitive=SENSITIVE)
    _write(folder, 0, "the table itself", people, {})
    for number, (name, method) in enumerate(CASES.items(), start=1):
        release = method.publish(people, schema)
        rows = as_rows(release, np.random.default_rng(1))
        found = _ours(release, people, others) | {"limits": limits(rows, people, others, np.random.default_rng(2))}
        _write(folder, number, name, rows, found)


def _write(folder: Path, number: int, name: str, rows: pa.Table, ours: dict[str, Any]) -> None:
    pc_csv.write_csv(rows, folder / f"rows-{number}.csv")
    facts = {"name": name, "quasi": QUASI, "sensitive": SENSITIVE, "targets": TARGETS, "ours": ours}
    (folder / f"rows-{number}.json").write_text(json.dumps(facts))
    print(name, {adversary: round(found["rate"], 3) for adversary, found in ours.items()}, flush=True)


def _ours(release: Release, people: pa.Table, others: pa.Table) -> dict[str, Any]:
    found = run(release, people, holdout=others, targets=TARGETS)
    return {
        finding.adversary: {"rate": finding.rate, "control": finding.control, "risk": finding.risk}
        for finding in found.findings
        if finding.adversary in OURS
    }


def limits(rows: pa.Table, people: pa.Table, others: pa.Table, chance: np.random.Generator) -> dict[str, Any]:
    """Singling out by descriptions of the judge's kind: three columns, a number or beyond it, a text or none.

    Counted by our own code: what is left of the difference between both verdicts if the descriptions are alike.
    """
    columns = tuple(point_column(name, rows.column(name)) for name in rows.column_names)
    seen = CandidateRows(tuple(map(_beyond, columns)), np.arange(rows.num_rows), np.ones(rows.num_rows, np.int64))
    crowds = [SortedPeople(seen.columns, people_of(seen, t, np.arange(t.num_rows))) for t in (rows, people, others)]
    found: set[tuple[tuple[int, ...], int]] = set()
    for row in chance.integers(rows.num_rows, size=TRIES).tolist():
        three = tuple(sorted(chance.permutation(len(columns))[:3].tolist()))
        if len(found) < TARGETS and crowds[0].count(three, (row,) * 3) == 1:
            found.add((three, row))
    rate, control = (
        float(np.mean([crowd.count(three, (row,) * 3) == 1 for three, row in found])) for crowd in crowds[1:]
    )
    return {"rate": rate, "control": control, "risk": max(0.0, (rate - control) / (1 - control))}


def _beyond(column: CandidateColumn) -> CandidateColumn:
    """A number above the middle stands for itself and all above, another for itself and all below."""
    if column.kind != ORDERED:
        return column
    is_high = column.low > np.median(column.low)
    return replace(column, low=np.where(is_high, column.low, -np.inf), high=np.where(is_high, np.inf, column.high))


def as_rows(release: Release, chance: np.random.Generator) -> pa.Table:
    """One table that the release may come from."""
    if release.form == "generalized":
        return _from_boxes(release, chance)
    if release.form == "permuted":
        return release.tables["release"].select([*QUASI, SENSITIVE])
    # Rows of both tables are in random order inside each group, so that laying them side by side is a random world.
    quasi, sensitive = release.tables["quasi"], release.tables["sensitive"]
    return quasi.select(QUASI).append_column(SENSITIVE, sensitive.column(SENSITIVE))


def _from_boxes(release: Release, chance: np.random.Generator) -> pa.Table:
    table = release.tables["release"]
    sets: dict[tuple[str, int], list[str]] = defaultdict(list)
    for entry in release.tables["sets"].to_pylist() if "sets" in release.tables else ():
        sets[entry["column"], entry["set"]].append(entry["value"])
    columns: dict[str, Any] = {}
    for name in QUASI:
        if f"{name}_set" in table.column_names:
            numbers = table.column(f"{name}_set").to_pylist()
            columns[name] = [str(chance.choice(sets[name, number])) for number in numbers]
        else:
            low, high = (table.column(f"{name}_{end}").to_numpy() for end in ("low", "high"))
            columns[name] = chance.integers(low, high, endpoint=True)
    return pa.table({**columns, SENSITIVE: table.column(SENSITIVE)})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
