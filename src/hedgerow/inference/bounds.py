"""Bounds on p that need no possible worlds: the printed one, and two that hold for many values and occurrences.

Source     [Wong 2009], theorem 1 and inequality 4
Guarantee  `rate_bound` and `pair_bound` are never below the exact p; `delta_max` is what the paper prints
Cost       `rate_bound` O(N D), `pair_bound` O(N^2 D) for a group of N rows and D distinct values
Deviates   the printed bound holds for x against not x and one occurrence; c occurrences need c*r in place of r, and
           with many values it is false: p reaches .998 while Delta is 0

`pair_bound` compares rows by pairs. Exchanging the values of rows u and v turns a world in which u has x into one in
which v has it, and divides its weight by at most rho(u, v), the largest f_u(x) f_v(y) / (f_v(x) f_u(y)) over the other
values y of the group. So p(u:x) <= c / (1 + sum over v of 1 / max(1, rho(u, v))).

Estimate p by drawing possible worlds, for groups that are too large to add them all up.

Source     own: sequential importance sampling of weighted permanents
Guarantee  an interval that holds p with the stated confidence (normal approximation, wide); where too few draws carry
           the weight the interval opens up to the bound that needs no worlds
Cost       O(samples N D) for N rows and D distinct values
Deviates   not in the paper, which adds up all worlds; a promise is never based on a sample

The probability that a combination of values exists in a group whose columns were shuffled separately.

Source     [Li 2015], lemma 1
Guarantee  exact: every arrangement of each column is equally likely, independently of the others
Cost       O(d n^2) fractions for d columns and a value that occurs n times
Deviates   the printed product of shares is the probability of one given row, not of the group: 2/25 instead of 2/5 for
           a value that one of five rows has and one that two have
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.inference.full import balance
from hedgerow.kernel import SMALL, kernel
from hedgerow.randomness import Keys, system_keys


def least_suppressed(
    counts: NDArray[np.int64], rows: int, r: Fraction, *, most: int, lost: NDArray[np.int64] | int = 0
) -> NDArray[np.int64]:
    """The least rows of each value that every r-robust partition suppresses; stops counting above `most` in total.

    The p of a group add up to the occurrences of a value: it fills at most 1/r of the group, and of all groups. `lost`
    are rows of each value that are known to be left out.
    """
    held = np.zeros_like(counts) + lost
    while held.sum() <= most:
        cap = int((rows - int(held.sum())) // r)
        needed = np.maximum(held, counts - cap)
        if (needed == held).all():
            break
        held = needed
    return held


def delta_max(rows: int, r: Fraction | int, f_max: Fraction | float) -> Fraction | float:
    """The widest spread of f in a group of `rows` rows for which the paper promises p <= 1/r."""
    if f_max == 0 or f_max == 1:
        return f_max * 0
    exact = Fraction(r) if isinstance(f_max, Rational) else float(r)
    return (rows - exact) * f_max / (f_max * (exact - 1) / (1 - f_max) + (rows - 1))


def printed_bound_holds(f: NDArray[np.float64], r: Fraction | int, *, occurrences: int = 1) -> bool:
    """Return whether a group satisfies the paper's condition for one value x, r replaced by c*r for c occurrences."""
    if occurrences == 0:
        return True
    widest = float(delta_max(len(f), r * occurrences, float(f.max())))
    return len(f) >= r * occurrences and float(f.max() - f.min()) <= widest


