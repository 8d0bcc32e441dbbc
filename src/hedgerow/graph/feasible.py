"""Which group sizes a graph allows, and what to say when it does not allow the one that was asked for.

Source     [Zhang 2008], section 4.4.2
Guarantee  `check_possible` refuses only what no grouping can reach; `largest_found` names a size that was reached
Cost       O(log k) greedy searches for `largest_found`
"""

from __future__ import annotations

from hedgerow.errors import Infeasible
from hedgerow.graph.adjacency import Adjacency
from hedgerow.graph.criterion import largest_possible
from hedgerow.randomness import Keys, system_keys

__all__ = ["check_possible", "largest_found", "not_found"]


def check_possible(side: Adjacency, opposite: Adjacency, k: int, name: str) -> None:
    """Raise Infeasible where counting alone shows that no safe grouping exists."""
    most = largest_possible(opposite)
    if k <= most:
        return
    nodes, busiest = side.nodes, int(opposite.degrees.max(initial=0))
    if busiest <= 1:
        raise Infeasible(
            f"Groups of {name} = {k} need as many nodes; this side has {nodes:,}, so {name} = {most} is the most."
        )
    raise Infeasible(
        f"No safe grouping with {name} = {k} exists: a node of the other side is joined to {busiest:,} of the "
        f"{nodes:,} nodes, which must all be in different groups, and there are too few for {busiest:,} groups of {k}. "
        f"{_advice(largest_found(side, opposite), name)}"
    )


def not_found(side: Adjacency, opposite: Adjacency, *, k: int, name: str, strict: bool, loose: int) -> Infeasible:
    """Say that the search failed, and which size it reaches."""
    works = largest_found(side, opposite, below=k, strict=strict)
    sizes = f"{k} or {k + 1}" if strict else f"{k} to {2 * k - 1}"
    return Infeasible(
        f"No safe grouping with {name} = {k} was found: {loose:,} of {side.nodes:,} nodes share a neighbour with a "
        f"node of every group of {sizes} nodes that has room for them. {_advice(works, name)}"
    )


def largest_found(
    side: Adjacency, opposite: Adjacency, *, below: int | None = None, strict: bool = False, keys: Keys = system_keys
) -> int:
    """Search for the largest size that the greedy search reaches in one try; 1 always works."""
    from hedgerow.graph.safe_grouping import greedy

    low, high = 1, largest_possible(opposite) + 1
    if below is not None:
        high = min(high, below)
    while high - low > 1:
        middle = (low + high) // 2
        found, _ = greedy(side, opposite, k=middle, order="random", strict=strict, keys=keys)
        low, high = (middle, high) if found is not None else (low, middle)
    return low


def _advice(works: int, name: str) -> str:
    if works == 1:
        return f"Only {name} = 1 works, which leaves this side as it is; hide the links by groups of the other side."
    return f"The largest {name} that works is {works}."
