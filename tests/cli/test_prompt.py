"""The prompt of `hedgerow query`: from a pipe, from a person, and its history."""

import os
import select
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from hedgerow.cli import main
from hedgerow.cli.prompt import Prompt, _typed_statements, history_file, line_editing
from hedgerow.query import connect


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """A saved release of the generated census."""
    import hedgerow as hr
    from hedgerow.datasets import census

    folder = tmp_path_factory.mktemp("prompt") / "out"
    schema = hr.Schema(quasi=["age", "gender"], sensitive="income")
    table = census(1500, seed=3).select(["age", "gender", "income"])
    hr.KEAnonymity(k=5, e=1000).publish(table, schema).save(folder)
    return folder


@pytest.fixture
def piped(bundle):
    """Send lines through a pipe; return (exit code, output, errors)."""

    def call(*lines, options=()):
        result = CliRunner().invoke(main, ["query", str(bundle), *options], input="\n".join(lines) + "\n")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr

    return call


AVERAGE = "SELECT avg(income) AS pay FROM release WHERE age BETWEEN 25 AND 60"


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_a_pipe_asks_a_question_a_line(piped, engine):
    """Blank lines, comments and semicolons are fine; answers come in order; no prompt is printed."""
    code, output, errors = piped(
        AVERAGE, "", "-- a note", "SELECT count(*) AS n FROM release;", options=["--engine", engine]
    )
    assert (code, errors) == (0, "")
    assert output.index("pay") < output.index("1,500")
    assert "hedgerow>" not in output


def test_a_refusal_is_one_sentence_and_the_next_question_follows(piped):
    """The exit code tells a script that something was refused."""
    code, output, errors = piped("SELECT nonsense FROM", "SELECT avg(incme) FROM release", ".nope", AVERAGE)
    assert code == 2
    assert "pay" in output
    assert [line[:9] for line in errors.splitlines()] == ["hedgerow:"] * 3
    assert "income" in errors
    assert ".explain" in errors


def test_quit_leaves_at_once(piped):
    """What follows is not answered."""
    assert piped(".quit", AVERAGE) == (0, "", "")


def test_columns_and_help_say_what_can_be_asked(piped):
    """Names as they must be written, the hidden one marked, and every command."""
    code, output, _ = piped(".columns", ".help")
    assert code == 0
    for word in ("age", "gender", "income", "hidden", "as they are", ".explain", ".quit", "avg(income)"):
        assert word in output


def test_commands_as_other_prompts_call_them(piped):
    """What people type from habit is understood: questions marks, DESCRIBE, SHOW, psql's letters."""
    for also, command in (
        ("?", ".help"),
        ("DESCRIBE release;", ".columns"),
        ("show tables", ".tables"),
        ("\\d", ".columns"),
        ("\\d release", ".columns"),
    ):
        assert piped(also) == piped(command)


def test_explain_shows_sql_causes_and_advice(piped):
    """The rewritten SQL, the groups that are hit in part, and a range that was really tried."""
    code, output, errors = piped(f".explain {AVERAGE}")
    assert (code, errors) == (0, "")
    for word in (
        "JOIN help",
        "share of the uncertainty",
        "of the answer",
        "your range of age to",
        "and the answer is exact",
    ):
        assert word in output


def test_explain_of_an_exact_answer_says_that_it_is(piped):
    """There is nothing to narrow."""
    _, output, _ = piped(".explain SELECT count(*) FROM release WHERE age > 30")
    assert "exact" in output
    assert "uncertainty" not in output


def test_explain_without_a_question_is_refused(piped):
    """As is the flag without one."""
    assert "needs a question" in piped(".explain")[2]
    assert "needs a question" in piped(options=["--explain"])[2]


def test_ctrl_c_drops_a_line_and_ctrl_d_ends(monkeypatch):
    """The prompt goes on after the first and stops after the second."""
    script = iter([KeyboardInterrupt, "a question", EOFError])

    def typed(_):
        step = next(script)
        if isinstance(step, str):
            return step
        raise step

    monkeypatch.setattr("builtins.input", typed)
    assert list(_typed_statements()) == ["a question"]


def test_ctrl_c_stops_an_answer_and_not_the_prompt(salaries_release, monkeypatch, capsys):
    """The person asks on."""
    session = connect(salaries_release)
    prompt = Prompt(salaries_release, session)

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "sql", interrupted)
    assert prompt._is_refused("SELECT count(*) FROM release") is False
    assert "stopped" in capsys.readouterr().err


