"""Read data frames, and return results as the same kind.

A frame is recognised by the library that its class comes from, so that recognising it imports no library.
An index is dropped and frames are never changed: what is read is copied, or borrowed for a while.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Set
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.errors import InputError, ParameterError
from hedgerow.table.checks import attempt, check_names
from hedgerow.table.flat import flatten
from hedgerow.table.table import Table


def read_frame(source: object, *, borrow: bool = False) -> Table:
    """Read a frame of pandas, polars, pyarrow or DuckDB, a mapping of names to columns, or an Arrow stream.

    What is borrowed must be used up before the caller gets a chance to change the frame.
    """
    for library in _libraries(source):
        if library in _READERS:
            return flatten(_READERS[library](source), _KINDS[library], borrow=borrow)
    if isinstance(source, Mapping):
        return flatten(_from_columns(list(source), list(source.values())), "arrow", borrow=borrow)
    if hasattr(source, "__arrow_c_stream__"):
        found = attempt(lambda: pa.table(source), "The Arrow stream cannot be read.")
        return flatten(found, "arrow", borrow=borrow)
    raise _not_a_table(source)


def _libraries(source: object) -> list[str]:
    return [cls.__module__.partition(".")[0] for cls in type(source).__mro__]


def _not_a_table(source: object) -> InputError:
    return InputError(
        "A table must be a path, a frame of pandas, polars or pyarrow, a DuckDB relation or a mapping of columns; "
        f"got {type(source).__module__}.{type(source).__qualname__}."
    )


def _from_pandas(frame: Any) -> pa.Table:
    if not hasattr(frame, "columns"):
        raise _not_a_table(frame)
    names = [_name(name) for name in frame.columns]
    return _from_columns(names, [frame.iloc[:, i] for i in range(len(names))])


def _name(name: object) -> object:
    """Frames made from arrays number their columns; other names that are not texts are refused later."""
    counted = isinstance(name, int | np.integer) and not isinstance(name, bool)
    return str(name) if counted else name


def _from_columns(names: list[Any], columns: list[Any]) -> pa.Table:
    check_names(names)
    arrays = [_array(values, name) for name, values in zip(names, columns, strict=True)]
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        raise InputError(f"Columns must be equally long; they have from {min(lengths)} to {max(lengths)} values.")
    return pa.table(arrays, names=names)


def _array(values: Any, name: str) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    sentence = f"Column '{name}' must hold values of one type: numbers, texts, truth values or dates."
    if isinstance(values, str | bytes):
        raise InputError(sentence)
    if isinstance(values, Mapping | Set):
        raise InputError(
            f"Column '{name}' must be a list of values in the order of the rows; got {type(values).__name__}."
        )
    dtype = getattr(values, "dtype", None)
    if dtype is None or str(dtype) == "object":
        return _from_objects(attempt(lambda: list(values), sentence), name, sentence)
    categories = getattr(dtype, "categories", None)
    if categories is not None and str(categories.dtype) == "object":
        _from_objects(list(categories), name, sentence)
    # Sparse columns of pandas have no Arrow form; the dense ones that they stand for do.
    dense = values.astype(dtype.subtype) if "Sparse" in type(dtype).__name__ else values
    return attempt(lambda: pa.array(dense, from_pandas=True), sentence)


def _from_objects(values: list[Any], name: str, sentence: str) -> pa.Array:
    """Python's values as an Arrow array, if they are of one kind.

    Arrow alone would make a date of a number below a date, a day of a time, and 0 of a short float among whole numbers.
    """
    if len(set(map(type, values))) > 1:
        values = [value.item() if isinstance(value, np.number | np.bool_) else value for value in values]
    array = attempt(lambda: pa.array(values, from_pandas=True), sentence)
    present = [value for value, is_there in zip(values, array.is_valid().to_pylist(), strict=True) if is_there]
    if len({_kind_of(value) for value in present}) > 1:
        raise InputError(sentence)
    if any(getattr(value, "nanosecond", 0) for value in present):
        raise InputError(f"Column '{name}' holds times finer than microseconds or beyond year 9999; round them.")
    return array


def _kind_of(value: Any) -> object:
    """What may stand in one column: numbers of all types, local times, instants, and else one type alone."""
    if isinstance(value, dt.datetime):
        return dt.datetime, value.tzinfo is None
    return next((kinds for kinds in _KINDS_OF_VALUES if isinstance(value, kinds)), type(value))


_KINDS_OF_VALUES: tuple[tuple[type, ...], ...] = ((bool,), (int, float, np.number, Decimal), (str,), (dt.date,))
"""In this order: a truth value is an int to Python."""


def _from_polars(frame: Any) -> pa.Table:
    if hasattr(frame, "collect"):
        frame = attempt(frame.collect, "The polars query cannot be computed.")
    if not hasattr(frame, "columns"):
        raise _not_a_table(frame)
    arrays = [_from_series(frame.get_column(name), name) for name in frame.columns]
    return pa.table(arrays, names=frame.columns)


def _from_series(series: Any, name: str) -> pa.Array:
    return attempt(series.to_arrow, f"Column '{name}' has type {series.dtype.base_type()}, which Arrow cannot hold.")


def _from_arrow(source: Any) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.RecordBatchReader):
        return attempt(source.read_all, "The Arrow stream cannot be read to its end.")
    raise _not_a_table(source)


def _from_duckdb(relation: Any) -> pa.Table:
    import duckdb

    if not isinstance(relation, duckdb.DuckDBPyRelation):
        raise _not_a_table(relation)
    return arrow_of(relation, "The DuckDB relation cannot be computed; is its connection still open?")


def arrow_of(relation: Any, sentence: str) -> pa.Table:
    """A relation of DuckDB as an Arrow table; `sentence` says that it cannot be computed."""
    found: pa.Table = attempt(relation.to_arrow_table, sentence)
    for name, kind, column in zip(relation.columns, relation.types, found.columns, strict=True):
        # DuckDB hands over the 16 bytes of these as a decimal of 38 digits, whatever they hold: 2^128 - 1 as -1.
        if str(kind) in ("HUGEINT", "UHUGEINT"):
            wide = f"Column '{name}' holds whole numbers of more than 38 digits; give them as text or in larger units."
            attempt(lambda: column.validate(full=True), wide)  # noqa: B023
            if str(kind) == "UHUGEINT" and pc.any(pc.less(column, 0)).as_py():
                raise InputError(wide)
    return found


_READERS: dict[str, Callable[[Any], pa.Table]] = {
    "pandas": _from_pandas,
    "polars": _from_polars,
    "pyarrow": _from_arrow,
    "duckdb": _from_duckdb,
    "_duckdb": _from_duckdb,
}

_KINDS = {"pandas": "pandas", "polars": "polars", "pyarrow": "arrow", "duckdb": "duckdb", "_duckdb": "duckdb"}


def to_kind(table: pa.Table, kind: str) -> object:
    """Give an Arrow table as the kind that came in: pandas for pandas, and so on; files and Arrow give pyarrow."""
    writers: dict[str, Callable[[pa.Table], object]] = {
        "pandas": _to_pandas,
        "polars": _to_polars,
        "duckdb": _to_duckdb,
        "arrow": _as_it_is,
        "file": _as_it_is,
    }
    if kind not in writers:
        raise ParameterError(f"'kind' must be one of {', '.join(map(repr, writers))}; got {kind!r}.")
    return writers[kind](table)


def _as_it_is(table: pa.Table) -> pa.Table:
    return table


def _to_pandas(table: pa.Table) -> object:
    import pandas

    # Without these types a missing value turns whole numbers into floats, and truth values into objects.
    nullable = {pa.int64(): pandas.Int64Dtype(), pa.int32(): pandas.Int32Dtype(), pa.bool_(): pandas.BooleanDtype()}
    columns = {
        name: column.to_pandas(types_mapper=nullable.get if column.null_count else None)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pandas.DataFrame(columns)


def _to_polars(table: pa.Table) -> object:
    import polars

    return polars.from_arrow(table)


def _to_duckdb(table: pa.Table) -> object:
    import duckdb

    return duckdb.from_arrow(table)
