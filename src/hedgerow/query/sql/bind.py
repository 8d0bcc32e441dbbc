"""Fit a question to a release: names to columns, the condition to what is known and what is hidden, results to names.

An expression in GROUP BY or inside an aggregate becomes a derived column: the engines compute it once and treat it like
a published one. It is hidden if it reads a sensitive column. After binding both sides of a comparison are of one kind,
and constants are of the column's own grid (`x < 2.5` on whole numbers is `x <= 2`), so that engines with other rules
for mixed types cannot disagree.
"""

from __future__ import annotations

import difflib
import math
import operator as operators
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hedgerow.errors import QueryError
from hedgerow.query.aggregates import AGGREGATES, Gives
from hedgerow.query.sql.computing import scale_of, typed
from hedgerow.query.sql.digits import MOST_STEPS
from hedgerow.query.sql.kinds import MOST_DIGITS, alike, arithmetic, call, case
from hedgerow.query.sql.printing import value_sql
from hedgerow.query.sql.question import (
    ALWAYS,
    DECIMAL_DIGITS,
    DERIVED,
    LARGEST,
    NUMBERS,
    SLOT,
    WIDE,
    Aggregate,
    And,
    Arithmetic,
    Bound,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    Computed,
    Constant,
    Expression,
    In,
    IsNull,
    Key,
    Kind,
    Like,
    Lookup,
    Name,
    Not,
    Or,
    Order,
    Outcome,
    Part,
    Predicate,
    Question,
    Scalar,
    Truth,
    Value,
    children_of,
    columns_of,
    day_of,
    default_name,
    float_of,
    kind_of,
    moment_of,
    names_of,
    number_of,
)
from hedgerow.verify.names import text_in_form

__all__ = ["Binder", "bind", "bind_outcome", "check_forms", "compare_constant", "narrowed"]

