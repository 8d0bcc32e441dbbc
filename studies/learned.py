"""Learned estimate, fair shuffle, informed guess: `python -m studies.learned [ROWS [QUESTIONS [DRAW [TABLE...]]]]`.

AVG, SUM and COUNT with a condition on the hidden column over Adult (age), the American Community Survey (income) and
the generated census (income), by Anatomy and by Mondrian with rows and with boxes, l = 3 and 4. The informed guess is
that of somebody who knows how the population is made (`studies.informed`), the floor the median error that he himself
expects. DRAW chooses people, questions and random numbers of the release: settings were chosen on draw 0.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import hedgerow as hr
from hedgerow.datasets import census
from studies.choosing import Subject
from studies.informed import worlds
from studies.real import acs, adult

__all__ = ["METHODS", "Asked", "measure", "tables"]

METHODS: dict[str, hr.Method] = {
    f"{name}, l = {l}": method
    for l in (3, 4)  # noqa: E741
    for name, method in (
        ("Anatomy", hr.Anatomy(l=l)),
        ("Mondrian, boxes", hr.Mondrian(k=10, l=l)),
        ("Mondrian, permuted", hr.Mondrian(k=10, l=l, form="permuted")),
    )
}

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class _Question:
    """Conditions on two known columns and on the hidden one; `of` tells which rows meet the known ones."""

    low: int
    high: int
    level: str | None
    least: int
    most: int

    def known(self, subject: Subject) -> str:
        """The condition on known columns, as SQL."""
        first, second = subject.quasi[:2]
        quoted = "" if self.level is None else self.level.replace("'", "''")
        text = f'"{first}" BETWEEN {self.low} AND {self.high}'
        return text if self.level is None else f"{text} AND \"{second}\" = '{quoted}'"

    def kept(self, values: Numbers) -> Numbers:
        """Mark the hidden values that satisfy it."""
        return ((values >= self.least) & (values <= self.most)).astype(float)

    def of(self, subject: Subject, table: pa.Table) -> NDArray[np.bool_]:
        """The rows of a table that satisfy it."""
        first, second = (table[name].to_numpy(zero_copy_only=False) for name in subject.quasi[:2])
        hit: NDArray[np.bool_] = (first >= self.low) & (first <= self.high)
        return hit if self.level is None else hit & (second == self.level)


@dataclass(frozen=True)
class Asked:
    """One question: relative errors, that which the informed guess expects, and whether two errors held it."""

    fair: float
    learned: float
    informed: float
    floor: float
    is_covered: bool


def tables(rows: int, draw: int) -> Iterator[tuple[Subject, pa.Table]]:
    """Three tables of so many rows, each with the rest of its population."""
    rng = np.random.default_rng(7 + draw)
    for name, table, quasi, hidden in (
        ("Adult", adult(), ("hours-per-week", "education", "sex", "marital-status", "race"), "age"),
        ("ACS", acs(), ("Age", "Education", "Gender", "Race"), "Income"),
        ("census", census(50 * rows, seed=3), ("age", "education", "gender", "race"), "income"),
    ):
        whole = table.select([*quasi, hidden]).drop_null()
        columns = {n: whole[n].cast(pa.string()) if n == quasi[1] else whole[n] for n in whole.column_names}
        order = rng.permutation(whole.num_rows)
        whole = pa.table(columns)
        yield Subject(name, whole.take(order[:rows]), quasi, hidden), whole.take(order[rows:])


def measure(subject: Subject, others: pa.Table, questions: int, draw: int) -> Iterator[tuple[str, str, Asked]]:
    """Publish by each method that can, and ask all the same questions; the method and aggregate of each answer."""
    schema = hr.Schema(quasi=list(subject.quasi), sensitive=subject.sensitive)
    asked = list(_questions(subject, questions, draw))
    values = subject.table[subject.sensitive].to_numpy().astype(float)
    for name, method in METHODS.items():
        try:
            release = method.publish(subject.table, schema, seed=1 + draw)
        except hr.Infeasible as refusal:
            print(f"{subject.name}: {name}: {refusal}", file=sys.stderr)
            continue
        drawn = worlds(release, subject, others)
        for question in asked:
            known = question.known(subject)
            hits = partial(question.of, subject)
            hit, counts = hits(subject.table), drawn.sums(hits, np.ones_like)
            for aggregate in ("AVG", "SUM", "COUNT"):
                of = question.kept if aggregate == "COUNT" else np.positive
                column = "*" if aggregate == "COUNT" else f'"{subject.sensitive}"'
                where = f'{known} AND "{subject.sensitive}" BETWEEN {question.least} AND {question.most}'
                sql = f"SELECT {aggregate}({column}) FROM release WHERE {where if aggregate == 'COUNT' else known}"
                truth = float(of(values)[hit].sum()) / (hit.sum() if aggregate == "AVG" else 1)
                guesses = drawn.sums(hits, of) / (np.maximum(counts, 1.0) if aggregate == "AVG" else 1.0)
                answer = release.ask(sql, estimate="learned")
                informed, floor = guesses.mean(), np.median(np.abs(guesses - np.median(guesses)))
                off = [abs(float(each) - truth) for each in (answer.expected, answer.learned.estimate, informed)]
                is_covered = bool(off[1] <= 2 * answer.learned.standard_error)
                fair, learned, guess = (each / truth for each in off)
                yield name, aggregate, Asked(fair, learned, guess, float(floor) / truth, is_covered)


def _questions(subject: Subject, number: int, draw: int) -> Iterator[_Question]:
    """A range of the first column, mostly a value of the second, and a range of the hidden one: twenty rows or more."""
    rng = np.random.default_rng(11 + draw)
    first, second = (subject.table[name].to_numpy(zero_copy_only=False) for name in subject.quasi[:2])
    values = subject.table[subject.sensitive].to_numpy()
    while number:
        low = int(rng.choice(first))
        level = str(rng.choice(second)) if rng.random() < 0.6 else None
        least, most = sorted(rng.choice(values, 2).tolist())
        question = _Question(low, low + int(rng.integers(5, 25)), level, least, most)
        hit = question.of(subject, subject.table)
        if (hit & (values >= least) & (values <= most)).sum() >= 20 and values[hit].mean() > 0:
            number -= 1
            yield question


def main() -> None:
    """Print a table as Markdown, all draws together."""
    rows, questions, draws = (sys.argv[1:4] + ["10000", "100", "0"][len(sys.argv) - 1 :])[:3]
    found: dict[tuple[str, str], dict[str, list[Asked]]] = {}
    for draw in map(int, draws.split(",")):
        for subject, others in tables(int(rows), draw):
            if len(sys.argv) > 4 and subject.name not in sys.argv[4:]:
                continue
            for method, aggregate, asked in measure(subject, others, int(questions), draw):
                found.setdefault((subject.name, method), {}).setdefault(aggregate, []).append(asked)
            print(f"draw {draw}: {subject.name}", file=sys.stderr, flush=True)
    print("| table | release | AVG | SUM | COUNT with a hidden condition |")
    print("|---|---|---|---|---|")
    for (table, method), by_aggregate in sorted(found.items(), key=lambda each: each[0][0]):
        print(f"| {table} | {method} | {' | '.join(map(_printed, by_aggregate.values()))} |")
    for table in sorted({name for name, _ in found}):
        all_of = [
            each.is_covered for (name, _), by in found.items() if name == table for one in by.values() for each in one
        ]
        print(f"{table}: {np.mean(all_of):.1%} of {len(all_of)} covered")


def _printed(asked: list[Asked]) -> str:
    """Medians of the errors as shares of the truth and of the fair one, and how many were covered."""
    fair, learned, informed, floor = (
        float(np.median([getattr(each, name) for each in asked])) for name in ("fair", "learned", "informed", "floor")
    )
    covered = np.mean([each.is_covered for each in asked])
    ratios = f"{learned / fair:.2f} (informed {informed / fair:.2f}, floor {floor / fair:.2f})"
    return f"{fair:.2%} to {learned:.2%} = {ratios}, {covered:.0%}"


if __name__ == "__main__":
    main()
