"""The adversary who wants to know whether somebody is in the table at all.

Source     [Li 2015], lemma 1
Knows      all quasi-identifiers of a person
Guesses    that a row with them was published, if that is more likely than not
Rate       the share of people in the table of whom it is more likely than not
Control    the same for people who are not in the table: a holdout, or people put together from values of several people

Where combinations are published unchanged, presence is visible. Where every column was shuffled separately, a group in
which n_1, ..., n_d rows have the values has the combination with the probability of a hypergeometric intersection;
several groups add to it.

The probability in a group is exact: every arrangement of each column is equally likely, independently of the others.
It costs O(d n^2) fractions for d columns and a value that occurs n times. The printed product of shares is the
probability of one given row, not of the group: 2/25 instead of 2/5 for a value that one of five rows has and one that
two have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats
from hedgerow.attack.candidates import Occurrences, People, occurrences_of
from hedgerow.attack.context import Context, need_original, need_quasi
from hedgerow.attack.finding import NOTHING_TO_DO, SLIGHT, Adversary, Finding, percent, sampled_rate
from hedgerow.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Presence:
    """How likely each person's combination is to be in the table, and the bound on it from the counts alone."""

    chances: Floats
    bounds: Floats


def presence_of(occurrences: Occurrences, people: People) -> Presence:
    """Compute the probabilities for people against columns that were shuffled apart."""
    pairs = [_of_person(occurrences, person) for person in people.T]
    return Presence(np.array([chance for chance, _ in pairs]), np.array([bound for _, bound in pairs]))


def _of_person(occurrences: Occurrences, person: Floats) -> tuple[float, float]:
    groups, counts = occurrences.of(person)
    cases = np.vstack((np.sort(counts, axis=0), occurrences.sizes[groups])).T
    distinct, times = np.unique(cases, axis=0, return_counts=True) if len(cases) else (cases, cases)
    absent, expected = 1.0, Fraction(0)
    for case, number in zip(distinct.tolist(), times.tolist(), strict=True):
        chance, bound = _in_group(tuple(case[:-1]), case[-1])
        absent *= (1.0 - chance) ** number
        expected += bound * number
    return 1.0 - absent, float(min(Fraction(1), expected))


@lru_cache(maxsize=1 << 16)
def _in_group(counts: tuple[int, ...], rows: int) -> tuple[float, Fraction]:
    return float(presence(counts, rows)), presence_at_most(counts, rows)


def presence(counts: Sequence[int], rows: int) -> Fraction:
    """The probability that one of `rows` rows has all of several values, of which `counts` rows have each."""
    _check_counts(counts, rows)
    chances = {counts[0]: Fraction(1)}
    for count in counts[1:]:
        chances = _chances_of_meeting(chances, count, rows)
    return 1 - chances.get(0, Fraction(0))


def presence_at_most(counts: Sequence[int], rows: int) -> Fraction:
    """A bound on the probability: the mean number of rows that have all of the values, at most 1."""
    _check_counts(counts, rows)
    return min(Fraction(1), Fraction(math.prod(counts), rows ** (len(counts) - 1)))


def _chances_of_meeting(chances: dict[int, Fraction], count: int, rows: int) -> dict[int, Fraction]:
    """How many rows still have all values once another column is dealt: a hypergeometric draw."""
    after: dict[int, Fraction] = {}
    for left, chance in chances.items():
        for both in range(max(0, left + count - rows), min(left, count) + 1):
            ways = math.comb(left, both) * math.comb(rows - left, count - both)
            after[both] = after.get(both, Fraction(0)) + chance * Fraction(ways, math.comb(rows, count))
    return after


def _check_counts(counts: Sequence[int], rows: int) -> None:
    if rows < 1 or not counts or not all(0 <= count <= rows for count in counts):
        raise ParameterError(
            "'counts' must be at least one number of rows, each between 0 and 'rows', which is positive."
        )


def make_up_people(people: People, others: People, first: NDArray[np.uint64]) -> People:
    """Put together people who need not exist: each column of another person of `others`, drawn by `first`."""
    count = people.shape[1]
    made = np.empty_like(people)
    for column in range(len(people)):
        drawn = first[column * count : (column + 1) * count] % np.uint64(others.shape[1])
        made[column] = others[column, drawn.astype(np.int64)]
    return made


def _measure(context: Context) -> Finding:
    is_apart = context.release.form.columns_apart
    found, control = _presence(context, context.people), _presence(context, _absent(context))
    finding = Finding(
        adversary=ADVERSARY.name,
        column="",
        knows="all quasi-identifiers of a person",
        guesses="that a row with them was published",
        **sampled_rate(round(float(found.chances.sum())), len(found.chances)),
        baseline=float(control.chances.mean()),
        control=float(control.chances.mean()),
        promised=float(found.bounds.mean()) if is_apart else None,
    )
    whose = "who were not published" if context.strangers is not None else "put together at random"
    sentence = (
        f"People in the table seem present with probability {percent(finding.rate)} on average, people {whose} with "
        f"{percent(finding.baseline)}."
    )
    change = "fewer quasi-identifiers or larger groups" if is_apart else "the form scattered, or larger boxes"
    is_slight = finding.rate - finding.baseline <= SLIGHT
    return finding.conclude(sentence, NOTHING_TO_DO if is_slight else f"If being in the table is a secret: {change}.")


def _presence(context: Context, people: People) -> Presence:
    if context.release.form.columns_apart:
        return presence_of(occurrences_of(context.candidates), people)
    fits = (context.placement if people is context.people else context.place(people)).is_fit
    return Presence(fits.astype(np.float64), np.ones(len(fits)))


def _absent(context: Context) -> People:
    if context.strangers is not None:
        return context.strangers[0]
    return make_up_people(context.people, context.people, context.keys(context.people.size))


ADVERSARY = Adversary("presence", 90, _measure, (need_original, need_quasi), per_column=False)
