"""Tables and measures of the study of target distributions: Adult's losses, synthetic ones, range queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.methods.target_distribution import TargetDistribution
from hedgerow.randomness import Keys, seeded_keys
from hedgerow.release import Release
from hedgerow.schema import Hierarchy, Schema
from studies import real

__all__ = [
    "LOWEST",
    "Losses",
    "adult_losses",
    "by_width",
    "correlated",
    "error",
    "published",
    "uncorrelated",
    "uniforms",
]

SCHEMA = Schema(quasi=["age"], sensitive="loss")
LOWEST = 1024
AGES = (17, 79)


@dataclass(frozen=True, eq=False)
class Losses:
    """Ages and capital losses; the seed draws what is published and what is asked."""

    age: NDArray[np.int64]
    loss: NDArray[np.int64]
    seed: int = 1

    @property
    def table(self) -> pa.Table:
        """As a table."""
        return pa.table({"age": self.age, "loss": self.loss})

    def only(self, rows: NDArray[Any]) -> Losses:
        """Some of the people."""
        return Losses(self.age[rows], self.loss[rows], self.seed)


def uniforms(keys: Keys, count: int) -> NDArray[np.float64]:
    """Numbers between 0 and 1, ends excluded."""
    return (keys(count) >> np.uint64(11)).astype(np.float64) / 2.0**53 + 2.0**-54


def _bell(keys: Keys, count: int) -> NDArray[np.float64]:
    radius = np.sqrt(-2.0 * np.log(uniforms(keys, count)))
    return radius * np.cos(2.0 * np.pi * uniforms(keys, count))


def adult_losses(rows: int | None = None, *, coarser: int = 1, seed: int = 1) -> Losses | None:
    """The 1,427 people of the paper, or some of them in coarser units; None where the data are not on this machine."""
    if real.data_folder() is None:
        return None
    table = real.adult_capital_loss()
    losses = Losses(table["age"].to_numpy(), table["capital-loss"].to_numpy() // coarser, seed)
    return losses if rows is None else losses.only(np.argsort(seeded_keys(seed)(len(losses.age)))[:rows])


def uncorrelated(rows: int, width: int, *, shape: str = "normal", s: float = 0.1, seed: int = 1) -> Losses:
    """Ages say nothing about losses, which are normal, uniform or zipf over a domain of `width` values."""
    keys = seeded_keys(1 + seed)
    age = _ages(keys, rows)
    loss: NDArray[Any]
    if shape == "normal":
        loss = width / 2 + _bell(keys, rows) * width / 8
    elif shape == "uniform":
        loss = uniforms(keys, rows) * width
    else:
        shares = np.arange(width, 0, -1) ** -s
        loss = np.searchsorted(np.cumsum(shares / shares.sum()), uniforms(keys, rows))
    return Losses(age, _inside(loss, width), seed)


def correlated(rows: int, width: int, *, seed: int = 1) -> Losses:
    """Each age has its own bucket of losses, around whose middle they lie."""
    keys = seeded_keys(1002 + seed)
    age = _ages(keys, rows)
    bucket = width / (AGES[1] - AGES[0] + 1)
    return Losses(age, _inside((age - AGES[0] + 0.5) * bucket + _bell(keys, rows) * bucket, width), seed)


def _ages(keys: Keys, rows: int) -> NDArray[np.int64]:
    return (AGES[0] + uniforms(keys, rows) * (AGES[1] - AGES[0] + 1)).astype(np.int64)


def _inside(loss: NDArray[Any], width: int) -> NDArray[np.int64]:
    inside: NDArray[np.int64] = LOWEST + np.clip(loss, 0, width - 1).astype(np.int64)
    return inside


def by_width(values: Sequence[int]) -> Hierarchy:
    """Halve the range, not the list, again and again: the tree over all whole numbers without its empty branches."""

    def tree(inside: list[int], low: int, high: int) -> Any:
        if len(inside) == 1:
            return inside[0]
        middle = (low + high) // 2
        left, right = [v for v in inside if v < middle], [v for v in inside if v >= middle]
        if not left or not right:
            return tree(inside, *((low, middle) if left else (middle, high)))
        return [tree(left, low, middle), tree(right, middle, high)]

    return Hierarchy.from_nested(tree(sorted(set(values)), min(values), max(values) + 1))


def published(losses: Losses, target: Any, **parameters: Any) -> Release:
    """Publish with a fixed seed: a study is repeatable, and its releases are never saved."""
    return TargetDistribution(target, **parameters).publish(losses.table, SCHEMA, seed=10 + losses.seed)


def error(release: Release, losses: Losses, width: int, *, queries: int) -> float:
    """The mean of (upper - lower) / truth of AVG over random age ranges of this width."""
    ages = np.arange(losses.age.min(), max(losses.age.max() - width, losses.age.min()) + 1)
    starts = ages[(uniforms(seeded_keys(1000 * (losses.seed - 1) + width), queries) * len(ages)).astype(np.int64)]
    session = _session(release)
    found, times = [], []
    for start, count in zip(*(numbers.tolist() for numbers in np.unique(starts, return_counts=True)), strict=True):
        truth = losses.loss[(losses.age >= start) & (losses.age <= start + width)]
        if len(truth):  # a range that is drawn several times is asked once
            answer = session.ask(f"SELECT avg(loss) FROM release WHERE age BETWEEN {start} AND {start + width}")
            found.append((answer.upper - answer.lower) / truth.mean())
            times.append(count)
    return float(np.average(found, weights=times))


def _session(release: Release) -> Any:
    from hedgerow.query import connect

    return connect(release)