_COMPARE: dict[str, Any] = {
    "=": operators.eq,
    "<>": operators.ne,
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
}
_WHOLE_DIGITS = 19
_LISTED = 20
"""Columns that a refusal names."""
_FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Binder:
    """Binds to the columns that it knows, and to those that stand for whole `expressions`."""

    columns: Mapping[str, Column]
    expressions: Mapping[Expression, Column] = field(default_factory=dict)

    def column(self, name: Name) -> Column:
        """Find a column: exactly as written, or in any case where that is unambiguous and the name is not quoted."""
        if name.text in self.columns:
            return self.columns[name.text]
        loose = [column for text, column in self.columns.items() if text.lower() == name.text.lower()]
        if len(loose) == 1 and not name.quoted:
            return loose[0]
        suggestion = self._suggestion(name.text)
        may_be_text = name.quoted or not suggestion.startswith("did you mean")
        quotes = "; a text stands in single quotes" if may_be_text else ""
        raise QueryError(f"there is no column '{name.text}'; {suggestion}{quotes}")

    def _suggestion(self, text: str) -> str:
        lowered = {name.lower(): name for name in self.columns if name.isprintable() and not name.startswith(DERIVED)}
        close = [lowered[match] for match in difflib.get_close_matches(text.lower(), lowered, n=3)]
        close += [
            name for name in lowered.values() if len(text) > 1 and text.lower() in name.lower() and name not in close
        ]
        names = ", ".join('"' + name.replace('"', '""') + '"' for name in close[:3] or list(lowered.values())[:_LISTED])
        more = len(lowered) - _LISTED
        others = f" and {more:,} more" if more > 0 else ""
        return f"did you mean {names}?" if close else f"the columns are {names}{others}"

    def predicate(self, node: Predicate) -> Predicate:
        """Bind a predicate and all below it."""
        if isinstance(node, And | Or):
            return type(node)(tuple(self.predicate(operand) for operand in node.operands))
        if isinstance(node, Not):
            return Not(self.predicate(node.operand))
        binders: dict[type, Callable[..., Predicate]] = {
            Compare: self._compare,
            In: self._in,
            Like: self._like,
            IsNull: self._is_null,
        }
        return binders[type(node)](node) if type(node) in binders else node

    def _compare(self, node: Compare) -> Predicate:
        left, right = self.exactly(node.left), self.exactly(node.right)
        if isinstance(left, Constant):
            return compare_constant(_FLIPPED[node.operator], right, left)
        if isinstance(right, Constant):
            return compare_constant(node.operator, left, right)
        return Compare(node.operator, *alike(left, right))

    def _in(self, node: In) -> Predicate:
        operand = self.exactly(node.operand)
        if isinstance(operand, Constant):
            return Or((Truth(False), *(compare_constant("=", operand, value) for value in node.values)))
        if _has_grid(operand) and any(isinstance(value.value, float) for value in node.values):
            return Or(tuple(compare_constant("=", operand, value) for value in node.values))
        values = tuple(fitted for value in node.values if (fitted := _on_column(operand, value)) is not None)
        # A list of which nothing fits the column is false where the column is known and unknown where it is missing.
        return In(operand, values) if values else Compare("<>", operand, operand)

    def _like(self, node: Like) -> Predicate:
        operand = self.expression(node.operand)
        if kind_of(operand) is not Kind.TEXT:
            raise QueryError("LIKE needs a column of text; compare numbers and dates with <, = and BETWEEN")
        if len(node.escape) > 1:
            raise QueryError("ESCAPE takes a single character")
        if node.escape and node.pattern.replace(2 * node.escape, "").endswith(node.escape):
            raise QueryError("a LIKE pattern cannot end in its escape character")
        return replace(node, operand=operand)

    def _is_null(self, node: IsNull) -> Predicate:
        operand = self.expression(node.operand)
        return Truth(operand.value is None) if isinstance(operand, Constant) else IsNull(operand)

    def expression(self, node: Expression) -> Expression:
        """Bind an expression; constants keep no kind until they meet a column."""
        if isinstance(node, Name):
            return self.column(node)
        if self.expressions and node in self.expressions:
            return self.expressions[node]
        # Inside decimal arithmetic floats may be off in their last digits; what it gives to others may not.
        is_smooth = isinstance(node, Arithmetic | Case) or (isinstance(node, Call) and node.function in _SMOOTH)
        inner = self.expression if is_smooth and scale_of(node, self.column) is not None else self.exactly
        if isinstance(node, Arithmetic):
            return arithmetic(node.operator, inner(node.left), inner(node.right))
        if isinstance(node, Part):
            operand = self.expression(node.operand)
            if kind_of(operand) not in (Kind.DATE, Kind.TIME):
                raise QueryError(f"{node.unit.upper()} needs a column of dates or timestamps")
            return Part(node.unit, operand)
        if isinstance(node, Call):
            return call(node.function, [inner(operand) for operand in node.operands])
        if isinstance(node, Scalar):
            return typed(replace(node, operands=tuple(inner(operand) for operand in node.operands)))
        if isinstance(node, Case):
            branches = [(self.predicate(when), inner(then)) for when, then in node.branches]
            return case(branches, inner(node.otherwise))
        return node

    def exactly(self, node: Expression) -> Expression:
        """Bind an expression; what is a decimal number for SQL becomes the float nearest to that number."""
        bound = self.expression(node)
        if kind_of(bound) is not Kind.FLOAT or not isinstance(bound, Arithmetic | Call | Case | Lookup | Scalar):
            return bound
        scale = scale_of(node, self.column)
        return bound if scale is None else Cast(bound, Kind.FLOAT, scale)


_SMOOTH = ("abs", "coalesce")
"""Functions of decimals that floats follow closely."""
_SUMS = ("sum", "avg", "count", "corr", "covar_pop", "covar_samp")
"""Aggregates whose bounds have room for the last digits of floats."""
_MEANS = ("avg", "quantile_cont")
"""Aggregates between the values: of dates and timestamps they are timestamps."""
_RANKS = ("min", "max", "quantile_disc", "quantile_cont", "var_pop", "var_samp", "stddev_pop", "stddev_samp")
_MIXING = ("count", "sum", "avg", "distinct", *_RANKS)
_BETWEEN = (
    "between aggregates there may be + - * / and numbers: sum(x) / count(*) * 100; and functions: round(avg(x), 2)"
)
_MIXED = (
    "{} an expression that mixes a sensitive column with another one has no bound; COUNT, SUM, AVG, MIN, MAX, "
    "quantiles and VARIANCE of it have"
)


