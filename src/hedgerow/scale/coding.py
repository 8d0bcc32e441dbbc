"""Columns as codes that are the same in every block: domains, units and places on a line are those of the whole table.

An engine counts the distinct values of each column as it finds them. From these a table is put together that has every
value of every column at least once and is otherwise short. Reading, text policies, roles, domains and hierarchies are
checked on it by the very functions that check a table in memory, and it says which code each value has.

A column with more distinct values than a plan can hold stays as it is, if nothing has to be decided on it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.errors import Infeasible, InputError, SchemaError
from hedgerow.scale.dealing import CHANGED
from hedgerow.scale.engine import Distinct, ScaleEngine
from hedgerow.schema import Schema
from hedgerow.schema.schema import require_positive
from hedgerow.table.encode import Encoded, encode
from hedgerow.table.flat import flatten
from hedgerow.table.table import Table
from hedgerow.verify.values import PublishedColumns, Rows

MOST_CODES = 1 << 21
"""Distinct values of one column that are held in memory."""

_NARROW = 1 << 22


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """The values of a column as the engine gives them (`raw`), the code of each, and the rows of each code."""

    raw: pa.Array
    codes: NDArray[np.int32]
    domain: pa.Array
    counts: Ints
    has_missing: bool

    @property
    def size(self) -> int:
        """How many codes are in use, the one for missing included."""
        return len(self.counts)

    @property
    def kind(self) -> pa.DataType:
        """The narrowest integers that hold the codes."""
        return pa.uint8() if self.size <= 2**8 else pa.uint16() if self.size <= 2**16 else pa.int32()

    def encode(self, values: pa.ChunkedArray) -> NDArray[np.int32]:
        """The codes of a batch."""
        places = _by_place(values, self.raw) if self._is_narrow else None
        if places is None:
            found = pc.index_in(_without_negative_zero(values), value_set=self.raw)
            if found.null_count:
                raise InputError(CHANGED)
            places = found.to_numpy()
        return self.codes[places]

    @property
    def _is_narrow(self) -> bool:
        return bool(pa.types.is_integer(self.raw.type) or pa.types.is_date32(self.raw.type))

    def with_codes(self, codes: NDArray[np.int32]) -> Encoded:
        """Codes of some rows, with what they stand for in the whole table."""
        return Encoded(codes, self.domain, self.has_missing)


def _without_negative_zero(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Floats without negative zero, which engines take for zero when they count, and hand out as it is."""
    return pc.add(values, 0.0) if pa.types.is_floating(values.type) else values


def _by_place(values: pa.ChunkedArray, raw: pa.Array) -> Ints | None:
    """Where each of a batch's whole numbers stands in `raw`, by counting; None where the range is too wide for that."""
    if raw.null_count or values.null_count or not len(raw):
        return None
    plain = [one.view(pa.int32()) if pa.types.is_date32(one.type) else one for one in (raw, values.combine_chunks())]
    listed, numbers = (np.asarray(one.to_numpy(zero_copy_only=False)) for one in plain)
    low, high = int(listed.min()), int(listed.max())
    if high - low > _NARROW:
        return None
    if len(numbers) and (int(numbers.min()) < low or int(numbers.max()) > high):
        raise InputError(CHANGED)
    table = np.full(high - low + 1, -1, np.int64)
    table[listed.astype(np.int64) - low] = np.arange(len(listed))
    places: Ints = table[numbers.astype(np.int64) - low]
    if len(places) and int(places.min()) < 0:
        raise InputError(CHANGED)
    return places


@dataclass(frozen=True, eq=False)
class RowMark:
    """A number that is made of some columns of a row, and that travels in their place as the column `name`."""

    name: str
    columns: tuple[str, ...]
    make: Callable[[pa.Table], NDArray[np.uint64]]


