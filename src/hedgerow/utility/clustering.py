"""Clustering error: the share of rows that k-means puts into another cluster than on the original.

Source     preserving properties of interest, section 5.2; Lloyd's algorithm, seeded as by Arthur and Vassilvitskii
Cost       O(r i n k d) for r restarts of at most i rounds on n rows of d columns, restarts on all cores
Deviates   clusters are matched so that the error is least (the paper does not say how it matches them); columns are
           in units of the original's spread, else the widest column alone would decide
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from hedgerow.cores import cores
from hedgerow.kernel import kernel
from hedgerow.randomness import Keys, system_keys

__all__ = ["clustering_error", "k_means", "misplaced"]

_ROUNDS = 100


def clustering_error(
    original: NDArray[np.float64],
    published: NDArray[np.float64],
    *,
    k: int,
    restarts: int = 3,
    keys: Keys = system_keys,
) -> float:
    """Sum over clusters of |union| - |intersection|, over twice the rows: the share of misplaced rows."""
    scale = original.std(axis=0)
    weights = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    one, other = (k_means(table * weights, k=k, restarts=restarts, keys=keys) for table in (original, published))
    return misplaced(one, other)


def misplaced(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """The share of rows outside their cluster when clusters are matched as well as can be."""
    k = int(max(one.max(), other.max())) + 1
    shared = np.bincount(one * k + other, minlength=k * k).reshape(k, k)
    return 1.0 - _best_match(shared) / len(one)


def k_means(points: NDArray[np.float64], *, k: int, restarts: int = 3, keys: Keys = system_keys) -> NDArray[np.int64]:
    """The cluster of each row in the tightest of several runs."""
    starts = [_spread_seeds(points, k, keys) for _ in range(restarts)]
    with ThreadPoolExecutor(cores()) as pool:
        runs = list(pool.map(lambda centres: _lloyd(points, centres), starts))
    return min(runs, key=lambda run: run[1])[0]


def _lloyd(points: NDArray[np.float64], centres: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    clusters = np.full(len(points), -1)
    sums, sizes = np.zeros_like(centres), np.zeros(len(centres), np.int64)
    for _ in range(_ROUNDS):
        moved, tightness = _assign(points, centres, clusters, sums, sizes)
        if not moved:
            break
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
    return clusters, tightness


@kernel
def _assign(
    points: NDArray[np.float64],
    centres: NDArray[np.float64],
    clusters: NDArray[np.int64],
    sums: NDArray[np.float64],
    sizes: NDArray[np.int64],
) -> tuple[int, float]:
    """Move each row to its nearest centre, add up the clusters; count the moves and the squared distances."""
    sums[:], sizes[:] = 0.0, 0
    moved, total = 0, 0.0
    for row in range(len(points)):
        nearest, least = 0, np.inf
        for cluster in range(len(centres)):
            distance = 0.0
            for column in range(points.shape[1]):
                distance += (points[row, column] - centres[cluster, column]) ** 2
            if distance < least:
                nearest, least = cluster, distance
        moved += 1 if clusters[row] != nearest else 0
        clusters[row] = nearest
        sizes[nearest] += 1
        total += least
        for column in range(points.shape[1]):
            sums[nearest, column] += points[row, column]
    return moved, total


def _spread_seeds(points: NDArray[np.float64], k: int, keys: Keys) -> NDArray[np.float64]:
    """Choose centres among the rows, each with a chance that grows with its squared distance from those before."""
    draws = (keys(k) >> np.uint64(11)).astype(float) / 2.0**53
    centres = points[[int(draws[0] * len(points))]]
    for draw in draws[1:]:
        mass = np.cumsum(_distances(points, centres).min(axis=1))
        row = int(np.searchsorted(mass, draw * mass[-1], side="right"))
        centres = np.concatenate([centres, points[[min(row, len(points) - 1)]]])
    return centres


def _distances(points: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.float64]:
    # |p - c|^2 as a matrix product; rounding may leave a point's distance from itself slightly below zero.
    squares: NDArray[np.float64] = (
        (points**2).sum(axis=1)[:, None] - 2.0 * points @ centres.T + (centres**2).sum(axis=1)
    )
    return np.maximum(squares, 0.0, out=squares)


def _best_match(shared: NDArray[np.int64]) -> int:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(shared, maximize=True)
    return int(shared[rows, columns].sum())
