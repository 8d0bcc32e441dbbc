"""A question as frozen values: expressions, conditions, and the statement as it was written and as it fits a release.

The parser leaves column names as `Name`; `bind` replaces them by `Column` and gives constants the kind of what they are
compared with. It makes a `Bound` of a `Question`, and splits the condition by what is known of each row (`known`:
published as it is), what is hidden (`hidden`: about the sensitive column alone) and what needs both (`mixed`). Engines
answer `keys` and `aggregates`; everything that is said about results (arithmetic, HAVING, ORDER BY, LIMIT) is an
`Outcome` and the same for all engines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Context, Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from hedgerow.errors import QueryError

if TYPE_CHECKING:
    from hedgerow.query.sql.joining import Joined

__all__ = [
    "ALWAYS",
    "DECIMAL_DIGITS",
    "DERIVED",
    "FLOATING",
    "LARGEST",
    "MOST_FLOAT",
    "NUMBERS",
    "SLOT",
    "WIDE",
    "Aggregate",
    "And",
    "Arithmetic",
    "Bound",
    "Call",
    "Case",
    "Cast",
    "Column",
    "Compare",
    "Computed",
    "Constant",
    "Expression",
    "In",
    "IsNull",
    "Key",
    "Kind",
    "Like",
    "Lookup",
    "Name",
    "Not",
    "Or",
    "Order",
    "Outcome",
    "Part",
    "Predicate",
    "Question",
    "Scalar",
    "Truth",
    "Value",
    "children_of",
    "columns_of",
    "conjuncts",
    "day_of",
    "default_name",
    "float_of",
    "kind_of",
    "leaves_of",
    "may_fail",
    "moment_of",
    "names_of",
    "number_of",
    "wording_of",
]

Value = bool | int | float | Decimal | str | date | datetime


class Kind(StrEnum):
    """What a column or an expression holds."""

    BOOL = "truth value"
    INT = "whole number"
    DECIMAL = "decimal number"
    FLOAT = "floating-point number"
    TEXT = "text"
    DATE = "date"
    TIME = "timestamp"


NUMBERS = (Kind.INT, Kind.DECIMAL, Kind.FLOAT)
LARGEST = 2**63 - 1
MOST_FLOAT = 2**53
"""Up to here floats hold every whole number."""
FLOATING = ("floor", "ceil")
"""Functions that give floats, of whole numbers too."""
DERIVED = "= "
"""How names of columns begin that a question computes."""
DECIMAL_DIGITS = 38
"""Digits that decimal numbers have at most."""
WIDE = Context(prec=80)
"""Decimals as wide as columns may be."""


@dataclass(frozen=True)
class Name:
    """A column name as written; unquoted names match in any case."""

    text: str
    quoted: bool = False


@dataclass(frozen=True)
class Column:
    """A published column; decimals have `digits` in all, `scale` of them after the point.

    `texts` is the policy that its texts follow (`verify.names`); "read" stands for no spaces and tabs around them.
    """

    name: str
    kind: Kind
    digits: int = 0
    scale: int = 0
    texts: str = field(default="exact", compare=False)


@dataclass(frozen=True)
class Constant:
    """A value in the question; its kind is None until it is bound, its value None is SQL's NULL."""

    value: Value | None
    kind: Kind | None = None


@dataclass(frozen=True)
class Cast:
    """The same value as another kind: whole numbers as floats, dates as timestamps.

    With a `scale` it is a decimal number with so many digits after the point that was computed in floats: the float
    nearest to it, so that it equals what is equal to it.
    """

    operand: Expression
    kind: Kind
    scale: int | None = None

    @property
    def spelled(self) -> Expression:
        """A decimal number in operations that every engine has."""
        by = Constant(float(10 ** (self.scale or 0)), Kind.FLOAT)
        steps = Call("round", (Arithmetic("*", self.operand, by, Kind.FLOAT),), Kind.FLOAT)
        return Arithmetic("/", steps, by, Kind.FLOAT)


@dataclass(frozen=True)
class Arithmetic:
    """`+`, `-`, `*` on whole numbers and days stay whole; everything else, and every `/`, is floating point.

    Dividing by zero gives NULL, in rows that a question does not look at (`defined`).
    """

    operator: str
    left: Expression
    right: Expression
    kind: Kind | None = None