def bind(question: Question, columns: Mapping[str, Any], sensitive: Sequence[str]) -> Bound:
    """Resolve every name, give every constant its kind, and split the condition."""
    fitter = _Fitter(Binder(columns), frozenset(sensitive))
    aliases = {item.alias.lower(): item.column for item in question.select if isinstance(item, Key) and item.alias}
    written = [_resolve_alias(item, aliases, columns) for item in question.groups]
    groups = tuple(map(fitter.column, written))
    select = [fitter.item(item, {slot.alias: slot for slot in question.slots}) for item in question.select]
    slots = tuple(fitter.aggregate(slot) for slot in question.slots)
    keys = tuple(item for item in select if isinstance(item, Key))
    aggregates = tuple(item for item in select if isinstance(item, Aggregate))
    known, hidden, mixed = _split(fitter.binder.predicate(question.where), frozenset(sensitive))
    every = (*groups, *fitter.functions_of(groups, keys))
    bound = Bound(keys, (*aggregates, *slots), every, known, hidden, fitter.bases, mixed, fitter.derived)
    _check_groups(bound)
    bound = bind_outcome(bound, question.outcome, select, dict(zip(written, groups, strict=True)))
    _check_names(bound)
    return bound


def _resolve_alias(item: Expression, aliases: Mapping[str, Expression], columns: Mapping[str, Column]) -> Expression:
    """GROUP BY may name an expression of the select list, unless a column has that name."""
    if not isinstance(item, Name) or any(name.lower() == item.text.lower() for name in columns):
        return item
    return aliases.get(item.text.lower(), item)


