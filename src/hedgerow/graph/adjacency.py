"""Adjacency lists of one side in two flat arrays, and a check whether a grouping of that side is safe.

Source     [Zhang 2008], definitions 4.4.1 and 4.4.3; own: compressed sparse rows, by counting sort
Guarantee  between two groups of sizes k and l of a safe grouping (no two nodes of a group share a neighbour) there are
           at most min(k, l) edges, so a pair of entities is joined in at most one of max(k, l) of the assignments that
           the release allows
Cost       O(nodes + edges) time and memory

In which order the nodes are grouped: at random, or by structure with secret ties.

Source     [Zhang 2008], section 4.4.5
Guarantee  the order depends on the published structure and on secret random numbers, never on entities or on row
           numbers
Cost       O(edges log nodes) for `neighbourhood`, O(nodes) for the others
Deviates   the paper breaks ties by row order, which reveals that order; here ties are broken by secret random numbers,
           and high degrees come first, which fails less often. `blurred` is ours: by degree with secret noise, so that
           groups mix degrees and hardly any entity's number of links becomes certain
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.errors import ParameterError
from hedgerow.kernel import kernel
from hedgerow.partition.shuffles import by_code, permutation
from hedgerow.randomness import Keys, system_keys

A = TypeVar("A")
B = TypeVar("B")

_WORTH_A_THREAD = 100_000


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The neighbours of node v are `neighbours[offsets[v]:offsets[v + 1]]`, numbers below `opposite`."""

    offsets: Ints
    neighbours: NDArray[np.int32]
    opposite: int

    @property
    def nodes(self) -> int:
        """How many nodes this side has."""
        return len(self.offsets) - 1

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return len(self.neighbours)

    @cached_property
    def degrees(self) -> Ints:
        """How many neighbours each node has."""
        return np.diff(self.offsets)

    @property
    def ends(self) -> NDArray[np.int32]:
        """The node of this side at each edge, in the order of `neighbours`."""
        return np.repeat(np.arange(self.nodes, dtype=np.int32), self.degrees)

    def sums(self, values: Ints | Bools) -> Ints:
        """Add up, for each node, the values of its edges (given in the order of `neighbours`), exactly."""
        running = np.zeros(len(values) + 1, np.int64)
        np.cumsum(values, out=running[1:])
        total: Ints = running[self.offsets[1:]] - running[self.offsets[:-1]]
        return total


def adjacency(ends: NDArray[np.int32], others: NDArray[np.int32], nodes: int, opposite: int) -> Adjacency:
    """Collect the neighbours of each of `nodes` nodes from edges `(ends[e], others[e])`."""
    offsets = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=nodes), out=offsets[1:])
    neighbours = np.empty(len(ends), np.int32)
    _collect(ends, others, offsets[:-1].copy(), neighbours)
    return Adjacency(offsets, neighbours, opposite)


@kernel
def _collect(ends: NDArray[np.int32], others: NDArray[np.int32], nexts: Ints, neighbours: NDArray[np.int32]) -> None:
    """Write the other end of each edge into the list of its node: a counting sort."""
    for edge in range(len(ends)):
        node = ends[edge]
        neighbours[nexts[node]] = others[edge]
        nexts[node] += 1