@dataclass(frozen=True)
class Part:
    """The year, month or day of a date or timestamp."""

    unit: str
    operand: Expression


@dataclass(frozen=True)
class Call:
    """A function from the list that every engine computes alike: see `functions`."""

    function: str
    operands: tuple[Expression, ...]
    kind: Kind | None = None


@dataclass(frozen=True)
class Case:
    """The value that belongs to the first condition that is true, else `otherwise`."""

    branches: tuple[tuple[Predicate, Expression], ...]
    otherwise: Expression
    kind: Kind | None = None


@dataclass(frozen=True)
class Lookup:
    """A column of a table that an analyst brought along, found by what its key must equal; '' tells of a match.

    With a `scale` it is a decimal number with so many digits after the point, as the float nearest to it.
    """

    source: Joined
    column: str
    operands: tuple[Expression, ...]
    kind: Kind
    scale: int | None = None


@dataclass(frozen=True)
class Scalar:
    """An expression that DuckDB computes: SQL over places a0, a1, ... for its operands.

    As a failure it is a truth value: whether the expression stops there, or gives no finite number.
    """

    sql: str
    operands: tuple[Expression, ...]
    kind: Kind | None = None
    is_failure: bool = False


Expression = Name | Column | Constant | Cast | Arithmetic | Part | Call | Case | Lookup | Scalar


@dataclass(frozen=True)
class Truth:
    """A predicate that is the same for every row; None is SQL's unknown."""

    value: bool | None


