"""Bounds on a PostgreSQL server without hedgerow: views and set-returning functions that an export leaves there.

Source     own; the help table of [Zhang 2008], section 2.5.2, in the server's own language
Guarantee  `bounds_*` return the engine's bounds; a condition sees known columns alone, and whatever is not one
           expression over them is refused

    SET search_path TO hedgerow;
    SELECT * FROM bounds_avg('income', 'age between 30 and 50');

Functions run with the caller's rights and change nothing (STABLE). A condition is text, so it is parsed by the server
twice before it counts: once inside `CASE WHEN ... END`, where no parenthesis can be closed that it did not open, then
inside parentheses over the view `known`. Sub-queries, comments, several statements, backslashes and dollar signs are
refused before, so that nothing but an expression is left.
"""

from __future__ import annotations

from collections.abc import Iterator

from hedgerow.exact import float_above
from hedgerow.query.engines.help import GROUPED, help_name, is_helped
from hedgerow.query.engines.rewriter import HelpLayout, extreme_sql
from hedgerow.query.evidence.rows import numbers_of
from hedgerow.query.evidence.view import View
from hedgerow.query.sql.dialect import to_postgres
from hedgerow.query.sql.printing import literal, quote, select_sql

__all__ = ["server_functions"]

_RESULT = '"rows" bigint, lower numeric, expected double precision, upper numeric, std double precision, exact boolean'
_STRIPPED = "regexp_replace(condition, '''([^'']|'''')*''|\"([^\"]|\"\")*\"', ' x ', 'g')"
_REFUSAL = (
    "a condition is one expression over known columns, like ''age between 30 and 50'': no sub-query, comment, "
    "backslash or dollar sign"
)


def server_functions(view: View, group_column: str, schema: str) -> Iterator[str]:
    """Print the statements that make views and functions in a schema."""
    known = [name for name in view.columns if name not in view.sensitive]
    yield f"CREATE VIEW known AS {select_sql([*map(quote, known), quote(group_column)], 'release')}"
    helped = [name for name in view.sensitive if is_helped(view, name) and not numbers_of(view, name).is_rounded]
    yield _columns(view, known, helped)
    settings = f"STABLE SET search_path = {quote(schema)}, pg_temp SET standard_conforming_strings = on"
    yield _matching(group_column, settings)
    for function in ("sum", "avg", "min", "max"):
        branches = "".join(
            f'    IF "column" = {literal(name)} THEN RETURN QUERY\n{_statement(view, name, function)};\n'
            "        RETURN;\n    END IF;\n"
            for name in helped
        )
        answered = ", ".join(helped) or "none"
        message = f"'no bounds for %; the sensitive columns of numbers without gaps are: {_escape(answered)}'"
        yield (
            f"CREATE FUNCTION bounds_{function}(\"column\" text, condition text DEFAULT 'true') "
            f"RETURNS TABLE ({_RESULT}) LANGUAGE plpgsql {settings} AS {_body(branches, message)}"
        )
    yield (
        f"CREATE FUNCTION bounds_count(condition text DEFAULT 'true') RETURNS TABLE ({_RESULT}) LANGUAGE sql "
        f"{settings} AS 'SELECT n, n::numeric, n::double precision, n::numeric, 0.0::double precision, true "
        "FROM (SELECT coalesce(sum(hits), 0)::bigint AS n FROM matching(condition)) AS counted'"
    )


def _columns(view: View, known: list[str], helped: list[str]) -> str:
    """A view that says what can be asked."""
    rows = [f"({literal(name)}, 'known', 'in conditions')" for name in known]
    rows += [
        f"({literal(name)}, 'sensitive', {literal('bounds' if name in helped else 'hedgerow alone')})"
        for name in view.sensitive
    ]
    return f"CREATE VIEW columns AS SELECT * FROM (VALUES {', '.join(rows)}) AS listed(name, role, asked)"


