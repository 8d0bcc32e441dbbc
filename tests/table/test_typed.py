"""The type of a column of text."""

import pyarrow as pa
import pytest

from hedgerow.table.typed import type_texts

CASES = [
    (["1", "-2", "0"], pa.int64()),
    (["-0", "5"], pa.int64()),
    (["9223372036854775807", "-9223372036854775808"], pa.int64()),
    (["9223372036854775808", "1"], pa.string()),
    (["007", "8"], pa.string()),
    (["00", "1"], pa.string()),
    (["+49301234", "1"], pa.string()),
    (["0x1F"], pa.string()),
    (["1_000"], pa.string()),
    (["1,5", "2,5"], pa.string()),
    (["١"], pa.string()),
    (["1.5", "2"], pa.float64()),
    (["1.0", "2.0"], pa.float64()),
    ([".5", "5.", "-.5"], pa.float64()),
    (["1e5", "1E-5", "2e+3"], pa.float64()),
    (["01.5", "1"], pa.string()),
    ([".", "1"], pa.string()),
    (["e5"], pa.string()),
    (["1e", "2"], pa.string()),
    (["true", "False", "TRUE"], pa.bool_()),
    (["true", "yes"], pa.string()),
    (["T", "F"], pa.string()),
    (["2020-02-29"], pa.date32()),
    (["2021-02-29", "2020-01-01"], pa.string()),
    (["2020-1-1"], pa.string()),
    (["0000-01-01"], pa.string()),
    (["01/02/2020"], pa.string()),
    (["20200101"], pa.int64()),
    (["2020-01-01T10:00", "2020-01-01 10:00:00.123456"], pa.timestamp("us")),
    (["2020-01-01T25:00"], pa.string()),
    (["2020-01-01T10:00:00.1234567"], pa.string()),
    (["2020-01-01T10:00Z", "2020-01-01T10:00-0500"], pa.timestamp("us", "UTC")),
    (["2020-01-01T10:00Z", "2020-01-01T10:00"], pa.string()),
    (["2020-01-01", "2020-01-01T10:00"], pa.string()),
    (["inform", "inf"], pa.string()),
    (["inf", "1"], pa.float64()),
    (["1\n", "2"], pa.string()),
]


@pytest.mark.parametrize(("texts", "kind"), CASES)
def test_every_cell_must_agree(texts, kind):
    """A column has a type only if all of its cells have, whatever their order."""
    assert type_texts(pa.array(texts)).type == kind
    assert type_texts(pa.array(texts[::-1])).type == kind
    assert type_texts(pa.array([None, *texts])).type == kind


def test_missing_stays_missing():
    """Nulls are kept in place."""
    assert type_texts(pa.array([None, "1", None])).to_pylist() == [None, 1, None]


def test_nothing_stays_text():
    """A column without any value is a column of missing texts."""
    assert type_texts(pa.array([None], pa.string())).type == pa.string()
    assert type_texts(pa.array([], pa.string())).type == pa.string()
