"""Paths and endings."""

import os
import subprocess
import sys
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow.table
from hedgerow.errors import InputError
from hedgerow.table import checks, read_table


def test_endings_choose_the_reader(tmp_path):
    """Endings count in upper and lower case, and a path may be a text."""
    for name in ("t.csv", "T.CSV", "t.tsv", "t.txt", "t.data"):
        (tmp_path / name).write_text("a\tb\n1\tx\n")
        assert read_table(str(tmp_path / name)).arrow.to_pydict() == {"a": [1], "b": ["x"]}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("none.csv", "no such file"),
        (".", "it is a folder"),
        ("a\0b.csv", "no file name can hold"),
        ("t.doc", "unknown ending"),
    ],
)
def test_paths_that_lead_nowhere(tmp_path, name, reason):
    """The refusal names the file, not its folder, and the reason."""
    (tmp_path / "t.doc").write_text("x")
    with pytest.raises(InputError, match=reason) as caught:
        read_table(os.path.join(tmp_path, name))
    assert str(tmp_path) not in str(caught.value)


def test_every_exported_name_exists():
    """All of `__all__` can be imported, and nothing else is invented."""
    for name in hedgerow.table.__all__:
        assert getattr(hedgerow.table, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        hedgerow.table.nope  # noqa: B018


def test_importing_the_package_stays_light():
    """No frame library, file library or compiler is loaded until it is needed."""
    heavy = {
        "pandas",
        "polars",
        "duckdb",
        "numba",
        "pyreadstat",
        "python_calamine",
        "pyarrow.compute",
        "pyarrow.parquet",
    }
    code = f"import sys, hedgerow.table; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_reader_gets_the_options_that_its_line_names(tmp_path, monkeypatch):
    """Missing codes of a format whose reader does not know them are taken out afterwards, as those of Parquet are."""
    from hedgerow.table import parquet, read

    monkeypatch.setattr(parquet, "read_rows", lambda path: parquet.read_parquet(path), raising=False)
    monkeypatch.setitem(read.READERS, ".rows", "rows.read_rows")
    monkeypatch.setitem(read.OPTIONS, "rows", ("a file of rows", set()))
    monkeypatch.setitem(sys.modules, "hedgerow.table.rows", parquet)
    pq.write_table(pa.table({"age": ["1", "-9"]}), tmp_path / "t.rows")
    assert read_table(tmp_path / "t.rows", missing_codes=["-9"]).arrow["age"].null_count == 1


@pytest.mark.parametrize("ending", ["zst", "gz", "zip"])
def test_small_files_do_not_unpack_to_large_ones(tmp_path, ending, monkeypatch):
    """Fifty kilobytes that held half a gigabyte of one line took 14 s and four gigabytes; sixteen were allowed."""
    monkeypatch.setattr(checks, "_ALWAYS_UNPACKED", 4_000)
    packed, lines = tmp_path / f"t.csv.{ending}", b"a,b\n" + b"1,2\n" * 999

    def write(text):
        if ending == "zip":
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("t.csv", text)
        else:
            codec = "gzip" if ending == "gz" else "zstd"
            with pa.CompressedOutputStream(pa.OSFile(str(packed), "wb"), codec) as out:
                out.write(text)

    write(lines)
    assert read_table(packed).num_rows == 999
    write(lines + b"1,2\n" * 99_999)
    with pytest.raises(InputError, match="unpacks to more than"):
        read_table(packed)
    noise = b"".join(b"%d,%d\n" % (n, n * 7919 % 10_007) for n in range(2_000))
    write(b"a,b\n" + noise)
    assert len(noise) > 4_000
    assert read_table(packed).num_rows == 2_000
