"""What was found about one aggregate over a grouped graph, as a `GraphAnswer` and as a row of a table."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa

from hedgerow.digits import lower_text, number_text, upper_text
from hedgerow.exact import float_above, float_below
from hedgerow.graph.draws import Extent
from hedgerow.query.answer import Estimate, Learned, Rounding


@dataclass(frozen=True)
class GraphAnswer:
    """One aggregate over a grouped graph.

    `lower` and `upper` enclose the true answer. `expected` is the mean over all assignments of entities to nodes that
    fit the release, each as likely as the others, and `std` their standard deviation; each is None where it has no
    closed form. Where `is_ratio`, AVG is over an uncertain number of things, and `expected` is the mean sum divided by
    the mean number, which is not the mean of the averages. Neither is a statement about the truth, which is one
    assignment: if columns are correlated with degrees it lies away from `expected`; `learned` is an estimate that takes
    that into account, if it was asked for. `exact` says that every assignment gives the same answer; bounds that are no
    whole numbers are rounded outwards all the same. `kind` counts the sides with conditions on entities: 0, 1 or 2.
    SQL's NULL is None in all numbers; if some assignments select nothing, the numbers are about those that select
    something, and not exact.
    """

    lower: Any
    upper: Any
    expected: Any
    exact: bool
    kind: int
    std: float | None = None
    is_ratio: bool = False
    learned: Learned | None = None

    def __repr__(self) -> str:
        if self.lower is None or self.upper is None:
            return "NULL (exact)"
        if self.exact:
            number = self.expected if isinstance(self.lower, float) and self.expected is not None else self.lower
            return f"{number_text(number, 15, mark='')} (exact)"
        middle = (
            "no expectation in closed form"
            if self.expected is None
            else f"expected {number_text(self.expected, 8, mark='')}"
        )
        middle += " (ratio of means)" if self.is_ratio and self.expected is not None else ""
        spread = "" if self.std is None else f" with a standard deviation of {self.std:.4g}"
        guess = "" if self.learned is None else f"; {self.learned}"
        return f"between {lower_text(self.lower)} and {upper_text(self.upper)}, {middle}{spread}{guess}"


@dataclass(frozen=True, eq=False)
class GraphBounds:
    """Bounds in units of `unit`, which kind of number they are, and for how many sides entities were asked about.

    `is_reached` says that it is proved that some assignment reaches each bound; `may_be_empty` that some assignment may
    leave nothing to aggregate, which is NULL, and so no answer that all of them have.
    """

    extent: Extent
    kind: int
    unit: Fraction = Fraction(1)
    rounding: Rounding = Rounding.WHOLE
    domain: pa.Array | None = None
    is_ratio: bool = False
    is_reached: bool = False
    may_be_empty: bool = False

    @functools.cached_property
    def bounds(self) -> tuple[Fraction, Fraction] | None:
        """Least and greatest value; None where there is nothing to aggregate."""
        extent = self.extent
        if extent.lower is None or extent.upper is None:
            return None
        return extent.lower * self.unit, extent.upper * self.unit

    @property
    def expected(self) -> float | None:
        """The mean over all assignments, where it has a closed form."""
        if self.bounds is not None and self.bounds[0] == self.bounds[1]:
            return float(self.bounds[0])
        return None if self.extent.expected is None else self.extent.expected * float(self.unit)

    @property
    def std(self) -> float | None:
        """The standard deviation over all assignments, where it has a closed form."""
        if self.bounds is not None and self.bounds[0] == self.bounds[1]:
            return 0.0
        return None if self.extent.variance is None else math.sqrt(self.extent.variance) * float(self.unit)

    @property
    def is_exact(self) -> bool:
        """Tell whether every assignment gives the same answer."""
        return self.bounds is None or (self.bounds[0] == self.bounds[1] and not self.may_be_empty)

    @property
    def answer(self) -> GraphAnswer:
        """The same as numbers to show."""
        if self.bounds is None:
            return GraphAnswer(None, None, None, True, self.kind)
        lower, upper = self.bounds
        ends: tuple[Any, Any] = (int(lower), int(upper))
        expected: Any = self.expected
        if self.rounding is Rounding.OUTWARD:
            ends = float_below(lower), float_above(upper)
        elif self.rounding is Rounding.VALUE:
            answers = self.estimate().answers[0]
            ends, expected = (answers.lower, answers.upper), answers.expected
        ratio = self.is_ratio and lower != upper
        return GraphAnswer(*ends, expected, self.is_exact, self.kind, self.std, is_ratio=ratio)

    def estimate(self) -> Estimate:
        """The same for one row of a table; the middle of the bounds stands in where there is no mean."""
        if self.bounds is None:
            return _column([None], [None], [math.nan], [math.nan], [True], self)
        lower, upper = self.bounds
        middle = float((lower + upper) / 2) if self.expected is None else self.expected
        std = math.nan if self.std is None else self.std
        return _column([lower], [upper], [middle], [std], [self.is_exact], self, [self.is_reached])


def _column(
    lower: Any, upper: Any, expected: Any, std: Any, exact: Any, like: GraphBounds, reached: list[bool] | None = None
) -> Estimate:
    reached = [False] * len(lower) if reached is None else reached
    return Estimate(lower, upper, expected, std, exact, like.rounding, domain=like.domain, reached=reached)


_COLUMNS = ("lower", "upper", "expected", "std", "exact", "reached")


def stack_bounds(found: list[GraphBounds]) -> Estimate:
    """One aggregate in all rows."""
    estimates = [one.estimate() for one in found]
    if not estimates:
        return _column([], [], [], [], [], GraphBounds(Extent(None, None, None), 0))
    like = next((one for one in found if one.bounds is not None), found[0])
    parts = {name: [getattr(e, name)[0] for e in estimates] for name in _COLUMNS}
    lower, upper, expected, std, exact, reached = (parts[name] for name in _COLUMNS)
    return _column(lower, upper, expected, std, exact, like, reached)
