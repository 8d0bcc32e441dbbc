"""Habits of every verb: --quiet, --json, manual pages, completion, help by method, the difference of recipes."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import jsonschema
import pytest
from click.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import VERBS, main
from hedgerow.methods import METHODS
from hedgerow.methods.registry import parameters_of

CSV = "age,sex,pay\n" + "\n".join(f"{20 + n},{'fm'[n % 2]},{100 * n}" for n in range(12)) + "\n"
RECIPE = """
table = "table.csv"
output = "out"
[roles]
quasi = ["age", "sex"]
sensitive = ["pay"]
[method]
name = "ke"
k = 3
e = 100
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table, a recipe and a bundle, as the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text(CSV)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    run("publish", "recipe.toml", "--ledger", "ledger.json")
    return tmp_path


def run(*words, code=0):
    """Run the command line, and return what it printed."""
    result = CliRunner().invoke(main, words, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def verbs(command=main, path=()):
    """Every verb that can be run, with the words that lead to it."""
    context = click.Context(main)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        if isinstance(inner, click.Group):
            yield from verbs(inner, (*path, name))
        else:
            yield (*path, name), inner


def test_every_verb_can_be_quiet():
    """--quiet is there once, on verbs below verbs, too."""
    for words, command in verbs():
        assert [option.name for option in command.params].count("quiet") == 1, words


def test_numbers_that_are_counts_have_a_range():
    """A size of zero was taken for none, divided by, or refused after half of the work."""
    for words, command in verbs():
        for option in command.params:
            if option.type is click.INT:
                assert option.name == "seed", (words, option.opts)


def test_options_are_described_in_one_style():
    """A phrase each: it begins in lower case, unless its first word is an abbreviation, and has no full stop."""
    for words, command in verbs():
        for option in command.params:
            if isinstance(option, click.Option):
                begins, ends = option.help[:2], option.help.removesuffix("...")[-1]
                assert begins.islower() or begins.isupper() or begins[1] == " ", (words, option.opts)
                assert ends != ".", (words, option.opts)


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "out"),
        ("inspect", "table.csv"),
        ("publish", "recipe.toml", "--overwrite"),
        ("ledger", "ledger.json"),
        ("certify", "out"),
        ("attack", "out", "--original", "table.csv"),
        ("diff", "recipe.toml", "recipe.toml"),
        ("query", "out", "SELECT sum(pay) FROM release"),
    ],
    ids=lambda words: words[0],
)
def test_quiet_prints_nothing(folder, words):
    """Neither results nor progress; files are written all the same."""
    result = run(*words, "--quiet")
    assert result.stdout == ""
    assert result.stderr == ""


def test_quiet_still_refuses_aloud(folder):
    """An error is printed, and the exit code tells."""
    result = run("query", "out", "SELECT sum(nothing) FROM release", "--quiet", code=2)
    assert "nothing" in result.stderr


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (("verify", "out"), {"verified", "checks"}),
        (("inspect", "table.csv"), {"rows", "reading", "columns"}),
        (("certify", "out"), {"promise", "checks", "version"}),
        (("query", "out", "SELECT sum(pay) FROM release"), None),
        (("ledger", "ledger.json"), None),
        (("ledger", "ledger.json", "check", "table.csv"), None),
        (("compare", "out", "--original", "table.csv"), {"out"}),
        (("hierarchy", "table.csv", "--column", "age", "--intervals", "5,10"), None),
        (("diff", "recipe.toml", "recipe.toml"), None),
    ],
    ids=lambda value: " ".join(value[:1]) if isinstance(value, tuple) else "",
)
def test_json_alone_is_printed(folder, words, keys):
    """With --json the output is one JSON document; --quiet does not silence it."""
    for more in ([], ["--quiet"]):
        told = json.loads(run(*words, "--json", *more).stdout)
        assert keys is None or keys <= set(told)


