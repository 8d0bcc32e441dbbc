"""Files of statistics packages in (SPSS, Stata, SAS), by pyreadstat.

Value labels are not applied: a coded column keeps its codes, which are what the data say; a label may be missing or
shared by several codes. Values that a file declares as missing are missing.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from hedgerow.errors import InputError
from hedgerow.table.checks import MAX_CELLS, attempt, check_names, check_size, existing_file, optional
from hedgerow.table.flat import flatten
from hedgerow.table.table import Table
from hedgerow.table.typed import column_of

__all__ = ["read_statistics"]

_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}


def read_statistics(path: str | PathLike[str], *, max_cells: int = MAX_CELLS) -> Table:
    """Read a file of SPSS, Stata or SAS, with codes and without labels."""
    pyreadstat = optional("pyreadstat", "pyreadstat")
    file = existing_file(path)
    name = _READERS.get(file.suffix.lower())
    if name is None:
        raise InputError(f"'{file.name}' must end in {', '.join(_READERS)}.")
    columns = _read(getattr(pyreadstat, name), file, max_cells)
    check_names(list(columns))
    arrays = [column_of(cells, column) for column, cells in columns.items()]
    return flatten(pa.table(arrays, names=list(columns)), "file")


def _read(reader: Any, file: Path, max_cells: int) -> dict[str, list[Any]]:
    damaged = f"'{file.name}' cannot be read as the file that its ending says; it may be cut short or damaged."
    _, announced = attempt(lambda: reader(file, metadataonly=True), damaged)
    # Transport files do not announce their rows; they are not compressed either, so their size is their limit.
    check_size(announced.number_rows or 0, announced.number_columns, max_cells=max_cells)
    columns, _ = attempt(lambda: reader(file, output_format="dict"), damaged)
    return dict(columns)
