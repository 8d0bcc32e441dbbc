"""What a partition over distinct values is: how many rows of which value go to which group.

Rows with equal sensitive values are interchangeable for every criterion here, so a partition of a billion rows is a
short list of pieces. Which of the tied rows go where is decided later, at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pieces", "from_memberships"]


@dataclass(frozen=True, eq=False)
class Pieces:
    """Group `groups[p]` takes `counts[p]` rows of distinct value `values[p]`; sorted by (value, group).

    Groups are numbered 0..G-1 in no secret order: a form relabels them before anything is published.
    """

    values: NDArray[np.int32]
    groups: NDArray[np.int32]
    counts: NDArray[np.int64]

    @cached_property
    def num_groups(self) -> int:
        """The number of groups."""
        return int(self.groups.max()) + 1

    def distinct(self) -> NDArray[np.int64]:
        """The number of distinct values of each group."""
        return np.bincount(self.groups, minlength=self.num_groups)

    def lowest(self) -> NDArray[np.int32]:
        """The rank of the least value of each group."""
        first = np.empty(self.num_groups, np.int32)
        first[self.groups[::-1]] = self.values[::-1]  # values ascend, and the last assignment stays
        return first

    def highest(self) -> NDArray[np.int32]:
        """The rank of the greatest value of each group."""
        last = np.empty(self.num_groups, np.int32)
        last[self.groups] = self.values
        return last

    def rows(self) -> NDArray[np.int64]:
        """The number of rows of each group."""
        return np.bincount(self.groups, self.counts, minlength=self.num_groups).astype(np.int64)


def from_memberships(values: NDArray[np.int64], groups: NDArray[np.int64], counts: NDArray[np.int64]) -> Pieces:
    """Divide each value's rows evenly over its groups; memberships come sorted by (value, group), at most one a pair.

    An even split keeps a heavily tied value from filling one of its groups while it only shows up in the other.
    """
    sharing = np.bincount(values, minlength=len(counts))
    rank = np.arange(len(values)) - (np.cumsum(sharing) - sharing)[values]
    share, rest = counts[values] // sharing[values], counts[values] % sharing[values]
    return Pieces(values.astype(np.int32), groups.astype(np.int32), share + (rank < rest))
