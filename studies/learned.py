"""Learned estimate, fair shuffle, informed guess: `python -m studies.learned [ROWS [QUESTIONS [TABLE...]]]`.

AVG, SUM and COUNT with a condition on the hidden column over Adult (age), the American Community Survey (income) and
the generated census (income), by Anatomy and by Mondrian with rows and with boxes, l = 3 and 4. The informed guess is
that of somebody who knows much more than a release tells: for rows a line that was fitted to the true rows themselves,
for boxes where in each box those of the same survey lie who were not published. It is a reference and no bound: a guess
by more than one line can be better, and some learned ones are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import hedgerow as hr
from hedgerow.datasets import census
from hedgerow.query.evidence.view import source_of
from studies.choosing import Subject
from studies.real import acs, adult

__all__ = ["METHODS", "Figures", "measure", "tables"]

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

_OTHERS = 60_000
"""So many of those who were not published tell where in a box people lie."""


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
class Figures:
    """Of one method and aggregate: median relative errors, and how often two standard errors held the truth."""

    method: str
    aggregate: str
    fair: float
    learned: float
    covered: float
    informed: float


def tables(rows: int) -> Iterator[tuple[Subject, pa.Table]]:
    """Three tables of so many rows, each with the rest of its population."""
    rng = np.random.default_rng(7)
    for name, table, quasi, hidden in (
        ("Adult", adult(), ("hours-per-week", "education", "sex", "marital-status", "race"), "age"),
        ("ACS", acs(), ("Age", "Education", "Gender", "Race"), "Income"),
        ("census", census(20 * rows, seed=3), ("age", "education", "gender", "race"), "income"),
    ):
        whole = table.select([*quasi, hidden]).drop_null()
        columns = {n: whole[n].cast(pa.string()) if n == quasi[1] else whole[n] for n in whole.column_names}
        order = rng.permutation(whole.num_rows)
        yield (
            Subject(name, pa.table(columns).take(order[:rows]), quasi, hidden),
            pa.table(columns).take(order[rows : rows + _OTHERS]),
        )


def measure(subject: Subject, others: pa.Table, questions: int) -> Iterator[Figures]:
    """Publish by each method that can, and ask all the same questions."""
    schema = hr.Schema(quasi=list(subject.quasi), sensitive=subject.sensitive)
    asked = list(_questions(subject, questions))
    values = _hidden(subject)
    for name, method in METHODS.items():
        try:
            release = method.publish(subject.table, schema, seed=1)
        except hr.Infeasible as refusal:
            print(f"{subject.name}: {name}: {refusal}", file=sys.stderr)
            continue
        informed = (_Boxes if release.form.has_boxes else _Rows)(release, subject, others)
        found: dict[str, list[tuple[float, float, bool, float]]] = {"AVG": [], "SUM": [], "COUNT": []}
        for question in asked:
            hit, known = question.of(subject, subject.table), question.known(subject)
            count = informed.total(question, np.ones_like)
            for aggregate in found:
                of = question.kept if aggregate == "COUNT" else np.positive
                column = "*" if aggregate == "COUNT" else f'"{subject.sensitive}"'
                where = f'{known} AND "{subject.sensitive}" BETWEEN {question.least} AND {question.most}'
                sql = f"SELECT {aggregate}({column}) FROM release WHERE {where if aggregate == 'COUNT' else known}"
                truth = float(of(values)[hit].sum()) / (hit.sum() if aggregate == "AVG" else 1)
                guess = informed.total(question, of) / (count if aggregate == "AVG" else 1)
                answer = release.ask(sql, estimate="learned")
                off = abs(answer.learned.estimate - truth)
                within = off <= 2 * answer.learned.standard_error
                errors = (each / truth for each in (abs(answer.expected - truth), off, abs(guess - truth)))
                fair, learned, least = errors
                found[aggregate].append((fair, learned, within, least))
        for aggregate, measured in found.items():
            columns = np.array(measured, float).T
            fair, learned, _, least = np.median(columns, axis=1).tolist()
            yield Figures(name, aggregate, fair, learned, float(columns[2].mean()), least)


def _questions(subject: Subject, number: int) -> Iterator[_Question]:
    """A range of the first column, mostly a value of the second, and a range of the hidden one: twenty rows or more."""
    rng = np.random.default_rng(11)
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


class _Lines:
    """Known columns as features: every level, broken lines, and both for the first two columns together."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._true = {name: subject.table[name].to_numpy(zero_copy_only=False) for name in subject.quasi}
        x = self.features(self._true)
        self._x, self._inverse = x, np.linalg.pinv(x.T @ x)

    def features(self, columns: dict[str, NDArray[Any]]) -> Numbers:
        """Of rows of any table, by the levels and knots of the true one."""
        marks = [self._marks(self._true[name], columns[name]) for name in self._subject.quasi]
        crossed = [marks[0][:, :1] * column[:, None] for column in marks[1].T]
        return np.hstack([np.ones((len(marks[0]), 1)), *marks, *crossed])

    @staticmethod
    def _marks(true: NDArray[Any], column: NDArray[Any]) -> Numbers:
        if true.dtype.kind not in "if":
            return np.column_stack([column == level for level in np.unique(true.astype(str))]).astype(float)
        scaled, knots = (
            (each - true.mean()) / true.std() for each in (column, np.quantile(true, (0.2, 0.4, 0.6, 0.8)))
        )
        return np.column_stack([scaled, *(np.maximum(scaled - knot, 0.0) for knot in np.unique(knots))])

    def slopes(self, numbers: Numbers) -> Numbers:
        """Least squares of numbers of the true rows."""
        return np.asarray(self._inverse @ (self._x.T @ numbers))


