"""Delimited text files out, and formulas disarmed."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import InputError
from hedgerow.table import read_csv, read_table, write_csv
from hedgerow.table.write import escape, unescape

FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''+x", "'plain", "a=b", "x"]


@pytest.mark.parametrize("formula", FORMULAS[:8])
def test_formulas_get_an_apostrophe(tmp_path, formula):
    """By default no text cell and no name starts with a sign that a spreadsheet runs."""
    write_csv(read_table({"=name": [formula]}), tmp_path / "out.csv")
    cells = (tmp_path / "out.csv").read_bytes().decode().split("\n", 1)
    assert [cell.lstrip('"')[0] for cell in cells] == ["'", "'"]


def test_numbers_are_never_escaped(tmp_path):
    """A negative number is not a formula."""
    write_csv(read_table({"n": [-1], "f": [-1.5]}), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "n,f\n-1,-1.5\n"


def test_escaping_is_undone_on_request(tmp_path):
    """Written with apostrophes and read with them removed, every text is back, as are names."""
    texts = [text for text in FORMULAS if not text.startswith("\t")]
    write_csv(read_table({"=t": texts}), tmp_path / "out.csv")
    table = read_csv(tmp_path / "out.csv", unescape_formulas=True)
    assert table.arrow.to_pydict() == {"=t": texts}


def test_nothing_is_escaped_on_request(tmp_path):
    """Without escaping the file holds the texts as they are."""
    write_csv(read_table({"t": ["=1+1", "x"]}), tmp_path / "out.csv", escape_formulas=False)
    assert (tmp_path / "out.csv").read_text() == "t\n=1+1\nx\n"


@given(st.lists(st.text(st.sampled_from("'=+-@\t\rab\n"), max_size=6), min_size=1))
def test_unescape_is_the_inverse_of_escape(texts):
    """No two texts are escaped alike, and what is escaped never starts with a formula's sign."""
    armed = pa.array(texts)
    disarmed = escape(armed)
    assert unescape(disarmed).to_pylist() == texts
    assert not any(text.startswith(("=", "+", "-", "@", "\t", "\r")) for text in disarmed.to_pylist())


def test_markers_and_signs_are_quoted(tmp_path):
    """A text that spells a missing value is told from one by quotes."""
    texts = ["NA", "?", None, 'say "hi"', "a,b", "a\nb", "x"]
    write_csv(read_table({"t": texts, "n": range(7)}), tmp_path / "out.csv")
    assert read_csv(tmp_path / "out.csv").arrow.column("t").to_pylist() == texts


def test_whole_floats_stay_floats(tmp_path):
    """A float always carries a point or an exponent."""
    write_csv(read_table({"f": [1.0, 1e22, 5e-324, None]}), tmp_path / "out.csv")
    assert read_csv(tmp_path / "out.csv").arrow.schema.types == [pa.float64()]
    assert (tmp_path / "out.csv").read_text() == "f\n1.0\n1e+22\n5e-324\n\n"


def test_many_rows_keep_their_order(tmp_path):
    """Rows are written in batches; none is lost between them."""
    table = read_table({"i": range(200_000), "s": [f"v{i % 7}" for i in range(200_000)]})
    write_csv(table, tmp_path / "out.csv")
    assert read_csv(tmp_path / "out.csv").arrow.equals(table.arrow)


def test_a_refused_table_writes_nothing(tmp_path):
    """Names are checked before the file is opened."""
    with pytest.raises(InputError):
        write_csv(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    "armed", ["=1+1", " =1", "\u00a0=1", "\u3000+1", "\uff1dcmd", "\ufeff@x", "'=1", " '=1", "\t-1", "\n\uff20"]
)
def test_formulas_behind_spaces_and_full_width_signs_are_escaped(armed):
    """Spreadsheets run them all; an apostrophe comes first, and can be taken away again."""
    disarmed = escape(pa.array([armed]))
    expected = armed if armed == " '=1" else f"'{armed}"
    assert disarmed.to_pylist() == [expected]
    assert unescape(disarmed).to_pylist() == [armed]
