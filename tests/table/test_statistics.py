"""Files of SPSS, Stata and SAS."""

import datetime as dt
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from hedgerow.errors import InputError
from hedgerow.table import read_statistics, read_table

pyreadstat = pytest.importorskip("pyreadstat")
pandas = pytest.importorskip("pandas")

DATA = Path(__file__).parent / "data"
"""Six made-up people and the labels of their sexes, as SAS stores them."""

WRITERS = {"sav": "write_sav", "zsav": "write_sav", "dta": "write_dta", "xpt": "write_xport"}


@pytest.fixture
def stored(tmp_path):
    """Write a small file of one of the kinds and give its path."""

    def stored(kind, **options):
        frame = pandas.DataFrame(
            {
                "code": [1.0, 2.0, None],
                "pay": [1.5, 2.0, 3.0],
                "name": ["canary-12", "", "y"],
                "born": [dt.date(1980, 1, 2)] * 3,
                "seen": [dt.datetime(2020, 1, 1, 3)] * 3,
            }
        )
        path = tmp_path / f"t.{kind}"
        getattr(pyreadstat, WRITERS[kind])(frame, path, **options)
        return path

    return stored


@pytest.mark.parametrize("kind", WRITERS)
def test_types_survive(stored, kind):
    """Whole numbers, floats, texts, dates and times are told apart, and gaps are missing."""
    table = read_table(stored(kind)).arrow
    assert table.schema.types == [pa.int64(), pa.float64(), pa.string(), pa.date32(), pa.timestamp("us")]
    assert table.column("code").to_pylist() == [1, 2, None]
    assert table.column("name").to_pylist() == ["canary-12", None, "y"]
    assert table.column("born")[0].as_py() == dt.date(1980, 1, 2)


def test_value_labels_are_not_applied(stored):
    """A code stays a code: the label is the file's opinion about it."""
    path = stored("sav", variable_value_labels={"code": {1: "one", 2: "one"}})
    assert read_table(path).arrow.column("code").to_pylist() == [1, 2, None]


def test_declared_missing_values_are_missing(stored):
    """A value that SPSS is told to ignore is missing."""
    path = stored("sav", missing_ranges={"code": [2]})
    assert read_table(path).arrow.column("code").to_pylist() == [1, None, None]


FORMATS = {"sav": "N5", "dta": "%05.0f", "xpt": "Z5"}


@pytest.mark.parametrize("kind", FORMATS)
def test_leading_zeros_that_a_format_shows_are_kept(tmp_path, kind):
    """A zip code is 01234 on the screen of these programs; other formats, and declared numbers, are numbers."""
    frame = pandas.DataFrame({"zip": [1234.0, 56789.0, None], "pay": [1.0, 2.0, 3.0]})
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}[kind]
    write(frame, str(tmp_path / f"t.{kind}"), variable_format={"zip": FORMATS[kind]})
    read = read_table(tmp_path / f"t.{kind}").arrow.to_pydict()
    assert read == {"zip": ["01234", "56789", None], "pay": [1, 2, 3]}
    numbers = read_table(tmp_path / f"t.{kind}", types={"zip": "whole"}).arrow.to_pydict()
    assert numbers["zip"] == [1234, 56789, None]


@pytest.mark.parametrize("kind", WRITERS)
def test_a_damaged_file_is_refused(stored, kind):
    """A file cut short is refused without quoting it."""
    path = stored(kind)
    path.write_bytes(path.read_bytes()[:90])
    with pytest.raises(InputError, match="may be cut short or damaged"):
        read_table(path)


def test_size_is_checked_before_reading(stored):
    """A file that announces too many cells is refused by its header."""
    with pytest.raises(InputError, match="announces 3 rows of 5 columns"):
        read_statistics(stored("sav"), max_cells=14)


def test_an_unknown_ending_is_refused(tmp_path):
    """The reader goes by the ending."""
    (tmp_path / "t.abc").write_bytes(b"x")
    with pytest.raises(InputError, match=r"must end in \.sav"):
        read_statistics(tmp_path / "t.abc")


def test_a_missing_package_is_named(stored, monkeypatch):
    """Without the extra the refusal says how to install it."""
    path = stored("sav")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(InputError, match=r"'pyreadstat'.*pip install hedgerow\[files\]"):
        read_table(path)


@pytest.mark.parametrize("name", ["people.sas7bcat", "formats.sas7bcat"])
def test_labels_of_sas_come_from_the_catalog_beside_the_file(tmp_path, name):
    """A catalog of the file's name, or the usual one of a folder; without labels the codes stay."""
    shutil.copy(DATA / "people.sas7bdat", tmp_path)
    assert read_statistics(tmp_path / "people.sas7bdat", labels=True).arrow["sex"].to_pylist() == [1, 2, 2, 1, 1, 2]
    shutil.copy(DATA / "people.sas7bcat", tmp_path / name)
    table = read_statistics(tmp_path / "people.sas7bdat", labels=True)
    assert table.arrow["sex"].to_pylist() == ["male", "female", "female", "male", "male", "female"]
    assert table.reading["value labels"] == "read as labels: sex"
    assert read_statistics(tmp_path / "people.sas7bdat").arrow["sex"].to_pylist() == [1, 2, 2, 1, 1, 2]


def test_a_damaged_catalog_is_one_sentence(tmp_path):
    """It is named, with what to do."""
    shutil.copy(DATA / "people.sas7bdat", tmp_path)
    (tmp_path / "people.sas7bcat").write_bytes((DATA / "people.sas7bcat").read_bytes()[:500])
    with pytest.raises(InputError, match=r"people\.sas7bcat.*damaged"):
        read_statistics(tmp_path / "people.sas7bdat", labels=True)
