"""Hypothesis strategies for tables at the edges: skew, ties, negatives, zeros, all equal, all different, missing.

Public, for people who add methods; needs hypothesis, which hedgerow itself does not.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

__all__ = ["microdata", "numbers"]

_SHAPES = {
    "ties": st.integers(-3, 3),
    "skewed": st.sampled_from([0, 0, 0, 0, 0, 1, 5, 100]),
    "spread": st.integers(-1000, 1000),
    "large": st.integers(-(2**40), 2**40),
    "equal": st.just(7),
    "cents": st.integers(-500, 500).map(lambda cents: cents / 100),
    "floats": st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: value + 0.0),
}


@st.composite
def numbers(draw: st.DrawFn, rows: int) -> list[float]:
    """Draw a sensitive column of `rows` numbers of one of the awkward shapes."""
    shape = draw(st.sampled_from(sorted(_SHAPES)))
    column: list[Any] = draw(st.lists(_SHAPES[shape], min_size=rows, max_size=rows))
    # Negative zero is read as zero; a strategy that drew it would compare unequal bytes of equal numbers.
    return [value + 0 for value in column]


@st.composite
def microdata(draw: st.DrawFn, *, min_rows: int = 1, max_rows: int = 30) -> pa.Table:
    """Draw a table: `name` (unique), `age` and `town` (quasi-identifiers, `town` with gaps), `note` and `salary`."""
    rows = draw(st.integers(min_rows, max_rows))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=rows, max_size=rows))

    return pa.table(
        {
            "name": [f"canary-{row:05d}" for row in range(rows)],
            "age": pa.array(column(st.integers(0, 9)), pa.int64()),
            "town": pa.array(column(st.sampled_from(["Ash", "Elm", "Oak", None])), pa.string()),
            "note": pa.array(column(st.booleans()), pa.bool_()),
            "salary": draw(numbers(rows)),
        }
    )
