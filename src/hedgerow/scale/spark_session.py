"""Open sessions of Spark and their sources, and translate their errors into sentences without cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hedgerow import errors
from hedgerow.errors import DiskFull, HedgerowError, InputError, OutOfMemory, ParameterError
from hedgerow.table.checks import BLANKS
from hedgerow.table.typed import MISSING, PATTERNS

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_CSV = {"header": True, "enforceSchema": False, "escape": '"', "multiLine": True, "mode": "FAILFAST"}
"""Cells as they are: Spark alone would take a doubled quote for two, and a row of too few cells for one with gaps."""
_GUESSES = "spark.sql.sources.partitionColumnTypeInference.enabled"
_KINDS = ("boolean", "bigint", "double", "date", "timestamp_ntz", "timestamp")
"""What Spark calls the types of `PATTERNS`."""


def frame_of(source: object, spark: Any) -> DataFrame:
    """What a session reads: a path of Parquet files or of a CSV file, `format:path`, or `table:name`.

    Cells of CSV files and names of folders have the types that they have in memory: Spark reads zip=01234 as 1234. The
    session is told to leave names of folders alone, for as long as it lives.
    """
    text = str(source)
    kind, sign, rest = text.partition(":")
    if not sign or kind not in ("table", *_FORMATS):
        kind, rest = ("csv" if text.endswith((".csv", ".csv.gz")) else "parquet"), text
    with plain_errors():
        if kind == "table":
            return spark.read.table(rest)  # type: ignore[no-any-return]
        reader = spark.read.format(kind).options(**(_CSV if kind == "csv" else {}))
        spark.conf.set(_GUESSES, "true")
        guessed = reader.load(rest).dtypes
        spark.conf.set(_GUESSES, "false")
        frame = reader.load(rest)
        texts = [old for old, new in zip(frame.dtypes, guessed, strict=True) if kind == "csv" or old != new]
        return _with_types(frame, [name for name, _ in texts]) if texts else frame


def _with_types(frame: DataFrame, texts: Sequence[str]) -> DataFrame:
    """The frame with the types that columns of texts have in memory, decided on all of their cells in one pass."""
    names = frame.columns
    places = [f"c{place}" for place in range(len(names))]  # no name has to be quoted
    frame = frame.toDF(*places)
    cells = {place: _cell(place) for place, name in zip(places, names, strict=True) if name in texts}
    asked = [f"coalesce(bool_or(contains(concat_ws('', {', '.join(cells)}), '\ufffd')), false) AS garbled"]
    for place, cell in cells.items():
        asked.append(f"count({cell}) > 0 AS {place}")
        asked += [f"bool_and(coalesce({fits}, true)) AS {place}_{kind}" for kind, fits in _fits(cell).items()]
    said = frame.selectExpr(*asked).toArrow().to_pylist()[0]
    if said["garbled"]:
        raise InputError("The file is not UTF-8; convert it, or read it in memory with its encoding declared.")
    kinds = dict.fromkeys(cells, "string")
    for place in cells:
        kind = next((kind for kind in _KINDS if said[place] and said[f"{place}_{kind}"]), "string")
        # Whole numbers of more than 64 bits stay texts: as floats they would lose digits.
        kinds[place] = "string" if kind == "double" and said[f"{place}_whole"] else kind
    typed = [f"cast({cells[one]} AS {kinds[one]}) AS {one}" if one in cells else one for one in places]
    return frame.selectExpr(*typed).toDF(*names)


def _cell(place: str) -> str:
    """A trimmed text; none where it means that a value is missing."""
    text = f"regexp_replace({place}, r'\\A[{BLANKS}]+|[{BLANKS}]+\\z', '')"
    return f"CASE WHEN {text} NOT IN ({', '.join(map(repr, MISSING))}) THEN {text} END"


def _fits(cell: str) -> dict[str, str]:
    """Whether a text is one of each kind, and whether it is written as a whole number; nothing about a missing one."""
    fits = {}
    for (pattern, _), kind in zip(PATTERNS, _KINDS, strict=True):
        is_written = f"({cell}) RLIKE r'\\A(?:{pattern})\\z'"
        # NULL AND FALSE would be false of a missing text.
        fits[kind] = f"CASE WHEN {is_written} THEN try_cast({cell} AS {kind}) IS NOT NULL ELSE {is_written} END"
        if kind == "bigint":
            fits["whole"] = is_written
    return fits
