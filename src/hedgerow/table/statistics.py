"""Read files of statistics packages (SPSS, Stata, SAS) with pyreadstat.

Whole numbers that a format shows with leading zeros (N5 of SPSS, %05.0f of Stata, Z5 of SAS) are texts with them, as in
delimited files. A coded column keeps its codes, which are what the data say, unless labels are asked for; a label may
be missing or shared by several codes, which is refused then. Values that a file declares as missing are missing. SAS
keeps labels in a catalog of its own: the one beside the file, of the same name or called formats.sas7bcat, is read with
it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from hedgerow.errors import InputError
from hedgerow.table.checks import MAX_CELLS, attempt, check_names, check_size, existing_file, optional
from hedgerow.table.flat import flatten
from hedgerow.table.table import Table
from hedgerow.table.typed import cell_text, column_of, with_zeros

_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}


def read_statistics(
    path: str | PathLike[str],
    *,
    labels: bool = False,
    missing_codes: Sequence[str] = (),
    types: Mapping[str, str] = MappingProxyType({}),
    max_cells: int = MAX_CELLS,
) -> Table:
    """Read a file of SPSS, Stata or SAS, with codes or, where the file declares them, with their labels."""
    pyreadstat = optional("pyreadstat", "pyreadstat")
    file = existing_file(path)
    name = _READERS.get(file.suffix.lower())
    if name is None:
        raise InputError(f"'{file.name}' must end in {', '.join(_READERS)}.")
    columns, declared, digits = _read(getattr(pyreadstat, name), file, max_cells)
    if file.suffix.lower() == ".sas7bdat" and (catalog := _catalog_beside(file)) is not None:
        declared = _labels_of(pyreadstat, file, catalog)
    check_names(list(columns))
    if labels:
        columns = {
            column: _label(_present(cells, missing_codes), declared.get(column, {}), column)
            for column, cells in columns.items()
        }
    for column, least in digits.items():
        if types.get(column) not in ("whole", "number"):
            columns[column] = with_zeros(columns[column], [least] * len(columns[column]))
    arrays = [column_of(cells, column, missing_codes) for column, cells in columns.items()]
    kept = [column for column in columns if column in declared]
    shown = ("read as labels: " if labels else "read as codes: ") + ", ".join(kept)
    return replace(
        flatten(pa.table(arrays, names=list(columns)), "file"), reading={"value labels": shown if kept else "none"}
    )


def _catalog_beside(file: Path) -> Path | None:
    places = (file.with_suffix(".sas7bcat"), file.with_name("formats.sas7bcat"))
    return next((place for place in places if place.is_file()), None)


def _labels_of(pyreadstat: Any, file: Path, catalog: Path) -> dict[str, dict[Any, str]]:
    """The labels of each column whose format the catalog has."""
    damaged = f"'{catalog.name}' cannot be read as a catalog of SAS; it may be cut short or damaged. Move it away."
    _, about = attempt(lambda: pyreadstat.read_sas7bdat(file, metadataonly=True), damaged)
    _, found = attempt(lambda: pyreadstat.read_sas7bcat(catalog), damaged)
    named = {format.upper(): labels for format, labels in found.value_labels.items()}
    formats = {column: str(format).upper() for column, format in about.variable_to_label.items()}
    return {column: dict(named[format]) for column, format in formats.items() if named.get(format)}


def _present(cells: Sequence[Any], codes: Sequence[str]) -> list[Any]:
    return [None if codes and cell_text(cell) in codes else cell for cell in cells]


def _label(cells: Sequence[Any], labels: Mapping[Any, str], name: str) -> list[Any]:
    """The label of each code; refuse codes without a label beside codes with one, and labels that two codes share."""
    used = {cell for cell in cells if cell is not None and cell == cell}
    if not labels or not used:
        return list(cells)
    if bare := used - set(labels):
        raise InputError(
            f"{len(bare):,} codes of '{name}' have no label in the file; read codes (without labels), or list them as "
            "missing codes."
        )
    if len({labels[code] for code in used}) < len(used):
        raise InputError(f"Codes of '{name}' share a label, so labels would merge them; read codes (without labels).")
    return [labels.get(cell) if cell == cell else None for cell in cells]


_Columns = dict[str, Sequence[Any]]
_PADDED = re.compile(r"(?:N|Z|%0)(\d{1,2})(?:\.0?[fg]?)?")
"""Formats of SPSS, SAS and Stata that show whole numbers with zeros in front, and with how many digits."""


def _read(reader: Any, file: Path, max_cells: int) -> tuple[_Columns, dict[str, dict[Any, str]], dict[str, int]]:
    """The columns of a file, their value labels, and the digits that are shown at least."""
    damaged = f"'{file.name}' cannot be read as the file that its ending says; it may be cut short or damaged."
    _, announced = attempt(lambda: reader(file, metadataonly=True), damaged)
    # Transport files do not announce their rows; they are not compressed either, so their size is their limit.
    check_size(announced.number_rows or 0, announced.number_columns, max_cells=max_cells)
    columns, meta = attempt(lambda: reader(file, output_format="dict"), damaged)
    formats = {column: _PADDED.fullmatch(str(shown)) for column, shown in meta.original_variable_types.items()}
    digits = {column: int(found[1]) for column, found in formats.items() if found}
    return dict(columns), dict(meta.variable_value_labels), digits
