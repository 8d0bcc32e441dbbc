"""Personalized privacy from the bottom: extract the group with the largest average saving, again and again.

Source     dissertation on permutation-based microdata protection, algorithm 8
Guarantee  every group satisfies criteria.personal; no bound on the cost is known, see docs/methods/personal.md
Cost       O(groups that differ * named nodes * nodes^2) in the worst case
Deviates   the printed search for a group is not given; here it starts at the finest frontier and moves single nodes of
           the frontier up as long as the average saving |R| - |D| grows. Identical groups are taken at once
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.partition.personal.frontier import Supply, Tops, collapse, finest, savings, take
from hedgerow.partition.personal.wishes import Bundle, Wishes

__all__ = ["personal_bottom_up"]

Found = tuple[Fraction, dict[int, int], Supply]


def personal_bottom_up(wishes: Wishes) -> list[Bundle]:
    """Group wishes: the best group under any named node first, until nobody is left."""
    tops = Tops(wishes.tree)
    left = wishes.counts.copy()
    bundles: list[Bundle] = []
    known: dict[int, Found] = {}
    while (left > 0).any():
        for top in set(wishes.nodes[left > 0].tolist()) - known.keys():
            known[top] = _best_group(Supply(tops, top, wishes, left.copy()))
        _, wanted, supply = max(known.values(), key=lambda found: found[0])
        bundle = take(supply, wanted)
        for wish, people in bundle.members.items():
            left[wish] -= people * bundle.times
        bundles.append(bundle)
        _forget(known, tops, supply.top, wishes, left)
    return bundles


def _forget(known: dict[int, Found], tops: Tops, taken: int, wishes: Wishes, left: NDArray[np.int64]) -> None:
    """Drop what the last group changed: nodes that overlap its top, and nodes that nobody names any more."""
    named = set(wishes.nodes[left > 0].tolist())
    for top in list(known):
        overlaps = tops.low[top] < tops.high[taken] and tops.low[taken] < tops.high[top]
        if overlaps or top not in named:
            del known[top]


def _best_group(supply: Supply) -> Found:
    """Climb from the finest frontier: move up the one node that helps most, until none does."""
    frontier = finest(supply)
    best = savings(supply, frontier)
    while True:
        steps = [collapse(supply.tops, frontier, node) for node in _above(supply, frontier)]
        rated = [(found, step) for step in steps if (found := savings(supply, step)) is not None]
        if not rated or (best is not None and max(r[0][0] for r in rated) <= best[0]):
            break
        best, frontier = max(rated, key=lambda r: r[0][0])
    if best is None:
        raise AssertionError("the finest frontier always has enough people")
    return best[0], best[1], supply


def _above(supply: Supply, frontier: set[int]) -> list[int]:
    """Every node between the frontier and the top."""
    found: set[int] = set()
    for node in frontier:
        while node != supply.top:
            node = supply.tops.parents[node]
            if node in found:
                break
            found.add(node)
    return sorted(found)
