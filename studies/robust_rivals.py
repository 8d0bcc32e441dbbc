"""The groupings that r-robustness is compared with, as labels of rows.

Anatomy, t-closeness and l-diversity are the project's own. Two systems that the paper names are not part of it; what
their groups look at is imitated:

- MASK: rows with near quasi-identifiers first (k rows, by Mondrian), then the values of groups that hold too many
  protected ones are exchanged with those of other groups
- Injector: Anatomy that never puts a protected value beside somebody whom a rule without exception excludes: a
  signature of at most two attributes that was expected to have the value and never does
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.groupwise import KAnonymity, Limited, Limits
from hedgerow.criteria.t_closeness import TCloseness
from hedgerow.partition.anatomy import anatomize
from hedgerow.partition.mondrian.split import mondrian
from hedgerow.randomness import Keys
from studies.robust_data import People

__all__ = ["RIVALS", "Grouping"]

_T = Fraction(1, 5)


@dataclass(frozen=True, eq=False)
class Grouping:
    """Labels of rows (-1: held back), which rows publish a protected value, and whether boxes are published."""

    labels: NDArray[np.int32]
    is_protected: NDArray[np.bool_]
    boxes: bool = False


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
    """Mondrian with t = 0.2, published as boxes."""
    labels = mondrian(people.quasi, people.sizes, people.values.astype(np.int32), TCloseness(_T), keys=keys)
    return Grouping(labels, people.is_protected, boxes=True)


def l_diversity(people: People, r: int, keys: Keys) -> Grouping:
    """Mondrian with a protected value in at most 1/r of a group."""
    codes = people.is_protected.astype(np.int32)
    return Grouping(mondrian(people.quasi, people.sizes, codes, _AtMost(r), keys=keys), people.is_protected)


def mask(people: People, r: int, keys: Keys) -> Grouping:
    """Mondrian with k = r; too many protected values of a group change places with others."""
    labels = mondrian(people.quasi, people.sizes, people.values.astype(np.int32), KAnonymity(r), keys=keys)
    return Grouping(labels, _exchanged(labels, people.is_protected, r, keys))


RIVALS: dict[str, Callable[[People, int, Keys], Grouping]] = {
    "Anatomy": anatomy,
    "like Injector": injector,
    "like MASK": mask,
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


def _exchanged(labels: NDArray[np.int32], has: NDArray[np.bool_], r: int, keys: Keys) -> NDArray[np.bool_]:
    """Move protected values out of groups that hold more than one in r, into groups that have room, by lot."""
    sizes, counts = np.bincount(labels), np.bincount(labels, has).astype(np.int64)
    room, published = sizes // r - counts, has.copy()
    order = np.argsort(keys(len(labels)))
    surplus = order[has[order]]
    surplus = surplus[_rank(labels[surplus]) >= (sizes // r)[labels[surplus]]]
    takers = order[~has[order]]
    takers = takers[_rank(labels[takers]) < np.maximum(room, 0)[labels[takers]]][: len(surplus)]
    published[surplus[: len(takers)]] = False
    published[takers] = True
    return published


def _rank(groups: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many earlier entries have the same group."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    rank = np.empty(len(groups), np.int64)
    rank[order] = np.arange(len(groups)) - np.repeat(starts, np.diff(np.append(starts, len(groups))))
    return rank
