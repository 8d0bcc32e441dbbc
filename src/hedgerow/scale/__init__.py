"""Tables larger than memory: count values, decide on the counts, scatter rows into blocks, publish each block.

`engine` says what an engine does; `duckdb` and `spark` are engines, with `sources` of rows for the one, and
`spark_tasks` and `spark_session` for the other; `coding` gives columns codes that are the same in every block, and
`dealing` deals rows to blocks by exact numbers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hedgerow.errors import ParameterError, as_path
from hedgerow.scale.engine import ScaleEngine
from hedgerow.table.checks import files_below

__all__ = ["ENGINES", "available_memory", "column_names", "is_too_large", "open_engine", "read_memory", "table_bytes"]

ENGINES = ("duckdb", "spark")
_UNITS = {"": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
_LEAST = 2**27
_TIMES = 5
"""Tables that publishing takes beyond the one that came in, help table and copy for the bundle included."""


def read_memory(memory: int | str) -> int:
    """Bytes from a number, or a text such as 512MB or 1.5 GB."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(|KB|MB|GB|TB)\s*", str(memory).upper().replace("IB", "B"))
    size = int(float(found[1]) * _UNITS[found[2]]) if found and not isinstance(memory, bool) else 0
    if size < _LEAST:
        raise ParameterError("'memory' must be at least 128MB, such as 512MB or 4GB.")
    return size


def available_memory() -> int | None:
    """The bytes that this machine has free; None where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        pass
    try:
        return int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE")) // 2
    except (AttributeError, OSError, ValueError):
        return None


def table_bytes(source: str | os.PathLike[str]) -> int | None:
    """About how many bytes a table of files takes in memory; None if that is unknown without reading it."""
    path = as_path(source)
    if path.suffix.lower() in (".csv", ".tsv") and os.path.isfile(path):
        return path.stat().st_size
    files = files_below(path, (".parquet",)) if os.path.isdir(path) else [path]
    if not files or not all(os.path.isfile(file) and file.suffix in (".parquet", ".pq") for file in files):
        return None
    from pyarrow import parquet

    total = 0
    for file in files:
        try:
            found = parquet.read_metadata(file)
        except (OSError, ValueError):
            return None
        pages = sum(found.row_group(n).total_byte_size for n in range(found.num_row_groups))
        total += max(pages, 8 * found.num_rows * found.num_columns)
    return total


def is_too_large(source: str | os.PathLike[str]) -> bool:
    """Return whether publishing a table in memory would take more memory than there is."""
    size, free = table_bytes(source), available_memory()
    return size is not None and free is not None and _TIMES * size > free


def column_names(source: str | os.PathLike[str], **reading: Any) -> tuple[str, ...]:
    """The columns of a table that is not read; `reading` are options of reading."""
    from hedgerow.scale.sources import open_source

    with (
        TemporaryDirectory(prefix="hedgerow-") as folder,
        open_source(source, Path(folder), memory=_LEAST, reading=reading) as opened,
    ):
        return opened.names


def open_engine(
    source: object,
    out: str | os.PathLike[str],
    options: Mapping[str, Any],
    progress: Callable[[str, float], None] = lambda step, share: None,
) -> ScaleEngine:
    """Open a source with the engine that was asked for, or that it needs: Spark for its data frames, else DuckDB."""
    is_spark = type(source).__module__.startswith("pyspark.")
    engine = options.get("engine", "spark" if is_spark else "duckdb")
    if engine not in ENGINES:
        raise ParameterError(f"'engine' must be one of {', '.join(ENGINES)}.")
    if engine == "spark":
        if options.get("reading"):
            raise ParameterError(
                "Options of reading are for the engines memory and duckdb; read the table with Spark's own options, "
                "and hand over the data frame."
            )
        from hedgerow.scale.spark import open_cluster

        memory = options.get("memory")
        return open_cluster(source, options.get("master"), None if memory is None else read_memory(memory), progress)
    if options.get("master") is not None:
        raise ParameterError("'master' is the address of a Spark cluster; ask for engine 'spark', or leave it out.")
    memory = read_memory(options.get("memory") or max((available_memory() or 2**32) // 2, _LEAST))
    from hedgerow.scale.duckdb import DuckEngine

    return DuckEngine(source, out, memory=memory, reading=options.get("reading"), progress=progress)
