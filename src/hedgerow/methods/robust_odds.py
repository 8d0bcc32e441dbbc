"""Whether a release is r-robust under a given knowledge, decided exactly.

Source     [Wong 2009], definition 1
Guarantee  passes exactly the releases in which p <= 1/r; where floats cannot decide it uses fractions, and where these
           take too long it refuses
Cost       O(n) and one pass of `inference.robust` per attribute set

The probabilities are not part of a release, so this runs before publication; everybody who has them can repeat it.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.errors import BrokenPromise, counted
from hedgerow.inference.full import at_most, full_by_group, relative_error
from hedgerow.inference.knowledge import Distribution, Knowledge
from hedgerow.inference.robust import GroupedRows, GroupsHolding, Model, Robustness, binary, groups_holding
from hedgerow.release import Release
from hedgerow.verify.robust import sensitive_values

_MOST_FRACTIONS = 20_000
"""Beyond this many states a doubt is not settled by fractions."""


def check_odds(release: Release, knowledge: Knowledge) -> str:
    """Nobody has a protected value with a probability above 1/r under this knowledge."""
    model: Model = "full" if release.guarantee.parameters["model"] == "full" else "binary"
    criterion = Robustness(release.guarantee.parameters["r"], model)
    member = protected_values(release, knowledge.values)
    return check_grouped(knowledge, grouped_of(release, knowledge), member, criterion)


def check_grouped(knowledge: Knowledge, grouped: GroupedRows, member: Bools, criterion: Robustness) -> str:
    """The same for rows that are sorted by group."""
    if broken := int(groups_above_limit(knowledge, grouped, member, criterion).sum()):
        raise BrokenPromise(
            f"In {counted(broken, 'group')} somebody has a protected value with more than {1 / criterion.r}."
        )
    return (
        f"nobody in {counted(len(grouped.offsets) - 1, 'group')} has a protected value with a "
        f"probability above {1 / criterion.r} "
        f"({criterion.model} model, {len(knowledge.distributions)} attribute sets)"
    )


def groups_above_limit(knowledge: Knowledge, grouped: GroupedRows, member: Bools, criterion: Robustness) -> Bools:
    """Return for each group whether somebody in it has a protected value with more than 1/r."""
    check = _check_binary if criterion.model == "binary" else _check_full
    return check(knowledge, grouped, member, criterion.r)


def grouped_of(release: Release, knowledge: Knowledge) -> GroupedRows:
    """The rows of a release, group after group, as the adversary sees them: signatures, and each group's values."""
    if release.form.has_boxes or release.form.columns_apart or release.form.has_subdomains:
        raise BrokenPromise("Probabilities are checked where quasi-identifiers are published as they are.")
    values, offsets = sensitive_values(release.published)
    people = release.tables["quasi" if "quasi" in release.tables else "release"]
    codes = knowledge.value_codes(values.dictionary)[values.indices.to_numpy()]
    return GroupedRows(knowledge.signatures(people.select(list(release.columns.quasi))), codes, offsets)


def protected_values(release: Release, values: pa.Array) -> Bools:
    """Which of the values belong to which protected set that the guarantee names."""
    sets = json.loads(str(release.guarantee.parameters["protect"]))
    if sets is None:
        return np.eye(len(values), dtype=bool)
    written = [str(value) for value in values.to_pylist()]
    return np.array([[value in named for value in written] for named in map(set, sets)])


