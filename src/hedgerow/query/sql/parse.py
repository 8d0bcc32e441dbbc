"""SQL text to a `Question`: the statement, its results, and the conditions and expressions that `strict` lets through.

Everything is an allow-list. What is not named here is refused with the reason and a way to say it that works. Nothing
of the text ever reaches a database, because engines print their own SQL from the `Question`.
"""

from __future__ import annotations

import functools
import itertools
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from hedgerow.errors import QueryError
from hedgerow.query.aggregates import AGGREGATES
from hedgerow.query.sql.dialect import QuestionSQL
from hedgerow.query.sql.question import (
    DECIMAL_DIGITS,
    SLOT,
    Aggregate,
    And,
    Arithmetic,
    Call,
    Case,
    Compare,
    Computed,
    Constant,
    Expression,
    In,
    IsNull,
    Key,
    Like,
    Name,
    Not,
    Or,
    Order,
    Outcome,
    Part,
    Predicate,
    Question,
    Truth,
    day_of,
    default_name,
    float_of,
    moment_of,
    names_of,
)
from hedgerow.query.sql.shorthand import written_out
from hedgerow.query.sql.strict import (
    AGGREGATE_NODES,
    NODES,
    PREDICATES,
    check_nodes,
    is_foreign,
    is_set,
    refusal,
    scalar_of,
    type_name,
)
from hedgerow.query.sql.wording import check_beginning

__all__ = [
    "DEEPEST",
    "Reader",
    "check_text",
    "is_composed",
    "number",
    "parse",
    "question_of",
    "quiet",
    "read_rows",
    "statement_of",
]

