"""SQL text to a `Question`; with `reader` the only module that touches sqlglot.

Everything is an allow-list. What is not named here is refused with the reason and a way to say it that works. Nothing
of the text ever reaches a database, because engines print their own SQL from the `Question`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from hedgerow.errors import QueryError
from hedgerow.query.aggregates import AGGREGATES
from hedgerow.query.sql.dialect import QuestionSQL
from hedgerow.query.sql.question import (
    SLOT,
    Aggregate,
    Computed,
    Constant,
    Expression,
    Key,
    Name,
    Order,
    Outcome,
    Question,
    Truth,
    names_of,
)
from hedgerow.query.sql.reader import DEEPEST, Reader, number
from hedgerow.query.sql.shorthand import written_out
from hedgerow.query.sql.strict import NODES, check_nodes, is_set, refusal
from hedgerow.query.sql.wording import check_beginning

__all__ = [
    "DEEPEST",
    "check_text",
    "is_composed",
    "parse",
    "question_of",
    "quiet",
    "read_rows",
    "statement_of",
    "to_postgres",
]

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
_BEGINNING = re.compile(r"[\s(]*(select|with|from)\b", re.IGNORECASE)
_LIST = "COUNT, SUM, AVG, MIN, MAX, VARIANCE, STDDEV, MEDIAN, QUANTILE_CONT, QUANTILE_DISC, CORR, COVAR, REGR"
_ADVICE = {
    "distinct": "leave out DISTINCT; GROUP BY already gives one row per combination",
    "joins": "write JOIN t ON release.a = t.a to join a table of your own",
    "with_": "WITH is not understood; ask the inner question directly",
    "windows": "window functions have no bounds; use GROUP BY",
    "qualify": "QUALIFY is not understood; use GROUP BY and HAVING",
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
    return len(re.findall(r"\bselect\b", sql, re.IGNORECASE)) > 1 or bool(re.search(r"\bjoin\b", sql, re.IGNORECASE))


def statement_of(sql: str, kinds: tuple[type[exp.Expression], ...] = (exp.Select,)) -> Any:
    """Read a text as the one statement that it must be."""
    try:
        with quiet():
            statements = [tree for tree in sqlglot.parse(sql, read=QuestionSQL) if tree is not None]
    except SqlglotError as error:
        where = next((f" near line {e['line']}, column {e['col']}" for e in getattr(error, "errors", []) or []), "")
        raise QueryError(f"this is not SQL that can be read{where}; a question looks like: {_EXAMPLE}") from None
    if len(statements) != 1:
        raise QueryError(f"ask one SELECT statement at a time; got {len(statements)}")
    if not isinstance(statements[0], kinds):
        raise refusal(statements[0], f"only a single SELECT can be asked, like: {_EXAMPLE}")
    return statements[0]


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
    if tree.find(exp.Filter, exp.CountIf, exp.Any) is not None or is_set(tree.args.get("group")):
        tree = written_out(tree)
    question = _question(tree)
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
    results = _Results(rows)
    select = tuple(results.item(item) for item in tree.expressions)
    outcome = results.outcome(tree)
    return Question(select, condition, _groups(tree.args.get("group"), rows), tuple(results.slots), outcome)


def _table_names(source: exp.Expression | None) -> frozenset[str]:
    """Names by which columns may be qualified: the table's and its alias's."""
    table = source.this if source is not None else None
    extras = {part for part, content in table.args.items() if content} if table is not None else set()
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier) or extras - {"this", "alias"}:
        raise QueryError("there is one table to ask: write FROM release")
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
    slots: list[Aggregate] = field(default_factory=list)

    @property
    def reader(self) -> Reader:
        """A reader of expressions in which aggregates occur."""
        return Reader(self.rows.tables, self._slot)

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
            return aggregate
        if isinstance(inner, exp.Star | exp.Window | exp.Filter):
            raise refusal(inner, f"select GROUP BY columns and {_LIST} of one column")
        expression = self.reader.expression(inner)
        is_computed = any(name.startswith(SLOT) for name in names_of(expression))
        return Computed(expression, alias) if is_computed else Key(expression, alias)

    def _aggregate(self, node: exp.Expression, alias: str) -> Aggregate | None:
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
        fraction = Fraction(1, 2) if isinstance(node, exp.Median) else None
        if isinstance(node.this, exp.Distinct):
            return self._distinct(node, alias)
        return Aggregate(_AGGREGATES[type(node)], self._argument(node), alias, fraction)

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
        if not isinstance(node, exp.Count) or len(node.this.expressions) != 1:
            raise refusal(node, "DISTINCT goes with COUNT of one column: count(DISTINCT x)")
        return Aggregate("distinct", self.rows.expression(node.this.expressions[0]), alias)

    def _argument(self, call: exp.Expression) -> Expression | None:
        if any(content for part, content in call.args.items() if part not in {"this", "big_int"}):
            raise refusal(call, "an aggregate takes one column or expression: sum(x)")
        inner = call.this
        is_all = inner is None or isinstance(inner, exp.Star)
        is_all = is_all or (isinstance(inner, exp.Literal) and not inner.is_string)
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


def _same(slot: Aggregate, other: Aggregate) -> bool:
    return replace(slot, alias="") == replace(other, alias="")


def _fraction(node: Any) -> Fraction:
    is_number = isinstance(node, exp.Literal) and not node.is_string
    fraction = Fraction(Decimal(number(node.this))) if is_number else Fraction(-1)
    if not 0 <= fraction <= 1:
        raise refusal(node, "a quantile takes a column and a number from 0 to 1: quantile_cont(x, 0.9)")
    if fraction.denominator > _MOST_FRACTION:
        raise QueryError("a quantile takes a number with at most nine digits after the point: quantile_cont(x, 0.95)")
    return fraction


def _whole(clause: Any, name: str) -> int | None:
    if clause is None:
        return None
    inner = clause.expression
    if not isinstance(inner, exp.Literal) or inner.is_string or not inner.this.isdecimal() or len(inner.this) > 15:
        raise refusal(inner, f"{name} takes a whole number")
    return int(inner.this)


def to_postgres(sql: str, *, pretty: bool = False) -> str:
    """Turn a printed statement into PostgreSQL's words."""
    quiet = sqlglot.ErrorLevel.IGNORE
    return sqlglot.transpile(sql, read="duckdb", write="postgres", unsupported_level=quiet, pretty=pretty)[0]
