"""Graphs on the command line."""

from __future__ import annotations

from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from hedgerow.cli import _with_flags, main
from hedgerow.datasets.printed import authors_and_papers


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """The printed graph as three files."""
    paths = []
    for name, table in authors_and_papers()._asdict().items():
        paths.append(str(tmp_path / f"{name}.parquet"))
        pq.write_table(table, paths[-1])
    return paths


def _run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["graph", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def test_what_an_attack_needs_is_read_before_it_begins(files: list[str], tmp_path: Path) -> None:
    """A refusal comes alone, not after half of the report; sizes of zero are refused as such."""
    out = str(tmp_path / "out")
    assert _run("publish", *files, "-k", "2", "-l", "3", "--out", out)[0] == 0
    for more in (("--links", "none.csv"), ("--other", "none"), ("--items", "-1"), ("--rounds", "-1")):
        code, text = _run("attack", out, *more)
        assert (code, "static" in text) == (2, False)
    for size in (("-k", "0", "-l", "3"), ("-k", "2", "-l", "0")):
        for verb in ("publish", "advise"):
            code, text = _run(verb, *files, *size, *(("--out", str(tmp_path / "o")) if verb == "publish" else ()))
            assert (code, "not in the range x>=1" in text) == (2, True)


def test_a_graph_is_published_verified_asked_and_attacked(files: list[str], tmp_path: Path) -> None:
    """The four verbs work on each other's output."""
    out = str(tmp_path / "out")
    code, text = _run("publish", *files, "-k", "2", "-l", "3", "--out", out)
    assert code == 0
    assert "6 entities in 2 groups of 3" in text
    assert "one of 3" in text
    code, text = _run("verify", out)
    assert code == 0
    assert text.count("ok  ") == 9
    assert "6 right entities in 2 groups of 3\n" in text
    assert "each with its group (`group`)" in (tmp_path / "out" / "README.md").read_text()
    code, text = _run("query", out, "SELECT count(*) FROM edges", "SELECT max(links(venue = 'VLDB')) FROM left")
    assert code == 0
    assert "11" in text
    links = tmp_path / "links.parquet"
    pq.write_table(pa.table({"author": ["a1"], "paper": ["p2"]}), links)
    code, text = _run("attack", out, "--links", str(links))
    assert code == 0
    assert "static" in text
    assert "promised at most 1/3" in text
    assert "learned     1 known link identifies" in text


def test_what_would_undo_a_release_is_refused(files: list[str], tmp_path: Path) -> None:
    """The ledger stops (1, l) after (k, 1); without it the attack shows why."""
    ledger, first, second = (str(tmp_path / name) for name in ("ledger.json", "first", "second"))
    assert _run("publish", *files, "-k", "2", "-l", "1", "--out", first, "--ledger", ledger)[0] == 0
    code, text = _run("publish", *files, "-k", "1", "-l", "2", "--out", second, "--ledger", ledger, "--again")
    assert code == 2
    assert "links become certain" in text
    assert not Path(second).exists()
    assert _run("publish", *files, "-k", "1", "-l", "2", "--out", second)[0] == 0
    code, text = _run("attack", first, "--other", second)
    assert code == 0
    assert "links (" in text


def test_refusals_are_one_sentence(files: list[str], tmp_path: Path) -> None:
    """Impossible sizes, unknown orders, questions without bounds and broken bundles end in a message."""
    out = str(tmp_path / "out")
    code, text = _run("publish", *files, "-k", "5", "-l", "2", "--out", out)
    assert (code, "The largest k found is 3" in text) == (2, True)
    code, text = _run("publish", *files, "-k", "2", "-l", "2", "--order", "alphabet", "--out", out)
    assert (code, "'order' must be one of" in text) == (2, True)
    assert _run("publish", *files, "-k", "2", "-l", "2", "--out", out)[0] == 0
    code, text = _run("query", out, "SELECT median(degree) FROM left")
    assert (code, "COUNT, SUM, AVG, MIN, MAX" in text) == (2, True)
    edges = Path(out, "edges.parquet")
    edges.write_bytes(edges.read_bytes()[:-1])
    code, text = _run("verify", out)
    assert (code, "not verified" in text) == (1, True)


def test_the_verbs_for_tables_know_a_graph(files: list[str], tmp_path: Path) -> None:
    """`query` and `verify` answer as the graph's own verbs do, and name those for the rest."""
    out = str(tmp_path / "out")
    assert _run("publish", *files, "-k", "2", "-l", "2", "--out", out)[0] == 0
    question = "SELECT count(*) FROM edges"
    asked = CliRunner().invoke(main, ["query", out, question])
    assert (asked.exit_code, asked.output) == _run("query", out, question)
    verified = CliRunner().invoke(main, ["verify", out])
    assert verified.exit_code == 0, verified.output
    assert "SHA-256" in verified.output
    for arguments in (
        ["query", out],
        ["query", out, question, "--explain"],
        ["query", out, question, "--engine", "duckdb"],
    ):
        refused = CliRunner().invoke(main, arguments)
        assert refused.exit_code == 2
        assert "hedgerow graph query" in refused.output or "needs a question" in refused.output
    (Path(out) / "edges.parquet").write_bytes(b"")
    assert CliRunner().invoke(main, ["verify", out]).exit_code == 1


def test_a_table_is_no_graph(files: list[str], tmp_path: Path) -> None:
    """The verbs for graphs say what the bundle holds, not that it is damaged."""
    import hedgerow as hr

    schema = hr.Schema(quasi="a", sensitive="b")
    hr.Anatomy(2).publish({"a": [1, 2, 3, 4], "b": [1, 2, 1, 2]}, schema).save(tmp_path / "table")
    for verb, *rest in (("verify",), ("query", "SELECT count(*) FROM edges"), ("attack",)):
        code, text = _run(verb, str(tmp_path / "table"), *rest)
        assert code in (1, 2)
        assert "holds a table, not a graph" in text


def test_answers_of_graphs_read_like_those_of_tables(files: list[str], tmp_path: Path) -> None:
    """Lower, expected, upper, and `exact` in place of a deviation."""
    out = str(tmp_path / "out")
    _run("publish", *files, "-k", "2", "-l", "3", "--out", out)
    text = _run("query", out, "SELECT count(*) FROM edges")[1]
    assert text.split()[:5] == ["question", "lower", "expected", "upper", "std"]
    assert text.split()[-4:] == ["11", "11", "11", "exact"]


def test_a_second_release_must_name_the_other_side(files: list[str], tmp_path: Path) -> None:
    """Releases that cannot be joined are refused by the name of the option."""
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    for out in (first, second):
        _run("publish", *files, "-k", "2", "-l", "2", "--out", out)
    code, text = _run("attack", first, "--other", second)
    assert code == 2
    assert "--other" in text


def test_summaries_of_the_verbs_are_whole() -> None:
    """No summary is cut short."""
    assert "..." not in _run("--help")[1].split("Commands:")[1]


def test_learned_links_that_are_none_are_refused_without_a_cell(files: list[str], tmp_path: Path) -> None:
    """Keys of another type, and a table of one column, are told by their names alone."""
    out, links = str(tmp_path / "out"), tmp_path / "links.parquet"
    _run("publish", *files, "-k", "2", "-l", "2", "--out", out)
    pq.write_table(pa.table({"author": [7], "paper": ["p2"]}), links)
    code, text = _run("attack", out, "--links", str(links))
    assert code == 2
    assert "The left ends of the links are no keys of the release: these are string" in text
    pq.write_table(pa.table({"author": ["a1"]}), links)
    code, text = _run("attack", out, "--links", str(links))
    assert code == 2
    assert "two columns" in text


def test_what_a_message_advises_is_a_flag_here(files: list[str], tmp_path: Path) -> None:
    """Messages are written for Python as well; the command line has flags of the same names."""
    left, right, _ = files
    wrote = tmp_path / "wrote.csv"
    out = str(tmp_path / "out")
    wrote.write_text("author,paper\na1,p1\na1,p1\na1,nobody\n")
    words = ("publish", left, right, str(wrote), "-k", "2", "-l", "2", "--out", out)
    code, text = _run(*words)
    assert (code, "--dangling drop leaves them out" in text) == (2, True)
    code, text = _run(*words, "--dangling", "drop")
    assert (code, "Say --repeats count to publish how often, or --repeats drop if" in text) == (2, True)
    star = tmp_path / "star.csv"
    star.write_text("who,what\n" + "".join(f"p{row},t0\np{row},t{row + 1}\n" for row in range(8)))
    code, text = _run("publish", str(star), "-k", "4", "-l", "2", "--out", out)
    assert (code, '="' in text) == (2, False)
    (tmp_path / "out").mkdir()
    code, text = _run("publish", str(star), "-k", "1", "-l", "2", "--hubs", "suppress", "--out", out)
    assert "overwrite=" not in text


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("use hubs=\"apart\" or hubs='suppress'.", "use --hubs apart or --hubs suppress."),
        ("or replace it (--overwrite, overwrite=True).", "or replace it (--overwrite)."),
        ("explicitly (again=True, --again).", "explicitly (--again)."),
        ("edge_k=5, strict='yes', nothing='x', left-hubs='y'", "edge_k=5, strict='yes', nothing='x', left-hubs='y'"),
        ("needs edge_k='5'", "needs --edge-k 5"),
    ],
)
def test_keywords_become_flags_where_there_are_some(message: str, shown: str) -> None:
    """A flag that takes no value stands for True; what is no option stays."""
    assert _with_flags(message, main.get_command(click.Context(main), "graph")) == shown