DEEPEST = 60
_MOST_DIGITS = 400
_FLOAT_DIGITS = 300
_COMPARISONS: dict[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_ARITHMETIC: dict[type[exp.Expression], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_PARTS: dict[type[exp.Expression], str] = {exp.Year: "year", exp.Month: "month", exp.Day: "day"}
_CALLS: dict[type[exp.Expression], tuple[str, tuple[str, ...]]] = {
    exp.Abs: ("abs", ("this",)),
    exp.Floor: ("floor", ("this",)),
    exp.Ceil: ("ceil", ("this",)),
    exp.Round: ("round", ("this",)),
    exp.Lower: ("lower", ("this",)),
    exp.Upper: ("upper", ("this",)),
    exp.Length: ("length", ("this",)),
    exp.Left: ("left", ("this", "expression")),
    exp.Substring: ("substring", ("this", "start", "length")),
    exp.Mod: ("mod", ("this", "expression")),
    exp.Coalesce: ("coalesce", ("this", "expressions")),
}
_CONDITIONS = "conditions are made of =, <>, <, <=, >, >=, BETWEEN, IN, LIKE, IS NULL, AND, OR, NOT"
_WHOLE_TYPES = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64, "INT128": 128}
"""Types of whole numbers, with their bits."""
RESULT_FUNCTIONS = (
    *(
        "abs",
        "sign",
        "floor",
        "ceil",
        "ceiling",
        "trunc",
        "round",
        "sqrt",
        "exp",
        "ln",
        "log",
        "log10",
        "log2",
        "power",
    ),
    *("coalesce", "ifnull", "nullif", "greatest", "least", "cast to whole", "cast to double"),
)
_EXPRESSIONS = (
    "expressions are made of columns, constants, + - * / %, CASE, DATE '2020-12-31' and the functions that "
    "docs/query.md lists"
)


@dataclass(frozen=True)
class Reader:
    """Reads conditions and expressions; `aggregate` turns the call of an aggregate into a name, where these may be."""

    tables: frozenset[str]
    aggregate: Callable[[exp.Expression], Name | None] = lambda _: None
    takes_results: bool = False

    def predicate(self, node: exp.Expression, depth: int = 0) -> Predicate:
        """Read a condition."""
        _check_depth(depth)
        if isinstance(node, exp.Paren):
            return self.predicate(node.this, depth + 1)
        if isinstance(node, exp.And | exp.Or):
            operands = tuple(self.predicate(side, depth + 1) for side in _chain(node))
            return And(operands) if isinstance(node, exp.And) else Or(operands)
        if isinstance(node, exp.Not):
            return Not(self.predicate(node.this, depth + 1))
        if isinstance(node, exp.Boolean):
            return Truth(bool(node.this))
        if isinstance(node, exp.Null):
            return Truth(None)
        if is_foreign(node) and not _has_aggregates(node):
            return Compare("=", scalar_of(node, self._name), Constant(True))
        return _comparison(node, lambda side: self.expression(side, depth + 1))

    def expression(self, node: Any, depth: int = 0) -> Expression:
        """Read a value."""
        _check_depth(depth)
        if isinstance(node, exp.Expression) and (slot := self.aggregate(node)) is not None:
            return slot
        if depth == 0 and isinstance(node, exp.Expression) and is_foreign(node) and not _has_aggregates(node):
            return scalar_of(node, self._name)
        if isinstance(node, exp.Column):
            return self._name(node)
        if isinstance(node, PREDICATES) and not isinstance(node, exp.Boolean):
            truth = self.predicate(node, depth + 1)
            return Case(((truth, Constant(True)), (Not(truth), Constant(False))), Constant(None))
        if isinstance(node, exp.Paren):
            return self.expression(node.this, depth + 1)
        if isinstance(node, exp.Neg):
            return _negative(self.expression(node.this, depth + 1))
        if type(node) in _ARITHMETIC:
            left, right = (self.expression(side, depth + 1) for side in (node.this, node.expression))
            return Arithmetic(_ARITHMETIC[type(node)], left, right)
        if isinstance(node, exp.Case):
            return self._case(node, depth)
        if self.takes_results and (called := self._of_results(node, depth)) is not None:
            return called
        if type(node) in _CALLS:
            return self._call(node, depth)
        return self._part(node, depth) or _constant(node)

    def _part(self, node: Any, depth: int) -> Part | None:
        if type(node) in _PARTS:
            return Part(_PARTS[type(node)], self.expression(node.this, depth + 1))
        if isinstance(node, exp.Extract) and node.name.lower() in _PARTS.values():
            return Part(node.name.lower(), self.expression(node.expression, depth + 1))
        return None

    def _of_results(self, node: Any, depth: int) -> Call | None:
        """Read a function that is known by its name alone, where it is one of results."""
        if not isinstance(node, exp.Expression) or not _has_aggregates(node):
            return None
        operands: list[Any] = [node.this, node.expression]
        if isinstance(node, exp.Anonymous):
            name, operands = str(node.this).lower(), node.expressions
        elif isinstance(node, exp.Round):
            name, operands = "round", [node.this, *([node.args["decimals"]] if node.args.get("decimals") else [])]
        elif isinstance(node, exp.Pow):
            name = "power"
        elif isinstance(node, exp.Cast) and type_name(node) in _WHOLE_TYPES:
            if isinstance(node, exp.TryCast):
                raise QueryError("TRY_CAST of a result has no bound, because it may be NULL; write CAST")
            largest = exp.Literal.number(2 ** (_WHOLE_TYPES[type_name(node)] - 1))
            name, operands = "cast to whole", [node.this, largest]
        elif isinstance(node, exp.Cast) and type_name(node) == "DOUBLE":
            name, operands = "cast to double", [node.this]
        else:
            return None
        name = {"pow": "power"}.get(name, name)
        if name not in RESULT_FUNCTIONS:
            raise refusal(node, f"functions of results are {', '.join(RESULT_FUNCTIONS[:-2]).upper()}")
        return Call(name, tuple(self.expression(item, depth + 1) for item in operands))

    def _call(self, node: exp.Expression, depth: int) -> Call:
        function, parts = _CALLS[type(node)]
        if any(is_set(content) for part, content in node.args.items() if part not in NODES[type(node)]):
            raise refusal(node, f"{function.upper()} takes fewer arguments here; {_EXPRESSIONS}")
        found = [node.args.get(part) for part in parts]
        flat = [item for part in found for item in (part if isinstance(part, list) else [part]) if item is not None]
        if not flat:
            raise QueryError(f"{function.upper()} needs a column or a constant in its parentheses")
        return Call(function, tuple(self.expression(item, depth + 1) for item in flat))

    def _case(self, node: exp.Case, depth: int) -> Case:
        subject = self.expression(node.this, depth + 1) if node.this is not None else None
        branches: list[tuple[Predicate, Expression]] = []
        for branch in node.args["ifs"]:
            value = self.expression(branch.args["true"], depth + 1)
            if subject is None:
                branches.append((self.predicate(branch.this, depth + 1), value))
            else:
                branches.append((Compare("=", subject, self.expression(branch.this, depth + 1)), value))
        default = node.args.get("default")
        return Case(tuple(branches), Constant(None) if default is None else self.expression(default, depth + 1))

    def _name(self, node: Any) -> Name:
        return self.name(node, "write column names alone")

    def name(self, node: Any, advice: str) -> Name:
        """Read the name of a column."""
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            raise refusal(node, advice)
        if any(is_set(content) for part, content in node.args.items() if part not in NODES[exp.Column]):
            raise refusal(node, "write column names alone, in double quotes where they contain dots")
        if node.table and node.table.lower() not in self.tables:
            raise QueryError("columns belong to the table 'release'; write a name with a dot in double quotes")
        return Name(node.this.this, bool(node.this.quoted))


def _has_aggregates(node: exp.Expression) -> bool:
    return node.find(*AGGREGATE_NODES) is not None


def _check_depth(depth: int) -> None:
    if depth > DEEPEST:
        raise RecursionError


def _chain(node: exp.Expression) -> list[exp.Expression]:
    """Operands of a chain of one connective: long chains lean left, and recursion would follow them down."""
    operands: list[exp.Expression] = []
    while type(node) is type(node.this):
        operands.append(node.expression)
        node = node.this
    return [node.this, node.expression, *reversed(operands)]


def _comparison(node: exp.Expression, value: Callable[[Any], Expression]) -> Predicate:
    if type(node) in _COMPARISONS:
        if type(node.this) in _COMPARISONS or type(node.expression) in _COMPARISONS:
            raise QueryError("comparisons are not chained in SQL; write a < b AND b < c, or (a < b) = c")
        return Compare(_COMPARISONS[type(node)], value(node.this), value(node.expression))
    if isinstance(node, exp.Between):
        operand = value(node.this)
        low, high = _alike([value(node.args["low"]), value(node.args["high"])])
        inside = And((Compare(">=", operand, low), Compare("<=", operand, high)))
        if not node.args.get("symmetric"):
            return inside
        return Or((inside, And((Compare(">=", operand, high), Compare("<=", operand, low)))))
    if isinstance(node, exp.In) and node.expressions:
        return _membership(node, value)
    if isinstance(node, exp.Is):
        return _is(node, value)
    if isinstance(node, exp.Escape) and isinstance(node.this, exp.Like):
        return _like(node.this, value, _text(node.expression))
    if isinstance(node, exp.Like):
        return _like(node, value)
    if isinstance(node, exp.Coalesce) and isinstance(node.this, PREDICATES):
        node = _chosen_truth(node)
    if isinstance(node, exp.Column | exp.Case | exp.Coalesce):
        return Compare("=", value(node), Constant(True))
    raise refusal(node, _CONDITIONS)


def _chosen_truth(node: exp.Coalesce) -> exp.Case:
    """The first of several conditions that is true or false."""
    *first, last = [node.this, *node.expressions]
    made = exp.Case(default=last.copy())
    for condition in first:
        made = made.when(condition.copy(), exp.true()).when(exp.not_(condition.copy()), exp.false())
    return made


def _membership(node: exp.In, value: Callable[[Any], Expression]) -> Predicate:
    items = _alike([value(item) for item in node.expressions])
    operand = value(node.this)
    constants = tuple(item for item in items if isinstance(item, Constant) and item.value is not None)
    # NULL in the list leaves open what is not a member; anything but constants is compared one by one.
    others: list[Predicate] = [Truth(None) for item in items if isinstance(item, Constant) and item.value is None]
    others += [Compare("=", operand, item) for item in items if not isinstance(item, Constant)]
    known = [In(operand, constants)] if constants or not others else []
    parts: tuple[Predicate, ...] = (*known, *others)
    return parts[0] if len(parts) == 1 else Or(parts)


def _alike(items: list[Expression]) -> list[Expression]:
    """Numbers among which one is a floating-point number are all read as such."""
    if not any(isinstance(item, Constant) and isinstance(item.value, float) for item in items):
        return items
    return [
        Constant(float_of(item)) if isinstance(item, Constant) and type(item.value) in (int, Decimal) else item
        for item in items
    ]


def _like(node: exp.Like, value: Callable[[Any], Expression], escape: str = "") -> Predicate:
    return _negate(Like(value(node.this), _text(node.expression), escape), node)


def _negate(predicate: Predicate, node: exp.Expression) -> Predicate:
    """Some negations are nodes of their own, others a flag of the node that they negate."""
    return Not(predicate) if node.args.get("negate") else predicate


def _is(node: exp.Is, value: Callable[[Any], Expression]) -> Predicate:
    if isinstance(node.expression, exp.Null):
        return _negate(IsNull(value(node.this)), node)
    if isinstance(node.expression, exp.Boolean):
        operand = value(node.this)
        equal = Compare("=", operand, Constant(bool(node.expression.this)))
        return _negate(And((Not(IsNull(operand)), equal)), node)
    raise refusal(node, "IS goes with NULL, NOT NULL, TRUE or FALSE")


def _negative(operand: Expression) -> Expression:
    if isinstance(operand, Constant) and isinstance(operand.value, int | float | Decimal):
        return Constant(-operand.value)
    return Arithmetic("-", Constant(0), operand)


def _constant(node: Any) -> Constant:
    if isinstance(node, exp.Literal):
        return Constant(node.this) if node.is_string else Constant(number(node.this))
    if isinstance(node, exp.Null):
        return Constant(None)
    if isinstance(node, exp.Boolean):
        return Constant(bool(node.this))
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        return Constant(_moment(node.this.this, str(node.to.this)))
    if isinstance(node, exp.Interval) and node.text("unit").upper() in {"DAY", "DAYS"}:
        return Constant(number(node.name))
    raise refusal(node, _EXPRESSIONS)


def number(text: str) -> int | float | Decimal:
    """Read a number as it is written; beyond every column its sign and "huge" or "tiny" is all that matters.

    With an exponent, or more digits than decimals have, it is a floating-point number.
    """
    if len(text) > _MOST_DIGITS:
        raise QueryError(f"a number may have {_MOST_DIGITS} digits; got {len(text):,}")
    try:
        if text.isdecimal() and len(text) <= 40:
            return int(text)
        exact = Decimal(text)
    except (InvalidOperation, ValueError):
        raise QueryError("numbers are written like 12, 1.5 or 2e6") from None
    if exact and abs(exact.adjusted()) > _MOST_DIGITS:
        return Decimal((0, (1,), _MOST_DIGITS if exact.adjusted() > 0 else -_MOST_DIGITS))
    is_double = "e" in text.lower() or len(exact.as_tuple().digits) > DECIMAL_DIGITS
    return float(exact) if is_double and abs(exact.adjusted()) < _FLOAT_DIGITS else exact


def _moment(text: str, kind: str) -> date | datetime:
    readers: dict[str, Callable[[str], date | datetime]] = {"DATE": day_of}
    readers |= dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), moment_of)
    try:
        return readers[kind.removeprefix("DType.").upper()](text)
    except (KeyError, ValueError):
        raise QueryError("dates are written DATE '2020-12-31', moments TIMESTAMP '2020-12-31 23:59:59'") from None


