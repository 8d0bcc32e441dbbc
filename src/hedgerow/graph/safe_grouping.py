"""Group the nodes of both sides greedily so that no two of a group share a neighbour.

Source     [Zhang 2008], sections 4.4.2 and 4.4.5, algorithm 5
Guarantee  every group is safe and has at least k nodes, or Infeasible is raised; `check_possible` refuses only what no
           grouping can reach, and `largest_found` names a size that was reached, and in which order
Cost       O(nodes + sum over edges of the open groups that their far end touches), near O(edges) on sparse graphs;
           a refusal takes a few times as long as the first attempt, or two seconds
Deviates   the printed comparisons fill groups to k + j + 1 and dissolve groups of exactly k; here a group takes a
           node below k + j, and groups of at least k stay; j doubles from round to round. The order is secret. Sizes
           end at 2k - 1: a safe group of 2k is two safe groups of k

A node of the other side touches a group if it has a neighbour in it. Each keeps the list of open groups that it
touches, so the groups that a new node must avoid are read off its neighbours, and a search through the open groups
steps only over those. Both sides are grouped at once where the graph is large and randomness is the operating
system's; a seeded source has one order in which its keys are drawn, so with one the sides follow each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import Infeasible
from hedgerow.graph.adjacency import (
    Adjacency,
    Order,
    check_order,
    check_size,
    largest_possible,
    order_nodes,
    side_by_side,
)
from hedgerow.kernel import kernel
from hedgerow.randomness import Keys, system_keys

ATTEMPTS = 10
"""Orders to try before giving up: the greedy search depends on its order, and a new one is cheap."""

SEARCHED: tuple[Order, ...] = ("blurred", "degree", "random")
"""Orders in which a refusal looks for a size that works; none of them always reaches the largest."""

Progress = Callable[[str, float], None]

_COUNT, _HEAD, _TAIL = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Grouping:
    """`groups[v]` is the group of node v, from 0 to `count` - 1; `loose` nodes found no place in the first round."""

    groups: NDArray[np.int32]
    count: int
    loose: int = 0

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many nodes each group has."""
        return np.bincount(self.groups, minlength=self.count)


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
    """How long a refusal may take: a few times the first attempt, at least two seconds a part; and who hears of it.

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


def greedy(
    side: Adjacency,
    opposite: Adjacency,
    *,
    k: int,
    order: Order,
    strict: bool,
    keys: Keys = system_keys,
    wanted: NDArray[np.int32] | None = None,
) -> tuple[Grouping | None, int]:
    """Try one secret order; return the grouping, or None, and how many nodes were left over at the end.

    `wanted` says for each node how large its group must be at least, instead of k for all of them.
    """
    if k == 1:
        return Grouping(np.arange(side.nodes, dtype=np.int32), side.nodes), 0
    search = _GroupSearch(side, opposite, np.full(side.nodes, k, np.int32) if wanted is None else wanted)
    queue = order_nodes(side, opposite, order, keys=keys)
    search.fill(queue)
    rest = loose = search.dissolve(queue)
    for beyond in [1] if strict else _beyond(k):
        if not len(rest):
            break
        search.refill(rest, beyond)
        # A node that wants more than a finished group has can undo it: then everybody may have to be placed again.
        rest = search.dissolve(rest if wanted is None else queue)
    if len(rest):
        return None, len(rest)
    return Grouping(search.groups, int(search.state[_COUNT]), len(loose)), 0


def _beyond(k: int) -> list[int]:
    """By how much groups may grow beyond k, round by round: few rounds, and the last allows 2k - 1."""
    return [*(1 << j for j in range((k - 1).bit_length()) if (1 << j) < k - 1), k - 1]


class _Built(NamedTuple):
    """Groups under construction as the kernels see them; `state` holds their number and the ends of the open list.

    `wanted` is how large the group of each node must be, `room` how many nodes each group still takes.
    """

    wanted: NDArray[np.int32]
    groups: NDArray[np.int32]
    sizes: NDArray[np.int32]
    room: NDArray[np.int32]
    nexts: NDArray[np.int32]
    avoided: NDArray[np.int32]
    state: NDArray[np.int64]


class _GroupSearch:
    """Groups under construction: sizes, and a linked list of those that are open, in the order of their making."""

    def __init__(self, side: Adjacency, opposite: Adjacency, wanted: NDArray[np.int32]) -> None:
        self.side, self.opposite, self.wanted = side, opposite, wanted
        self.groups = np.full(side.nodes, -1, np.int32)
        self.sizes = np.zeros(side.nodes, np.int32)
        self.room = np.zeros(side.nodes, np.int32)
        self.nexts = np.full(side.nodes, -1, np.int32)
        self.avoided = np.full(side.nodes, -1, np.int32)
        self.state = np.array([0, -1, -1], np.int64)

    def fill(self, queue: NDArray[np.int32]) -> None:
        """Place every node of the queue in the first open group that stays safe, or in a new one."""
        # Groups fill quickly, so a far end seldom touches two open ones: the first is kept where the count is, one
        # look into memory an edge, and the rest in as much room as the far end has neighbours.
        touched = np.full((self.opposite.nodes, 2), -1, np.int32)
        touched[:, 1] = 0
        more = np.empty(self.opposite.edges, np.int32)
        # Read front to back, the search waits for memory a quarter of the time that it would in a random order.
        offsets, neighbours = _in_order(self.side, queue)
        groups = np.empty_like(self.groups)
        _fill(offsets, neighbours, self.opposite.offsets, touched, more, self._build(self.wanted[queue], groups))
        self.groups[queue] = groups
        self.avoided[:] = -1

    def refill(self, queue: NDArray[np.int32], beyond: int) -> None:
        """Do the same for the few nodes that are left over, among all groups, which may grow beyond their size."""
        self._open(beyond)
        near, far, built = self.side, self.opposite, self._build(self.wanted, self.groups)
        _refill(queue, near.offsets, near.neighbours, far.offsets, far.neighbours, built, beyond)

    def dissolve(self, queue: NDArray[np.int32]) -> NDArray[np.int32]:
        """Keep groups that are large enough, numbered anew; return the nodes of the others as the queue had them."""
        sizes = self.sizes[: int(self.state[_COUNT])]
        is_kept = sizes >= self._needed_sizes()
        if is_kept.all():
            return np.empty(0, np.int32)
        numbers = np.where(is_kept, np.cumsum(is_kept) - 1, -1).astype(np.int32)
        self.groups = numbers[self.groups]
        self.sizes[: is_kept.sum()] = sizes[is_kept]
        self.sizes[is_kept.sum() :] = 0
        self.avoided[:] = -1
        self.state[_COUNT] = is_kept.sum()
        return queue[self.groups[queue] < 0]

    def _build(self, wanted: NDArray[np.int32], groups: NDArray[np.int32]) -> _Built:
        return _Built(wanted, groups, self.sizes, self.room, self.nexts, self.avoided, self.state)

    def _needed_sizes(self) -> NDArray[np.int32]:
        """How large each group must be: as large as its most demanding node wants."""
        count, most = int(self.state[_COUNT]), int(self.wanted.max(initial=1))
        if int(self.wanted.min(initial=most)) == most:
            return np.full(count, most, np.int32)
        needed, placed = np.zeros(count, np.int32), self.groups >= 0
        np.maximum.at(needed, self.groups[placed], self.wanted[placed])
        return needed

    def _open(self, beyond: int) -> None:
        count = int(self.state[_COUNT])
        self.room[:count] = self._needed_sizes() + beyond - self.sizes[:count]
        open_groups = np.flatnonzero(self.room[:count] > 0)
        self.nexts[open_groups] = np.append(open_groups[1:], -1)
        self.state[1:] = (open_groups[0], open_groups[-1]) if len(open_groups) else (-1, -1)


def _in_order(side: Adjacency, queue: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Copy offsets and neighbours so that node n is the n-th of the queue."""
    offsets = np.zeros(side.nodes + 1, np.int64)
    np.cumsum(side.degrees[queue], out=offsets[1:])
    neighbours = np.empty(side.edges, np.int32)
    _copy(queue, side.offsets, side.neighbours, offsets, neighbours)
    return offsets, neighbours