class _Rows:
    """An informed guess where rows are published: a line fitted to the true rows, groups keeping their sums."""

    def __init__(self, release: hr.Release, subject: Subject, others: pa.Table) -> None:
        source = source_of(release)
        self._source, self._subject, self._lines = source, subject, _Lines(subject)
        codes = {name: source.view.codes(name) for name in subject.quasi}
        known = {name: each.domain.to_numpy(zero_copy_only=False)[each.codes] for name, each in codes.items()}
        self._features, self._published = self._lines.features(known), pa.table(known)
        hidden = source.hidden_view(subject.sensitive)
        each = hidden.codes(subject.sensitive)
        self._values, self._owner = each.domain.to_numpy(zero_copy_only=False)[each.codes].astype(float), hidden.groups

    def total(self, question: _Question, of: Callable[[Numbers], Numbers]) -> float:
        """The sum over the rows hit of a function of the hidden value."""
        groups = self._source.view.groups
        fitted = self._features @ self._lines.slopes(of(_hidden(self._subject)))
        left = (np.bincount(self._owner, of(self._values)) - np.bincount(groups, fitted)) / np.bincount(groups)
        return float((fitted + left[groups])[question.of(self._subject, self._published)].sum())


class _Boxes:
    """An informed guess where boxes are published: rows lie in a box as others of the same population do."""

    def __init__(self, release: hr.Release, subject: Subject, others: pa.Table) -> None:
        source = source_of(release)
        self._subject, self._others, self._owner = subject, others, source.view.groups
        each = source.view.codes(subject.sensitive)
        self._values = each.domain.to_numpy(zero_copy_only=False)[each.codes].astype(float)
        fits = [self._fits(source, name) for name in subject.quasi]
        self._people = [np.flatnonzero(np.logical_and.reduce([fit(g) for fit in fits])) for g in range(release.groups)]

    def _fits(self, source: Any, name: str) -> Callable[[int], NDArray[np.bool_]]:
        boxes, theirs = source.boxes(name), self._others[name].to_numpy(zero_copy_only=False)
        if boxes.sets is None:
            low, high = (end.to_numpy(zero_copy_only=False) for end in (boxes.low, boxes.high))
            return lambda group: (theirs >= low[group]) & (theirs <= high[group])
        values, sets, _ = source.listed(name)
        listed = values.to_numpy(zero_copy_only=False)
        return lambda group: np.isin(theirs.astype(str), listed[sets == boxes.sets[group]].astype(str))

    def total(self, question: _Question, of: Callable[[Numbers], Numbers]) -> float:
        """The sum over the rows hit of a function of the hidden value; a box that nobody else fits is taken by half."""
        hit = question.of(self._subject, self._others)
        shares = np.array([hit[people].mean() if len(people) else 0.5 for people in self._people])
        return float(shares @ np.bincount(self._owner, of(self._values)))


def _hidden(subject: Subject) -> Numbers:
    return np.asarray(subject.table[subject.sensitive].to_numpy().astype(float))


def main() -> None:
    """Print a table as Markdown."""
    rows, questions = (int(text) for text in (sys.argv[1:] + ["10000", "100"][len(sys.argv) - 1 :])[:2])
    print("| table | release | aggregate | fair shuffle | learned | ratio | covered | informed | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for subject, others in tables(rows):
        if len(sys.argv) > 3 and subject.name not in sys.argv[3:]:
            continue
        for line in measure(subject, others, questions):
            ratios = line.learned / line.fair, line.informed / line.fair
            found = f"{line.fair:.2%} | {line.learned:.2%} | {ratios[0]:.2f} | {line.covered:.0%}"
            told = f"{line.informed:.2%} | {ratios[1]:.2f}"
            print(f"| {subject.name} | {line.method} | {line.aggregate} | {found} | {told} |", flush=True)


if __name__ == "__main__":
    main()
