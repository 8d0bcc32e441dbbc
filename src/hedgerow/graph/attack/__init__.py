"""Adversaries of grouped graphs, one file each: what they know, what they infer, how often they are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow._lazy import lazy

if TYPE_CHECKING:
    from hedgerow.graph.attack.learned import learned_links
    from hedgerow.graph.attack.link_chances import static_attack
    from hedgerow.graph.attack.order import processing_order, score_pairs
    from hedgerow.graph.attack.signature import class_sizes, join_releases, signatures

__all__ = [
    "class_sizes",
    "join_releases",
    "learned_links",
    "processing_order",
    "score_pairs",
    "signatures",
    "static_attack",
]

_HOMES = {
    "class_sizes": "signature.class_sizes",
    "join_releases": "signature.join_releases",
    "learned_links": "learned.learned_links",
    "processing_order": "order.processing_order",
    "score_pairs": "order.score_pairs",
    "signatures": "signature.signatures",
    "static_attack": "link_chances.static_attack",
}

__getattr__ = lazy(__name__, _HOMES)
