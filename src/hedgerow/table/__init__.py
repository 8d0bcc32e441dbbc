"""Read files and data frames into an immutable `Table`, and encode columns as small integers.

`read_table` takes any source. The readers of single kinds of files (`read_csv`, `read_parquet`, `read_excel`,
`read_statistics`) have options. `write_csv` and `to_kind` give results back. Names are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hedgerow.table.read import borrow_table, read_table
from hedgerow.table.table import Table

if TYPE_CHECKING:
    from hedgerow.table.csv import read_csv
    from hedgerow.table.encode import Encoded
    from hedgerow.table.excel import read_excel
    from hedgerow.table.frames import to_kind
    from hedgerow.table.parquet import read_parquet
    from hedgerow.table.statistics import read_statistics
    from hedgerow.table.write import write_csv

__all__ = [
    "Encoded",
    "Table",
    "borrow_table",
    "read_csv",
    "read_excel",
    "read_parquet",
    "read_statistics",
    "read_table",
    "to_kind",
    "write_csv",
]

_HOMES = {
    "Encoded": "encode",
    "read_csv": "csv",
    "read_excel": "excel",
    "read_parquet": "parquet",
    "read_statistics": "statistics",
    "to_kind": "frames",
    "write_csv": "write",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
