"""The command line as a new user meets it."""

import json
import re

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from hedgerow.cli import main
from hedgerow.datasets import census


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A census as a CSV file."""
    file = tmp_path_factory.mktemp("cli") / "people.csv"
    table = census(2000, seed=1).select(["age", "gender", "education", "income"])
    pyarrow.csv.write_csv(table.append_column("id", pa.array([f"p{i:04d}" for i in range(2000)])), file)
    return file


FLAGS = ("--quasi", "age,gender,education", "--sensitive", "income", "--identifier", "id", "--method", "ke")


@pytest.fixture
def bundle(people, tmp_path, run):
    """A release published by flags."""
    code, _, errors = run("publish", people, *FLAGS, "--k", 4, "--e", 1000, "--out", tmp_path / "out")
    assert code == 0, errors
    return tmp_path / "out"


def test_inspect_suggests_roles_with_reasons(people, run):
    """Every column comes with a type, counts, a role and a because."""
    code, output, _ = run("inspect", people)
    assert code == 0
    assert "2,000 rows, 5 columns" in output
    for word in ("age", "income", "identifier", "sensitive", "because"):
        assert word in output


@pytest.mark.parametrize("more", [(), ("--engine", "duckdb", "--memory", "256MB")])
def test_publish_says_what_is_published_unchanged(people, tmp_path, run, more):
    """In memory and in blocks, where nothing of it and of the source of randomness was said."""
    code, output, errors = run("publish", people, *FLAGS, "--k", 4, "--e", 1000, "--out", tmp_path / "o", *more)
    assert code == 0, errors
    assert re.search(r"as they were +age, gender, education", output)
    assert re.search(r"randomness +the operating system", output)


def test_publish_says_what_it_did(people, tmp_path, run):
    """The summary names rows, groups, the promise, typical bounds, suppressed rows and time."""
    code, output, _ = run("publish", people, *FLAGS, "--k", 4, "--e", 1000, "--out", tmp_path / "o")
    assert code == 0
    for word in (
        "rows",
        "2,000 of 2,000",
        "suppressed",
        "groups",
        "promise",
        "typical bounds",
        "the operating system",
        "time",
    ):
        assert word in output


WALK = ("--quasi", "age,gender,education", "--plain", "income", "--identifier", "id", "--method", "walk")


def test_a_walk_is_planned_and_published_by_flags(people, tmp_path, run):
    """The plan says what would be kept and writes nothing; the same flags publish and keep it."""
    keep = ("--keep", "age >= 40; age[30] <= age[50]")
    flags = (*WALK, "--columns", "age", *keep, "--whole", "false", "--layout", "runs")
    code, output, errors = run("publish", people, *flags, "--plan")
    assert (code, errors) == (0, "")
    assert output.startswith("'age': ")
    assert 'given: "age" >= 40' in output
    assert list(tmp_path.iterdir()) == []
    code, _, errors = run("publish", people, *flags, "--out", tmp_path / "o")
    assert code == 0, errors
    published = pq.read_table(tmp_path / "o" / "release.parquet")["age"].to_numpy()
    original = pa.csv.read_csv(people)["age"].to_numpy()
    assert (published >= 40).sum() == (original >= 40).sum()
    assert (published % 1 > 0).any()
    code, _, errors = run("publish", people, *WALK, "--steps", 20, "--out", tmp_path / "p")
    assert code == 2
    assert "has not mixed in" in errors
    assert not (tmp_path / "p").exists()


def test_only_a_walk_has_a_plan(people, run):
    """Other methods say so."""
    code, _, errors = run("publish", people, *FLAGS, "--k", 4, "--e", 1000, "--plan")
    assert code == 2
    assert "--plan is for the method walk" in errors


def test_query_prints_bounds(bundle, run):
    """An answer has a lower bound, an expected value and an upper bound."""
    code, output, _ = run("query", bundle, "SELECT avg(income) AS pay FROM release WHERE age BETWEEN 30 AND 50")
    assert code == 0
    for word in ("lower", "expected", "upper", "pay"):
        assert word in output


def test_query_explains_itself_as_plain_sql(bundle, run):
    """--explain prints SQL over the bundle's own tables."""
    code, output, _ = run("query", bundle, "--explain", "SELECT sum(income) FROM release WHERE age > 30")
    assert code == 0
    assert "help" in output
    assert "SELECT" in output