@kernel
def _copy(
    queue: NDArray[np.int32],
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    new_offsets: NDArray[np.int64],
    new_neighbours: NDArray[np.int32],
) -> None:
    for place in range(len(queue)):
        start, new_start = offsets[queue[place]], new_offsets[place]
        for edge in range(new_offsets[place + 1] - new_start):
            new_neighbours[new_start + edge] = neighbours[start + edge]


@kernel
def _place(
    node: int,
    built: _Built,
    beyond: int,
) -> int:
    """Put a node into the first open group that it need not avoid; return that group if it stays open, else -1."""
    wanted, groups, sizes, room, nexts, avoided, state = built
    before, group = -1, state[1]
    while group != -1 and avoided[group] == node:
        before, group = group, np.int64(nexts[group])
    if group == -1:
        group = state[0]
        state[0] += 1
        room[group] = wanted[node] + beyond
        nexts[group] = -1
        if state[2] == -1:
            state[1] = group
        else:
            nexts[state[2]] = group
            before = state[2]
        state[2] = group
    groups[node] = group
    room[group] = max(room[group], wanted[node] - sizes[group]) - 1
    sizes[group] += 1
    if room[group] > 0:
        return int(group)
    if before == -1:
        state[1] = nexts[group]
    else:
        nexts[before] = nexts[group]
    if state[2] == group:
        state[2] = before
    return -1


@kernel
def _fill(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    far_offsets: NDArray[np.int64],
    touched: NDArray[np.int32],
    more: NDArray[np.int32],
    built: _Built,
) -> None:
    """Place all nodes in turn, with the open groups that each far end touches at hand."""
    groups, room, avoided = built.groups, built.room, built.avoided
    for node in range(len(groups)):
        for edge in range(offsets[node], offsets[node + 1]):
            far = neighbours[edge]
            group = touched[far, 0]
            if group != -1:
                if room[group] > 0:
                    avoided[group] = node
                else:
                    touched[far, 0] = -1
            if touched[far, 1]:
                start = kept = far_offsets[far]
                for place in range(start, start + touched[far, 1]):
                    group = more[place]
                    if room[group] > 0:
                        avoided[group] = node
                        more[kept] = group
                        kept += 1
                touched[far, 1] = kept - start
        opened = _place(node, built, 0)
        if opened == -1:
            continue
        for edge in range(offsets[node], offsets[node + 1]):
            far = neighbours[edge]
            if touched[far, 0] == -1:
                touched[far, 0] = opened
            else:
                more[far_offsets[far] + touched[far, 1]] = opened
                touched[far, 1] += 1


@kernel
def _refill(
    queue: NDArray[np.int32],
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    far_offsets: NDArray[np.int64],
    far_neighbours: NDArray[np.int32],
    built: _Built,
    beyond: int,
) -> None:
    """Place the nodes of the queue, looking up the groups that they must avoid edge by edge."""
    groups, avoided = built.groups, built.avoided
    for node in queue:
        for edge in range(offsets[node], offsets[node + 1]):
            far = neighbours[edge]
            for place in range(far_offsets[far], far_offsets[far + 1]):
                group = groups[far_neighbours[place]]
                if group != -1:
                    avoided[group] = node
        _place(node, built, beyond)


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
    """Search by halving for the largest size that one try in some order reaches; 1 always works."""
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
