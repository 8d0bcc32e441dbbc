"""Find safe groupings of both sides of a graph (no two nodes of a group share a neighbour), or the sizes that work.

Source     [Zhang 2008], sections 4.4.2 and 4.4.5
Guarantee  every group is safe and has at least k nodes, or Infeasible is raised; `check_possible` refuses only what no
           grouping can reach, and `largest_found` names a size that was reached, and in which order
Cost       that of `graph/greedy`; a refusal takes a few times as long as the first attempt, or two seconds

Both sides are grouped at once where the graph is large and randomness is the operating system's; a seeded source has
one order in which its keys are drawn, so with one the sides follow each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from hedgerow.errors import Infeasible
from hedgerow.graph.adjacency import Adjacency, Order, check_order, check_size, largest_possible, side_by_side
from hedgerow.graph.greedy import Grouping, greedy
from hedgerow.randomness import Keys, system_keys

ATTEMPTS = 10
"""Orders to try before giving up: the greedy search depends on its order, and a new one is cheap."""

SEARCHED: tuple[Order, ...] = ("blurred", "degree", "random")
"""Orders in which a refusal looks for a size that works; none of them always reaches the largest."""

Progress = Callable[[str, float], None]


def safe_grouping(
    side: Adjacency,
    opposite: Adjacency,
    *,
    k: int,
    order: Order = "random",
    strict: bool = False,
    keys: Keys = system_keys,
    patience: Patience | None = None,
) -> Grouping:
    """Group the nodes of `side`; `opposite` is the same graph seen from the other side.

    `strict` allows no groups but those of k and k + 1. Group numbers follow the search: relabel them before they leave.
    """
    patience = patience or Patience()
    check_size(patience.name, k)
    check_order(order)
    check_possible(side, opposite, k, patience)
    for attempt in range(ATTEMPTS):
        if attempt and patience.is_over:
            break
        patience.tell(f"grouping, attempt {attempt + 1}")
        found, loose = greedy(side, opposite, k=k, order=order, strict=strict, keys=keys)
        if found is not None:
            return found
        patience.note_attempt()
    raise not_found(side, opposite, k=k, strict=strict, loose=loose, patience=patience)


@dataclass
class Patience:
    """How long a refusal may take: a few times the first attempt, at least two seconds a part; with progress reports.

    `name` is what the size is called: k on the left, l on the right.
    """

    name: str = "k"
    progress: Progress = lambda step, share: None
    share: float = 0.1
    least: float = 2.0
    times: float = 4.0
    _start: float = field(default_factory=time.perf_counter)
    _first: float | None = None

    def note_attempt(self) -> None:
        """Note that an attempt ended; the first one sets the measure."""
        if self._first is None:
            self._first = time.perf_counter() - self._start

    @property
    def is_over(self) -> bool:
        """Whether this part of the work has taken its time."""
        return time.perf_counter() - self._start > max(self.least, self.times * (self._first or 0.0))

    def renew(self) -> Patience:
        """The same measure for another part of the work."""
        return replace(self, _start=time.perf_counter())

    def tell(self, step: str) -> None:
        """Report what is done now."""
        self.progress(step, self.share)


def check_possible(side: Adjacency, opposite: Adjacency, k: int, patience: Patience) -> None:
    """Raise Infeasible where counting alone shows that no safe grouping exists."""
    name = patience.name
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
        f"{_advice(largest_found(side, opposite, patience=patience), name)}"
    )


def not_found(
    side: Adjacency, opposite: Adjacency, *, k: int, strict: bool, loose: int, patience: Patience
) -> Infeasible:
    """Say that the search failed, and which size it reaches."""
    found = largest_found(side, opposite, below=k + 1, strict=strict, patience=patience)
    name = patience.name
    sizes = f"{k} or {k + 1}" if strict else f"{k} to {2 * k - 1}"
    return Infeasible(
        f"No safe grouping with {name} = {k} was found: {loose:,} of {side.nodes:,} nodes share a neighbour with a "
        f"node of every group of {sizes} nodes that has room for them. {_advice(found, name)}"
    )


class Largest(NamedTuple):
    """The largest size that was reached, the order that reached it, and whether the search had time to end."""

    size: int
    order: Order
    is_finished: bool


def largest_found(
    side: Adjacency,
    opposite: Adjacency,
    *,
    below: int | None = None,
    strict: bool = False,
    keys: Keys = system_keys,
    patience: Patience | None = None,
) -> Largest:
    """Bisect for the largest size that one attempt in some order reaches; 1 always works."""
    low, high, best = 1, largest_possible(opposite) + 1, SEARCHED[0]
    high = high if below is None else min(high, below)
    patience = Patience() if patience is None else patience.renew()
    while high - low > 1:
        middle = (low + high) // 2
        for order in SEARCHED:
            if patience.is_over:
                return Largest(low, best, False)
            patience.tell(f"looking for a size that works: {middle}?")
            found, _ = greedy(side, opposite, k=middle, order=order, strict=strict, keys=keys)
            patience.note_attempt()
            if found is not None:
                low, best = middle, order
                break
        else:
            high = middle
    return Largest(low, best, True)


def _advice(found: Largest, name: str) -> str:
    ended = "" if found.is_finished else " (the search was cut short)"
    if found.size == 1:
        only = f"Only {name} = 1 works" if found.is_finished else f"Nothing above {name} = 1 was found{ended}"
        return f"{only}, which leaves this side as it is; hide the links by groups of the other side."
    return f'The largest {name} found is {found.size}, with order="{found.order}"{ended}.'


def group_both_sides(
    near: Adjacency,
    far: Adjacency,
    *,
    sizes: tuple[int, int],
    order: Order = "random",
    strict: bool = False,
    keys: Keys = system_keys,
    progress: Progress = lambda step, share: None,
) -> tuple[Grouping, Grouping]:
    """Return safe groupings of the left side, in groups of k, and of the right side, in groups of l: `sizes`."""

    def left() -> Grouping:
        return safe_grouping(
            near, far, k=sizes[0], order=order, strict=strict, keys=keys, patience=Patience("k", progress)
        )

    def right() -> Grouping:
        return safe_grouping(
            far, near, k=sizes[1], order=order, strict=strict, keys=keys, patience=Patience("l", progress)
        )

    return side_by_side(near.edges, left, right) if keys is system_keys else (left(), right())
