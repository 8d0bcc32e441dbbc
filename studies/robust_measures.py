"""What the study of r-robustness measures of a grouping: problematic rows, mean Delta, error of counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Rational
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats
from hedgerow.inference.full import binary_posteriors
from studies.robust_data import People
from studies.robust_rivals import Grouping

Name = TypeVar("Name")

__all__ = ["CountQuery", "Risk", "count_errors", "count_queries", "delta_max", "risk"]


@dataclass(frozen=True)
class Risk:
    """Share of problematic rows among those who have the secret, worst p, mean Delta, and mean Delta_max."""

    problematic: float
    worst: float
    delta: float
    delta_max: float


def delta_max(rows: int, r: Fraction | int, f_max: Fraction | float) -> Fraction | float:
    """The widest spread of f in a group of `rows` rows for which the paper promises p <= 1/r."""
    if f_max == 0 or f_max == 1:
        return f_max * 0
    exact = Fraction(r) if isinstance(f_max, Rational) else float(r)
    return (rows - exact) * f_max / (f_max * (exact - 1) / (1 - f_max) + (rows - 1))


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
    cells, cell = _cells(people)
    values = len(people.knowledge.values)
    rows = np.bincount(cell * values + people.values, minlength=cells.shape[1] * values).reshape(-1, values)
    while len(queries) < count:
        drawn = []
        for _ in range(count):
            chosen = generator.permutation(len(people.sizes))[:dimensions]
            marks = tuple(
                _list_of(size, side, generator) if place in chosen else np.ones(size, bool)
                for place, size in enumerate(people.sizes)
            )
            drawn.append(CountQuery(marks, _list_of(values, side, generator), 0))
        truth = np.concatenate([_sums(cells, rows, some)[:, 0] for some in _chunks(drawn)])
        queries += [replace(query, truth=round(n)) for query, n in zip(drawn, truth.tolist(), strict=True) if n > 0.5]
    return queries[:count]


def count_errors(people: People, groupings: Mapping[Name, Grouping], queries: list[CountQuery]) -> dict[Name, float]:
    """The mean of |estimate - truth| / truth of each grouping, a group's values being spread evenly over its rows.

    A row stands for the shares of values in its group. Rows with equal attributes are added up once, so that all
    questions to all groupings are one product of matrices.
    """
    cells, cell = _cells(people)
    recoded = {name: one for name, one in groupings.items() if one.classes is not None}
    plain = [name for name in groupings if name not in recoded]
    weights = np.hstack([_shares_in_cells(people, groupings[name], cell) for name in plain]) if plain else None
    errors: dict[Name, list[Floats]] = {name: [] for name in groupings}
    for some in _chunks(queries):
        truth = np.array([query.truth for query in some], float)
        if weights is not None:
            for name, found in zip(plain, _sums(cells, weights, some).T, strict=True):
                errors[name].append(np.abs(found - truth) / truth)
        for name, grouping in recoded.items():
            errors[name].append(np.abs(_expected_recoded(people, grouping, some) - truth) / truth)
    return {name: float(np.concatenate(found).mean()) for name, found in errors.items()}


def _chunks(queries: list[CountQuery], size: int = 256) -> Iterator[list[CountQuery]]:
    return (queries[first : first + size] for first in range(0, len(queries), size))


def _cells(people: People) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Different combinations of attributes, and which of them each row has."""
    cells, cell = np.unique(people.quasi, axis=1, return_inverse=True)
    return cells, cell.ravel().astype(np.int64)


def _shares_in_cells(people: People, grouping: Grouping, cell: NDArray[np.int64]) -> Floats:
    """For each cell and value the expected rows; suppressed rows expect nothing."""
    kept = grouping.labels >= 0
    counts = _value_counts(people, grouping)
    shares = (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))[grouping.labels[kept]]
    cells = int(cell.max()) + 1
    return np.stack([np.bincount(cell[kept], column, minlength=cells) for column in shares.T], axis=1)


def _value_counts(people: People, grouping: Grouping) -> NDArray[np.int64]:
    """How often each group publishes each value."""
    kept = grouping.labels >= 0
    groups, values = int(grouping.labels.max()) + 1, len(people.knowledge.values)
    pairs = grouping.labels[kept].astype(np.int64) * values + _published_values(people, grouping)[kept]
    return np.bincount(pairs, minlength=groups * values).reshape(groups, values)


def _sums(cells: NDArray[np.int32], weights: NDArray[Any], queries: list[CountQuery]) -> Floats:
    """A row a question: weights of the cells that it covers and of the values that it wants, a column a grouping."""
    inside = np.ones((cells.shape[1], len(queries)), np.bool_)
    for place, codes in enumerate(cells):
        inside &= np.stack([query.attributes[place] for query in queries], axis=1)[codes]
    secrets = np.stack([query.secret for query in queries])
    # The product is most of the work; counts of rows are exact in single precision.
    exact = np.float32 if weights.dtype.kind == "i" else np.float64
    covered = (weights.T.astype(exact) @ inside.astype(exact)).T.reshape(len(queries), -1, secrets.shape[1])
    sums: Floats = (covered * secrets[:, None, :]).sum(axis=2, dtype=float)
    return sums


def _expected_recoded(people: People, grouping: Grouping, queries: list[CountQuery]) -> Floats:
    """Estimates where attributes are recoded: the share of each group's classes that a question covers."""
    assert grouping.classes is not None
    kept = grouping.labels >= 0
    member = np.flatnonzero(kept)[np.unique(grouping.labels[kept], return_index=True)[1]]  # any row tells the classes
    secrets = np.stack([query.secret for query in queries]).astype(float)
    expected: Floats = secrets @ _value_counts(people, grouping).T
    for place, of_code in enumerate(grouping.classes):
        codes = np.eye(int(of_code.max()) + 1)[of_code]
        marks = np.stack([query.attributes[place] for query in queries]).astype(float)
        covered = (marks @ codes) / np.maximum(codes.sum(axis=0), 1)
        expected *= covered[:, of_code[people.quasi[place][member]]]
    return np.asarray(expected.sum(axis=1), np.float64)


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
