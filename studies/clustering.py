"""Clustering error: the share of rows that k-means puts into another cluster than on the original.

Source     [Xue 2011], section 5.2; Lloyd's algorithm of SciPy, begun as in
           [Arthur 2007]
Cost       O(r i n k d) for r restarts of at most i rounds on n rows of d columns
Deviates   clusters are matched so that the error is least (the paper does not say how it matches them); columns are
           in units of the original's spread, else the widest column alone would decide
"""

from __future__ import annotations

import warnings

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.randomness import Keys, generator, system_keys

__all__ = ["centres_of", "clustering_error", "clusters_from", "k_means", "misplaced"]

_ROUNDS = 100


def clustering_error(
    original: Floats,
    published: Floats,
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


def misplaced(one: Ints, other: Ints) -> float:
    """The share of rows outside their cluster when clusters are matched as well as can be."""
    k = int(max(one.max(), other.max())) + 1
    shared = np.bincount(one * k + other, minlength=k * k).reshape(k, k)
    return 1.0 - _best_match(shared) / len(one)


def k_means(points: Floats, *, k: int, restarts: int = 3, keys: Keys = system_keys) -> Ints:
    """The cluster of each row in the tightest of several runs."""
    rng = generator(int(keys(1)[0]))
    runs = [_lloyd(points, k, rng) for _ in range(restarts)]
    return min(runs, key=lambda run: run[1])[0]


def centres_of(points: Floats, *, k: int, keys: Keys = system_keys) -> tuple[Floats, Ints]:
    """Centres at which Lloyd's rounds on the original end, and the clusters that they make when begun there again."""
    clusters = k_means(points, k=k, restarts=1, keys=keys)
    centres = np.array([points[clusters == n].mean(axis=0) for n in range(k) if (clusters == n).any()])
    return centres, clusters_from(points, centres)


def clusters_from(points: Floats, centres: Floats) -> Ints:
    """The clusters of k-means that begins at given centres: tables differ then, not the first draw."""
    return _lloyd(points, centres)[0]


def _lloyd(points: Floats, start: int | Floats, rng: np.random.Generator | None = None) -> tuple[Ints, float]:
    """Clusters and their sum of squared distances, from centres or from a number of centres that `rng` draws."""
    from scipy.cluster.vq import kmeans2

    with warnings.catch_warnings(category=UserWarning, action="ignore"):  # a cluster without rows keeps its centre
        begin = "++" if isinstance(start, int) else "matrix"
        centres, clusters = kmeans2(points, start, iter=_ROUNDS, minit=begin, rng=rng)
    return clusters.astype(np.int64), float(((points - centres[clusters]) ** 2).sum())


def _best_match(shared: Ints) -> int:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(shared, maximize=True)
    return int(shared[rows, columns].sum())
