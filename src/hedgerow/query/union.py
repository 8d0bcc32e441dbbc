"""UNION ALL and groupings: the rows of several answers, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa

from hedgerow.errors import QueryError
from hedgerow.query.answer import Estimate, Result, Rounding
from hedgerow.query.answered import Answered, exact_numbers
from hedgerow.query.calculated import Uncertain

__all__ = ["stack", "stack_results"]


def stack(parts: Sequence[Answered]) -> Answered:
    """UNION ALL: the rows of all parts under the names of the first."""
    first = parts[0]
    if any(len(part.names) != len(first.names) for part in parts):
        raise QueryError("the parts of UNION ALL must have equally many columns")
    keys: dict[str, pa.Array] = {}
    numbers: dict[str, Uncertain] = {}
    for place, name in enumerate(first.names):
        columns = [part.keys.get(part.names[place]) for part in parts]
        if all(column is not None for column in columns):
            keys[name] = _concatenate(columns)
        else:
            numbers[name] = _concatenated_numbers([_numbers_at(part, place) for part in parts])
    flags = [(sure, hope) for part in parts for sure, hope in zip(part.sure, part.expected, strict=True)]
    return Answered(keys, numbers, [sure for sure, _ in flags], [hope for _, hope in flags], tuple(first.names))


def stack_results(results: Sequence[Result], names: Sequence[str]) -> Result:
    """The rows of several answers under common names; a key that one of them does not have is NULL there."""
    cells = sum(result.cells for result in results)
    keys: dict[str, pa.Array] = {}
    estimates: dict[str, Estimate] = {}
    for name in names:
        owners = [result.keys[name] for result in results if name in result.keys]
        if owners:
            kind = owners[0].type
            columns = [result.keys.get(name, pa.nulls(result.cells, kind)) for result in results]
            keys[name] = pa.concat_arrays(columns)
        else:
            estimates[name] = _below([result.estimates[name] for result in results])
    sure = [there for result in results for there in result.sure or [True] * result.cells]
    is_picked = any(result.is_picked for result in results)
    return Result(keys, estimates, cells, None if all(sure) else sure, is_picked)


def _below(parts: Sequence[Estimate]) -> Estimate:
    """Estimates of one result, one below the other."""
    first = parts[0]

    def join(name: str, empty: Any) -> list[Any]:
        return [value for part in parts for value in (getattr(part, name) or [empty] * len(part.lower))]

    return replace(
        first,
        lower=join("lower", None),
        upper=join("upper", None),
        expected=join("expected", None),
        std=join("std", None),
        exact=join("exact", None),
        slack=join("slack", Fraction(0)) if any(part.slack is not None for part in parts) else None,
        reached=join("reached", True) if any(part.reached is not None for part in parts) else None,
        endless=join("endless", False) if any(part.endless is not None for part in parts) else None,
        shake=join("shake", Fraction(0)) if any(part.shake is not None for part in parts) else None,
        is_known=all(part.is_known for part in parts),
        is_decimal=all(part.is_decimal for part in parts),
    )


def _numbers_at(part: Answered, place: int) -> Uncertain:
    name = part.names[place]
    return part.numbers[name] if name in part.numbers else exact_numbers(part.keys[name])


def _concatenate(columns: Sequence[Any]) -> pa.Array:
    try:
        return (
            pa.concat_tables([pa.table({"x": column}) for column in columns], promote_options="permissive")
            .column(0)
            .combine_chunks()
        )
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        raise QueryError("the parts of UNION ALL must have columns of one kind, in the same order") from None


def _concatenated_numbers(columns: Sequence[Uncertain]) -> Uncertain:
    estimates = [column.estimate for column in columns]
    if any(estimate.rounding is Rounding.VALUE for estimate in estimates):
        raise QueryError("UNION ALL stacks numbers; texts and dates that were found can be asked one by one")
    roundings = {estimate.rounding for estimate in estimates}
    pairs = [pair for estimate in estimates for pair in estimate.widened()]
    made = Estimate(
        [None if pair is None else pair[0] for pair in pairs],
        [None if pair is None else pair[1] for pair in pairs],
        [mean for estimate in estimates for mean in estimate.means()],
        [std for estimate in estimates for std in estimate.std],
        [exact for estimate in estimates for exact in estimate.exact],
        roundings.pop() if len(roundings) == 1 else Rounding.OUTWARD,
        is_bounded=all(estimate.is_bounded for estimate in estimates),
        reached=[estimate.is_firm(row) for estimate in estimates for row in range(len(estimate.lower))],
        endless=[flag for estimate in estimates for flag in estimate.endless or [False] * len(estimate.lower)],
        is_decimal=all(estimate.is_decimal or estimate.rounding is Rounding.WHOLE for estimate in estimates),
    )
    return Uncertain(made, [gap for column in columns for gap in column.gaps])