def rate_bound(f: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """A bound on p for each value (column of f) from the ratios of greatest to least f in the group (rows of f)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(f.max(axis=0) == f.min(axis=0), 1.0, f.max(axis=0) / f.min(axis=0))
    if len(rates) == 1:
        return np.asarray(np.minimum(counts / len(f), 1.0))
    ranked = np.sort(rates)
    others = np.where(rates == ranked[-1], ranked[-2] if (rates == ranked[-1]).sum() == 1 else ranked[-1], ranked[-1])
    rho = np.minimum(rates * others, 1e300)
    return np.asarray(np.minimum(counts * rho / (rho + len(f) - 1), 1.0))


def pair_bound(f: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """A bound on p for each row and value (rows and columns of f) of one group; `counts` are the occurrences."""
    program = by_pairs.plain if len(f) * f.size <= SMALL else by_pairs.compiled
    return program(np.ascontiguousarray(f), counts)


@kernel
def by_pairs(f: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The loop of `pair_bound`."""
    rows, values = f.shape
    bound = np.ones((rows, values))
    if f.min() <= 0.0:
        return bound  # an impossible value makes some ratio infinite: nothing is promised
    for u in range(rows):
        shares = np.ones(values)
        for v in range(rows):
            if v == u:
                continue
            best, second, where = 0.0, 0.0, -1
            for y in range(values):
                ratio = f[v, y] / f[u, y]
                if ratio > best:
                    best, second, where = ratio, best, y
                elif ratio > second:
                    second = ratio
            for x in range(values):
                other = second if x == where else best
                if other == 0.0:
                    other = f[v, x] / f[u, x]  # a group with one value: an exchange changes nothing
                shares[x] += min(1.0, f[v, x] / (f[u, x] * other))
        for x in range(values):
            bound[u, x] = min(1.0, counts[x] / shares[x])
    return bound


_DEVIATIONS = 4.0
_FEWEST = 64.0
"""With an effective sample below this the normal approximation means nothing."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """Estimates of p for each row and value with an interval of four standard deviations, inside the sound bound."""

    p: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def sample_posteriors(
    weights: NDArray[np.float64], counts: NDArray[np.int64], *, samples: int = 4096, keys: Keys = system_keys
) -> Sampled:
    """p for each row and value: `weights[i, y]` is f for row i, `counts[y]` of the group's values are y."""
    weights = np.ascontiguousarray(weights, np.float64)
    balanced = balance(weights, np.ones(len(weights), np.int64), counts)
    uniform = (keys(samples * len(weights)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    logs, drawn = draw_worlds(balanced, counts, uniform.reshape(samples, -1))
    bound = pair_bound(weights, counts)
    if not np.isfinite(logs).any():
        return Sampled(bound, np.zeros_like(bound), np.ones_like(bound))
    return _estimate(np.exp(logs - logs.max()), drawn, bound)


def _estimate(mass: NDArray[np.float64], drawn: NDArray[np.int32], bound: NDArray[np.float64]) -> Sampled:
    p, spread = np.empty_like(bound), np.empty_like(bound)
    for y in range(bound.shape[1]):
        has = drawn == y
        p[:, y] = mass @ has / mass.sum()
        # The linearized variance of a ratio of sums; half a draw's worth keeps a share of 0 or 1 from looking certain.
        spread[:, y] = np.sqrt((mass**2) @ (has - p[:, y]) ** 2) / mass.sum() + 0.5 * mass.max() / mass.sum()
    if mass.sum() ** 2 / (mass**2).sum() < _FEWEST:
        return Sampled(np.minimum(p, bound), np.zeros_like(p), bound)
    low, high = np.maximum(p - _DEVIATIONS * spread, 0.0), np.minimum(p + _DEVIATIONS * spread, bound)
    return Sampled(np.clip(p, low, np.maximum(low, high)), low, np.maximum(low, high))


@kernel
def draw_worlds(
    weights: NDArray[np.float64], counts: NDArray[np.int64], uniform: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Deal the values row after row; return the log of each world's weight over its probability, and the worlds."""
    samples, rows = uniform.shape
    values = len(counts)
    logs, drawn = np.zeros(samples), np.zeros((samples, rows), np.int32)
    left = np.empty(values, np.float64)
    for m in range(samples):
        left[:] = counts
        for i in range(rows):
            total = 0.0
            for y in range(values):
                total += weights[i, y] * left[y]
            if total <= 0.0:
                logs[m] = -np.inf
                break
            mark, chosen = uniform[m, i] * total, -1
            for y in range(values):
                if weights[i, y] * left[y] > 0.0:
                    chosen = y
                    mark -= weights[i, y] * left[y]
                    if mark < 0.0:
                        break
            logs[m] += np.log(total)
            drawn[m, i] = chosen
            left[chosen] -= 1.0
    return logs, drawn


def presence(counts: Sequence[int], rows: int) -> Fraction:
    """The probability that one of `rows` rows has all of several values, of which `counts` rows have each."""
    _check(counts, rows)
    chances = {counts[0]: Fraction(1)}
    for count in counts[1:]:
        chances = _chances_of_meeting(chances, count, rows)
    return 1 - chances.get(0, Fraction(0))


def presence_at_most(counts: Sequence[int], rows: int) -> Fraction:
    """A bound on the probability: the mean number of rows that have all of the values, at most 1."""
    _check(counts, rows)
    return min(Fraction(1), Fraction(math.prod(counts), rows ** (len(counts) - 1)))


def _chances_of_meeting(chances: dict[int, Fraction], count: int, rows: int) -> dict[int, Fraction]:
    """How many rows still have all values once another column is dealt: a hypergeometric draw."""
    after: dict[int, Fraction] = {}
    for left, chance in chances.items():
        for both in range(max(0, left + count - rows), min(left, count) + 1):
            ways = math.comb(left, both) * math.comb(rows - left, count - both)
            after[both] = after.get(both, Fraction(0)) + chance * Fraction(ways, math.comb(rows, count))
    return after


def _check(counts: Sequence[int], rows: int) -> None:
    if rows < 1 or not counts or not all(0 <= count <= rows for count in counts):
        raise ParameterError(
            "'counts' must be at least one number of rows, each between 0 and 'rows', which is positive."
        )
