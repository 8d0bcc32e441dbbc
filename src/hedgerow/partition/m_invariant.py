"""Groups for one more release of a changing table: whoever was published before keeps the signature.

Source     Xiao and Tao, m-invariance, 2007, section 5: division, balancing, assignment, split
Guarantee  m-unique groups; everybody with a signature is in a group that publishes exactly its values. A first release
           is feasible exactly when m times the most frequent value is at most the rows; a later one always, since
           counterfeits may be added, unless a value that was never published would have to hide among them
Cost       O(n) time after drawing one key per published value; with `near` also a sort of the rows
Deviates   newcomers are dealt in the order of their values (`round_robin`), which gives few signatures and so large
           buckets. Unless `near`, gaps of a bucket are filled by counterfeits alone: the paper fills them with
           newcomers where it can, and whoever knows that learns from a counterfeit which values no newcomer had.
           Newcomers who are not m-eligible form one bucket in which all values are alike; the paper leaves that open

A bucket holds everybody of one signature. It has as many groups as its most frequent value has people; each group takes
one person of each value, or a counterfeit where there is none left. Which, is a fair shuffle, or near each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Codes
from hedgerow.criteria.m_invariance import MInvariance
from hedgerow.errors import Infeasible
from hedgerow.partition.newcomers import Signatures, assigned, balancing
from hedgerow.partition.shuffles import by_code, shuffle_within
from hedgerow.randomness import Keys, system_keys

__all__ = ["Invariant", "Signatures", "m_invariant"]


@dataclass(frozen=True, eq=False)
class Invariant:
    """The group and the signature of each row, all signatures, and which groups get which counterfeits."""

    labels: Codes
    owners: Codes
    signatures: Signatures
    fake_groups: Codes
    fake_codes: Codes


def m_invariant(
    sensitive: Codes,
    known: Codes,
    signatures: Signatures,
    *,
    m: int,
    near: NDArray[np.uint64] | None = None,
    keys: Keys = system_keys,
) -> Invariant:
    """Put rows into groups; `known` is the signature of each row's person, -1 for newcomers.

    `signatures` are those of earlier releases. `near` numbers the rows so that near rows have near numbers.
    """
    criterion = MInvariance(m)
    _check_survivors(sensitive, known, signatures, criterion)
    owners = known.copy()
    if near is not None:
        balancing(sensitive, owners, signatures, criterion.m, keys=keys)
    owners, signatures = assigned(sensitive, owners, signatures, criterion, keys=keys)
    return _split(sensitive, owners, signatures, near, keys)


def _check_survivors(sensitive: Codes, known: Codes, signatures: Signatures, criterion: MInvariance) -> None:
    held = known >= 0
    if strange := int((signatures.cells(known[held], sensitive[held]) < 0).sum()):
        raise Infeasible(
            f"{strange:,} people now have a sensitive value outside the signature of their earlier releases, so that "
            "no group can show both; hold these rows back, or publish the value that was published."
        )
    sizes = np.diff(signatures.offsets)[known[held]]
    smallest = int(sizes.min()) if len(sizes) else criterion.m
    if smallest < criterion.m:
        raise Infeasible(f"Earlier releases gave people signatures of {smallest} values; so m can be at most that.")


def _split(
    sensitive: Codes, owners: Codes, signatures: Signatures, near: NDArray[np.uint64] | None, keys: Keys
) -> Invariant:
    """Fill every bucket up to its most frequent value, and deal it to as many groups."""
    cells = signatures.cells(owners, sensitive)
    counts = np.bincount(cells, minlength=len(signatures.members))
    groups = np.maximum.reduceat(counts, signatures.offsets[:-1])
    sizes = np.repeat(groups, np.diff(signatures.offsets))
    ends = np.append(0, np.cumsum(sizes))
    slots = np.full(ends[-1], -1, np.int32)
    rows = by_code(cells.astype(np.int32), counts)
    starts = np.repeat(ends[:-1], counts)
    slots[starts + np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)] = rows
    shuffle_within(slots, ends, keys=keys)
    if near is not None:
        # Gaps stay where the shuffle put them; people take the other places in the order of nearness.
        slots[slots >= 0] = np.lexsort((near, cells)).astype(np.int32)
    place = np.arange(len(slots)) - np.repeat(ends[:-1], sizes)
    firsts = np.cumsum(groups) - groups
    number = (np.repeat(np.repeat(firsts, np.diff(signatures.offsets)), sizes) + place).astype(np.int32)
    labels = np.empty(len(sensitive), np.int32)
    real = slots >= 0
    labels[slots[real]] = number[real]
    fakes = np.repeat(signatures.members, sizes)[~real]
    return Invariant(labels, owners, signatures, number[~real], fakes)
