"""The original table, in memory; it is never published."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.cores import on_cores
from hedgerow.errors import SchemaError, counted
from hedgerow.markup import html_note, html_table

if TYPE_CHECKING:
    from hedgerow.table.encode import Encoded


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """An immutable table of flat columns: `read_table` makes one from files and data frames.

    `arrow` has one chunk a column, no metadata and no hidden rows; its types are bool, int64, float64, decimal128,
    string, date32 and timestamp[us]. `kind` says what it was made from, so that results can go back as the same kind.
    `reading` says in words how a file was read, where it did not say so itself. `untrimmed` holds the columns of text
    that had spaces or tabs around some texts, as they came in. A table that `is_borrowed` serves one publication, and
    forgets codes that are not needed any more. Texts that repeat come with their codes, by which they were checked.
    """

    arrow: pa.Table
    kind: str = "arrow"
    reading: Mapping[str, str] = field(default_factory=dict)
    untrimmed: Mapping[str, pa.Array] = field(default_factory=dict)
    is_borrowed: bool = False
    _encoded: dict[str, Encoded] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(self.arrow.column_names)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return int(self.arrow.num_rows)

    def encode(self, name: str) -> Encoded:
        """A column as codes in the order of its values; computed once."""
        if name not in self._encoded:
            from hedgerow.table.encode import encode

            self._check([name])
            self._encoded[name] = encode(self.arrow.column(name))
        return self._encoded[name]

    def encode_all(self, names: Sequence[str]) -> list[Encoded]:
        """Several columns as codes, on all cores."""
        return on_cores(self.encode, names, rows=self.num_rows)

    def encode_rows(self, names: Sequence[str]) -> NDArray[np.int32]:
        """The codes of several columns as the rows of one array, which `encode` shares from now on."""
        rows = np.empty((len(names), self.num_rows), np.int32)

        def encode(place: int) -> None:
            encoded, shared = self.encode(names[place]), rows[place]
            shared[:] = encoded.codes
            shared.flags.writeable = False
            self._encoded[names[place]] = replace(encoded, codes=shared)

        on_cores(encode, range(len(names)), rows=self.num_rows)
        return rows

    def at(self, names: Sequence[str], rows: NDArray[np.int32]) -> dict[str, pa.Array | pa.ChunkedArray]:
        """The named columns at these rows; texts by their codes, which lie closer together than texts do."""
        return dict(zip(names, on_cores(lambda name: self.column_at(name, rows), names, rows=len(rows)), strict=True))

    def column_at(self, name: str, rows: NDArray[np.int32]) -> pa.Array | pa.ChunkedArray:
        """One column at these rows."""
        column = self.arrow.column(name)
        if not pa.types.is_string(column.type) or (encoded := self._encoded.get(name)) is None:
            return column.take(pa.array(rows))
        return encoded.decode(encoded.codes.take(rows))

    def with_columns(self, columns: Mapping[str, pa.Array]) -> Table:
        """The table with other values in some columns; the others keep their codes."""
        arrow = self.arrow
        for name, values in columns.items():
            arrow = arrow.set_column(arrow.column_names.index(name), name, values)
        known = {name: encoded for name, encoded in self._encoded.items() if name not in columns}
        return replace(self, arrow=arrow, untrimmed={}, _encoded=known)

    def forget(self, names: Sequence[str]) -> None:
        """Drop the codes of some columns; one's own table keeps them for the next publication."""
        for name in names if self.is_borrowed else ():
            self._encoded.pop(name, None)

    def select(self, names: Sequence[str]) -> Table:
        """The named columns, in that order."""
        self._check(names)
        return Table(self.arrow.select(list(names)), self.kind)

    def take(self, rows: NDArray[np.int64]) -> Table:
        """The rows at these positions, in that order."""
        return Table(self.arrow.take(pa.array(rows, type=pa.int64())), self.kind, is_borrowed=self.is_borrowed)

    def to_arrow(self) -> pa.Table:
        """The table as an Arrow table."""
        return self.arrow

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        return self.arrow.to_pandas()

    def to_polars(self) -> Any:
        """The table as a data frame of polars."""
        import polars

        return polars.from_arrow(self.arrow)

    def _check(self, names: Sequence[str]) -> None:
        known = set(self.names)
        unknown = [repr(name) for name in names if name not in known]
        if unknown:
            close = difflib.get_close_matches(unknown[0][1:-1], self.names, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise SchemaError(f"The table has no column {', '.join(unknown)}; it has {_list_names(self.names)}.{hint}")

    def __repr__(self) -> str:
        # Types and counts alone: Arrow's own text form shows cells, and this one ends up in logs.
        columns = [f"{field.name}: {field.type}" for field in self.arrow.schema]
        return f"Table({counted(self.num_rows, 'row')}; {_list_names(columns, quote=False)})"

    def _repr_html_(self) -> str:
        # No cells here either: notebooks are passed on with what they show.
        columns = zip(self.arrow.schema, self.arrow.columns, strict=True)
        rows = [(field.name, field.type, f"{column.null_count:,}") for field, column in columns]
        return html_note(f"{counted(self.num_rows, 'row')}") + html_table(("column", "type", "missing"), rows, texts=2)


def _list_names(names: Sequence[str], *, most: int = 20, quote: bool = True) -> str:
    shown = [repr(name) if quote else name for name in names[:most]]
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")
