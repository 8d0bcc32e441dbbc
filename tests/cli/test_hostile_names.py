"""Names and cells of a bundle that a stranger sent steer no terminal, whichever verb prints them."""

import pyarrow as pa
import pytest
from click.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import main

CLEAR, TITLE, TURN = "\x1b[2J", "\x1b]0;x\x07", "\u202e"
NAME = f"pay{CLEAR}\nok  all is well{TURN}"
TOWN = f"town{TITLE}"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """A bundle whose columns and cells clear the screen, name the window and turn the direction of lines."""
    place = tmp_path_factory.mktemp("hostile") / "out"
    towns = [f"a{CLEAR}", f"b{TURN}", f"c{TITLE}", "d\u200ce"]
    table = pa.table({TOWN: towns * 4, NAME: [float(n % 4) for n in range(16)]})
    hr.Anatomy(l=2).publish(table, hr.Schema(quasi=[TOWN], sensitive=NAME)).save(place)
    return place


@pytest.mark.parametrize("arguments", [
    ["verify", "BUNDLE"],
    ["attack", "BUNDLE"],
    ["certify", "BUNDLE"],
    ["compare", "BUNDLE", "BUNDLE", "--workload", "4"],
    ["query", "BUNDLE", f'SELECT "{TOWN}", count(*) FROM release GROUP BY 1'],
    ["query", "BUNDLE", f'SELECT avg("{NAME}") FROM release'],
])  # fmt: skip
def test_nothing_steers_the_terminal(bundle, tmp_path, arguments, monkeypatch):
    """Signs are spelled out; those that only join letters stay."""
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(main, [str(bundle) if word == "BUNDLE" else word for word in arguments])
    for sign in ("\x1b", "\x07", TURN):
        assert sign not in found.output
    if arguments[0] == "verify":
        assert [line[:4] for line in found.output.splitlines()] == ["ok  "] * 6
    if "GROUP BY" in arguments[-1]:
        assert "d\u200ce" in found.output
        assert r"a\x1b[2J" in found.output


STRANGE = "a\x1b[31mb\u202ec"


@pytest.mark.parametrize(
    "words", [["frob" + STRANGE], ["verify", "one", STRANGE], ["export", "BUNDLE", "--csv", STRANGE], ["man", STRANGE]]
)
def test_names_of_files_do_not_steer_the_terminal(words, bundle, tmp_path, monkeypatch):
    """A shell puts the names of a stranger's files on the line, and refusals and results quote them."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, [str(bundle) if word == "BUNDLE" else word for word in words], color=True)
    assert "\\u202e" in done.output
    assert "\x1b[31mb" not in done.output
    assert "\u202e" not in done.output
