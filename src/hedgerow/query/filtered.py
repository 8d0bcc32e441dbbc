"""FILTER: aggregates with conditions of their own are questions of their own, put side by side by their groups.

So `min(x) FILTER (WHERE c)` has the bounds of `SELECT min(x) ... WHERE c`, whatever the form, and a group in which no
row can satisfy `c` has 0 or NULL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.query.answer import Estimate, Result
from hedgerow.query.sql.bind import narrowed
from hedgerow.query.sql.question import ALWAYS, SLOT, Aggregate, Bound, Key, Predicate

__all__ = ["parts_of", "run_filtered"]

_ROWS = Aggregate("count", None, f"{SLOT}rows of groups")


def parts_of(bound: Bound) -> list[Bound]:
    """The questions that a question with FILTER is made of; without it, the question itself."""
    conditions = dict.fromkeys(item.where for item in bound.aggregates)
    if set(conditions) <= {ALWAYS}:
        return [bound]
    shown = {key.column for key in bound.keys}
    more = tuple(Key(group, f"{SLOT}group {place}") for place, group in enumerate(bound.groups) if group not in shown)
    keyed = replace(bound, keys=(*bound.keys, *more))
    return [_part(keyed, condition) for condition in dict.fromkeys((ALWAYS, *conditions))]


def _part(bound: Bound, condition: Predicate) -> Bound:
    items = tuple(replace(item, where=ALWAYS) for item in bound.aggregates if item.where == condition)
    return narrowed(bound, condition, items if condition != ALWAYS else (*items, _ROWS))


def run_filtered(run: Callable[[Bound], Result], bound: Bound) -> Result:
    """Answer the questions that a question is made of; the first has all its groups."""
    parts = parts_of(bound)
    if len(parts) == 1 and parts[0] is bound:
        return run(bound)
    whole = run(parts[0])
    estimates: dict[str, Estimate] = {name: found for name, found in whole.estimates.items() if name != _ROWS.alias}
    places = {key: cell for cell, key in enumerate(_rows(whole.keys, whole.cells))}
    counts = {item.alias for item in bound.aggregates if item.function in ("count", "distinct")}
    for part in parts[1:]:
        found = run(part)
        cells = np.array([places[key] for key in _rows(found.keys, found.cells)], dtype=np.int64)
        for name, estimate in found.estimates.items():
            estimates[name] = _spread(estimate, cells, whole.cells, is_count=name in counts)
    return replace(whole, estimates=estimates)


def _rows(keys: Mapping[str, pa.Array], cells: int) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in keys.values()), strict=True)) if keys else [()] * cells


def _spread(estimate: Estimate, cells: np.ndarray, number: int, *, is_count: bool) -> Estimate:
    """Put answers at their groups; the others have none, or zero rows."""
    nothing = Fraction(0) if is_count else None

    def at(values: list[Any], empty: Any) -> list[Any]:
        whole = [empty] * number
        for cell, value in zip(cells, values, strict=True):
            whole[cell] = value
        return whole

    return replace(
        estimate,
        lower=at(estimate.lower, nothing),
        upper=at(estimate.upper, nothing),
        expected=at(estimate.expected, 0.0 if is_count else math.nan),
        std=at(estimate.std, 0.0),
        exact=at(estimate.exact, estimate.is_bounded),
        slack=None if estimate.slack is None else at(estimate.slack, Fraction(0)),
        reached=None if estimate.reached is None else at(estimate.reached, True),
        endless=None if estimate.endless is None else at(estimate.endless, False),
        shake=None if estimate.shake is None else at(estimate.shake, Fraction(0)),
    )
