"""Merge groups of a personalized partition as long as two of them together cost less than apart.

Source     ours: the searches of the dissertation never look back at groups that they have taken
Guarantee  every group satisfies criteria.personal; the cost never rises
Cost       O(groups that differ squared) evaluations of one group; more than MOST kinds of groups are left as they are
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations_with_replacement

import numpy as np

from hedgerow.partition.personal.wishes import Bundle, Wishes, one_group, total_cost

__all__ = ["MOST", "merge_groups"]

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
