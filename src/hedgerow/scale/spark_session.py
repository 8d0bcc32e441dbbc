"""Open sessions of Spark and their sources, and translate their errors into sentences without cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hedgerow import errors
from hedgerow.errors import DiskFull, HedgerowError, InputError, OutOfMemory, ParameterError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["frame_of", "open_session", "plain_error", "plain_errors"]

_MARK = re.compile(r"hedgerow<(\w+):([0-9a-f]*)>")


@contextmanager
def plain_errors() -> Iterator[None]:
    """On the driver: errors of tasks as they were raised there, those of Spark in a sentence, which quotes no cell."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:  # Java's own errors come as the second kind
        found = plain_error(str(error))
    else:
        return
    raise found from None


def plain_error(text: str) -> HedgerowError:
    """What a message of Spark means."""
    if (mark := _MARK.search(text)) is not None:
        kind = getattr(errors, mark[1], None)
        if isinstance(kind, type) and issubclass(kind, HedgerowError):
            return kind(bytes.fromhex(mark[2]).decode())
        return InputError(f"A task on the cluster failed ({mark[1]}); nothing was published.")
    if "No space left on device" in text:
        return DiskFull("A disk of the cluster is too full for the rows that are moved; free some space.")
    if "OutOfMemoryError" in text:
        return OutOfMemory("The cluster's memory is not enough for this table; give its executors more.")
    return InputError(
        "Spark could not read the table or finish its tasks; its own log says why. Nothing was published."
    )


def open_session(master: str | None) -> Any:
    """A session at an address: sc://... for Spark Connect; spark://..., yarn, k8s://... for a classic one."""
    if not master:
        raise ParameterError(
            "Spark needs a data frame, or the address of a cluster: master='spark://...' or 'sc://...'."
        )
    try:
        from pyspark.sql import SparkSession
        from pyspark.sql.connect.session import SparkSession as RemoteSession
    except ImportError:
        raise InputError("Spark needs pyspark: pip install 'hedgerow[spark]'.") from None
    try:
        if master.startswith("sc://"):
            return RemoteSession.builder.remote(master).create()
        if SparkSession.getActiveSession() is not None:
            raise ParameterError("This process has a Spark session already; hand over a data frame of it.")
        # Until the session is there Spark logs nothing: a cluster that cannot be reached is a sentence, not a trace.
        quiet = SparkSession.builder.master(master).appName("hedgerow").config("spark.log.level", "OFF")
        session = quiet.getOrCreate()
        session.sparkContext.setLogLevel("WARN")
        return session
    except HedgerowError:
        raise
    except Exception:
        raise InputError("The Spark cluster cannot be reached under that address.") from None


_FORMATS = ("parquet", "csv", "json", "orc", "avro", "delta", "iceberg")


def frame_of(source: object, spark: Any) -> DataFrame:
    """What a session reads: a path of Parquet files or of a CSV file, `format:path`, or `table:name`."""
    text = str(source)
    kind, sign, rest = text.partition(":")
    if not sign or kind not in ("table", *_FORMATS):
        kind, rest = ("csv" if text.endswith((".csv", ".csv.gz")) else "parquet"), text
    with plain_errors():
        if kind == "table":
            return spark.read.table(rest)  # type: ignore[no-any-return]
        reader = spark.read.format(kind)
        options = {"header": True, "inferSchema": True} if kind == "csv" else {}
        return reader.options(**options).load(rest)  # type: ignore[no-any-return]
