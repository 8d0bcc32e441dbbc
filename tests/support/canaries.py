"""Canaries: unique texts and numbers planted where nothing may leave from, and the search for them in what left.

They are in identifiers, in rows that are suppressed, in the index, the attributes and the unused categories of a data
frame. Files are searched as bytes and, if they are Parquet, also decompressed, with their footers.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.every_method import people

__all__ = ["CANARY", "NUMBER", "leaks", "leaks_in_folder", "leaks_in_tables", "tainted_people"]

CANARY = "canary-7f3a"
NUMBER = 987_654_321_987
_TRACES = (
    *(CANARY.encode(), CANARY.encode("utf-16-le"), str(NUMBER).encode(), f"{NUMBER:,}".encode()),
    *(np.int64(NUMBER).tobytes(), np.float64(NUMBER).tobytes()),
)


def tainted_people() -> Any:
    """A pandas frame of the people of `every_method` with canaries wherever something could leak."""
    import pandas as pd

    frame = people().to_pandas()
    held = pd.DataFrame({**frame.iloc[-2:].to_dict("list"), "town": f"{CANARY}-held", "age": NUMBER, "salary": None})
    frame = pd.concat([frame.astype({"salary": "Int64"}), held.astype({"salary": "Int64"})], ignore_index=True)
    frame["name"] = [f"{CANARY}-{row}" for row in range(len(frame))]
    frame["town"] = pd.Categorical(frame["town"], categories=[*frame["town"].unique(), f"{CANARY}-unused"])
    frame.index = pd.Index([f"{CANARY}-index-{row}" for row in range(len(frame))], name=f"{CANARY}-name")
    frame.attrs["note"] = CANARY
    return frame


def leaks(content: bytes) -> bool:
    """Tell whether a canary is in these bytes."""
    return any(trace in content for trace in _TRACES)


def leaks_in_folder(folder: Path) -> list[str]:
    """Names of the files below a folder that hold a canary, in their bytes, their pages or their own names."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    names = [str(file.relative_to(folder)) for file in files]
    return [name for name, file in zip(names, files, strict=True) if leaks(name.encode() + _content(file))]


def leaks_in_tables(tables: Iterable[pa.Table]) -> bool:
    """Tell whether a canary is in a buffer of a table in memory, seen or not, or in its schema."""
    return any(
        leaks(str(table.schema).encode())
        or any(leaks(buffer.to_pybytes()) for column in table.columns for buffer in _buffers(column))
        for table in tables
    )


def _buffers(column: pa.ChunkedArray) -> list[pa.Buffer]:
    return [buffer for chunk in column.chunks for buffer in chunk.buffers() if buffer is not None]


def _content(file: Path) -> bytes:
    content = file.read_bytes()
    if file.suffix != ".parquet":
        return content
    plain = io.BytesIO()
    pq.write_table(pq.read_table(file), plain, compression="none", use_dictionary=False)
    footer = pq.ParquetFile(file)
    return content + plain.getvalue() + str(footer.metadata).encode() + str(footer.schema_arrow).encode()
