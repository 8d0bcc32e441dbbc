"""GROUP BY of a hidden column: every cell is split by the values that its rows may have."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.query.evidence.groups import Hits, Ints, Values
from hedgerow.query.evidence.regroup import by_value, in_parts
from hedgerow.query.evidence.rows import Numbers
from hedgerow.query.evidence.view import View, missing_rows

__all__ = ["HiddenKey"]


class HiddenKey:
    """The cells of a hidden column `key`: of each the cell that it is part of (`old`) and the key's value."""

    def __init__(self, view: View, key: str, pieces: list[tuple[Hits, NDArray[np.bool_]]]) -> None:
        """Take pieces of rows hit, each with the published values that its rows may take."""
        self._view, self._key, self._pieces = view, key, pieces
        self._width = len(view.codes(key).domain) + 1
        split = [by_value(view, hits, key, marked)[2:] for hits, marked in pieces]
        self._cells: Ints = np.unique(np.concatenate([old * self._width + code for old, code in split]))

    @property
    def old(self) -> Ints:
        """The cell of which each is a part."""
        return self._cells // self._width

    @property
    def values(self) -> pa.Array:
        """The value of the key in each cell."""
        domain = self._view.codes(self._key).domain
        return pa.concat_arrays([domain, pa.nulls(1, domain.type)]).take(pa.array(self._cells % self._width))

    def evidence(self, name: str = "", ticks: Numbers | None = None) -> tuple[Hits, Values]:
        """Rows hit and values drawn: those of a column `name`, where present, or the rows themselves."""
        parts = []
        for hits, marked in self._pieces:
            counted = marked & ~missing_rows(self._view, name) if name else marked
            found, values, old, code = by_value(self._view, hits, self._key, counted, ticks, name)
            parts.append((self._placed(found, old, code), values))
        return in_parts(parts)

    def _placed(self, hits: Hits, old: Ints, code: Ints) -> Hits:
        """Number cells over all pieces; some have no value that is present."""
        place = np.searchsorted(self._cells, old * self._width + code)
        return Hits(
            len(self._cells), place[hits.cell], hits.group, hits.lower, hits.upper, hits.expected, hits.variance
        )
