"""Possible worlds inside a group, weighted by a naive Bayes model of the columns given the values.

Source     [Kifer 2009]: naive Bayes, fitted by expectation maximization over the worlds inside the groups
Guarantee  exact for groups of up to 8 rows; larger ones by a chain of swaps whose stationary distribution is theirs
Cost       O(N 2^N d) for a small group of N rows and d columns, O(N d) per sweep over a larger one

A world is an assignment of a group's values to its rows; its weight is the product of the likelihoods of the rows'
columns given their values: exp of the sum of `logs[at[c] + code * classes + class of the value]` over the columns c.
Kernels take a model as (logs, at, classes).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.kernel import SMALL, kernel
from hedgerow.randomness import Keys, system_keys

LARGEST_EXACT = 8
ROUNDS = 30
SWEEPS = 3
DRAWS = 40
MOST_CLASSES = 32
MOST_BINS = 16


@kernel
def _log_likelihood(row: int, kind: int, codes: Any, model: Any) -> float:
    """The log likelihood of a row's columns given a class."""
    logs, at, classes = model
    total = 0.0
    for column in range(len(at)):
        total += logs[at[column] + codes[column, row] * classes + kind]
    return total


@kernel
def _fill_likelihoods(first: int, size: int, codes: Any, kinds: Any, model: Any, table: Any) -> None:
    """The likelihood of each row of a group with each of its values, the best of a row scaled to 1."""
    for i in range(size):
        best = -1e300
        for j in range(size):
            table[i, j] = _log_likelihood(first + i, kinds[first + j], codes, model)
            best = max(best, table[i, j])
        for j in range(size):
            # A floor keeps the weight of every world above 0, so that the probabilities can be divided by their sum.
            table[i, j] = np.exp(max(table[i, j] - best, -80.0))


@kernel
def _group_marginals(first: int, size: int, table: Any, forward: Any, backward: Any, chances: Any) -> None:
    """Sum the weights of all worlds over the sets of values already used: row after row, from both ends."""
    full = (1 << size) - 1
    forward[: full + 1] = 0.0
    backward[: full + 1] = 0.0
    forward[0] = backward[full] = 1.0
    for used in range(full):
        row = 0
        for j in range(size):
            row += (used >> j) & 1
        for j in range(size):
            if not (used >> j) & 1:
                forward[used | (1 << j)] += forward[used] * table[row, j]
    for step in range(full):
        used = full - 1 - step
        row = 0
        for j in range(size):
            row += (used >> j) & 1
        for j in range(size):
            if not (used >> j) & 1:
                through = table[row, j] * backward[used | (1 << j)]
                backward[used] += through
                chances[first + row, j] += forward[used] * through
    for i in range(size):
        for j in range(size):
            chances[first + i, j] /= forward[full]


@kernel
def marginals(offsets: Any, groups: Any, codes: Any, kinds: Any, model: Any, chances: Any) -> None:
    """Write the probability of each row of the small `groups` to have the group's j-th value into `chances[row, j]`."""
    table = np.empty((8, 8))
    forward, backward = np.empty(256), np.empty(256)
    for place in range(len(groups)):
        first, size = offsets[groups[place]], offsets[groups[place] + 1] - offsets[groups[place]]
        _fill_likelihoods(first, size, codes, kinds, model, table)
        for i in range(size):
            for j in range(size):
                chances[first + i, j] = 0.0
        _group_marginals(first, size, table, forward, backward, chances)


@kernel
def swap(offsets: Any, groups: Any, codes: Any, holds: Any, class_of: Any, model: Any, draws: Any) -> None:
    """Sweep once over the rows of the large `groups`: each may exchange its value with another row of its group.

    `draws` are two random units for each row: the partner, and whether the exchange takes place.
    """
    picks, uniform = draws
    for place in range(len(groups)):
        first, size = offsets[groups[place]], offsets[groups[place] + 1] - offsets[groups[place]]
        for row in range(first, first + size):
            other = first + np.int64(picks[row] * size)
            mine, theirs = class_of[holds[row]], class_of[holds[other]]
            if mine == theirs:
                # Equal under the model: either order with probability one half.
                if uniform[row] < 0.5:
                    holds[row], holds[other] = holds[other], holds[row]
                continue
            gain = _log_likelihood(row, theirs, codes, model)
            gain += _log_likelihood(other, mine, codes, model)
            gain -= _log_likelihood(row, mine, codes, model)
            gain -= _log_likelihood(other, theirs, codes, model)
            if uniform[row] * (1.0 + np.exp(-max(min(gain, 500.0), -500.0))) < 1.0:
                holds[row], holds[other] = holds[other], holds[row]


@kernel
def tally(offsets: Any, codes: Any, kinds: Any, held: Any, chances: Any, shape: Any, counts: Any) -> None:
    """Count how often each code goes with each class: by probabilities in small groups, by the present world in others.

    `shape` says where each column's codes begin, how many classes there are, and which groups are small.
    """
    at, classes, largest = shape
    for group in range(len(offsets) - 1):
        first, size = offsets[group], offsets[group + 1] - offsets[group]
        for row in range(first, first + size):
            for j in range(size if size <= largest else 1):
                kind = kinds[first + j] if size <= largest else held[row]
                weight = chances[row, j] if size <= largest else 1.0
                for column in range(len(at)):
                    counts[at[column] + codes[column, row] * classes + kind] += weight


