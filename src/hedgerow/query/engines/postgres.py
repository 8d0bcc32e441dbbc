"""The PostgreSQL engine: the release and its help table on a server, and the same plain SQL there.

Cost       COPY in, two indexes; a question scans the matching rows, then joins one help row per group

`export` loads a release into a schema of its own, in one transaction. Texts are compared by code point (collation "C"),
as in the other engines. PostgreSQL has no product over a window and no next float, so the schema brings both.
"""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.errors import InputError, ParameterError, QueryError
from hedgerow.parameters import came
from hedgerow.query.answer import Result
from hedgerow.query.engines.help import GROUPED, help_by_group, help_of
from hedgerow.query.engines.rewriter import HelpLayout, is_plain, parts_sql, result_of
from hedgerow.query.engines.server_functions import server_functions
from hedgerow.query.engines.summary import answer_from_counts, fingerprint, published_tables
from hedgerow.query.evidence.view import view_of
from hedgerow.query.sql.dialect import to_postgres
from hedgerow.query.sql.printing import literal, quote
from hedgerow.query.sql.question import Bound

if TYPE_CHECKING:
    from psycopg import Connection

    from hedgerow.release import Release

__all__ = ["SCHEMA", "PostgresEngine", "export", "load_tables"]

SCHEMA = "hedgerow"
"""Where a release goes unless another schema is named."""

_LONGEST = 63
"""PostgreSQL cuts longer names in silence, and then they may be those of others."""

_MARK = "a release that hedgerow exported"
"""How the comment on a schema that may be replaced begins; behind it stands which release it holds."""

_COMMENT = "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s"

# The server refuses a product of chances that is too small for a float; to us it is zero.
_TIMES = """
CREATE FUNCTION times(x double precision, y double precision) RETURNS double precision LANGUAGE sql IMMUTABLE
AS 'SELECT CASE WHEN abs(x) < 1e-200 THEN 0 ELSE x * y END'
"""
_PRODUCT = "CREATE AGGREGATE product(double precision) (SFUNC = times, STYPE = double precision, INITCOND = '1')"
# At least one float further, at most a few: enough to round outwards, in a function that any reader understands.
_NEXTAFTER = """
CREATE FUNCTION nextafter(x double precision, toward double precision) RETURNS double precision LANGUAGE sql IMMUTABLE
AS 'SELECT x + sign(toward) * (abs(x) * 2.3e-16 + 1e-300)'
"""


_PAGE = 7_000
"""Bytes of a row that surely fit into a page of the server."""
_SETTINGS = (
    "default_transaction_read_only = on",  # without transactions of its own the driver's read-only flag does nothing
    "work_mem = '64MB'",  # hits per group are many rows of a few bytes, which are hashed in memory
    "enable_partitionwise_aggregate = on",  # each process counts the groups of its own pieces
)
_PIECE = 100_000
_MOST_PIECES = 8
"""A release is cut into pieces of whole groups, of at least so many rows and at most so many pieces.

A server counts rows per group with one process, because its others would hand over as many counts as they saw groups.
Groups of different pieces have nothing in common, so that it takes several.
"""


class PostgresEngine:
    """Answers questions about one release that `export` has loaded."""

    def __init__(self, release: Release, url: str, *, schema: str = SCHEMA) -> None:
        _require_name(schema)
        self._release, self._view, self._schema = release, view_of(release), schema
        self._comment = _comment(release)
        self.connection = _connect(url)
        self._turn = threading.Lock()
        # One question, one transaction: a session that stays open must not hold up the next export.
        self.connection.autocommit = True
        for setting in (*_SETTINGS, f"search_path TO {quote(schema)}"):
            self.connection.execute(f"SET {setting}".encode())
        names = [*published_tables(release), *(["help"] if release.form.is_permutation else [])]
        found = self.connection.execute(f"SELECT {', '.join(['to_regclass(%s)'] * len(names))}", names).fetchone()
        if found is None or None in found:
            self.connection.close()
            raise QueryError(f"schema '{schema}' holds no such release; load it with `hedgerow export` first")
        try:
            self._require_same()
        except QueryError:
            self.connection.close()
            raise

    def run(self, bound: Bound) -> Result:
        """Answer a bound question."""
        import psycopg

        try:
            result = self._answer(bound)
            self._require_same()  # afterwards: an export may have replaced the schema meanwhile
            return result
        except psycopg.DataError:
            # The database's message may quote values; ours does not.
            raise QueryError("the database cannot compute this condition; numbers may leave 64 bits") from None
        except psycopg.Error as error:
            reason = f"{type(error).__name__}, SQLSTATE {error.sqlstate or 'unknown'}"
            raise QueryError(
                f"the database did not answer ({reason}); connect again, or ask its administrator"
            ) from None

    def _answer(self, bound: Bound) -> Result:
        if not is_plain(self._release, self._view, bound):
            return answer_from_counts(self._release, bound, self._fetch)
        statement = to_postgres(parts_sql(self._view, bound, self._release.group_column, HelpLayout(by_group=True)))
        with self._turn:
            rows = self.connection.execute(statement.encode()).fetchall()
        return result_of(self._view, bound, rows)

    def _require_same(self) -> None:
        """Refuse a schema that holds another release: its answers would be about that one."""
        with self._turn:
            found = self.connection.execute(_COMMENT, (self._schema,)).fetchone()
        if found != (self._comment,):
            raise QueryError(
                f"schema '{self._schema}' holds another release, or one that an earlier version exported; load this "
                "one into a schema of its own (`hedgerow export`, --schema), and name that"
            )

    def _fetch(self, statement: str, schema: pa.Schema) -> pa.Table:
        text = io.BytesIO()
        # A COPY takes the connection until its last block: a statement of another thread in between is an error.
        with (
            self._turn,
            self.connection.cursor().copy(f"COPY ({to_postgres(statement)}) TO STDOUT (FORMAT csv)".encode()) as copy,
        ):
            for block in copy:
                text.write(block)
        return _read(text, schema)

    def close(self) -> None:
        """Leave the server."""
        self.connection.close()


