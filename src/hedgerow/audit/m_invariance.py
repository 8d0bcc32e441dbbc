"""Check m-invariance: m-uniqueness from the published bytes, signatures by the owner before a release leaves.

Source     [Xiao 2007]
Guarantee  `check_m_invariance` passes exactly the releases whose every group publishes at least m values, all
           different, for at least one and at most as many rows, with as many counterfeits as declared.
           `check_signatures` passes exactly those in which everybody who was published before is in a group with
           exactly the same values
Cost       O(n log n)

Who was published before is known to the owner alone, so that the second check is not part of `verify`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.audit.frequency import value_codes
from hedgerow.audit.ke import group_starts
from hedgerow.criteria.m_invariance import MInvariance, count_broken_signatures
from hedgerow.errors import BrokenPromise
from hedgerow.release import Release

__all__ = ["check_m_invariance", "check_signatures"]


def check_m_invariance(release: Release) -> str:
    """Every group publishes at least m values, each once, and no more rows than values."""
    if release.guarantee.columns != release.columns.sensitive or len(release.columns.sensitive) != 1:
        raise BrokenPromise("m-invariance speaks of one sensitive column.")
    criterion = MInvariance(int(release.guarantee.parameters["m"]))
    people, values = release.tables["quasi"], release.tables["sensitive"]
    column = values.column(release.columns.sensitive[0])
    rows, sizes = (np.diff(np.append(group_starts(t, release), t.num_rows)) for t in (people, values))
    if column.null_count or (sizes < rows).any():
        raise BrokenPromise("A group has a missing value, or fewer values than rows.")
    if broken := criterion.count_broken(np.repeat(np.arange(len(sizes)), sizes), value_codes(column)):
        raise BrokenPromise(f"{broken} group(s) publish fewer than {criterion.m} values, or one of them twice.")
    counterfeits = int(sizes.sum() - rows.sum())
    if counterfeits != release.guarantee.parameters["counterfeits"]:
        raise BrokenPromise("The number of counterfeits is not the one that the release declares.")
    return (
        f"each of {len(sizes):,} groups publishes {sizes.min():,} to {sizes.max():,} different values, "
        f"{counterfeits:,} of them counterfeit; that everybody kept the signature of earlier releases was checked by "
        "the owner"
    )


def check_signatures(
    rows: Ints, known: Ints, groups: Ints, codes: Ints, offsets: Ints, members: NDArray[np.int32]
) -> None:
    """Everybody with a signature is in a group that publishes exactly it; see `count_broken_signatures`."""
    if broken := count_broken_signatures(rows, known, groups, codes, offsets, members):
        raise BrokenPromise(f"{broken} people would be in groups with other values than in earlier releases.")
