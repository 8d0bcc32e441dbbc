"""Groups for one more release of a changing table: whoever was published before keeps the signature.

Source     [Xiao 2007], section 5: division, balancing, assignment, split
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

Signatures for people who are published for the first time.

Source     [Xiao 2007], section 5: balancing and assignment
Guarantee  every newcomer gets a signature of at least m values, the own among them; without counterfeits where no value
           fills more than 1/m of the newcomers
Cost       O(n), and a step in Python for each signature, of which there are at most as many as distinct values, and m
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Codes, Ints
from hedgerow.criteria.m_invariance import MInvariance
from hedgerow.errors import Infeasible, counted
from hedgerow.partition.shuffles import by_code, by_value, permutation, shuffle_within
from hedgerow.randomness import Keys, system_keys

__all__ = ["Invariant", "Signatures", "assign_signatures", "balancing", "m_invariant"]


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
    owners, signatures = assign_signatures(sensitive, owners, signatures, criterion, keys=keys)
    return _split(sensitive, owners, signatures, near, keys)


def _check_survivors(sensitive: Codes, known: Codes, signatures: Signatures, criterion: MInvariance) -> None:
    held = known >= 0
    if strange := int((signatures.cells(known[held], sensitive[held]) < 0).sum()):
        raise Infeasible(
            f"{counted(strange, 'person now has', 'people now have')} a sensitive value outside "
            f"the signature of their earlier releases, so that "
            "no group can show both; suppress these rows, or publish the value that was published."
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


@dataclass(frozen=True, eq=False)
class Signatures:
    """Signature s is the set of values `members[offsets[s]:offsets[s + 1]]`, ascending."""

    offsets: Ints
    members: Codes

    @staticmethod
    def none() -> Signatures:
        """No signatures yet."""
        return Signatures(np.zeros(1, np.int64), np.empty(0, np.int32))

    def cells(self, owners: Codes, codes: Codes) -> Ints:
        """Where in `members` the value of each row stands in its signature; -1 where it does not."""
        width = 1 + max(int(codes.max(initial=0)), int(self.members.max(initial=0)))
        listed = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets)) * width + self.members
        wanted = owners.astype(np.int64) * width + codes
        if not len(listed):
            return np.full(len(wanted), -1)
        places = np.minimum(np.searchsorted(listed, wanted), len(listed) - 1)
        return np.where(listed[places] == wanted, places, -1)

    def with_new(self, found: list[tuple[int, ...]]) -> tuple[Signatures, Codes]:
        """Add signatures, each once; return all of them and the number of each that was found."""
        texts = np.split(self.members, self.offsets[1:-1]) if len(self.offsets) > 1 else []
        numbers = {tuple(text.tolist()): number for number, text in enumerate(texts)}
        places = np.array([numbers.setdefault(one, len(numbers)) for one in found], np.int32)
        new = list(numbers)[len(texts) :]
        members = np.concatenate((self.members, np.array([code for one in new for code in one], np.int32)))
        offsets = np.concatenate(
            (self.offsets, self.offsets[-1] + np.cumsum([len(one) for one in new], dtype=np.int64))
        )
        return Signatures(offsets, members.astype(np.int32)), places


def balancing(sensitive: Codes, owners: Codes, signatures: Signatures, m: int, *, keys: Keys = system_keys) -> None:
    """Give newcomers, in place, the signatures of buckets that lack their value, as long as the rest is m-eligible."""
    held, new = np.flatnonzero(owners >= 0), np.flatnonzero(owners < 0)
    if not len(held) or not len(new):
        return
    counts = np.bincount(signatures.cells(owners[held], sensitive[held]), minlength=len(signatures.members))
    most = np.maximum.reduceat(counts, signatures.offsets[:-1])
    lacking = np.repeat(most, np.diff(signatures.offsets)) - counts
    offered = np.bincount(sensitive[new], minlength=int(signatures.members.max()) + 1)
    wanted = np.bincount(signatures.members, lacking, minlength=len(offered)).astype(np.int64)
    taken = _count_taken(offered, np.minimum(offered, wanted), m)
    rows = new[by_value(sensitive[new], offered, keys=keys)]
    gaps = np.repeat(np.arange(len(lacking)), lacking)
    gaps = gaps[permutation(len(gaps), keys=keys)]
    gaps = gaps[np.argsort(signatures.members[gaps], kind="stable")]
    chosen, filled = _firsts(offered, taken), _firsts(wanted, taken)
    owner_of = np.repeat(np.arange(len(signatures.offsets) - 1, dtype=np.int32), np.diff(signatures.offsets))
    owners[rows[chosen]] = owner_of[gaps[filled]]


def _firsts(counts: Ints, taken: Ints) -> NDArray[np.bool_]:
    """Mark the first `taken` of each run of `counts`."""
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return places < np.repeat(taken, counts)


def _count_taken(offered: Ints, most: Ints, m: int) -> Ints:
    """How many newcomers of each value fill gaps: as many as leave the others m-eligible; all, where nothing does.

    If r newcomers are left, no value may have more than r/m of them. So each value gives at least what it has above,
    and the least r is taken for which values can give that, and give enough.
    """
    total = int(offered.sum())
    left = np.arange(total - int(most.sum()), total + 1)
    caps = left // m
    above = np.append(0, np.cumsum(np.bincount(offered, minlength=total + 1)[::-1]))[::-1][1:]
    excess = np.append(np.cumsum(above[::-1])[::-1], 0)[: total + 1]
    possible = (caps >= int((offered - most).max())) & (excess[caps] <= total - left)
    if not possible.any():
        return most
    first = int(np.flatnonzero(possible)[0])
    least = np.maximum(offered - int(caps[first]), 0)
    spare = most - least
    more = total - int(left[first]) - int(least.sum())
    taken: Ints = least + np.clip(more - (np.cumsum(spare) - spare), 0, spare)
    return taken


def assign_signatures(
    sensitive: Codes, owners: Codes, signatures: Signatures, criterion: MInvariance, *, keys: Keys = system_keys
) -> tuple[Codes, Signatures]:
    """Give signatures to everybody who has none."""
    new = np.flatnonzero(owners < 0)
    if not len(new):
        return owners, signatures
    counts = np.bincount(sensitive[new])
    if criterion.is_eligible(counts):
        order = new[by_value(sensitive[new], counts, keys=keys)]
        found, place = _deal(sensitive[order], len(new) // criterion.m)
    else:
        order, place = new, np.zeros(len(new), np.int64)
        found = [_pad(counts, signatures, criterion, keys)]
    signatures, numbers = signatures.with_new(found)
    whole = owners.copy()
    whole[order] = numbers[place]
    return whole, signatures


def _deal(ascending: Codes, groups: int) -> tuple[list[tuple[int, ...]], Ints]:
    """Deal ascending values in turn to so many groups; return the distinct signatures and that of each value.

    Neighbouring groups differ only where a value ends, so there are few signatures.
    """
    turn = np.arange(len(ascending)) % groups
    changes = np.zeros(groups, np.bool_)
    changes[turn[1:][ascending[1:] != ascending[:-1]]] = True
    changes[len(ascending) % groups] = True  # from here on groups have one value less
    changes[0] = True
    starts = np.flatnonzero(changes)
    found = [tuple(ascending[start::groups].tolist()) for start in starts.tolist()]
    return found, (np.cumsum(changes) - 1)[turn]


def _pad(counts: Ints, signatures: Signatures, criterion: MInvariance, keys: Keys) -> tuple[int, ...]:
    """One signature for newcomers who are not m-eligible: their values, and others up to m, in which all are alike."""
    own, published = np.flatnonzero(counts), np.unique(signatures.members)
    if not len(published):
        raise Infeasible(criterion.nearest(counts))
    if strange := len(np.setdiff1d(own, published)):
        raise Infeasible(
            f"{int(counts.sum()):,} newcomers need counterfeits, since one value fills more than 1/{criterion.m} of "
            f"them, and {strange} of their values were never published: everybody would see that these are no "
            "counterfeits. Hold these rows back until more people come."
        )
    others = np.setdiff1d(published, own)
    drawn = others[permutation(len(others), keys=keys)][: max(criterion.m - len(own), 0)]
    return tuple(np.sort(np.concatenate((own, drawn))).tolist())
