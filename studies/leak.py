"""How much the choice of groups tells at a thousand rows: `python -m studies.leak [ROWS [PEOPLE]]`.

For every method whose posterior exceeds its promise on some tiny table and that makes groups. The adversary knows the
algorithm, every open column, every sensitive value outside the group, and even the random numbers, which is more than
anybody does. Two people of a group with different values exchange them, and the method runs again with the same random
numbers: if another release comes out, this exchange is ruled out. A person's posterior is the share of worlds, one
exchange away from the truth, that have its true value. Without a leak it is the value's share in the group.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import hedgerow as hr
from studies.real import acs, adult_arx, adult_hierarchies

__all__ = ["Leak", "Subject", "groups_of", "leak_of", "subjects"]


@dataclass(frozen=True)
class Subject:
    """A table with its quasi-identifiers and sensitive column, and the methods that suit it."""

    name: str
    table: pa.Table
    schema: hr.Schema
    methods: dict[str, hr.Method]


@dataclass(frozen=True)
class Leak:
    """Over people drawn at random: exchanges ruled out, people who lose one, their value's share and its posterior.

    `worst` is the largest posterior; `promised` was at most what the method promises, where that is a chance.
    """

    people: int
    exchanges: int
    ruled_out: float
    touched: float
    shown: float
    posterior: float
    worst: float


def leak_of(method: hr.Method, subject: Subject, *, people: int, seed: int = 1) -> Leak:
    """Exchange the values of people of a group, and see which exchanges give the same release."""
    table, (hidden,) = subject.table, subject.schema.sensitive
    groups = groups_of(method, subject, table, seed=1)
    release = _published(method, table, subject.schema)
    values = table[hidden].to_pylist()
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(np.flatnonzero(groups >= 0))[:people].tolist()
    tried = out = touched = 0
    shown, posterior = [], []
    for person in chosen:
        others = np.flatnonzero(groups == groups[person]).tolist()
        alike = sum(values[other] == values[person] for other in others)
        stay = 0
        for other in others:
            if values[other] == values[person]:
                continue
            dealt = list(values)
            dealt[person], dealt[other] = values[other], values[person]
            exchanged = table.set_column(table.column_names.index(hidden), hidden, pa.array(dealt, table[hidden].type))
            stay += _published(method, exchanged, subject.schema) == release
        different = len(others) - alike
        tried, out, touched = tried + different, out + different - stay, touched + (stay < different)
        shown.append(alike / len(others))
        posterior.append(alike / (alike + stay))
    return Leak(
        people=len(chosen),
        exchanges=tried,
        ruled_out=out / max(tried, 1),
        touched=touched / len(chosen),
        shown=float(np.mean(shown)),
        posterior=float(np.mean(posterior)),
        worst=max(posterior),
    )


def groups_of(method: hr.Method, subject: Subject, table: pa.Table, *, seed: int) -> np.ndarray:
    """The group of each row: a number of its own beside each row tells where it went; -1 where it was suppressed."""
    schema = subject.schema
    numbered = table.append_column("row", pa.array(np.arange(table.num_rows)))
    known = {name: getattr(schema, name) for name in ("quasi", "sensitive", "hierarchies")}
    release = method.publish(numbered, hr.Schema(**known, plain=["row"]), seed=seed)
    rows = next(found for found in release.tables.values() if "row" in found.column_names)
    groups = np.full(table.num_rows, -1)
    groups[rows["row"].to_numpy()] = rows[release.group_column].to_numpy()
    return groups


def _published(method: hr.Method, table: pa.Table, schema: hr.Schema) -> object:
    """A release without its order and the numbers of its groups; None where the table is refused."""
    try:
        release = method.publish(table, schema, seed=1)
    except hr.Infeasible:
        return None
    cells: dict[object, dict[str, list[str]]] = {}
    for name, found in release.tables.items():
        if release.group_column not in found.column_names:
            continue
        hidden = [column for column in found.column_names if column in schema.sensitive]
        open_columns = [c for c in found.column_names if c not in hidden and c != release.group_column]
        for part, columns in (("open", open_columns), ("hidden", hidden)):
            rows = zip(*(found[column].to_pylist() for column in columns), strict=True) if columns else ()
            for group, row in zip(found[release.group_column].to_pylist(), rows, strict=False):
                cells.setdefault(group, {}).setdefault(f"{name} {part}", []).append(repr(row))
    return sorted(repr({part: sorted(rows) for part, rows in group.items()}) for group in cells.values())


def subjects(rows: int) -> Iterator[Subject]:
    """People of Adult with their occupation or age, of the survey with their schooling or income."""
    rng = np.random.default_rng(7)
    trees = {n: hr.Hierarchy.from_arx(adult_hierarchies()[n]) for n in ("age", "sex", "education")}
    texts: dict[str, hr.Method] = {
        "Mondrian(k=5, l=2)": hr.Mondrian(k=5, l=2),
        "Mondrian(k=5, l=4)": hr.Mondrian(k=5, l=4),
        "Anatomy(l=4), near": hr.Anatomy(l=4, grouping="near"),
        "PermutationAnonymization(l=4), ncp": hr.Anatomy(l=4, grouping="ncp"),
        "Robust(r=1.5)": hr.Robust(r="1.5", max_suppressed="0.5"),
    }
    numbers: dict[str, hr.Method] = {
        "Proximity(eps=5 %, m=4), near": hr.Proximity("0.05", 4, relative=True, form="permuted"),
        'KEAnonymity(4, 10, refine="quasi")': hr.KEAnonymity(4, 10, refine="quasi"),
    }
    full: dict[str, hr.Method] = {
        "FullDomain(k=5, l=2)": hr.FullDomain(k=5, l=2),
        "FullDomain(k=5, l=2), 5 % suppressed": hr.FullDomain(k=5, l=2, suppression="0.05"),
    }
    for name, table, quasi, hidden, methods, known in (
        ("Adult, occupation", adult_arx(), ["age", "sex", "education"], "occupation", texts, {}),
        ("Adult, occupation, hierarchies", adult_arx(), ["age", "sex", "education"], "occupation", full, trees),
        ("ACS, education", acs(), ["Age", "Gender", "Race"], "Education", texts, {}),
        ("Adult, age", adult_arx(), ["sex", "education", "race"], "age", numbers, {}),
        ("ACS, income", acs(), ["Age", "Gender", "Race"], "Income", numbers, {}),
    ):
        whole = table.select([*quasi, hidden]).drop_null()
        drawn = whole.take(rng.permutation(whole.num_rows)[:rows])
        yield Subject(name, drawn, hr.Schema(quasi=quasi, sensitive=hidden, hierarchies=known), methods)


def main() -> None:
    """Print a table as Markdown."""
    rows, people = (int(text) for text in (sys.argv[1:] + ["1000", "40"][len(sys.argv) - 1 :])[:2])
    print("| table | method | exchanges | ruled out | people touched | value's share | its posterior | largest |")
    print("|---|---|---|---|---|---|---|---|")
    for subject in subjects(rows):
        for name, method in subject.methods.items():
            try:
                found = leak_of(method, subject, people=people)
            except hr.HedgerowError as refusal:
                print(f"{subject.name}: {name}: {refusal}", file=sys.stderr)
                continue
            shares = (found.ruled_out, found.touched, found.shown, found.posterior, found.worst)
            told = " | ".join(f"{share:.1%}" for share in shares)
            print(f"| {subject.name} | {name} | {found.exchanges} | {told} |", flush=True)


if __name__ == "__main__":
    main()