def _schemas():
    """The schema of each verb, from the page about the command line."""
    page = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text()
    return {verb: json.loads(text) for verb, text in re.findall(r"^`([^`]+)`:\n\n```json\n(.*?)```", page, re.M | re.S)}


ROLES = ("--quasi", "age,sex", "--sensitive", "pay")
TABLES = ("left.csv", "right.csv", "edges.csv")
ASKED = {
    "inspect": "inspect table.csv",
    "hierarchy": "hierarchy table.csv --column age --intervals 5,10",
    "advise": ("advise", "table.csv", *ROLES),
    "explore": ("explore", "table.csv", *ROLES, "--hierarchy", "age=age.csv", "--hierarchy", "sex=sex.csv", "--k", "2"),
    "publish": "publish recipe.toml --overwrite",
    "query": ("query", "out", "SELECT sex, sum(pay) AS total FROM release GROUP BY sex"),
    "regress": ("regress", "out", "pay ~ age"),
    "compare": "compare out --original table.csv",
    "export": "export out --csv files",
    "verify": "verify out",
    "attack": "attack out --original table.csv",
    "ledger": "ledger ledger.json check table.csv",
    "ledger history": "ledger ledger.json history",
    "certify": "certify out",
    "certify --check": "certify out --check certificate/certificate.json",
    "graph publish": ("graph", "publish", *TABLES, "-k", "2", "-l", "2", "--out", "links", "--ledger", "g.json"),
    "graph advise": ("graph", "advise", *TABLES, "-k", "2", "-l", "2"),
    "graph draw": "graph draw links --out links.png",
    "graph export": "graph export links --csv links-csv",
    "graph compare": ("graph", "compare", "links", *TABLES, "--count", "2"),
    "graph query": ("graph", "query", "links", "SELECT count(*) FROM edges", "SELECT avg(degree) FROM left"),
    "graph verify": "graph verify links",
    "graph attack": "graph attack links",
    "diff": "diff recipe.toml recipe.toml",
    "completion": "completion bash",
    "man": "man pages",
    "demo": "demo shown",
    "ledger forget": None,
    "app": None,
}
"""A call of each verb; `app` and `ledger forget` have tests of their own."""


def test_json_of_every_verb_fits_the_documented_schema(folder, monkeypatch):
    """What verbs print is what the page says, and --json FILE writes the same beside what is printed."""
    monkeypatch.setattr("hedgerow.cli.demo.ROWS", 500)
    run("hierarchy", "table.csv", "--column", "age", "--intervals", "5,10", "--out", "age.csv")
    (folder / "sex.csv").write_text("f;*\nm;*\n")
    (folder / "left.csv").write_text("person,town\n" + "".join(f"p{n},t{n % 4}\n" for n in range(30)))
    (folder / "right.csv").write_text("shop,kind\n" + "".join(f"s{n},k{n % 3}\n" for n in range(20)))
    (folder / "edges.csv").write_text("person,shop\n" + "".join(f"p{n},s{n * 7 % 20}\n" for n in range(30)))
    schemas = _schemas()
    assert set(schemas) == set(ASKED)
    assert {" ".join(words) for words, _ in verbs()} <= set(ASKED)
    for verb, call in ASKED.items():
        if call is not None:
            printed = run(*(call.split() if isinstance(call, str) else call), "--json").stdout
            jsonschema.validate(json.loads(printed), schemas[verb])
    first = run("ledger", "ledger.json", "--json", "listed.json").stdout
    assert "1 release in ledger.json" in first
    entry = json.loads((folder / "listed.json").read_text())[0]["release"]
    jsonschema.validate(
        json.loads(run("ledger", "ledger.json", "forget", entry, "--json").stdout), schemas["ledger forget"]
    )


def test_the_app_prints_its_address_as_json(folder):
    """One line, before the server begins."""
    words = [sys.executable, "-m", "hedgerow", "app", "table.csv", "--no-browser", "--json"]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        told = ""
        while not told.endswith("}\n"):
            told += process.stdout.readline()
        process.terminate()
    jsonschema.validate(json.loads(told), _schemas()["app"])


