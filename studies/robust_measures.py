"""What the study of r-robustness measures of a grouping: problematic rows, mean Delta, error of counts."""

from __future__ import annotations

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
    boxes = _boxes(people.quasi[:, kept], labels) if grouping.boxes else None
    values = _published_values(people, grouping)[kept]
    errors = []
    for query in queries:
        if boxes is None:
            shares = np.bincount(labels, _rows(people, query.attributes)[kept], minlength=groups) / sizes
        else:
            shares = _overlap(boxes, query.attributes)
        matches = np.bincount(labels, query.secret[values], minlength=groups)
        errors.append(abs(float((shares * matches).sum()) - query.truth) / query.truth)
    return float(np.mean(errors))


def _published_values(people: People, grouping: Grouping) -> NDArray[np.int64]:
    """The true values, except where a grouping exchanged protected ones with others."""
    values = people.values.copy()
    gave = np.flatnonzero(people.is_protected & ~grouping.is_protected)
    took = np.flatnonzero(grouping.is_protected & ~people.is_protected)
    values[gave], values[took] = people.values[took], people.values[gave]
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


def _boxes(quasi: NDArray[np.int32], labels: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    ordered = quasi[:, order]
    return np.minimum.reduceat(ordered, starts, axis=1), np.maximum.reduceat(ordered, starts, axis=1)


def _overlap(
    boxes: tuple[NDArray[np.int32], NDArray[np.int32]], marks: tuple[NDArray[np.bool_], ...]
) -> NDArray[np.float64]:
    """The share of each box that a query's lists cover."""
    share = np.ones(boxes[0].shape[1])
    for low, high, mark in zip(*boxes, marks, strict=True):
        running = np.append(0, np.cumsum(mark))
        share *= (running[high + 1] - running[low]) / (high + 1 - low)
    return share
