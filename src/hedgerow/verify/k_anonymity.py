"""Check that every published group has at least k rows."""

from __future__ import annotations

from hedgerow.errors import BrokenPromise
from hedgerow.verify.group_counts import Counted, Parameters

__all__ = ["check_k"]


def check_k(column: Counted, parameters: Parameters) -> str:
    """At least k rows."""
    k = int(parameters["k"])
    if few := int((column.sizes < k).sum()):
        raise BrokenPromise(f"{few} group(s) have fewer than {k} rows.")
    return f"at least {k} rows ({column.sizes.min():,} to {column.sizes.max():,})"