@dataclass(frozen=True, eq=False)
class Coder:
    """Batches of an engine's rows as batches of codes, and codes as tables; it can be sent to another process.

    `wide` columns stay as they are; those in `complete` must not be missing, those in `positive` must be above zero.
    `mark` is a number of each row that is no column of the table.
    """

    columns: Mapping[str, CodedColumn]
    wide: Mapping[str, pa.DataType]
    complete: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    mark: RowMark | None = None

    @property
    def names(self) -> list[str]:
        """The columns that an engine has to read; identifiers only if rows are marked by them."""
        marking = () if self.mark is None else self.mark.columns
        return list(dict.fromkeys((*self.columns, *self.wide, *marking)))

    def only(self, names: Collection[str]) -> Coder:
        """The same for some of the columns, without the mark."""
        columns = {name: one for name, one in self.columns.items() if name in names}
        wide = {name: kind for name, kind in self.wide.items() if name in names}
        positive, complete = ([name for name in own if name in names] for own in (self.positive, self.complete))
        return Coder(columns, wide, tuple(complete), tuple(positive))

    @property
    def schema(self) -> pa.Schema:
        """The types of coded batches."""
        coded = [pa.field(name, column.kind) for name, column in self.columns.items()]
        mark = () if self.mark is None else (pa.field(self.mark.name, pa.uint64()),)
        return pa.schema([*coded, *(pa.field(name, kind) for name, kind in self.wide.items()), *mark])

    def encode(self, batch: pa.Table) -> pa.Table:
        """A batch of rows as codes."""
        if not batch.num_rows:
            return self.schema.empty_table()
        columns = [
            pa.array(column.encode(batch.column(name)).astype(column.kind.to_pandas_dtype()))
            for name, column in self.columns.items()
        ]
        if self.wide:
            columns += self._values(flatten(batch.select(list(self.wide)), "arrow").arrow)
        if self.mark is not None:
            columns.append(pa.array(self.mark.make(batch.select(list(self.mark.columns)))))
        return pa.table(columns, schema=self.schema)

    def _values(self, flat: pa.Table) -> list[pa.ChunkedArray]:
        for name in self.complete:
            if flat.column(name).null_count:
                raise SchemaError(f"'{name}' has missing values and its policy is 'refuse'; fill them in.")
        for name in self.positive:
            require_positive(name, flat.column(name))
        return [flat.column(name).cast(kind) for name, kind in self.wide.items()]

    def table(self, coded: pa.Table) -> Table:
        """The rows behind codes, as a table whose codes are those of the whole one."""
        encoded = {name: one.with_codes(codes_of(coded, name)) for name, one in self.columns.items()}
        values = {name: one.decode(one.codes) for name, one in encoded.items()}
        kept = self.wide if self.mark is None else (*self.wide, self.mark.name)
        values |= {name: coded.column(name).combine_chunks() for name in kept}
        table = Table(pa.table(values))
        table._encoded.update(encoded)
        return table


def codes_of(coded: pa.Table, name: str) -> NDArray[np.int32]:
    """A coded column as 32-bit integers."""
    codes: NDArray[np.int32] = coded.column(name).to_numpy().astype(np.int32, copy=False)
    return codes


@dataclass(frozen=True, eq=False)
class ColumnClass:
    """The class of a row: the code of one column, or what `of_code` makes of it; without a column all are alike.

    How many rows a task has of each class then follows from its counts of that column, without another pass.
    """

    column: str | None = None
    of_code: NDArray[np.int32] | None = None

    def __call__(self, batch: pa.Table) -> NDArray[np.int32]:
        """The class of each row of a coded batch."""
        codes = np.zeros(batch.num_rows, np.int32) if self.column is None else codes_of(batch, self.column)
        return codes if self.of_code is None else self.of_code[codes]


@dataclass(frozen=True, eq=False)
class CountedTable:
    """A table of which every column was counted: what a plan is decided on.

    `schema` has its texts in the form of their policies; `example` is a short table that has every coded value.
    `identified` codes all columns, identifiers among them, where these were counted.
    """

    engine: ScaleEngine
    coder: Coder
    schema: Schema
    columns: PublishedColumns
    rows: Rows
    merged: Mapping[str, int]
    example: Table
    identified: Coder

    def column(self, name: str) -> CodedColumn:
        """The codes of a column that a plan is decided on."""
        if name in self.coder.wide:
            _refuse_wide(name)
        return self.coder.columns[name]

    def combinations(self, names: Sequence[str]) -> tuple[Table, Ints]:
        """The combinations of several columns' values as a table with codes of the whole, and the rows of each."""
        columns = {name: self.column(name) for name in names}
        found = self.engine.combinations(names, MOST_CODES)
        if found is None:
            raise SchemaError(
                f"{', '.join(names)} have more than {MOST_CODES:,} combinations of values, too many to decide on "
                "outside of memory; round them, leave some out, or choose Mondrian."
            )
        values, rows = found
        if int(rows.sum()) != self.rows.published:
            raise InputError(CHANGED)
        encoded = {name: one.with_codes(one.encode(values.column(name))) for name, one in columns.items()}
        table = Table(pa.table({name: one.decode(one.codes) for name, one in encoded.items()}))
        table._encoded.update(encoded)
        return table, rows


