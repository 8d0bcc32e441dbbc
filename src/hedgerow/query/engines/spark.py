"""The Spark engine: the published tables as views of a session of its own, and the statements of the other databases.

Cost       a question scans the release once; what comes back is one row per cell, or counts per group

Works with a classic session and with Spark Connect: nothing but SQL, Arrow tables and parameters passes through it. The
session that is handed over keeps its settings and sees none of our views. In ours a number that leaves 64 bits is an
error, never a wrong one; such a question is counted by Spark and finished in arrays, where whole numbers have no end.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hedgerow.errors import InputError, ParameterError, QueryError
from hedgerow.query.answer import Result
from hedgerow.query.engines.help import GROUPED, help_by_group, help_of
from hedgerow.query.engines.rewriter import HelpLayout, is_plain, parts_sql, result_of
from hedgerow.query.engines.summary import answer_from_counts, published_tables
from hedgerow.query.evidence.view import view_of
from hedgerow.query.sql.question import Bound, Kind
from hedgerow.query.sql.spark_text import safe_name, to_spark
from hedgerow.randomness import token

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hedgerow.release import Release

__all__ = ["SparkEngine"]

_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.variable.substitute": "false",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.orderByOrdinal": "true",
}
_LAYOUT = HelpLayout(by_group=True)


class SparkEngine:
    """Answers questions about one release on a cluster."""

    def __init__(self, release: Release, spark: SparkSession, help_table: pa.Table | None = None) -> None:
        """Hand the release over; its help table is built unless one comes along with a bundle."""
        self._release, self._view = release, view_of(release)
        self._spark = _own_session(spark)
        self._dates = [name for name, column in self._view.columns.items() if column.kind is Kind.DATE]
        tables = published_tables(release)
        if release.form.is_permutation:
            tables[GROUPED] = help_by_group(self._view)
            tables["help"] = help_table if help_table is not None else help_of(self._view)
        mark = token(8)
        self._views = {name: f"hedgerow_{mark}_{place}" for place, name in enumerate(tables)}
        for name, table in tables.items():
            renamed = table.rename_columns([safe_name(column) for column in table.column_names])
            self._spark.createDataFrame(_signed(renamed)).createTempView(self._views[name])

    def run(self, bound: Bound) -> Result:
        """Answer a bound question."""
        from pyspark.errors import PySparkException

        try:
            if is_plain(self._release, self._view, bound):
                with suppress(PySparkException):
                    statement = parts_sql(self._view, bound, self._release.group_column, _LAYOUT)
                    rows = [tuple(row) for row in self._asked(statement).collect()]
                    return result_of(self._view, bound, rows)
            return answer_from_counts(self._release, bound, self._fetch)
        except PySparkException:
            # Spark's message may quote values; ours does not.
            raise QueryError("the database cannot compute this condition; numbers may leave 64 bits") from None

    def _asked(self, statement: str) -> DataFrame:
        text, arguments = to_spark(statement, self._views, self._dates)
        return self._spark.sql(text, args=arguments)

    def _fetch(self, statement: str, schema: pa.Schema) -> pa.Table:
        return self._asked(statement).toArrow().rename_columns(schema.names).cast(schema)

    def close(self) -> None:
        """Drop the views; of a remote session nothing is left on the server."""
        from pyspark.errors import PySparkException

        with suppress(PySparkException):
            for view in self._views.values():
                self._spark.catalog.dropTempView(view)
        if type(self._spark).__module__.startswith("pyspark.sql.connect"):
            self._spark.stop()  # of a classic session this would end the whole application


def _own_session(spark: Any) -> SparkSession:
    """Open a session beside the one that was handed over, with settings under which statements mean what they say."""
    try:
        from pyspark.sql import SparkSession
        from pyspark.sql.connect.session import SparkSession as RemoteSession
    except ImportError:
        raise InputError("Spark needs pyspark: pip install 'hedgerow[spark]'.") from None
    if not isinstance(spark, SparkSession | RemoteSession):
        raise ParameterError("'engine' must be the name of an engine, an address, or a session of Spark.")
    session: Any = spark.newSession()
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
    return session  # type: ignore[no-any-return]


def _signed(table: pa.Table) -> pa.Table:
    """Whole numbers in 64 bits: Spark has no unsigned ones, and adds small ones up in small types."""
    return table.cast(pa.schema([(field.name, _type(field.type)) for field in table.schema]))


def _type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_uint64(kind):
        return pa.decimal128(20, 0)
    if pa.types.is_integer(kind) and not pa.types.is_int32(kind):
        return pa.int64()
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_dictionary(kind) else kind
