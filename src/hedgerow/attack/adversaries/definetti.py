"""The adversary who learns from the release itself how the sensitive column depends on the quasi-identifiers.

Source     Kifer, Attacks on privacy and deFinetti's theorem, 2009
Knows      quasi-identifiers of everyone and their groups; no relation between columns beforehand
Guesses    the most likely value of a person's group under a naive Bayes model, fitted by expectation maximization over
           the worlds inside the groups
Rate       the share of people for whom the guess is right
Baseline   the most frequent value of the person's group: the same adversary without the model
Control    the fitted model on people of the same kind who were not published: what correlation alone tells

A promise of l-diversity is one about an adversary who does not do this.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.attack.worlds import LARGEST_EXACT, marginals, swap, tally
from hedgerow.kernel import SMALL
from hedgerow.randomness import Keys, system_keys

__all__ = ["Learner", "Rows", "binned", "learn", "learn_from"]


ROUNDS = 30
SWEEPS = 3
DRAWS = 40
MOST_CLASSES = 32
MOST_BINS = 16


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows group after group: `codes[c, i]` of column c, and the group's values in any order in `values`.

    Group g has the rows and the values `offsets[g]:offsets[g + 1]`; `sizes` counts the codes of each column.
    """

    codes: Ints
    sizes: tuple[int, ...]
    values: Ints
    offsets: Ints


@dataclass(eq=False)
class Learner:
    """A naive Bayes model and what it makes of the groups. `holds` is the current world of the large groups.

    `chances[i, j]` is the chance of row i of a small group to have the j-th value of its group.
    """

    rows: Rows
    class_of: Ints
    keys: Keys
    logs: Floats = field(init=False)
    holds: Ints = field(init=False)
    chances: Floats = field(init=False)

    def __post_init__(self) -> None:
        lengths = np.diff(self.rows.offsets)
        self.classes = int(self.class_of.max()) + 1
        self.at = np.cumsum([0, *self.rows.sizes[:-1]]) * self.classes
        # All values alike: the first look at the groups sees nothing but which values they have.
        self.logs = np.zeros(sum(self.rows.sizes) * self.classes)
        self.holds = self.rows.values.copy()
        self.chances = np.zeros((len(self.rows.values), LARGEST_EXACT))
        self.small, self.large = np.flatnonzero(lengths <= LARGEST_EXACT), np.flatnonzero(lengths > LARGEST_EXACT)
        self.is_tiny = len(self.rows.values) <= SMALL // 16
        self.in_small = np.repeat(lengths <= LARGEST_EXACT, lengths)
        self.first = np.repeat(self.rows.offsets[:-1], lengths)
        self.prior = np.bincount(self.class_of[self.rows.values], minlength=self.classes) / len(self.rows.values)

    def expect(self, sweeps: int) -> None:
        """Weigh the worlds of small groups, and walk through those of large ones."""
        rows, kinds = self.rows, self.class_of[self.rows.values]
        if len(self.small):
            run = marginals.plain if self.is_tiny else marginals.compiled
            run(rows.offsets, self.small, rows.codes, kinds, self.logs, self.at, self.classes, self.chances)
        for _ in range(sweeps if len(self.large) else 0):
            picks, coins = (_units(self.keys(len(rows.values))) for _ in range(2))
            walk = swap.plain if self.is_tiny else swap.compiled
            walk(
                rows.offsets,
                self.large,
                rows.codes,
                self.holds,
                self.class_of,
                self.logs,
                self.at,
                self.classes,
                picks,
                coins,
            )

    def maximize(self) -> None:
        """Fit the model to what is expected, each column drawn towards its overall shares by one row's worth."""
        rows, counts = self.rows, np.zeros_like(self.logs)
        count = tally.plain if self.is_tiny else tally.compiled
        kinds, held = self.class_of[rows.values], self.class_of[self.holds]
        count(rows.offsets, rows.codes, kinds, held, self.chances, self.at, self.classes, LARGEST_EXACT, counts)
        parts = []
        for codes, size, first in zip(rows.codes, rows.sizes, self.at.tolist(), strict=True):
            table = counts[first : first + size * self.classes].reshape(size, self.classes)
            usual = (np.bincount(codes, minlength=size) + 1) / (len(codes) + size)
            parts.append(np.log((table + usual[:, None]) / (table.sum(axis=0) + 1)).ravel())
        self.logs = np.concatenate(parts)

    def scores(self, offsets: Ints, fitting: Ints, width: int) -> Floats:
        """How likely each value is for people who may be the rows `fitting[offsets[p]:offsets[p + 1]]`."""
        people = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        share = (1 / np.maximum(np.diff(offsets), 1))[people]
        found = np.zeros((len(offsets) - 1, width))
        lengths = np.repeat(np.diff(self.rows.offsets), np.diff(self.rows.offsets))[fitting]
        for j in range(LARGEST_EXACT):
            there = np.flatnonzero(self.in_small[fitting] & (lengths > j))
            values = self.rows.values[self.first[fitting[there]] + j]
            np.add.at(found, (people[there], values), self.chances[fitting[there], j] * share[there])
        there = np.flatnonzero(~self.in_small[fitting])
        for _ in range(DRAWS if len(there) else 0):
            self.expect(1)
            np.add.at(found, (people[there], self.holds[fitting[there]]), share[there] / DRAWS)
        return found

    def classify(self, codes: Ints) -> Floats:
        """The chance of each class for people of no known group."""
        found = np.log(self.prior + 1e-12)[None, :].repeat(codes.shape[1], axis=0)
        for column, size in enumerate(self.rows.sizes):
            table = self.logs[self.at[column] : self.at[column] + size * self.classes].reshape(size, self.classes)
            known = (codes[column] >= 0) & (codes[column] < size)
            found[known] += table[codes[column][known]]
        return found


def learn(rows: Rows, class_of: Ints, *, rounds: int = ROUNDS, keys: Keys = system_keys) -> Learner:
    """Fit the model; `class_of` says which values the model does not tell apart."""
    learner = Learner(rows, class_of, keys)
    for _ in range(rounds):
        learner.expect(SWEEPS)
        learner.maximize()
    learner.expect(SWEEPS)
    return learner


def learn_from(teacher: Rows, rows: Rows, class_of: Ints, *, keys: Keys = system_keys) -> Learner:
    """Weigh the worlds of `rows` by the odds in `teacher`, people whose values are known: groups of one."""
    told, learner = Learner(teacher, class_of, keys), Learner(rows, class_of, keys)
    told.expect(0)
    told.maximize()
    learner.logs = told.logs
    # A walk that starts anywhere needs some sweeps to forget it.
    learner.expect(ROUNDS)
    return learner


def binned(values: Floats, most: int = MOST_BINS) -> tuple[Ints, Floats]:
    """Cut numbers at quantiles into at most `most` bins; missing has the last. Returns the bins and the cuts."""
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    cuts = distinct[1:] if len(distinct) <= most else np.unique(np.quantile(known, np.arange(1, most) / most))
    return np.where(np.isnan(values), len(cuts) + 1, np.searchsorted(cuts, values, side="right")), cuts


def _units(keys: NDArray[np.uint64]) -> Floats:
    return (keys >> np.uint64(11)).astype(np.float64) / 2.0**53
