"""Measures of loss, one function each, and workloads of random questions."""

from hedgerow.utility.widths import (
    RandomQuery,
    arbitrary_queries,
    range_columns,
    range_queries,
    relative_error,
    typical_widths,
)

__all__ = [
    "RandomQuery",
    "arbitrary_queries",
    "range_columns",
    "range_queries",
    "relative_error",
    "typical_widths",
]
