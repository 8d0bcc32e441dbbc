"""How far the number of edges between selected entities scatters over all assignments.

Guarantee  the exact variance of COUNT(*) over edges, every assignment of entities to nodes being equally likely
Cost       O(edges)
Deviates   the source gives bounds and means only

Whether a node is selected is drawn without replacement inside its group, apart from all other groups. In a group of k
nodes, a of them selected, the covariances are u (I - J/k) with u = a (k - a) / (k (k - 1)). With x and y the choices of
both sides and M the edges, Var(x'My) is the scatter of x against the mean of y, that of y against the mean of x, and
the trace of both covariances through M. Between two groups M is a matching of c edges, because the grouping is safe,
so a pair adds u t (c (1 - 1/k) (1 - 1/l) + c (c - 1) / (k l)) to the trace. See docs/methods/graph_queries.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats
from hedgerow.graph.crowded import crowded
from hedgerow.graph.select import Selected
from hedgerow.kernel import kernel

__all__ = ["pair_scatter", "side_scatter"]


def side_scatter(near: Selected, far: Selected, *, with_edges: bool) -> float:
    """The scatter of the near side against the mean of the far one; on one side also that of single edges."""
    graph = near.side.neighbours
    found = np.zeros(len(near.sizes))
    _scatter(
        graph.offsets, graph.neighbours, np.append(0, np.cumsum(near.sizes)), near.nodes, near.chances, far.chances,
        _factors(near), with_edges, found,
    )  # fmt: skip
    return float(found.sum())


def pair_scatter(left: Selected, right: Selected) -> float:
    """What pairs of groups with several edges between them add to the scatter of these edges one by one."""
    pairs = crowded(left.side, right.side)
    counted = left.nodes[pairs.nodes] & right.nodes[pairs.ends]
    near, far = left.side.node_groups[pairs.nodes[counted]], pairs.groups[counted]
    ends, edges = np.unique(near.astype(np.int64) * right.side.groups + far, return_counts=True)
    weights = [_factors(side) / side.sizes for side in (left, right)]
    i, j = np.divmod(ends, right.side.groups)
    return float((weights[0][i] * weights[1][j] * edges * (edges - 1)).sum())


def _factors(chosen: Selected) -> Floats:
    """The factor u of each group's covariances."""
    a, k = chosen.counts, chosen.sizes
    factors: Floats = a * (k - a) / (k * np.maximum(k - 1, 1))
    return factors


@kernel
def _scatter(
    offsets: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    firsts: NDArray[np.int64],
    nodes: NDArray[np.bool_],
    near_chances: Floats,
    far_chances: Floats,
    factors: Floats,
    with_edges: bool,
    found: Floats,
) -> None:
    for group in range(len(found)):
        if factors[group] == 0.0:
            continue
        total = squares = edges = 0.0
        for node in range(firsts[group], firsts[group + 1]):
            if nodes[node]:
                reached = 0.0
                for edge in range(offsets[node], offsets[node + 1]):
                    chance = far_chances[neighbours[edge]]
                    reached += chance
                    edges += near_chances[node] * (1.0 - near_chances[node]) * chance * (1.0 - chance)
                total += reached
                squares += reached * reached
        # The number of nodes of the group is not below two here, else nothing would be uncertain.
        size = firsts[group + 1] - firsts[group]
        found[group] = factors[group] * (squares - total * total / size) + (edges if with_edges else 0.0)