def side_by_side(edges: int, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
    """Run two functions in parallel if the graph is large: compiled loops release Python's lock."""
    if edges < _WORTH_A_THREAD:
        return first(), second()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(second)
        return first(), other.result()


def check_size(name: str, size: object) -> int:
    """Check k or l at the door."""
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
        got = size if isinstance(size, int | float) else type(size).__name__
        raise ParameterError(f"'{name}' must be a whole number of at least 1; got {got}. 1 leaves this side as it is.")
    return int(size)


def count_unsafe(groups: NDArray[np.int32], seen_from: Adjacency) -> int:
    """Count the edges that break safety: a node of the other side has an earlier edge into the same group.

    `groups` holds the group of each node; `seen_from` lists, for each node of the other side, the nodes it touches.
    """
    last = np.full(int(groups.max(initial=-1)) + 1, -1, np.int32)
    return int(_count(seen_from.offsets, seen_from.neighbours, groups, last))


def largest_possible(seen_from: Adjacency) -> int:
    """No k above this has a safe grouping: the neighbours of one node lie in as many groups as there are of them."""
    busiest = int(seen_from.degrees.max(initial=0))
    return seen_from.opposite // busiest if busiest else seen_from.opposite


@kernel
def _count(offsets: Ints, neighbours: NDArray[np.int32], groups: NDArray[np.int32], last: NDArray[np.int32]) -> int:
    """Count the edges whose node has an earlier edge into the same group; `last` is the last node seen by group."""
    unsafe = 0
    for node in range(len(offsets) - 1):
        for edge in range(offsets[node], offsets[node + 1]):
            group = groups[neighbours[edge]]
            if last[group] == node:
                unsafe += 1
            last[group] = node
    return unsafe


Order = Literal["random", "degree", "neighbourhood", "blurred"]
ORDERS: tuple[Order, ...] = get_args(Order)
BLUR = 0.5
"""Scale of the noise of the order `blurred`: as far as a factor of 2.5 in the degree goes."""


def check_order(order: object) -> None:
    """Check the name of an order at the door."""
    if order not in ORDERS:
        raise ParameterError(f"'order' must be one of {', '.join(map(repr, ORDERS))}.")


def order_nodes(side: Adjacency, opposite: Adjacency, order: Order, *, keys: Keys = system_keys) -> NDArray[np.int32]:
    """Return the nodes of `side` in the order in which to group them; equals come in a uniformly random order."""
    shuffled = permutation(side.nodes, keys=keys)
    if order == "random":
        return shuffled
    if order == "blurred":
        return np.argsort(-_blur(side.degrees, keys), kind="stable").astype(np.int32)
    rank = side.degrees if order == "degree" else _neighbourhood_ranks(side, opposite.degrees)
    # Stable on shuffled nodes: whatever is equal stays in the secret order. The busiest come first, while there is
    # room: they are the hardest to place.
    return shuffled[_descending(rank[shuffled])]


def _blur(degrees: Ints, keys: Keys) -> Floats:
    """The logarithm of each degree with logistic noise: a degree e times as high comes first in four of five cases."""
    uniform = (keys(len(degrees)) >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54
    blurred: Floats = np.log(degrees + 0.5) + BLUR * np.log(uniform / (1.0 - uniform))
    return blurred


def _descending(ranks: Ints) -> NDArray[np.int32]:
    """The places of the ranks from the highest down, equal ones in the order of the input; by counting."""
    codes = (int(ranks.max(initial=0)) - ranks).astype(np.int32)
    return by_code(codes, np.bincount(codes))


def _neighbourhood_ranks(side: Adjacency, opposite_degrees: Ints) -> Ints:
    """Rank nodes by degree, then by the ascending list of their neighbours' degrees."""
    seen = _ascending_in_runs(opposite_degrees[side.neighbours], side.ends)
    ranks = np.zeros(side.nodes, np.int64)
    first = 0
    for degree in np.unique(side.degrees):
        nodes = np.flatnonzero(side.degrees == degree)
        lists = seen[side.offsets[nodes][:, None] + np.arange(degree)]
        local = _row_ranks(lists)
        ranks[nodes] = first + local
        first += int(local.max()) + 1
    return ranks


def _ascending_in_runs(values: Ints, runs: NDArray[np.int32]) -> Ints:
    """Sort the values of each run, runs being numbered in ascending order: one plain sort of packed pairs."""
    bits = int(values.max(initial=0)).bit_length()
    packed = np.sort(runs.astype(np.int64) << bits | values)
    ascending: Ints = packed & ((1 << bits) - 1)
    return ascending


def _row_ranks(rows: Ints) -> Ints:
    """Rank rows of equal length in lexicographic order; equal rows share a rank."""
    if not rows.shape[1]:
        return np.zeros(len(rows), np.int64)
    keys = _pack(rows)
    order = np.argsort(keys[:, 0]) if keys.shape[1] == 1 else np.lexsort(keys.T[::-1])
    ascending = keys[order]
    is_new = (ascending[1:] != ascending[:-1]).any(axis=1)
    ranks = np.empty(len(rows), np.int64)
    ranks[order] = np.append(0, np.cumsum(is_new))
    return ranks


def _pack(rows: Ints) -> Ints:
    """Put as many numbers of a row as fit into each 62 bits, the first ones highest: fewer keys to sort by."""
    bits = max(1, int(rows.max()).bit_length())
    fit = max(1, 62 // bits)
    packed = np.zeros((len(rows), -(-rows.shape[1] // fit)), np.int64)
    for column in range(rows.shape[1]):
        word = column // fit
        packed[:, word] = (packed[:, word] << bits) | rows[:, column]
    return packed