def test_a_file_of_json_is_written_beside_what_is_printed(folder):
    """In every order of words; what does not end in .json is no file of JSON."""
    plain = run("verify", "out").stdout
    for words in (
        ("verify", "out", "--json", "v.json"),
        ("verify", "--json", "v.json", "out"),
        ("verify", "--json=v.json", "out"),
    ):
        assert run(*words).stdout == plain
        assert json.loads((folder / "v.json").read_text())["verified"] is True
        (folder / "v.json").unlink()
    assert json.loads(run("verify", "--json", "out").stdout)["verified"] is True
    assert json.loads(run("ledger", "--json", "ledger.json").stdout)[0]["method"] == "KEAnonymity"
    assert ".json" in run("verify", "out", "--json=table.csv", code=2).stderr


BEFORE = {
    "attack": ("attack", "out", "--figure"),
    "regress": ("regress", "out", "pay ~ age", "--figure"),
    "advise": ("advise", "table.csv", *ROLES, "--figure"),
    "advise --recipe": ("advise", "table.csv", *ROLES, "--recipe"),
    "explore": ("explore", "table.csv", *ROLES, "--k", "2", "--figure"),
    "compare": ("compare", "out", "--answers"),
    "certify": ("certify", "out", "--out"),
    "publish": ("publish", "table.csv", *ROLES, "--method", "ke", "--k", "2", "--out"),
    "graph publish": ("graph", "publish", *TABLES, "-k", "2", "-l", "2", "--out"),
    "hierarchy": ("hierarchy", "table.csv", "--column", "age", "--digits", "--out"),
    "export": ("export", "out", "--sqlite"),
    "man": ("man",),
    **{
        f"{verb} --json": (*words, "--json")
        for verb, words in {
            "verify": ("verify", "out"),
            "query": ("query", "out", "SELECT count(*) FROM release"),
        }.items()
    },
}


@pytest.mark.parametrize("name", BEFORE)
def test_places_are_tried_before_any_work(folder, name, monkeypatch):
    """Below a file nothing can be written: it is refused before a table or a release is opened."""

    def never(*args, **options):
        raise AssertionError("work began")

    for place in (
        "hedgerow.table.read_table",
        "hedgerow.release.read",
        "hedgerow.front.holds_graph",
        "hedgerow.front.open_bundle",
    ):
        monkeypatch.setattr(place, never)
    ending = {"advise --recipe": ".toml", "verify --json": ".json", "query --json": ".json"}.get(name, "")
    told = run(*BEFORE[name], f"table.csv/place{ending}", code=2).stderr
    assert "cannot be written" in told
    assert (folder / "table.csv").read_text() == CSV


DRAWN = (
    *(BEFORE[verb] for verb in ("attack", "regress", "explore")),
    ("advise", "table.csv", "--quasi", "age", "--sensitive", "sex", "--others", "identifier", "--figure"),
)


@pytest.mark.parametrize("words", DRAWN, ids=lambda words: words[0])
def test_a_figure_is_what_its_name_says(folder, words):
    """Written as .png and .svg, whichever is named, and said where; another ending is refused before any work."""
    for name in ("one.png", "two.svg", "three"):
        assert f"{Path(name).stem}.png" in run(*words, name).output
    assert {file.name for file in folder.iterdir() if file.suffix in (".png", ".svg")} == {
        f"{stem}.{ending}" for stem in ("one", "two", "three") for ending in ("png", "svg")
    }
    for name in ("four.jpg", "four.pdf", "v1.2"):
        assert "must end in .png or .svg" in run(*words, name, code=2).stderr