def test_verify_passes_and_fails_by_exit_code(bundle, run):
    """0 for a kept promise, 1 for a damaged bundle."""
    code, output, _ = run("verify", bundle)
    assert code == 0
    assert "at least 4 distinct values over a range of at least 1000" in output
    (bundle / "help.parquet").write_bytes(b"damaged")
    code, _, errors = run("verify", bundle)
    assert code == 1
    assert "not verified" in errors


def test_an_edited_release_with_fitting_checksums_is_not_verified(bundle, run):
    """Whoever rewrites rows and manifest together still meets the promise re-derived from the rows."""
    from hedgerow.release.bundle import as_release, write
    from hedgerow.verify.holding import open_bundle

    opened = open_bundle(bundle)
    release = as_release(opened.release)
    table = release.tables["release"]
    same = pa.array([table.column("income")[0].as_py()] * table.num_rows)
    release.tables["release"] = table.set_column(table.column_names.index("income"), "income", same)
    write(release, bundle, helpers=opened.helpers, overwrite=True)
    code, _, errors = run("verify", bundle)
    assert code == 1
    assert "distinct" in errors


def test_an_edited_help_table_is_not_verified(bundle, run):
    """Bounds that do not follow from the release are noticed, even with fitting checksums."""
    from hedgerow.release.bundle import as_release, write
    from hedgerow.verify.holding import open_bundle

    opened = open_bundle(bundle)
    release, helper = as_release(opened.release), opened.helpers["help"]
    place = helper.column_names.index("sum_lower")
    values = helper.column("sum_lower").to_pylist()
    values[7] += 1
    helper = helper.set_column(place, "sum_lower", pa.array(values, helper.schema.field("sum_lower").type))
    write(release, bundle, helpers={"help": helper}, overwrite=True)
    code, _, errors = run("verify", bundle)
    assert code == 1
    assert "help" in errors


def test_a_recipe_is_the_same_as_flags(people, tmp_path, run):
    """A TOML file says everything, with paths relative to itself."""
    recipe = people.parent / "recipe.toml"
    recipe.write_text(
        f'table = "{people.name}"\noutput = "from-recipe"\nothers = "identifier"\n'
        '[roles]\nquasi = ["age", "gender", "education"]\nsensitive = ["income"]\n'
        '[method]\nname = "ke"\nk = 4\ne = 1000\nobjective = "max"\n'
    )
    code, _, errors = run("publish", recipe, "--overwrite")
    assert code == 0, errors
    manifest = json.loads((people.parent / "from-recipe" / "manifest.json").read_text())
    assert manifest["parameters"] == {"k": 4, "e": "1000", "objective": "max", "refine": "none"}
    assert manifest["columns"]["quasi"] == ["age", "gender", "education"]


@pytest.mark.parametrize(("words", "message"), [
    (("--method", "ke", "--k", 1), "'k' must be an integer of at least 2"),
    (("--method", "ke", "--k", "many"), "'k' must be an integer"),
    (("--method", "ke", "--e", "3"), "needs 'k'"),
    (("--method", "kee", "--k", 2), "Did you mean 'ke'?"),
    (("--k", 2), "To publish a table give --method NAME, or put"),
    (("--method", "ke", "--k", 10**6), "The largest k that works is"),
])  # fmt: skip
def test_mistakes_are_one_sentence(people, tmp_path, run, words, message):
    """Exit code 2, a sentence on the error stream, nothing written."""
    flags = [word for word in FLAGS if word not in ("--method", "ke")]
    code, output, errors = run("publish", people, *flags, *words, "--out", tmp_path / "o")
    assert code == 2
    assert message in errors
    assert "Traceback" not in errors + output
    assert not (tmp_path / "o").exists()


