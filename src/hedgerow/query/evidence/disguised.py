"""Questions to disguised releases: known rows per group, subdomains instead of values, perhaps more than rows.

Source     [Zhang 2008], section 3.3.3
Guarantee  the true answer lies inside the bounds; without a condition on the sensitive column, and for COUNT, they are
           reached. Under such a condition a subdomain may satisfy it surely or perhaps; which of the two the rows must
           take is relaxed, so that bounds of other aggregates may be wider than the best
Cost       one sort of the subdomains when first asked, then that of the permuted form
Deviates   fake values: h rows draw h of a group's subdomains, so bounds are over all of them

The means of MIN, MAX and quantiles take every subdomain at what the target expects of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.query.aggregates import AGGREGATES
from hedgerow.query.aggregates.total import expected_total
from hedgerow.query.answer import Estimate
from hedgerow.query.engines.help import exact_column, sum_columns
from hedgerow.query.evidence.crossing import Crossing
from hedgerow.query.evidence.groups import Hits, Ints, Values
from hedgerow.query.evidence.loose import LooseCrossing, float_ends
from hedgerow.query.evidence.permuted import RowSource
from hedgerow.query.evidence.ranges import Range
from hedgerow.query.evidence.rows import Chosen, Numbers, Selection
from hedgerow.query.evidence.subdomains import Subdomains
from hedgerow.query.evidence.view import View, view_of
from hedgerow.query.sql.question import NUMBERS, Bound, Predicate, Truth

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["DisguisedSource", "bounds_by_hits", "help_of_subdomains", "subdomain_estimate", "subdomains_of"]


def subdomains_of(release: Release) -> Subdomains:
    """The subdomains of a release; they are read once and live as long as its view."""
    view, name = view_of(release), release.columns.sensitive[0]
    found: Subdomains = view.remember("subdomains", lambda: Subdomains(release, view.columns[name]))
    return found


class DisguisedSource(RowSource):
    """Rows whose hidden values are subdomains."""

    def __init__(self, release: Release) -> None:
        super().__init__(view_of(release))
        self._name = release.columns.sensitive[0]
        self._subdomains = subdomains_of(release)

    def is_open(self, name: str) -> bool:
        """All columns are, but the sensitive one."""
        return name != self._name

    def hidden_view(self, name: str) -> View:
        """Values are not published one by one."""
        raise QueryError(f"'{name}' is published as ranges of values, over which this question has no bounds")

    def crossing(self, bound: Bound, selection: Selection, chosen: Chosen) -> Crossing:
        """Rows and subdomains in pairs: the values of a group in order lie between their ends in order."""
        if self._subdomains.column.kind not in NUMBERS:
            raise QueryError(f"'{self._name}' is published as ranges of values, over which this question has no bounds")
        values, unit = self.values(self._name, self._name, Truth(True), aggregated=True), self._subdomains.numbers.unit
        low, high = (float_ends(end, unit) for end in (values.lows, values.highs))
        sure = np.ones(len(low[0]), dtype=np.bool_)
        groups = np.repeat(np.arange(len(values.counts)), values.counts)
        hidden = Range(low[0], high[1], sure, sure)
        return LooseCrossing(bound, self.view, self.view, selection, chosen, values=(groups, hidden))

    def numbers(self, name: str) -> Numbers:
        """The ticks of a column; those of the sensitive one are its possible values."""
        return self._subdomains.numbers if name == self._name else super().numbers(name)

    def values(self, name: str, base: str, condition: Predicate, *, aggregated: bool) -> Values:
        """Each group's subdomains."""
        if name != base:
            raise QueryError("over subdomains expressions of the sensitive column have no bound; aggregate it itself")
        values: Values = self.view.remember(f"subdomains {condition}", lambda: self._subdomains.values(condition))
        return values

    def marked(self, base: str, condition: Predicate) -> NDArray[np.bool_]:
        """Values are not published one by one."""
        raise QueryError(
            "over subdomains GROUP BY of the sensitive column has no bound; ask COUNT with a condition on it"
        )


def subdomain_estimate(release: Release, function: str, hits: Hits) -> Estimate:
    """Bounds and expectation of sum, avg, min or max of the sensitive column over the rows hit."""
    numbers = subdomains_of(release).numbers
    values = DisguisedSource(release).values("", "", Truth(True), aggregated=True)
    return AGGREGATES[function].estimate(hits, values, numbers.rounding(function), numbers.slack)


def help_of_subdomains(release: Release) -> pa.Table:
    """The help table: for every group and number of hits the bounds of each aggregate; `size` counts subdomains."""
    view, subdomains = view_of(release), subdomains_of(release)
    sizes, rows = subdomains.sizes, np.diff(view.offsets)
    group = np.repeat(np.arange(len(rows)), rows)
    hits = np.arange(view.num_rows) - view.offsets[group] + 1
    columns = {"group": pa.array(group.astype(np.int32)), "hits": pa.array(hits), "size": pa.array(sizes[group])}
    if subdomains.column.kind in NUMBERS:
        columns |= bounds_by_hits(subdomains.values(Truth(True)), subdomains.offsets, group, hits)
    return pa.table(columns)


def bounds_by_hits(values: Values, offsets: Ints, group: Ints, hits: Ints) -> dict[str, pa.Array]:
    """The columns of a help table for rows that draw from perhaps more values than there are rows."""
    start, end = offsets[group], offsets[group + 1]
    exact: dict[str, Ints] = {
        "min_lower": values.lows[start],
        "min_upper": values.highs[end - hits],
        "max_lower": values.lows[start + hits - 1],
        "max_upper": values.highs[end - 1],
    }
    spread = expected_total(Hits.exactly(len(hits), np.arange(len(hits)), group, hits), values)
    scale = float(values.unit)
    return {
        **sum_columns(values, group, hits),
        **{name: exact_column(ticks, values.unit) for name, ticks in exact.items()},
        "sum_expected": pa.array(spread.mean * scale),
        "sum_variance": pa.array((spread.std * scale) ** 2),
    }


source = DisguisedSource
"""What the form tells about questions."""