def test_every_place_that_is_written_is_tried():
    """An option that names something to write has the type that tries it."""
    from hedgerow.cli.output import Output

    writing = {"out", "figure", "csv", "sqlite", "excel", "stata", "spss", "recipe_file", "answers", "json", "folder"}
    for words, command in verbs():
        for parameter in command.params:
            if parameter.name in writing and isinstance(parameter.type, click.Path):
                assert isinstance(parameter.type, Output), (words, parameter.name)


@pytest.mark.parametrize(
    "words",
    [
        ("hierarchy", "table.csv", "--column", "age", "--digits", "--out", "table.csv", "--overwrite"),
        ("compare", "out", "--original", "table.csv", "--answers", "./table.csv"),
        ("verify", "out", "--json", "out/verdict.json"),
        ("publish", "recipe.toml", "--overwrite", "--json", "ledger.json"),
        ("ledger", "ledger.json", "--json", "ledger.json"),
        ("attack", "out", "--figure", "out/rates.png"),
        ("advise", "table.csv", *ROLES, "--recipe", "same.toml", "--figure", "same.toml"),
    ],
    ids=lambda words: words[0],
)
def test_nothing_is_written_over_what_is_read_or_into_a_release(folder, words):
    """Tables, ledgers and releases stay as they are."""
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    run(*words, code=2)
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


def test_json_of_a_broken_bundle(folder):
    """The verdict of a bundle that does not verify is data as well, with exit code 1."""
    (folder / "out" / "release.parquet").write_bytes(b"")
    told = json.loads(run("verify", "out", "--json", code=1).stdout)
    assert told["verified"] is False
    assert told["reason"]


@pytest.mark.parametrize("name", METHODS)
def test_help_of_one_method_has_its_parameters_alone(name):
    """`hedgerow publish ke --help` names the parameters of ke, and no other method's."""
    text = run("publish", name, "--help").stdout
    mine = {f"--{one.name.replace('_', '-')}" for one in parameters_of(name) if one.name != "knowledge"}
    assert {word for word in text.replace("\n", " ").split() if word in mine} == mine
    assert "--delimiter" not in text


def test_manual_pages_for_every_verb(tmp_path):
    """Each verb has a page that a manual reader takes without a warning."""
    run("man", str(tmp_path / "man1"))
    pages = {page.stem for page in (tmp_path / "man1").iterdir()}
    assert pages == {"hedgerow", *("hedgerow-" + "-".join(words) for words, _ in verbs()), "hedgerow-graph"}
    if shutil.which("groff"):
        for page in (tmp_path / "man1").iterdir():
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, check=True)
            assert done.stdout
            assert not done.stderr, done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell, tmp_path):
    """The script is one that the shell reads without complaint, where the shell is at hand."""
    script = run("completion", shell).stdout
    assert "_HEDGEROW_COMPLETE" in script
    if shutil.which(shell):
        file = tmp_path / "script"
        file.write_text(script)
        flag = "--no-execute" if shell == "fish" else "-n"
        assert subprocess.run([shell, flag, file], capture_output=True, check=True).stderr == b""


def test_the_difference_of_recipes(folder):
    """Settings that differ are named with both values, roles by column; equal recipes differ in nothing."""
    changed = RECIPE.replace("k = 3", "k = 4").replace('quasi = ["age", "sex"]', 'quasi = ["sex"]\nplain = ["age"]')
    (folder / "other.toml").write_text(changed)
    found = json.loads(run("diff", "recipe.toml", "other.toml", "--json", code=1).stdout)
    assert sorted(tuple(one.values()) for one in found) == [("method.k", 3, 4), ("roles.age", "quasi", "plain")]
    assert "They say the same." in run("diff", "recipe.toml", "recipe.toml").stdout
    assert "k" in run("diff", "recipe.toml", "other.toml", code=1).stdout


def test_the_order_of_columns_is_no_difference(folder):
    """A recipe whose roles name the same columns in another order says the same."""
    (folder / "other.toml").write_text(RECIPE.replace('["age", "sex"]', '["sex", "age"]'))
    run("diff", "recipe.toml", "other.toml")


