"""Turn any Arrow table into the form of `Table`: flat types, one chunk a column, no hidden data.

Spaces and tabs around a text are dropped, as in delimited files, so that a value is the same from every source.

Arrow data can hide rows outside a slice, categories that no row uses, values under a null, an index and metadata. All
of it is removed here, for every source.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.cores import on_cores
from hedgerow.errors import InputError
from hedgerow.table.checks import BLANKS, attempt, check_names, check_shape
from hedgerow.table.encode import Encoded, encode_texts
from hedgerow.table.table import Table

MOST_TEXT = 2**31 - 1
"""Bytes of text that one column can hold."""

_BLOCK = 1 << 18
_PADDING = 63
_MICRO = pa.timestamp("us")
# Years 1 to 9999: what Python, SQL and ISO 8601 can all say.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
_MICROS_A_DAY = 86_400_000_000


def flatten(arrow: pa.Table, kind: str, *, borrow: bool = False) -> Table:
    """Bring an Arrow table into the form that `Table` promises, or refuse by column name and type.

    `borrow` shares columns that are in that form already, for as long as nobody changes them; else they are copied.
    """
    arrow = arrow.select(without_index(arrow.schema))
    names = arrow.column_names
    check_names(names)
    check_shape(arrow.num_rows, arrow.num_columns)

    def read(place: int) -> _TextColumn:
        column = _flat(arrow.column(place), names[place], borrow or kind == "file")
        return _trim_column(column, names[place]) if column.type == pa.string() else _TextColumn(column)

    columns = on_cores(read, range(arrow.num_columns), rows=arrow.num_rows)
    found = dict(zip(names, columns, strict=True))
    return Table(
        pa.table({name: column.values for name, column in found.items()}),
        kind,
        untrimmed={name: column.untrimmed for name, column in found.items() if column.untrimmed is not None},
        _encoded={name: column.encoded for name, column in found.items() if column.encoded is not None},
    )


class _TextColumn(NamedTuple):
    values: pa.Array
    untrimmed: pa.Array | None = None
    encoded: Encoded | None = None


def _trim_column(texts: pa.Array, name: str) -> _TextColumn:
    """A column of text without blanks around its texts; of texts that repeat each is looked at once."""
    encoded = encode_texts(texts)
    distinct = texts if encoded is None else encoded.domain
    _require_undamaged(distinct, name)
    if _has_blanks(distinct):
        return _TextColumn(pc.ascii_trim(texts, characters=BLANKS), texts)
    return _TextColumn(texts, encoded=encoded)


def _require_undamaged(column: pa.Array | pa.ChunkedArray, name: str) -> None:
    attempt(lambda: column.validate(full=True), f"Column '{name}' is damaged: its bytes are not what its type says.")


def _has_blanks(texts: pa.Array) -> bool:
    """Return whether some text begins or ends with what is dropped around texts."""
    data = texts.buffers()[2]
    if data is None or not len(data):
        return False
    ends = _ends(texts)
    letters = np.frombuffer(data, np.uint8)
    is_blank = np.zeros(256, np.bool_)
    is_blank[list(BLANKS.encode())] = True
    for start in range(0, len(texts), _BLOCK):
        firsts, lasts = ends[start : start + _BLOCK + 1][:-1], ends[start + 1 : start + _BLOCK + 1]
        filled = firsts < lasts
        if is_blank[letters[firsts[filled]]].any() or is_blank[letters[lasts[filled] - 1]].any():
            return True
    return False


def without_index(schema: pa.Schema) -> list[int]:
    """The places of the columns that pandas' metadata does not declare to be an index, which is never published."""
    metadata = (schema.metadata or {}).get(b"pandas")
    try:
        declared = list(json.loads(metadata)["index_columns"]) if metadata else []
    except (ValueError, KeyError, TypeError):
        declared = []
    index = [name for name in declared if isinstance(name, str)]
    return [place for place, name in enumerate(schema.names) if name not in index]


