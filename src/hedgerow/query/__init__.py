"""Answers from a release alone: SQL in, guaranteed bounds out.

sql          text to bound question: one strict reader, names to columns, the condition to known and hidden parts
evidence     what a release tells about a question, one file per form: rows hit, and the values that they may have
aggregates   least and greatest answers over all assignments, in exact integers; mean and deviation of fair ones
engines      DuckDB, PostgreSQL and Spark: one statement and the help table, or counts that array code finishes
answer       rounding; what is handed over
conclude     arithmetic between results, HAVING, ORDER BY, LIMIT
regress      linear models of a hidden outcome: every coefficient with bounds
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from hedgerow.errors import ParameterError, QueryError, within_limits
from hedgerow.query.answer import Answer
from hedgerow.release.bundle import PartedTables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hedgerow.query.answer import Estimate, Result
    from hedgerow.query.answer_table import AnswerTable
    from hedgerow.query.answered import Answered
    from hedgerow.query.evidence.permuted import ArrayEngine
    from hedgerow.query.evidence.view import View
    from hedgerow.query.sql.question import Bound, Lookup, Predicate, Question
    from hedgerow.release import Release

__all__ = [
    "Answer",
    "Engine",
    "Session",
    "ask",
    "bound_to",
    "connect",
    "help_table",
    "help_table_of_part",
    "rewrite",
    "select",
]

_COUNTS = "-- Not expressible as one statement: these queries fetch counts, hedgerow computes the bounds.\n"
_PARTS = "-- These are the aggregates; what is computed from them, HAVING, ORDER BY and LIMIT come afterwards.\n"


class Engine(Protocol):
    """Whatever can answer a bound question."""

    def run(self, bound: Bound) -> Result:
        """Answer it."""


class Session:
    """Questions to one release through one engine."""

    def __init__(self, release: Release, engine: Engine) -> None:
        self._release = release
        self.engine = engine
        self.tables: Mapping[str, Any] = {}

    def ask(self, sql: str, tables: Mapping[str, Any] | None = None) -> Any:
        """Answer one aggregate: an `Answer`; several of them, and GROUP BY, come as an `AnswerTable`."""
        from hedgerow.query.answer_table import AnswerTable

        found = self.answers(sql, tables)
        if found.keys or len(found.estimates) != 1 or found.cells > 1:
            return AnswerTable(found)
        (estimate,) = found.estimates.values()
        if not found.cells:
            raise QueryError("HAVING or LIMIT leaves no answer; leave them out")
        return estimate.answers[0]

    def sql(self, sql: str, tables: Mapping[str, Any] | None = None) -> AnswerTable:
        """Answer every aggregate in every group: the keys, then x (expected), x_lower, x_upper and x_std.

        `tables` are frames of one's own that the question joins, by name.
        """
        from hedgerow.query.answer_table import AnswerTable

        return AnswerTable(self.answers(sql, tables))

    @within_limits
    def answers(self, sql: str, tables: Mapping[str, Any] | None = None) -> Result:
        """Answer every aggregate in every group: keys, and for each aggregate its answers, row by row."""
        try:
            found = self._found(sql, tables)
            found.table()  # rounds the answers, which are kept
        except OverflowError:
            raise QueryError(
                "an answer, or a number on the way to it, is beyond the range of floats; ask about x / 1000000"
            ) from None
        return found

    def _found(self, sql: str, tables: Mapping[str, Any] | None) -> Result:
        from hedgerow.query.sql.compose import Composer
        from hedgerow.query.sql.joining import Joins, own_tables
        from hedgerow.query.sql.parse import check_text, is_composed

        check_text(sql, self._release.columns.all)
        given = self.tables if tables is None else tables
        own = own_tables(given) if given else {}
        if not is_composed(sql):
            return self.run(bound_to(self._release, sql))
        joins = Joins(outline_of(self._release).columns, own, self._reason, {})
        answer = functools.partial(self._answer, joins.lookups)
        return Composer(joins, answer, functools.partial(self._answer_inside, joins.lookups)).run(sql)

    def _reason(self, name: str) -> str | None:
        """Say why rows have no single value of a column to join on."""
        form, columns = self._release.form, self._release.columns
        if form.has_boxes and name in columns.quasi:
            return "is published as ranges, so that rows have no single value of it to join on"
        if name in columns.sensitive and not form.is_permutation:
            return "is sensitive, and this release does not list its values row by row"
        is_changed = form.is_altered and name in self._release.guarantee.columns
        return "is published with other values than the true ones" if is_changed else None

    def run(self, bound: Bound, scalars: Mapping[str, Estimate] | None = None) -> Result:
        """Answer a bound question: the engine's results, and what the question says about them."""
        from hedgerow.query.cut import cut_results
        from hedgerow.query.filtered import run_filtered
        from hedgerow.query.sql.question import ALWAYS

        is_filtered = any(item.where != ALWAYS for item in bound.aggregates)
        found = run_filtered(self.engine.run, bound) if is_filtered else self.engine.run(bound)
        if bound.may_fail:
            self.check(bound)
        found = cut_results(bound, found) if any(item.scale is not None for item in bound.aggregates) else found
        outcome = bound.outcome
        if outcome.is_plain and not scalars and (*found.keys, *found.estimates) == outcome.shown:
            return found
        from hedgerow.query.conclude import conclude_result, finish_result

        more = {name: estimate.take([0] * found.cells) for name, estimate in (scalars or {}).items()}
        found = replace(found, estimates=found.estimates | more)
        if not (outcome.computed or outcome.may_fail):
            return finish_result(bound, found)
        return conclude_result(bound, found)

    def check(self, bound: Bound) -> None:
        """Refuse a question that looks at rows in which one of its expressions has no value."""
        from hedgerow.query.sql.defined import check_question

        check_question(bound, functools.partial(self._occurs, {name: name for name in self._release.columns.sensitive}))

    def _occurs(self, bases: Mapping[str, str], given: Sequence[Predicate], failure: Predicate) -> bool:
        """Tell whether there may be a row that satisfies all conditions; those that cannot be asked are left out."""
        from hedgerow.query.sql.bind import narrowed
        from hedgerow.query.sql.defined import join_by_column
        from hedgerow.query.sql.question import ALWAYS, SLOT, Aggregate, And, Bound, columns_of

        rows = Aggregate("count", None, f"{SLOT}rows without a value")
        near = [part for part in given if columns_of(part) <= columns_of(failure)]
        for parts in (given, near):
            condition = And(tuple(join_by_column((*parts, failure))) or (ALWAYS,))
            asked = narrowed(Bound((), (), (), ALWAYS, ALWAYS, bases), condition, (rows,))
            with contextlib.suppress(QueryError):
                found = self.engine.run(asked).estimates[rows.alias]
                return (found.upper if found.is_bounded else found.expected)[0] != 0
        return True

    def _answer(self, lookups: Mapping[str, Lookup], question: Question, scalars: Mapping[str, Estimate]) -> Result:
        return self.run(self._fit(question, lookups), scalars)

    def _answer_inside(self, lookups: Mapping[str, Lookup], question: Question) -> Answered:
        from hedgerow.query.conclude import mark_types
        from hedgerow.query.nested import subquery_answer

        def run(asked: Question, shown: tuple[str, ...]) -> Result:
            bound = self._fit(asked, lookups)
            outcome = replace(bound.outcome, shown=(*bound.outcome.shown, *shown))
            return mark_types(bound, self.run(replace(bound, outcome=outcome)))

        return subquery_answer(run, question)

    def _fit(self, question: Question, lookups: Mapping[str, Lookup]) -> Bound:
        from hedgerow.query.sql.bind import bind

        view = outline_of(self._release)
        return bind(question, {**view.columns, **lookups}, view.sensitive)

    def close(self) -> None:
        """Leave the server, if there is one."""
        close = getattr(self.engine, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> Session:
        """Return the session; it is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def connect(
    release: Release | str | os.PathLike[str], engine: str | SparkSession = "arrays", *, schema: str | None = None
) -> Session:
    """Open a session on "arrays", on "duckdb" (the release and its help table in memory), on PostgreSQL or on Spark.

    The release may be given as the folder of its bundle. For PostgreSQL `engine` is the server's address; the release
    must have been loaded by `hedgerow export`, and `schema` says where to, if not to "hedgerow". For Spark it is a
    session, classic or Connect.
    """
    if isinstance(release, str | os.PathLike):
        from hedgerow.release.bundle import read

        release = read(release)
    if not isinstance(engine, str):
        from hedgerow.query.engines.spark import PartsOnSpark, SparkEngine

        if schema is not None:
            raise ParameterError("'schema' is where a PostgreSQL server holds a release; other engines have none.")
        if isinstance(release.tables, PartedTables):
            return Session(release, PartsOnSpark(release, engine, functools.partial(_whole_engine, release)))
        return Session(release, SparkEngine(release, engine))
    if engine.startswith(("postgresql://", "postgres://")):
        from hedgerow.query.engines.postgres import SCHEMA, PostgresEngine

        return Session(release, PostgresEngine(release, engine, schema=SCHEMA if schema is None else schema))
    if schema is not None:
        raise ParameterError("'schema' is where a PostgreSQL server holds a release; other engines have none.")
    if engine == "arrays":
        if isinstance(release.tables, PartedTables):
            from hedgerow.query.engines.parts import PartsEngine

            return Session(release, PartsEngine(release, functools.partial(_whole_engine, release)))
        return Session(release, _whole_engine(release))
    if engine == "duckdb":
        from hedgerow.query.engines.duckdb import DuckDBEngine

        return Session(release, DuckDBEngine(release))
    raise ParameterError(
        "'engine' must be 'arrays', 'duckdb', an address that begins with postgresql://, or a session of Spark"
    )


def _whole_engine(release: Release) -> ArrayEngine:
    """The engine of arrays; of a bundle in parts it puts all of them together."""
    from hedgerow.query.evidence.permuted import ArrayEngine
    from hedgerow.query.evidence.view import source_of

    return ArrayEngine(source_of(release))


def ask(release: Release, sql: str, tables: Mapping[str, Any] | None = None, *, estimate: str = "fair") -> Any:
    """Answer one aggregate with guaranteed bounds: an `Answer`; several, and GROUP BY, come as an `AnswerTable`."""
    answer = connect(release).ask(sql, tables)
    if estimate == "fair":
        return answer
    from hedgerow.query.learned import learn
    from hedgerow.query.sql.question import ALWAYS

    if estimate != "learned":
        raise ParameterError("'estimate' must be 'fair' or 'learned'.")
    if not isinstance(answer, Answer):
        raise QueryError("a learned estimate is for one aggregate without GROUP BY; ask for each alone")
    bound = bound_to(release, sql)
    if any(item.where != ALWAYS for item in bound.aggregates):
        raise QueryError("a learned estimate does not go with FILTER; write the condition after WHERE")
    return learn(release, bound, answer)


def select(release: Release, sql: str, tables: Mapping[str, Any] | None = None) -> AnswerTable:
    """Answer a SELECT; each aggregate x comes as x (expected), x_lower, x_upper and x_std."""
    return connect(release).sql(sql, tables)


def rewrite(release: Release, sql: str, dialect: str = "duckdb") -> str:
    """Say the question as plain SQL over the published tables and `help`, for any analyst with a database.

    Where one statement cannot say it all, these are the statements that count what the bounds are worked out from.
    """
    from hedgerow.query.engines.rewriter import is_plain, rewritten
    from hedgerow.query.engines.summary import statements
    from hedgerow.query.evidence.view import view_of
    from hedgerow.query.filtered import parts_of
    from hedgerow.query.sql.dialect import to_postgres
    from hedgerow.query.sql.question import SLOT

    if dialect not in ("duckdb", "postgres"):
        raise ParameterError(f"'dialect' must be 'duckdb' or 'postgres'; got {dialect!r}")
    view, bound = view_of(release), bound_to(release, sql)
    keys = tuple(replace(key, alias=key.alias.replace(SLOT, "key ")) for key in bound.keys)
    aggregates = tuple(replace(item, alias=item.alias.replace(SLOT, "part ")) for item in bound.aggregates)
    bound = replace(bound, keys=keys, aggregates=aggregates)
    asked = parts_of(bound)
    is_one = len(asked) == 1 and is_plain(release, view, bound)
    parts = [rewritten(view, bound, release.group_column)] if is_one else []
    parts = parts or [part for one in asked for part in statements(release, one)]
    written = [part if dialect == "duckdb" else to_postgres(part, pretty=True) for part in parts]
    if is_one:
        return written[0] if bound.outcome.is_plain else _PARTS + written[0]
    return ";\n\n".join([_COUNTS + written[0], *written[1:]])


def help_table_of_part(part: Release, rows: int, which: str = "all") -> pa.Table:
    """The help table of one part of a release of so many rows; its `grids` are those of the whole.

    `which` is "all", or "sums" for the bounds of sums alone.
    """
    from hedgerow.query.engines.help import help_part

    return help_part(help_table(part), part, rows, which)


def help_table(release: Release) -> pa.Table:
    """Return the bounds of every aggregate for every group and every number of hits: one row per published row."""
    from hedgerow.query.engines.help import help_of
    from hedgerow.query.evidence.view import view_of

    if release.form.has_subdomains:
        from hedgerow.query.evidence.disguised import help_of_subdomains

        return help_of_subdomains(release)
    if release.form.may_have_fakes:
        from hedgerow.query.evidence.padded import help_of_padded

        return help_of_padded(release)
    return help_of(view_of(release))


def bound_to(release: Release, sql: str) -> Bound:
    """Read a question and fit it to a release: what engines answer."""
    from hedgerow.query.sql.bind import bind
    from hedgerow.query.sql.parse import parse

    view = outline_of(release)
    return bind(parse(sql), view.columns, view.sensitive)


def outline_of(release: Release) -> View:
    """A view that tells the columns of a release and their kinds; of one in parts it has the rows of the first."""
    from hedgerow.query.evidence.view import view_of

    return view_of(release.tables.first if isinstance(release.tables, PartedTables) else release)