def _matching(group_column: str, settings: str) -> str:
    group = literal(quote(group_column))[1:-1]
    body = f"""
#variable_conflict use_column
BEGIN
    IF coalesce(btrim(condition), '') = '' OR strpos(condition, chr(92)) > 0 OR {_STRIPPED} ~ '[;$]|--|/[*]'
       OR {_STRIPPED} ~* '\\m(select|table|values|with|union|into)\\M' THEN
        RAISE EXCEPTION USING MESSAGE = '{_REFUSAL}', ERRCODE = 'invalid_parameter_value';
    END IF;
    EXECUTE 'SELECT CASE WHEN ' || condition || ' THEN 1 END FROM known WHERE false';
    RETURN QUERY EXECUTE 'SELECT {group}::integer, count(*)::integer FROM known WHERE ('
        || condition || ') GROUP BY {group}';
END
"""
    return (
        'CREATE FUNCTION matching(condition text) RETURNS TABLE ("group" integer, hits integer) '
        f"LANGUAGE plpgsql {settings} AS {literal(body)}"
    )


def _body(branches: str, message: str) -> str:
    text = (
        f"\n#variable_conflict use_column\nBEGIN\n{branches}"
        f"    RAISE EXCEPTION {message}, \"column\" USING ERRCODE = 'undefined_column';\nEND\n"
    )
    return literal(text)


def _escape(text: str) -> str:
    return text.replace("'", "''").replace("%", "%%")


def _statement(view: View, name: str, function: str) -> str:
    """Rows, bounds, mean and deviation of one aggregate of one column over the rows that match."""
    hits = ("hits", 'SELECT "group", hits FROM matching(condition)')
    slack = f"'{float_above(numbers_of(view, name).slack)!r}'::numeric"
    if function in ("min", "max"):
        tables = [hits, *_extremes(view, name, function)]
        shown = "n::bigint, low::numeric, mean_1::double precision, high::numeric, sqrt(variance_1), low = high"
        return _with(tables, f"SELECT {shown} FROM parts, spread_1")
    layout = HelpLayout(by_group=True)
    low, high, mean, variance = (
        f"sum({layout.statistic(view, name, f'sum_{end}')})" for end in ("lower", "upper", "expected", "variance")
    )
    parts = f"SELECT sum(hits) AS n, {low} AS low, {high} AS high, {mean} AS mean, {variance} AS variance FROM hits "
    tables = [hits, ("parts", f'{parts} JOIN {GROUPED} USING ("group")')]
    if function == "sum":
        ends = f"low - n * {slack}, mean, high + n * {slack}, sqrt(variance)"
    else:
        # Whole steps of 10^-12, outwards: a quotient of decimals would be rounded to the nearest.
        step, scaled = "0.000000000001", "1000000000000"
        low = f"(div(low * {scaled} - mod(mod(low * {scaled}, n) + n, n), n)) * {step} - {slack}"
        high = f"-(div(-high * {scaled} - mod(mod(-high * {scaled}, n) + n, n), n)) * {step} + {slack}"
        ends = f"{low}, mean / n, {high}, sqrt(variance) / n"
    return _with(tables, f"SELECT coalesce(n, 0)::bigint, {ends}, low = high FROM parts")


def _extremes(view: View, name: str, function: str) -> Iterator[tuple[str, str]]:
    names = {end: quote(help_name(view, name, end)) for end in ("min_lower", "min_upper", "max_lower", "max_upper")}
    low, high = (f"{function}({names[f'{function}_{end}']})" for end in ("lower", "upper"))
    source = 'hits JOIN help USING ("group", hits)'
    yield "parts", f"SELECT coalesce(sum(hits), 0) AS n, {low} AS low, {high} AS high FROM {source}"
    for table, text in extreme_sql(1, function, [], names["min_upper"], names["max_lower"]):
        yield table, to_postgres(text)


def _with(tables: list[tuple[str, str]], select: str) -> str:
    return "WITH " + ",\n".join(f"{name} AS ({text})" for name, text in tables) + f"\n{select}"
