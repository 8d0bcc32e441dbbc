"""Estimate a number of edges from the correlation of conditions with degrees and with each other.

Source     own: a binomial regression between groups, and a covariance between groups; `query.learned` does the like for
           tables
Guarantee  none beyond the bounds, which the estimate never leaves; it is computed from the release alone
Cost       O(edges log edges), and some dozens of passes over the nodes of both sides

`expected` treats every assignment as equally likely. But a release shows the degrees of a group's nodes and how many of
its entities satisfy the condition. If groups with higher degrees have more selected entities, entities of high degree
are likelier selected. The grouping depends on structure and random numbers only, so given its nodes a group's number of
selected entities is a sum of independent draws. Their probabilities are logistic in the logarithm of the degree, its
square and its cube, and in the share of the edges that lead to selected entities of the other side, as far as degrees
predict it. The coefficients are fitted by Fisher scoring with a weak prior. A node's probability is then conditioned on
the number of selected entities in its group.

Conditions on both sides may be correlated beyond degrees: families buy what is for children. Let r be the residual of
an entity (1 if selected, else 0, minus its probability) and R the sum of r over its group, which is known. For an edge,
R R' of the groups at its ends is r r' of its own ends plus products with members who are in these groups by chance,
whose mean is zero. So the sum of R R' over edges estimates the sum of r r', however the conditions are correlated.
`_own_share` corrects for members who are not there by chance. The estimate is shrunk by the share of it that exceeds
its noise.

The standard error combines that of the coefficients (delta method), of the draws inside groups, of the sum of R R'
(two-way clusters: terms are correlated within the groups of either side), and the difference to the model without
cubes and shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats
from hedgerow.graph.selected import Selected
from hedgerow.inference.full import binary_posteriors
from hedgerow.query.answer import Learned

if TYPE_CHECKING:
    from hedgerow.graph.answer import GraphAnswer

_CALLS = 30
"""About how often chances are computed for a question: for each side and model, and twice for each coefficient."""
_ROUNDS = 30
_PRIOR = 3.0
"""Standard deviation of the prior of the coefficients, features having a deviation of 1."""
_FEWEST = 10
"""With fewer groups on a side nothing is learned from them."""
_LEAST_OWN = 0.25
"""Where the products of groups hold less of their edges' own, nothing is learned of conditions on both sides."""

Ends = tuple[NDArray[np.int32], NDArray[np.int32]]


def learn(left: Selected, right: Selected, ends: Ends, answer: GraphAnswer) -> Learned:
    """Estimate COUNT(*) over edges between selected entities; `ends` are the nodes of each edge."""
    if answer.exact:
        return Learned(answer.expected, 0.0)
    if min(side.side.groups for side in (left, right) if side.is_partly) < _FEWEST:
        return _fair(answer, "there are too few groups")
    plain = [_LinkModel(near, nodes, []) for near, nodes in zip((left, right), ends, strict=True)]
    rich = [_LinkModel(a.near, a.nodes, [a.by_degree**3, a.share_of(b)]) for a, b in (plain, plain[::-1])]
    if left.is_partly and right.is_partly and _own_share(*rich) < _LEAST_OWN:
        return _fair(answer, "groups are joined by so many edges that these cannot be told apart")
    (first, _), (estimate, variance) = _estimate(*plain), _estimate(*rich)
    inside = min(max(estimate, float(answer.lower)), float(answer.upper))
    error = math.hypot(math.sqrt(variance), estimate - first)
    return Learned(inside, error, "" if inside == estimate else "moved to a bound")


def _fair(answer: GraphAnswer, why: str) -> Learned:
    return Learned(answer.expected, answer.std, f"no model helps: {why}; this is the fair assignment")


def _estimate(one: _LinkModel, other: _LinkModel) -> tuple[float, float]:
    """The number of edges between selected entities by models of both sides, and its variance."""
    estimate = float(one.of_edges @ other.of_edges)
    variance = one.variance(other.of_edges) + other.variance(one.of_edges)
    if not (one.near.is_partly and other.near.is_partly):
        return estimate, variance
    beyond, noise = _beyond_degrees(one, other)
    return estimate + beyond, variance + noise


def _beyond_degrees(one: _LinkModel, other: _LinkModel) -> tuple[float, float]:
    """How many more edges join selected entities than degrees say, and the variance of that number."""
    i, j = one.groups, other.groups
    fits = one.near.nodes[one.nodes] & other.near.nodes[other.nodes]
    already = (one.of_edges - one.unmoved[one.nodes]) * (other.of_edges - other.unmoved[other.nodes])
    terms = np.where(fits, one.residuals[i] * other.residuals[j] / _own_share(one, other) - already, 0.0)
    found, terms = float(terms.sum()), terms - terms.mean()
    by_one, by_other = (np.bincount(groups, weights=terms) for groups in (i, j))
    noise = max(float(by_one @ by_one + by_other @ by_other - terms @ terms), float(terms @ terms))
    return found * max(0.0, 1 - noise / max(found * found, 1e-9)), noise