def _text(node: Any) -> str:
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.this)
    raise refusal(node, "LIKE takes a pattern in single quotes: x LIKE 'ab%'")


_LONGEST = 200_000
_MOST_PARTS = 5_000
_MOST_ITEMS = 12_000
_MOST_RESULTS = 100
_MOST_FRACTION = 10**9  # ranks of quantiles are whole numbers of 64 bits: this times the rows
_EXAMPLE = "SELECT avg(x) FROM release WHERE a BETWEEN 1 AND 2"
_AGGREGATES: dict[type[exp.Expression], str] = {
    exp.Median: "quantile_cont",
    **{getattr(exp, name): item.name for item in AGGREGATES.values() for name in item.spelled},
}
_QUANTILES: dict[type[exp.Expression], tuple[str, str]] = {
    exp.PercentileCont: ("quantile_cont", "expression"),
    exp.PercentileDisc: ("quantile_disc", "expression"),
    exp.Quantile: ("quantile_disc", "quantile"),
}
_PAIRED: dict[type[exp.Expression], str] = {
    exp.Corr: "corr",
    exp.CovarPop: "covar_pop",
    exp.CovarSamp: "covar_samp",
    exp.RegrCount: "regr_count",
    exp.RegrIntercept: "regr_intercept",
    exp.RegrR2: "regr_r2",
    exp.RegrSlope: "regr_slope",
}
_COMPOSING = re.compile(r"\b(join|rollup|cube|grouping\s+sets)\b", re.IGNORECASE)
_JOINING = {"min": "and", "max": "or"}
_WINDOWS = "window functions show single rows, which have no bounds; use GROUP BY"
_ORDERED = "the rows of a release have no order, so that {} has no bound; MIN and MAX have"
_UNBOUNDED: dict[type[exp.Expression], str] = {
    **{kind: _ORDERED.format(kind.__name__.upper()) for kind in (exp.First, exp.Last)},
    exp.IgnoreNulls: "ANY_VALUE may be any of the values, so that it has no bound; MIN and MAX have",
    exp.AnyValue: "ANY_VALUE may be any of the values, so that it has no bound; MIN and MAX have",
    exp.Mode: "which of equally frequent values MODE gives is open, so that it has no bound; GROUP BY x counts each",
    exp.ArrayAgg: "LIST shows single rows, which have no bounds; use GROUP BY, or quantiles",
    exp.GroupConcat: "STRING_AGG shows single rows, which have no bounds; use GROUP BY, or quantiles",
    exp.ArgMax: "ARG_MAX shows a single row, which has no bounds; ask MAX, and COUNT of the rows that may have it",
    exp.ArgMin: "ARG_MIN shows a single row, which has no bounds; ask MIN, and COUNT of the rows that may have it",
    exp.ApproxDistinct: "approximations have no bounds; count(DISTINCT x) has",
    exp.ApproxQuantile: "approximations have no bounds; quantile_cont(x, 0.5) has",
    **{
        kind: f"{name} has no bound here; VARIANCE, STDDEV and quantiles have"
        for kind, name in ((exp.Skewness, "SKEWNESS"), (exp.Kurtosis, "KURTOSIS"))
    },
}
"""Aggregates that are refused, each with the reason."""
_BEGINNING = re.compile(r"[\s(]*(select|with|from)\b", re.IGNORECASE)
_LIST = "COUNT, SUM, AVG, MIN, MAX, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, QUANTILE_DISC, CORR, COVAR, REGR"
_ADVICE = {
    "distinct": "leave out DISTINCT; GROUP BY already gives one row per combination",
    "joins": "write JOIN t ON release.a = t.a to join a table of your own",
    "with_": "WITH is not understood; ask the inner question directly",
    "windows": "window functions have no bounds; use GROUP BY",
    "qualify": "QUALIFY is not understood; use GROUP BY and HAVING",
    "locks": "FOR UPDATE is not understood; leave it out",
}
_GROUPS = "GROUP BY takes columns and expressions of them: GROUP BY a, year(b)"


