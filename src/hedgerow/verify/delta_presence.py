"""Check that the share of members in every published group lies between the promised bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from hedgerow.errors import BrokenPromise
from hedgerow.verify.group_counts import Counted, Parameters

__all__ = ["check_presence"]


def check_presence(column: Counted, parameters: Parameters) -> str:
    """Members are those whose value is true, or the greater of two values."""
    low, high = Fraction(parameters["presence_low"]), Fraction(parameters["presence_high"])
    listed = column.values.to_pylist()
    if len(column.overall) > 2:
        raise BrokenPromise(f"'{column.name}' must tell members from others; it has more than two values.")
    members = 0 if listed == [True] else 1
    is_member = column.codes == members
    present = np.bincount(column.owners[is_member], weights=column.counts[is_member], minlength=len(column.sizes))
    pairs = np.unique(np.stack([present.astype(np.int64), column.sizes], axis=1), axis=0).tolist()
    if not all(low <= Fraction(count, size) <= high for count, size in pairs):
        raise BrokenPromise(f"A group's share of members in '{column.name}' is outside the promised bounds.")
    return f"a share of members from {parameters['presence_low']} to {parameters['presence_high']}"
