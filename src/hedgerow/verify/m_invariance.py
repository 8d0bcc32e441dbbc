"""Check m-invariance as far as the published bytes tell: m-uniqueness.

Source     [Xiao 2007]
Guarantee  `check_m_invariance` passes exactly the releases whose every group publishes at least m values, all
           different, for at least one and at most as many rows, with as many counterfeits as declared
Cost       O(n log n)

Who was published before, and under which signature, is known to the owner alone, and checked before a release leaves.
"""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.errors import BrokenPromise
from hedgerow.verify.frequency import value_codes
from hedgerow.verify.ke import group_starts
from hedgerow.verify.values import PublishedRelease

__all__ = ["check_m_invariance"]


def check_m_invariance(release: PublishedRelease) -> str:
    """Every group publishes at least m values, each once, and no more rows than values."""
    if release.guarantee.columns != release.columns.sensitive or len(release.columns.sensitive) != 1:
        raise BrokenPromise("m-invariance speaks of one sensitive column.")
    m = int(release.guarantee.parameters["m"])
    people, values = release.tables["quasi"], release.tables["sensitive"]
    column = values.column(release.columns.sensitive[0])
    rows, sizes = (np.diff(np.append(group_starts(t, release), t.num_rows)) for t in (people, values))
    if column.null_count or (sizes < rows).any():
        raise BrokenPromise("A group has a missing value, or fewer values than rows.")
    if broken := _count_broken(np.repeat(np.arange(len(sizes)), sizes), value_codes(column), sizes, m):
        raise BrokenPromise(f"{broken} group(s) publish fewer than {m} values, or one of them twice.")
    counterfeits = int(sizes.sum() - rows.sum())
    if counterfeits != release.guarantee.parameters["counterfeits"]:
        raise BrokenPromise("The number of counterfeits is not the one that the release declares.")
    return (
        f"each of {len(sizes):,} groups publishes {sizes.min():,} to {sizes.max():,} different values, "
        f"{counterfeits:,} of them counterfeit; that everybody kept the signature of earlier releases was checked by "
        "the owner"
    )


def _count_broken(groups: Ints, codes: Ints, sizes: Ints, m: int) -> int:
    """Count the groups that publish fewer than m values, or one of them twice."""
    width = int(codes.max(initial=0)) + 1
    pairs = np.sort(groups * width + codes)
    is_broken = sizes < m
    is_broken[pairs[1:][pairs[1:] == pairs[:-1]] // width] = True
    return int(is_broken.sum())