def parse(sql: str) -> Question:
    """Read one SELECT statement. Raises QueryError for everything that is not understood."""
    check_text(sql)
    try:
        return question_of(statement_of(sql))
    except RecursionError:
        raise QueryError(f"the question is nested deeper than {DEEPEST} levels; flatten it") from None


def check_text(sql: str, columns: Sequence[str] = ()) -> None:
    """Refuse what is no text, too long, or begins no question."""
    if not isinstance(sql, str):
        raise QueryError(f"a question is SQL text; got {type(sql).__name__}. For example: {_EXAMPLE}")
    if len(sql) > _LONGEST or SLOT in sql:
        raise QueryError(f"a question may have {_LONGEST:,} characters and no NUL; got {len(sql):,}")
    _check_size(sql)
    if _BEGINNING.match(sql) is None:
        check_beginning(sql, columns)


def is_composed(sql: str) -> bool:
    """Tell whether a text may be composed of several questions."""
    return len(re.findall(r"\bselect\b", sql, re.IGNORECASE)) > 1 or bool(_COMPOSING.search(sql))


def statement_of(sql: str, kinds: tuple[type[exp.Expression], ...] = (exp.Select,)) -> Any:
    """Read a text as the one statement that it must be."""
    try:
        with quiet():
            statements = [tree for tree in sqlglot.parse(sql, read=QuestionSQL) if tree is not None]
    except SqlglotError as error:
        where = next((f" near line {e['line']}, column {e['col']}" for e in getattr(error, "errors", []) or []), "")
        raise QueryError(f"this is not SQL that can be read{where}; a question looks like: {_EXAMPLE}") from None
    signs = [token.token_type.name for token in QuestionSQL().tokenize(sql)]
    if signs.count("L_PAREN") != signs.count("R_PAREN"):
        raise QueryError(f"this is not SQL that can be read: a bracket is missing; a question looks like: {_EXAMPLE}")
    if not statements:
        raise QueryError(f"the question is empty; a question looks like: {_EXAMPLE}")
    if len(statements) > 1:
        raise QueryError(f"ask one SELECT statement at a time; got {len(statements)}")
    if not isinstance(statements[0], kinds):
        raise refusal(statements[0], f"only a single SELECT can be asked, like: {_EXAMPLE}")
    return statements[0]