@dataclass
class _Fitter:
    """Binds the parts of a select list, and keeps the derived columns that they need."""

    binder: Binder
    sensitive: frozenset[str]
    derived: dict[str, Expression] = field(default_factory=dict)
    bases: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bases |= {name: name for name in self.sensitive}

    def item(self, item: Key | Aggregate | Computed, slots: Mapping[str, Aggregate]) -> Key | Aggregate | Computed:
        """Bind an entry of the select list."""
        if isinstance(item, Aggregate):
            return self.aggregate(item)
        if isinstance(item, Computed):
            return self._as_average(item, slots) or item
        column = self.column(item.column)
        return Key(column, item.alias or _readable(item.column, column))

    def functions_of(self, groups: Sequence[Column], keys: Sequence[Key]) -> Iterator[Column]:
        """Selected expressions of known columns that are grouped by: to group by them as well changes nothing."""
        names = {group.name for group in groups} - set(self.derived)
        for column in dict.fromkeys(key.column for key in keys if isinstance(key.column, Column)):
            made = self.derived.get(column.name)
            is_looked_up = isinstance(made.operand if isinstance(made, Cast) else made, Lookup)
            if made is None or is_looked_up or column in groups or column.name in self.bases:
                continue
            if columns_of(made) <= names:
                yield column

    def _as_average(self, item: Computed, slots: Mapping[str, Aggregate]) -> Aggregate | None:
        """Read sum(x) / count(x) as avg(x), whose bounds are the best ratios and not ratios of bounds."""
        node = item.expression
        if not isinstance(node, Arithmetic) or node.operator != "/":
            return None
        sides = [slots.get(side.text) if isinstance(side, Name) else None for side in (node.left, node.right)]
        top, bottom = sides
        if top is None or bottom is None or (top.function, bottom.function) != ("sum", "count"):
            return None
        if (top.column, top.where) != (bottom.column, bottom.where):
            return None
        mean = Aggregate("avg", top.column, item.alias, where=top.where)
        return self.aggregate(replace(mean, alias=item.alias or default_name(mean)))

    def aggregate(self, item: Aggregate) -> Aggregate:
        """Bind an aggregate; its argument becomes a column."""
        if item.where != ALWAYS:
            plain = self.aggregate(replace(item, where=ALWAYS))
            return replace(plain, where=self.binder.predicate(item.where))
        if item.column is None:
            return item
        if item.function == "regr_count" and item.other is not None:
            # The number of rows that have both.
            both = Arithmetic("*", item.column, item.other)
            return self.aggregate(replace(item, function="count", column=both, other=None))
        column = self.column(item.column, function=item.function)
        if column.kind is Kind.BOOL and item.function == "sum":
            # The number of rows for which it is true.
            ones = [(Compare("=", item.column, Constant(truth)), Constant(int(truth))) for truth in (True, False)]
            column = self.column(Case(tuple(ones), Constant(None)), function=item.function)
        if item.function in _MEANS and column.kind is Kind.DATE:
            column = self.column(Scalar("CAST(a0 AS TIMESTAMP)", (item.column,)), function=item.function)
        takes_any = item.function in AGGREGATES and AGGREGATES[item.function].takes_any
        if not takes_any and column.kind not in NUMBERS and not (item.function in _MEANS and column.kind is Kind.TIME):
            name = item.function.removesuffix("_distinct").upper()
            raise QueryError(
                f"{name} needs numbers; '{_readable(item.column, column)}' is a {column.kind} column. "
                "COUNT, MIN, MAX and quantile_disc work."
            )
        scale = scale_of(item.column, self.binder.column) if item.function == "quantile_cont" else None
        scale = 0 if item.function in _MEANS and column.kind is Kind.TIME else scale  # whole microseconds
        item = replace(item, column=column, scale=scale)
        return item if item.other is None else self._bind_pair(item, item.other)

    def _bind_pair(self, item: Aggregate, other: Expression) -> Aggregate:
        """Bind the second argument of an aggregate of two columns."""
        second = self.column(other, function=item.function)
        if second.kind not in NUMBERS:
            raise QueryError(
                f"{item.function.upper()} needs numbers; '{_readable(other, second)}' is a {second.kind} column"
            )
        return replace(item, other=second)

    def column(self, expression: Expression, function: str = "") -> Column:
        """Bind an expression: a published column, or a derived one. Few aggregates may mix a sensitive column in."""
        is_sum = function in _SUMS or function.startswith("regr_")
        bound = self.binder.expression(expression) if is_sum else self.binder.exactly(expression)
        if isinstance(bound, Column):
            return bound
        names = columns_of(bound)
        if not names:
            raise QueryError("an expression in GROUP BY or inside an aggregate must name a column")
        if names & self.sensitive and len(names) > 1 and function not in _MIXING:
            raise QueryError(_MIXED.format(f"{function.upper()} of" if function else "GROUP BY with"))
        kind = kind_of(bound)
        assert kind is not None, "an expression that names columns has a kind"
        name = f"{DERIVED}{value_sql(bound)}"
        while name in self.binder.columns:
            name = f"={name}"
        self.derived[name] = bound
        if names & self.sensitive:
            self.bases[name] = min(names & self.sensitive)
        return Column(name, kind)


def _readable(written: Expression, column: Column) -> str:
    """Name a result after its column, or shortly after its expression."""
    return column.name if isinstance(written, Name) else "expression"


def narrowed(bound: Bound, condition: Predicate, aggregates: tuple[Aggregate, ...]) -> Bound:
    """The same question under one more condition, with other aggregates and the expressions that it needs."""
    sensitive = frozenset(name for name, base in bound.bases.items() if name == base)
    whole = And((bound.known, bound.hidden, bound.mixed, condition))
    known, hidden, mixed = _split(whole, sensitive) if condition != ALWAYS else (bound.known, bound.hidden, bound.mixed)
    sides = [*bound.groups, *(side for item in aggregates for side in (item.column, item.other))]
    used = {side.name for side in sides if isinstance(side, Column)}
    derived = {name: expression for name, expression in bound.derived.items() if name in used}
    bases = {name: base for name, base in bound.bases.items() if name == base or name in used}
    return replace(bound, aggregates=aggregates, known=known, hidden=hidden, mixed=mixed, derived=derived, bases=bases)


