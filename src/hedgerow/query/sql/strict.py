"""The gate: every node of a parsed question, every argument it may carry, every function. Anything else is refused.

A parser's tree changes in minor versions: `x NOT LIKE 'B%'` became one node with a flag `negate`, and a reader that
looks only at types would answer the opposite question. So an argument that is set and not listed is a refusal, whatever
it is called. Arguments that are listed are read by `parse`; `big_int`, `typed` and `safe` say only what
the dialect means anyway.

The reader knows comparisons, + - * /, CASE and a few functions. An expression with anything else in it (a CAST, a
regular expression, a part of a date) is not read further: it is checked against lists of what gives the same value for
the same arguments, and printed as SQL over places `a0`, `a1`, ... for its columns. Array code computes it in a locked
DuckDB of its own (`computing`), over distinct values where it can, whatever the engine.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from hedgerow.errors import QueryError
from hedgerow.query.aggregates import AGGREGATES
from hedgerow.query.sql.computing import as_divisor
from hedgerow.query.sql.dialect import QuestionSQL
from hedgerow.query.sql.question import Expression, Name, Scalar

__all__ = [
    "AGGREGATE_NODES",
    "NODES",
    "PREDICATES",
    "check_nodes",
    "is_foreign",
    "is_set",
    "refusal",
    "scalar_of",
    "type_name",
]

_BINARY = ("this", "expression")
NODES: dict[type[exp.Expression], tuple[str, ...]] = {
    exp.Select: ("expressions", "from_", "where", "group", "having", "order", "limit", "offset"),
    exp.From: ("this",),
    exp.Table: ("this", "alias"),
    exp.TableAlias: ("this",),
    exp.Where: ("this",),
    exp.Having: ("this",),
    exp.Group: ("expressions",),
    exp.Order: ("expressions",),
    exp.Ordered: ("this", "desc", "nulls_first"),
    exp.Limit: ("expression",),
    exp.Offset: ("expression",),
    exp.Alias: ("this", "alias"),
    exp.Column: ("this", "table"),
    exp.Identifier: ("this", "quoted"),
    exp.Star: (),
    exp.Literal: ("this", "is_string"),
    exp.Boolean: ("this",),
    exp.Null: (),
    exp.Paren: ("this",),
    exp.Not: ("this",),
    **dict.fromkeys((exp.And, exp.Or, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _BINARY),
    exp.Between: ("this", "low", "high", "symmetric"),
    exp.In: ("this", "expressions"),
    exp.Is: (*_BINARY, "negate"),
    exp.Like: (*_BINARY, "negate"),
    exp.Escape: _BINARY,
    exp.Neg: ("this",),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod), _BINARY),
    exp.Div: (*_BINARY, "typed", "safe"),
    exp.Case: ("this", "ifs", "default"),
    exp.If: ("this", "true", "false"),
    exp.Round: ("this", "decimals"),
    **dict.fromkeys((exp.Abs, exp.Floor, exp.Ceil, exp.Lower, exp.Upper, exp.Length), ("this",)),
    exp.Left: _BINARY,
    exp.Substring: ("this", "start", "length"),
    exp.Coalesce: ("this", "expressions"),
    **dict.fromkeys((exp.Year, exp.Month, exp.Day), ("this",)),
    exp.Extract: _BINARY,
    exp.Var: ("this",),
    **dict.fromkeys((exp.Cast, exp.TryCast), ("this", "to", "safe")),
    exp.DataType: ("this", "expressions"),
    exp.DataTypeParam: ("this",),
    exp.Interval: ("this", "unit"),
    exp.Anonymous: ("this", "expressions"),
    exp.Any: ("this",),
    **dict.fromkeys((exp.Array, exp.Tuple), ("expressions",)),
    **dict.fromkeys((exp.Glob, exp.IntDiv, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Pow), _BINARY),
    **dict.fromkeys((exp.SimilarTo, exp.StartsWith), _BINARY),
    exp.DPipe: (*_BINARY, "safe"),
    exp.ILike: (*_BINARY, "negate"),
    exp.StrPosition: ("this", "substr"),
    exp.Trim: (*_BINARY, "position"),
    **{getattr(exp, name): ("this",) for item in AGGREGATES.values() for name in item.spelled},
    exp.Count: ("this", "big_int"),
    exp.Median: ("this",),
    **dict.fromkeys((exp.PercentileCont, exp.PercentileDisc, exp.WithinGroup), _BINARY),
    **dict.fromkeys((exp.Corr, exp.CovarPop, exp.CovarSamp), _BINARY),
    **dict.fromkeys((exp.RegrCount, exp.RegrIntercept, exp.RegrR2, exp.RegrSlope), _BINARY),
    exp.Quantile: ("this", "quantile"),
    exp.Distinct: ("expressions",),
    exp.Filter: _BINARY,
    exp.CountIf: ("this",),
    **dict.fromkeys((exp.LogicalAnd, exp.LogicalOr), ("this",)),
}
"""Nodes that are understood, each with the arguments that are read."""

_WORDS = {
    "columns": "a table alias with names of columns",
    "limit_options": "LIMIT with PERCENT or WITH TIES",
    "sample": "TABLESAMPLE",
    "symmetric": "BETWEEN SYMMETRIC",
    "totals": "WITH TOTALS",
    "with_fill": "WITH FILL",
    "on": "DISTINCT ON",
    "format": "FORMAT",
}
"""What an analyst wrote where an argument is set that is not read."""

_NAMES = {
    "regexplike": "~",
    "regexpilike": "~*",
    "attimezone": "AT TIME ZONE",
    "bytestring": "E'...'",
    "national": "N'...'",
    "arrayoverlaps": "&&",
    "explode": "UNNEST",
    "var": "ORDER BY ALL",
    "withingroup": "WITHIN GROUP",
    "order": "ORDER BY inside an aggregate",
    "jsonextract": "->",
    "placeholder": "a parameter",
    "parameter": "a parameter",
    "groupingsets": "GROUPING SETS",
    "currentdate": "CURRENT_DATE, which changes from day to day,",
    "currenttimestamp": "CURRENT_TIMESTAMP, which changes all the time,",
    "subquery": "a sub-query",
    "select": "a sub-query",
    "star": "*",
    "groupconcat": "STRING_AGG",
    "arrayagg": "LIST",
    "timetostr": "STRFTIME",
    "ignorenulls": "ANY_VALUE or IGNORE NULLS",
    "struct": "a struct",
}
_INSTEAD = {
    "regexplike": "some part matches in PostgreSQL, the whole text in DuckDB: write regexp_matches(x, 'p')",
    "regexpilike": "write regexp_matches(lower(x), 'p')",
}
"""What to write for what means different things to different databases."""
_LONGEST = 60


def check_nodes(tree: exp.Expression) -> None:
    """Refuse a question in which some node, or some argument of a node, is not understood."""
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list | tuple):
            waiting.extend(node)
        elif isinstance(node, exp.Expression):
            waiting.extend(_contents(node))


def _contents(node: exp.Expression) -> list[Any]:
    if type(node) not in NODES:
        raise refusal(node, "it is not understood; leave it out")
    found = [(name, content) for name, content in node.args.items() if is_set(content)]
    for name, _ in found:
        if name not in NODES[type(node)]:
            raise QueryError(f"{_WORDS.get(name) or _write_text(node)} is not understood; leave it out")
    return [content for _, content in found]


def is_set(content: object) -> bool:
    """Tell whether an argument says anything."""
    return not (content is None or content is False or content == "" or content == [])


def refusal(node: Any, advice: str) -> QueryError:
    """Say that something is not understood, and what is."""
    instead = _INSTEAD.get(node.key, advice) if isinstance(node, exp.Expression) else advice
    return QueryError(f"{_describe(node)} cannot be answered with a bound here; {instead}")


def _describe(node: Any) -> str:
    """What was written, in the words of SQL; constants are left out."""
    if not isinstance(node, exp.Expression):
        return "this"
    if node.key in _NAMES:
        return _NAMES[node.key]
    if isinstance(node, exp.Group):
        return "GROUP BY ALL" if node.args.get("all") else "this GROUP BY"
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper()[:_LONGEST]
    if isinstance(node, exp.Func):
        return node.sql_name()
    return _write_text(node) if isinstance(node, exp.Condition) else node.key.upper()


def _write_text(node: exp.Expression) -> str:
    """The text of a node without its constants, shortened."""
    try:
        masked = node.transform(lambda part: exp.Var(this="...") if isinstance(part, exp.Literal) else part)
        text = " ".join(masked.sql(dialect="duckdb").split())
    except (SqlglotError, RecursionError, LookupError, ValueError, TypeError, AttributeError):
        return node.key.upper()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


# Functions that DuckDB computes.

_KNOWN_TEXT = """
abs acos acosh asin asinh ascii atan atan2 atanh bin bit_count bit_length cbrt ceil ceiling century char_length
character_length chr concat concat_ws contains cos cosh cot damerau_levenshtein date_diff date_part date_sub
date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear days_in_month decade degrees
ends_with epoch epoch_ms epoch_us era even exp factorial fdiv floor fmod format gamma gcd greatest
greatest_common_divisor hamming hex hour if iif ifnull instr isfinite isinf isnan isodow isoyear jaccard
jaro_similarity jaro_winkler_similarity julian last_day lcase lcm least least_common_multiple left len length
levenshtein lgamma ln log log10 log2 lower lpad ltrim make_date make_timestamp md5 microsecond millennium millisecond
minute mod month monthname nullif octet_length ord pi position pow power prefix printf quarter radians regexp_extract
regexp_full_match regexp_matches regexp_replace repeat replace reverse right round round_even rpad rtrim second sha1
sha256 sign signbit sin sinh split_part sqrt starts_with strftime strip_accents strlen strpos strptime substr
substring suffix tan tanh time_bucket to_base to_days to_hours to_microseconds to_milliseconds to_minutes to_months
to_quarters to_seconds to_weeks to_years translate trim trunc try_strptime ucase unicode upper week weekday weekofyear
xor year yearweek array_contains list_contains list_value string_split str_split array_length element_at list_extract
"""
_KNOWN = frozenset(_KNOWN_TEXT.split())
"""Functions that give the same value for the same arguments, on every machine."""
_VOLATILE_TEXT = """
random setseed uuid uuidv4 uuidv7 gen_random_uuid now today current_date current_time current_timestamp
get_current_time get_current_timestamp transaction_timestamp current_localtime current_localtimestamp localtime
localtimestamp age version user current_user session_user current_database current_schema current_setting getenv
nextval currval txid_current
"""
_VOLATILE = frozenset(_VOLATILE_TEXT.split())
_TYPES_TEXT = """
BIGINT BOOLEAN DATE DECIMAL DOUBLE FLOAT INT INT128 SMALLINT TEXT TIMESTAMP TIMESTAMPNTZ TINYINT UBIGINT UINT
USMALLINT UTINYINT VARCHAR
"""
_TYPES = frozenset(_TYPES_TEXT.split())
_FOREIGN = (
    exp.Anonymous,
    exp.Any,
    exp.Array,
    exp.DPipe,
    exp.Glob,
    exp.ILike,
    exp.IntDiv,
    exp.Interval,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Pow,
    exp.SimilarTo,
    exp.StartsWith,
    exp.StrPosition,
    exp.Trim,
    exp.TryCast,
    exp.Tuple,
)
PREDICATES = (
    exp.And,
    exp.Between,
    exp.Boolean,
    exp.EQ,
    exp.Escape,
    exp.GT,
    exp.GTE,
    exp.ILike,
    exp.In,
    exp.Is,
    exp.LT,
    exp.LTE,
    exp.Like,
    exp.NEQ,
    exp.Not,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Or,
    exp.SimilarTo,
    exp.StartsWith,
    exp.Glob,
)
"""Nodes that give a truth value."""
AGGREGATE_NODES = (exp.AggFunc, exp.Filter, exp.WithinGroup, exp.Window, exp.IgnoreNulls, exp.ArrayAgg, exp.GroupConcat)
_PARTS = ("YEAR", "MONTH", "DAY")
_DIVIDING = ("mod", "fmod", "fdiv")
_MOMENTS = ("DATE", "TIMESTAMP", "TIMESTAMPNTZ", "DATETIME")
_ADVICE = "leave it out, or compute it before asking"


def is_foreign(node: exp.Expression) -> bool:
    """Tell whether some part of an expression is for DuckDB to compute; sub-queries are none."""
    return any(_is_foreign(part) for part in node.walk(prune=lambda part: isinstance(part, exp.Query)))


def _is_foreign(node: Any) -> bool:
    if isinstance(node, _FOREIGN):
        return True
    if isinstance(node, exp.Cast):
        is_text = isinstance(node.this, exp.Literal) and node.this.is_string
        return not is_text or type_name(node) not in _MOMENTS
    if isinstance(node, exp.If):
        return not isinstance(node.parent, exp.Case)
    if isinstance(node, exp.Round):
        return is_set(node.args.get("decimals"))
    if isinstance(node, exp.Extract):
        return node.name.upper() not in _PARTS
    if isinstance(node, exp.Like):
        return not (isinstance(node.expression, exp.Literal) and node.expression.is_string)
    if isinstance(node, exp.Left | exp.Substring):
        places = [node.args.get(part) for part in ("expression", "start", "length")]
        return any(place is not None and not isinstance(place, exp.Literal) for place in places)
    return False


def type_name(node: exp.Expression) -> str:
    """The type that a value is cast to."""
    kind: Any = node.args["to"].this
    return str(getattr(kind, "name", kind)).removeprefix("DType.").upper()


def scalar_of(node: exp.Expression, name: Callable[[Any], Name]) -> Scalar:
    """Check an expression and print it with places for its columns, which `name` reads."""
    operands: dict[Expression, exp.Column] = {}

    def place(part: exp.Expression) -> exp.Expression:
        _check(part)
        if isinstance(part, exp.Column):
            return operands.setdefault(name(part), exp.column(f"a{len(operands)}")).copy()
        if isinstance(part, exp.Div | exp.IntDiv | exp.Mod):
            top, divisor = (side.transform(place) for side in (part.this, part.expression))
            return exp.Paren(this=type(part)(this=exp.Paren(this=top), expression=as_divisor(divisor)))
        if isinstance(part, exp.Anonymous) and str(part.this).lower() in _DIVIDING and len(part.expressions) == 2:
            top, divisor = (side.transform(place) for side in part.expressions)
            return exp.Anonymous(this=part.this, expressions=[top, as_divisor(divisor)])
        return part

    printed = _transform(node, place).sql(dialect=QuestionSQL)
    return Scalar(printed, tuple(operands))


def _transform(node: exp.Expression, place: Callable[[exp.Expression], exp.Expression]) -> exp.Expression:
    """Put places for columns from the top down; what was put is not looked at again."""
    made = place(node)
    if made is not node:
        return made
    copied = node.copy()
    for child in list(copied.iter_expressions()):
        child.replace(_transform(child, place))
    return copied


def _check(node: exp.Expression) -> None:
    if isinstance(node, AGGREGATE_NODES):
        raise refusal(node, "aggregates do not go inside aggregates or conditions on rows; a sub-query has them")
    if type(node) not in NODES:
        raise refusal(node, _ADVICE)
    for part, content in node.args.items():
        if is_set(content) and part not in NODES[type(node)]:
            raise refusal(node, _ADVICE)
    if isinstance(node, exp.SimilarTo) and node.expression.is_string and {"%", "_"} & set(node.expression.name):
        # Other databases read them as LIKE does; here such a pattern would match nothing, without a word.
        raise QueryError(
            "SIMILAR TO takes a regular expression here, in which % and _ mean themselves; write LIKE, or .* and ."
        )
    if isinstance(node, exp.Anonymous):
        _check_function(str(node.this).lower(), len(node.expressions))
    if isinstance(node, exp.Cast | exp.TryCast) and type_name(node) not in _TYPES:
        raise QueryError(
            "values are cast to whole and decimal numbers, DOUBLE, VARCHAR, BOOLEAN, DATE and TIMESTAMP; other types "
            "cannot be asked about"
        )
    if isinstance(node, exp.Star):
        raise refusal(node, "name the columns")
    if isinstance(node, exp.Any):
        raise refusal(node, "x = ANY([1, 2]) and x IN (1, 2) are understood")


def _check_function(function: str, arguments: int) -> None:
    if function == "age" and arguments == 2:
        return
    if function in _VOLATILE:
        raise QueryError(
            f"{function.upper()} cannot be answered: it gives another value each time it is asked; write a constant"
        )
    if function == "all":
        raise QueryError("ALL cannot be answered with a bound here; x <> ALL ([1, 2]) is x NOT IN (1, 2)")
    if function not in _KNOWN:
        close = difflib.get_close_matches(function[:60], sorted({*AGGREGATES, *_KNOWN}), n=1, cutoff=0.6)
        why = (
            f"did you mean {close[0].upper()}?"
            if close
            else "it is not known to give one value per row, the same on every machine;"
        )
        raise QueryError(
            f"{function.upper()[:60]} cannot be computed here: {why} docs/query.md lists the functions that can be used"
        )
