"""Adversaries of methods that change numbers row by row: identity, rank, known sample.

Row i of the original and of the published table is the same person.

Identity      knows the true values of a target in the attacked columns and the spread of each column; guesses the
              published row at the least distance, each column in units of its spread, ties at random; with `same`
              among the rows alone that agree with the target in what was published as it was
Rank          knows the rank of a target among all people in each attacked column, say from another list of the same
              people; guesses the published row whose ranks come closest, ties at random
Known sample  knows for a random sample of people both the true and the published value of one column; guesses the true
              value of a target by interpolating the sample at the published one
Rate          the share of targets whose own row is picked; of a known sample the share whose true value is at most
              `within` standard deviations away from the guess
Baseline      a row at random; of a known sample one guess for everybody, without the release: the value that has most
              of the sample within reach
Applies       where the owner knows whose each published row is: PropertyWalk measures them when it publishes
"""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.attack.context import Context, pick_rows
from hedgerow.attack.finding import Adversary, Rate
from hedgerow.randomness import Keys, system_keys

_AT_ONCE = 1 << 21


def identity(
    original: Floats, published: Floats, *, same: Ints | None = None, targets: int = 1000, keys: Keys = system_keys
) -> Rate:
    """Attack aligned tables (rows x columns): row i of both belongs to the same person.

    `same` codes what is published as it was: the adversary knows it and looks at rows of the target's code alone.
    """
    chosen = pick_rows(len(original), targets, keys=keys)
    return Rate(_count_links(original, published, chosen, same, keys=keys), len(chosen), 1 / len(original))


def rank(
    original: Floats, published: Floats, *, same: Ints | None = None, targets: int = 1000, keys: Keys = system_keys
) -> Rate:
    """Attack aligned tables (rows x columns) as `identity` does, by ranks."""
    chosen = pick_rows(len(original), targets, keys=keys)
    known, seen = (np.column_stack([_middle_ranks(column) for column in table.T]) for table in (original, published))
    return Rate(_count_links(known, seen, chosen, same, keys=keys), len(chosen), 1 / len(original))


def known_sample(
    original: Floats,
    published: Floats,
    *,
    known: int = 50,
    within: float = 0.05,
    targets: int = 1000,
    keys: Keys = system_keys,
) -> Rate:
    """Attack one aligned column: entry i of both belongs to the same person."""
    chosen = pick_rows(len(original), known + targets, keys=keys)
    # A small table is shared out: at least one person to know and one to guess.
    sample, others = np.split(chosen, [min(known, len(chosen) // 2)])
    guesses = _interpolate(published[sample], original[sample], published[others])
    tolerance = within * original.std()
    truth = original[others]
    blind = np.abs(_likeliest(original[sample], tolerance) - truth) <= tolerance
    return Rate(int((np.abs(guesses - truth) <= tolerance).sum()), len(others), float(blind.mean()))


def _count_links(known: Floats, published: Floats, targets: Ints, same: Ints | None, *, keys: Keys) -> int:
    """How many targets' nearest published row (Euclid; ties at random) is their own. Row i of both is one person."""
    scale = known.std(axis=0)
    weights = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    here, there = known * weights, published * weights
    hits, step = 0, max(1, _AT_ONCE // len(published))
    for first in range(0, len(targets), step):
        rows = targets[first : first + step]
        distances = sum((here[rows, None, c] - there[None, :, c]) ** 2 for c in range(here.shape[1]))
        if same is not None:
            distances = np.where(same[rows, None] == same[None, :], distances, np.inf)
        hits += int((_nearest(np.asarray(distances), keys) == rows).sum())
    return hits


def _nearest(distances: Floats, keys: Keys) -> Ints:
    """The place of each row's minimum; among equal minima a random one."""
    is_least = distances == distances.min(axis=1, keepdims=True)
    order = np.cumsum(is_least, axis=1)
    ties = order[:, -1]
    wanted = (keys(len(ties)) >> np.uint64(11)).astype(float) / 2.0**53 * ties
    places: Ints = np.argmax(order > wanted[:, None], axis=1)
    return places


def _middle_ranks(column: Floats) -> Floats:
    """Ranks from 0; equal values share the middle of theirs."""
    _, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    middles = np.cumsum(counts) - (counts + 1) / 2
    ranks: Floats = middles[codes]
    return ranks


def _likeliest(true: Floats, tolerance: float) -> float:
    """The known person's value that has the most known people within `tolerance`; a median may lie where nobody is."""
    near = (np.abs(true[:, None] - true[None, :]) <= tolerance).sum(axis=1)
    return float(true[near.argmax()])


def _interpolate(seen: Floats, true: Floats, at: Floats) -> Floats:
    """Interpolate linearly; people with equal published values are averaged first."""
    places, codes, counts = np.unique(seen, return_inverse=True, return_counts=True)
    means = np.bincount(codes, weights=true) / counts
    return np.interp(at, places, means)


def _measure(context: Context) -> None:
    """Placeholder: listed in the report, but cannot be run on a release alone."""


def _need_owners(context: Context) -> str:
    return "they need to know whose each published row is: PropertyWalk measures them when it publishes"


ADVERSARY = Adversary("identity, rank, known sample", 140, _measure, (_need_owners,), per_column=False)
