"""Group both sides of a graph, at once where the graph is large and the coins are the operating system's.

Cost       that of the slower side on two cores

A seeded source has one order in which its keys are drawn, so with one the sides are grouped one after the other.
"""

from __future__ import annotations

from hedgerow.graph.adjacency import Adjacency
from hedgerow.graph.links import side_by_side
from hedgerow.graph.order import Order
from hedgerow.graph.safe_grouping import Grouping, safe_grouping
from hedgerow.randomness import Keys, system_keys

__all__ = ["group_both_sides"]


def group_both_sides(
    near: Adjacency,
    far: Adjacency,
    *,
    k: int,
    l: int,  # noqa: E741 - the paper's letter
    order: Order = "random",
    strict: bool = False,
    keys: Keys = system_keys,
) -> tuple[Grouping, Grouping]:
    """Return safe groupings of the left side, in groups of k, and of the right side, in groups of l."""

    def left() -> Grouping:
        return safe_grouping(near, far, k=k, order=order, strict=strict, name="k", keys=keys)

    def right() -> Grouping:
        return safe_grouping(far, near, k=l, order=order, strict=strict, name="l", keys=keys)

    return side_by_side(near.edges, left, right) if keys is system_keys else (left(), right())
