"""A select statement as frozen values: as it was written (`Question`), and as it fits a release (`Bound`).

`bind` splits the condition by what is known of each row (`known`: published as it is), what is hidden (`hidden`: about
the sensitive column alone) and what needs both (`mixed`). Engines answer `keys` and `aggregates`; everything that is
said about results (arithmetic, HAVING, ORDER BY, LIMIT) is an `Outcome` and the same for all engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from hedgerow.query.sql.question import Column, Expression, Predicate, Truth, columns_of, leaves_of

__all__ = ["ALWAYS", "SLOT", "Aggregate", "Bound", "Computed", "Key", "Order", "Outcome", "Question"]

ALWAYS = Truth(True)
SLOT = "\0"
"""How the name of a result starts that only other results use; no text of a question contains it."""


@dataclass(frozen=True)
class Key:
    """A GROUP BY expression in the select list; once bound, a column."""

    column: Expression
    alias: str


@dataclass(frozen=True)
class Aggregate:
    """A function of an expression; COUNT of all rows has none. Quantiles have the `fraction` of values below them.

    Covariances and lines of regression take a second expression, `other`.
    """

    function: str
    column: Expression | None
    alias: str
    fraction: Fraction | None = None
    other: Expression | None = None


@dataclass(frozen=True)
class Computed:
    """Arithmetic on aggregates, which it names by their slots."""

    expression: Expression
    alias: str


@dataclass(frozen=True)
class Order:
    """One term of ORDER BY."""

    expression: Expression
    is_descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class Outcome:
    """What happens to the results: computed columns, which rows stay, their order, and the names that are shown."""

    computed: tuple[Computed, ...] = ()
    having: Predicate = ALWAYS
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    shown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """A select statement as written; `slots` are the aggregates that only other results use."""

    select: tuple[Key | Aggregate | Computed, ...]
    where: Predicate
    groups: tuple[Expression, ...]
    slots: tuple[Aggregate, ...] = ()
    outcome: Outcome = Outcome()


@dataclass(frozen=True)
class Bound:
    """A question that fits the release.

    `derived` are columns that the question computes, by name; `bases` tells of every hidden column, published or
    derived, from which sensitive column it comes.
    """

    keys: tuple[Key, ...]
    aggregates: tuple[Aggregate, ...]
    groups: tuple[Column, ...]
    known: Predicate
    hidden: Predicate
    bases: Mapping[str, str]
    mixed: Predicate = ALWAYS
    derived: Mapping[str, Expression] = field(default_factory=dict)
    outcome: Outcome = Outcome()

    def hides(self, aggregate: Aggregate) -> bool:
        """Tell whether the aggregate is over a sensitive column."""
        return isinstance(aggregate.column, Column) and aggregate.column.name in self.bases

    def crosses(self, aggregate: Aggregate) -> bool:
        """Tell whether the aggregate is over an expression that reads a sensitive column and another one."""
        name = aggregate.column.name if isinstance(aggregate.column, Column) else ""
        return name in self.bases and name in self.derived and len(columns_of(self.derived[name])) > 1

    @property
    def is_crossed(self) -> bool:
        """Tell whether a condition compares a sensitive column with another one."""
        leaves = (columns_of(leaf) for leaf in leaves_of(self.mixed))
        return any(len(names) > 1 and names & frozenset(self.bases) for names in leaves)

    @property
    def is_free(self) -> bool:
        """Tell whether no condition is on a sensitive column."""
        return isinstance(self.hidden, Truth) and isinstance(self.mixed, Truth)