@dataclass(frozen=True, eq=False)
class CodedGroups:
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

    `chances[i, j]` is the probability of row i of a small group to have the j-th value of its group.
    """

    rows: CodedGroups
    class_of: Ints
    keys: Keys
    logs: Floats = field(init=False)
    holds: Ints = field(init=False)
    chances: Floats = field(init=False)

    @property
    def model(self) -> tuple[Floats, Ints, int]:
        """The model as kernels take it."""
        return self.logs, self.at, self.classes

    def __post_init__(self) -> None:
        lengths = np.diff(self.rows.offsets)
        self.classes = int(self.class_of.max()) + 1
        self.at = np.cumsum([0, *self.rows.sizes[:-1]]) * self.classes
        # Start with a uniform model: the first pass uses only which values the groups have.
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
            run(rows.offsets, self.small, rows.codes, kinds, self.model, self.chances)
        for _ in range(sweeps if len(self.large) else 0):
            draws = (_units(self.keys(len(rows.values))), _units(self.keys(len(rows.values))))
            walk = swap.plain if self.is_tiny else swap.compiled
            walk(rows.offsets, self.large, rows.codes, self.holds, self.class_of, self.model, draws)

    def maximize(self) -> None:
        """Fit the model to what is expected, each column drawn towards its overall shares by one row's worth."""
        rows, counts = self.rows, np.zeros_like(self.logs)
        count = tally.plain if self.is_tiny else tally.compiled
        kinds, held = self.class_of[rows.values], self.class_of[self.holds]
        shape = (self.at, self.classes, LARGEST_EXACT)
        count(rows.offsets, rows.codes, kinds, held, self.chances, shape, counts)
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
        """The probability of each class for people of no known group."""
        found = np.log(self.prior + 1e-12)[None, :].repeat(codes.shape[1], axis=0)
        for column, size in enumerate(self.rows.sizes):
            table = self.logs[self.at[column] : self.at[column] + size * self.classes].reshape(size, self.classes)
            known = (codes[column] >= 0) & (codes[column] < size)
            found[known] += table[codes[column][known]]
        return found


def learn(rows: CodedGroups, class_of: Ints, *, rounds: int = ROUNDS, keys: Keys = system_keys) -> Learner:
    """Fit the model; `class_of` says which values it merges."""
    learner = Learner(rows, class_of, keys)
    for _ in range(rounds):
        learner.expect(SWEEPS)
        learner.maximize()
    learner.expect(SWEEPS)
    return learner


def learn_from(teacher: CodedGroups, rows: CodedGroups, class_of: Ints, *, keys: Keys = system_keys) -> Learner:
    """Weigh the worlds of `rows` by a model of `teacher`, people whose values are known: groups of one."""
    taught, learner = Learner(teacher, class_of, keys), Learner(rows, class_of, keys)
    taught.expect(0)
    taught.maximize()
    learner.logs = taught.logs
    # A walk that starts anywhere needs some sweeps to forget it.
    learner.expect(ROUNDS)
    return learner


def cut_points(values: Floats) -> Floats:
    """Where to cut numbers into at most `MOST_BINS` bins: between all values where they are few, else at quantiles."""
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    return (
        distinct[1:]
        if len(distinct) <= MOST_BINS
        else np.unique(np.quantile(known, np.arange(1, MOST_BINS) / MOST_BINS))
    )


def bin_numbers(values: Floats, cuts: Floats) -> Ints:
    """The bin of each number; missing has the last."""
    return np.where(np.isnan(values), len(cuts) + 1, np.searchsorted(cuts, values, side="right"))


def classes_of(overall: Floats) -> Ints:
    """Which values a model merges: neighbouring ones, into classes of about equal frequency."""
    if len(overall) <= MOST_CLASSES:
        return np.arange(len(overall))
    upto = np.cumsum(overall) - overall / 2
    return np.minimum((upto * MOST_CLASSES).astype(np.int64), MOST_CLASSES - 1)


def guess_within_groups(rows: CodedGroups, offsets: Ints, fitting: Ints, width: int) -> float:
    """How often the most frequent value of the rows' groups is right, on average over the shuffle.

    Person p may be the rows `fitting[offsets[p]:offsets[p + 1]]`; values are below `width`.
    """
    lengths = np.diff(rows.offsets)
    group_of = np.repeat(np.arange(len(lengths)), lengths)
    people = len(offsets) - 1
    owners, groups = np.repeat(np.arange(people), np.diff(offsets)), group_of[fitting]
    pairs, counts = np.unique(group_of * width + rows.values, return_counts=True)
    starts = np.searchsorted(pairs, np.arange(len(lengths) + 1) * width)
    spans = starts[groups + 1] - starts[groups]
    places = np.arange(spans.sum()) + np.repeat(starts[groups] - np.cumsum(spans) + spans, spans)
    share = counts[places] / np.repeat(lengths[groups] * np.diff(offsets)[owners], spans)
    keys, at = np.unique(np.repeat(owners, spans) * width + pairs[places] % width, return_inverse=True)
    chances = np.bincount(at, share)
    return float(np.maximum.reduceat(chances, np.searchsorted(keys // width, np.arange(people))).mean())


def _units(keys: NDArray[np.uint64]) -> Floats:
    return (keys >> np.uint64(11)).astype(np.float64) / 2.0**53
