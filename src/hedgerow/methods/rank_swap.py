"""RankSwap: sensitive values change places with others of nearby rank. A baseline.

Source     [Moore 1996]; [Zhang 2008], section 2.7
Guarantee  none that bounds a risk: a published value belongs to somebody whose rank is near
Cost       O(n)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from hedgerow.arrays import Ints
from hedgerow.criteria.ke import KE
from hedgerow.errors import ParameterError, SchemaError
from hedgerow.exact import column_line, fraction_text
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.row_groups import column_list, constant, release_of_rows, require_complete
from hedgerow.methods.scaled import BlockPlan
from hedgerow.parameters import Number, read_number
from hedgerow.release import Guarantee, Release
from hedgerow.release.forms.perturbed import publish_perturbed
from hedgerow.release.forms.swapped import SWAPPED, swapped_rows, window_for

if TYPE_CHECKING:
    from hedgerow.scale.coding import CountedTable
    from hedgerow.schema import Schema


@dataclass(frozen=True)
class RankSwap(Method):
    """Swap each sensitive value with one whose rank is at most a window away.

    The window is `share` times the number of rows; or, with `k` (and `e`), the least one such that the ranks up to it
    on either side of any row have k distinct values over a range of at least e, which makes it comparable with
    (k,e)-anonymity. Every sensitive column is swapped on its own.
    """

    share: Number | None = None
    k: int | None = None
    e: Number = 0

    def __post_init__(self) -> None:
        if (self.share is None) == (self.k is None):
            raise ParameterError("Give 'share', the window as a share of the rows, or 'k' (and 'e'); one of the two.")
        if self.share is not None:
            read_number("share", self.share, above=0, most=1)
        if self.k is not None:
            KE(self.k, self.e)

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        names = prepared.columns.sensitive
        require_complete(prepared, names)
        progress("ranking", 0.1)
        windows = {name: self._window(prepared, name, prepared.table.encode(name).counts()) for name in names}
        progress("swapping", 0.4)
        return self._make_release(prepared, windows, windows)

    def _require_blocks(self, schema: Schema) -> None:
        super()._require_blocks(schema)
        if len(schema.sensitive) > 1:
            raise SchemaError(
                f"{len(schema.sensitive)} columns are sensitive, and each is swapped in an order of its own, while "
                "blocks hold rows in one order; publish the table in memory, or swap one column."
            )

    def _plan_blocks(self, whole: Prepared, counted: CountedTable) -> BlockPlan:
        from hedgerow.methods.blocks import deal_ranks

        (name,) = whole.columns.sensitive
        require_complete(whole, [name])
        counts, most = counted.column(name).counts, counted.engine.block_rows
        window = self._window(whole, name, counts)
        placing, inside = deal_ranks(counts, name, window=window, most=most, keys=whole.keys)
        return BlockPlan(placing, partial(self._publish_ranks, {name: window}, {name: inside}))

    def _publish_ranks(
        self, windows: Mapping[str, int], inside: Mapping[str, int], number: int, prepared: Prepared
    ) -> Release:
        return self._make_release(prepared, windows, inside)

    def _make_release(self, prepared: Prepared, windows: Mapping[str, int], inside: Mapping[str, int]) -> Release:
        """Swap values inside these windows of the rows that are there; `windows` are those of the whole table."""
        names = prepared.columns.sensitive
        replaced = {name: _swap(prepared, name, inside[name]) for name in names}
        table = publish_perturbed(prepared.table.arrow, prepared.columns, replaced, keys=prepared.keys)
        recorded: dict[str, int | str] = {f"window of '{name}'": window for name, window in windows.items()}
        same = column_list("unchanged", constant(prepared, names))
        return release_of_rows(
            prepared,
            {"release": table},
            form=SWAPPED,
            guarantee=Guarantee("rank-swap", recorded | same, names),
            method="RankSwap",
            parameters=self._parameters() | recorded,
        )

    def _window(self, prepared: Prepared, name: str, counts: Ints) -> int:
        if self.k is None:
            return max(1, math.floor(read_number("share", self.share) * prepared.rows.published))
        where = column_line(prepared.table.encode(name).domain, name)
        criterion = KE(self.k, where.distance(KE(self.k, self.e).e))
        criterion.require(where.positions, unit=where.unit, column=name)
        window = window_for(where.positions, counts, k=criterion.k, e=criterion.e)
        assert window is not None, "one around all rows has what the column has"
        return max(1, window)

    def _parameters(self) -> dict[str, int | str]:
        if self.share is not None:
            return {"share": fraction_text(read_number("share", self.share))}
        assert self.k is not None
        return {"k": int(self.k), "e": fraction_text(KE(self.k, self.e).e)}


def _swap(prepared: Prepared, name: str, window: int) -> pa.Array:
    sources = swapped_rows(prepared.table.encode(name).codes, window=window, keys=prepared.keys)
    return prepared.table.arrow.column(name).take(pa.array(sources))