def test_a_parameter_that_is_true_or_false_is_true_where_it_stands_alone(people, tmp_path, run):
    """--blind took the next flag for its value, and the folder for an argument too many."""
    words = [word for word in FLAGS if word not in ("--method", "ke")]
    for number, (switch, expected) in enumerate(((["--blind"], True), (["--blind", "true"], True), ([], False))):
        out = tmp_path / str(number)
        code, _, errors = run("publish", people, *words, "--method", "mondrian", "--k", 3, *switch, "--out", out)
        assert code == 0, errors
        assert json.loads((out / "manifest.json").read_text())["parameters"]["blind"] == int(expected)


def test_a_column_without_a_role_is_refused_by_name(people, tmp_path, run):
    """All columns that lack a role are listed at once."""
    words = ("--quasi", "age", "--sensitive", "income", "--method", "ke", "--k", 2, "--out", tmp_path / "o")
    code, _, errors = run("publish", people, *words)
    assert code == 2
    for name in ("'gender'", "'education'", "'id'"):
        assert name in errors


@pytest.mark.parametrize(("text", "message"), [
    ("table = ", "not a recipe"),
    ('table = "t.csv"\noutput = "o"\nsurprise = 1\n[roles]\n[method]\nname = "ke"', "surprise"),
    ('table = "t.csv"\noutput = "o"\n[roles]\nquasi = "age"\n[method]\nname = "ke"', "quasi"),
    ('table = "t.csv"\ntable = "u.csv"\noutput = "o"\n[roles]\n[method]\nname = "ke"', "not a recipe"),
    ('table = "t.csv"\noutput = "o"\n[roles]\n[method]\nk = 2', "needs a 'name'"),
    ('table = "t.csv"\noutput = "o"\n[roles]\n[method]\nname = "ke"\nk = 2\nepsilon = 1', "no parameter 'epsilon'"),
])  # fmt: skip
def test_bad_recipes_are_refused_by_name(tmp_path, run, text, message):
    """Unknown keys, doubles and wrong types each say what is wrong."""
    (tmp_path / "r.toml").write_text(text)
    code, _, errors = run("publish", tmp_path / "r.toml")
    assert code == 2
    assert message in errors


def test_hostile_questions_are_refused(bundle, run):
    """A query that is no question about the release exits with a reason."""
    for question in (
        "DROP TABLE release",
        "SELECT * FROM read_csv('x')",
        "SELECT avg(pay) FROM release",
        "SELECT 1; SELECT 2",
    ):
        code, _, errors = run("query", bundle, question)
        assert code == 2
        assert errors.startswith("hedgerow: ")


@pytest.mark.slow
def test_demo_runs_the_whole_path(tmp_path, run):
    """The demo prints table, release, answers with the truth, verification and attack, and writes what it says."""
    code, output, errors = run("demo", tmp_path / "demo")
    assert code == 0, errors
    for word in ("never leaves", "truth", "ok  every file fits", "most frequent value", "bounds.png"):
        assert word in output
    assert (tmp_path / "demo" / "figures" / "bounds.png").stat().st_size > 5000
    assert pq.read_table(tmp_path / "demo" / "release" / "release.parquet").num_rows == 20_000


def test_a_recipe_takes_no_flags_beside_it(people, tmp_path, run):
    """A flag that would be ignored is refused by name; so are several."""
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        f'table = "{people}"\noutput = "o"\nothers = "identifier"\n'
        '[roles]\nquasi = ["age"]\nsensitive = ["income"]\n[method]\nname = "ke"\nk = 4\n'
    )
    code, _, errors = run("publish", recipe, "--k", 9, "--node-column", "x", "--quasi", "age")
    assert code == 2
    assert all(flag in errors for flag in ("--quasi", "--k", "--node-column"))
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("verb", ["inspect", "publish", "verify", "query", "attack"])
def test_what_is_not_there_is_said_in_one_sentence(tmp_path, run, verb):
    """A name that leads nowhere is one line, whatever the verb."""
    words = ["--method", "ke", "--k", 2, "--out", tmp_path / "o"] if verb == "publish" else []
    words = ["SELECT count(*) FROM release"] if verb == "query" else words
    code, output, errors = run(verb, tmp_path / "nowhere", *words)
    assert code in (1, 2)
    assert output == ""
    assert "nowhere" in errors
    assert "no such file" in errors or "there is no such folder" in errors
    assert len(errors.strip().splitlines()) == 1


