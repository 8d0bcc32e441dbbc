"""Attack x method: publish a real table by every method, let every adversary try, write the table of docs/security.md.

    python -m tools.attack_table [METHOD ...]

Without names every method is tried, and the tables go between the two marks in docs/security.md; with names the tables
of those methods are printed.

It reads UCI Adult (see hedgerow.datasets), publishes some of the complete rows, and keeps the others as people who were
not published. Methods for texts protect the occupation, methods for numbers the age: of Adult's numbers the one
that is spread widely enough for them.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.attack import AttackReport, run
from hedgerow.attack.finding import percent
from hedgerow.methods import Method
from hedgerow.methods.registry import METHODS, method
from hedgerow.randomness import generator
from hedgerow.release import Release
from hedgerow.schema import Hierarchy, Schema
from studies.real import adult

QUASI = ("sex", "race", "marital-status", "education", "workclass", "hours-per-week")
TEXT, NUMBER = "occupation", "age"
SHOWN = ("linking", "proximity", "skewness", "background", "deFinetti", "composition", "inference", "membership")
ROWS = ("presence", "singling out", "linkability", "downcoding")
UNSAID = ("columns", "knowledge", "node_column", "consent")
UNSURE = 0.07
"""Cells whose 95 % interval is wider show it, and how many guesses it comes from."""
BEGIN, END = "<!-- attack table: begin -->", "<!-- attack table: end -->"
DOCUMENT = Path(__file__).parent.parent / "docs" / "security.md"


@dataclass(frozen=True)
class Setting:
    """How a method is tried: its letters, what it protects, and of how many people where it is slow.

    `method` is its name in the registry where several lines are of one method; with `is_second` the release is the
    second of a series, after a tenth of the people left.
    """

    letters: dict[str, Any]
    column: str = TEXT
    rows: int = 20_000
    has_wishes: bool = False
    method: str = ""
    is_second: bool = False


def settings() -> dict[str, Setting]:
    """Every method of the registry with letters that promise about as much."""
    from hedgerow.inference.knowledge import KnowledgeEstimate

    number = {"column": NUMBER}
    return {
        "ke": Setting({"k": 4, "e": 10}, **number),
        "anatomy": Setting({"l": 4}),
        "anatomy near": Setting({"l": 4, "grouping": "near"}, method="anatomy"),
        "permutation": Setting({"l": 4}),
        "permutation blind": Setting({"l": 4, "grouping": "blind"}, method="permutation"),
        "mondrian": Setting({"k": 5, "l": "4"}),
        "mondrian blind": Setting({"k": 200, "l": "2", "blind": True}, method="mondrian"),
        "full-domain": Setting({"k": 5}),
        "proximity": Setting({"eps": "2", "m": 4}, **number),
        "proximity blind": Setting({"eps": "2", "m": 4, "grouping": "blind"}, method="proximity", **number),
        "m-invariant": Setting({"m": 4}),
        "m-invariant second": Setting({"m": 4}, method="m-invariant", is_second=True),
        "robust": Setting(
            {"r": "2", "knowledge": KnowledgeEstimate(size=1, support=500), "max_suppressed": "0.3"}, rows=4_000
        ),
        "target": Setting({"target": "uniform"}, **number),
        "personal": Setting({"node_column": "wish", "consent": True}, column=NUMBER, has_wishes=True),
        "personal blind": Setting(
            {"node_column": "wish", "consent": True, "partition": "one"},
            column=NUMBER,
            has_wishes=True,
            method="personal",
        ),
        "microaggregation": Setting({"k": 5}, **number),
        "noise": Setting({"scale": "0.1"}, **number),
        "rank-swap": Setting({"share": "0.05"}, **number),
        "retention": Setting({"p": "0.3"}, **number),
        "walk": Setting({"columns": [NUMBER]}, column=NUMBER, rows=2_000),
    }


def people(setting: Setting) -> tuple[pa.Table, pa.Table]:
    """The published and the held out people."""
    whole = adult().drop_null().select([*QUASI, setting.column])
    order = generator(1).permutation(whole.num_rows)
    published = whole.take(pa.array(order[: setting.rows]))
    return published, whole.take(pa.array(order[20_000:]))


def schema_for(setting: Setting, table: pa.Table) -> tuple[pa.Table, Schema]:
    """Roles of the columns; a wish for those who may have one: half of the people ask for the whole range."""
    if setting.has_wishes:
        ages = sorted(set(table[NUMBER].to_pylist()))
        trees = {NUMBER: Hierarchy.binary(ages)}
        levels = np.where(np.arange(table.num_rows) % 2 == 0, 7, 3)
        table = table.append_column("wish", pa.array(levels))
        return table, Schema(quasi=QUASI, sensitive=NUMBER, identifier=["wish"], hierarchies=trees)
    return table, Schema(quasi=QUASI, sensitive=setting.column)


def measured(name: str, setting: Setting) -> AttackReport:
    """Publish twice, and let everybody try."""
    table, others = people(setting)
    built = method(setting.method or name, setting.letters)
    if setting.is_second:
        return run(*second(built, table), holdout=others)
    prepared, schema = schema_for(setting, table)
    release, again = (built.publish(prepared, schema) for _ in range(2))
    return run(release, table, also=[again], holdout=others)


def second(built: Method, table: pa.Table) -> tuple[Release, pa.Table]:
    """The second release of a series, and whom it is of: nine tenths of those of the first."""
    marked = table.append_column("who", pa.array(np.arange(table.num_rows)))
    schema = Schema(quasi=QUASI, sensitive=TEXT, identifier=["who"])
    left = marked.take(pa.array(np.sort(generator(2).permutation(table.num_rows)[: table.num_rows * 9 // 10])))
    with TemporaryDirectory() as folder:
        built.publish(marked, schema, ledger=Path(folder) / "ledger.json")
        return built.publish(left, schema, ledger=Path(folder) / "ledger.json"), left


def cell(report: AttackReport, adversary: str) -> str:
    """Measured, what it is compared with, and what was promised."""
    found = next((finding for finding in report.findings if finding.adversary == adversary), None)
    if found is None:
        return "–"
    beside = found.baseline if found.control is None else found.control
    text = f"{percent(found.rate)} ({percent(beside)})"
    if not found.exact and found.high - found.low > UNSURE:
        text += f", {percent(found.low)} to {percent(found.high)} by {found.trials:,}"
    if found.promised is None:
        return text
    worst = "" if found.worst is None else f"worst {percent(found.worst)}, "
    return f"{text}; {worst}promised {percent(found.promised)}{'' if found.holds else ' BROKEN'}"


def lines(reports: dict[str, AttackReport], adversaries: tuple[str, ...]) -> list[str]:
    """One table: a line per method, a column per adversary."""
    head = [f"| method | {' | '.join(adversaries)} |", "|---" * (len(adversaries) + 1) + "|"]
    body = [
        f"| {name} | {' | '.join(cell(report, adversary) for adversary in adversaries)} |"
        for name, report in reports.items()
    ]
    return head + body


def title(setting: Setting, report: AttackReport) -> str:
    """How the method was tried."""
    letters = [f"{key} = {value}" for key, value in setting.letters.items() if key not in UNSAID]
    letters += ["half ask for the whole range"] if setting.has_wishes else []
    turn = ", second of a series" if setting.is_second else ""
    said = ", ".join(letters) or setting.column
    return f"{report.method} ({said}){turn}, {report.form}, {report.rows:,} rows, {setting.column}"


def written(text: str) -> None:
    """Put the tables between the marks."""
    before, rest = DOCUMENT.read_text().split(BEGIN)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")


def main() -> None:
    """Make both tables; progress goes to the error stream."""
    tried = settings()
    if untried := set(METHODS) - {setting.method or name for name, setting in tried.items()}:
        raise SystemExit(f"Without a setting: {', '.join(sorted(untried))}.")
    reports: dict[str, AttackReport] = {}
    for name in sys.argv[1:] or tried:
        began = time.perf_counter()
        report = measured(name, tried[name])
        reports[title(tried[name], report)] = report
        print(f"{name}: {time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)
    text = "\n".join((*lines(reports, SHOWN), "", *lines(reports, ROWS)))
    print(text)
    if not sys.argv[1:]:
        written(text)


if __name__ == "__main__":
    main()
