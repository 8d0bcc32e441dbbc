"""The adversary who looks for a description that fits exactly one person.

Source     [Giomi 2023], singling out; [Cohen 2020]
Knows      the release
Guesses    that a description by some of the columns that fits one published row fits exactly one person
Rate       the share of descriptions that do
Baseline   descriptions whose parts come from different published rows
Control    the same descriptions on people of the same kind who were not published, as many of them if there are; fewer
           are hit less often, so that a small holdout makes the release look worse, not better
Cost       a sort of the rows per choice of columns, a sort of the people per column, and for each description a look at
           the people whom its most telling part leaves
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.attack.candidates import (
    SET,
    CandidateColumn,
    CandidateRows,
    People,
    combine_codes,
    number_looks,
    people_of,
    point_column,
)
from hedgerow.attack.context import Context, need_original, need_quasi, pick_rows
from hedgerow.attack.finding import NOTHING_TO_DO, SLIGHT, Adversary, Finding, clustered_rate, percent
from hedgerow.randomness import Keys, system_keys
from hedgerow.verify.names import tables_with

CHOICES = 60
"""How many choices of columns are tried: how well descriptions fit depends more on their columns than on the rows."""


@dataclass(frozen=True)
class Description:
    """What rows `rows[i]` show in columns `columns[i]`, all at once."""

    columns: tuple[int, ...]
    rows: tuple[int, ...]


def find_descriptions(
    columns: tuple[CandidateColumn, ...], weights: Ints, *, wanted: int, keys: Keys = system_keys
) -> list[Description]:
    """Find descriptions that fit one published row: for some choices of columns, some of the rows that are unique."""
    looks = [number_looks(column.look) for column in columns]
    found: list[Description] = []
    for _ in range(CHOICES):
        chosen = np.argsort(keys(len(columns)))[: 1 + _below(keys, len(columns))].tolist()
        few = _singles(combine_codes([looks[column] for column in chosen]), weights, -(-wanted // CHOICES), keys)
        found += [Description(tuple(chosen), (row,) * len(chosen)) for row in few.tolist()]
    return found


def _singles(looks: Ints, weights: Ints, most: int, keys: Keys) -> Ints:
    """Some of the rows, drawn at random, that look like no other and stand for one person."""
    ordered = np.sort(looks)
    is_new = np.append(True, ordered[1:] != ordered[:-1])
    alone = ordered[is_new & np.append(is_new[1:], True)]
    if weights.max(initial=1) > 1:
        alone = np.intersect1d(alone, looks[weights == 1])
    few = alone[np.argsort(keys(len(alone)))[:most]]
    return np.flatnonzero(np.isin(looks, few))


def mix_descriptions(found: list[Description], rows: int, *, keys: Keys = system_keys) -> list[Description]:
    """Return descriptions by the same columns, each part of another row."""
    return [Description(one.columns, tuple(_below(keys, rows) for _ in one.columns)) for one in found]


def count_fitting(columns: tuple[CandidateColumn, ...], found: list[Description], people: People) -> Ints:
    """Count the people whom each description fits."""
    everyone = SortedPeople(columns, people)
    return np.array([everyone.count(one.columns, one.rows) for one in found], np.int64)


def _below(keys: Keys, limit: int) -> int:
    return int(keys(1)[0]) % limit


Spans = list[tuple[int, int]]
"""Ranges of places in the order of a column."""


class SortedPeople:
    """`people` in the order of each column, so that those whom a description fits are found without asking everybody.

    Counts exactly the people whom every part of a description holds for (`CandidateColumn.holds`).
    """

    def __init__(self, columns: tuple[CandidateColumn, ...], people: People) -> None:
        self.columns, self.people = columns, people
        self._sorted = cache(self._sort)

    def count(self, columns: Sequence[int], rows: Sequence[int]) -> int:
        """Count the people whom the rows `rows[i]` fit in the columns `columns[i]`, all at once."""
        spans = [self._spans(column, row) for column, row in zip(columns, rows, strict=True)]
        lengths = [sum(last - first for first, last in one) for one in spans]
        least = int(np.argmin(lengths))
        order = self._sorted(columns[least])[0]
        left = np.concatenate([order[first:last] for first, last in spans[least]])
        for place, (column, row) in enumerate(zip(columns, rows, strict=True)):
            if place != least:
                left = left[self.columns[column].holds(row, self.people[column][left])]
        return len(left)

    def _sort(self, column: int) -> tuple[Ints, Floats, int]:
        """People in the order of a column, their values, and where the missing ones begin."""
        values = self.people[column]
        order = np.argsort(values, kind="stable")
        return order, values[order], len(values) - int(np.isnan(values).sum())

    def _spans(self, column: int, row: int) -> Spans:
        """Where in the order of a column those are whom a published row allows; missing values come last."""
        published = self.columns[column]
        _, values, known = self._sorted(column)
        gaps = [(known, len(values))] if published.gaps[row] else []
        if np.isnan(published.low[row]):
            return [(known, known), *gaps]
        if published.kind != SET or published.members is None:
            return [self._between(values[:known], published.low[row], published.high[row]), *gaps]
        codes: list[int] = (
            np.flatnonzero(published.members[int(published.low[row])]).tolist() if published.low[row] >= 0 else []
        )
        return [(known, known), *(self._between(values[:known], code, code) for code in codes), *gaps]

    @staticmethod
    def _between(values: Floats, low: float, high: float) -> tuple[int, int]:
        return int(np.searchsorted(values, low)), int(np.searchsorted(values, high, side="right"))


def _measure(context: Context) -> Finding | None:
    """Descriptions that fit one person; None where no description fits one published row."""
    rows, size, keys = _described_rows(context), context.table.num_rows, context.keys
    found = find_descriptions(rows.columns, rows.weights, wanted=max(20, context.targets // 2), keys=keys)
    if not found:
        return None
    # All people are searched: in a sample a description would miss people who were not drawn.
    people = people_of(rows, context.table, np.arange(size))
    ones = count_fitting(rows.columns, found, people) == 1
    blind = count_fitting(rows.columns, mix_descriptions(found, len(rows.weights), keys=keys), people) == 1
    control = None
    if context.holdout is not None:
        others = people_of(rows, context.holdout, pick_rows(context.holdout.num_rows, size, keys=keys))
        control = float((count_fitting(rows.columns, found, others) == 1).mean())
    finding = Finding(
        adversary=ADVERSARY.name,
        column="",
        knows="the release",
        guesses="that a description which fits one published row fits exactly one person",
        # Descriptions by the same columns hit or miss together.
        **clustered_rate(ones, np.array([sum(1 << column for column in one.columns) for one in found])),
        baseline=float(blind.mean()),
        control=control,
    )
    gain = finding.rate - (finding.baseline if control is None else control)
    step = "If isolating people is harmful: larger groups, fewer columns; no form rules it out."
    return finding.conclude(
        f"{percent(finding.rate)} of {len(found):,} descriptions by some columns fit exactly one of {size:,} people.",
        NOTHING_TO_DO if gain <= SLIGHT else step,
    )


def _described_rows(context: Context) -> CandidateRows:
    """The published rows with the sensitive column beside them where it has a value for each row."""
    release, candidates = context.release, context.candidates
    table = next(iter(tables_with(release.tables, context.column)), None)
    if table is None or table.num_rows != release.rows.published:
        return candidates
    secret = point_column(context.column, table.column(context.column))
    if not release.form.has_boxes:
        return CandidateRows((*candidates.columns, secret), candidates.groups, candidates.weights)
    spread = np.repeat(np.arange(len(candidates.weights)), candidates.weights)
    boxes = tuple(column.take(spread) for column in candidates.columns)
    return CandidateRows((*boxes, secret), candidates.groups[spread], np.ones(len(spread), np.int64))


ADVERSARY = Adversary("singling out", 100, _measure, (need_original, need_quasi), per_column=False)