@dataclass(frozen=True)
class Compare:
    """`=`, `<>`, `<`, `<=`, `>`, `>=`."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class In:
    """Membership in a list without NULLs."""

    operand: Expression
    values: tuple[Constant, ...]


@dataclass(frozen=True)
class Like:
    """`%` is any text, `_` any character, `escape` makes the next character literal."""

    operand: Expression
    pattern: str
    escape: str = ""


@dataclass(frozen=True)
class IsNull:
    """True where the operand is missing, false where it is not, never unknown."""

    operand: Expression


@dataclass(frozen=True)
class Not:
    """Negation; unknown stays unknown."""

    operand: Predicate


@dataclass(frozen=True)
class And:
    """True where all operands are, false where one is false."""

    operands: tuple[Predicate, ...]


@dataclass(frozen=True)
class Or:
    """True where one operand is, false where all are false."""

    operands: tuple[Predicate, ...]


Predicate = Truth | Compare | In | Like | IsNull | Not | And | Or


def kind_of(expression: Expression) -> Kind | None:
    """Return the kind of a bound expression; None is a NULL without a kind of its own."""
    if isinstance(expression, Part):
        return Kind.INT
    return None if isinstance(expression, Name) else expression.kind


def number_of(constant: Constant) -> Fraction:
    """The number that a constant is; refuse what is none."""
    value = constant.value
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise QueryError("a column of numbers compares with numbers; write them without quotes")
    if isinstance(value, Decimal) and abs(value.adjusted()) > 400:
        # Far outside every column and every float: the sign and "huge" or "tiny" is all that matters.
        value = Decimal((value.is_signed(), (int(value != 0),), 400 if value.adjusted() > 0 else -400))
    return Fraction(value)


_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT = re.compile(_DAY.pattern + r"([ T]\d\d:\d\d(:\d\d(\.\d+)?)?([+-]\d\d(:\d\d)?|Z)?)?", re.ASCII)


def day_of(text: str) -> date:
    """Read a date as databases write it; Python reads weeks, and digits without signs between them, as well."""
    if _DAY.fullmatch(text.strip()) is None:
        raise ValueError(text)
    return date.fromisoformat(text.strip())


def moment_of(text: str) -> datetime:
    """Read a timestamp as databases write it."""
    if _MOMENT.fullmatch(text.strip()) is None:
        raise ValueError(text)
    return datetime.fromisoformat(text.strip())


def float_of(constant: Constant) -> float:
    """The nearest float to the number that a constant is; infinite where it is too large."""
    if isinstance(constant.value, float):
        return constant.value
    number = number_of(constant)
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def columns_of(node: Predicate | Expression) -> frozenset[str]:
    """Names of the columns that a bound predicate or expression reads."""
    if isinstance(node, Column):
        return frozenset([node.name])
    return frozenset().union(*(columns_of(child) for child in children_of(node)))


def names_of(node: Predicate | Expression) -> frozenset[str]:
    """Names that an unbound expression uses, as written."""
    if isinstance(node, Name):
        return frozenset([node.text])
    return frozenset().union(*(names_of(child) for child in children_of(node)))


def conjuncts(condition: Predicate) -> list[Predicate]:
    """List the conditions that a condition joins by AND; those on one column stay whole, decided once per value."""
    if condition == Truth(True):
        return []
    if isinstance(condition, And) and len(columns_of(condition)) > 1:
        return [part for operand in condition.operands for part in conjuncts(operand)]
    return [condition]


def leaves_of(condition: Predicate) -> Iterator[Predicate]:
    """List the comparisons and tests that AND, OR and NOT join."""
    if isinstance(condition, And | Or):
        for operand in condition.operands:
            yield from leaves_of(operand)
    elif isinstance(condition, Not):
        yield from leaves_of(condition.operand)
    else:
        yield condition


def children_of(node: Predicate | Expression) -> Iterator[Predicate | Expression]:
    """List what a predicate or expression is directly made of."""
    if isinstance(node, And | Or):
        yield from node.operands
    elif isinstance(node, Compare | Arithmetic):
        yield from (node.left, node.right)
    elif isinstance(node, Not | In | Like | IsNull | Cast | Part):
        yield node.operand
    elif isinstance(node, Call | Lookup | Scalar):
        yield from node.operands
    elif isinstance(node, Case):
        yield from (part for branch in node.branches for part in branch)
        yield node.otherwise


def may_fail(node: Predicate | Expression) -> bool:
    """Tell whether something in it divides, or is computed by DuckDB."""
    if isinstance(node, Scalar) or getattr(node, "operator", "") == "/" or getattr(node, "function", "") == "mod":
        return True
    return any(map(may_fail, children_of(node)))


ALWAYS = Truth(True)
SLOT = "\0"
"""How the name of a result starts that only other results use; no text of a question contains it."""


@dataclass(frozen=True)
class Key:
    """A GROUP BY expression in the select list; once bound, a column."""

    column: Expression
    alias: str

    def scale_in(self, derived: Mapping[str, Expression]) -> int | None:
        """Digits after the point of a key that is computed as a decimal number, of the `derived` columns."""
        made = derived.get(self.column.name) if isinstance(self.column, Column) else None
        return made.scale if isinstance(made, Cast) else None


@dataclass(frozen=True)
class Aggregate:
    """A function of an expression; COUNT of all rows has none. Quantiles have the `fraction` of values below them.

    Covariances and lines of regression take a second expression, `other`; FILTER is one more condition, `where`. Once
    bound, `scale` is how many digits after the point an interpolated quantile, or a mean of moments, has room for.
    """

    function: str
    column: Expression | None
    alias: str
    fraction: Fraction | None = None
    other: Expression | None = None
    where: Predicate = ALWAYS
    scale: int | None = None


def wording_of(name: str) -> str:
    """A column in a sentence; what is computed from columns is called by a text that no analyst wrote."""
    return "the expression" if name.startswith(DERIVED) else f"'{name}'"


def default_name(item: Aggregate) -> str:
    """How a result without a name is called: after its function and its column."""
    name = item.column.text if isinstance(item.column, Name) else "expression"
    return item.function if item.column is None else f"{item.function}_{name}"


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
    written: Predicate = ALWAYS
    """HAVING before it was bound, with constants as they were written."""

    @property
    def is_plain(self) -> bool:
        """Tell whether results are shown as they are, all of them."""
        is_cut = self.limit is not None or bool(self.offset)
        return self.having == ALWAYS and not (self.computed or self.order or is_cut)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """What is computed from results, and what sorts them."""
        return *(item.expression for item in self.computed), *(term.expression for term in self.order)

    @property
    def may_fail(self) -> bool:
        """Tell whether something that is computed from results may have no value."""
        return any(map(may_fail, (*self.expressions, self.having)))


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

    @property
    def may_fail(self) -> bool:
        """Tell whether some expression may have no value in a row: it divides, or DuckDB computes it."""
        filters = (item.where for item in self.aggregates)
        parts = (self.known, self.hidden, self.mixed, *self.derived.values(), *filters)
        return self.outcome.may_fail or any(map(may_fail, parts))

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
