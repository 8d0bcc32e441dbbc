"""Mean and variance of MIN or MAX as SQL: a walk along the help table's sorted values.

The chance that a minimum lies above a value is the product, over all values up to it, of the chance that the rows hit
miss it: (N - h - t) / (N - t) for the t-th smallest value (from 0) of a group of N rows with h hits. Only values up to
the upper bound matter. A maximum is the same downwards. Row h of a group in `help` holds the h-th smallest and largest
value.
"""

from __future__ import annotations

from collections.abc import Iterator

from hedgerow.query.sql.printing import select_sql

__all__ = ["extreme_sql"]

_HIT = 'hits JOIN help USING ("group", hits)'
_MISSED = "greatest(size - reach.hits - help.hits + 1, 0) / CAST(size - help.hits + 1 AS DOUBLE) AS missed"


def extreme_sql(n: int, function: str, keys: list[str], min_upper: str, max_lower: str) -> Iterator[tuple[str, str]]:
    """Name and text of the tables that end in spread_n, with mean_n and variance_n per combination of keys."""
    is_min = function == "min"
    bound, value = (min_upper, max_lower) if is_min else (max_lower, min_upper)
    partition = f"PARTITION BY {', '.join(keys)}" if keys else ""
    over = f"OVER ({partition} ORDER BY gap{'' if is_min else ' DESC'})".replace("( ", "(")
    reach = [*keys, '"group"', "hits", f"{function}({bound}) OVER ({partition}) AS bound"]
    yield f"reach_{n}", select_sql(reach, _HIT)
    points = [*keys, "bound", f"CAST({value} - bound AS DOUBLE) AS gap", _MISSED]
    in_reach = f"\nWHERE {value} {'<=' if is_min else '>='} bound"
    yield f"points_{n}", select_sql(points, f'reach_{n} AS reach JOIN help USING ("group")') + in_reach
    # DISTINCT leaves one row per value, with the chance to miss all its copies.
    steps = [*keys, "bound", "gap", f"product(missed) {over} AS survival"]
    yield f"steps_{n}", select_sql(steps, f"points_{n}", "SELECT DISTINCT")
    chances = [*keys, "bound", "gap", f"lag(survival, 1, 1.0) {over} - survival AS chance"]
    yield f"chances_{n}", select_sql(chances, f"steps_{n}")
    # Squares of distances from the mean: those from the bound would lose the digits that differ.
    centred = [*keys, "bound", "chance", f"sum(gap * chance) OVER ({partition}) AS shift", "gap"]
    yield f"centred_{n}", select_sql(centred, f"chances_{n}")
    yield f"spread_{n}", _moments(n, keys)


def _moments(n: int, keys: list[str]) -> str:
    mean = f"CAST(any_value(bound) AS DOUBLE) + any_value(shift) AS mean_{n}"
    variance = f"sum((gap - shift) * (gap - shift) * chance) AS variance_{n}"
    grouped = f"\nGROUP BY {', '.join(keys)}" if keys else ""
    return select_sql([*keys, mean, variance], f"centred_{n}") + grouped
