"""Rows in the order of their sensitive values, equal values in a secret random order.

Guarantee  among rows of one value every order is equally likely, so that a partition that looks at this order alone
           tells nothing about which of them went where
Cost       one 64-bit key per row and a sort of them, then a counting pass
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernel import kernel
from hedgerow.randomness import Keys, system_keys

__all__ = ["by_value"]


def by_value(codes: NDArray[np.int32], counts: NDArray[np.int64], *, keys: Keys = system_keys) -> NDArray[np.int32]:
    """Return the rows value after value; `counts` are the rows of each code."""
    shuffled = np.argsort(keys(len(codes))).astype(np.int32)
    rows = np.empty(len(codes), np.int32)
    _place(codes, shuffled, np.cumsum(counts) - counts, rows)
    return rows


@kernel
def _place(
    codes: NDArray[np.int32], shuffled: NDArray[np.int32], nexts: NDArray[np.int64], rows: NDArray[np.int32]
) -> None:
    for n in range(len(shuffled)):
        row = shuffled[n]
        code = codes[row]
        rows[nexts[code]] = row
        nexts[code] += 1
