"""The groupings that r-robustness is compared with, as labels of rows.

Source     [Wong 2009], section 5; MASK after [Wong 2007]

Anatomy and l-diversity are the project's own. t-closeness recodes globally: one level of each attribute's hierarchy for
everybody, found by the project's full-domain search. MASK, as described: k-anonymous groups first (by Mondrian); of
those that hold at most one protected value in r, r - 1 times as many as violate are drawn, and each group that violates
gets a share of protected values drawn from theirs, by distorting the rest. One is a stand-in:

- like Injector: Anatomy that never puts a protected value beside somebody whom a rule without exception excludes: a
  signature of at most two attributes that was expected to have the value and never does (minConf 1, minExp 0.9). The
  original mines rules for every value and chooses companions by information loss, too
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.groupwise import KAnonymity, Limited, Limits
from hedgerow.criteria.t_closeness import TCloseness
from hedgerow.partition.anatomy import anatomize
from hedgerow.partition.full_domain import full_domain
from hedgerow.partition.mondrian.split import mondrian
from hedgerow.randomness import Keys
from studies.robust_data import People

__all__ = ["RIVALS", "Grouping"]

_T = Fraction(1, 5)


@dataclass(frozen=True, eq=False)
class Grouping:
    """Labels of rows (-1: suppressed), and which rows publish a protected value."""

    labels: NDArray[np.int32]
    is_protected: NDArray[np.bool_]
    classes: Sequence[NDArray[np.int32]] | None = None
    """Where attributes are recoded: the class of each code."""


@dataclass(frozen=True)
class _AtMost(Limited):
    """Code 1 fills at most 1/r of a group; other codes are free."""

    r: int

    def limits(self, overall: NDArray[np.int64]) -> Limits:
        return Limits(self.r, 1, np.ones(len(overall), np.int64), np.array([1, self.r], np.int64)[: len(overall)])

    def nearest(self, overall: NDArray[np.int64]) -> str:
        return f"At most 1 in {self.r} may have the secret; {int(overall[1])} of {int(overall.sum())} have."


def anatomy(people: People, r: int, keys: Keys) -> Grouping:
    """One protected value in r rows, companions by lot."""
    return Grouping(_by_lot(people, np.ones(people.size, bool), r, keys), people.is_protected)


def injector(people: People, r: int, keys: Keys) -> Grouping:
    """Anatomy with companions whom no rule excludes."""
    return Grouping(_by_lot(people, ~_excluded(people), r, keys), people.is_protected)


def t_closeness(people: People, r: int, keys: Keys) -> Grouping:
    """Global recoding with t = 0.2: the least lossy levels at which every class is near the whole table."""
    found = full_domain(people.quasi, people.ladders, people.values.astype(np.int32), TCloseness(_T))
    classes = [ladder.classes[level] for ladder, level in zip(people.ladders, found.levels, strict=True)]
    return Grouping(found.labels, people.is_protected, classes)


def l_diversity(people: People, r: int, keys: Keys) -> Grouping:
    """Mondrian with a protected value in at most 1/r of a group."""
    codes = people.is_protected.astype(np.int32)
    return Grouping(mondrian(people.quasi, people.sizes, codes, _AtMost(r), keys=keys), people.is_protected)


def mask(people: People, r: int, keys: Keys) -> Grouping:
    """Mondrian with k = r; groups that violate take their share of protected values from ones that do not."""
    labels = mondrian(people.quasi, people.sizes, people.values.astype(np.int32), KAnonymity(r), keys=keys)
    return Grouping(labels, _distorted(labels, people.is_protected, r, keys))


RIVALS: dict[str, Callable[[People, int, Keys], Grouping]] = {
    "Anatomy": anatomy,
    "like Injector": injector,
    "MASK": mask,
    "l-diversity": l_diversity,
    "t-closeness": t_closeness,
}


def _by_lot(people: People, eligible: NDArray[np.bool_], r: int, keys: Keys) -> NDArray[np.int32]:
    """Each protected row with r - 1 eligible companions; everybody else in groups of r of their own."""
    # Rows without a protected value are values of their own: Anatomy then hides the protected one alone.
    pool = np.flatnonzero(people.is_protected | eligible)
    codes = np.cumsum(~people.is_protected[pool]).astype(np.int32)
    codes[people.is_protected[pool]] = 0
    labels = np.empty(people.size, np.int32)
    labels[pool] = anatomize(codes, l=r, keys=keys)
    rest = np.setdiff1d(np.arange(people.size), pool)
    labels[rest] = labels[pool].max() + 1 + np.arange(len(rest)) // r
    return labels


def _excluded(people: People) -> NDArray[np.bool_]:
    share, excluded = people.is_protected.mean(), np.zeros(people.size, bool)
    for known, signatures in zip(people.knowledge.distributions, people.signatures, strict=True):
        if len(known.attributes) <= 2:
            rows = np.bincount(signatures)
            hits = np.bincount(signatures, people.is_protected)
            excluded |= ((hits == 0) & (rows * share >= 0.9))[signatures]
    return excluded & ~people.is_protected


def _distorted(labels: NDArray[np.int32], has: NDArray[np.bool_], r: int, keys: Keys) -> NDArray[np.bool_]:
    """Which rows still publish a protected value: groups that hold more than one in r take another group's share."""
    sizes, counts = np.bincount(labels), np.bincount(labels, has).astype(np.int64)
    violates = counts * r > sizes
    good = np.flatnonzero(~violates)
    models = good[np.argsort(keys(len(good)))][: (r - 1) * int(violates.sum())]
    allowed = counts.copy()
    if violates.any() and len(models):
        drawn = models[(keys(int(violates.sum())) % np.uint64(len(models))).astype(np.int64)]
        share = counts[drawn] / sizes[drawn]
        allowed[violates] = np.minimum(np.rint(share * sizes[violates]), sizes[violates] // r).astype(np.int64)
    order = np.argsort(keys(len(labels)))
    kept = order[has[order]]
    kept = kept[_rank(labels[kept]) < allowed[labels[kept]]]
    published = np.zeros_like(has)
    published[kept] = True
    return published


def _rank(groups: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many earlier entries have the same group."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    rank = np.empty(len(groups), np.int64)
    rank[order] = np.arange(len(groups)) - np.repeat(starts, np.diff(np.append(starts, len(groups))))
    return rank
