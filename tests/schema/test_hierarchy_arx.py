from pathlib import Path

import pyarrow as pa
import pytest

from hedgerow.errors import InputError, ParameterError, SchemaError
from hedgerow.schema import Hierarchy
from studies.real import adult_arx, adult_hierarchies, data_folder


def _file(folder: Path, text: str | bytes) -> Path:
    path = folder / "tree.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_leaves_are_brought_together(tmp_path: Path) -> None:
    """Lines in any order give each branch a contiguous run, branches in the order of their first line."""
    tree = Hierarchy.from_arx(_file(tmp_path, "b;X;*\na;Y;*\nc;X;*\n"))
    assert tree.leaves.to_pylist() == ["b", "c", "a"]
    assert [tree.labels[node] for node in tree.recode(1)] == ["X", "X", "Y"]


def test_repeated_labels_on_a_line_are_one_branch_each(tmp_path: Path) -> None:
    """ARX repeats a label where a value is not generalized further."""
    tree = Hierarchy.from_arx(_file(tmp_path, "m;m;*\nf;f;*\n"))
    assert tree.height == 2
    assert tree.lines() == [("m", "m", "*"), ("f", "f", "*")]


def test_marks_and_quotes_are_read(tmp_path: Path) -> None:
    """A byte-order mark, Windows line ends, quotes and other delimiters are no obstacle."""
    path = _file(tmp_path, b'\xef\xbb\xbf"a,1",X,*\r\nb,X,*\r\n')
    assert Hierarchy.from_arx(path, delimiter=",").leaves.to_pylist() == ["a,1", "b"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a;X;*\nb;X\n", "line 2 must have 3 columns"),
        ("a;X;*\na;Y;*\n", "'a' is listed again"),
        ("a;X;*\nb;X;+\n", "must hold one label; it holds 2"),
        ("a;X;P;*\nb;X;Q;*\n", "'X' of level 1 lies under two labels of level 2"),
        ("a\nb\n", "at least two columns"),
        (";".join("abcdefgh" * 9), "at most 64 levels"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, text: str, words: str) -> None:
    """Ragged lines, doubles, several roots and overlapping branches raise, and the message says which."""
    with pytest.raises(SchemaError, match=words):
        Hierarchy.from_arx(_file(tmp_path, text))


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xfea\x00;\x00", b'"a;b\n'])
def test_unreadable_files_are_refused(tmp_path: Path, content: bytes) -> None:
    """Empty files, UTF-16 and open quotes raise one sentence."""
    with pytest.raises(InputError):
        Hierarchy.from_arx(_file(tmp_path, content))


@pytest.mark.parametrize("delimiter", ["", ";;", "\n", '"', None, 3])
def test_a_delimiter_is_one_character(tmp_path: Path, delimiter: object) -> None:
    """Anything else is refused by name."""
    with pytest.raises(ParameterError, match="'delimiter' must be one character"):
        Hierarchy.from_arx(_file(tmp_path, "a;*"), delimiter=delimiter)  # type: ignore[arg-type]


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """A path that leads nowhere is an input error, not a traceback."""
    with pytest.raises(InputError, match="no such file or directory"):
        Hierarchy.from_arx(tmp_path / "none.csv")


@pytest.mark.skipif(data_folder() is None, reason="the Adult hierarchies are not on this machine")
def test_the_adult_hierarchies_fit_adult() -> None:
    """All nine published hierarchies parse and hold every value of their column."""
    table = adult_arx()
    files = adult_hierarchies()
    assert set(files) == set(table.column_names)
    for column, path in files.items():
        tree = Hierarchy.from_arx(path)
        distinct = table[column].unique()
        codes = tree.leaf_codes(column, pa.array(distinct.to_pylist(), distinct.type))
        assert len(set(codes.tolist())) == len(distinct)
        assert {tree.labels[node] for node in tree.recode(tree.height)} == {"*"}


def test_a_file_whose_quotes_are_broken_says_so(tmp_path):
    """The reason is in words; the name of an exception is none."""
    (tmp_path / "h.csv").write_text('"a" b;*\n"c;*\n')
    with pytest.raises(InputError, match="its quotes or line ends are broken"):
        Hierarchy.from_arx(tmp_path / "h.csv")
    (tmp_path / "l.csv").write_bytes("gr\xfcn;*\n".encode("latin-1"))
    with pytest.raises(InputError, match="it is not UTF-8"):
        Hierarchy.from_arx(tmp_path / "l.csv")