def _split(condition: Predicate, sensitive: frozenset[str]) -> tuple[Predicate, Predicate, Predicate]:
    """Part a conjunction into what is known of a row, what is hidden, and what needs both."""
    known: list[Predicate] = []
    hidden: list[Predicate] = []
    mixed: list[Predicate] = []
    for part in _conjuncts(condition):
        if part == ALWAYS:
            continue
        names = columns_of(part)
        (known if not names & sensitive else hidden if names <= sensitive else mixed).append(part)
    return _all(known), _all(hidden), _all(mixed)


def _conjuncts(condition: Predicate) -> list[Predicate]:
    if len(columns_of(condition)) <= 1:
        # Kept whole: an engine decides it once per distinct value.
        return [condition]
    if isinstance(condition, And):
        return [part for operand in condition.operands for part in _conjuncts(operand)]
    if isinstance(condition, Not) and isinstance(condition.operand, Or):
        return [part for operand in condition.operand.operands for part in _conjuncts(Not(operand))]
    if isinstance(condition, Not) and isinstance(condition.operand, Not):
        return _conjuncts(condition.operand.operand)
    return [condition]


def _all(parts: list[Predicate]) -> Predicate:
    return parts[0] if len(parts) == 1 else And(tuple(parts)) if parts else Truth(True)


def _check_groups(bound: Bound) -> None:
    loose = next((key for key in bound.keys if key.column not in bound.groups), None)
    if loose is not None:
        raise QueryError(f"'{loose.alias}' is selected but not grouped; add it to GROUP BY or put it in an aggregate")


def _check_names(bound: Bound) -> None:
    taken: set[str] = set()
    results = [*(item.alias for item in bound.aggregates), *(item.alias for item in bound.outcome.computed)]
    every = [alias for alias in results if not alias.startswith(SLOT)]
    names = [key.alias for key in bound.keys]
    names += [f"{alias}{end}" for alias in every for end in ("", "_lower", "_upper", "_std")]
    for name in names:
        if name.lower() in taken:
            raise QueryError(f"two results would be called '{name}'; name them with AS")
        taken.add(name.lower())


def bind_outcome(
    bound: Bound,
    outcome: Outcome,
    select: Sequence[Key | Aggregate | Computed],
    groups: Mapping[Expression, Column] | None = None,
) -> Bound:
    """Resolve the names of results, their places in the select list, and the expressions that are grouped by."""
    computed = [item for item in select if isinstance(item, Computed)]
    results = {item.alias: _result_column(item) for item in bound.aggregates}
    named = tuple(
        replace(item, alias=item.alias or _free(f"result_{n}", results)) for n, item in enumerate(computed, 1)
    )
    keys = {key.alias: _as_shown(key, bound.derived) for key in bound.keys}
    for item in named:
        _check_computed(item.expression, keys)
    kinds = {name.lower(): column.kind for name, column in (results | keys).items()}
    results |= {item.alias: Column(item.alias, _computed_kind(item.expression, kinds)) for item in named}
    taken = {name.lower() for name in (*results, *keys)}
    others = {c.name: _rename(c, f"{SLOT}{c.name}") for c in bound.groups if c.name.lower() not in taken}
    shown_as = {key.column: keys[key.alias] for key in reversed(bound.keys)}
    grouped: dict[Expression, Column] = {
        node: shown_as.get(column, others.get(column.name, column))
        for node, column in (groups or {}).items()
        if not isinstance(node, Name | Constant)
    }
    binder = Binder({**others, **results, **keys}, grouped)
    _check_shadows(outcome, groups or {}, taken - {key.alias.lower() for key in bound.keys if _is_own(key)})
    aliases = iter(named)
    places = [next(aliases).alias if isinstance(item, Computed) else item.alias for item in select]
    order = tuple(_order(term, binder, places) for term in outcome.order)
    having = binder.predicate(outcome.having)
    used = columns_of(having).union(*(columns_of(term.expression) for term in order))
    extra = tuple(Key(c, f"{SLOT}{c.name}") for c in bound.groups if f"{SLOT}{c.name}" in used)
    shown = tuple(name for name in [*keys, *results] if not name.startswith(SLOT))
    final = Outcome(named, having, order, outcome.limit, outcome.offset, shown, outcome.having)
    return replace(bound, keys=(*bound.keys, *extra), outcome=final)


