"""What each method costs on the same questions: `python -m studies.choosing [ROWS [FIGURE]]`, for docs/choosing.md.

Bounds, error and time on Adult (hours), the American Community Survey (income) and the generated census (income); the
same random questions, an average over two conditions, for every method.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

import hedgerow as hr
from hedgerow.datasets import census
from studies.real import acs, adult

__all__ = ["METHODS", "Line", "Subject", "draw", "measure", "subjects"]

METHODS: dict[str, hr.Method] = {
    "KEAnonymity(10, e)": hr.KEAnonymity(10, 0),
    "KEAnonymity(10, e, l=2)": hr.KEAnonymity(10, 0, l=2),
    'KEAnonymity(10, e, refine="quasi")': hr.KEAnonymity(10, 0, refine="quasi"),
    "Anatomy(l=2)": hr.Anatomy(l=2),
    'PermutationAnonymization(l=2), "near"': hr.PermutationAnonymization(l=2),
    'PermutationAnonymization(l=2, grouping="blind")': hr.PermutationAnonymization(l=2, grouping="blind"),
    "Mondrian(k=10, l=2)": hr.Mondrian(k=10, l=2),
    'Mondrian(k=10, l=2, form="permuted")': hr.Mondrian(k=10, l=2, form="permuted"),
    "Mondrian(k=10, l=2, blind=True)": hr.Mondrian(k=10, l=2, blind=True),
}


@dataclass(frozen=True)
class Subject:
    """A table with its quasi-identifiers: the first is a number, the second a text; and a sensitive number."""

    name: str
    table: pa.Table
    quasi: tuple[str, ...]
    sensitive: str


@dataclass(frozen=True)
class Line:
    """What one method gave on one table; shares of the truth, medians over the questions."""

    method: str
    groups: int
    width: float
    fair: float
    learned: float
    seconds: float


def subjects(rows: int) -> Iterator[Subject]:
    """The three tables, the first `rows` rows of each in random order."""
    rng = np.random.default_rng(7)
    for name, table, quasi, sensitive in (
        ("Adult", adult(), ("age", "education", "sex", "race"), "hours-per-week"),
        ("ACS", acs(), ("Age", "Education", "Gender", "Race"), "Income"),
        ("census", census(2 * rows, seed=3), ("age", "education", "gender", "race"), "income"),
    ):
        whole = table.select([*quasi, sensitive]).drop_null()
        chosen = rng.permutation(whole.num_rows)[:rows]
        texts = {n: whole[n].cast(pa.string()) if n == quasi[1] else whole[n] for n in whole.column_names}
        yield Subject(name, pa.table(texts).take(chosen), quasi, sensitive)


def measure(subject: Subject, questions: int = 40) -> Iterator[Line]:
    """Publish by every method that can, and ask all the same questions."""
    schema = hr.Schema(quasi=list(subject.quasi), sensitive=subject.sensitive)
    asked = list(_questions(subject, questions))
    for name, method in METHODS.items():
        began = time.process_time()
        try:
            release = method.publish(subject.table, schema, seed=1)
        except hr.Infeasible:
            continue
        took = time.process_time() - began
        rows = [_errors(release, sql, truth) for sql, truth in asked]
        width, fair, learned = np.median(np.array(rows), axis=0).tolist()
        yield Line(name, release.groups, width, fair, learned, took)


def _errors(release: hr.Release, sql: str, truth: float) -> tuple[float, float, float]:
    answer = release.ask(sql, estimate="learned")
    guesses = (abs(float(guess) - truth) / truth for guess in (answer.expected, answer.learned.estimate))
    return (answer.upper - answer.lower) / truth, *guesses


def _questions(subject: Subject, number: int) -> Iterator[tuple[str, float]]:
    """Averages over a range of the first column and a value of the second, with at least twenty rows."""
    rng = np.random.default_rng(11)
    first, second = (subject.table[name].to_numpy(zero_copy_only=False) for name in subject.quasi[:2])
    values = subject.table[subject.sensitive].to_numpy().astype(float)
    while number:
        low = int(rng.choice(first))
        level = str(rng.choice(second))
        high = low + int(rng.integers(5, 25))
        hit = (first >= low) & (first <= high) & (second == level)
        if hit.sum() >= 20 and values[hit].mean() > 0:
            number -= 1
            quoted = level.replace("'", "''")
            where = f'"{subject.quasi[0]}" BETWEEN {low} AND {high} AND "{subject.quasi[1]}" = \'{quoted}\''
            yield f'SELECT avg("{subject.sensitive}") FROM release WHERE {where}', float(values[hit].mean())


def draw(found: dict[str, list[Line]], path: Path) -> None:
    """Width of bounds against the error of the fair shuffle and of the learned estimate, a mark for each method."""
    from hedgerow.report.release_figures import new_figure, save_figure

    figure, axes = new_figure()
    for name, lines in found.items():
        axes.plot([line.width for line in lines], [line.learned for line in lines], "o", label=name)
    axes.set_xlabel("median width of the bounds, as a share of the truth")
    axes.set_ylabel("median error of the learned estimate")
    axes.set_xscale("log")
    axes.legend()
    save_figure(figure, path.parent, path.stem)


def main() -> None:
    """Print the table as Markdown."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print("| table | method | groups | width of AVG | fair error | learned error | seconds |")
    print("|---|---|---|---|---|---|---|")
    found: dict[str, list[Line]] = {}
    for subject in subjects(rows):
        for line in measure(subject):
            found.setdefault(subject.name, []).append(line)
            shares = " | ".join(f"{share:.1%}" for share in (line.width, line.fair, line.learned))
            print(f"| {subject.name} | {line.method} | {line.groups:,} | {shares} | {line.seconds:.1f} |", flush=True)
    if len(sys.argv) > 2:
        draw(found, Path(sys.argv[2]))


if __name__ == "__main__":
    main()
