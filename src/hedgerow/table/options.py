"""Options for reading a file: header, separators, encoding, missing codes, types.

Options that are not given are detected: `Table.reading` records what was detected, and `hedgerow inspect` shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import pyarrow as pa

from hedgerow.errors import InputError, ParameterError

DELIMITERS = (",", ";", "\t", "|")

TYPES = {
    "text": pa.string(),
    "whole": pa.int64(),
    "number": pa.float64(),
    "date": pa.date32(),
    "time": pa.timestamp("us"),
    "truth": pa.bool_(),
}
"""The types that a column can be declared to have."""


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Options of reading a file; None, or empty, to detect them from the file.

    header      whether the first line names the columns; without names they are column1, column2, ...
    delimiter   one of , ; | and tab            quote     the sign around cells, or "none"
    decimal     the decimal sign, . or ,        thousands the sign between thousands, such as . or , or a blank
    encoding    such as utf-8 or cp1252         sheet     name or number of a workbook's sheet
    missing_codes  further cells that stand for a missing value
    types       column to text, whole, number, date, time or truth
    labels      codes of SPSS, Stata and SAS as the labels that the file declares for them
    """

    header: bool | None = None
    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    quote: str | None = None
    sheet: str | int | None = None
    missing_codes: Sequence[str] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    labels: bool = False

    def __post_init__(self) -> None:
        if self.delimiter == "tab":
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter is not None and self.delimiter not in DELIMITERS:
            raise ParameterError(f"'delimiter' must be one of , ; | and tab; got {self.delimiter!r}.")
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"'decimal' must be '.' or ','; got {self.decimal!r}.")
        if self.thousands not in (None, ".", ",", " ", "'", "_"):
            raise ParameterError(f"'thousands' must be one of . , ' _ or a blank; got {self.thousands!r}.")
        if self.thousands is not None and self.thousands == (self.decimal or "."):
            raise ParameterError("'decimal' and 'thousands' must be different signs; give 'decimal' as well.")
        if self.quote not in (None, '"', "'", "none"):
            raise ParameterError(f"'quote' must be \", ' or none; got {self.quote!r}.")
        if isinstance(self.missing_codes, str):
            object.__setattr__(self, "missing_codes", (self.missing_codes,))
        if not all(isinstance(code, str) for code in self.missing_codes):
            raise ParameterError("'missing_codes' must be texts, as they are written in the file.")
        for column, kind in self.types.items():
            if kind not in TYPES:
                raise ParameterError(f"The type of '{column}' must be one of {', '.join(TYPES)}; got {kind!r}.")

    def given_options(self) -> dict[str, Any]:
        """The options that were given."""
        return {
            one.name: value
            for one in fields(self)
            if (value := getattr(self, one.name)) not in (None, (), [], {}, False)
        } | ({"header": False} if self.header is False else {})


def read_options(options: Mapping[str, Any]) -> ReadOptions:
    """Read options by name; refuse unknown ones."""
    known = [one.name for one in fields(ReadOptions)]
    if unknown := [name for name in options if name not in known]:
        raise ParameterError(f"There is no option '{unknown[0]}' of reading; there are {', '.join(known)}.")
    return ReadOptions(**options)


def without_codes(arrow: pa.Table, codes: Sequence[str]) -> pa.Table:
    """The table with cells that are written like a missing code as missing."""
    import pyarrow.compute as pc

    for n, name in enumerate(arrow.column_names):
        texts = arrow.column(n).cast(pa.string())
        marked = pc.is_in(texts, pa.array(list(codes), pa.string()))
        if pc.any(marked).as_py():
            arrow = arrow.set_column(n, name, pc.if_else(marked, None, arrow.column(n)))
    return arrow


def require_columns(names: Sequence[str], types: Mapping[str, str]) -> None:
    """Refuse a declared type of a column that is not there."""
    if unknown := [name for name in types if name not in names]:
        raise InputError(f"A type is declared for '{unknown[0]}', but the file has no such column.")