def _is_own(key: Key) -> bool:
    """Tell whether a key is called like its column."""
    return isinstance(key.column, Column) and key.column.name.lower() == key.alias.lower()


def _check_shadows(outcome: Outcome, groups: Iterable[Expression], results: Collection[str]) -> None:
    """Refuse names of other results in HAVING, where a column or an expression that is grouped by is written so."""
    parts = [outcome.having, *(term.expression for term in outcome.order if not isinstance(term.expression, Name))]
    for node in groups:
        twice = next((name for name in sorted(names_of(node)) if name.lower() in results), None)
        if twice is None:
            continue
        used = {name.lower() for part in parts for name in names_of(part)}
        if twice.lower() in used if isinstance(node, Name) else _holds(outcome.having, node):
            raise QueryError(
                f"'{twice}' is a column of GROUP BY and the name of another result; give that another name"
            )


def _holds(node: Predicate | Expression, part: Expression) -> bool:
    return node == part or any(_holds(child, part) for child in children_of(node))


def _result_column(item: Aggregate) -> Column:
    is_value = item.function in _MEANS or AGGREGATES.get(item.function, AGGREGATES["sum"]).gives is Gives.VALUE
    is_valued = is_value and isinstance(item.column, Column) and item.column.kind not in NUMBERS
    return Column(item.alias, item.column.kind if is_valued and isinstance(item.column, Column) else Kind.FLOAT)


def _as_shown(key: Key, derived: Mapping[str, Expression]) -> Column:
    """A key as it is in the answer: what is computed as a decimal number is one."""
    column = _rename(key.column, key.alias)
    scale = key.scale_in(derived)
    if scale is None:
        return column
    return replace(column, kind=Kind.DECIMAL, digits=max(MOST_DIGITS, scale), scale=scale)


def _rename(key: Expression, name: str) -> Column:
    """A column of GROUP BY under the name that it has among the results, with all digits of its decimals."""
    assert isinstance(key, Column), "a bound key is a column"
    return replace(key, name=name)


def _free(wanted: str, taken: dict[str, Column]) -> str:
    return wanted if wanted not in taken else _free(f"{wanted}_", taken)


def _order(term: Order, binder: Binder, shown: Sequence[str]) -> Order:
    place = term.expression
    if isinstance(place, Constant):
        if type(place.value) is not int or not 1 <= place.value <= len(shown):
            raise QueryError(f"ORDER BY takes results by name, or by position from 1 to {len(shown)}")
        return replace(term, expression=binder.columns[shown[place.value - 1]])
    return replace(term, expression=binder.expression(place))


def _check_computed(node: Expression | Predicate, keys: Mapping[str, Column]) -> None:
    """Refuse what results are not computed with; names are results or keys."""
    if isinstance(node, Arithmetic) and any(
        isinstance(side, Constant) and isinstance(side.value, bool | str) for side in (node.left, node.right)
    ):
        raise QueryError(_BETWEEN)
    if isinstance(node, Arithmetic | Call | Case | Compare | And | Or | Not | In | IsNull):
        for child in children_of(node):
            _check_computed(child, keys)
    elif isinstance(node, Name):
        if not node.text.startswith(SLOT) and node.text.lower() not in {name.lower() for name in keys}:
            raise QueryError(
                f"'{node.text}' stands beside aggregates, and is not selected and grouped by; add it to both"
            )
    elif not isinstance(node, Constant | Truth):
        raise QueryError(_BETWEEN)