def _check_binary(knowledge: Knowledge, grouped: GroupedRows, member: Bools, r: Fraction) -> Bools:
    """Return in which groups some p exceeds 1/r, x against not x: one protected set after the other where it occurs."""
    broken, calls = np.zeros(len(grouped.offsets) - 1, bool), len(knowledge.distributions) * len(member)
    for inside in member:
        held = groups_holding(grouped, inside)
        doubt, starts = _doubt(held.offsets), held.offsets[:-1]
        sizes, size = np.unique(np.diff(held.offsets), return_inverse=True)
        most = np.array([int(rows // r) for rows in sizes.tolist()])
        for known, signatures in zip(knowledge.distributions, grouped.signatures, strict=True):
            if len(held.groups):
                p = np.maximum.reduceat(binary(known, signatures, held, calls=calls), starts)
                here = signatures[held.rows]
                is_alike = np.minimum.reduceat(here, starts) == np.maximum.reduceat(here, starts)
                # People with one signature have x with c / N, in whole numbers; others by floats, in doubt exactly.
                broken[held.groups] |= np.where(is_alike, held.counts > most[size], p * float(r) > 1.0 + doubt)
                for g in np.flatnonzero(~is_alike & (np.abs(p * float(r) - 1.0) <= doubt)):
                    broken[held.groups[g]] |= not _odds_hold(known, signatures, held, g, r)
    return broken


def _odds_hold(
    known: Distribution, signatures: NDArray[np.int32], held: GroupsHolding, g: np.int64, r: Fraction
) -> bool:
    """Decide one group exactly, x against not x."""
    here = signatures[held.rows[held.offsets[g] : held.offsets[g + 1]]]
    yes, no = known.of(np.flatnonzero(held.inside))
    return at_most(yes[here].tolist(), no[here].tolist(), int(held.counts[g]), r)


def _check_full(knowledge: Knowledge, grouped: GroupedRows, member: Bools, r: Fraction) -> Bools:
    """Return in which groups some p exceeds 1/r, with the odds of all values known."""
    values, broken = grouped.values.astype(np.int32), np.zeros(len(grouped.offsets) - 1, bool)
    doubt = _doubt(grouped.offsets)[:, None]
    for known, signatures in zip(knowledge.distributions, grouped.signatures, strict=True):
        of_rows, too_large = full_by_group(known.f, signatures, values, grouped.offsets, member)
        ratio = np.maximum.reduceat(of_rows, grouped.offsets[:-1], axis=0) * float(r)
        broken |= too_large | (ratio > 1.0 + doubt).any(axis=1)
        for g in np.flatnonzero((np.abs(ratio - 1.0) <= doubt).any(axis=1)):
            rows = slice(grouped.offsets[g], grouped.offsets[g + 1])
            broken[g] |= not _fractions_hold(known, signatures[rows].tolist(), values[rows].tolist(), member, r)
    return broken


def _doubt(offsets: Ints) -> Floats:
    """How near to 1 the ratio of p to 1/r must be in each group for floats not to decide."""
    return np.asarray(relative_error(4 * np.diff(offsets)) + 1e-14)


def _fractions_hold(known: Distribution, signatures: list[int], values: list[int], member: Bools, r: Fraction) -> bool:
    """Decide one group by adding up possible worlds in fractions, values dealt to one row after the other."""
    counts = Counter(values)
    if len(set(signatures)) == 1:
        return all(r * sum(counts[int(y)] for y in np.flatnonzero(row)) <= len(values) for row in member)
    if np.prod([count + 1.0 for count in counts.values()]) > _MOST_FRACTIONS:
        return False
    kinds = sorted(counts)
    weights = [[int(known.weights[s, y]) for y in kinds] for s in signatures]
    whole = tuple(counts[y] for y in kinds)
    for u in set(range(len(values))):
        shares = _shares(weights[:u] + weights[u + 1 :], weights[u], whole)
        for row in member:
            inside = sum(share for share, y in zip(shares, kinds, strict=True) if row[y])
            if sum(shares) == 0 or r * inside > sum(shares):
                return False
    return True


def _shares(others: list[list[int]], own: list[int], whole: tuple[int, ...]) -> list[int]:
    """The weight of all worlds in which one row has each value."""
    used = {tuple(0 for _ in whole): 1}
    for row in others:
        following: Counter[tuple[int, ...]] = Counter()
        for state, weight in used.items():
            for y, limit in enumerate(whole):
                if state[y] < limit:
                    following[(*state[:y], state[y] + 1, *state[y + 1 :])] += weight * row[y]
        used = dict(following)
    left = [tuple(n - (y == x) for y, n in enumerate(whole)) for x in range(len(whole))]
    return [own[x] * used.get(left[x], 0) for x in range(len(whole))]