def test_a_refused_parameter_is_shown(people, tmp_path, run):
    """What was typed comes back, so that the typing error is seen."""
    for value in ("nan", "-1", "12O"):
        code, _, errors = run("publish", people, *FLAGS, "--k", 4, "--e", value, "--out", tmp_path / "o")
        assert code == 2
        assert f"'e' must be a finite number of at least 0; got '{value}'" in errors


def test_a_verb_with_a_typing_error_is_guessed(run):
    """The nearest verb is named."""
    code, _, errors = run("publsh")
    assert code == 2
    assert "Did you mean 'publish'?" in errors


def test_roles_and_gaps_name_the_flag_that_helps(people, tmp_path, run):
    """A person at the shell learns the flag, not the Python."""
    words = ("--quasi", "age", "--sensitive", "income", "--method", "ke", "--k", 2, "--out", tmp_path / "o")
    assert "--others" in run("publish", people, *words)[2]
    (tmp_path / "gaps.csv").write_text("age,income\n1,2\n3,\n")
    assert "--missing income=suppress" in run("publish", tmp_path / "gaps.csv", *words)[2]


def _interrupted(*_, **__):
    raise KeyboardInterrupt


def _cut_off(*_, **__):
    raise BrokenPipeError


@pytest.mark.parametrize(("fault", "code"), [(_interrupted, 130), (_cut_off, 141)])
def test_ctrl_c_and_a_closed_pipe_are_no_verdict(bundle, run, monkeypatch, fault, code):
    """Exit code 1 says that a promise is broken; whoever stops the program does not say so."""
    monkeypatch.setattr("hedgerow.verify.verify_bundle", fault)
    found, output, errors = run("verify", bundle)
    assert found == code
    assert "Traceback" not in output + errors


def test_no_color_is_respected(tmp_path, monkeypatch):
    """With NO_COLOR set a refusal has no colour, even on a terminal."""
    monkeypatch.setenv("NO_COLOR", "1")
    result = CliRunner().invoke(main, ["verify", str(tmp_path)], color=True)
    assert "\x1b" not in result.stderr
    monkeypatch.delenv("NO_COLOR")
    assert "\x1b" in CliRunner().invoke(main, ["verify", str(tmp_path)], color=True).stderr


@pytest.fixture
def trees(tmp_path, people):
    """Hierarchies of age and gender in ARX's format."""
    ages = sorted(set(pyarrow.csv.read_csv(people)["age"].to_pylist()))
    (tmp_path / "age.csv").write_text("".join(f"{age};{age // 10 * 10}s;*\n" for age in ages))
    (tmp_path / "gender.csv").write_text("".join(f"{gender};*\n" for gender in (0, 1, 2, "female", "male", "F", "M")))
    return tmp_path


def test_hierarchies_come_from_files_in_a_recipe_and_from_flags(people, trees, run):
    """ARX's files serve as they are: published ages are their labels, and both ways publish the same parameters."""
    flags = ("--quasi", "age,gender", "--sensitive", "income", "--others", "identifier", "--method", "full-domain")
    hierarchy = ("--hierarchy", f"age={trees / 'age.csv'}")
    code, output, errors = run("publish", people, *flags, "--k", 50, *hierarchy, "--out", trees / "flags")
    assert code == 0, errors
    assert "levels" in output
    assert "age " in output
    labels = set(pq.read_table(trees / "flags" / "release.parquet")["age"].to_pylist())
    assert labels & {f"{decade}s" for decade in range(10, 100, 10)} or labels == {"*"}
    (trees / "r.toml").write_text(
        f'table = "{people}"\noutput = "recipe"\nothers = "identifier"\n[roles]\nquasi = ["age", "gender"]\n'
        'sensitive = ["income"]\n[hierarchies]\nage = "age.csv"\n[method]\nname = "full-domain"\nk = 50\n'
    )
    code, _, errors = run("publish", trees / "r.toml")
    assert code == 0, errors
    written = [json.loads((trees / name / "manifest.json").read_text()) for name in ("flags", "recipe")]
    assert written[0]["parameters"] == written[1]["parameters"]


