"""Groups for one more release of a changing table: everybody who was published before keeps their signature.

Source     [Xiao 2007], section 5: division, balancing, assignment, split
Guarantee  m-unique groups; everybody with a signature is in a group that publishes exactly its values. A first release
           is feasible exactly when m times the most frequent value is at most the rows; a later one always, since
           counterfeits may be added, unless a value that was never published would have to hide among them
Cost       O(n) time after drawing one key per published value; with `near` also a sort of the rows
Deviates   newcomers are dealt in the order of their values (`round_robin`), which gives few signatures and so large
           buckets. Unless `near`, gaps of a bucket are filled by counterfeits alone: the paper fills them with
           newcomers where it can, and an attacker who knows that learns from a counterfeit which values no newcomer
           had. Newcomers who are not m-eligible form one bucket in which all values are equally frequent; the paper
           leaves that open

A bucket holds everybody of one signature. It has as many groups as its most frequent value has people; each group takes
one person of each value, or a counterfeit if none is left. People are assigned at random, or similar people together.

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

from hedgerow.arrays import Bools, Codes, Ints
from hedgerow.criteria.m_invariance import MInvariance
from hedgerow.errors import Infeasible, counted
from hedgerow.partition.shuffles import by_code, deal, permutation, shuffle_within
from hedgerow.randomness import Keys, system_keys


@dataclass(frozen=True, eq=False)
class InvariantGroups:
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
) -> InvariantGroups:
    """Put rows into groups; `known` is the signature of each row's person, -1 for newcomers.

    `signatures` are those of earlier releases. `near` numbers the rows so that near rows have near numbers.
    """
    is_held = known >= 0
    cells = signatures.cells(known[is_held], sensitive[is_held])
    held = np.bincount(cells[cells >= 0], minlength=len(signatures.members))
    check_survivors(int((cells < 0).sum()), held, signatures, m)
    offered = np.bincount(sensitive[~is_held])
    buckets = fill_buckets(held, offered, signatures, m=m, fills_gaps=near is not None, keys=keys)
    return split_buckets(sensitive, known, buckets, near=near, keys=keys)


def check_survivors(strange: int, held: Ints, signatures: Signatures, m: int) -> None:
    """Refuse people whose value is `strange` to their signature, and signatures of fewer than m values in use."""
    if strange:
        raise Infeasible(
            f"{counted(strange, 'person now has', 'people now have')} a sensitive value outside "
            f"the signature of their earlier releases, so that "
            "no group can show both; suppress these rows, or publish the value that was published."
        )
    sizes = np.diff(signatures.offsets)[signatures.owners[held > 0]]
    smallest = min([m, *sizes.tolist()])
    if smallest < m:
        raise Infeasible(f"Earlier releases gave people signatures of {smallest} values; so m can be at most that.")


@dataclass(frozen=True, eq=False)
class Buckets:
    """How many people have each signature, of each of its values: those who `held` it before, and `new` ones.

    Signature s has `groups[s]` groups. Where a bucket is split over several blocks of rows, its groups are, too.
    """

    signatures: Signatures
    held: Ints
    new: Ints
    groups: Ints

    @property
    def gaps(self) -> Ints:
        """The counterfeits of each value of each signature."""
        gaps: Ints = self.groups[self.signatures.owners] - self.held - self.new
        return gaps


def fill_buckets(
    held: Ints, offered: Ints, signatures: Signatures, *, m: int, fills_gaps: bool = False, keys: Keys = system_keys
) -> Buckets:
    """Decide on counts alone how many newcomers get which signature.

    `held` are the people who have each value of each signature already, `offered` the newcomers who have each value.
    """
    criterion = MInvariance(m)
    filled = np.zeros_like(held)
    if fills_gaps and held.any() and offered.any():
        filled = _fill_gaps(held, offered, signatures, criterion.m, keys)
    left = np.zeros(max(len(offered), int(signatures.members.max(initial=-1)) + 1), np.int64)
    left[: len(offered)] = offered
    np.subtract.at(left, signatures.members, filled)
    grown, numbers, widths = signatures, np.empty(0, np.int32), np.empty(0, np.int64)
    is_dealt = criterion.is_eligible(left)
    if left.any():
        found, widths = _deal_in_turn(left, int(left.sum()) // criterion.m) if is_dealt else (
            [_pad(left, signatures, criterion, keys)],
            widths,
        )  # fmt: skip
        grown, numbers = signatures.with_new(found)
    new = np.zeros(len(grown.members), np.int64)
    new[: len(filled)] = filled
    if is_dealt:
        # Of each value that a signature has, every group takes one newcomer.
        share = np.zeros(len(grown.offsets) - 1, np.int64)
        np.add.at(share, numbers, widths)
        new += share[grown.owners]
    else:
        own = slice(int(grown.offsets[numbers[0]]), int(grown.offsets[numbers[0] + 1]))
        new[own] += np.append(left, np.zeros(1, np.int64))[np.minimum(grown.members[own], len(left))]
    kept = np.zeros(len(grown.members), np.int64)
    kept[: len(held)] = held
    groups = np.maximum.reduceat(kept + new, grown.offsets[:-1])
    return Buckets(grown, kept, new, groups)


def split_buckets(
    sensitive: Codes,
    known: Codes,
    buckets: Buckets,
    *,
    near: NDArray[np.uint64] | None = None,
    keys: Keys = system_keys,
) -> InvariantGroups:
    """Give newcomers their signatures, fill every bucket with counterfeits, and deal it to its groups."""
    signatures = buckets.signatures
    owners = known.copy()
    new = np.flatnonzero(known < 0)
    if len(new):
        by = np.argsort(signatures.members, kind="stable")
        rows, ends = deal(
            sensitive[new], signatures.members[by], signatures.owners[by].astype(np.int32), buckets.new[by], keys=keys
        )
        owners[new[rows]] = np.repeat(np.arange(len(ends) - 1, dtype=np.int32), np.diff(ends))
    cells = signatures.cells(owners, sensitive)
    counts = np.bincount(cells, minlength=len(signatures.members))
    groups = buckets.groups
    sizes = groups[signatures.owners]
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
    number = (np.repeat(firsts[signatures.owners], sizes) + place).astype(np.int32)
    labels = np.empty(len(sensitive), np.int32)
    real = slots >= 0
    labels[slots[real]] = number[real]
    fakes = np.repeat(signatures.members, sizes)[~real]
    return InvariantGroups(labels, owners, signatures, number[~real], fakes)


@dataclass(frozen=True, eq=False)
class Signatures:
    """Signature s is the set of values `members[offsets[s]:offsets[s + 1]]`, ascending."""

    offsets: Ints
    members: Codes

    @staticmethod
    def none() -> Signatures:
        """No signatures yet."""
        return Signatures(np.zeros(1, np.int64), np.empty(0, np.int32))

    @property
    def owners(self) -> Ints:
        """The signature that each of `members` belongs to."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def cells(self, owners: Codes, codes: Codes) -> Ints:
        """Where in `members` the value of each row stands in its signature; -1 where it does not."""
        width = 1 + max(int(codes.max(initial=0)), int(self.members.max(initial=0)))
        listed = self.owners * width + self.members
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


