"""Ranges that begin and end where boxes do: of a column that is published as ranges only these take boxes whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hedgerow.query import connect
from hedgerow.release.forms import PERMUTED
from hedgerow.release.forms.generalized import box_columns
from hedgerow.release.release import PublishedColumns
from hedgerow.utility.rephrase import Range

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["Boundaries", "boundaries_of"]


class Boundaries:
    """The ends of a column's boxes, and which of them a range holds."""

    def __init__(self, lows: Sequence[Any], highs: Sequence[Any], inner: tuple[Sequence[Any], Sequence[Any]]) -> None:
        self._lows, self._highs = lows, highs
        self._inner = inner

    def narrower(self, parts: Sequence[int]) -> Iterator[tuple[Any, Any]]:
        """The largest range of whole boxes inside the range, and as many parts of it."""
        lows, highs = self._inner
        for number in (1, *parts):
            edges = sorted({len(lows) * part // number for part in range(number + 1)})
            for first, last in pairwise(edges):
                below = [high for high in highs if high >= lows[first] and (last == len(lows) or high < lows[last])]
                if below:
                    yield lows[first], below[-1]

    def wider(self) -> Iterator[tuple[Any, Any]]:
        """The smallest range of whole boxes around the range, and all."""
        lows, highs = self._inner
        inside = [*lows, *highs]
        if inside:
            yield (
                max((low for low in self._lows if low <= min(inside)), default=self._lows[0]),
                min((high for high in self._highs if high >= max(inside)), default=self._highs[-1]),
            )
        yield self._lows[0], self._highs[-1]


def boundaries_of(release: Release, found: Range) -> Boundaries | None:
    """The ends of the boxes of a range's column; None where it is published as something else than intervals."""
    name = next((name for name in release.columns.quasi if name.lower() == found.column.lower()), None)
    if not release.form.has_boxes or name is None:
        return None
    ends = box_columns(release.columns, release.group_column)[name]
    table = release.tables["release"]
    if ends.low not in table.column_names:
        return None
    lows, highs = (_different(table.column(side)) for side in (ends.low, ends.high))
    if not len(lows):
        return None
    inner = (_inside(release, name, lows, found), _inside(release, name, highs, found))
    return Boundaries(lows.to_pylist(), highs.to_pylist(), inner)


def _different(column: pa.ChunkedArray) -> pa.Array:
    values = column.drop_null().unique()
    return values.take(pa.array(np.argsort(values.to_numpy(zero_copy_only=False), kind="stable")))


def _inside(release: Release, name: str, values: pa.Array, found: Range) -> list[Any]:
    """Which of the values the range holds: asked of a release that lists them."""
    group = pa.array(np.zeros(len(values), np.int32))
    listed = replace(
        release,
        form=PERMUTED,
        tables={"release": pa.table({name: values, release.group_column: group})},
        columns=PublishedColumns((name,), ()),
        groups=1,
    )
    return sorted(connect(listed).sql(found.values_sql(inside=True)).column("value").to_pylist())
