"""Delimited files in passes: DuckDB cuts them into texts, and what these mean is decided on the distinct ones."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.errors import InputError, ParameterError
from hedgerow.scale.duck_source import DuckSource, require_apart
from hedgerow.scale.engine import Distinct
from hedgerow.scale.passes import quote_files, quote_text
from hedgerow.table.checks import BLANKS, attempt, existing_file, files_below
from hedgerow.table.dialect import Dialect, find_dialect, to_utf8
from hedgerow.table.options import ReadOptions, require_columns
from hedgerow.table.read import READERS
from hedgerow.table.sources import is_database
from hedgerow.table.typed import MISSING, DecimalSign, type_declared

__all__ = ["CsvSource", "delimited_files"]

_DELIMITED = (".csv", ".tsv")
"""Endings of the files that are looked for in a folder, where a text may be anything."""
_HEAD = 1 << 20


class CsvSource(DuckSource):
    """Delimited text files of one header: cells are texts, and what a column's texts mean is decided on all of them.

    A file in an encoding of single bytes is read as Latin-1, and its distinct texts are decoded.
    """

    def __init__(self, connection: Any, files: Sequence[Path], asked: ReadOptions) -> None:
        self._asked, self._encoding = asked, _single_bytes(asked.encoding)
        dialects = [_dialect(file, asked) for file in files]
        if any(one != dialects[0] for one in dialects):
            raise InputError("The files differ in their columns or delimiters; a table needs one kind.")
        first = dialects[0]
        require_columns(first.names, asked.types)
        require_apart(first.names)
        columns = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in first.names)
        quote = quote_text(first.quote)
        super().__init__(
            connection,
            f"read_csv({quote_files(files)}, auto_detect = false, "
            f"header = {str(first.has_header).lower()}, null_padding = false, "
            f"encoding = '{'latin-1' if self._encoding else 'utf-8'}', "
            f"delim = {quote_text(first.delimiter)}, quote = {quote}, escape = {quote}, columns = {{{columns}}})",
        )
        self._sign = DecimalSign(first.delimiter, asked)

    def distinct(self, column: str, most: int) -> Distinct | None:
        """The distinct texts of a column: a type is decided on all of them, and more than `most` are refused."""
        found = super().distinct(column, most)
        if found is None:
            raise InputError(
                f"'{column}' has more than {most:,} different texts, too many to find out its type; convert the "
                "file to Parquet."
            )
        self._sign.look_at(column, self._texts(found[0]))
        return found

    def type_values(self, column: str, values: pa.Array) -> pa.Array:
        """The type that a column of text has in memory."""
        if self._encoding:
            values = pa.array([text if text is None else _decode(text, self._encoding) for text in values.to_pylist()])
        texts = self._texts(values)
        typed = type_declared(texts, column, replace(self._asked, decimal=self._sign.sign()))
        return values if typed.type == pa.string() and texts.null_count == values.null_count else typed

    def _texts(self, values: pa.Array) -> pa.Array:
        """Trimmed texts, without those that mean missing."""
        texts, codes = _trim(values), list(self._asked.missing_codes)
        return pc.if_else(pc.is_in(texts, pa.array(codes)), None, texts) if codes else texts


def _trim(values: pa.Array) -> pa.Array:
    trimmed = pc.ascii_trim(values.cast(pa.string()), characters=BLANKS)
    return pc.if_else(pc.is_in(trimmed, pa.array(MISSING)), None, trimmed)


def _single_bytes(encoding: str | None) -> str:
    """The name of a declared encoding in which every byte is a sign and ASCII is itself; empty for UTF-8."""
    if encoding is None:
        return ""
    try:
        name = codecs.lookup(encoding).name
        ascii_signs = bytes(range(128))
        is_single = (
            ascii_signs.decode(name) == ascii_signs.decode("ascii")
            and len(bytes(range(192, 256)).decode(name, "replace")) == 64
        )
    except (LookupError, TypeError, ValueError):
        raise ParameterError(f"'encoding' must name a text encoding such as 'utf-8'; got {encoding!r}.") from None
    if name in ("utf-8", "ascii", "utf-8-sig"):
        return ""
    if not is_single:
        raise ParameterError(f"Files in {name} are read in memory alone; convert them to UTF-8 or Parquet.")
    return name


def _decode(text: str, encoding: str) -> str:
    """A text that was read as Latin-1."""
    return attempt(
        lambda: text.encode("latin-1").decode(encoding),
        f"The file is not valid {encoding}; leave 'encoding' out or name the right one.",
    )


def delimited_files(source: object) -> list[Path] | None:
    """The delimited files that a path names: one, or those of a folder that holds no Parquet files."""
    if not isinstance(source, str | Path) or is_database(str(source)):
        return None
    path = Path(source)
    if os.path.isdir(path):
        files = files_below(path, _DELIMITED)
        return files if files and not files_below(path, (".parquet",)) else None
    return [existing_file(path)] if READERS.get(path.suffix.lower(), "").startswith("csv.") else None


def _dialect(file: Path, asked: ReadOptions) -> Dialect:
    """Delimiter, names and quote of a file, from its beginning; where its rows begin depends on the file."""
    with file.open("rb") as opened:
        head = opened.read(_HEAD)
    if len(head) == _HEAD:
        head = head[: head.rfind(b"\n") + 1]
    if not asked.encoding:
        try:
            head.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"'{file.name}' is not UTF-8; declare its encoding, or convert it to Parquet.") from None
    quote = "" if asked.quote == "none" else asked.quote or '"'
    text = to_utf8(head, asked.encoding)
    if re.match(rb"[ \t]*[\r\n]", text):  # DuckDB would take that line for the names, or for a row
        raise InputError(f"'{file.name}' begins with an empty line; remove it, or convert the file to Parquet.")
    found = find_dialect(text, asked.delimiter, header=asked.header is not False, quote=quote)
    return replace(found, start=0)
