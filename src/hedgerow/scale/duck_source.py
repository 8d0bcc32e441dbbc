"""Tables that DuckDB reads in passes: Parquet files and folders, delimited files, tables of its own, frames.

DuckDB keeps to its share of memory, and spills into the folder that it was given. Which files, columns and types a
table has is decided as in memory, by Arrow; DuckDB reads them, and has no say in it.

Delimited files are cut into texts by DuckDB, and what these mean is decided on the distinct ones.
"""

from __future__ import annotations

import codecs
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import Ints
from hedgerow.errors import InputError, ParameterError
from hedgerow.scale.engine import Distinct, quote_files, quote_name, quote_text, run_step
from hedgerow.table.checks import BLANKS, T, attempt, check_names, existing_file, files_below, stoppable
from hedgerow.table.dialect import Dialect, find_dialect, to_utf8
from hedgerow.table.flat import check_type, without_index
from hedgerow.table.options import ReadOptions, require_columns
from hedgerow.table.read import READERS
from hedgerow.table.sources import PACKED, SEALED, is_database, open_parquet
from hedgerow.table.typed import MISSING, DecimalSign, type_declared

_SAMPLE = 1 << 18


def open_duckdb(connection: Any, source: object) -> DuckSource:
    """A file or folder of Parquet, `duckdb:file#table`, or a frame."""
    text = str(source)
    if isinstance(source, str) and text.startswith("duckdb:"):
        file, sign, name = text.removeprefix("duckdb:").rpartition("#")
        if not sign or not name:
            raise InputError("A database needs the name of a table behind '#': duckdb:file#table.")
        opened = "The DuckDB database cannot be opened; it may be damaged, newer, or in use elsewhere."
        attempt(lambda: connection.execute(f"ATTACH {quote_text(existing_file(file))} AS source (READ_ONLY)"), opened)
        for setting, value in SEALED.items():
            connection.execute(f"SET {setting} = {value}")
        return DuckSource(connection, "source." + ".".join(map(quote_name, name.split("."))))
    if isinstance(source, str | Path):
        return _open_parquet(connection, Path(text))
    from hedgerow.table import read_table

    table = read_table(source)
    arrow = table.arrow
    for name, texts in table.untrimmed.items():  # texts as they came in, so that those that become one are counted
        arrow = arrow.set_column(arrow.column_names.index(name), name, texts)
    connection.register("source", arrow)
    return DuckSource(connection, "source", arrow.schema)


def _open_parquet(connection: Any, path: Path) -> DuckSource:
    if os.path.isfile(path) and path.suffix.lower() in (*PACKED, *READERS) and path.suffix.lower() not in _PARQUET:
        raise InputError(f"'{path.name}' is of a kind that is read in memory alone; convert it to Parquet.")
    found = open_parquet(path)
    own = next(found.get_fragments()).physical_schema.names
    keys = [field for field in found.schema if field.name not in own]
    depths = {len(Path(file).relative_to(path).parts) if os.path.isdir(path) else 1 for file in found.files}
    if keys and len(depths) > 1:
        raise InputError(f"The files in '{path.name}' lie at different depths below it; a table needs one kind.")
    kinds = ", ".join(f"{quote_text(key.name)}: {_KEY_TYPES.get(key.type, 'VARCHAR')}" for key in keys)
    hive = f"hive_partitioning = true, hive_types = {{{kinds}}}" if keys else "hive_partitioning = false"
    files = quote_files([Path(file) for file in found.files])
    places = without_index(found.schema)
    return DuckSource(connection, f"read_parquet({files}, {hive})", pa.schema([found.schema.field(n) for n in places]))


_KEY_TYPES = {pa.int64(): "BIGINT"}
"""Types of what the names of folders say, where they are no texts."""
_PARQUET = [ending for ending, reader in READERS.items() if reader.startswith("parquet.")]


