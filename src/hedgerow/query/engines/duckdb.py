"""The DuckDB engine: the published tables in memory, and plain SQL over them.

Where rows and the help table say it all the answer is one statement; otherwise the database counts and array code
finishes (`summary`). Statements are printed from bound questions: no text of a user reaches the database. It is locked
all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from hedgerow.errors import QueryError
from hedgerow.query.answer import Result
from hedgerow.query.engines.help import GROUPED, help_by_group, help_of
from hedgerow.query.engines.rewriter import HelpLayout, is_plain, parts_sql, result_of
from hedgerow.query.engines.summary import answer_from_counts, published_tables
from hedgerow.query.evidence.view import view_of
from hedgerow.query.sql.printing import quote
from hedgerow.query.sql.question import Bound, Kind

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["DuckDBEngine"]

# Group numbers are dense, so counting hits per group can index an array of up to 2^18 counters instead of hashing.
_SETTINGS = ("perfect_ht_threshold = 18", "enable_external_access = false", "lock_configuration = true")


_FEW = 2**16
"""Different texts up to which numbers of two bytes stand for them."""


class DuckDBEngine:
    """Answers questions about one release by SQL."""

    def __init__(self, release: Release) -> None:
        """Load the release with help tables of our own: nobody has verified those of a bundle."""
        self._release, self._view = release, view_of(release)
        self.connection = duckdb.connect()
        for setting in _SETTINGS:  # before anything that came with a bundle is touched
            self.connection.execute(f"SET {setting}")
        self._layout = HelpLayout(by_group=True)
        for name, table in published_tables(release).items():
            self._load(name, table)
        if release.form.is_permutation:
            self._number_texts()
            self._load(GROUPED, help_by_group(self._view))
            # Few questions hit a whole group: sorted by hits, the rows that no group needs are skipped in blocks.
            self._load("help", help_of(self._view), 'ORDER BY hits, "group"')

    def _number_texts(self) -> None:
        """Add the places of texts among their sorted values: counted per group, they are half the work of texts."""
        table, codes = published_tables(self._release)["release"], {}
        taken = {name.lower() for name in table.column_names}
        for name, column in self._view.columns.items():
            code = f"{name} by number"
            if column.kind is not Kind.TEXT or name in self._view.sensitive or code.lower() in taken:
                continue
            if len(self._view.codes(name).domain) <= _FEW:
                codes[name] = code
                table = table.append_column(code, pa.array(self._view.codes(name).codes))
        if codes:
            self._layout = HelpLayout(by_group=True, codes=codes)
            self.connection.execute("DROP TABLE release")
            self._load("release", table)

    def _load(self, name: str, table: pa.Table, order: str = "") -> None:
        self.connection.register("arriving", table)
        self.connection.execute(f"CREATE TABLE {quote(name)} AS SELECT * FROM arriving {order}")
        self.connection.unregister("arriving")

    def run(self, bound: Bound) -> Result:
        """Answer a bound question; several threads may ask, for each question has a cursor of its own."""
        try:
            if is_plain(self._release, self._view, bound):
                statement = parts_sql(self._view, bound, self._release.group_column, self._layout)
                with self.connection.cursor() as cursor:
                    rows = cursor.execute(statement).fetchall()
                return result_of(self._view, bound, rows, self._layout.codes)
            return answer_from_counts(self._release, bound, self._fetch)
        except duckdb.Error:
            # The database's message may quote values; ours does not.
            raise QueryError("the database cannot compute this condition; numbers may leave 64 bits") from None

    def _fetch(self, statement: str, schema: pa.Schema) -> pa.Table:
        with self.connection.cursor() as cursor:
            found = cursor.sql(statement).to_arrow_table()
        return found.rename_columns(schema.names).cast(schema)