@pytest.mark.parametrize(("flag", "message"), [
    ("age=nowhere.csv", "hierarchy of 'age'"),
    ("agee=age.csv", "did you mean 'age'?"),
    ("age.csv", "'age.csv' must have the form COLUMN=VALUE"),
])  # fmt: skip
def test_a_hierarchy_that_cannot_be_used_is_named(people, trees, run, flag, message, monkeypatch):
    """The column whose hierarchy is wrong is in the sentence."""
    monkeypatch.chdir(trees)
    words = ("--quasi", "age", "--sensitive", "income", "--others", "identifier", "--method", "mondrian", "--k", 9)
    code, _, errors = run("publish", people, *words, "--hierarchy", flag, "--out", "o")
    assert code == 2
    assert message in errors


def test_every_parameter_that_can_be_typed_has_a_flag():
    """What a recipe can say a flag can say, but for knowledge, which is no text."""
    from hedgerow.cli.publish import publish
    from hedgerow.methods.registry import HELP, METHODS, parameters_of

    known = {parameter.name for name in METHODS for parameter in parameters_of(name)}
    assert known - {parameter.name for parameter in publish.params} == {"knowledge"}
    assert set(HELP) == known


@pytest.mark.parametrize("words", [
    ("attack", "--targets", 5, "--json", "a/file/rates.json"),
    ("attack", "--targets", 5, "--figure", "a/file/rates.png"),
    ("compare", "--workload", "w.toml", "--out", "a/file/figures"),
])  # fmt: skip
def test_a_place_that_cannot_be_written_is_named(bundle, tmp_path, run, words, monkeypatch):
    """What the system refuses is one sentence with the name of the file, not a traceback."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("")
    (tmp_path / "w.toml").write_text("count = 1\nselectivity = [0.1]\n")
    code, _, errors = run(words[0], bundle, *words[1:])
    assert code == 2
    assert "a/file" in errors
    assert errors.strip().splitlines()[-1].startswith("hedgerow: ")
    assert "Traceback" not in errors


def test_a_fault_of_the_program_shows_no_cell(bundle, run, monkeypatch):
    """Other libraries put cells into their messages: the kind and the place are shown, the words are not."""

    def fail(*_, **__):
        raise ValueError("could not convert 'Diabetes'")

    monkeypatch.setattr("hedgerow.verify.verify_bundle", fail)
    monkeypatch.delenv("HEDGEROW_DEBUG", raising=False)
    code, output, errors = run("verify", bundle)
    assert code == 3
    assert "Diabetes" not in output + errors
    assert "ValueError" in errors
    assert "HEDGEROW_DEBUG" in errors
    monkeypatch.setenv("HEDGEROW_DEBUG", "1")
    with pytest.raises(ValueError, match="Diabetes"):
        run("verify", bundle)


def test_inspect_ends_with_a_table_of_toml(people, run):
    """What is printed last can be pasted into a recipe as it stands."""
    import tomllib

    output = run("inspect", people)[1]
    roles = tomllib.loads(output[output.index("[roles]") :])["roles"]
    assert roles["sensitive"] == ["income"]
    assert set(roles) == {"identifier", "quasi", "sensitive", "plain"}


def test_one_row_is_no_rows(tmp_path, run):
    """A table of one row is counted in the singular."""
    (tmp_path / "one.csv").write_text("age,income\n1,2\n")
    assert "1 row, 2 columns" in run("inspect", tmp_path / "one.csv")[1]


def test_values_in_no_hierarchy_are_named_only_when_asked(tmp_path, run):
    """Counted by default; --show-values names them; nothing is written either way."""
    (tmp_path / "t.csv").write_text("town,pay\n" + "Ash,1\nElm,2\n" * 6)
    (tmp_path / "h.csv").write_text("Ash;*\n")
    flags = (
        "--quasi",
        "town",
        "--sensitive",
        "pay",
        "--hierarchy",
        f"town={tmp_path / 'h.csv'}",
        "--method",
        "mondrian",
    )
    asked = ("publish", tmp_path / "t.csv", *flags, "--k", 2, "--out", tmp_path / "out")
    code, _, errors = run(*asked)
    assert code == 2
    assert "'town' has 1 value not in the hierarchy" in errors
    assert "Elm" not in errors
    code, _, errors = run(*asked, "--show-values")
    assert code == 2
    assert "They are: 'Elm'" in errors
    assert not (tmp_path / "out").exists()


def test_the_summary_says_which_columns_leave_as_they_came_in(tmp_path, run):
    """Quasi-identifiers of a shuffled release do, those of a generalized one do not."""
    (tmp_path / "t.csv").write_text("age,pay,note\n" + "".join(f"{n},{n % 4},x\n" for n in range(16)))
    roles = ("--quasi", "age", "--sensitive", "pay", "--plain", "note")
    for method, unchanged in ((("anatomy", "--l", 2), "age, note"), (("mondrian", "--k", 4), "note")):
        code, output, errors = run(
            "publish", tmp_path / "t.csv", *roles, "--method", *method, "--out", tmp_path / method[0]
        )
        assert code == 0, errors
        assert [line.split(None, 3)[3].strip() for line in output.splitlines() if "as they were" in line] == [unchanged]


def test_inspect_shows_how_a_file_was_read_and_takes_declarations(tmp_path, run):
    """What was found out can be seen, and declared otherwise; a wrong declaration is one sentence."""
    (tmp_path / "t.csv").write_text("a;b\n1,5;x\n2,5;y\n")
    code, output, _ = run("inspect", tmp_path / "t.csv")
    assert code == 0
    assert "decimal     ," in output
    assert "double" in output
    code, output, _ = run("inspect", tmp_path / "t.csv", "--no-header", "--types", "column1=text")
    assert code == 0
    assert "column2" in output
    assert "3 rows" in output
    code, _, errors = run("inspect", tmp_path / "t.csv", "--types", "a=date")
    assert code == 2
    assert "Column 'a' cannot be read as date" in errors


def test_the_summary_has_risk_and_loss_by_the_fields_names(tmp_path, run):
    """Before and after, on the screen and as data; a place that cannot be written is one sentence."""
    (tmp_path / "t.csv").write_text("age,pay\n" + "".join(f"{n},{n % 4}\n" for n in range(32)))
    flags = ("--quasi", "age", "--sensitive", "pay", "--method", "mondrian", "--k", 4, "--out", tmp_path / "out")
    asked = (*flags, "--json", tmp_path / "s.json", "--threshold", "0.1", "--population", 1000)
    code, output, errors = run("publish", tmp_path / "t.csv", *asked)
    assert code == 0, errors
    lines = {" ".join(line.split()) for line in output.splitlines()}
    assert "prosecutor risk, highest 100.00% 25.00%" in lines
    assert "prosecutor: rows above 10% 100.00% 100.00%" in lines
    assert "sample uniques 32 0" in lines
    found = json.loads((tmp_path / "s.json").read_text())
    assert found["after"]["smallest_class"] == 4
    assert found["population_uniques"]["before"]["pitman"] is None
    assert found["loss"]["columns"]["age"]["granularity"] == 4 / 32
    code, _, errors = run("publish", tmp_path / "t.csv", *flags, "--overwrite", "--json", tmp_path / "no" / "s.json")
    assert code == 2
    assert "cannot be written" in errors


def test_publish_warns_of_a_column_that_determines_the_sensitive_one(tmp_path, run):
    """With names and counts; the release is written, and `--json` has the same."""
    lines = ["age,code,diagnosis", *(f"{20 + row % 8},{row % 4},sick{row % 4}" for row in range(64))]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    words = ("publish", tmp_path / "people.csv", "--sensitive", "diagnosis", "--method", "anatomy", "--l", "2")
    code, output, errors = run(*words, "--quasi", "age", "--plain", "code", "--out", tmp_path / "out")
    assert code == 0, errors
    said = " ".join(output.partition("Warning: ")[2].split())
    assert "'code' determines 'diagnosis': each of its 4 values" in said
    assert "sick" not in said
    code, output, errors = run(*words, "--plain", "code", "--others", "identifier", "--json", "--out", tmp_path / "two")
    assert code == 0, errors
    (found,) = json.loads(output)["determining"]
    assert found == {"column": "code", "sensitive": "diagnosis", "values": 4, "rows": 64}


@pytest.fixture
def patients(tmp_path):
    """A hospital's table, small and without gaps."""
    file = tmp_path / "patients.csv"
    diagnoses = ("flu", "asthma", "angina", "copd", "migraine")
    lines = [f"{20 + i % 50},{'MF'[i % 2]},{diagnoses[i % 5]},{100 + i}" for i in range(60)]
    file.write_text("\n".join(["age,sex,diagnosis,cost", *lines]) + "\n")
    return file


