"""Personalized privacy from the bottom: extract the group with the largest average saving, again and again.

Source     [Zhang 2008], algorithm 8
Guarantee  every group satisfies criteria.target.Respect; no bound on the cost is known, see docs/methods/personal.md
Cost       O(groups that differ * named nodes * nodes^2) in the worst case
Deviates   the printed search for a group is not given; here it starts at the finest frontier and moves single nodes of
           the frontier up as long as the average saving |R| - |D| grows. Identical groups are taken at once

Personalized privacy from the top: serve the widest wishes first, each time with the finest group there is.

Source     [Zhang 2008], algorithm 9
Guarantee  every group satisfies criteria.target.Respect; no bound on the cost is known
Cost       O(groups that differ * nodes)
Deviates   identical groups are taken at once; any weights

Merge groups of a personalized partition as long as two of them together cost less than apart.

Source     own: the searches of [Zhang 2008] never look back at groups that they have taken
Guarantee  every group satisfies criteria.target.Respect; the cost never rises
Cost       O(groups that differ squared) evaluations of one group; more than MOST kinds of groups are left as they are
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from hedgerow.partition.personal.frontier import Supply, Tops, collapse, finest, needs, savings, take
from hedgerow.partition.personal.wishes import Bundle, Wishes, one_group, total_cost

__all__ = ["MOST", "merge_groups", "personal_bottom_up", "personal_top_down"]

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


def personal_top_down(wishes: Wishes) -> list[Bundle]:
    """Group wishes: while somebody names a node, take the finest group below it; then go on to smaller nodes."""
    tops = Tops(wishes.tree)
    left = wishes.counts.copy()
    bundles: list[Bundle] = []
    for top in sorted(set(wishes.nodes.tolist()), key=lambda node: -tops.sizes[node]):
        while (left[wishes.nodes == top] > 0).any():
            supply = Supply(tops, top, wishes, left.copy())
            bundle = take(supply, needs(tops, top, finest(supply)))
            for wish, people in bundle.members.items():
                left[wish] -= people * bundle.times
            bundles.append(bundle)
    return bundles


MOST = 80
"""Kinds of groups up to which all pairs are tried: a few seconds."""

Gains = dict[tuple[int, int], tuple[int, list[Bundle]]]


def merge_groups(bundles: Sequence[Bundle], wishes: Wishes) -> list[Bundle]:
    """Merge the pair of groups that saves most, again and again."""
    if len(bundles) > MOST:
        return list(bundles)
    pool = list(bundles)
    gains = _gains(pool, wishes, combinations_with_replacement(range(len(pool)), 2))
    while gains:
        one, other = max(gains, key=lambda pair: gains[pair][0])
        _, together = gains[one, other]
        times = pool[one].times // 2 if one == other else min(pool[one].times, pool[other].times)
        for index in (one, other):
            pool[index] = Bundle(pool[index].members, pool[index].published, pool[index].times - times)
        pool += [Bundle(bundle.members, bundle.published, times) for bundle in together]
        new = range(len(pool) - len(together), len(pool))
        gains |= _gains(pool, wishes, ((i, j) for j in new for i in range(j + 1)))
        gains = {pair: gain for pair, gain in gains.items() if _is_there(pool, *pair)}
    return [bundle for bundle in pool if bundle.times]


def _is_there(pool: Sequence[Bundle], one: int, other: int) -> bool:
    return pool[one].times >= 2 if one == other else min(pool[one].times, pool[other].times) >= 1


def _gains(pool: Sequence[Bundle], wishes: Wishes, pairs: Iterable[tuple[int, int]]) -> Gains:
    """What each pair that is there saves when merged, if anything."""
    found: Gains = {}
    for one, other in pairs:
        if not _is_there(pool, one, other):
            continue
        together = _together(pool[one], pool[other], wishes)
        apart = [Bundle(b.members, b.published) for b in (pool[one], pool[other])]
        saved = total_cost(apart, wishes.tree) - total_cost(together, wishes.tree)
        if saved > 0:
            found[one, other] = saved, together
    return found


def _together(one: Bundle, other: Bundle, wishes: Wishes) -> list[Bundle]:
    people = np.zeros(len(wishes.counts), np.int64)
    for wish, number in (Counter(one.members) + Counter(other.members)).items():
        people[wish] = number
    return one_group(Wishes(wishes.tree, wishes.leaves, wishes.nodes, people))