def test_history_keeps_questions_alone_and_privately(tmp_path, monkeypatch):
    """Commands and notes are passed over; nobody else may read the file; the next session has it again."""
    readline = pytest.importorskip("readline")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with line_editing(["age"], keep_history=True) as remember:
        for line in (
            AVERAGE,
            ".columns",
            "\\d",
            "help",
            "",
            "-- note",
            ".explain SELECT count(*) -- all\nFROM release",
        ):
            remember(line)
    kept = history_file().read_text()
    assert AVERAGE in kept
    assert "SELECT count(*) FROM release" in kept
    assert not any(word in kept for word in (".columns", "\\d", "help", ".explain", "note", "all"))
    assert history_file().stat().st_mode & 0o077 == 0
    with line_editing(["age"], keep_history=True):
        assert readline.get_current_history_length() == 2


def test_no_history_reads_and_writes_nothing(tmp_path, monkeypatch):
    """No file appears."""
    pytest.importorskip("readline")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with line_editing(["age"], keep_history=False) as remember:
        remember(AVERAGE)
    assert list(tmp_path.iterdir()) == []


_LISTENING = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from hedgerow.cli import main; main()"
)
"""A process that a shell started in the background ignores Ctrl-C, and so would what it starts."""


def test_a_person_at_a_terminal(bundle, tmp_path):
    """Tab completes, Ctrl-C drops the line, a mistake is survived, Ctrl-D leaves with 0, history is written."""
    pty = pytest.importorskip("pty")
    pytest.importorskip("readline")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "TERM": "dumb", "COLUMNS": "100"}
    command = [sys.executable, "-c", _LISTENING, "query", str(bundle)]
    # A session of its own: an interrupt must not reach the tests.
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    try:
        assert "hedgerow>" in _until(ours, "hedgerow> ")
        os.write(ours, b"SELECT count(*) AS half_typed")
        _until(ours, "half_typed")
        _interrupt(process, ours)
        os.write(ours, b"SELECT wrong FROM release\n")
        assert "hedgerow: " in _until(ours, "hedgerow> ", after="hedgerow: ")
        os.write(ours, b"SELECT avg(inc\t) AS pay FROM release\n")
        assert "avg(income) AS pay" in _until(ours, "hedgerow> ", after="expected")
        os.write(ours, b"\x04")
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    kept = (tmp_path / "hedgerow" / "history").read_text()
    assert "avg(income)" in kept
    assert "half_typed" not in kept


def _interrupt(process, descriptor):
    """Press Ctrl-C until there is a new prompt: a signal between two reads of a key waits for the next key."""
    for _ in range(10):
        process.send_signal(signal.SIGINT)
        if select.select([descriptor], [], [], 3)[0]:
            break
    _until(descriptor, "hedgerow> ")


def _until(descriptor, wanted, *, after="", seconds=30):
    """Read until `wanted` appears (behind `after`); return all that was read."""
    seen, end = "", time.monotonic() + seconds
    while wanted not in seen.partition(after)[2] if after else wanted not in seen:
        assert time.monotonic() < end, seen
        if select.select([descriptor], [], [], 0.2)[0]:
            seen += os.read(descriptor, 4096).decode()
    return seen


def test_columns_published_as_ranges_keep_their_type(tmp_path):
    """Conditions on a blurred age are conditions on numbers, so that is what the list says."""
    import hedgerow as hr
    from hedgerow.datasets import census

    schema = hr.Schema(quasi=["age", "gender"], sensitive="income")
    hr.Mondrian(k=5).publish(census(300, seed=3).select(["age", "gender", "income"]), schema).save(tmp_path / "out")
    output = CliRunner().invoke(main, ["query", str(tmp_path / "out")], input=".columns\n").stdout
    assert next(line.split()[:3] for line in output.splitlines() if line.split()[:1] == ["age"]) == [
        "age", "int64", "ranges",
    ]  # fmt: skip


def test_changed_values_are_not_called_hidden(tmp_path):
    """A release of noisy numbers has no groups to hide in: the list says that answers are estimates."""
    import hedgerow as hr
    from hedgerow.datasets import census

    schema = hr.Schema(quasi=["age", "gender"], sensitive="income")
    table = census(300, seed=3).select(["age", "gender", "income"])
    for name, method in (
        ("noise", hr.Noise(scale=0.1)),
        ("swap", hr.RankSwap(share=0.1)),
        ("kept", hr.Retention(p=0.5)),
    ):
        method.publish(table, schema).save(tmp_path / name)
        output = CliRunner().invoke(main, ["query", str(tmp_path / name)], input=".columns\n").stdout
        fates = {line.split()[0]: line for line in output.splitlines() if line.split()[2:]}
        assert "changed" in fates["income"]
        assert "as they are" in fates["age"]
        assert "hidden" not in output


