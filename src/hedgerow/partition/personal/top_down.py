"""Personalized privacy from the top: serve the widest wishes first, each time with the finest group there is.

Source     dissertation on permutation-based microdata protection, algorithm 9
Guarantee  every group satisfies criteria.personal; no bound on the cost is known
Cost       O(groups that differ * nodes)
Deviates   identical groups are taken at once; any weights
"""

from __future__ import annotations

from hedgerow.partition.personal.frontier import Supply, Tops, finest, needs, take
from hedgerow.partition.personal.wishes import Bundle, Wishes

__all__ = ["personal_top_down"]


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
