"""What the study of r-robustness measures of a grouping: problematic rows, mean Delta, error of counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.inference.bounds import delta_max
from hedgerow.inference.full import binary_posteriors
from studies.robust_data import People
from studies.robust_rivals import Grouping

__all__ = ["CountQuery", "Risk", "count_errors", "count_queries", "risk"]


@dataclass(frozen=True)
class Risk:
    """Share of problematic rows among those who have the secret, worst p, mean Delta, and mean Delta_max."""

    problematic: float
    worst: float
    delta: float
    delta_max: float


@dataclass(frozen=True, eq=False)
class CountQuery:
    """A COUNT with a list of values for each attribute and for the secret: marks per code, and the true answer."""

    attributes: tuple[NDArray[np.bool_], ...]
    secret: NDArray[np.bool_]
    truth: int


def risk(people: People, grouping: Grouping, r: int) -> Risk:
    """Let the adversary of the paper read a grouping; mean Delta is over groups that hold the secret."""
    kept = np.flatnonzero(grouping.labels >= 0)
    order = kept[np.argsort(grouping.labels[kept], kind="stable")]
    offsets = np.append(0, np.cumsum(np.bincount(grouping.labels[order])))
    starts, sizes = offsets[:-1], np.diff(offsets)
    counts = np.add.reduceat(grouping.is_protected[order].astype(np.int64), starts)
    holds = counts > 0
    worst, deltas, widest = np.zeros(len(order)), [], []
    for known, signatures in zip(people.knowledge.distributions, people.signatures, strict=True):
        yes, no = known.of(np.flatnonzero(people.member[0]))
        f, odds = (yes / (yes + no))[signatures[order]], (yes / no)[signatures[order]]
        worst = np.maximum(worst, binary_posteriors(odds, offsets, counts))
        high = np.maximum.reduceat(f, starts)
        deltas.append((high - np.minimum.reduceat(f, starts))[holds].mean())
        widest.append(np.mean([delta_max(int(n), r, float(h)) for n, h in zip(sizes[holds], high[holds], strict=True)]))
    of_secret = people.is_protected[order]
    share = float((worst[of_secret] * r > 1 + 1e-9).mean())
    return Risk(share, float(worst.max()), float(np.mean(deltas)), float(np.mean(widest)))


def count_queries(
    people: People, *, dimensions: int, selectivity: float, count: int, generator: np.random.Generator
) -> list[CountQuery]:
    """Draw counts over `dimensions` attributes and the secret whose expected share of rows is `selectivity`."""
    queries: list[CountQuery] = []
    side = selectivity ** (1 / (dimensions + 1))
    while len(queries) < count:
        chosen = generator.permutation(len(people.sizes))[:dimensions]
        marks = tuple(
            _list_of(size, side, generator) if place in chosen else np.ones(size, bool)
            for place, size in enumerate(people.sizes)
        )
        secret = _list_of(len(people.knowledge.values), side, generator)
        truth = int((_rows(people, marks) & secret[people.values]).sum())
        if truth:
            queries.append(CountQuery(marks, secret, truth))
    return queries


def count_errors(people: People, grouping: Grouping, queries: list[CountQuery]) -> float:
    """The mean of |estimate - truth| / truth, a group's values being spread evenly over its rows."""
    kept = grouping.labels >= 0
    labels, groups = grouping.labels[kept], int(grouping.labels.max()) + 1
    sizes = np.bincount(labels, minlength=groups)
    members = _members(labels) if grouping.classes is not None else None
    values = _published_values(people, grouping)[kept]
    errors = []
    for query in queries:
        if members is None or grouping.classes is None:
            shares = np.bincount(labels, _rows(people, query.attributes)[kept], minlength=groups) / sizes
        else:
            shares = _overlap(people.quasi[:, kept][:, members], grouping.classes, query.attributes)
        matches = np.bincount(labels, query.secret[values], minlength=groups)
        errors.append(abs(float((shares * matches).sum()) - query.truth) / query.truth)
    return float(np.mean(errors))


def _published_values(people: People, grouping: Grouping) -> NDArray[np.int64]:
    """The true values, except where a grouping replaced protected ones: there the values of others, in turn."""
    values = people.values.copy()
    lost = np.flatnonzero(people.is_protected & ~grouping.is_protected)
    values[lost] = np.resize(people.values[~people.is_protected], len(lost))
    return values


def _list_of(size: int, side: float, generator: np.random.Generator) -> NDArray[np.bool_]:
    marks = np.zeros(size, bool)
    marks[generator.permutation(size)[: max(1, round(size * side))]] = True
    return marks


def _rows(people: People, marks: tuple[NDArray[np.bool_], ...]) -> NDArray[np.bool_]:
    rows = np.ones(people.size, bool)
    for codes, mark in zip(people.quasi, marks, strict=True):
        rows &= mark[codes]
    return rows


def _members(labels: NDArray[np.int32]) -> NDArray[np.int64]:
    """A row of each group: with recoded attributes any of them tells the classes."""
    return np.unique(labels, return_index=True)[1]


def _overlap(
    codes: NDArray[np.int32], classes: Sequence[NDArray[np.int32]], marks: tuple[NDArray[np.bool_], ...]
) -> NDArray[np.float64]:
    """The share of each group's classes that a query's lists cover, values of a class being equally likely."""
    share = np.ones(codes.shape[1])
    for code, of_code, mark in zip(codes, classes, marks, strict=True):
        share *= (np.bincount(of_code, mark) / np.maximum(np.bincount(of_code), 1))[of_code[code]]
    return share
