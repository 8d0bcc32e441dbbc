"""The walk as the paper prints it, and with the whole chord: what hedgerow's own walk is measured against.

Source     [Xue 2011], section 4
Cost       O(m n) per step for m properties of n values: every property sees every value

Nothing is published from here. With `half` the step goes forward only, as printed; else anywhere on the chord, which is
hit-and-run. Whole tables are walked as the paper does it: blocks of consecutive rows, equal values apart, no order
constraints, from the data on, a fixed number of steps. Each locality touches three values, so a step costs O(m + n).
Directions of blocks are made of 65,536 equally likely normal numbers, drawn ten times as fast as others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats
from hedgerow.kernel import kernel
from hedgerow.partition.walk.segments import Localities, localities, sample
from hedgerow.randomness import Keys, generator, seeded_keys

_MOST_BLOCKS = 1 << 20
_LEVELS = 1 << 16

__all__ = ["Blocks", "blocks_of_rows", "normal_numbers", "printed_walk", "walk_blocks_as_printed"]


def printed_walk(
    coefficients: NDArray[np.float64],
    bounds: NDArray[np.float64],
    start: NDArray[np.float64],
    *,
    steps: int,
    half: bool,
    keys: Keys,
    states: int = 256,
) -> NDArray[np.float64]:
    """Walk `steps` steps in random directions inside coefficients @ x <= bounds; return states at equal distances."""
    ways = _normal(keys, steps * len(start)).reshape(steps, len(start))
    lengths = _uniform(keys, steps)
    trace = np.empty((min(states, steps), len(start)))
    slacks = bounds - coefficients @ start
    _printed_walk.compiled(np.ascontiguousarray(coefficients), slacks, start.copy(), ways, lengths, half, trace)
    return trace


def _uniform(keys: Keys, count: int) -> NDArray[np.float64]:
    return (keys(count) >> np.uint64(11)).astype(float) / 2.0**53


def _normal(keys: Keys, count: int) -> NDArray[np.float64]:
    """Normal numbers by Box and Muller."""
    radius = np.sqrt(-2.0 * np.log1p(-_uniform(keys, count)))
    numbers: NDArray[np.float64] = radius * np.cos(2.0 * np.pi * _uniform(keys, count))
    return numbers


@kernel
def _printed_walk(
    coefficients: NDArray[np.float64],
    slacks: NDArray[np.float64],
    point: NDArray[np.float64],
    ways: NDArray[np.float64],
    lengths: NDArray[np.float64],
    half: bool,
    trace: NDArray[np.float64],
) -> None:
    rows, size = coefficients.shape
    steps = len(lengths)
    rates = np.zeros(rows)
    kept = 0
    for step in range(steps):
        back, forth = np.inf, np.inf
        for row in range(rows):
            rate = 0.0
            for n in range(size):
                rate += coefficients[row, n] * ways[step, n]
            rates[row] = rate
            if rate > 0.0:
                forth = min(forth, max(slacks[row], 0.0) / rate)
            elif rate < 0.0:
                back = min(back, max(slacks[row], 0.0) / -rate)
        length = forth * lengths[step] if half else (back + forth) * lengths[step] - back
        for n in range(size):
            point[n] += length * ways[step, n]
        for row in range(rows):
            slacks[row] -= length * rates[row]
        while kept < len(trace) and (kept + 1) * steps <= (step + 1) * len(trace):
            trace[kept] = point
            kept += 1


@dataclass(frozen=True, eq=False)
class Blocks:
    """A column in blocks of consecutive rows: the rows by block and ascending inside it, their values, localities."""

    rows: NDArray[np.int64]
    values: NDArray[np.float64]
    offsets: NDArray[np.int64]
    chosen: Localities
    low: float
    high: float


def blocks_of_rows(
    column: NDArray[np.float64],
    share: float,
    *,
    segment: int,
    seed: int,
    unit: float = 1.0,
    domain: tuple[float, float] | None = None,
) -> Blocks:
    """Cut a column into blocks of `segment` consecutive rows, ties apart, and sample a share of their localities.

    The values are whole multiples of `unit`; a domain that is not given runs from the least value to the greatest.
    """
    block = np.arange(len(column)) // segment
    rows = np.lexsort((column, block))
    whole = np.rint(column[rows] / unit).astype(np.int64)
    offsets = np.append(np.flatnonzero(np.diff(block, prepend=-1)), len(column))
    chosen = sample(localities(whole, offsets), share, keys=seeded_keys(seed))
    low, high = domain or (float(column.min()), float(column.max()))
    return Blocks(rows, column[rows], offsets, _tightest_first(chosen, whole), low, high)


def _tightest_first(chosen: Localities, whole: NDArray[np.int64]) -> Localities:
    """Localities of each block by their slack at the data: those without any end most steps before they begin."""
    first, second, third = whole[chosen.triples].T
    block = np.repeat(np.arange(len(chosen.offsets) - 1), np.diff(chosen.offsets))
    order = np.lexsort((np.abs(first - 2 * second + third), block))
    return replace(chosen, triples=chosen.triples[order], nearer=chosen.nearer[order])


@cache
def normal_numbers() -> NDArray[np.float64]:
    """The normal numbers in the middle of 65,536 equally likely intervals."""
    from scipy.special import ndtri

    numbers: NDArray[np.float64] = ndtri((np.arange(_LEVELS) + 0.5) / _LEVELS)
    return numbers


def walk_blocks_as_printed(blocks: Blocks, *, steps: int, seed: int, only: NDArray[np.int64] | None = None) -> Floats:
    """Walk every block (or those in `only`) from the data, as printed; return the values of the rows in their order.

    A block's draws depend on the seed and its place alone, so that some of the blocks move as they do among all.
    """
    points, normal = blocks.values.copy(), normal_numbers()
    for block in range(len(blocks.offsets) - 1) if only is None else only.tolist():
        rng = generator(seed * _MOST_BLOCKS + block)
        first, last = blocks.offsets[block], blocks.offsets[block + 1]
        picked = slice(blocks.chosen.offsets[block], blocks.chosen.offsets[block + 1])
        _walk_one_block.compiled(
            points[first:last],
            np.ascontiguousarray(blocks.chosen.triples[picked].T - np.int32(first), np.uint64),
            np.where(blocks.chosen.nearer[picked], 1.0, -1.0),
            normal,
            rng.integers(0, _LEVELS, (steps, int(last - first)), dtype=np.uint16),
            rng.random(steps),
            (blocks.low, blocks.high),
        )
    found = np.empty_like(points)
    found[blocks.rows] = points
    return found


@kernel
def _walk_one_block(
    point: NDArray[np.float64],
    triples: NDArray[np.uint64],
    signs: NDArray[np.float64],
    normal: NDArray[np.float64],
    draws: NDArray[np.uint16],
    lengths: NDArray[np.float64],
    ends: tuple[float, float],
) -> None:
    """Half-chord steps inside sign * (x_i - 2 x_j + x_k) <= 0 and the domain; a step without room is not made.

    `draws` name the normal numbers of each step's direction. Slacks are never below 0, so that one comparison finds
    both that a property is approached and that it is nearest.
    """
    count, size = len(signs), len(point)
    first, second, third = triples[0], triples[1], triples[2]
    slacks, rates, way = np.empty(count), np.empty(count), np.empty(size)
    for row in range(count):
        slack = -signs[row] * (point[first[row]] - 2.0 * point[second[row]] + point[third[row]])
        slacks[row] = max(slack, 0.0)
    for step in range(len(lengths)):
        forth = np.inf
        for n in range(size):
            way[n] = normal[draws[step, n]]
        for row in range(count):
            rate = signs[row] * (way[first[row]] - 2.0 * way[second[row]] + way[third[row]])
            rates[row] = rate
            if slacks[row] < forth * rate:
                forth = slacks[row] / rate
                if forth == 0.0:
                    break
        if forth == 0.0:
            continue
        for n in range(size):
            room = ends[1] - point[n] if way[n] > 0.0 else point[n] - ends[0]
            if room < forth * abs(way[n]):
                forth = max(room, 0.0) / abs(way[n])
        length = forth * lengths[step]
        for n in range(size):
            point[n] += length * way[n]
        for row in range(count):
            slacks[row] = max(slacks[row] - length * rates[row], 0.0)