def _computed_kind(node: Expression, kinds: Mapping[str, Kind]) -> Kind:
    """Tell dates, which are some days from other dates, from numbers."""
    if isinstance(node, Name):
        return kinds.get(node.text.lower(), Kind.FLOAT)
    if isinstance(node, Constant):
        return Kind.DATE if isinstance(node.value, date) else Kind.FLOAT
    if not isinstance(node, Arithmetic):
        return Kind.FLOAT
    sides = [_computed_kind(side, kinds) for side in (node.left, node.right)]
    return Kind.DATE if sides.count(Kind.DATE) == 1 else Kind.FLOAT


def compare_constant(operator: str, side: Expression, constant: Constant) -> Predicate:
    """Compare an expression with a constant in the expression's own kind."""
    if constant.value is None or side == Constant(None):
        return Truth(None)
    if isinstance(side, Constant):
        return _compare_two(operator, side, constant)
    if kind_of(side) is Kind.DATE and isinstance(constant.value, datetime):
        side = Cast(side, Kind.TIME)
    if _has_grid(side):
        is_double = isinstance(constant.value, float)
        return (_compare_in_floats if is_double else _compare_on_grid)(operator, side, constant)
    if kind_of(side) is Kind.BOOL and operator not in ("=", "<>"):
        raise QueryError("truth values compare with = and <> only")
    fitted = _on_column(side, constant)
    assert fitted is not None, "only grids have values that do not fit"
    return Compare(operator, side, fitted)


def _compare_two(operator: str, left: Constant, right: Constant) -> Truth:
    kinds = [float if type(side.value) in (int, float, Decimal) else type(side.value) for side in (left, right)]
    if kinds[0] is not kinds[1]:
        raise QueryError("a comparison needs two sides of one kind")
    return Truth(bool(_COMPARE[operator](left.value, right.value)))


def _has_grid(side: Expression) -> bool:
    """Tell whether an expression gives whole or decimal numbers, for SQL."""
    return kind_of(side) in (Kind.INT, Kind.DECIMAL) or (isinstance(side, Cast) and side.scale is not None)


def _compare_in_floats(operator: str, side: Expression, constant: Constant) -> Predicate:
    """SQL takes both sides as floats; say it of the numbers on the grid whose nearest float is the constant."""
    if isinstance(side, Column) and side.digits > MOST_DIGITS:
        raise QueryError(f"'{side.name}' has more digits than floats have; write the number without an exponent")
    wanted = float_of(constant)
    if isinstance(side, Cast):
        return Compare(operator, side, Constant(wanted, Kind.FLOAT))
    if abs(wanted) >= 2**53 and kind_of(side) is Kind.INT:
        first, last = (Constant(end) for end in _whole_numbers(wanted))
        if operator in ("=", "<>"):
            inside = And((_compare_on_grid(">=", side, first), _compare_on_grid("<=", side, last)))
            return inside if operator == "=" else Not(inside)
        return _compare_on_grid(operator, side, first if operator in ("<", ">=") else last)
    scale = _grid(side)[0]
    nearest = WIDE.scaleb(Decimal(round(number_of(constant) * 10**scale)), -scale)
    return _compare_on_grid(operator, side, Constant(nearest) if float(nearest) == wanted else constant)


