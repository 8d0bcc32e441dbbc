"""The Spark engine: the published tables as views of a session of its own, and the statements of the other databases.

Cost       a question scans the release once; what comes back is one row per cell, or counts per group

Works with a classic session and with Spark Connect: nothing but SQL, Arrow tables and parameters passes through it. The
session that is handed over keeps its settings and sees none of our views. In ours a number that leaves 64 bits is an
error, never a wrong one; such a question is counted by Spark and finished in arrays, where whole numbers have no end.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hedgerow.errors import InputError, ParameterError, QueryError
from hedgerow.query.answer import Result
from hedgerow.query.engines.help import GROUPED, help_by_group, help_of
from hedgerow.query.engines.parts import PartsEngine
from hedgerow.query.engines.rewriter import HelpLayout, is_plain, parts_sql, result_of
from hedgerow.query.engines.summary import answer_from_counts, published_tables
from hedgerow.query.evidence.view import view_of
from hedgerow.query.sql.question import Bound, Kind
from hedgerow.query.sql.spark_text import safe_name, to_spark
from hedgerow.randomness import token
from hedgerow.release.bundle import PartedTables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hedgerow.query.evidence.permuted import ArrayEngine
    from hedgerow.release import Release

__all__ = ["PartsOnSpark", "SparkEngine"]

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
_WAVE = 16
"""Parts whose evidence the driver takes at a time."""


class SparkEngine:
    """Answers questions about one release on a cluster."""

    def __init__(self, release: Release, spark: SparkSession) -> None:
        """Hand the release over with help tables of our own: nobody has verified those of a bundle."""
        self._release, self._view = release, view_of(release)
        self._spark = _own_session(spark)
        self._dates = [name for name, column in self._view.columns.items() if column.kind is Kind.DATE]
        tables = published_tables(release)
        if release.form.is_permutation:
            tables[GROUPED] = help_by_group(self._view)
            tables["help"] = help_of(self._view)
        mark = token(8)
        self._views = {name: f"hedgerow_{mark}_{place}" for place, name in enumerate(tables)}
        for name, table in tables.items():
            renamed = table.rename_columns([safe_name(column) for column in table.column_names])
            self._spark.createDataFrame(_as_signed(renamed)).createTempView(self._views[name])

    def run(self, bound: Bound) -> Result:
        """Answer a bound question."""
        from pyspark.errors import PySparkException

        try:
            if is_plain(self._release, self._view, bound):
                with suppress(PySparkException):
                    statement = parts_sql(self._view, bound, self._release.group_column, _LAYOUT)
                    rows = [tuple(row) for row in self._ask(statement).collect()]
                    return result_of(self._view, bound, rows)
            return answer_from_counts(self._release, bound, self._fetch)
        except PySparkException:
            # Spark's message may quote values; ours does not.
            raise QueryError("the database cannot compute this condition; numbers may leave 64 bits") from None

    def _ask(self, statement: str) -> DataFrame:
        text, arguments = to_spark(statement, self._views, self._dates)
        return self._spark.sql(text, args=arguments)

    def _fetch(self, statement: str, schema: pa.Schema) -> pa.Table:
        return self._ask(statement).toArrow().rename_columns(schema.names).cast(schema)

    def close(self) -> None:
        """Drop the views; of a remote session nothing is left on the server."""
        from pyspark.errors import PySparkException

        with suppress(PySparkException):
            for view in self._views.values():
                self._spark.catalog.dropTempView(view)
        _leave(self._spark)


class PartsOnSpark:
    """Answers questions about a bundle in parts, read by the tasks of a cluster from a folder that all of them see.

    A part is held against its checksum in the manifest that the driver read, wherever it is read. What comes back is
    the evidence of a part; a few parts at a time, so that the driver holds no more.
    """

    def __init__(self, release: Release, spark: SparkSession, whole: Callable[[], ArrayEngine]) -> None:
        """Questions that parts cannot answer on their own go to `whole`, which reads all of them on the driver."""
        assert isinstance(release.tables, PartedTables)
        self._tables, self._spark = release.tables, _own_session(spark)
        self._engine = PartsEngine(release, whole, self.each)

    def run(self, bound: Bound) -> Result:
        """Answer a bound question."""
        return self._engine.run(bound)

    def close(self) -> None:
        """Leave a remote server."""
        _leave(self._spark)

    def each(self, function: Callable[[Release], Any]) -> Iterator[Any]:
        """What a function finds in each part, in order."""
        from pyspark.errors import PySparkException

        task = functools.partial(_ask_parts, self._tables, function)
        for first in range(0, self._tables.number, _WAVE):
            last = min(first + _WAVE, self._tables.number)
            frame = self._spark.range(first, last, 1, last - first)
            try:
                found = frame.mapInArrow(task, "id long, found binary").toArrow().sort_by("id")
            except PySparkException:
                raise QueryError(
                    "a task of Spark failed; every worker needs hedgerow and the bundle's folder"
                ) from None
            for told in found.column("found").to_pylist():
                result = pickle.loads(told)  # what our own task wrote
                if isinstance(result, Exception):
                    raise result
                yield result


def _ask_parts(
    tables: PartedTables, function: Callable[[Release], Any], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            try:
                found = function(tables.part(number))
            except Exception as error:  # raised again on the driver; Spark would add a trace to it
                found = error
            told = pa.array([pickle.dumps(found, protocol=5)], pa.binary())
            yield pa.RecordBatch.from_arrays([pa.array([number], pa.int64()), told], ["id", "found"])


def _leave(spark: Any) -> None:
    """End a remote session of our own; of a classic one this would end the whole application."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        spark.stop()


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


def _as_signed(table: pa.Table) -> pa.Table:
    """Whole numbers in 64 bits: Spark has no unsigned ones, and adds small ones up in small types."""
    return table.cast(pa.schema([(field.name, _type(field.type)) for field in table.schema]))


def _type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_uint64(kind):
        return pa.decimal128(20, 0)
    if pa.types.is_integer(kind) and not pa.types.is_int32(kind):
        return pa.int64()
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_dictionary(kind) else kind
