"""The plan of a column: its grid, its segments, the sampled localities and the given properties that will be kept.

Source     [Xue 2011], sections 3 and 4
Guarantee  every property that is planned holds for the column as it is
Cost       O(u s) time on u distinct values in segments of s

This is where properties in the column's own terms become rows over ticks.

From segments, sampled localities and given relations to the polytopes that are walked.

Source     [Xue 2011], sections 3 and 4
Guarantee  the rows of a block's system are the properties that the release will keep, no more and no fewer
Cost       O(m n) per block of n values and m properties

A block is a segment, or several that a given relation ties together.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Ints
from hedgerow.criteria.properties import Property, Relation, Threshold
from hedgerow.errors import Infeasible, ParameterError, counted
from hedgerow.exact import MAX_TICK, as_fraction, column_numbers
from hedgerow.partition.walk.chain import Polytope, System
from hedgerow.partition.walk.segments import (
    Grid,
    Localities,
    Segments,
    bounds_of,
    deal_to_segments,
    grid_of,
    in_order,
    keep_sides,
    localities,
    runs,
    sample,
)
from hedgerow.randomness import Keys

if TYPE_CHECKING:
    from hedgerow.schema import Domain
    from hedgerow.table import Encoded


@dataclass(frozen=True)
class WalkSettings:
    """How a column is to be cut and what of it is to be kept."""

    share: float
    segment: int
    layout: str
    whole: bool


@dataclass(frozen=True, eq=False)
class ColumnPlan:
    """The plan of one column. `rows` are the rows that have a value; `found` counts localities before sampling."""

    column: str
    grid: Grid
    segments: Segments
    chosen: Localities
    relations: tuple[TickRelation, ...]
    given: tuple[Property, ...]
    rows: Ints
    found: int

    def __str__(self) -> str:
        count = len(self.segments.offsets) - 1
        segments = "1 segment" if count == 1 else f"{count:,} segments"
        text = (
            f"'{self.column}': {counted(len(self.segments.values), 'value')} in {segments}, published in steps of "
            f"{float(self.grid.unit):g}; {len(self.chosen):,} of {self.found:,} localities, the order of the values "
            "that they involve, and the bounds of each segment"
        )
        return "; ".join([text, *(f"given: {given}" for given in self.given)])


def plan_column(
    name: str, encoded: Encoded, declared: Domain, given: Sequence[Property], settings: WalkSettings, *, keys: Keys
) -> ColumnPlan:
    """Plan a column of numbers; raises where a given property cannot be kept or the column has no room."""
    grid = grid_of(name, encoded.domain, declared, whole=settings.whole)
    rows = np.flatnonzero(encoded.codes < len(encoded.domain))
    first, last = _bounds(grid, declared)
    firsts = _firsts(grid, given)
    ticks = _on_their_sides(
        name,
        grid.ticks(encoded.domain),
        [first, *firsts.tolist(), last + 1],
        [0, *_counts_below(encoded.domain, given), len(encoded.domain)],
    )
    # Values that share a tick become one variable.
    distinct, merged = np.unique(ticks, return_inverse=True)
    codes = merged.astype(np.int32)[encoded.codes[rows]]
    low = int(distinct[0]) if declared.low is None else first
    high = int(distinct[-1]) if declared.high is None else last
    segments = _cut(distinct, codes, low, high, settings, keys)
    _require_room(name, segments)
    sided = keep_sides(segments, firsts)
    found = localities(sided.values, sided.offsets)
    relations = tuple(_in_ticks(p, grid, sided, low, settings.layout) for p in given if isinstance(p, Relation))
    chosen = sample(found, settings.share, keys=keys)
    return ColumnPlan(name, grid, sided, chosen, relations, tuple(given), rows, len(found))


def _bounds(grid: Grid, declared: Domain) -> tuple[int, int]:
    """The declared bounds in ticks, rounded inwards; where there is none, one beyond all ticks."""
    low, high = bounds_of(declared)
    first = -MAX_TICK if low is None else grid.first_at(low)
    last = MAX_TICK if high is None else math.floor((high - grid.origin) / grid.unit)
    return first, last


def _counts_below(domain: pa.Array, given: Sequence[Property]) -> list[int]:
    """For each threshold how many of the ascending distinct values lie below it, before any rounding."""

    def number(place: int) -> Fraction:
        numbers, unit = column_numbers(domain.slice(place, 1))
        return as_fraction(numbers[0].item()) * unit

    search = {False: bisect_left, True: bisect_right}
    return [search[p.after](range(len(domain)), p.at, key=number) for p in given if isinstance(p, Threshold)]


def _on_their_sides(name: str, ticks: Ints, firsts: Sequence[int], below: Sequence[int]) -> Ints:
    """Take back where rounding carried a value over a bound or a threshold; raises where no tick lies between two."""
    sided, borders = ticks.copy(), list(zip(firsts, below, strict=True))
    for first, count in borders:
        np.minimum(sided[:count], first - 1, out=sided[:count])
        np.maximum(sided[count:], first, out=sided[count:])
    if any((sided[:count] >= first).any() or (sided[count:] < first).any() for first, count in borders):
        raise Infeasible(f"The bounds and ranges of '{name}' leave values no place on its grid of 15 digits.")
    return sided


def _cut(distinct: Ints, codes: NDArray[np.int32], low: int, high: int, settings: WalkSettings, keys: Keys) -> Segments:
    if settings.layout == "runs":
        return runs(distinct, codes, segment=settings.segment, low=low, high=high)
    draw = in_order if settings.layout == "rows" else keys
    return deal_to_segments(distinct, codes, segment=settings.segment, low=low, high=high, keys=draw)


def _require_room(name: str, segments: Segments) -> None:
    tight = int((segments.lows == segments.highs).sum())
    if tight:
        raise Infeasible(
            f"The walk cannot move {counted(tight, 'value')} of '{name}': their segments leave them a single place. "
            "Declare a wider domain, use longer segments, or publish decimals instead of whole numbers."
        )


def _firsts(grid: Grid, given: Sequence[Property]) -> Ints:
    """For each threshold the first tick above it; one beyond all ticks says as much as one just beyond them."""
    thresholds = [p for p in given if isinstance(p, Threshold)]
    found = [_first_above(grid, threshold) for threshold in thresholds]
    return np.array([max(-MAX_TICK, min(MAX_TICK, first)) for first in found], np.int64)


def _first_above(grid: Grid, threshold: Threshold) -> int:
    first = grid.first_at(threshold.at)
    is_hit = threshold.after and grid.origin + first * grid.unit == threshold.at
    return first + is_hit


def _in_ticks(relation: Relation, grid: Grid, segments: Segments, low: int, layout: str) -> TickRelation:
    """Translate a relation; raises if it does not hold, or names values that do not occur."""
    if layout != "runs":
        raise ParameterError("Relations between values need layout='runs': elsewhere a value becomes many.")
    if relation.positive and grid.origin + low * grid.unit <= 0:
        raise ParameterError(f"The ratio {str(relation)!r} needs a column above zero; declare a domain with low > 0.")
    if not relation.holds():
        raise ParameterError(f"The property {str(relation)!r} does not hold in the table, so it cannot be kept.")
    variables = tuple(_variable(value, relation, grid, segments) for value, _ in relation.terms)
    scale = math.lcm(*(coefficient.denominator for _, coefficient in relation.terms))
    coefficients = tuple(int(coefficient * scale) for _, coefficient in relation.terms)
    limit = (relation.bound * scale - grid.origin * sum(coefficients)) / grid.unit
    return TickRelation(variables, coefficients, math.ceil(limit) - 1 if relation.strict else math.floor(limit))


def _variable(value: Fraction, relation: Relation, grid: Grid, segments: Segments) -> int:
    tick = (value - grid.origin) / grid.unit
    place = int(np.searchsorted(segments.values, int(tick)))
    if tick.denominator != 1 or place == len(segments.values) or segments.values[place] != tick:
        raise ParameterError(
            f"The property {str(relation)!r} mentions a value that its column does not have, at least not in the steps "
            "in which it is published."
        )
    return place


_WIDEST = 2**60


@dataclass(frozen=True)
class TickRelation:
    """A given relation in ticks: sum of coefficient * variable <= bound."""

    variables: tuple[int, ...]
    coefficients: tuple[int, ...]
    bound: int


@dataclass(frozen=True, eq=False)
class Block:
    """Variables that are walked together; `polytope` counts from `base`, so that numbers stay small."""

    variables: Ints
    base: int
    polytope: Polytope
    given: bool


def blocks(segments: Segments, chosen: Localities, relations: Sequence[TickRelation] = ()) -> Iterator[Block]:
    """Yield the blocks of a column in the order of their first segment."""
    home = np.searchsorted(segments.offsets, np.arange(len(segments.values)), side="right") - 1
    for together, tied in _tied_segments(len(segments.offsets) - 1, home, relations):
        yield _block(segments, chosen, together, tied)


def _tied_segments(
    count: int, home: Ints, relations: Sequence[TickRelation]
) -> Iterator[tuple[list[int], list[TickRelation]]]:
    """Group the segments that share a relation, directly or over others."""
    leader = list(range(count))

    def find(segment: int) -> int:
        while leader[segment] != segment:
            segment = leader[segment]
        return segment

    for relation in relations:
        roots = sorted({find(int(home[v])) for v in relation.variables})
        for root in roots[1:]:
            leader[root] = roots[0]
    members: dict[int, tuple[list[int], list[TickRelation]]] = {}
    for segment in range(count):
        members.setdefault(find(segment), ([], []))[0].append(segment)
    for relation in relations:
        members[find(int(home[relation.variables[0]]))][1].append(relation)
    yield from members.values()


def _block(segments: Segments, chosen: Localities, together: list[int], tied: list[TickRelation]) -> Block:
    spans = [np.arange(segments.offsets[s], segments.offsets[s + 1]) for s in together]
    picks = [np.arange(chosen.offsets[s], chosen.offsets[s + 1]) for s in together]
    variables, picked = np.concatenate(spans), np.concatenate(picks)
    segment_of = np.repeat(np.arange(len(spans)), [len(span) for span in spans])
    lows, highs = segments.lows[variables], segments.highs[variables]
    base = int(lows.min())
    _require_narrow(int(highs.max()) - base, tied)
    system = _stack(
        _given_rows(variables, base, tied),
        _locality_rows(len(variables), np.searchsorted(variables, chosen.triples[picked]), chosen.nearer[picked]),
        *_order_and_bound_rows(
            np.searchsorted(variables, chosen.triples[picked]), segment_of, lows - base, highs - base
        ),
    )
    given = bool(tied) or bool((lows == highs).any())
    return Block(variables, base, Polytope(system, segments.values[variables] - base), given)


def _require_narrow(width: int, tied: Sequence[TickRelation]) -> None:
    """Sums must fit 64 bits at every point of the block."""
    heaviest = max((sum(map(abs, relation.coefficients)) for relation in tied), default=0)
    if width * max(heaviest, 4) >= _WIDEST:
        raise ParameterError("A given property has coefficients too large for its column; give them in larger units.")


def _given_rows(variables: Ints, base: int, tied: Sequence[TickRelation]) -> System:
    rows = np.zeros((len(tied), len(variables)), np.int64)
    bounds = np.zeros(len(tied), np.int64)
    for row, relation in enumerate(tied):
        rows[row, np.searchsorted(variables, relation.variables)] = relation.coefficients
        # A bound beyond what the values can reach says no more than that reach does, and has to fit 64 bits.
        bounds[row] = max(-_WIDEST, min(_WIDEST, relation.bound - base * sum(relation.coefficients)))
    return System(rows, bounds, np.full(len(tied), "given"))


def _locality_rows(size: int, triples: Ints, nearer: Bools) -> System:
    rows = np.zeros((len(triples), size), np.int64)
    every, sign = np.arange(len(triples)), np.where(nearer, 1, -1)
    rows[every, triples[:, 0]] = sign
    rows[every, triples[:, 1]] = -2 * sign
    rows[every, triples[:, 2]] = sign
    return System(rows, np.zeros(len(triples), np.int64), np.full(len(triples), "locality"))


def _order_and_bound_rows(triples: Ints, segment_of: Ints, lows: Ints, highs: Ints) -> tuple[System, System]:
    """The order of the values that localities involve, and the bounds that do not follow from it."""
    involved = np.unique(triples)
    linked = segment_of[involved[:-1]] == segment_of[involved[1:]]
    before, after = involved[:-1][linked], involved[1:][linked]
    order = np.zeros((len(before), len(lows)), np.int64)
    order[np.arange(len(before)), before], order[np.arange(len(before)), after] = 1, -1
    need_low, need_high = np.ones(len(lows), bool), np.ones(len(lows), bool)
    need_low[after] = lows[after] > lows[before]
    need_high[before] = highs[before] < highs[after]
    single = np.eye(len(lows), dtype=np.int64)
    sides = np.concatenate([-single[need_low], single[need_high]])
    limits = np.concatenate([-lows[need_low], highs[need_high]])
    return (
        System(order, np.zeros(len(order), np.int64), np.full(len(order), "order")),
        System(sides, limits, np.full(len(sides), "bound")),
    )


def _stack(*systems: System) -> System:
    return System(
        np.concatenate([system.coefficients for system in systems]),
        np.concatenate([system.bounds for system in systems]),
        np.concatenate([system.kinds for system in systems]),
    )