def export(release: Release, url: str, *, schema: str = SCHEMA, overwrite: bool = False) -> None:
    """Load a release and its help table into a schema of a PostgreSQL database, whole or not at all.

    A schema that is there is replaced if asked, but only if an export made it.
    """
    _require_name(schema)
    view = view_of(release)
    helpers = {"help": help_of(view), GROUPED: help_by_group(view)} if release.form.is_permutation else {}
    tables = published_tables(release) | helpers
    with _new_schema(url, schema, _comment(release), overwrite=overwrite) as connection:
        connection.execute(_TIMES)
        connection.execute(_PRODUCT)
        connection.execute(_NEXTAFTER)
        for name, table in tables.items():
            is_cut = name == "release" and release.form.is_permutation
            _load(connection, name, table, release.group_column if is_cut else None)
        if release.form.is_permutation:
            connection.execute(f'CREATE UNIQUE INDEX ON {GROUPED} ("group")')
            connection.execute('CREATE UNIQUE INDEX ON help ("group", hits)')
            connection.execute(f"CREATE INDEX ON release ({quote(release.group_column)})")
            for statement in server_functions(view, release.group_column, schema):
                connection.execute(statement.encode())
    with _connect(url) as connection, _refusals():
        connection.autocommit = True
        connection.execute(f"VACUUM ANALYZE {', '.join(f'{quote(schema)}.{quote(name)}' for name in tables)}")


def load_tables(
    tables: Mapping[str, pa.Table],
    url: str,
    schema: str = SCHEMA,
    *,
    overwrite: bool = False,
    indexes: Sequence[tuple[str, tuple[str, ...]]] = (),
    view: str | None = None,
) -> None:
    """Load tables into a schema, whole or not at all, with indexes, and a view `example` of SQL over their files."""
    _require_name(schema)
    with _new_schema(url, schema, _MARK, overwrite=overwrite) as connection:
        for name, table in tables.items():
            _load(connection, name, table)
        for name, columns in indexes:
            connection.execute(f"CREATE INDEX ON {quote(name)} ({', '.join(map(quote, columns))})".encode())
        if view is not None:
            connection.execute(("CREATE VIEW example AS " + re.sub(r"'(\w+)\.parquet'", r'"\1"', view)).encode())


@contextmanager
def _new_schema(url: str, schema: str, comment: str, *, overwrite: bool) -> Iterator[Connection[Any]]:
    """A connection whose tables go to a new schema, which is there whole or not at all."""
    with _connect(url) as connection, _refusals():
        connection.execute("SET LOCAL lock_timeout = '30s'")
        _make_room(connection, schema, overwrite=overwrite)
        connection.execute(f"CREATE SCHEMA {quote(schema)}")
        connection.execute(f"COMMENT ON SCHEMA {quote(schema)} IS {literal(comment)}")
        connection.execute(f"SET search_path TO {quote(schema)}")
        yield connection


def _comment(release: Release) -> str:
    return f"{_MARK}: {fingerprint(release)}"


def _require_name(schema: object) -> None:
    """Refuse what is no name of a schema to the server, or the name of one of its own."""
    fits = isinstance(schema, str) and schema.isprintable() and 0 < len(schema.encode()) <= _LONGEST
    if not fits or str(schema).lower().startswith(("pg_", "information_schema")):
        raise ParameterError(
            f"'schema' must be a name of at most {_LONGEST} bytes that is not one of the server's own (pg_...); "
            f"got {came(schema)}. Without it the schema is '{SCHEMA}'."
        )