def _fill_gaps(held: Ints, offered: Ints, signatures: Signatures, m: int, keys: Keys) -> Ints:
    """How many newcomers fill the gaps of buckets that lack their value, as long as the rest is m-eligible."""
    members = signatures.members
    lacking = np.maximum.reduceat(held, signatures.offsets[:-1])[signatures.owners] - held
    wanted = np.bincount(members, lacking, minlength=len(offered)).astype(np.int64)
    offered = np.append(offered, np.zeros(len(wanted) - len(offered), np.int64))
    taken = _count_taken(offered, np.minimum(offered, wanted), m)
    gaps = np.repeat(np.arange(len(lacking)), lacking)
    gaps = gaps[permutation(len(gaps), keys=keys)]
    gaps = gaps[np.argsort(members[gaps], kind="stable")]
    return np.bincount(gaps[_firsts(wanted, taken)], minlength=len(members)).astype(np.int64)


def _firsts(counts: Ints, taken: Ints) -> Bools:
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


def _deal_in_turn(counts: Ints, groups: int) -> tuple[list[tuple[int, ...]], Ints]:
    """Deal newcomers in turn, in the order of values, to so many groups; the signatures, and how many groups have each.

    Neighbouring groups differ only where a value ends, so there are few signatures.
    """
    ends = np.cumsum(counts)
    total = int(ends[-1])
    # Behind the last border groups have one value less.
    starts = np.unique(np.append((ends - counts)[counts > 0], [0, total]) % groups)
    found = [
        tuple(np.searchsorted(ends, np.arange(start, total, groups), side="right").tolist())
        for start in starts.tolist()
    ]
    return found, np.diff(np.append(starts, groups))


def _pad(counts: Ints, signatures: Signatures, criterion: MInvariance, keys: Keys) -> tuple[int, ...]:
    """One signature for newcomers who are not m-eligible: their values, and others up to m, in which all are alike."""
    own, published = np.flatnonzero(counts), np.unique(signatures.members)
    if not len(published):
        raise Infeasible(criterion.nearest(counts))
    if strange := len(np.setdiff1d(own, published)):
        raise Infeasible(
            f"{int(counts.sum()):,} newcomers need counterfeits, since one value fills more than 1/{criterion.m} of "
            f"them, and {strange} of their values were never published: everybody would see that these are no "
            "counterfeits. Publish these rows later, when there are more people."
        )
    others = np.setdiff1d(published, own)
    drawn = others[permutation(len(others), keys=keys)][: max(criterion.m - len(own), 0)]
    return tuple(np.sort(np.concatenate((own, drawn))).tolist())
