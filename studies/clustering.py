"""Clustering error: the share of rows that k-means puts into another cluster than on the original.

Source     preserving properties of interest, section 5.2; Lloyd's algorithm with the bounds of Hamerly (2010), begun as
           by Arthur and Vassilvitskii (2007)
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
    """Move rows to their nearest centres and centres to the means of their rows until no row moves."""
    clusters = np.zeros(len(points), np.int64)
    # Nothing is known yet: a row may be as far from its centre as can be, and as near to another.
    upper, lower = np.full(len(points), np.inf), np.zeros(len(points))
    sums, sizes = np.zeros_like(centres), np.zeros(len(centres), np.int64)
    for turn in range(_ROUNDS):
        moved = _assign(points, centres, _half_gaps(centres), clusters, upper, lower, sums, sizes)
        if not moved and turn:
            break
        means = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
        shifts = np.sqrt(((means - centres) ** 2).sum(axis=1))
        centres = means
        upper += shifts[clusters]
        lower -= shifts.max()
    return clusters, float(((points - centres[clusters]) ** 2).sum())


@kernel
def _assign(
    points: NDArray[np.float64],
    centres: NDArray[np.float64],
    half_gaps: NDArray[np.float64],
    clusters: NDArray[np.int64],
    upper: NDArray[np.float64],
    lower: NDArray[np.float64],
    sums: NDArray[np.float64],
    sizes: NDArray[np.int64],
) -> int:
    """Move each row to its nearest centre and add up the clusters; count the moves.

    `upper` bounds each row's distance from its centre, `lower` that from every other, `half_gaps` is half of the way
    from a centre to the next: while these say that a row's centre is still the nearest, the others are not looked at.
    """
    sums[:], sizes[:] = 0.0, 0
    moved = 0
    for row in range(len(points)):
        enough = max(lower[row], half_gaps[clusters[row]])
        if upper[row] > enough:
            distance = 0.0
            for column in range(points.shape[1]):
                distance += (points[row, column] - centres[clusters[row], column]) ** 2
            upper[row] = np.sqrt(distance)
        if upper[row] > enough:
            nearest, least, second = 0, np.inf, np.inf
            for cluster in range(len(centres)):
                distance = 0.0
                for column in range(points.shape[1]):
                    distance += (points[row, column] - centres[cluster, column]) ** 2
                if distance < least:
                    nearest, least, second = cluster, distance, least
                elif distance < second:
                    second = distance
            moved += 1 if clusters[row] != nearest else 0
            clusters[row], upper[row], lower[row] = nearest, np.sqrt(least), np.sqrt(second)
        sizes[clusters[row]] += 1
        for column in range(points.shape[1]):
            sums[clusters[row], column] += points[row, column]
    return moved


def _half_gaps(centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half of each centre's distance from the nearest other one."""
    squares = ((centres[:, None] - centres[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    gaps: NDArray[np.float64] = np.sqrt(squares.min(axis=1)) / 2
    return gaps


def _spread_seeds(points: NDArray[np.float64], k: int, keys: Keys) -> NDArray[np.float64]:
    """Choose centres among the rows, each with a chance that grows with its squared distance from those before."""
    draws = (keys(k) >> np.uint64(11)).astype(float) / 2.0**53
    chosen = [int(draws[0] * len(points))]
    nearest = np.full(len(points), np.inf)
    for draw in draws[1:]:
        nearest = np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        mass = np.cumsum(nearest)
        row = int(np.searchsorted(mass, draw * mass[-1], side="right"))
        chosen.append(min(row, len(points) - 1))
    return points[chosen]


def _best_match(shared: NDArray[np.int64]) -> int:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(shared, maximize=True)
    return int(shared[rows, columns].sum())
