"""The adversary who wants to know whether somebody is in the table at all.

Source     permutation anonymization, lemma 1, as corrected in criteria.presence
Knows      all quasi-identifiers of a person
Guesses    that a row with them was published, if that is more likely than not
Rate       the share of people in the table of whom it is more likely than not
Control    the same for people who are not in the table: held out, or put together from values of several people

Where combinations are published as they are, whoever looks for one sees it. Where every column was shuffled apart, a
group whose rows have the values n_1, ..., n_d times has the combination by the chance of a hypergeometric intersection;
several groups add to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.attack.candidates import People
from hedgerow.attack.placing import Scatter
from hedgerow.criteria.presence import presence, presence_at_most

__all__ = ["Presence", "made_up", "presence_of"]


@dataclass(frozen=True, eq=False)
class Presence:
    """How likely each person's combination is to be in the table, and the bound on it from the counts alone."""

    chances: NDArray[np.float64]
    bounds: NDArray[np.float64]

    @property
    def more_likely(self) -> int:
        """How many people are more likely than not in the table."""
        return int((self.chances > 0.5).sum())


def presence_of(scatter: Scatter, people: People) -> Presence:
    """Compute the chances for people against columns that were shuffled apart."""
    pairs = [_of_person(scatter, person) for person in people.T]
    return Presence(np.array([chance for chance, _ in pairs]), np.array([bound for _, bound in pairs]))


def _of_person(scatter: Scatter, person: NDArray[np.float64]) -> tuple[float, float]:
    groups, counts = scatter.of(person)
    cases = np.vstack((np.sort(counts, axis=0), scatter.sizes[groups])).T
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


def made_up(people: People, others: People, first: NDArray[np.uint64]) -> People:
    """Put together people who need not exist: each column of another person of `others`, drawn by `first`."""
    count = people.shape[1]
    made = np.empty_like(people)
    for column in range(len(people)):
        drawn = first[column * count : (column + 1) * count] % np.uint64(others.shape[1])
        made[column] = others[column, drawn.astype(np.int64)]
    return made