def is_expression(text: str) -> bool:
    """Tell whether a text is one expression by itself, so that it says no more where it is put into a question."""
    try:
        check_text(f"SELECT {text}")
        tree = statement_of(f"SELECT {text}")
    except (QueryError, RecursionError):
        return False
    said = [name for name, value in tree.args.items() if value]
    return said == ["expressions"] and len(tree.expressions) == 1 and not isinstance(tree.expressions[0], exp.Alias)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep sqlglot from logging the text of commands that it does not parse; the refusal says enough."""
    logger = logging.getLogger("sqlglot")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _check_size(sql: str) -> None:
    """Refuse what would take seconds to read, and what is no text, before anything reads it."""
    if any("\ud800" <= character <= "\udfff" for character in sql):
        raise QueryError("a question is Unicode text; this one has half a character (a lone surrogate)")
    words = sql.upper().split()
    if words.count("OR") + words.count("AND") > _MOST_PARTS:
        raise QueryError(f"a condition may join {_MOST_PARTS:,} parts by AND and OR; list values as x IN (1, 2, 3)")
    if sql.count(",") > _MOST_ITEMS:
        raise QueryError(f"a list may have {_MOST_ITEMS:,} items; ask for a range, or in several questions")


def question_of(tree: exp.Select, *, has_rows: bool = False) -> Question:
    """Read a parsed statement; no node of it, and no argument of a node, is passed over.

    Without an aggregate it is refused, unless it `has_rows` that can be shown: those of an answer.
    """
    if len(tree.expressions) > _MOST_RESULTS:
        raise QueryError(f"a question may have {_MOST_RESULTS} results; ask several questions")
    has_shorthand = tree.find(exp.Any, exp.PercentileCont, exp.PercentileDisc) is not None
    of_constants = (call.find(exp.Column) is None for call in tree.find_all(exp.Sum, exp.Avg, exp.Min, exp.Max))
    if has_shorthand or is_set(tree.args.get("group")) or is_set(tree.args.get("order")) or any(of_constants):
        tree = written_out(tree)
    question = _question(tree)
    _check_meanings(question)
    check_nodes(tree)
    if not has_rows and not any(isinstance(item, Aggregate) for item in (*question.select, *question.slots)):
        raise QueryError(f"select at least one of {_LIST}; single rows have no bounds")
    return question


def read_rows(tree: exp.Select) -> Reader:
    """Return the reader of expressions over what a SELECT is about."""
    return Reader(_table_names(tree.args.get("from_")))


def _question(tree: exp.Select) -> Question:
    for clause, content in tree.args.items():
        if is_set(content) and clause not in NODES[exp.Select]:
            raise QueryError(_ADVICE.get(clause, f"the clause {clause.upper()} is not understood; leave it out"))
    rows = read_rows(tree)
    where = tree.args.get("where")
    condition = rows.predicate(where.this) if where else Truth(True)
    results = _Results(rows, _given_names(tree))
    select = tuple(results.item(item) for item in tree.expressions)
    outcome = results.outcome(tree)
    if any(isinstance(item, Aggregate) for item in (*select, *results.slots)):
        select = tuple(map(_as_result, select))
    return Question(select, condition, _groups(tree.args.get("group"), rows), tuple(results.slots), outcome)


def _as_result(item: Key | Aggregate | Computed) -> Key | Aggregate | Computed:
    """A constant beside aggregates is a result, and nothing that is grouped by."""
    is_constant = isinstance(item, Key) and not names_of(item.column)
    return Computed(item.column, item.alias) if isinstance(item, Key) and is_constant else item


def _check_meanings(question: Question) -> None:
    """Refuse a name that is that of a column in GROUP BY and of another result, where databases mean the column."""
    groups = {group.text.lower() for group in question.groups if isinstance(group, Name)}
    named: dict[str, str] = {}
    for item in question.select:
        if isinstance(item, Key) and isinstance(item.column, Name):
            named[item.alias.lower()] = item.column.text.lower()
        elif item.alias:
            is_grouped_as_named = isinstance(item, Key) and item.column not in question.groups
            named[item.alias.lower()] = "" if is_grouped_as_named else SLOT
    # GROUP BY may itself name a result, which then is its column.
    columns = groups | {named[name] for name in groups & set(named)} - {"", SLOT}
    shadowed = {name for name, meant in named.items() if name in columns and meant in {*columns, SLOT} - {name}}
    outcome = question.outcome
    parts = [outcome.having, *(item.expression for item in question.select if isinstance(item, Computed))]
    parts += [term.expression for term in outcome.order if not isinstance(term.expression, Name)]
    twice = next((name for part in parts for name in sorted(names_of(part)) if name.lower() in shadowed), None)
    if twice is not None:
        raise QueryError(f"'{twice}' is a column of GROUP BY and the name of another result; give that another name")


def _given_names(tree: exp.Select) -> set[str]:
    """Names that a result without one does not take: those of others, and of columns that are grouped by."""
    group = tree.args.get("group")
    grouped = group.find_all(exp.Column) if isinstance(group, exp.Group) else ()
    items = (item for item in tree.expressions if isinstance(item, exp.Alias | exp.Column))
    return {item.alias_or_name.lower() for item in itertools.chain(items, grouped)}


def _table_names(source: exp.Expression | None) -> frozenset[str]:
    """Names by which columns may be qualified: the table's and its alias's."""
    table = source.this if source is not None else None
    extras = {part for part, content in table.args.items() if content} if table is not None else set()
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier) or extras - {"this", "alias"}:
        raise QueryError("there is one table to ask: write FROM release, and behind it at most another name for it")
    if table.name.lower() != "release":
        raise QueryError("there is one table to ask, and it is called 'release': write FROM release")
    return frozenset({"release", table.alias_or_name.lower()})


def _groups(group: exp.Expression | None, rows: Reader) -> tuple[Expression, ...]:
    if group is None:
        return ()
    if not group.expressions or any(content for part, content in group.args.items() if part != "expressions"):
        raise refusal(group, _GROUPS)
    groups = tuple(rows.expression(item) for item in group.expressions)
    if any(isinstance(item, Constant) for item in groups):
        raise QueryError(_GROUPS)
    return groups


@dataclass
class _Results:
    """Reads what is said about results; aggregates inside other expressions get slots."""

    rows: Reader
    taken: set[str]
    """Names of results, in lower case."""
    slots: list[Aggregate] = field(default_factory=list)

    @property
    def reader(self) -> Reader:
        """A reader of expressions in which aggregates occur."""
        return Reader(self.rows.tables, self._slot, takes_results=True)

    def _slot(self, node: exp.Expression) -> Name | None:
        aggregate = self._aggregate(node, "")
        if aggregate is None:
            return None
        known = next((slot for slot in self.slots if _same(slot, aggregate)), None)
        if known is None:
            known = replace(aggregate, alias=f"{SLOT}{len(self.slots)}")
            self.slots.append(known)
        return Name(known.alias, quoted=True)

    def item(self, item: exp.Expression) -> Key | Aggregate | Computed:
        """Read one entry of the select list."""
        alias = item.alias if isinstance(item, exp.Alias) else ""
        inner = item.this if isinstance(item, exp.Alias) else item
        aggregate = self._aggregate(inner, alias)
        if aggregate is not None:
            return replace(aggregate, alias=alias or self._free(aggregate.alias or default_name(aggregate)))
        if isinstance(inner, exp.Star):
            raise refusal(inner, f"select GROUP BY columns and {_LIST} of one column")
        expression = self.reader.expression(inner)
        is_computed = any(name.startswith(SLOT) for name in names_of(expression))
        return Computed(expression, alias) if is_computed else Key(expression, alias)

    def _free(self, wanted: str) -> str:
        """The name, with a number behind it if another result is called so."""
        names = (wanted if place == 1 else f"{wanted}_{place}" for place in itertools.count(1))
        free = next(name for name in names if name.lower() not in self.taken)
        self.taken.add(free.lower())
        return free

    def _aggregate(self, node: exp.Expression, alias: str) -> Aggregate | None:
        if isinstance(node, exp.Filter):
            return self._filter_aggregate(node, alias)
        if isinstance(node, exp.CountIf):
            return Aggregate("count", None, alias, where=self.rows.predicate(node.this))
        if isinstance(node, exp.LogicalAnd | exp.LogicalOr):
            function = "min" if isinstance(node, exp.LogicalAnd) else "max"
            return Aggregate(function, self.rows.expression(node.this), alias or f"bool_{_JOINING[function]}")
        if isinstance(node, exp.Window) or (type(node) in _UNBOUNDED and type(node) not in _AGGREGATES):
            raise QueryError(_UNBOUNDED.get(type(node), _WINDOWS))
        if isinstance(node, exp.WithinGroup):
            return self._within(node, alias)
        if type(node) in _QUANTILES:
            function, where = _QUANTILES[type(node)]
            return Aggregate(function, self.rows.expression(node.this), alias, _fraction(node.args.get(where)))
        if type(node) in _PAIRED:
            sides = (self.rows.expression(side) for side in (node.this, node.expression))
            return Aggregate(_PAIRED[type(node)], next(sides), alias, other=next(sides))
        if type(node) not in _AGGREGATES:
            return None
        if isinstance(node, exp.Count) and isinstance(node.this, exp.Null):
            return Aggregate("count", None, alias, where=Truth(False))
        fraction = Fraction(1, 2) if isinstance(node, exp.Median) else None
        if isinstance(node.this, exp.Distinct):
            return self._distinct(node, alias)
        return Aggregate(_AGGREGATES[type(node)], self._argument(node), alias, fraction)

    def _filter_aggregate(self, node: exp.Filter, alias: str) -> Aggregate:
        inner = self._aggregate(node.this, alias)
        if inner is None or not isinstance(node.expression, exp.Where):
            raise refusal(node, "FILTER (WHERE ...) goes with an aggregate: avg(x) FILTER (WHERE a > 1)")
        own = self.rows.predicate(node.expression.this)
        return replace(inner, where=own if inner.where == Truth(True) else And((inner.where, own)))

    def _within(self, node: exp.WithinGroup, alias: str) -> Aggregate:
        order = node.expression
        is_plain = (
            isinstance(order, exp.Order) and len(order.expressions) == 1 and not order.expressions[0].args.get("desc")
        )
        if type(node.this) not in (exp.PercentileCont, exp.PercentileDisc) or not is_plain:
            raise refusal(node, "write percentile_cont(0.5) WITHIN GROUP (ORDER BY x)")
        column = self.rows.expression(order.expressions[0].this)
        return Aggregate(_QUANTILES[type(node.this)][0], column, alias, _fraction(node.this.this))

    def _distinct(self, node: exp.Expression, alias: str) -> Aggregate:
        functions: dict[type[Any], str] = {exp.Count: "distinct", exp.Sum: "sum_distinct", exp.Avg: "avg_distinct"}
        functions |= {exp.Min: "min", exp.Max: "max"}
        items = [*node.this.expressions]
        is_tuple = len(items) == 1 and isinstance(items[0].unnest(), exp.Tuple)
        items = items[0].unnest().expressions if is_tuple else items
        if type(node) not in functions or (len(items) > 1 and not isinstance(node, exp.Count)):
            raise refusal(node, "DISTINCT goes with COUNT, SUM and AVG: count(DISTINCT x), count(DISTINCT (x, y))")
        column = items[0] if len(items) == 1 else _as_one(items, keeps_null=is_tuple)
        return Aggregate(functions[type(node)], self.rows.expression(column), alias)

    def _argument(self, call: exp.Expression) -> Expression | None:
        if any(content for part, content in call.args.items() if part not in {"this", "big_int"}):
            raise refusal(call, "an aggregate takes one column or expression: sum(x)")
        inner = call.this
        is_all = inner is None or isinstance(inner, exp.Star)
        is_all = is_all or isinstance(inner, exp.Literal | exp.Boolean)
        if isinstance(call, exp.Count) and is_all:
            return None
        return self.rows.expression(inner)

    def outcome(self, tree: exp.Select) -> Outcome:
        """Read HAVING, ORDER BY, LIMIT and OFFSET; computed columns and names come with binding."""
        having, order = tree.args.get("having"), tree.args.get("order")
        return Outcome(
            having=self.reader.predicate(having.this) if having else Truth(True),
            order=tuple(self._order(term) for term in order.expressions) if order else (),
            limit=_whole(tree.args.get("limit"), "LIMIT"),
            offset=_whole(tree.args.get("offset"), "OFFSET") or 0,
        )

    def _order(self, term: Any) -> Order:
        is_descending = bool(term.args.get("desc"))
        return Order(self.reader.expression(term.this), is_descending, bool(term.args.get("nulls_first")))


def _as_one(items: Sequence[exp.Expression], *, keeps_null: bool) -> exp.Expression:
    """Several columns as one text, from which they can be told apart; NULL where one is, unless it keeps them."""
    parts: list[exp.Expression] = []
    for item in items:
        text: exp.Expression = exp.cast(item.copy(), "VARCHAR")
        length = exp.cast(exp.Anonymous(this="len", expressions=[text.copy()]), "VARCHAR")
        text = exp.DPipe(this=exp.DPipe(this=length, expression=exp.Literal.string(":")), expression=text)
        parts.append(exp.Coalesce(this=text, expressions=[exp.Literal.string("-")]) if keeps_null else text)
    return functools.reduce(lambda left, right: exp.DPipe(this=left, expression=right), parts)


def _same(slot: Aggregate, other: Aggregate) -> bool:
    return replace(slot, alias="") == replace(other, alias="")


def _fraction(node: Any) -> Fraction:
    is_number = isinstance(node, exp.Literal) and not node.is_string
    fraction = Fraction(str(number(node.this))) if is_number else Fraction(-1)  # the number is bounded, the text is not
    if not 0 <= fraction <= 1:
        raise refusal(node, "a quantile takes a column and a number from 0 to 1: quantile_cont(x, 0.9)")
    if fraction.denominator > _MOST_FRACTION:
        raise QueryError("a quantile takes a number with at most nine digits after the point: quantile_cont(x, 0.95)")
    return fraction


def _whole(clause: Any, name: str) -> int | None:
    if clause is None:
        return None
    if isinstance(clause, exp.Fetch):
        raise QueryError("FETCH FIRST is not understood; write LIMIT")
    inner = clause.expression
    if not isinstance(inner, exp.Literal) or inner.is_string or not inner.this.isdecimal() or len(inner.this) > 15:
        raise refusal(inner, f"{name} takes a whole number")
    return int(inner.this)
