"""The PostgreSQL engine: the release and its help table on a server, and the same plain SQL there.

Cost       COPY in, two indexes; a question scans the matching rows, then looks up one help row per group

`export` loads a release into a schema of its own, in one transaction. Texts are compared by code point (collation "C"),
as in the other engines. PostgreSQL has no product over a window and no next float, so the schema brings both.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hedgerow.errors import InputError, QueryError
from hedgerow.query.help import help_of
from hedgerow.query.parts import result_of
from hedgerow.query.published import rows_of
from hedgerow.query.result import Result
from hedgerow.query.rewriter import parts_sql, require_rows
from hedgerow.query.sqltext import quoted
from hedgerow.query.statement import Bound
from hedgerow.query.view import view_of

if TYPE_CHECKING:
    from psycopg import Connection

    from hedgerow.release import Release

__all__ = ["PostgresEngine", "export", "to_postgres"]

_PRODUCT = "CREATE AGGREGATE product(double precision) (SFUNC = float8mul, STYPE = double precision, INITCOND = '1')"
# At least one float further, at most a few: enough to round outwards, in a function that any reader understands.
_NEXTAFTER = """
CREATE FUNCTION nextafter(x double precision, toward double precision) RETURNS double precision LANGUAGE sql IMMUTABLE
AS 'SELECT x + sign(toward) * (abs(x) * 2.3e-16 + 1e-300)'
"""


class PostgresEngine:
    """Answers questions about one release that `export` has loaded."""

    def __init__(self, release: Release, url: str, *, schema: str = "hedgerow") -> None:
        self._view = view_of(release)
        self._group_column = release.group_column
        self.connection = _connect(url)
        # One question, one transaction: a session that stays open must not hold up the next export.
        self.connection.autocommit = True
        self.connection.read_only = True
        self.connection.execute(f"SET search_path TO {quoted(schema)}")
        if self.connection.execute("SELECT to_regclass('release'), to_regclass('help')").fetchone() in (
            None,
            (None, None),
        ):
            self.connection.close()
            raise QueryError(f"schema '{schema}' holds no release; load one with `hedgerow export` first")

    def run(self, bound: Bound) -> Result:
        """Answer a bound question."""
        import psycopg

        statement = to_postgres(parts_sql(self._view, bound, self._group_column))
        try:
            rows = self.connection.execute(statement.encode()).fetchall()
        except psycopg.Error:
            # The database's message may quote values; ours does not.
            raise QueryError("the database cannot compute this condition; numbers may leave 64 bits") from None
        return result_of(self._view, bound, rows)

    def close(self) -> None:
        """Leave the server."""
        self.connection.close()


def export(release: Release, url: str, *, schema: str = "hedgerow", overwrite: bool = False) -> None:
    """Load a release and its help table into a schema of a PostgreSQL database, whole or not at all."""
    require_rows(release)
    helper = help_of(view_of(release))
    with _connect(url) as connection:
        connection.execute("SET LOCAL lock_timeout = '30s'")
        if overwrite:
            connection.execute(f"DROP SCHEMA IF EXISTS {quoted(schema)} CASCADE")
        elif connection.execute("SELECT to_regnamespace(%s)", (quoted(schema),)).fetchone() != (None,):
            raise InputError(f"The database has a schema '{schema}' already; choose another or ask to overwrite it.")
        connection.execute(f"CREATE SCHEMA {quoted(schema)}")
        connection.execute(f"SET search_path TO {quoted(schema)}")
        connection.execute(_PRODUCT)
        connection.execute(_NEXTAFTER)
        for name, table in (("release", rows_of(release)), ("help", helper)):
            _load(connection, name, table)
        connection.execute('CREATE UNIQUE INDEX ON help ("group", hits)')
        connection.execute(f"CREATE INDEX ON release ({quoted(release.group_column)})")
    with _connect(url) as connection:
        connection.autocommit = True
        connection.execute(f"VACUUM ANALYZE {quoted(schema)}.release, {quoted(schema)}.help")


def to_postgres(sql: str, *, pretty: bool = False) -> str:
    """Turn a printed statement into PostgreSQL's words."""
    import sqlglot

    quiet = sqlglot.ErrorLevel.IGNORE
    return sqlglot.transpile(sql, read="duckdb", write="postgres", unsupported_level=quiet, pretty=pretty)[0]


def _connect(url: str) -> Connection[Any]:
    try:
        import psycopg
    except ImportError:
        raise InputError("PostgreSQL needs psycopg: pip install 'hedgerow[pg]'.") from None
    try:
        return psycopg.connect(url)
    except psycopg.Error:
        # The driver's message repeats the address, and with it the password.
        raise InputError("The PostgreSQL server cannot be reached under that address, or refuses the log-in.") from None


def _load(connection: Connection[Any], name: str, table: pa.Table) -> None:
    import pyarrow.csv as pcsv

    columns = ", ".join(f"{quoted(field.name)} {_type(field.type)}" for field in table.schema)
    connection.execute(f"CREATE TABLE {name} ({columns})")
    text = io.BytesIO()
    # Arrow quotes texts and leaves missing values bare, which is how PostgreSQL tells an empty text from a missing one.
    pcsv.write_csv(table, text, pcsv.WriteOptions(include_header=False))
    with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:
        copy.write(text.getbuffer())


def _type(kind: pa.DataType) -> str:
    for test, name in _TYPES:
        if test(kind):
            return name
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    raise QueryError(f"PostgreSQL has no type for {kind} here")


_TYPES = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_int32, "integer"),
    (pa.types.is_int64, "bigint"),
    (pa.types.is_floating, "double precision"),
    (pa.types.is_string, 'text COLLATE "C"'),
    (pa.types.is_date, "date"),
    (pa.types.is_timestamp, "timestamp"),
)