def test_a_flag_that_lists_columns_can_be_repeated(patients, tmp_path, run):
    """A column that is named first is not forgotten: --others plain would publish a sensitive one unchanged."""
    roles = ("--quasi", "age", "--quasi", "sex", "--sensitive", "diagnosis", "--sensitive", "cost", "--others", "plain")
    code, _, errors = run("publish", patients, *roles, "--method", "anatomy", "--l", 3, "--out", tmp_path / "o")
    assert code == 0, errors
    columns = json.loads((tmp_path / "o" / "manifest.json").read_bytes())["columns"]
    assert (columns["quasi"], columns["sensitive"], columns["plain"]) == (["age", "sex"], ["diagnosis", "cost"], [])


def test_a_list_of_a_method_can_be_repeated(patients, tmp_path, run):
    """Walk replaces every column that --columns names, not the last alone."""
    roles = ("--quasi", "age", "--sensitive", "cost", "--others", "identifier")
    words = ("--method", "walk", "--columns", "age", "--columns", "cost", "--out", tmp_path / "o")
    code, _, errors = run("publish", patients, *roles, *words)
    assert code == 0, errors
    assert json.loads((tmp_path / "o" / "manifest.json").read_bytes())["guarantee"]["columns"] == ["age", "cost"]


def test_two_policies_of_one_column_are_refused(patients, tmp_path, run):
    """The last of two is not taken in silence."""
    roles = ("--quasi", "age,sex", "--sensitive", "diagnosis,cost")
    policies = ("--missing", "cost=value", "--missing", "cost=suppress")
    code, _, errors = run(
        "publish", patients, *roles, *policies, "--method", "anatomy", "--l", 3, "--out", tmp_path / "o"
    )
    assert code == 2
    assert "--missing names 'cost' twice" in errors


