"""From a plan to a replaced column: walk its blocks, write down its properties, measure what adversaries learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.attack.adversaries.aligned import identity, known_sample, rank
from hedgerow.attack.finding import Rate
from hedgerow.exact import written
from hedgerow.partition.walk.blocks import Block, blocks
from hedgerow.partition.walk.kept import Kept
from hedgerow.partition.walk.parallel import Trip, walk_blocks
from hedgerow.partition.walk.polytope import sparse_rows
from hedgerow.randomness import Keys
from hedgerow.release.forms.substituted import PropertyTerms

__all__ = ["Replaced", "measured", "walked"]

_MOST_DISTANCES = 30_000_000


@dataclass(frozen=True, eq=False)
class Replaced:
    """A column that was walked. `before` and `after` are ticks of the rows that have a value, `rows` says which."""

    column: str
    published: pa.Array
    terms: PropertyTerms
    rows: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    pinned: int
    trips: tuple[Trip, ...]

    @property
    def unchanged(self) -> float:
        """The share of rows that kept their value."""
        return float((self.before == self.after).mean())


def walked(
    plan: Kept, rows: int, *, steps: int | str, keys: Keys, progress: Callable[[float], None] = lambda done: None
) -> Replaced:
    """Walk a column of `rows` rows."""
    segments = plan.segments
    found = list(blocks(segments, plan.chosen, plan.relations))
    trips = walk_blocks(found, column=plan.column, steps=steps, keys=keys, progress=progress)
    ends = np.empty_like(segments.values)
    for trip in trips:
        ends[trip.block.variables] = trip.point + trip.block.base
    return Replaced(
        column=plan.column,
        published=_published(plan, ends, rows),
        terms=_terms(plan, found, _representatives(plan, keys)),
        rows=plan.rows,
        before=segments.values[segments.variables],
        after=ends[segments.variables],
        pinned=sum(trip.pinned for trip in trips),
        trips=tuple(trips),
    )


NUMBERS_ALONE = ", by the replaced numbers alone"


def measured(results: Sequence[Replaced], same: NDArray[np.int64] | None, *, keys: Keys) -> dict[str, Rate]:
    """Attack the replaced columns; only rows that have a value in all of them can be linked.

    `same` codes each row's quasi-identifiers that are published as they are. Whoever knows a person knows these, too,
    so the rates are theirs; those by the replaced numbers alone stand beside them.
    """
    shared = results[0].rows
    for result in results[1:]:
        shared = np.intersect1d(shared, result.rows)
    rates: dict[str, Rate] = {}
    if len(shared) > 1:
        before, after = (_aligned(results, shared, which) for which in ("before", "after"))
        targets = max(50, min(1000, _MOST_DISTANCES // len(shared)))
        for name, attack in (("identity", identity), ("rank", rank)):
            if same is not None:
                rates[name] = attack(before, after, same=same[shared], targets=targets, keys=keys)
            alone = name if same is None else name + NUMBERS_ALONE
            rates[alone] = attack(before, after, targets=targets, keys=keys)
    for result in results:
        if len(result.rows) > 1:
            before, after = result.before.astype(float), result.after.astype(float)
            rates[f"known sample of '{result.column}'"] = known_sample(before, after, keys=keys)
    return rates


def _aligned(results: Sequence[Replaced], shared: NDArray[np.int64], which: str) -> NDArray[np.float64]:
    columns = [getattr(result, which)[np.searchsorted(result.rows, shared)] for result in results]
    return np.column_stack(columns).astype(float)


def _published(plan: Kept, ends: NDArray[np.int64], rows: int) -> pa.Array:
    """The column as published; rows without a value stay without one."""
    values = plan.grid.values(ends)
    place = np.zeros(rows, np.int64)
    empty = np.ones(rows, bool)
    place[plan.rows], empty[plan.rows] = plan.segments.variables, False
    return values.take(pa.array(place, mask=empty))


def _representatives(plan: Kept, keys: Keys) -> NDArray[np.int64]:
    """For each variable a row that has it, chosen at random: the first one would tell of the input's order."""
    order = np.argsort(keys(len(plan.rows)))
    chosen = np.empty(len(plan.segments.values), np.int64)
    chosen[plan.segments.variables[order]] = plan.rows[order]
    return chosen


def _terms(plan: Kept, found: Sequence[Block], rows: NDArray[np.int64]) -> PropertyTerms:
    starts = np.cumsum([0, *(len(block.polytope.system.bounds) for block in found)])
    parts = [sparse_rows(block.polytope.system.coefficients) for block in found]
    numbers = [np.repeat(np.arange(len(part[0]) - 1), np.diff(part[0])) for part in parts]
    return PropertyTerms(
        column=plan.column,
        properties=np.concatenate([n + start for n, start in zip(numbers, starts[:-1], strict=True)]),
        rows=np.concatenate([rows[block.variables[part[1]]] for block, part in zip(found, parts, strict=True)]),
        coefficients=np.concatenate([part[2] for part in parts]),
        kinds=np.concatenate([block.polytope.system.kinds for block in found]),
        limits=[limit for block in found for limit in _limits(plan, block)],
    )


def _limits(plan: Kept, block: Block) -> list[str]:
    """The bounds of a block's properties in the column's own terms."""
    system = block.polytope.system
    weights: list[Any] = system.coefficients.sum(axis=1).tolist()
    grid, base = plan.grid, block.base
    return [
        written(grid.unit * (bound + base * weight) + grid.origin * weight) if bound or weight else "0"
        for bound, weight in zip(system.bounds.tolist(), weights, strict=True)
    ]
