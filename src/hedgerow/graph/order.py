"""In which order the nodes are grouped: at random, or by structure with secret ties.

Source     [Zhang 2008], section 4.4.5
Guarantee  the order depends on the published structure and on secret coins, never on entities or on row numbers
Cost       O(edges log nodes) for `neighbourhood`, O(nodes) for the others
Deviates   the paper breaks ties as the rows come, which tells an insider which rows came first; here ties are secret,
           and high degrees come first, which fails less often
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.graph.adjacency import Adjacency
from hedgerow.partition.shuffles import by_code
from hedgerow.randomness import Keys, system_keys
from hedgerow.release.shuffle import permutation

__all__ = ["ORDERS", "Order", "check_order", "ordered"]

Order = Literal["random", "degree", "neighbourhood"]
ORDERS: tuple[Order, ...] = get_args(Order)


def check_order(order: object) -> None:
    """Check the name of an order at the door."""
    if order not in ORDERS:
        raise ParameterError(f"'order' must be one of {', '.join(map(repr, ORDERS))}.")


def ordered(side: Adjacency, opposite: Adjacency, order: Order, *, keys: Keys = system_keys) -> NDArray[np.int32]:
    """Return the nodes of `side` in the order in which to group them; equals come in a uniformly random order."""
    shuffled = permutation(side.nodes, keys=keys)
    if order == "random":
        return shuffled
    rank = side.degrees if order == "degree" else _neighbourhood_ranks(side, opposite.degrees)
    # Stable on shuffled nodes: whatever is equal stays in the secret order. The busiest come first, while there is
    # room: they are the hardest to place.
    return shuffled[_descending(rank[shuffled])]


def _descending(ranks: NDArray[np.int64]) -> NDArray[np.int32]:
    """The places of the ranks from the highest down, equal ones in the order of the input; by counting."""
    codes = (int(ranks.max(initial=0)) - ranks).astype(np.int32)
    return by_code(codes, np.bincount(codes))


def _neighbourhood_ranks(side: Adjacency, opposite_degrees: NDArray[np.int64]) -> NDArray[np.int64]:
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


def _ascending_in_runs(values: NDArray[np.int64], runs: NDArray[np.int32]) -> NDArray[np.int64]:
    """Sort the values of each run, runs being numbered in ascending order: one plain sort of packed pairs."""
    bits = int(values.max(initial=0)).bit_length()
    packed = np.sort(runs.astype(np.int64) << bits | values)
    ascending: NDArray[np.int64] = packed & ((1 << bits) - 1)
    return ascending


def _row_ranks(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rank rows of equal length in lexicographic order; equal rows share a rank."""
    if not rows.shape[1]:
        return np.zeros(len(rows), np.int64)
    keys = _packed(rows)
    order = np.argsort(keys[:, 0]) if keys.shape[1] == 1 else np.lexsort(keys.T[::-1])
    ascending = keys[order]
    is_new = (ascending[1:] != ascending[:-1]).any(axis=1)
    ranks = np.empty(len(rows), np.int64)
    ranks[order] = np.append(0, np.cumsum(is_new))
    return ranks


def _packed(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Put as many numbers of a row as fit into each 62 bits, the first ones highest: fewer keys to sort by."""
    bits = max(1, int(rows.max()).bit_length())
    fit = max(1, 62 // bits)
    packed = np.zeros((len(rows), -(-rows.shape[1] // fit)), np.int64)
    for column in range(rows.shape[1]):
        word = column // fit
        packed[:, word] = (packed[:, word] << bits) | rows[:, column]
    return packed