def test_the_list_of_verbs_is_complete():
    """Every verb of the list has a module."""
    assert [words[0] for words, _ in verbs() if len(words) == 1] == [verb for verb in VERBS if verb != "graph"]
    assert hr.__version__ in run("--version").stdout


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("verfy", "out"), "verify"),
        (("graph", "publsh"), "publish"),
        (("verify", "out", "--jsn"), "--json"),
        (("completion", "bsh"), "bash"),
        (("ledger", "ledger.json", "histry"), "history"),
        (("query", "out", "SELECT avg(pya) FROM release"), "pay"),
        (("query", "out", "SELECT sum(pay) FROM release", "--estimate", "lerned"), "learned"),
        (("hierarchy", "table.csv", "--column", "agee", "--digits"), "age"),
        (("regress", "out", "pya ~ age"), "pay"),
        (("publish", "table.csv", *ROLES, "--method", "kee", "--out", "o"), "ke"),
        (("publish", "table.csv", "--quasi", "agee", "--sensitive", "pay", "--others", "identifier", "--method", "ke",
          "--k", "2", "--out", "o"), "age"),
        (("publish", "ke", "--others", "identifer"), "identifier"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_the_nearest_word_is_named_everywhere(folder, words, meant):
    """Verbs, options, choices, columns and methods."""
    told = run(*words, code=2).stderr.lower()
    assert "did you mean" in told
    assert meant in told.split("did you mean")[1]


def test_the_demo_goes_on_without_figures(tmp_path, monkeypatch):
    """An install without matplotlib shows everything else, and says how to get figures."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("hedgerow.cli.demo.ROWS", 500)
    told = run("demo", str(tmp_path / "demo")).stdout
    assert "pip install 'hedgerow[plot]'" in told
    assert "Ask more" in told


@pytest.mark.parametrize("population", ["0", "11", "few.csv", "other.csv", "typed.csv"])
def test_a_population_that_cannot_be_writes_nothing(folder, population):
    """Fewer people than the table, or a table without the quasi-identifiers or with others, is refused first."""
    (folder / "few.csv").write_text("age,sex\n20,f\n")
    (folder / "typed.csv").write_text("age,sex\n" + "x,f\n" * 50)
    (folder / "other.csv").write_text("name\n" + "x\n" * 20)
    (folder / "new.toml").write_text(RECIPE.replace('"out"', '"new"'))
    run("publish", "new.toml", "--population", population, code=2)
    assert not (folder / "new").exists()


def test_a_population_is_read_as_the_table_is(folder):
    """What was declared for the table holds for it; types of columns that it does not have do not matter."""
    (folder / "all.csv").write_text("age;sex\n" + "".join(f"{20 + n % 20};f\n" for n in range(100)))
    (folder / "some.csv").write_text("age;sex;pay\n" + "".join(f"{20 + n % 20};f;{n}\n" for n in range(40)))
    flags = ("--quasi", "age,sex", "--sensitive", "pay", "--method", "ke", "--k", "2", "--e", "1", "--out", "new")
    reading = ("--delimiter", ";", "--types", "age=text,pay=whole")
    assert "k-map" in run("publish", "some.csv", *flags, *reading, "--population", "all.csv").stdout


@pytest.mark.parametrize("width", ["1e999999999", "nan", "-inf", "x"])
def test_widths_of_intervals_are_finite(folder, width):
    """Whatever is no finite number is refused in a sentence."""
    assert "such as 5,10,20" in run("hierarchy", "table.csv", "--column", "age", "--intervals", width, code=2).stderr


def test_a_recipe_is_never_written_over_a_table(folder):
    """--recipe takes the name of a recipe alone."""
    words = ("--quasi", "age,sex", "--sensitive", "pay", "--recipe", "table.csv")
    assert ".toml" in run("advise", "table.csv", *words, code=2).stderr
    assert (folder / "table.csv").read_text() == CSV
