"""The ledger on the command line: what was published, is this table among it, take that one out."""

import pyarrow as pa
import pytest
from click.testing import CliRunner

import hedgerow as hr
import hedgerow.ledger
from hedgerow.cli import main
from hedgerow.table import write_csv


def _run(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    return result.exit_code, result.output


@pytest.fixture
def place(tmp_path):
    """A folder with a table of thirty people, and another with five of them among ten."""
    for name, first, last in (("people", 0, 30), ("later", 25, 35)):
        columns = {"name": [f"n{n}" for n in range(first, last)], "age": list(range(first, last))}
        write_csv(pa.table({**columns, "pay": [n % 5 for n in range(first, last)]}), tmp_path / f"{name}.csv")
    return tmp_path


def _publish(place, table, *more):
    flags = ("--quasi", "age", "--identifier", "name", "--sensitive", "pay", "--method", "anatomy", "--l", "2")
    return _run("publish", place / table, *flags, "--ledger", place / "ledger.json", *more)


def test_a_second_release_is_refused_unless_asked_for(place):
    """Publishing records; the same rows again need a flag; the refusal counts rows and shows none."""
    code, text = _publish(place, "people.csv", "--out", place / "one")
    assert code == 0
    assert "recorded as" in text
    code, text = _publish(place, "later.csv", "--out", place / "two")
    assert code == 2
    assert "5 of 10 rows were published before" in text
    assert not (place / "two").exists()
    assert _publish(place, "later.csv", "--out", place / "two", "--again")[0] == 0
    assert [entry.bundle is not None for entry in hr.Ledger.open(place / "ledger.json").entries] == [True, True]


def test_a_release_that_could_not_be_saved_is_not_in_the_ledger(place):
    """A folder that is taken stops the release, and the next try is not refused for it."""
    (place / "one").mkdir()
    (place / "one" / "thesis.txt").write_text("years of work")
    assert _publish(place, "people.csv", "--out", place / "one")[0] == 2
    assert hr.Ledger.open(place / "ledger.json").entries == ()
    assert _publish(place, "people.csv", "--out", place / "two")[0] == 0


def test_a_bundle_that_is_in_place_stays_in_the_ledger(place, monkeypatch):
    """If the ledger cannot be confirmed after the bundle was written, the release has left and its entry stays."""

    def interrupted(receipt, bundle):
        raise KeyboardInterrupt

    monkeypatch.setattr(hr.ledger.Receipt, "confirm", interrupted)
    assert _publish(place, "people.csv", "--out", place / "one")[0] != 0
    assert (place / "one").exists()
    assert len(hr.Ledger.open(place / "ledger.json").entries) == 1


def test_a_recipe_names_its_ledger(place):
    """The key `ledger` of a recipe is relative to the recipe."""
    (place / "recipe.toml").write_text(
        'table = "people.csv"\noutput = "out"\nledger = "mine.json"\n'
        '[roles]\nquasi = ["age"]\nidentifier = ["name"]\nsensitive = ["pay"]\n[method]\nname = "anatomy"\nl = 2\n'
    )
    assert _run("publish", place / "recipe.toml")[0] == 0
    assert len(hr.Ledger.open(place / "mine.json").entries) == 1
    assert "published before" in _run("publish", place / "recipe.toml", "--overwrite")[1]


def test_without_a_ledger_the_summary_says_so(place):
    """Nobody has to keep one, but everybody is told."""
    arguments = ("--quasi", "age", "--identifier", "name", "--sensitive", "pay", "--method", "anatomy", "--l", "2")
    code, text = _run("publish", place / "people.csv", *arguments, "--out", place / "one")
    assert code == 0
    assert "would go unnoticed" in text


def test_the_verb_lists_checks_and_forgets(place):
    """What was published is a table of methods and counts; forgetting makes room."""
    _publish(place, "people.csv", "--out", place / "one")
    file = place / "ledger.json"
    (entry,) = hr.Ledger.open(file).entries
    code, text = _run("ledger", file)
    assert code == 0
    assert all(part in text for part in ("1 release in ledger.json", entry.id, "Anatomy", "l=2", entry.bundle[:12]))
    assert "n25" not in text
    assert "5 of 10" in _run("ledger", file, "check", place / "later.csv")[1]
    assert "yes" in _run("ledger", file, "check", place / "people.csv")[1]
    assert "1 forgotten, 0 left" in _run("ledger", file, "forget", entry.id)[1]
    assert "is known to hold a row" in _run("ledger", file, "check", place / "people.csv")[1]
    assert "0 releases" in _run("ledger", file, "list")[1]


@pytest.mark.parametrize(
    "arguments", [("check",), ("check", "a", "b"), ("forget",), ("forget", "nothere"), ("list", "x")]
)
def test_wrong_arguments_end_in_a_sentence(place, arguments):
    """What the verb cannot do it says in one line."""
    _publish(place, "people.csv", "--out", place / "one")
    code, text = _run("ledger", place / "ledger.json", *arguments)
    assert code == 2
    assert text.startswith("hedgerow: ")


def test_graphs_stand_in_the_same_ledger(place):
    """Releases of tables and of graphs are listed side by side."""
    import hedgerow.graph as hg
    from hedgerow.datasets.printed import authors_and_papers

    _publish(place, "people.csv", "--out", place / "one")
    hg.SafeGrouping(2, 3).publish(hg.BipartiteGraph.read(*authors_and_papers()), ledger=place / "ledger.json")
    text = _run("ledger", place / "ledger.json")[1]
    assert "2 releases" in text
    assert "k=2, l=3" in text


def test_the_history_says_what_changed_and_what_to_withdraw(tmp_path, run, monkeypatch):
    """Releases of one table are compared with the one before; one that was never saved can be forgotten."""
    import json

    from hedgerow.ledger import Ledger

    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("age,pay\n" + "".join(f"{n},{n * 10}\n" for n in range(24)))
    flags = ("t.csv", "--quasi", "age", "--sensitive", "pay", "--method", "ke", "--ledger", "l.json", "--again")
    for number, k in enumerate((2, 3)):
        code, _, errors = run("publish", *flags, "--k", k, "--out", f"out{number}")
        assert code == 0, errors
    schema = hr.Schema(quasi="age", sensitive="pay")
    hr.KEAnonymity(k=3).publish("t.csv", schema, ledger="l.json", again=True)
    first, second, third = json.loads(run("ledger", "l.json", "history", "--json")[1])
    assert first["changed"] == ["the first"]
    assert second["changed"] == ["k 2 -> 3"]
    assert third["changed"] == ["nothing"]
    assert "withdraw the bundle" in second["undo"]
    assert Ledger.open("l.json").entries[1].bundle[:12] in second["undo"]
    assert third["is_saved"] is False
    assert f"forget {third['release']}" in run("ledger", "l.json")[1]
    assert "k 2 -> 3" in " ".join(run("ledger", "l.json", "history")[1].split())


def test_a_table_is_checked_as_it_is_declared(place):
    """A table that was published with declarations is read by the same ones; actions that read none refuse them."""
    assert _publish(place, "people.csv", "--out", place / "one")[0] == 0
    text = (place / "people.csv").read_text().split("\n", 1)[1].replace(",", "|")
    (place / "bare.csv").write_text(text)
    code, told = _run("ledger", place / "ledger.json", "check", place / "bare.csv", "--no-header", "--delimiter", "|")
    assert (code, "is known to hold" in told) == (0, True)  # columns of other names tell nothing
    (place / "named.csv").write_text("name|age|pay\n" + text)
    code, told = _run("ledger", place / "ledger.json", "check", place / "named.csv", "--types", "age=text")
    assert (code, "30 of 30" in told) == (0, True)
    code, told = _run("ledger", place / "ledger.json", "list", "--types", "age=text")
    assert (code, "an option of reading a table" in told) == (2, True)
