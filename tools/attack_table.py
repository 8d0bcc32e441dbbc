"""Attack x method: publish a real table by every method, let every adversary try, print the table of docs/security.md.

    python tools/attack_table.py [METHOD ...]

It reads UCI Adult (see hedgerow.datasets), publishes some of the complete rows, and keeps the others as people who were
not published. Methods for texts protect the occupation, methods for numbers the age: of Adult's numbers the one
that is spread widely enough for them.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.attack import Bench, run
from hedgerow.attack.rate import percent
from hedgerow.datasets import adult
from hedgerow.methods.registry import METHODS, method
from hedgerow.randomness import generator
from hedgerow.schema import Hierarchy, Schema

QUASI = ("sex", "race", "marital-status", "education", "workclass", "hours-per-week")
TEXT, NUMBER = "occupation", "age"
SHOWN = ("linking", "proximity", "skewness", "background", "deFinetti", "composition", "inference", "membership")
ROWS = ("presence", "singling out", "linkability", "downcoding")


@dataclass(frozen=True)
class Setting:
    """How a method is tried: its letters, what it protects, and of how many people where it is slow."""

    letters: dict[str, Any]
    column: str = TEXT
    rows: int = 20_000
    has_wishes: bool = False


def settings() -> dict[str, Setting]:
    """Every method of the registry with letters that promise about as much."""
    from hedgerow.criteria.estimate import Estimate

    number = {"column": NUMBER}
    return {
        "ke": Setting({"k": 4, "e": 10}, **number),
        "anatomy": Setting({"l": 4}),
        "permutation": Setting({"l": 4}),
        "mondrian": Setting({"k": 5, "l": "4"}),
        "full-domain": Setting({"k": 5}),
        "proximity": Setting({"eps": "2", "m": 4}, **number),
        "m-invariant": Setting({"m": 4}),
        "robust": Setting({"r": "2", "knowledge": Estimate(size=1, support=500), "max_suppressed": "0.3"}, rows=4_000),
        "target": Setting({"target": "uniform"}, **number),
        "personal": Setting({"node_column": "wish", "consent": True}, column=NUMBER, has_wishes=True),
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


def measured(name: str, setting: Setting) -> Bench:
    """Publish twice, and let everybody try."""
    table, others = people(setting)
    prepared, schema = schema_for(setting, table)
    built = method(name, setting.letters)
    release, again = (built.publish(prepared, schema) for _ in range(2))
    return run(release, table, also=[again], holdout=others)


def cell(bench: Bench, adversary: str) -> str:
    """Measured, what it is compared with, and what was promised."""
    found = next((finding for finding in bench.findings if finding.adversary == adversary), None)
    if found is None:
        return "–"
    beside = found.baseline if found.control is None else found.control
    text = f"{percent(found.rate)} ({percent(beside)})"
    if found.promised is None:
        return text
    worst = "" if found.worst is None else f"worst {percent(found.worst)}, "
    return f"{text}; {worst}promised {percent(found.promised)}{'' if found.holds else ' BROKEN'}"


def lines(benches: dict[str, Bench], adversaries: tuple[str, ...]) -> list[str]:
    """One table: a line per method, a column per adversary."""
    head = [f"| method | {' | '.join(adversaries)} |", "|---" * (len(adversaries) + 1) + "|"]
    body = [
        f"| {name} | {' | '.join(cell(bench, adversary) for adversary in adversaries)} |"
        for name, bench in benches.items()
    ]
    return head + body


def main() -> None:
    """Print both tables; progress goes to the error stream."""
    wanted = sys.argv[1:] or list(METHODS)
    tried = settings()
    benches: dict[str, Bench] = {}
    for name in (name for name in tried if name in wanted):
        began = time.perf_counter()
        setting = tried[name]
        bench = measured(name, setting)
        letters = ", ".join(f"{key} = {value}" for key, value in setting.letters.items() if key not in ("knowledge",))
        benches[f"{bench.method} ({letters}), {bench.form}, {bench.rows:,} rows, {setting.column}"] = bench
        print(f"{name}: {time.perf_counter() - began:.1f} s", file=sys.stderr)
    print("\n".join((*lines(benches, SHOWN), "", *lines(benches, ROWS))))


if __name__ == "__main__":
    main()
