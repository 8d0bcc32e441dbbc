"""Questions to releases with counterfeits: known rows per group, more values than rows.

Source     [Xiao 2007]
Guarantee  the true answer lies inside the bounds: h rows of a group take h of its values, any of which may be the
           counterfeits. Rows themselves are never counterfeit, so that counting them is exact
Cost       one sort of the values when first asked, then that of the permuted form
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.query.engines.help import is_helped
from hedgerow.query.evidence.disguised import bounds_by_hits
from hedgerow.query.evidence.groups import Values
from hedgerow.query.evidence.permuted import Plan, RowSource, WholeRelease
from hedgerow.query.evidence.rows import Numbers, values_of
from hedgerow.query.evidence.view import View, view_of
from hedgerow.query.sql.question import Bound, Predicate, columns_of
from hedgerow.release.release import PublishedColumns

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["PaddedSource", "help_of_padded"]


class PaddedSource(RowSource):
    """Rows that draw from a table of values of their own."""

    def __init__(self, release: Release) -> None:
        super().__init__(view_of(release))
        self.closed = frozenset(release.columns.sensitive)
        self._hidden = RowSource(_values_view(release))

    def plan(self, bound: Bound) -> Plan:
        """Prepare the answer; what is computed from hidden values is computed where they are."""
        self._hidden.view.derive({name: node for name, node in bound.derived.items() if name in bound.bases})
        return super().plan(bound)

    def domain(self, name: str) -> pa.Array | None:
        """The values of a column that have ticks, counterfeits among them; None for what takes a row and a value."""
        if self.is_open(name):
            return super().domain(name)
        read = columns_of(self.view.derived[name]) if name in self.view.derived else self.closed
        return self._hidden.domain(name) if read <= self.closed else None

    def take_part(self, whole: WholeRelease) -> None:
        """Take units and places from the release of which this is a part."""
        super().take_part(whole)
        self._hidden.take_part(whole)

    def hidden_view(self, name: str) -> View:
        """Values are in a table of their own."""
        return self._hidden.view

    def numbers(self, name: str) -> Numbers:
        """The ticks of a column, counterfeits among them."""
        return super().numbers(name) if self.is_open(name) else self._hidden.numbers(name)

    def values(self, name: str, base: str, condition: Predicate, *, aggregated: bool) -> Values:
        """Each group's values, counterfeits among them."""
        return self._hidden.values(name, base, condition, aggregated=aggregated)

    def marked(self, base: str, condition: Predicate) -> NDArray[np.bool_]:
        """Values do not lie beside rows."""
        raise QueryError(
            "with counterfeits GROUP BY of the sensitive column is not answered; ask COUNT with a condition on it"
        )


def help_of_padded(release: Release) -> pa.Table:
    """The help table: for every group and number of hits the bounds of each aggregate; `size` counts values."""
    view, hidden, name = view_of(release), _values_view(release), release.columns.sensitive[0]
    hits = np.arange(view.num_rows) - view.offsets[view.groups] + 1
    sizes = np.diff(hidden.offsets)[view.groups]
    columns = {"group": pa.array(view.groups.astype(np.int32)), "hits": pa.array(hits), "size": pa.array(sizes)}
    if is_helped(hidden, name):
        columns |= bounds_by_hits(values_of(hidden, name), hidden.offsets, view.groups, hits)
    return pa.table(columns)


def _values_view(release: Release) -> View:
    """The values as rows of a table of their own; it lives as long as the release's view."""
    columns = PublishedColumns((), release.columns.sensitive)

    def make() -> View:
        view = View(release.tables["sensitive"], columns, release.group_column)
        view.grids = release.grids
        return view

    made: View = view_of(release).remember("values", make)
    return made


source = PaddedSource
"""What the form tells about questions."""
