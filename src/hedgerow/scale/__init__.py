"""Tables larger than memory: count, decide on counts, scatter once, kernels per block, seal.

`engine` says what an engine does; `duckdb` and `spark` are engines; `coding` gives columns codes that are the same in
every block, and `dealing` deals rows to blocks by exact numbers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from hedgerow.errors import ParameterError
from hedgerow.scale.engine import ScaleEngine

__all__ = ["ENGINES", "available_memory", "open_engine", "read_memory"]

ENGINES = ("duckdb", "spark")
_UNITS = {"": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
_LEAST = 2**27


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
        return int(os.sysconf("SC_AVPHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return None


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
        from hedgerow.scale.spark import open_cluster

        memory = options.get("memory")
        return open_cluster(source, options.get("master"), None if memory is None else read_memory(memory), progress)
    if options.get("master") is not None:
        raise ParameterError("'master' is the address of a Spark cluster; ask for engine 'spark', or leave it out.")
    memory = read_memory(options.get("memory") or max((available_memory() or 2**32) // 2, _LEAST))
    from hedgerow.scale.duckdb import DuckEngine

    return DuckEngine(source, out, memory=memory, progress=progress)