def test_a_question_takes_several_lines(piped):
    """Up to a semicolon, or to where it is whole."""
    code, output, errors = piped(
        "SELECT gender,", "       avg(income) AS pay", "FROM release", "GROUP BY gender", "ORDER BY gender;",
        "SELECT count(*) AS n FROM release", "WHERE age > 0", "SELECT count(*) AS m FROM release",
    )  # fmt: skip
    assert (code, errors) == (0, "")
    assert output.count("pay") == 2
    assert output.count("1,500") == 6


def test_words_that_people_try(piped):
    """Commands of other prompts, typing errors, a column alone."""
    code, output, errors = piped("\\d", "help", ".tables", "SELEC avg(income) FROM release", "income", "exit", AVERAGE)
    assert code == 2
    assert output.count("hidden among those of its group") == 1
    assert ".regress" in output
    assert "1,500" in output
    assert "did you mean SELECT" in errors
    assert "SELECT avg(income)" in errors
    assert "pay" not in output


def test_a_regression_at_the_prompt(piped):
    """The same table as `hedgerow regress` prints."""
    code, output, _ = piped(".regress income ~ age")
    assert code == 0
    assert "Intercept" in output or "intercept" in output
    assert "not a standard error" in output
    assert "needs a formula" in piped(".regress")[2]


def test_what_the_deviation_is_stands_below_it(piped):
    """Only where there is one: exact answers have none, nor has an average over all rows."""
    assert "not a standard error" in piped(AVERAGE)[1]
    plain = piped("SELECT count(*) AS n, avg(income) AS pay FROM release")[1]
    assert plain.count("exact") == 2
    assert "standard error" not in plain


def test_json_and_csv(piped, bundle):
    """For programs: a line of JSON a question, or CSV with a header."""
    import csv
    import io
    import json

    _, output, _ = piped(AVERAGE, "SELECT gender, count(*) AS n FROM release GROUP BY gender", options=["--json"])
    first, second = (json.loads(line) for line in output.splitlines())
    pay = first["rows"][0]["pay"]
    assert pay["lower"] <= pay["expected"] <= pay["upper"]
    assert pay["exact"] is False
    assert [row["n"]["exact"] for row in second["rows"]] == [True, True]
    assert (second["sure"], second["picked"]) == ([True, True], False)
    asked = "SELECT gender, avg(income) AS pay FROM release GROUP BY gender ORDER BY pay LIMIT 1"
    assert json.loads(piped(asked, options=["--json"])[1])["picked"] is True
    _, output, _ = piped("SELECT gender, count(*) AS n FROM release GROUP BY gender ORDER BY 1", options=["--csv"])
    rows = list(csv.DictReader(io.StringIO(output)))
    assert [row["n"] for row in rows] == [row["n_lower"] for row in rows] == [row["n_upper"] for row in rows]
    assert "not as both" in piped(AVERAGE, options=["--csv", "--json"])[2]


def test_a_person_goes_on_over_lines(monkeypatch):
    """A question that is whole is given at once; one that began over several lines goes on to `;` or an empty line."""
    lines = ["SELECT 1 FROM release", "SELECT 1", "FROM release", "WHERE a;", "SELECT 2", "", KeyboardInterrupt]
    script = iter([*lines, "SELECT 3", KeyboardInterrupt, "x", EOFError])

    def typed(_):
        step = next(script)
        if isinstance(step, str):
            return step
        raise step

    monkeypatch.setattr("builtins.input", typed)
    given = [" ".join(text.split()) for text in _typed_statements()]
    assert given == ["SELECT 1 FROM release", "SELECT 1 FROM release WHERE a;", "SELECT 2", "x"]


def test_tables_of_ones_own_are_joined(piped, tmp_path):
    """From a file, by name; the other spelling is refused."""
    (tmp_path / "words.csv").write_text("gender,word\nF,she\nM,he\nfemale,she\nmale,he\nFemale,she\nMale,he\n")
    text = "SELECT word, count(*) AS n FROM release LEFT JOIN words USING (gender) GROUP BY word"
    code, output, errors = piped(text, options=["--table", f"words={tmp_path / 'words.csv'}"])
    assert (code, errors) == (0, "")
    assert "word" in output
    assert "--table takes" in piped(text, options=["--table", "words"])[2]
    assert "tables of your own" in piped(text)[2]