def _whole_numbers(wanted: float) -> tuple[int, int]:
    """The first and the last whole number with a float as the nearest one, which is beyond 2^53."""
    middle = [(int(math.nextafter(wanted, end)) + int(wanted)) // 2 for end in (-math.inf, math.inf)]
    first, last = middle
    return (first if float(first) == wanted else first + 1), (last if float(last) == wanted else last - 1)


def _compare_on_grid(operator: str, side: Expression, constant: Constant) -> Predicate:
    """Round the constant to the grid of the column so that the comparison stays the same."""
    always, never = Compare("=", side, side), Compare("<>", side, side)
    _, least, largest = _grid(side)
    steps = _steps(side, constant)
    if not least <= steps <= largest:
        return always if _COMPARE[operator](0, steps) else never
    below = math.floor(steps)
    if steps == below:
        return Compare(operator, side, _step(side, below))
    if operator in ("=", "<>"):
        return never if operator == "=" else always
    is_less = operator.startswith("<")
    return Compare("<=" if is_less else ">=", side, _step(side, below if is_less else below + 1))


def _on_column(side: Expression, constant: Constant) -> Constant | None:
    """Read the constant as a value of the expression's kind; None where no such value exists on the grid."""
    kind = kind_of(side)
    if isinstance(side, Column) and kind is Kind.TEXT and isinstance(constant.value, str):
        check_forms(side, [constant.value])
    if _has_grid(side):
        _, least, largest = _grid(side)
        steps = _steps(side, constant)
        return _step(side, int(steps)) if steps.denominator == 1 and least <= steps <= largest else None
    readers: dict[Kind | None, Any] = {
        Kind.FLOAT: lambda value: float_of(Constant(value)),
        Kind.TEXT: _read_text,
        Kind.BOOL: _read_bool,
        Kind.DATE: _read_date,
        Kind.TIME: _read_time,
    }
    return Constant(readers[kind](constant.value), kind)


def _grid(side: Expression) -> tuple[int, int, int]:
    """Return the digits after the point, and the least and the largest number of steps of a column's grid."""
    if isinstance(side, Column) and side.kind is Kind.DECIMAL:
        return side.scale, 1 - 10**side.digits, 10**side.digits - 1
    if isinstance(side, Cast) and side.scale is not None:
        return side.scale, -MOST_STEPS, MOST_STEPS
    return 0, -LARGEST - 1, LARGEST


def _steps(side: Expression, constant: Constant) -> Fraction:
    """How many steps of an expression's grid a number is; refuse one of which SQL's common type would drop digits."""
    before = side.digits - side.scale if isinstance(side, Column) and side.kind is Kind.DECIMAL else _WHOLE_DIGITS
    after = -int(constant.value.as_tuple().exponent) if isinstance(constant.value, Decimal) else 0
    if after > _grid(side)[0] and before + after > DECIMAL_DIGITS:
        raise QueryError(f"a number with {after} digits after the point is cut in comparisons; write fewer digits")
    steps: Fraction = number_of(constant) * 10 ** _grid(side)[0]
    return steps


def _step(side: Expression, steps: int) -> Constant:
    if isinstance(side, Column) and side.kind is Kind.DECIMAL:
        return Constant(Decimal(steps).scaleb(-side.scale, WIDE), Kind.DECIMAL)
    if isinstance(side, Cast) and side.scale is not None:
        return Constant(float(Fraction(steps, 10**side.scale)), Kind.FLOAT)
    return Constant(steps, Kind.INT)


def check_forms(column: Column, texts: Iterable[str | None]) -> None:
    """Refuse texts that cannot be published there, though the original table may have held them."""
    kept = (text for text in texts if text is not None)
    if any(
        text != (text.strip(" \t") if column.texts == "read" else text_in_form(text, column.texts)) for text in kept
    ):
        trimmed = "without spaces around them, two blanks together and signs that nobody sees"
        forms = {"read": "without spaces around them", "trimmed": f"{trimmed}, in Unicode's form NFC"}
        form = forms.get(column.texts, f"{trimmed}, in lower case and Unicode's form NFC")
        raise QueryError(f"texts of '{column.name}' are published {form}; write the text like that")


def _read_text(value: Value) -> str:
    if not isinstance(value, str):
        raise QueryError("a column of text compares with text; put the constant in single quotes")
    return value


def _read_bool(value: Value) -> bool:
    if not isinstance(value, bool):
        raise QueryError("a column of truth values compares with TRUE and FALSE")
    return value


def _read_date(value: Value) -> date:
    try:
        moment = day_of(value) if isinstance(value, str) else value
    except ValueError:
        moment = None
    if not isinstance(moment, date) or isinstance(moment, datetime):
        raise QueryError("a column of dates compares with dates; write DATE '2020-12-31'")
    return moment


def _read_time(value: Value) -> datetime:
    try:
        moment = moment_of(value) if isinstance(value, str) else value
    except ValueError:
        moment = None
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    if not isinstance(moment, datetime) or moment.tzinfo is not None:
        raise QueryError("a column of timestamps compares with TIMESTAMP '2020-12-31 23:59:59', without a zone")
    return moment