def _flat(column: pa.ChunkedArray, name: str, borrow: bool) -> pa.Array:
    check_type(column.type, name)
    if column.type != pa.string() or not all(map(_is_cut_well, column.chunks)):
        _require_undamaged(column, name)
    if borrow and column.num_chunks == 1 and _is_compact(column.chunk(0)):
        array = column.chunk(0)
    else:
        array = attempt(lambda: _compact(column), f"Column '{name}' holds more than 2 GiB of text; shorten it.")
    converted = _converter(array.type, name)(array, name)
    return _blank_nulls(converted)


def _is_cut_well(texts: pa.Array) -> bool:
    """Return whether texts lie one after the other inside their bytes; whether those are Unicode is looked at later."""
    if not len(texts) or texts.buffers()[1] is None:
        return False
    ends, data = _ends(texts), texts.buffers()[2]
    most = data.size if data is not None else 0
    return bool(ends[0] >= 0 and ends[-1] <= most and not (ends[1:] < ends[:-1]).any())


def _ends(texts: pa.Array) -> NDArray[np.int32]:
    """Where each text begins, and where the last one ends."""
    return np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]


def _is_compact(chunk: pa.Array) -> bool:
    """Return whether the buffers of an array hold its rows and nothing else but padding, all of them present."""
    if chunk.offset or chunk.null_count or not len(chunk):
        return False
    if chunk.type == pa.string():
        _, offsets, data = chunk.buffers()
        ends = np.frombuffer(offsets, np.int32)
        fits = data is None or _fits(data, int(ends[len(chunk)]), 1)
        return int(ends[0]) == 0 and fits and _fits(offsets, len(chunk) + 1, 4)
    is_plain = chunk.type in (pa.int64(), pa.float64(), pa.date32(), _MICRO) or pa.types.is_decimal128(chunk.type)
    return is_plain and _fits(chunk.buffers()[1], len(chunk), chunk.type.bit_width // 8)


def _fits(buffer: pa.Buffer, entries: int, width: int) -> bool:
    return bool(buffer.size <= entries * width + _PADDING)


def _compact(column: pa.ChunkedArray) -> pa.Array:
    """One array in fresh buffers that hold the visible rows and nothing else."""
    _check_decoded_bytes(column)
    # Concatenating copies even a single chunk, and of a slice only the rows that can be seen.
    return pa.concat_arrays([_decode(chunk) for chunk in column.chunks])


def _decode(chunk: pa.Array) -> pa.Array:
    if isinstance(chunk, pa.RunEndEncodedArray):
        chunk = pc.run_end_decode(chunk)
    return chunk.dictionary.take(chunk.indices) if isinstance(chunk, pa.DictionaryArray) else chunk


def _check_decoded_bytes(column: pa.ChunkedArray) -> None:
    """Count before decoding: a long text in a dictionary costs its length again in every row."""
    if not isinstance(column.type, pa.DictionaryType) or column.type.value_type not in (pa.string(), pa.large_string()):
        return
    if sum(map(_decoded_bytes, column.chunks)) > MOST_TEXT:
        raise OverflowError("more text than one column can hold")


def _decoded_bytes(chunk: pa.DictionaryArray) -> int:
    rows = np.bincount(chunk.indices.drop_null().to_numpy(), minlength=len(chunk.dictionary))
    lengths = pc.binary_length(chunk.dictionary).fill_null(0).to_numpy(zero_copy_only=False)
    return int(rows @ lengths.astype(np.int64))


def check_type(kind: pa.DataType, name: str) -> None:
    """Refuse a column by its type alone."""
    _converter(kind.value_type if isinstance(kind, pa.DictionaryType | pa.RunEndEncodedType) else kind, name)


def _converter(kind: pa.DataType, name: str) -> Callable[[pa.Array, str], pa.Array]:
    for accepts, convert in _RULES:
        if accepts(kind):
            return convert
    advice = "flatten it into columns of single values" if pa.types.is_nested(kind) else "convert it to text or numbers"
    raise InputError(f"Column '{name}' has type {_type_name(kind)}, which a table cannot hold; {advice}.")


def _type_name(kind: pa.DataType) -> str:
    # Nested types spell out their field names, and field names can be keys taken from the data.
    if isinstance(kind, pa.BaseExtensionType):
        return f"extension {kind.extension_name}"
    return str(kind).split("<")[0].split("[")[0]


def _all_missing(array: pa.Array, name: str) -> pa.Array:
    return pa.nulls(len(array), pa.string())


def _as_it_is(array: pa.Array, name: str) -> pa.Array:
    return array


def _integers(array: pa.Array, name: str) -> pa.Array:
    sentence = f"Column '{name}' holds whole numbers beyond 64 bits with sign; give them as text or in larger units."
    return attempt(lambda: array.cast(pa.int64()), sentence)


def _floats(array: pa.Array, name: str) -> pa.Array:
    numbers = array.cast(pa.float64())
    if pc.any(pc.is_inf(numbers)).as_py():
        raise InputError(
            f"Column '{name}' holds an infinite number, or one beyond the range of 64-bit floats; "
            "replace it by a number or leave it empty."
        )
    if not _has_odd_floats(numbers):
        return numbers
    # Adding zero turns -0.0 into 0.0, so that equal numbers have equal bytes.
    return pc.add(pc.if_else(pc.is_nan(numbers), None, numbers), 0.0)


def _has_odd_floats(numbers: pa.Array) -> bool:
    """Return whether some number is NaN or -0.0, which are written otherwise; values under a null count."""
    if numbers.buffers()[1] is None:
        return False
    plain = np.frombuffer(numbers.buffers()[1], np.float64)[numbers.offset : numbers.offset + len(numbers)]
    blocks = (plain[start : start + _BLOCK] for start in range(0, len(plain), _BLOCK))
    return any(bool((np.isnan(block) | ((block == 0.0) & np.signbit(block))).any()) for block in blocks)


def _decimals(array: pa.Array, name: str) -> pa.Array:
    """Decimals of up to 38 digits; thousands (a negative scale) are whole numbers here, as in every database."""
    wide, thousands = isinstance(array.type, pa.Decimal256Type), max(-array.type.scale, 0)
    digits = 38 if wide else min(array.type.precision + thousands, 38)
    kind = pa.decimal128(digits, max(array.type.scale, 0))
    return attempt(lambda: array.cast(kind), f"Column '{name}' holds decimals of more than 38 digits; round them.")


def _text(array: pa.Array, name: str) -> pa.Array:
    return attempt(lambda: array.cast(pa.string()), f"Column '{name}' holds more than 2 GiB of text; shorten it.")


def _dates(array: pa.Array, name: str) -> pa.Array:
    days = array.cast(pa.date32())
    _check_years(days.view(pa.int32()), _FIRST_DAY, _LAST_DAY, name)
    return days


def _timestamps(array: pa.Array, name: str) -> pa.Array:
    """Microseconds without a zone; instants that carried a zone are given in UTC."""
    sentence = f"Column '{name}' holds times finer than microseconds or beyond year 9999; round them."
    zone = array.type.tz
    micros = attempt(lambda: array.cast(pa.timestamp("us", zone)).cast(pa.int64()), sentence)
    _check_years(micros, _FIRST_DAY * _MICROS_A_DAY, (_LAST_DAY + 1) * _MICROS_A_DAY - 1, name)
    return micros.cast(_MICRO)


def _check_years(ticks: pa.Array, first: int, last: int, name: str) -> None:
    span = pc.min_max(ticks).as_py()
    if span["min"] is not None and (span["min"] < first or span["max"] > last):
        raise InputError(f"Column '{name}' holds dates outside the years 1 to 9999; correct them or leave them empty.")


def _blank_nulls(array: pa.Array) -> pa.Array:
    """Zero the bytes under nulls: what was masked there must not travel."""
    if not array.null_count:
        return array
    zero = {pa.string(): "", pa.bool_(): False}.get(array.type, 0)
    filled = array.fill_null(pa.scalar(zero, array.type))
    return pa.Array.from_buffers(array.type, len(array), [array.buffers()[0], *filled.buffers()[1:]])


_RULES: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array, str], pa.Array]], ...] = (
    (pa.types.is_null, _all_missing),
    (pa.types.is_boolean, _as_it_is),
    (pa.types.is_integer, _integers),
    (pa.types.is_floating, _floats),
    (pa.types.is_decimal, _decimals),
    (pa.types.is_string, _text),
    (pa.types.is_large_string, _text),
    (pa.types.is_string_view, _text),
    (pa.types.is_date, _dates),
    (pa.types.is_timestamp, _timestamps),
)
