"""Worlds and coins drawn until enough of them give a release: posteriors of tables that are too large to enumerate.

A world is drawn from the adversary's prior, published with fresh coins, and kept if it gives the release that is being
audited; what is kept follows the posterior. Where the release shows everybody's group, only assignments inside the
groups can give it, so only these are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from hedgerow.partition.shuffles import permutation
from hedgerow.randomness import Keys
from hedgerow.testing.posterior_view import ReleaseView, view_of
from hedgerow.testing.posterior_worlds import Bench, Likelihoods, Prior, World, chances_by_row

__all__ = ["sampled_likelihood"]

_RELEASES = 2
_ENOUGH = 30
"""Worlds that must give a release before anything is said about it."""


def sampled_likelihood(bench: Bench, prior: Prior | None, *, samples: int, keys: Keys) -> Likelihoods:
    """Hold releases of the table against sampled worlds; a release that too few of them give is left out."""
    found = Likelihoods({}, {}, worlds=samples)
    for _ in range(_RELEASES):
        release = bench.publish(bench.prepared(bench.world), keys)
        if release is None or (view := view_of(release)) in found.weights:
            continue
        found.examples[view] = release
        draw = _drawer(bench, prior, view, keys)
        for _ in range(samples):
            world = draw()
            again = bench.publish(bench.prepared(world), keys)
            found.runs += 1
            if again is not None and view_of(again) == view:
                found.add(view, world, Fraction(1))
    found.weights = {view: seen for view, seen in found.weights.items() if sum(seen.values()) >= _ENOUGH}
    return found


def _drawer(bench: Bench, prior: Prior | None, view: ReleaseView, keys: Keys) -> Callable[[], World]:
    if prior is not None:
        each = chances_by_row(prior, len(bench.world))
        return lambda: tuple(_picked(list(one), list(one.values()), keys) for one in each)
    groups = _groups(bench, view)

    def shuffled() -> World:
        world = list(bench.world)
        for rows in groups:
            for row, source in zip(rows, permutation(len(rows), keys=keys).tolist(), strict=True):
                world[row] = bench.world[rows[source]]
        return tuple(world)

    return shuffled


def _groups(bench: Bench, view: ReleaseView) -> list[list[int]]:
    """The rows that may have each other's secrets: those of a group where everybody's is shown, else all of them."""
    homes = [view.homes(row) for row in bench.rows]
    if not view.tells_values or any(len(home) != 1 for home in homes):
        return [list(range(len(homes)))]
    return [[row for row, home in enumerate(homes) if home == (number,)] for number in range(len(view.groups))]


def _picked(secrets: Sequence[tuple[Any, ...]], weights: Sequence[Fraction], keys: Keys) -> tuple[Any, ...]:
    """One of the secrets, by its weight."""
    edges = np.cumsum([float(weight) for weight in weights])
    unit = float(keys(1)[0]) / 2.0**64
    return secrets[min(int(np.searchsorted(edges, unit * edges[-1], side="right")), len(secrets) - 1)]