def _own_share(one: _LinkModel, other: _LinkModel) -> float:
    """How much of a product of groups is that of an edge's own ends.

    Other edges between the two groups add their own. Nodes that are apart lack what joins: of n edges d d' / n would
    join them by their degrees. And people of a group share no neighbour, so that they are more different than others.
    """
    side, other_side = one.near.side, other.near.side
    v, w = side.neighbours.ends, side.neighbours.neighbours
    d, e = (each.degrees.astype(np.float64) for each in (side, other_side))
    pairs = side.node_groups[v].astype(np.int64) * other_side.groups + other_side.node_groups[w]
    blocks, owners, joined = np.unique(pairs, return_inverse=True, return_counts=True)
    here = np.bincount(owners, weights=d[v] * e[w])
    both = one.by_group(d)[blocks // other_side.groups] * other.by_group(e)[blocks % other_side.groups]
    return float(joined @ (joined - (both - here) / len(v))) / len(v) * one.variety * other.variety


class _LinkModel:
    """Probabilities that the nodes of one side are selected, logistic in their degrees; `nodes` are ends of edges."""

    def __init__(self, near: Selected, nodes: NDArray[np.int32], features: Sequence[Floats]) -> None:
        self.near, self.nodes = near, nodes
        self.groups = near.side.node_groups[nodes]
        self.by_degree = _standard(np.log1p(near.side.degrees.astype(np.float64)))
        if not near.is_partly:
            self.unmoved = near.chances
            self.of_edges: Floats = near.chances[nodes]
            return
        # A square follows what is frequent at middle degrees, too.
        self.features = np.stack([*(self.by_degree**power for power in range(3)), *features], axis=1)
        self.coefficients, self.covariance = self._fit()
        self.unmoved = _logistic(self.features @ self.coefficients)
        self.of_edges = self.chances(self.coefficients)[nodes]

    def share_of(self, other: _LinkModel) -> Floats:
        """The share of each node's edges that lead to selected entities, by their degrees, as a feature."""
        edges, reached = (
            np.bincount(self.nodes, weights=weights, minlength=len(self.near.nodes))
            for weights in (None, other.unmoved[other.nodes])
        )
        return _standard(np.where(edges > 0, reached / np.maximum(edges, 1), other.unmoved.mean()))

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
            variance = np.maximum(self.by_group(weights), 1e-9)
            gradient = np.stack([self.by_group(weights * column) for column in x.T], axis=1)
            information = (gradient / variance[:, None]).T @ gradient + prior
            score = (gradient / variance[:, None]).T @ (near.counts - self.by_group(chances)) - prior @ beta
            step = np.clip(np.linalg.lstsq(information, score, rcond=None)[0], -1.0, 1.0)
            beta = beta + step
            if np.abs(step).max() < 1e-8:
                break
        residual = float(((near.counts - self.by_group(chances)) ** 2 / variance).mean())
        return beta, np.asarray(np.linalg.pinv(information) * max(1.0, residual), np.float64)

    def by_group(self, numbers: Floats) -> Floats:
        """Add up numbers of nodes by group."""
        sums = np.bincount(self.near.side.node_groups, weights=numbers, minlength=self.near.side.groups)
        return np.asarray(sums, np.float64)

    @cached_property
    def residuals(self) -> Floats:
        """What the number of selected entities of each group exceeds the chances of its nodes by."""
        return np.asarray(self.near.counts - self.by_group(self.unmoved), np.float64)

    @cached_property
    def variety(self) -> float:
        """The variance of the groups' residuals over that of independent draws, busy groups counting more."""
        weights = self.by_group(self.unmoved * (1 - self.unmoved))
        return float((self.residuals**2)[self.groups].sum() / weights[self.groups].sum())

    def chances(self, beta: Floats) -> Floats:
        """The chance of each node, given how many entities of its group are selected."""
        near = self.near
        odds = np.exp(np.clip(self.features @ beta, -30.0, 30.0))
        offsets = np.append(0, np.cumsum(near.sizes))
        return np.where(near.nodes, binary_posteriors(odds, offsets, near.counts, calls=_CALLS), 0.0)

    def variance(self, others: Floats) -> float:
        """The variance of the sum of chances times numbers of edges: of the coefficients, and of draws in groups."""
        near = self.near
        if not near.is_partly:
            return 0.0
        reached = np.bincount(self.nodes, weights=others, minlength=len(near.nodes)).astype(np.float64)
        steps = np.sqrt(np.maximum(np.diag(self.covariance), 1e-12)) / 2
        ways = [(self.chances(self.coefficients + m), self.chances(self.coefficients - m)) for m in np.diag(steps)]
        slopes = np.array([(up - down) @ reached for up, down in ways]) / (2 * steps)
        chances = self.chances(self.coefficients)
        weights = chances * (1 - chances)
        means = self.by_group(weights * reached) / np.maximum(self.by_group(weights), 1e-12)
        apart = self.by_group(weights * (reached - means[near.side.node_groups]) ** 2)
        drawn = float((apart * near.sizes / np.maximum(near.sizes - 1, 1)).sum())
        return max(0.0, float(slopes @ self.covariance @ slopes)) + drawn


def _standard(numbers: Floats) -> Floats:
    """The numbers with a mean of 0 and a deviation of 1."""
    return np.asarray((numbers - numbers.mean()) / max(float(numbers.std()), 1e-9), np.float64)


def _logistic(numbers: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-np.clip(numbers, -30.0, 30.0)))
