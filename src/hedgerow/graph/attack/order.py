"""Replay the greedy search in a guessed order and read off who must share a neighbour.

Source     own: the search of graph.safe_grouping, reversed
Guarantee  if the nodes were grouped in the guessed order, every pair that is returned shares a neighbour
Cost       O(entities x open groups)

A node passes over an open group only because it shares a neighbour with one of its members. If there was one member,
that is a certain link between two entities. Whoever groups rows as the table has them gives such pairs away; in a
secret order the guesses are as good as chance.
"""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.attack.finding import Rate
from hedgerow.graph.adjacency import Adjacency

__all__ = ["processing_order", "score_pairs"]


def processing_order(groups: Sequence[int], *, k: int) -> list[tuple[int, int]]:
    """Guess pairs of entities that share a neighbour, from the groups of entities in the order of grouping."""
    members: dict[int, list[int]] = {}
    pairs = []
    for entity, group in enumerate(groups):
        for earlier, inside in members.items():
            if earlier == group:
                break
            if len(inside) == 1 and k > 1:
                pairs.append((inside[0], entity))
        members.setdefault(group, []).append(entity)
        if len(members[group]) >= k:
            del members[group]
    return pairs


def score_pairs(pairs: Sequence[tuple[int, int]], side: Adjacency, opposite: Adjacency) -> Rate:
    """Say how many of the guessed pairs share a neighbour; the baseline is at most that of pairs drawn at random."""
    near = [set(side.neighbours[side.offsets[v] : side.offsets[v + 1]].tolist()) for v in range(side.nodes)]
    hits = sum(bool(near[u] & near[v]) for u, v in pairs)
    together = float((opposite.degrees * (opposite.degrees - 1.0)).sum()) / 2
    return Rate(hits, len(pairs), min(1.0, together / max(1.0, side.nodes * (side.nodes - 1.0) / 2)))
