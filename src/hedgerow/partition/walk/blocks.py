"""From segments, sampled localities and given relations to the polytopes that are walked.

Source     [Xue 2011], sections 3 and 4
Guarantee  the rows of a block's system are the properties that the release will keep, no more and no fewer
Cost       O(m n) per block of n values and m properties

A block is a segment, or several that a given relation ties together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.partition.walk.polytope import Polytope, System
from hedgerow.partition.walk.segments import Localities, Segments

__all__ = ["Block", "TickRelation", "blocks"]

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

    variables: NDArray[np.int64]
    base: int
    polytope: Polytope
    given: bool


def blocks(segments: Segments, chosen: Localities, relations: Sequence[TickRelation] = ()) -> Iterator[Block]:
    """Yield the blocks of a column in the order of their first segment."""
    home = np.searchsorted(segments.offsets, np.arange(len(segments.values)), side="right") - 1
    for together, tied in _tied_segments(len(segments.offsets) - 1, home, relations):
        yield _block(segments, chosen, together, tied)


def _tied_segments(
    count: int, home: NDArray[np.int64], relations: Sequence[TickRelation]
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
    system = _stacked(
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


def _given_rows(variables: NDArray[np.int64], base: int, tied: Sequence[TickRelation]) -> System:
    rows = np.zeros((len(tied), len(variables)), np.int64)
    bounds = np.zeros(len(tied), np.int64)
    for row, relation in enumerate(tied):
        rows[row, np.searchsorted(variables, relation.variables)] = relation.coefficients
        # A bound beyond what the values can reach says no more than that reach does, and has to fit 64 bits.
        bounds[row] = max(-_WIDEST, min(_WIDEST, relation.bound - base * sum(relation.coefficients)))
    return System(rows, bounds, np.full(len(tied), "given"))


def _locality_rows(size: int, triples: NDArray[np.int64], nearer: NDArray[np.bool_]) -> System:
    rows = np.zeros((len(triples), size), np.int64)
    every, sign = np.arange(len(triples)), np.where(nearer, 1, -1)
    rows[every, triples[:, 0]] = sign
    rows[every, triples[:, 1]] = -2 * sign
    rows[every, triples[:, 2]] = sign
    return System(rows, np.zeros(len(triples), np.int64), np.full(len(triples), "locality"))


def _order_and_bound_rows(
    triples: NDArray[np.int64], segment_of: NDArray[np.int64], lows: NDArray[np.int64], highs: NDArray[np.int64]
) -> tuple[System, System]:
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


def _stacked(*systems: System) -> System:
    return System(
        np.concatenate([system.coefficients for system in systems]),
        np.concatenate([system.bounds for system in systems]),
        np.concatenate([system.kinds for system in systems]),
    )
