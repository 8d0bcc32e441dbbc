"""Estimate a number of edges from the correlation of conditions with degrees and with the other side.

Source     own: a binomial regression between groups; `query.learned` does the like for tables
Guarantee  none beyond the bounds, which the estimate never leaves; it is computed from the release alone
Cost       O(edges) and some dozens of passes over the nodes

`expected` treats every assignment as equally likely. But a release shows the degrees of a group's nodes and how many of
its entities satisfy the condition. If groups with higher degrees have more selected entities, entities of high degree
are likelier selected. The grouping depends on structure and random numbers only, so given its nodes a group's number of
selected entities is a sum of independent draws with probabilities p(z) of the nodes' features z: the logarithm of the
degree, and, where the other side has a condition too, the expected share of the neighbours that satisfy it. p is
logistic; its coefficients are fitted by Fisher scoring with a weak prior. The probabilities are then adjusted so that
they add up to each group's number of selected entities.

The share of neighbours is itself expected, not known: the number Y of selected neighbours scatters around it, and a
slope of p in Y adds slope x Var(Y) to the expected product.

The standard error is that of the coefficients, by the delta method, and of the draws inside groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.graph.selected import Selected
from hedgerow.query.answer import Learned

if TYPE_CHECKING:
    from hedgerow.graph.answer import GraphAnswer

_ROUNDS = 30
_PRIOR = 3.0
"""Standard deviation of the prior of the coefficients, features having a deviation of 1."""
_BOTH = "what the two conditions have to do with each other beyond degrees is found in part only"
_WIDENED = (1.3, 2.5)
"""Standard errors are widened by this, for what a logistic curve cannot follow: conditions on one side, on both."""


def learn(left: Selected, right: Selected, answer: GraphAnswer) -> Learned:
    """Estimate COUNT(*) over edges between selected entities."""
    if answer.exact:
        return Learned(answer.expected, 0.0)
    # Where both sides have conditions each is modelled by the other, and what they differ by is part of the error.
    found = [_estimate(near, far) for near, far in ((left, right), (right, left)) if near.is_partly]
    estimate = sum(middle for middle, _ in found) / len(found)
    error = math.hypot(max(one for _, one in found), max(abs(middle - estimate) for middle, _ in found))
    inside = min(max(estimate, float(answer.lower)), float(answer.upper))
    notes = [_BOTH] if len(found) > 1 else []
    notes += [] if inside == estimate else ["moved to a bound"]
    return Learned(inside, _WIDENED[len(found) - 1] * error, "; ".join(notes))


def _estimate(near: Selected, far: Selected) -> tuple[float, float]:
    """The number of edges by a model of the near side, and its standard error."""
    graph = near.side.neighbours
    degrees = np.maximum(graph.degrees, 1).astype(np.float64)
    sure = _LinkModel(far, [_by_degree(far)]).chances() if far.is_partly else far.chances
    chances = sure[graph.neighbours]
    both = chances, chances * (1 - chances)
    reached, spreads = (np.bincount(graph.ends, weights=weights, minlength=graph.nodes) for weights in both)
    share, scatter = reached / degrees, np.zeros(graph.nodes)
    features = [_by_degree(near)]
    if far.is_partly and (spread := float(share.std())) > 0:
        features.append((share - share.mean()) / spread)
        scatter = spreads / (spread * degrees)
    model = _LinkModel(near, features)

    def total(beta: Floats) -> float:
        found = model.chances(beta)
        slopes = found * (1 - found) * (beta[2] if len(beta) > 2 else 0.0)
        return float((found * reached + slopes * scatter).sum())

    found = model.chances()
    drawn = float((found * (1 - found) * reached**2).sum() + (spreads @ found**2))
    return total(model.coefficients), math.sqrt(model.variance(total) + drawn)


def _by_degree(side: Selected) -> Floats:
    logs = np.log1p(side.side.degrees.astype(np.float64))
    standard: Floats = (logs - logs.mean()) / max(float(logs.std()), 1e-9)
    return standard


class _LinkModel:
    """Probabilities that the nodes of one side are selected, as a logistic function of their features."""

    def __init__(self, near: Selected, features: list[Floats]) -> None:
        self.near = near
        self.features = np.stack([np.ones(len(near.nodes)), *features], axis=1)
        self.coefficients, self.covariance = self._fit()

    def _fit(self) -> tuple[Floats, Floats]:
        """Fisher scoring of the numbers of selected entities of groups."""
        near, x = self.near, self.features
        share = float(near.counts.sum() / near.sizes.sum())
        beta = np.zeros(x.shape[1])
        beta[0] = math.log(share / (1 - share))
        prior = np.diag([0.0, *[1 / _PRIOR**2] * (x.shape[1] - 1)])
        for _ in range(_ROUNDS):
            chances = _logistic(x @ beta)
            weights = chances * (1 - chances)
            variance = np.maximum(self._by_group(weights), 1e-9)
            gradient = np.stack([self._by_group(weights * column) for column in x.T], axis=1)
            information = (gradient / variance[:, None]).T @ gradient + prior
            score = (gradient / variance[:, None]).T @ (near.counts - self._by_group(chances)) - prior @ beta
            step = np.clip(np.linalg.lstsq(information, score, rcond=None)[0], -1.0, 1.0)
            beta = beta + step
            if np.abs(step).max() < 1e-8:
                break
        residual = float(((near.counts - self._by_group(chances)) ** 2 / variance).mean())
        return beta, np.asarray(np.linalg.pinv(information) * max(1.0, residual), np.float64)

    def _by_group(self, numbers: Floats) -> Floats:
        sums = np.bincount(self.near.side.node_groups, weights=numbers, minlength=self.near.side.groups)
        return np.asarray(sums, np.float64)

    def chances(self, beta: Floats | None = None) -> Floats:
        """The probability of each node, adjusted so that those of a group add up to its number of selected entities."""
        groups = self.near.side.node_groups
        chances = _logistic(self.features @ (self.coefficients if beta is None else beta))
        for _ in range(4):
            weights = chances * (1 - chances)
            gap = (self.near.counts - self._by_group(chances)) / np.maximum(self._by_group(weights), 1e-12)
            chances = np.clip(chances + weights * gap[groups], 0.0, 1.0)
        return np.where(self.near.nodes, chances, 0.0)

    def variance(self, total: Callable[[Floats], float]) -> float:
        """The variance of a function of the coefficients, by its slopes."""
        steps = np.sqrt(np.maximum(np.diag(self.covariance), 1e-12)) / 2
        moved = np.diag(steps)
        slopes = np.array([total(self.coefficients + m) - total(self.coefficients - m) for m in moved]) / (2 * steps)
        return max(0.0, float(slopes @ self.covariance @ slopes))


def _logistic(numbers: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-np.clip(numbers, -30.0, 30.0)))
