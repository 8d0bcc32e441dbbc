"""t-closeness: the sensitive values of a group are distributed nearly as in the whole column.

Source     [Li 2007]
Guarantee  the earth mover's distance between a group's shares and the column's is at most t. Equal: all values are one
           apart. Ordered: neighbours among m values are 1/(m-1) apart. Hierarchical: two values are as far apart as the
           level of the lowest node above both, over the height of the tree
Cost       O(p) on p (group, value) pairs for equal, O(p h) for a tree of height h, O(p log m) for ordered
Deviates   the hierarchical distance is computed as the mean over levels of the equal distance between nodes, which is
           the same number: two values that first meet at level j have different nodes at the j levels below
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Counts
from hedgerow.criteria.groupwise import Groups, Limits, group_sums, merge_values
from hedgerow.errors import ParameterError
from hedgerow.parameters import read_number
from hedgerow.schema.hierarchy import Hierarchy

DISTANCES = ("equal", "ordered", "hierarchical")

_SAFE = 2**62


@dataclass(frozen=True)
class TCloseness:
    """A distance of at most `t` to the whole column.

    For the hierarchical distance `levels` holds, for each level below the root, the node above each code.
    """

    t: Fraction
    distance: str = "equal"
    levels: tuple[NDArray[np.int32], ...] = field(default=(), compare=False, repr=False)

    monotone: ClassVar[bool] = True
    """The distance is convex: a mixture is no farther than the farthest of its parts."""

    absorbing: ClassVar[bool] = False

    relative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "t", read_number("t", self.t, least=0, most=1))
        if self.distance not in DISTANCES:
            raise ParameterError(f"'distance' must be one of {', '.join(DISTANCES)}.")
        if (self.distance == "hierarchical") != bool(self.levels):
            raise ParameterError("'levels' must be given with the hierarchical distance, and only with it.")

    def limits(self, overall: Counts) -> Limits:
        """No limits: distances are checked by `holds`."""
        return Limits.of(overall, whole=False)

    def holds(self, groups: Groups) -> NDArray[np.bool_]:
        """Return for each group whether it is close enough, by integers."""
        rows = int(groups.overall.sum())
        if self.distance == "ordered":
            steps = max(len(groups.overall) - 1, 1)
            return _at_most(_ordered_distances(groups), groups.sizes, self.t * steps * rows)
        levels = self.levels or (np.arange(len(groups.overall), dtype=np.int32),)
        moved = sum((_equal(merge_values(groups, level)) for level in levels), np.zeros(len(groups.sizes), np.int64))
        return _at_most(moved, groups.sizes, 2 * self.t * len(levels) * rows)

    def nearest(self, overall: Counts) -> str:
        """Describe what the column could satisfy instead: nothing is closer to a column than the column."""
        return "the column as one group has distance 0, so any t works."


def levels_of(
    hierarchy: Hierarchy, leaves: NDArray[np.int32], *, missing: bool = False
) -> tuple[NDArray[np.int32], ...]:
    """The node above each code at each level below the root; a missing value is a node of its own at every level."""
    own = np.full(int(missing), hierarchy.num_nodes, np.int32)
    below_root = range(max(hierarchy.height, 1))
    return tuple(np.append(hierarchy.recode(level)[leaves], own) for level in below_root)


def _equal(groups: Groups) -> Counts:
    """The sum over all values of |count * rows - overall * size|: twice the distance times rows times size."""
    rows = int(groups.overall.sum())
    expected = groups.overall[groups.values] * groups.sizes[groups.owners]
    # A value that the group lacks adds what was expected; so expect all, then correct for the values that are there.
    return rows * groups.sizes + group_sums(groups, np.abs(groups.counts * rows - expected) - expected)


def _ordered_distances(groups: Groups) -> NDArray[Any]:
    """The sum over all values of |cumulated count * rows - cumulated overall * size|."""
    rows, steps = int(groups.overall.sum()), len(groups.overall)
    kind = np.int64 if steps * rows * int(groups.sizes.max(initial=0)) < _SAFE else object
    upto = np.cumsum(groups.overall)
    sums = np.append(0, np.cumsum(upto.astype(kind)))
    counted = np.cumsum(groups.counts)
    inside = counted - (counted - groups.counts)[groups.starts][groups.owners]
    # Between two values of the group the cumulated count is constant, and the column's crosses it once.
    first = groups.values.astype(np.int64)
    last = np.append(first[1:], steps)
    last[groups.starts[1:] - 1] = steps
    size = groups.sizes[groups.owners]
    turn = np.clip(np.searchsorted(upto, inside * rows // size, side="right"), first, last)
    level, slope = inside.astype(kind) * rows, size.astype(kind)
    apart = level * (2 * turn - first - last) + slope * (sums[last] + sums[first] - 2 * sums[turn])
    before = groups.sizes.astype(kind) * sums[first[groups.starts]]
    moved: NDArray[Any] = np.add.reduceat(apart, groups.starts) + before
    return moved


def _at_most(moved: NDArray[Any], sizes: Counts, per_row: Fraction) -> NDArray[np.bool_]:
    """Return where `moved <= per_row * size`, with the right side rounded down per distinct size."""
    distinct, places = np.unique(sizes, return_inverse=True)
    bounds = [math.floor(per_row * int(size)) for size in distinct]
    kind = np.int64 if max(bounds, default=0) < 2 * _SAFE else object
    kept: NDArray[np.bool_] = (moved <= np.array(bounds, kind)[places]).astype(np.bool_)
    return kept
