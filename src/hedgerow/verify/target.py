"""Check that every group of a disguised release follows its target, exactly or within the declared shift.

Source     [Zhang 2008], definition 3.3.1 and section 3.6
Guarantee  passes exactly the releases whose groups are P-private (or within the shift) for the published trees
Cost       O(values log values) plus O(distinct subdomains per group * depth)

A group is P-private if and only if, below each node that it splits, the numbers of values per child are in the ratio of
the weights. Ratios of whole numbers are compared by cross-multiplication: that is how fractions are equal.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.errors import BrokenPromise
from hedgerow.verify.subdomains import Counts, Trees, check_subdomains, climb, counts_of, trees_of
from hedgerow.verify.values import PublishedRelease

__all__ = ["check_ratios", "check_target", "still_tells"]


def check_target(release: PublishedRelease) -> str:
    """Every group's subdomains mix to its target; the numbers of rows, values and fakes are as declared."""
    rows, values = check_subdomains(release)
    parameters = release.guarantee.parameters
    if values - rows != int(parameters["fakes"]):
        raise BrokenPromise("The number of fake values is not the one that the release declares.")
    counts, trees = counts_of(release), trees_of(release)
    shift = Fraction(parameters["shift"])
    check_ratios(counts, trees, _tops(counts, trees, release.groups), shift)
    if shift:
        _check_implied(release, counts, trees)
    followed = "exactly" if shift == 0 else f"with every branch's share within {parameters['shift']}"
    return (
        f"each of {release.groups:,} groups follows its target distribution {followed}; {values:,} values for {rows:,} "
        f"rows, {values - rows:,} of them fake; {still_tells(release)}"
    )


def check_ratios(counts: Counts, trees: Trees, tops: Ints, shift: Fraction = Fraction(0)) -> None:
    """Raise unless below every node that a group splits its values are in the ratio of the weights, up to `shift`."""
    needed = _needed(trees, shift)
    for group, child, number, siblings in climb(counts, trees, tops):
        weight, total = trees.weights[child], trees.totals[trees.parents[child]]
        if int(siblings.max()) * int(total.max()) * shift.denominator >= 2**62:
            number, weight, siblings, total = (a.astype(object) for a in (number, weight, siblings, total))
        gap = abs(number * total - siblings * weight)
        if (weight == 0).any() or (gap * shift.denominator > shift.numerator * siblings * total).any():
            raise BrokenPromise("A group's values do not follow their target distribution.")
        _require_siblings(group, child, trees, needed)


def _check_implied(release: PublishedRelease, counts: Counts, trees: Trees) -> None:
    """The table of implied weights lists exactly the branches that groups divide, with their numbers."""
    if "implied" not in release.tables:
        raise BrokenPromise("A release within a shift must publish the weights that its groups follow.")
    levels = climb(counts, trees, _tops(counts, trees, release.groups))
    wanted = (
        np.array([np.concatenate([level[i] for level in levels]) for i in range(3)]) if levels else np.empty((3, 0))
    )
    wanted = wanted[:, np.lexsort((wanted[1], wanted[0]))]
    if any(column.null_count for column in release.tables["implied"].columns):
        raise BrokenPromise("The table 'implied' has gaps.")
    found = [release.tables["implied"].column(name).to_numpy() for name in ("group", "node", "weight")]
    if not np.array_equal(np.array(found), wanted):
        raise BrokenPromise("The table 'implied' does not follow from the published subdomains.")


def _needed(trees: Trees, shift: Fraction) -> NDArray[np.bool_]:
    """Children whose share under the target is more than the shift: a group that splits their parent must have them."""
    below = trees.parents >= 0
    weights, totals = trees.weights.astype(object), trees.totals[trees.parents].astype(object)
    needed: NDArray[np.bool_] = below & (weights * shift.denominator > shift.numerator * totals)
    return needed


def _require_siblings(group: Ints, child: Ints, trees: Trees, needed: NDArray[np.bool_]) -> None:
    """A child that has none of a group's values has a share of zero, which must be within the shift as well."""
    below = trees.parents >= 0
    wanted = np.bincount(trees.parents[below], needed[below], minlength=len(needed))
    pairs, owner = np.unique(group * len(needed) + trees.parents[child], return_inverse=True)
    found = np.bincount(owner, needed[child], minlength=len(pairs))
    if (found != wanted[pairs % len(needed)]).any():
        raise BrokenPromise("A group's values do not follow their target distribution: a branch is left out.")


def _tops(counts: Counts, trees: Trees, groups: int) -> Ints:
    """The root of each group's tree; raise where a group mixes trees."""
    own = np.zeros(groups, np.int64)
    own[counts.groups] = trees.roots[counts.nodes]
    if (own[counts.groups] != trees.roots[counts.nodes]).any():
        raise BrokenPromise("A group mixes subdomains of different targets.")
    return own


def still_tells(release: PublishedRelease) -> str:
    """What the release tells beyond the target, in plain words: the values that no branch could take."""
    counts, trees = counts_of(release), trees_of(release)
    is_root = trees.parents[counts.nodes] < 0
    stuck, values = int(counts.counts[is_root].sum()), int(counts.counts.sum())
    if stuck == 0:
        return "no value stands at a root, so the groups' own distributions are the targets"
    return (
        f"{stuck:,} of {values:,} values stand at a root: about so many are too many on some side for the target; "
        "on which side is not told, unless somebody works back from how the algorithm chose them"
    )
