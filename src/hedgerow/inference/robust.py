"""r-robustness: probability at most 1/r of a protected value, for an attacker who knows how values are distributed.

Source     [Wong 2009], definition 1, by the possible worlds of its section 3
Guarantee  p(t:x) <= 1/r for every row t, every protected set of values x and every attribute set that is known
Cost       one pass of `binary_posteriors` per attribute set and protected set over the groups that hold it, or one of
           `full_by_group` per attribute set
Deviates   the model is stated: "binary" reads the odds of x against not x, as the paper's theorem does; "full" reads
           the odds of all values, as its definition of a possible world does. Neither implies the other.

A bound on p that needs no possible worlds.

Source     own; [Wong 2009], theorem 1 and inequality 4, print others
Guarantee  `pair_bound` is never below the exact p
Cost       O(N^2 D) for a group of N rows and D distinct values
Deviates   the printed bound holds for x against not x and one occurrence; c occurrences need c*r in place of r, and
           with many values it is false: p reaches .998 while its Delta is 0

`pair_bound` compares rows by pairs. Exchanging the values of rows u and v turns a world in which u has x into one in
which v has it, and divides its weight by at most rho(u, v), the largest f_u(x) f_v(y) / (f_v(x) f_u(y)) over the other
values y of the group. So p(u:x) <= c / (1 + sum over v of 1 / max(1, rho(u, v))).

Estimate p by drawing possible worlds, for groups that are too large to add them all up.

Source     own: sequential importance sampling of weighted permanents
Guarantee  an interval that holds p with the stated confidence (normal approximation, wide); where too few draws carry
           the weight the interval opens up to the bound that needs no worlds
Cost       O(samples N D) for N rows and D distinct values
Deviates   not in the paper, which adds up all worlds; a promise is never based on a sample
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.errors import ParameterError, SchemaError
from hedgerow.exact import as_fraction
from hedgerow.inference.full import MOST_STATES, balance, binary_posteriors, full_by_group
from hedgerow.inference.knowledge import Distribution, Knowledge
from hedgerow.kernel import SMALL, kernel
from hedgerow.parameters import came
from hedgerow.randomness import Keys, system_keys


def least_suppressed(counts: Ints, rows: int, r: Fraction, *, most: int, lost: Ints | int = 0) -> Ints:
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


def pair_bound(f: Floats, counts: Ints) -> Floats:
    """A bound on p for each row and value (rows and columns of f) of one group; `counts` are the occurrences."""
    program = by_pairs.plain if len(f) * f.size <= SMALL else by_pairs.compiled
    return program(np.ascontiguousarray(f), counts)


@kernel
def by_pairs(f: Floats, counts: Ints) -> Floats:
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

    p: Floats
    low: Floats
    high: Floats


def sample_posteriors(weights: Floats, counts: Ints, *, samples: int = 4096, keys: Keys = system_keys) -> Sampled:
    """p for each row and value: `weights[i, y]` is f for row i, `counts[y]` of the group's values are y."""
    weights = np.ascontiguousarray(weights, np.float64)
    balanced = balance(weights, np.ones(len(weights), np.int64), counts)
    uniform = (keys(samples * len(weights)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    logs, drawn = draw_worlds(balanced, counts, uniform.reshape(samples, -1))
    bound = pair_bound(weights, counts)
    if not np.isfinite(logs).any():
        return Sampled(bound, np.zeros_like(bound), np.ones_like(bound))
    return _estimate(np.exp(logs - logs.max()), drawn, bound)


def _estimate(mass: Floats, drawn: NDArray[np.int32], bound: Floats) -> Sampled:
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
def draw_worlds(weights: Floats, counts: Ints, uniform: Floats) -> tuple[Floats, NDArray[np.int32]]:
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


Model = Literal["binary", "full"]


@dataclass(frozen=True, init=False)
class Robustness:
    """At most 1/r, read exactly, under a stated model."""

    r: Fraction
    model: Model

    monotone: ClassVar[bool] = False
    """A group that fails may split into groups that hold, and two that hold may fail together."""

    def __init__(self, r: object, model: Model = "binary") -> None:
        object.__setattr__(self, "r", _read_r(r))
        if model not in get_args(Model):
            raise ParameterError(f"'model' must be one of {', '.join(get_args(Model))}.")
        object.__setattr__(self, "model", model)


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Published rows group after group: for each attribute set the signature of each row, and the group's values.

    `values` are codes in the knowledge's list; only which group they are in means anything, not their order inside.
    """

    signatures: list[NDArray[np.int32]]
    values: Ints
    offsets: Ints


@dataclass(frozen=True, eq=False)
class GroupsHolding:
    """The groups that hold a protected set of values: their numbers, how often each does, and their rows.

    Group after group; `offsets` are the borders in `rows`. Nobody in any other group has such a value.
    """

    inside: Bools
    groups: Ints
    counts: Ints
    rows: Ints
    offsets: Ints


@dataclass(frozen=True, eq=False)
class Posteriors:
    """p of each row (rows) for each protected set (columns), the greatest over the attribute sets.

    `low` and `high` differ from each other where worlds were sampled; `sampled` counts the pairs of group and attribute
    set for which they were.
    """

    low: Floats
    high: Floats
    sampled: int = 0

    @property
    def is_exact(self) -> bool:
        """Return whether every p was computed, none estimated."""
        return self.sampled == 0


def members(values: pa.Array, protect: Sequence[object] | None) -> Bools:
    """Which values belong to which protected set: a row per set. None protects every value by itself.

    An item of `protect` is a value, or a list of values that are one secret together.
    """
    if not isinstance(protect, list | tuple | None):
        raise ParameterError(f"'protect' must be a list of values of the sensitive column; got {came(protect)}.")
    if protect is None:
        return np.eye(len(values), dtype=bool)
    known = {value: code for code, value in enumerate(values.to_pylist())}
    member = np.zeros((len(protect), len(values)), bool)
    for row, item in zip(member, protect, strict=True):
        wanted = list(item) if isinstance(item, list | tuple | set | frozenset) else [item]
        row[[known[value] for value in wanted if value in known]] = True
    if len(member) == 0 or not member.any(axis=1).all():
        raise SchemaError("'protect' must name values of the sensitive column; at least one item names none of them.")
    if (member.sum(axis=0) > 1).any():
        raise SchemaError("'protect' names a value twice; each value may belong to one protected set.")
    return member


def posteriors(
    knowledge: Knowledge,
    grouped: GroupedRows,
    member: Bools,
    *,
    model: Model = "binary",
    most_states: int = MOST_STATES,
    samples: int = 2048,
    keys: Keys = system_keys,
) -> Posteriors:
    """What the adversary infers about each row: the greatest p over all attribute sets, for each protected set."""
    if model == "binary":
        return _binary(knowledge, grouped, member)
    low = np.zeros((len(grouped.values), len(member)))
    high, sampled = low.copy(), 0
    for distribution, signatures in zip(knowledge.distributions, grouped.signatures, strict=True):
        bounds = _full(distribution, signatures, grouped, member, most_states, samples, keys)
        low, high = np.maximum(low, bounds[0]), np.maximum(high, bounds[1])
        sampled += bounds[2]
    return Posteriors(low, high, sampled)


def groups_holding(grouped: GroupedRows, inside: Bools) -> GroupsHolding:
    """Where a protected set of values, given as a row of `members`, occurs."""
    counts = np.add.reduceat(inside[grouped.values].astype(np.int64), grouped.offsets[:-1])
    groups = np.flatnonzero(counts)
    sizes = np.diff(grouped.offsets)[groups]
    offsets = np.append(0, np.cumsum(sizes))
    rows = np.repeat(grouped.offsets[groups] - offsets[:-1], sizes) + np.arange(offsets[-1])
    return GroupsHolding(inside, groups, counts[groups], rows, offsets)


def binary(distribution: Distribution, signatures: NDArray[np.int32], held: GroupsHolding, *, calls: int = 1) -> Floats:
    """p of each of the rows `held.rows` by one attribute set, x against not x; `calls` as in `binary_posteriors`."""
    yes, no = distribution.of(np.flatnonzero(held.inside))
    with np.errstate(divide="ignore"):
        odds = np.where(no > 0, yes / np.maximum(no, 1), np.inf)
    return binary_posteriors(odds[signatures[held.rows]], held.offsets, held.counts, calls=calls)


def _binary(knowledge: Knowledge, grouped: GroupedRows, member: Bools) -> Posteriors:
    p, calls = np.zeros((len(grouped.values), len(member))), len(knowledge.distributions) * len(member)
    for i, inside in enumerate(member):
        held = groups_holding(grouped, inside)
        for distribution, signatures in zip(knowledge.distributions, grouped.signatures, strict=True):
            p[held.rows, i] = np.maximum(p[held.rows, i], binary(distribution, signatures, held, calls=calls))
    return Posteriors(p, p)


def _full(
    distribution: Distribution,
    signatures: NDArray[np.int32],
    grouped: GroupedRows,
    member: Bools,
    most_states: int,
    samples: int,
    keys: Keys,
) -> tuple[Floats, Floats, int]:
    values = grouped.values.astype(np.int32)
    p, too_large = full_by_group(distribution.f, signatures, values, grouped.offsets, member, most_states)
    low, high = p, p.copy()
    for g in np.flatnonzero(too_large):
        rows = slice(grouped.offsets[g], grouped.offsets[g + 1])
        distinct, counts = np.unique(values[rows], return_counts=True)
        estimate = sample_posteriors(distribution.f[signatures[rows]][:, distinct], counts, samples=samples, keys=keys)
        inside = member[:, distinct].T
        low[rows] = estimate.low @ inside
        high[rows] = np.minimum(estimate.high @ inside, 1.0)
    return low, high, int(too_large.sum())


def _read_r(r: object) -> Fraction:
    try:
        exact = Fraction(r) if isinstance(r, str) and "/" in r else as_fraction(r)
    except (ValueError, ZeroDivisionError):
        exact = Fraction(0)
    if exact <= 1:
        raise ParameterError(f"'r' must be a number above 1; got {came(r)}. A probability of at most 1/1 says nothing.")
    return exact
