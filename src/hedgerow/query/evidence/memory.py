"""What a view remembers between questions: the arrays used last, within a number of bytes.

A question that needs what was forgotten computes it again. What it holds itself stays as long as it needs it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["LEAST", "PER_ROW", "Recent", "bytes_of"]

LEAST = 64 * 2**20
"""Bytes that may be remembered of a table of any size."""
PER_ROW = 160
"""Bytes that may be remembered per row of a large table: some ten columns as codes, two of them sorted with sums."""


class Recent:
    """Results by key; those that were asked for longest ago are forgotten first."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._kept: OrderedDict[str, Any] = OrderedDict()

    def remember(self, key: str, make: Callable[[], Any]) -> Any:
        """Return what `make` gave when last asked, if it is still there."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        made = make()
        self._kept[key] = made
        self._forget()
        return made

    @property
    def size(self) -> int:
        """The bytes of all that is remembered."""
        seen: set[int] = set()
        return sum(bytes_of(made, seen) for made in self._kept.values())

    def _forget(self) -> None:
        """Results grow after they were made (sums, mirror images), so all are measured again."""
        seen: set[int] = set()
        total = 0
        for key in reversed(list(self._kept)):
            total += bytes_of(self._kept[key], seen)
            if total > self._budget and key != next(reversed(self._kept)):
                del self._kept[key]


def bytes_of(item: Any, seen: set[int]) -> int:
    """The bytes of the arrays that an object holds, each once; other views and releases are not its own."""
    if id(item) in seen or item is None or isinstance(item, str | int | float | bool | type):
        return 0
    seen.add(id(item))
    if isinstance(item, np.ndarray):
        return bytes_of(item.base, seen) if item.base is not None else item.nbytes
    if isinstance(item, pa.Array | pa.ChunkedArray):
        return int(item.nbytes)
    if isinstance(item, tuple | list):
        return sum(bytes_of(part, seen) for part in item)
    if isinstance(item, dict):
        return sum(bytes_of(part, seen) for part in item.values())
    is_own = type(item).__module__.startswith("hedgerow.query") and not hasattr(item, "remember")
    return bytes_of(vars(item), seen) if is_own and hasattr(item, "__dict__") else 0