class DuckSource:
    """A table that DuckDB reads; `schema` says what it holds, where DuckDB is not the one who knows."""

    def __init__(self, connection: Any, relation: str, schema: pa.Schema | None = None) -> None:
        self._connection, self._relation, self._where = connection, relation, ""
        missing = "The table cannot be read: it is not there, or it is damaged."
        described = attempt(lambda: self._connection.sql(f"SELECT * FROM {self._relation} LIMIT 0"), missing)
        self.names: tuple[str, ...] = tuple(described.columns if schema is None else schema.names)
        self._types = {} if schema is None else {field.name: field.type for field in schema}
        check_names(self.names)
        require_apart(self.names)

    def head(self, column: str) -> pa.Array:
        """One value of a column."""
        return self._column(f"SELECT {quote_name(column)} FROM {self._relation}{self._where} LIMIT 1")

    def type_values(self, column: str, values: pa.Array) -> pa.Array:
        """What distinct values of a column mean, one for each: the values themselves."""
        return values

    def count_rows(self) -> int:
        """How many rows there are, without those that are left out."""
        return int(self._number(f"SELECT count(*) FROM {self._relation}{self._where}"))

    def distinct(self, column: str, most: int) -> Distinct | None:
        """The distinct values of a column and the rows of each; None for more than about `most`."""
        self._require_type(column)
        name, rows = quote_name(column), f"FROM {self._relation}{self._where}"
        sample = self._number(f"SELECT count(DISTINCT v) FROM (SELECT {name} AS v {rows} LIMIT {_SAMPLE})")
        if sample > _SAMPLE // 4 and self._number(f"SELECT approx_count_distinct({name}) {rows}") > 1.1 * most:
            return None
        counted = self._table(f"SELECT {name} AS v, count(*) AS n {rows} GROUP BY ALL")
        if counted.num_rows > most:
            return None
        return _flat(counted.column("v")), counted.column("n").to_numpy().astype(np.int64)

    def combinations(self, columns: Sequence[str], most: int) -> tuple[pa.Table, Ints] | None:
        """The combinations of several columns' values and the rows of each; None for more than `most`."""
        named = ", ".join(f"{quote_name(name)} AS v{place}" for place, name in enumerate(columns))
        grouped = f"SELECT {named}, count(*) AS n FROM {self._relation}{self._where} GROUP BY ALL"
        if self._number(f"SELECT count(*) FROM ({grouped} LIMIT {most + 1})") > most:
            return None
        counted = self._table(grouped)
        values = pa.table([_flat(column) for column in counted.columns[:-1]], names=list(columns))
        return values, counted.column("n").to_numpy().astype(np.int64)

    def leave_out(self, values: Mapping[str, pa.Array]) -> None:
        """Drop the rows in which some column has one of these values."""
        terms = []
        for place, (column, listed) in enumerate(values.items()):
            name = quote_name(column)
            terms += [f"{name} IS NOT NULL"] if listed.null_count else []
            if len(there := listed.drop_null()):
                self._connection.register(f"left_out_{place}", pa.table({"v": there}))
                terms.append(f"({name} IS NULL OR {name} NOT IN (SELECT v FROM left_out_{place}))")
        self._where = f" WHERE {' AND '.join(terms)}" if terms else ""

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """The rows in batches of about so many."""
        named = ", ".join(map(quote_name, columns))
        statement = f"SELECT {named} FROM {self._relation}{self._where}"
        reader = self._run(lambda: self._connection.sql(statement).to_arrow_reader(rows))
        while (batch := self._run(lambda: next(reader, None))) is not None:
            table = pa.Table.from_batches([batch])
            yield pa.table([_flat(column) for column in table.columns], names=columns)

    def _require_type(self, column: str) -> None:
        """Refuse a column of a type that memory refuses, or that DuckDB would read as another."""
        if (kind := self._types.get(column)) is None:
            return
        check_type(kind, column)
        if isinstance(kind, pa.Decimal256Type):
            raise InputError(
                f"Column '{column}' has room for decimals of more than 38 digits; give it a narrower type."
            )

    def _column(self, statement: str) -> pa.Array:
        return _flat(self._table(statement).column(0))

    def _number(self, statement: str) -> int:
        return int(self._table(statement).column(0)[0].as_py())

    def _table(self, statement: str) -> pa.Table:
        return self._run(lambda: self._connection.sql(statement).to_arrow_table())

    def _run(self, step: Callable[[], T]) -> T:
        return run_step(lambda: stoppable(step, self._connection.interrupt))


def require_apart(names: Sequence[str]) -> None:
    """Refuse names that differ in case alone, which DuckDB takes for one."""
    uses = Counter(name.casefold() for name in names)
    if alike := [name for name in names if uses[name.casefold()] > 1]:
        raise InputError(
            f"The names of the columns {', '.join(map(repr, alike))} differ in case alone, which is told apart in "
            "memory alone; rename them."
        )


def _flat(column: pa.ChunkedArray) -> pa.Array:
    """One array of plain values: dictionaries of enumerations are written out."""
    decoded = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    if pa.types.is_string_view(decoded.type):
        decoded = pc.cast(decoded, pa.string())
    return decoded.combine_chunks()


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
