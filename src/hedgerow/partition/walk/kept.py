"""What will be kept of a column: its grid, its segments, the sampled localities and the given properties.

Source     [Xue 2011], sections 3 and 4
Guarantee  every property that is planned holds for the column as it is
Cost       O(u s) time on u distinct values in segments of s

This is where properties in the column's own terms become rows over ticks.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.criteria.properties import Property, Relation, Threshold
from hedgerow.errors import Infeasible, ParameterError
from hedgerow.exact import MAX_TICK, as_fraction, column_numbers
from hedgerow.partition.walk.blocks import TickRelation
from hedgerow.partition.walk.grid import Grid, bounds_of, grid_of
from hedgerow.partition.walk.segments import Localities, Segments, keep_sides, localities, runs, sample, scattered
from hedgerow.randomness import Keys

if TYPE_CHECKING:
    from hedgerow.schema import Domain
    from hedgerow.table import Encoded

__all__ = ["Kept", "Settings", "plan_column"]


@dataclass(frozen=True)
class Settings:
    """How a column is to be cut and what of it is to be kept."""

    share: float
    segment: int
    layout: str
    whole: bool


@dataclass(frozen=True, eq=False)
class Kept:
    """The plan of one column. `rows` are the rows that have a value; `found` counts localities before sampling."""

    column: str
    grid: Grid
    segments: Segments
    chosen: Localities
    relations: tuple[TickRelation, ...]
    given: tuple[Property, ...]
    rows: NDArray[np.int64]
    found: int

    def __str__(self) -> str:
        count = len(self.segments.offsets) - 1
        segments = "1 segment" if count == 1 else f"{count:,} segments"
        text = (
            f"'{self.column}': {len(self.segments.values):,} values in {segments}, published in steps of "
            f"{float(self.grid.unit):g}; {len(self.chosen):,} of {self.found:,} localities, the order of the values "
            "that they involve, and the bounds of each segment"
        )
        return "; ".join([text, *(f"given: {given}" for given in self.given)])


def plan_column(
    name: str, encoded: Encoded, declared: Domain, given: Sequence[Property], settings: Settings, *, keys: Keys
) -> Kept:
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
    return Kept(name, grid, sided, chosen, relations, tuple(given), rows, len(found))


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


def _on_their_sides(
    name: str, ticks: NDArray[np.int64], firsts: Sequence[int], below: Sequence[int]
) -> NDArray[np.int64]:
    """Take back where rounding carried a value over a bound or a threshold; raises where no tick lies between two."""
    sided, borders = ticks.copy(), list(zip(firsts, below, strict=True))
    for first, count in borders:
        np.minimum(sided[:count], first - 1, out=sided[:count])
        np.maximum(sided[count:], first, out=sided[count:])
    if any((sided[:count] >= first).any() or (sided[count:] < first).any() for first, count in borders):
        raise Infeasible(f"The bounds and ranges of '{name}' leave values no place on its grid of 15 digits.")
    return sided


def _cut(
    distinct: NDArray[np.int64], codes: NDArray[np.int32], low: int, high: int, settings: Settings, keys: Keys
) -> Segments:
    if settings.layout == "runs":
        return runs(distinct, codes, segment=settings.segment, low=low, high=high)
    return scattered(distinct, codes, segment=settings.segment, low=low, high=high, keys=keys)


def _require_room(name: str, segments: Segments) -> None:
    tight = int((segments.lows == segments.highs).sum())
    if tight:
        raise Infeasible(
            f"The walk cannot move {tight:,} values of '{name}': their segments leave them a single place. "
            "Declare a wider domain, use longer segments, or publish decimals instead of whole numbers."
        )


def _firsts(grid: Grid, given: Sequence[Property]) -> NDArray[np.int64]:
    """For each threshold the first tick above it; one beyond all ticks says as much as one just beyond them."""
    thresholds = [p for p in given if isinstance(p, Threshold)]
    found = [_first_above(grid, threshold) for threshold in thresholds]
    return np.array([max(-MAX_TICK, min(MAX_TICK, first)) for first in found], np.int64)


def _first_above(grid: Grid, threshold: Threshold) -> int:
    first = grid.first_at(threshold.at)
    is_hit = threshold.after and grid.origin + first * grid.unit == threshold.at
    return first + is_hit


def _in_ticks(relation: Relation, grid: Grid, segments: Segments, low: int, layout: str) -> TickRelation:
    """Translate a relation; raises where it does not hold, or speaks of values that are not there."""
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
