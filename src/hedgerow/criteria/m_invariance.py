"""m-invariance: in all releases of a changing table a person's group has the same m or more values.

Source     [Xiao 2007]
Guarantee  every group publishes at least m values, all different (m-uniqueness), and a person in several releases is
           in groups with the same set of values, the signature, in each of them. Permuting the values of a signature in
           an assignment that is consistent with all releases gives another consistent one, so each of its values is
           equally likely for everybody who has the signature: at most 1/m
Cost       O(p log p) on p (group, value) pairs
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.parameters import read_whole, what_works


@dataclass(frozen=True)
class MInvariance:
    """At least `m` values to a signature."""

    m: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", read_whole("m", self.m, least=2, why="A signature of one value reveals it."))

    def is_eligible(self, counts: Ints) -> bool:
        """Return whether rows with this many of each value can be put into m-unique groups, with nothing added."""
        return self.m * int(counts.max(initial=0)) <= int(counts.sum())

    def nearest(self, counts: Ints) -> str:
        """Describe what the column could satisfy instead."""
        largest = int(counts.sum()) // max(int(counts.max(initial=0)), 1)
        return (
            f"{self.m}-invariance needs every value in at most 1/{self.m} of the rows of a first release; "
            f"{what_works('m', largest)}."
        )

    def count_broken(self, groups: Ints, codes: Ints) -> int:
        """Count the groups that publish fewer than m values, or one of them twice."""
        sizes = np.bincount(groups)
        pairs = np.sort(groups * (int(codes.max(initial=0)) + 1) + codes)
        twice = np.zeros(len(sizes), np.bool_)
        twice[pairs[1:][pairs[1:] == pairs[:-1]] // (int(codes.max(initial=0)) + 1)] = True
        return int((twice | (sizes < self.m)).sum())


def count_broken_signatures(
    rows: Ints, known: Ints, groups: Ints, codes: Ints, offsets: Ints, members: NDArray[np.int32]
) -> int:
    """Count the people whose group does not publish exactly their signature.

    Person i is in group `rows[i]` and has signature `known[i]`, which is `members[offsets[s]:offsets[s + 1]]`, or none
    yet, -1. Group `groups[j]` publishes the value `codes[j]`.
    """
    shown, starts = _sorted_runs(groups, codes, len(np.bincount(groups)))
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    listed, firsts = _sorted_runs(owners, members.astype(np.int64), len(offsets) - 1)
    held = known >= 0
    pairs, people = np.unique(rows[held] * len(offsets) + known[held], return_counts=True)
    group, signature = np.divmod(pairs, len(offsets))
    sizes = np.diff(starts)[group]
    is_wrong = sizes != np.diff(firsts)[signature]
    alike = np.flatnonzero(~is_wrong)
    owner = np.repeat(alike, sizes[alike])
    inside = np.arange(len(owner)) - np.repeat(np.cumsum(sizes[alike]) - sizes[alike], sizes[alike])
    differs = shown[starts[group[owner]] + inside] != listed[firsts[signature[owner]] + inside]
    is_wrong[owner[differs]] = True
    return int(people[is_wrong].sum())


def _sorted_runs(owners: Ints, codes: Ints, number: int) -> tuple[Ints, Ints]:
    """The codes of each owner in ascending order, and where each owner's begin and end."""
    return codes[np.lexsort((codes, owners))], np.append(0, np.cumsum(np.bincount(owners, minlength=number)))
