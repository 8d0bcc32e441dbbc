"""Linear regression on a release: every coefficient of ordinary least squares with guaranteed bounds.

Source     own
Guarantee  the coefficients that least squares gives on the original rows (those with every regressor present) lie
           inside; bounds are reached by a table that the release allows, up to rounding outwards
Cost       one pass for the regressors, then that of `least_squares`

The outcome is a hidden column, or an expression of it; regressors are known columns. Then it does not matter which form
the release has, as long as it shows rows and the values among which each group's rows choose.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.errors import QueryError, counted
from hedgerow.exact import float_above, float_below
from hedgerow.query.aggregates.linear import (
    DependentColumns,
    Linear,
    LinearBounds,
    LinearShare,
    Normal,
    coefficients,
    inverse,
)
from hedgerow.query.aggregates.precise import Digits, side_by_side
from hedgerow.query.evidence.groups import Floats, Ints
from hedgerow.query.evidence.permuted import RowSource, WholeRelease
from hedgerow.query.evidence.products import digits_of, linear_over
from hedgerow.query.evidence.view import View, fresh_source, missing_rows
from hedgerow.query.regression import Coefficient, Regression
from hedgerow.query.sql.formula import Factor, Formula, read_formula
from hedgerow.query.sql.question import NUMBERS, Bound, Column, Kind, columns_of, wording_of
from hedgerow.release.bundle import PartedTables

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
    bound = _bind(release, model, where, weights)
    if isinstance(release.tables, PartedTables):
        return _fit_parts(release.tables, model, bound, formula)
    fit = _Fit(_rows_source(source_of(release), release), model, bound)
    return _combine([fit.chosen], lambda step: [step(fit)], formula)


def _fit_parts(tables: PartedTables, model: Formula, bound: Bound, formula: str) -> Regression:
    """The same over parts: a pass for values and levels, one for sums of squares, one for the coefficients."""

    def part_fit(part: Release, whole: WholeRelease, levels: Mapping[str, pa.Array] | None) -> _Fit:
        source = _rows_source(fresh_source(part), part)
        source.take_part(whole)
        return _Fit(source, model, bound, levels)

    nothing = WholeRelease({}, {}, frozenset())
    chosen = tables.each(lambda part: part_fit(part, nothing, None).chosen)
    whole = WholeRelease({}, _union([one.domains for one in chosen]), frozenset())
    levels = _union([one.levels for one in chosen])
    return _combine(chosen, lambda step: tables.each(lambda part: step(part_fit(part, whole, levels))), formula)


def _rows_source(source: object, release: Release) -> RowSource:
    if not isinstance(source, RowSource):
        raise QueryError(_NO_ROWS.format(release.form))
    return source


def _union(parts: Sequence[Mapping[str, pa.Array]]) -> dict[str, pa.Array]:
    """The different values of each column in all parts, ascending."""
    found = {}
    for name in parts[0]:
        values = pa.concat_arrays([part[name] for part in parts]).unique()
        found[name] = values.take(pc.array_sort_indices(values))
    return found


def _combine(chosen: Sequence[_Chosen], each: Callable[[Callable[[_Fit], Any]], list[Any]], formula: str) -> Regression:
    """Bound the coefficients over rows in one piece or several; `each` takes a step in all of them."""
    partly, rows = sum(one.partly for one in chosen), sum(one.rows for one in chosen)
    if partly:
        raise QueryError(
            f"{wording_of(chosen[0].outcome)} is missing for some rows of {counted(partly, 'group')}, and "
            f"which of them is hidden; select "
            "other groups, or give the missing a number: I(coalesce(x, 0)) ~ ..."
        )
    if not rows:
        raise QueryError("no row satisfies the condition and has a value in every column of the formula")
    if any(one.has_negative for one in chosen) or not any(one.has_positive for one in chosen):
        raise QueryError("weights must not be negative, and one must be positive")
    sums = each(_Fit.sums)
    lines = zip(*(one.sums for one in sums), strict=True)
    total = [[sum(cells) for cells in zip(*line, strict=True)] for line in lines]
    sizes = np.maximum.reduce([one.sizes for one in sums])
    try:
        factors = inverse(total)
    except DependentColumns as error:
        raise QueryError(_dependence([sums[0].names[place] for place in error.places])) from None
    shares = each(lambda fit: fit.shares(factors, sizes))
    found = coefficients(list(zip(*shares, strict=True)), sums[0].units)
    listed = tuple(_coefficient(name, bounds) for name, bounds in zip(sums[0].names, found, strict=True))
    return Regression(" ".join(formula.split()), listed, rows)


def _bind(release: Release, model: Formula, where: str | None, weights: str | None) -> Bound:
    """Bind the outcome, the factors and the weights as one question, so that names mean what they mean in SQL."""
    from hedgerow.query import bound_to, connect
    from hedgerow.query.sql.parse import is_expression

    items = [model.outcome.sql, *(factor.sql for factor in model.factors), *([] if weights is None else [weights])]
    select = ", ".join(f"max({item}) AS item{place}" for place, item in enumerate(items))
    bound = bound_to(release, f"SELECT {select} FROM release" + (f" WHERE ({where})" if where else ""))
    if not all(map(is_expression, [*items, *([where] if where else [])])):
        raise QueryError(
            "'where' takes a condition, 'weights' a column, and I an expression: where=\"age >= 18\", weights=\"w\""
        )
    for aggregate in bound.aggregates:
        if not isinstance(aggregate.column, Column):
            raise QueryError(
                "a number stands where a column is needed; the outcome, each factor and the weights name one"
            )
        names = columns_of(bound.derived.get(aggregate.column.name, aggregate.column))
        if len(names) > 1 and names & set(release.columns.sensitive):
            raise QueryError(
                f"{wording_of(aggregate.column.name)} mixes a sensitive column with another one; what stands in a row "
                "then depends on the shuffle, and coefficients have no bounds"
            )
    if not bound.is_free:
        raise QueryError(
            "a condition on a sensitive column leaves open which rows the regression takes; "
            "select rows by known columns"
        )
    connect(release).check(bound)
    return bound


@dataclass(frozen=True)
class _Chosen:
    """What a piece of the rows says before anything is fitted: its values, levels and what would forbid a fit."""

    outcome: str
    rows: int
    partly: int
    domains: Mapping[str, pa.Array]
    levels: Mapping[str, pa.Array]
    has_negative: bool
    has_positive: bool


@dataclass(frozen=True)
class _Sums:
    """X' W X of a piece, the largest numbers of its columns, and the regressors' names and units."""

    names: list[str]
    units: tuple[Fraction, ...]
    sums: list[list[int]]
    sizes: Floats


@dataclass(frozen=True)
class _Fit:
    """One model, bound to the rows of one release, or of a part of it whose `levels` are those of the whole."""

    source: RowSource
    model: Formula
    bound: Bound
    levels: Mapping[str, pa.Array] | None = None

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

    @functools.cached_property
    def chosen(self) -> _Chosen:
        """Look at the rows that the regression takes."""
        self._prepare()
        taken, partly = self._with_outcome(self._taken)
        rows = np.flatnonzero(taken)
        names = [*self._names.values(), *([] if self._weights is None else [self._weights])]
        domains = {name: self.view.codes(name).domain for name in names}
        outcome = self._name(0)
        view = self.source.hidden_view(outcome) if outcome in self.bound.bases else self.view
        domains[outcome] = view.codes(outcome).domain
        levels = {
            self._names[factor]: domains[self._names[factor]].take(
                pa.array(np.unique(self.view.codes(self._names[factor]).codes[rows]))
            )
            for factor in self.model.factors
            if self._is_level(factor)
        }
        signs = (False, True)
        if self._weights is not None and len(rows):
            floats = self._weight_digits(rows).floats
            signs = (bool(np.any(floats < 0.0)), bool(np.any(floats > 0.0)))
        elif self._weights is not None:
            signs = (False, False)
        return _Chosen(outcome, len(rows), partly, domains, levels, *signs)

    def _prepare(self) -> None:
        self.view.derive(self.bound.derived)
        if self._name(0) in self.bound.bases:
            self.source.hidden_view(self._name(0)).derive(self.bound.derived)
        self._check_known()

    @functools.cached_property
    def _normal(self) -> tuple[list[str], Normal]:
        """The rows, their regressors and their weights."""
        self._prepare()
        rows = np.flatnonzero(self._with_outcome(self._taken)[0])
        names, design = self._design(rows)
        weights = None if self._weights is None else self._weight_digits(rows)
        return names, Normal.of(self._linear(rows, design), weights)

    def sums(self) -> _Sums:
        """What the rows add to X' W X."""
        names, normal = self._normal
        return _Sums(names, normal.regressors.units, normal.sums, normal.linear.sizes)

    def shares(self, factors: Sequence[Sequence[Fraction]], sizes: Floats) -> list[LinearShare]:
        """What the rows add to each coefficient."""
        return [self._normal[1].linear.share(row, sizes) for row in factors]

    def _check_known(self) -> None:
        """Regressors and weights are known columns; the outcome is a column of numbers."""
        for name in [*self._names.values(), *([] if self._weights is None else [self._weights])]:
            if name in self.bound.bases:
                raise QueryError(
                    f"{wording_of(name)} is shuffled, and only the outcome of a regression may be; coefficients of a "
                    "shuffled regressor are not linear in it. covar_pop, covar_samp and corr take either order."
                )
            if not self.source.is_open(name):
                raise QueryError(
                    f"{wording_of(name)} is published as ranges, so that it has no single value in a row to regress on"
                )
        kind = self.view.column(self._name(0)).kind
        if kind not in NUMBERS:
            raise QueryError(
                f"the outcome {wording_of(self._name(0))} is a {kind}; least squares needs numbers. Logistic and other "
                "models are not linear in the outcome and have no such bounds; a linear model of a share is "
                "I(CASE WHEN x = 'value' THEN 1 ELSE 0 END) ~ ..."
            )

    @property
    def _taken(self) -> NDArray[np.bool_]:
        """Rows that satisfy the condition and have every regressor."""
        chosen = self.source.choose(self.bound.known)
        if chosen.sure is not None:
            raise QueryError("a condition on a column that is published as ranges leaves open which rows it takes")
        taken = chosen.possible.copy()
        for name in {*self._names.values(), *([] if self._weights is None else [self._weights])}:
            taken &= ~missing_rows(self.view, name)
        return taken

    def _with_outcome(self, taken: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], int]:
        """Leave out groups whose outcomes are all missing; count those where only some are, and it is open whose."""
        name = self._name(0)
        if name not in self.bound.bases:
            return taken & ~missing_rows(self.view, name), 0
        hidden = self.source.hidden_view(name)
        missing = np.bincount(hidden.groups[missing_rows(hidden, name)], minlength=len(hidden.offsets) - 1)
        touched = np.bincount(self.view.groups[taken], minlength=len(hidden.offsets) - 1) > 0
        none = missing == np.diff(hidden.offsets)
        partly = int(np.sum(touched & (missing > 0) & ~none))
        return taken & ~none[self.view.groups], partly

    def _linear(self, rows: Ints, design: list[Digits]) -> Linear:
        name = self._name(0)
        hidden = self.source.hidden_view(name) if name in self.bound.bases else None
        return linear_over(self.view, hidden, name, rows, side_by_side(design))

    def _weight_digits(self, rows: Ints) -> Digits:
        assert self._weights is not None, "asked for where there are weights"
        if self.view.column(self._weights).kind not in NUMBERS:
            raise QueryError(f"weights must be numbers; {wording_of(self._weights)} holds none")
        return digits_of(self.view, self._weights).take(self.view.codes(self._weights).codes[rows])

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
        levels = codes.domain.take(pa.array(np.unique(taken))) if self.levels is None else self.levels[name]
        places = pc.index_in(levels, value_set=codes.domain).fill_null(-1).to_pylist()
        mark = "T." if is_reduced else ""
        return [
            (f"{factor.text}[{mark}{level}]", Digits(((taken == place).astype(np.float64)[:, None],), 1))
            for level, place in list(zip(levels.to_pylist(), places, strict=True))[1 if is_reduced else 0 :]
        ]


def _coefficient(name: str, found: LinearBounds) -> Coefficient:
    lower, upper = float_below(found.lower), float_above(found.upper) + 0.0  # no negative zero
    return Coefficient(name, lower, min(max(found.expected, lower), upper), upper, found.std, found.exact)


_MOST_NAMES = 6


def _dependence(names: list[str]) -> str:
    listed = ", ".join(f"'{name}'" for name in names[:_MOST_NAMES])
    listed += f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    if len(names) == 1:
        return f"{listed} is zero in every row that the regression takes; leave it out"
    return f"the columns {listed} depend on each other in the rows that the regression takes; leave one of them out"