def _make_room(connection: Connection[Any], schema: str, *, overwrite: bool) -> None:
    found = connection.execute(_COMMENT, (schema,)).fetchone()
    if found is None:
        return
    if not overwrite:
        raise InputError(
            f"The database has a schema '{schema}' already; choose another (--schema, schema=) or replace it "
            "(--overwrite, overwrite=True)."
        )
    if not str(found[0]).startswith(_MARK):
        raise InputError(f"The schema '{schema}' was not made by an export, so it is not replaced; choose another.")
    connection.execute(f"DROP SCHEMA {quote(schema)} CASCADE")


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn what the server refuses into one sentence; its own may quote values."""
    import psycopg

    try:
        yield
    except psycopg.Error:
        raise InputError(
            "The database did not take the release: the account needs the right to create schemas and tables there, "
            "and nobody may hold the schema."
        ) from None


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


def _load(connection: Connection[Any], name: str, table: pa.Table, group: str | None = None) -> None:
    """Fill a new table; one that is sorted by a column `group` is cut into pieces, if it is large."""
    import pyarrow.csv as pcsv

    if long := [field.name for field in table.schema if len(field.name.encode()) > _LONGEST]:
        raise InputError(
            f"PostgreSQL cuts names after {_LONGEST} bytes; rename the column '{long[0]}' before publishing."
        )
    columns = ", ".join(f"{quote(field.name)} {_type(field.type)}" for field in table.schema)
    ends = [] if group is None else _ends_of_pieces(table[group])
    cut = f" PARTITION BY RANGE ({quote(group)})" if group is not None and ends else ""
    connection.execute(f"CREATE TABLE {quote(name)} ({columns}){cut}".encode())
    bounds = ["MINVALUE", *map(str, ends), "MAXVALUE"]
    for number, (first, end) in enumerate(pairwise(bounds if cut else ()), 1):
        piece = quote(f"{name}_piece_{number}")
        connection.execute(
            f"CREATE TABLE {piece} PARTITION OF {quote(name)} FOR VALUES FROM ({first}) TO ({end})".encode()
        )
    lists = [field.name for field in table.schema if pa.types.is_list(field.type)]
    # Lists that lie in their row as they are need no unpacking, which would cost more than the look-up.
    storage = "PLAIN" if sum(_longest(table[column]) for column in lists) < _PAGE else "EXTERNAL"
    for column in lists:
        connection.execute(f"ALTER TABLE {quote(name)} ALTER {quote(column)} SET STORAGE {storage}")
        table = table.set_column(table.schema.get_field_index(column), column, _brace(table[column]))
    text = io.BytesIO()
    # Arrow quotes texts and leaves missing values bare, which is how PostgreSQL tells an empty text from a missing one.
    pcsv.write_csv(table, text, pcsv.WriteOptions(include_header=False))
    with connection.cursor().copy(f"COPY {quote(name)} FROM STDIN (FORMAT csv)") as copy:
        copy.write(text.getbuffer())


def _ends_of_pieces(groups: pa.ChunkedArray) -> list[int]:
    """The groups with which the pieces after the first begin."""
    pieces = min(len(groups) // _PIECE, _MOST_PIECES)
    starts = (groups[len(groups) * piece // pieces].as_py() for piece in range(1, pieces))
    return sorted({start for start in starts if start > groups[0].as_py()})


def _longest(lists: pa.ChunkedArray) -> int:
    """Bytes of the longest list on the server; decimals take some thirty each."""
    length: int = pc.max(pc.list_value_length(lists)).as_py() or 0
    return length * (32 if pa.types.is_decimal(lists.type.value_type) else 8)


def _brace(lists: pa.ChunkedArray) -> pa.ChunkedArray:
    """Lists of numbers as PostgreSQL writes them."""
    inner = pc.binary_join(lists.cast(pa.list_(pa.string())), ",")
    return pc.binary_join_element_wise("{", inner, "}", "")


def _read(text: io.BytesIO, schema: pa.Schema) -> pa.Table:
    """Read what COPY wrote; the columns come by place, because names may be anything."""
    import pyarrow.csv as pcsv

    if not text.tell():
        return schema.empty_table()
    text.seek(0)
    names = [str(place) for place in range(len(schema))]
    convert = pcsv.ConvertOptions(
        column_types=dict(zip(names, schema.types, strict=True)),
        null_values=[""],
        true_values=["t"],
        false_values=["f"],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    read, lines = pcsv.ReadOptions(column_names=names), pcsv.ParseOptions(newlines_in_values=True)
    return pcsv.read_csv(text, read, lines, convert).rename_columns(schema.names)


def _type(kind: pa.DataType) -> str:
    for test, name in _TYPES:
        if test(kind):
            return name
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    if pa.types.is_list(kind):
        return f"{_type(kind.value_type)}[]"
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
