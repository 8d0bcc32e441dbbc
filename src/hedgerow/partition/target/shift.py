"""Generalize values along a weighted tree, letting each branch's share differ from the target's by at most s.

Source     dissertation on permutation-based microdata protection, section 3.6
Guarantee  every group satisfies criteria.target with shift s; with s = 0 the result is that of least_range
Cost       O(nodes) per group; a node tries totals downwards from a bound that is tight up to rounding
Deviates   the printed rule sets the weights to observed ratios, which collapses everything to the root; here the
           numbers of values are chosen directly. Any fan-out: every child's share is within s. Branches of weight 0
           stay empty

Among equal totals the one closest to the target is taken: it tells least about the source.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.target import read_shift
from hedgerow.errors import ParameterError
from hedgerow.partition.target.least_range import least_range
from hedgerow.partition.target.trees import planted
from hedgerow.schema.hierarchy import Hierarchy

__all__ = ["shifted", "spread_out"]


def shifted(counts: NDArray[np.int64], tree: Hierarchy, *, shift: object) -> NDArray[np.int64]:
    """How many values are generalized to each node, from the counts in leaf order."""
    s = read_shift(shift)
    if s == 0:
        return least_range(counts, tree)
    forest = planted(tree)
    shape, weights = forest.shape, tree.weights or ()
    prefix = np.append(0, np.cumsum(counts))
    inside = (prefix[tree.high] - prefix[tree.low]).tolist()
    published = np.zeros(tree.num_nodes, np.int64)
    stack = [(tree.root, inside[tree.root])]
    while stack:
        node, values = stack.pop()
        children = shape.children[shape.first[node] : shape.first[node] + shape.fan[node]].tolist()
        parts = spread_out([inside[child] for child in children], [weights[child] for child in children], values, s)
        published[node] = values - sum(parts)
        stack += [(child, part) for child, part in zip(children, parts, strict=True) if part]
    return published


def spread_out(counts: list[int], weights: list[int], most: int, s: Fraction) -> list[int]:
    """The most values, `most` in all and `counts` in each part, whose shares are within `s` of the weights'."""
    if len(counts) != len(weights):
        raise ParameterError("'counts' and 'weights' must have the same length.")
    total = sum(weights)
    for values in range(_bound(counts, weights, total, most, s), 0, -1):
        limits = [_limits(count, weight, total, values, s) for count, weight in zip(counts, weights, strict=True)]
        least, greatest = sum(low for low, _ in limits), sum(high for _, high in limits)
        if all(low <= high for low, high in limits) and least <= values <= greatest:
            return _closest(weights, total, values, limits)
    return [0] * len(counts)


def _bound(counts: list[int], weights: list[int], total: int, most: int, s: Fraction) -> int:
    """A number of values that is never too small: what would be possible if values could be cut."""
    if total == 0:
        return 0
    reachable = sum(count for count, weight in zip(counts, weights, strict=True) if weight)
    bound = Fraction(min(most, reachable))
    shares = [(count, Fraction(weight, total)) for count, weight in zip(counts, weights, strict=True) if weight]
    for count, share in shares:
        if share > s:
            bound = min(bound, count / (share - s))
    # Counts that are scarce for their greatest share fix the total: the others must make up the difference.
    while (room := sum((min(Fraction(count), bound * (share + s)) for count, share in shares), Fraction(0))) < bound:
        bound = Fraction(int(room))
    return int(bound)


def _limits(count: int, weight: int, total: int, values: int, s: Fraction) -> tuple[int, int]:
    """The least and greatest number of `values` that a part may have."""
    if weight == 0:
        return 0, 0
    share = Fraction(weight, total)
    return max(0, -int(-(values * (share - s)) // 1)), min(count, int(values * (share + s) // 1))


def _closest(weights: list[int], total: int, values: int, limits: list[tuple[int, int]]) -> list[int]:
    """Whole parts within their limits that add up to `values`, as near to the weights' ratio as can be."""
    parts = [min(max(values * weight // total, low), high) for weight, (low, high) in zip(weights, limits, strict=True)]
    while (missing := values - sum(parts)) != 0:
        step = 1 if missing > 0 else -1
        free = [i for i, (low, high) in enumerate(limits) if low <= parts[i] + step <= high]
        chosen = max(free, key=lambda i: step * (values * weights[i] - parts[i] * total))
        low, high = limits[chosen]
        room = high - parts[chosen] if step > 0 else parts[chosen] - low
        # An even share of what is missing to the part that is furthest behind: a million values need few rounds.
        parts[chosen] += step * min(room, max(1, abs(missing) // len(free)))
    return parts
