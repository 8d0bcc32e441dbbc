"""Linear regression on a release: every coefficient of ordinary least squares with guaranteed bounds.

Source     own
Guarantee  the coefficients that least squares gives on the original rows (those with every regressor present) lie
           inside; bounds are reached by a table that the release allows, up to rounding outwards
Cost       one pass for the regressors, then that of `least_squares`

The outcome is a hidden column, or an expression of it; regressors are known columns. Then it does not matter which form
the release has, as long as it shows rows and the values among which each group's rows choose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import QueryError, counted
from hedgerow.exact import float_above, float_below
from hedgerow.query.aggregates.linear import DependentColumns, Linear, LinearBounds, coefficients
from hedgerow.query.aggregates.precise import Digits, side_by_side
from hedgerow.query.evidence.groups import Ints
from hedgerow.query.evidence.permuted import RowSource
from hedgerow.query.evidence.products import digits_of, linear_over
from hedgerow.query.evidence.view import View, missing_rows
from hedgerow.query.regression import Coefficient, Regression
from hedgerow.query.sql.formula import Factor, Formula, read_formula
from hedgerow.query.sql.question import NUMBERS, Bound, Column, Kind, columns_of

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["regress"]

_MOST_TERMS = 200
_NO_ROWS = (
    "releases of the form '{}' do not show which known values stand in one row, beside hidden ones, so that a "
    "regression has no bounds"
)


def regress(release: Release, formula: str, *, where: str | None = None, weights: str | None = None) -> Regression:
    """Fit a linear model by least squares: bounds, mean and deviation of every coefficient.

    The outcome is a sensitive column, the regressors are known ones: "income ~ age + sex + age:sex". Text columns and
    C(column) become indicators of their levels, the first in order being the reference; `- 1` drops the intercept;
    I(expression) takes SQL. `where` selects rows by known columns, `weights` is a known column.
    """
    from hedgerow.query.evidence.view import source_of

    model = read_formula(formula)
    source = source_of(release)
    if not isinstance(source, RowSource):
        raise QueryError(_NO_ROWS.format(release.form))
    return _Fit(source, model, _bind(release, model, where, weights)).run(formula)


def _bind(release: Release, model: Formula, where: str | None, weights: str | None) -> Bound:
    """Bind the outcome, the factors and the weights as one question, so that names mean what they mean in SQL."""
    from hedgerow.query import bound_to

    items = [model.outcome.sql, *(factor.sql for factor in model.factors), *([] if weights is None else [weights])]
    select = ", ".join(f"max({item}) AS item{place}" for place, item in enumerate(items))
    bound = bound_to(release, f"SELECT {select} FROM release" + (f" WHERE ({where})" if where else ""))
    if len(bound.aggregates) != len(items) or bound.groups or bound.outcome.order or bound.outcome.limit is not None:
        raise QueryError("'where' takes a condition and 'weights' a column: where=\"age >= 18\", weights=\"w\"")
    for aggregate in bound.aggregates:
        assert isinstance(aggregate.column, Column), "bound arguments are columns"
        names = columns_of(bound.derived.get(aggregate.column.name, aggregate.column))
        if len(names) > 1 and names & set(release.columns.sensitive):
            raise QueryError(
                f"'{_label(aggregate.column.name)}' mixes a sensitive column with another one; what stands in a row "
                "then depends on the shuffle, and coefficients have no bounds"
            )
    if not bound.is_free:
        raise QueryError(
            "a condition on a sensitive column leaves open which rows the regression takes; "
            "select rows by known columns"
        )
    return bound


@dataclass(frozen=True)
class _Fit:
    """One model, bound to the rows of one release."""

    source: RowSource
    model: Formula
    bound: Bound

    @property
    def view(self) -> View:
        return self.source.view

    def _name(self, place: int) -> str:
        column = self.bound.aggregates[place].column
        assert isinstance(column, Column), "bound arguments are columns"
        return column.name

    @property
    def _names(self) -> dict[Factor, str]:
        return {factor: self._name(place) for place, factor in enumerate(self.model.factors, 1)}

    @property
    def _weights(self) -> str | None:
        place = len(self.model.factors) + 1
        return self._name(place) if place < len(self.bound.aggregates) else None

    def run(self, formula: str) -> Regression:
        """Find the rows, lay out the regressors, bound the coefficients."""
        self.view.derive(self.bound.derived)
        if self._name(0) in self.bound.bases:
            self.source.hidden_view(self._name(0)).derive(self.bound.derived)
        self._check_known()
        rows = self._rows()
        names, design = self._design(rows)
        weights = None if self._weights is None else self._weight_digits(rows)
        try:
            found = coefficients(self._linear(rows, design), weights)
        except DependentColumns as error:
            raise QueryError(_dependence([names[place] for place in error.places])) from None
        lines = tuple(_coefficient(name, bounds) for name, bounds in zip(names, found, strict=True))
        return Regression(" ".join(formula.split()), lines, len(rows))

    def _check_known(self) -> None:
        """Regressors and weights are known columns; the outcome is a column of numbers."""
        for name in [*self._names.values(), *([] if self._weights is None else [self._weights])]:
            if name in self.bound.bases:
                raise QueryError(
                    f"'{_label(name)}' is shuffled, and only the outcome of a regression may be; coefficients of a "
                    "shuffled regressor are not linear in it. covar_pop, covar_samp and corr take either order."
                )
            if not self.source.is_open(name):
                raise QueryError(
                    f"'{_label(name)}' is published as ranges, so that it has no single value in a row to regress on"
                )
        kind = self.view.column(self._name(0)).kind
        if kind not in NUMBERS:
            raise QueryError(
                f"the outcome '{_label(self._name(0))}' is a {kind}; least squares needs numbers. Logistic and other "
                "models are not linear in the outcome and have no such bounds; a linear model of a share is "
                "I(CASE WHEN x = 'value' THEN 1 ELSE 0 END) ~ ..."
            )

    def _rows(self) -> Ints:
        """Rows that satisfy the condition and have every regressor."""
        chosen = self.source.choose(self.bound.known)
        if chosen.sure is not None:
            raise QueryError("a condition on a column that is published as ranges leaves open which rows it takes")
        taken = chosen.possible.copy()
        for name in {*self._names.values(), *([] if self._weights is None else [self._weights])}:
            taken &= ~missing_rows(self.view, name)
        taken = self._with_outcome(taken)
        if not taken.any():
            raise QueryError("no row satisfies the condition and has a value in every column of the formula")
        return np.flatnonzero(taken)

    def _with_outcome(self, taken: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Leave out groups whose outcomes are all missing; where only some are it is open whose."""
        name = self._name(0)
        if name not in self.bound.bases:
            return taken & ~missing_rows(self.view, name)
        hidden = self.source.hidden_view(name)
        missing = np.bincount(hidden.groups[missing_rows(hidden, name)], minlength=len(hidden.offsets) - 1)
        touched = np.bincount(self.view.groups[taken], minlength=len(hidden.offsets) - 1) > 0
        none = missing == np.diff(hidden.offsets)
        partly = int(np.sum(touched & (missing > 0) & ~none))
        if partly:
            raise QueryError(
                f"'{_label(name)}' is missing for some rows of {counted(partly, 'group')}, and "
                f"which of them is hidden; select "
                "other groups, or give the missing a number: I(coalesce(x, 0)) ~ ..."
            )
        kept: NDArray[np.bool_] = taken & ~none[self.view.groups]
        return kept

    def _linear(self, rows: Ints, design: list[Digits]) -> Linear:
        name = self._name(0)
        hidden = self.source.hidden_view(name) if name in self.bound.bases else None
        return linear_over(self.view, hidden, name, rows, side_by_side(design))

    def _weight_digits(self, rows: Ints) -> Digits:
        assert self._weights is not None, "asked for where there are weights"
        if self.view.column(self._weights).kind not in NUMBERS:
            raise QueryError(f"weights must be numbers; '{_label(self._weights)}' holds none")
        weights = digits_of(self.view, self._weights).take(self.view.codes(self._weights).codes[rows])
        if np.any(weights.floats < 0.0) or not np.any(weights.floats > 0.0):
            raise QueryError("weights must not be negative, and one must be positive")
        return weights

    def _design(self, rows: Ints) -> tuple[list[str], list[Digits]]:
        """Regressors by name, as statsmodels names them."""
        one = Digits((np.ones((len(rows), 1)),), 1)
        names, columns = (["Intercept"], [one]) if self.model.has_intercept else ([], [])
        known: set[frozenset[Factor]] = {frozenset()} if self.model.has_intercept else set()
        for term in self.model.terms:
            parts = [("", one)]
            for factor in term:
                # A factor is coded against its reference where the model has the term without it.
                is_reduced = frozenset(term) - {factor} in known
                inner = self._levels(factor, rows, is_reduced)
                parts = [
                    (f"{left}:{name}" if left else name, mine.times(its)) for left, mine in parts for name, its in inner
                ]
            names += [name for name, _ in parts]
            columns += [column for _, column in parts]
            known |= {frozenset(term)} | ({frozenset()} if any(self._is_level(f) for f in term) else set())
            if len(names) > _MOST_TERMS:
                raise QueryError(f"a model may have {_MOST_TERMS} coefficients; leave out columns with many levels")
        return names, columns

    def _is_level(self, factor: Factor) -> bool:
        return factor.is_level or self.view.column(self._names[factor]).kind in (Kind.TEXT, Kind.BOOL)

    def _levels(self, factor: Factor, rows: Ints, is_reduced: bool) -> list[tuple[str, Digits]]:
        """A column of numbers itself, or indicators of levels; without the first where it is the reference."""
        name = self._names[factor]
        codes = self.view.codes(name)
        if not self._is_level(factor):
            if self.view.column(name).kind not in NUMBERS:
                raise QueryError(f"'{factor.text}' holds dates; write I(year(x)), or C(x) for levels")
            return [(factor.text, digits_of(self.view, name).take(codes.codes[rows]))]
        taken = codes.codes[rows]
        levels = np.unique(taken)
        mark = "T." if is_reduced else ""
        return [
            (
                f"{factor.text}[{mark}{codes.domain[int(level)].as_py()}]",
                Digits(((taken == level).astype(np.float64)[:, None],), 1),
            )
            for level in levels[1 if is_reduced else 0 :]
        ]


def _coefficient(name: str, found: LinearBounds) -> Coefficient:
    lower, upper = float_below(found.lower), float_above(found.upper)
    return Coefficient(name, lower, min(max(found.expected, lower), upper), upper, found.std, found.exact)


def _dependence(names: list[str]) -> str:
    listed = ", ".join(f"'{name}'" for name in names)
    if len(names) == 1:
        return f"{listed} is zero in every row that the regression takes; leave it out"
    return f"the columns {listed} depend on each other in the rows that the regression takes; leave one of them out"


def _label(name: str) -> str:
    return name.removeprefix("= ")
