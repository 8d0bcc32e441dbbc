"""Columns as codes."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.table import encode as module_of_encode  # noqa: F401 - the module stays importable under its name
from hedgerow.table.encode import encode, encode_texts

COLUMNS = {
    "narrow": (pa.int64(), st.integers(-5, 5)),
    "wide": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "float": (pa.float64(), st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0)),
    "bool": (pa.bool_(), st.booleans()),
    "text": (pa.string(), st.text(st.characters(exclude_categories=["Cs"]), max_size=5)),
    "date": (pa.date32(), st.dates()),
    "time": (pa.timestamp("us"), st.datetimes()),
    "decimal": (pa.decimal128(12, 3), st.decimals(-1000, 1000, places=3)),
}


@st.composite
def columns(draw):
    """A column of any supported type, as Python values and as Arrow."""
    kind, values = COLUMNS[draw(st.sampled_from(sorted(COLUMNS)))]
    cells = draw(st.lists(st.none() | values, max_size=40))
    return cells, pa.array(cells, type=kind)


@given(columns())
def test_codes_point_at_the_sorted_distinct_values(column):
    """Every code names the cell of its row, the domain ascends without doubles, and missing has the last code."""
    cells, array = column
    encoded = encode(array)
    domain = encoded.domain.to_pylist()
    assert domain == sorted({cell for cell in cells if cell is not None})
    assert encoded.domain.type == array.type
    assert [[*domain, None][code] for code in encoded.codes] == cells
    assert encoded.codes.dtype == np.int32
    assert encoded.has_missing == (None in cells)
    assert encoded.size == len(domain) + (None in cells)


@given(columns())
def test_counts_add_up_per_code(column):
    """Counts are the number of rows of each code in use."""
    cells, array = column
    encoded = encode(array)
    values = [*encoded.domain.to_pylist(), *([None] if encoded.has_missing else [])]
    assert encoded.counts().tolist() == [cells.count(value) for value in values]
    assert encoded.counts().dtype == np.int64


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    "values",
    [
        np.arange(300_000)[::-1] * 3,
        np.random.default_rng(1).integers(-(2**62), 2**62, 300_000),
        np.random.default_rng(2).normal(size=300_000),
        np.random.default_rng(3).choice(np.random.default_rng(4).normal(size=50), 300_000),
    ],
    ids=["counting", "sorting whole numbers", "sorting floats", "hashing"],
)
def test_every_way_of_encoding_agrees_with_numpy(values, missing):
    """Counting, sorting and hashing, over several blocks, give the ranks that NumPy gives."""
    gaps = np.random.default_rng(5).random(len(values)) < 0.1 * missing
    encoded = encode(pa.array(values, mask=gaps))
    domain, ranks = np.unique(values[~gaps], return_inverse=True)
    assert np.array_equal(encoded.domain.to_numpy(), domain)
    assert np.array_equal(encoded.codes[~gaps], ranks)
    assert np.all(encoded.codes[gaps] == len(domain))
    assert np.array_equal(encoded.counts(), np.bincount(encoded.codes, minlength=encoded.size))


def test_a_column_without_values_has_an_empty_domain():
    """Where all is missing the only code is the one for missing."""
    encoded = encode(pa.array([None, None], pa.date32()))
    assert (len(encoded.domain), encoded.codes.tolist(), encoded.size) == (0, [0, 0], 1)


def test_chunks_and_slices_count_only_what_is_visible():
    """A sliced, chunked column encodes as if it were whole and compact."""
    chunks = pa.chunked_array([pa.array([9, 5, 1]).slice(1), pa.array([5, None])])
    encoded = encode(chunks)
    assert (encoded.codes.tolist(), encoded.domain.to_pylist()) == ([1, 0, 1, 2], [1, 5])


def test_codes_cannot_be_changed():
    """Codes are shared by everyone who asks, so they are read-only."""
    with pytest.raises(ValueError, match="read-only"):
        encode(pa.array([1, 2])).codes[0] = 1


def test_the_text_form_shows_no_value():
    """Printing an encoded column prints counts."""
    assert "canary" not in repr(encode(pa.array(["canary"])))


def test_extremes_of_each_type_survive():
    """The first and the last value that a type can hold keep their place."""
    assert encode(pa.array([2**63 - 1, -(2**63)])).codes.tolist() == [1, 0]
    assert encode(pa.array([dt.date.max, dt.date.min])).codes.tolist() == [1, 0]
    assert encode(pa.array([Decimal("1.10"), Decimal("-9.99")])).codes.tolist() == [1, 0]


def test_decoding_gives_the_column_back():
    """Codes stand for their values, and the code beyond the domain for a missing one."""
    column = pa.array([3, None, 1, 3], pa.int64())
    encoded = encode(column)
    assert encoded.decode(encoded.codes).equals(column)
    assert encode(column.drop_null()).decode(np.array([1, 0], np.int32)).to_pylist() == [3, 1]


@pytest.mark.parametrize("gaps", [False, True])
def test_texts_of_a_long_column_are_numbered_alike_in_all_its_parts(gaps):
    """Parts of a column are hashed on several cores; values that one part alone has are numbered with the others."""
    numbers = np.random.default_rng(3).integers(0, 90, 50_000)
    numbers[40_000:] += 60
    texts = pa.array([f"v{n % 7}{n}" for n in numbers.tolist()], mask=(numbers == 75) & gaps)
    encoded = encode_texts(texts)
    assert encoded.has_missing == gaps
    assert encoded.domain.to_pylist() == sorted(texts.drop_null().unique().to_pylist())
    assert encoded.decode(encoded.codes).equals(texts)
    assert int(encoded.codes.max()) == encoded.size - 1
