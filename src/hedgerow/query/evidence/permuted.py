"""What published rows tell about conditions and hidden values: the source of the forms permuted and separated.

Other forms differ in two things only: which rows a condition on open columns selects, and which values a group's rows
draw. Their sources are made from this one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.query.evidence.crossing import Crossing
from hedgerow.query.evidence.groups import Values
from hedgerow.query.evidence.numbers import Numbers, numbers_of, values_at, values_of
from hedgerow.query.evidence.plan import Plan, RowPlan
from hedgerow.query.evidence.rows import Chosen, Selection
from hedgerow.query.evidence.view import View, missing_rows
from hedgerow.query.sql.question import Bound, Predicate, Truth, columns_of

__all__ = ["RowSource"]


class RowSource:
    """Rows whose open columns are published as they are, and whose hidden values are shuffled inside groups."""

    def __init__(self, view: View) -> None:
        self.view = view

    def plan(self, bound: Bound) -> Plan:
        """Prepare the answer to a question."""
        return RowPlan(self, bound)

    def choose(self, condition: Predicate, wanted: bool | None = True) -> Chosen:
        """Rows for which a condition on open columns is true, or false, or unknown."""
        return Chosen(self.view.rows_that_are(wanted, condition))

    def is_open(self, name: str) -> bool:
        """Tell whether a column that is not hidden can be read row by row."""
        return True

    def hidden_view(self, name: str) -> View:
        """Where the values of a hidden column are: beside the rows."""
        return self.view

    def may_miss(self, name: str) -> bool:
        """Tell whether some value of a column may be missing."""
        return self.is_open(name) and self.view.has_missing(name)

    def numbers(self, name: str) -> Numbers:
        """The ticks of a column."""
        return numbers_of(self.view, name)

    def values(self, name: str, base: str, condition: Predicate, *, aggregated: bool) -> Values:
        """Each group's values of a hidden column that satisfy a condition; inside an aggregate only present ones."""
        if not columns_of(condition) <= {base} or not self._comes_from(name, base):
            rows = self.view.rows_where(condition)  # columns in pairs: a row of values is decided as a whole
            return values_at(self.view, name, rows & ~missing_rows(self.view, name) if aggregated else rows)
        keep = _kept(self.view, base, condition)
        if name == base:
            if aggregated:
                keep = np.append(keep[:-1], keep[-1] and not self.view.has_missing(name))
            return values_of(self.view, name, keep)
        rows = keep[self.view.codes(base).codes]
        return values_at(self.view, name, rows & ~missing_rows(self.view, name) if aggregated else rows)

    def _comes_from(self, name: str, base: str) -> bool:
        return name == base or (name in self.view.derived and columns_of(self.view.derived[name]) == {base})

    def crossing(self, bound: Bound, selection: Selection, chosen: Chosen) -> Crossing:
        """Rows and hidden values in pairs; several hidden columns only where they are shuffled as one."""
        asked = [item.column for item in bound.aggregates if item.column is not None]
        nodes = [bound.hidden, bound.mixed, *bound.derived.values(), *asked]
        names = sorted(frozenset().union(*map(columns_of, nodes)) & frozenset(self.view.sensitive))
        if len(names) > 1 and not self.view.paired:
            listed = " and ".join(f"'{name}'" for name in names)
            raise QueryError(f"{listed} are shuffled apart, so that no expression of both has a bound; ask about each")
        return Crossing(bound, self.view, self.hidden_view(names[0]), selection)

    def marked(self, base: str, condition: Predicate) -> NDArray[np.bool_]:
        """Published values of a hidden column that satisfy a condition."""
        if not columns_of(condition) <= {base}:
            return self.view.rows_where(condition)
        marked: NDArray[np.bool_] = _kept(self.view, base, condition)[self.view.codes(base).codes]
        return marked


def _kept(view: View, base: str, condition: Predicate) -> NDArray[np.bool_]:
    if condition == Truth(True):
        return np.ones(len(view.codes(base).domain) + 1, dtype=np.bool_)
    kept: NDArray[np.bool_] = view.truth(base, condition)
    return kept
