"""Replay the greedy search in a guessed order and read off who must share a neighbour.

Source     the search of graph.safe_grouping, turned round
Guarantee  if the nodes were grouped in the guessed order, every pair that is returned shares a neighbour
Cost       O(entities x open groups)

A node passes over an open group only because it shares a neighbour with one of its members. If there was one member,
that is a certain link between two entities. Whoever groups rows as the table has them gives such pairs away; in a
secret order the guesses are as good as chance.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["processing_order"]


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