@pytest.mark.parametrize("question", ["", "  ", ";", "/* nothing */"])
def test_an_empty_question_is_called_empty(bundle, run, question):
    """It is not `got 0` statements."""
    code, _, errors = run("query", bundle, question)
    assert code == 2
    assert "the question is empty" in errors


def test_an_unknown_dialect_is_refused_also_without_explain(bundle, run):
    """An option is not accepted and ignored."""
    code, _, errors = run("query", bundle, "SELECT count(*) FROM release", "--dialect", "mysql")
    assert code == 2
    assert "'mysql' is not one of 'duckdb', 'postgres'" in errors


def test_publish_without_roles_says_where_they_come_from(people, tmp_path, run):
    """The next step is an inspection of the table."""
    code, _, errors = run("publish", people, "--method", "ke", "--k", 4, "--out", tmp_path / "o")
    assert code == 2
    assert "--quasi" in errors
    assert "hedgerow inspect" in errors


def test_a_recipe_that_is_no_text_is_called_that(tmp_path, run):
    """The words of the decoder stay inside."""
    (tmp_path / "r.toml").write_bytes(b"\xd1\x00\xff")
    code, _, errors = run("publish", tmp_path / "r.toml")
    assert code == 2
    assert "'r.toml' is not a recipe: it is not text in UTF-8" in errors


def test_two_tables_of_one_name_are_refused(bundle, run, tmp_path):
    """The last of two is not taken in silence."""
    (tmp_path / "regions.csv").write_text("a,b\n1,2\n")
    tables = ("--table", f"region={tmp_path / 'regions.csv'}") * 2
    code, _, errors = run("query", bundle, "SELECT count(*) FROM release", *tables)
    assert code == 2
    assert "--table names 'region' twice" in errors