def count_table(
    engine: ScaleEngine, schema: Schema, *, needs_sensitive: bool = True, identifies: bool = False
) -> CountedTable:
    """Count the distinct values of every column, and check them as a table is checked.

    Identifiers are left unread unless `identifies`, for a ledger, asks for them.
    """
    schema.require_names(engine.names)
    names = [name for name in engine.names if identifies or name not in schema.identifier]
    found = engine.distinct(names, MOST_CODES)
    came = engine.count_rows()  # an engine may have counted them in the same pass
    if not came or not names:
        raise InputError(f"A table must have at least one row and one column; this one has {came} and {len(names)}.")
    table, own, merged = _example(engine, schema, names, found)
    columns = _code_columns(table, found)
    for name, column in columns.items():
        if name not in schema.identifier:
            own.check_missing(name, int(column.counts[-1]) if column.has_missing else 0)
        if name in own.weight:
            require_positive(name, column.domain, column.counts[: len(column.domain)])
    own.check(table, needs_sensitive=needs_sensitive)
    if missing := _suppressed_values(table, own, columns):
        engine.leave_out(missing)
        found = engine.distinct(names, MOST_CODES)
        if not engine.count_rows():
            raise Infeasible("No rows are left to publish: every row was suppressed for a missing value.")
        table, own, _ = _example(engine, schema, names, found)
        columns = _code_columns(table, found)
    kept = engine.count_rows()
    if any(int(column.counts.sum()) != kept for column in columns.values()):
        raise InputError(CHANGED)
    wide = {name: table.arrow.schema.field(name).type for name in names if name not in columns}
    published = PublishedColumns(tuple(own.quasi), tuple(own.sensitive), (*own.plain, *own.weight))
    identified = Coder(
        columns,
        wide,
        complete=tuple(name for name in wide if name in published.all and own.missing_policy(name) == "refuse"),
        positive=tuple(name for name in wide if name in own.weight),
    )
    coder = identified.only([name for name in names if name not in schema.identifier])
    return CountedTable(engine, coder, own, published, Rows(came, kept, came - kept), merged, table, identified)


def _example(
    engine: ScaleEngine, schema: Schema, names: Sequence[str], found: Mapping[str, Distinct | None]
) -> tuple[Table, Schema, dict[str, int]]:
    """A short table with every value of every column that was counted, in the form of the policies for texts."""
    listed = {
        name: engine.head(name) if (one := found[name]) is None else engine.type_values(name, one[0]) for name in names
    }
    longest = max(len(values) for values in listed.values())
    padded = {
        name: pa.concat_arrays([values, values.take(pa.array(np.zeros(longest - len(values), np.int64)))])
        for name, values in listed.items()
    }
    # Identifiers have a role but no values: they were not read.
    padded |= {name: pa.nulls(longest, pa.string()) for name in schema.identifier if name not in names}
    table, own, merged = schema.in_form(flatten(pa.table(padded), "arrow"))
    for name in names:
        if found[name] is None and (name in own.domains or name in own.hierarchies or own.text_policy(name)):
            _refuse_wide(name)
    return table, own, merged


def _refuse_wide(name: str) -> None:
    raise SchemaError(
        f"'{name}' has more than {MOST_CODES:,} different values, too many to decide on outside of memory; "
        "round it, or give it another role."
    )


def _code_columns(table: Table, found: Mapping[str, Distinct | None]) -> dict[str, CodedColumn]:
    columns = {}
    for name, one in found.items():
        if one is None:
            continue
        raw, rows = one
        own = encode(table.arrow.column(name).slice(0, len(raw)))
        counts = np.zeros(own.size, np.int64)
        np.add.at(counts, own.codes, rows)
        columns[name] = CodedColumn(_without_negative_zero(raw), own.codes, own.domain, counts, own.has_missing)
    return columns


def _suppressed_values(table: Table, schema: Schema, columns: Mapping[str, CodedColumn]) -> dict[str, pa.Array]:
    """The values for which rows are suppressed, as the engine knows them."""
    values = {}
    for name in (*schema.quasi, *schema.plain, *schema.weight, *schema.sensitive):
        if schema.missing_policy(name) != "suppress":
            continue
        if (column := columns.get(name)) is None:
            kind = table.arrow.schema.field(name).type
            values[name] = pa.array([None, np.nan] if pa.types.is_floating(kind) else [None], kind, from_pandas=False)
        elif column.has_missing:
            values[name] = column.raw.filter(pa.array(column.codes == len(column.domain)))
    return values
