"""Recipes: written and read back, and the same release from a script and from a shell."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.methods.registry import METHODS
from hedgerow.recipe import (
    Recipe,
    Roles,
    publish_recipe,
    read_recipe,
    recipe_command,
    recipe_script,
    withdraw_unless_saved,
    write_recipe,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = st.lists(TEXT, max_size=3)
PATH = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8).filter(
    lambda text: str(Path("/folder") / text) not in ("/", "/folder") and ".." not in text
)
PATHS = PATH.map(lambda text: str(Path("/folder") / text))
VALUES = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    TEXT,
    st.booleans(),
    NAMES,
    st.dictionaries(TEXT, TEXT),
)
RECIPES = st.builds(
    Recipe,
    table=PATHS,
    output=PATHS,
    roles=st.builds(Roles, NAMES, NAMES, NAMES, NAMES),
    method=st.dictionaries(TEXT, VALUES, max_size=4),
    others=st.none() | TEXT,
    missing=st.dictionaries(TEXT, TEXT, max_size=2),
    hierarchies=st.dictionaries(TEXT, PATHS, max_size=2),
    ledger=st.none() | PATHS,
)


@given(RECIPES)
def test_a_recipe_reads_back_equal(tmp_path_factory, recipe):
    """Whatever names, texts and numbers it holds."""
    folder = tmp_path_factory.getbasetemp()
    write_recipe(recipe, folder / "recipe.toml")
    assert read_recipe(folder / "recipe.toml") == recipe


@pytest.mark.parametrize("place", ["recipe.toml", "below/recipe.toml", "absolute"])
def test_paths_are_those_of_the_same_files(tmp_path, monkeypatch, place):
    """Relative to the recipe's folder where they lie in it, absolute where they do not."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "below").mkdir()
    file = tmp_path / "below" / "recipe.toml" if place == "absolute" else Path(place)
    recipe = Recipe(table="t.csv", output="below/out", ledger="/l.json", roles=Roles(), method={"name": "ke", "k": 2})
    write_recipe(recipe, file)
    found = read_recipe(file)
    assert [Path(path).absolute() for path in (found.table, found.output, found.ledger)] == [
        tmp_path / "t.csv",
        tmp_path / "below" / "out",
        Path("/l.json"),
    ]
    write_recipe(found, file)
    assert read_recipe(file) == found


def test_a_recipe_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    """A rename that fails leaves the earlier recipe, and nothing beside it."""
    first = Recipe(table="a.csv", output="out", roles=Roles(), method={"name": "ke", "k": 2})
    write_recipe(first, tmp_path / "recipe.toml")
    before = (tmp_path / "recipe.toml").read_bytes()

    def refuse(self, target):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(hr.InputError, match=r"'recipe\.toml' cannot be written: Permission denied"):
        write_recipe(
            Recipe(table="b.csv", output="out", roles=Roles(), method={"name": "ke"}), tmp_path / "recipe.toml"
        )
    assert (tmp_path / "recipe.toml").read_bytes() == before
    assert os.listdir(tmp_path) == ["recipe.toml"]


def test_text_that_is_no_unicode_is_refused(tmp_path):
    """A lone surrogate cannot be kept in a file; the earlier one stays."""
    with pytest.raises(hr.ParameterError, match="cannot be written"):
        write_recipe(Recipe(table="\ud800", output="o", roles=Roles(), method={}), tmp_path / "recipe.toml")
    assert not list(tmp_path.iterdir())


EXAMPLES = {
    "anatomy": {"l": 2},
    "full-domain": {"k": 4},
    "ke": {"k": 3, "e": 2},
    "m-invariant": {"m": 2},
    "mondrian": {"k": 4, "l": "2", "relaxed": True},
    "microaggregation": {"k": 3, "columns": ["age", "town"]},
    "noise": {"scale": 0.2, "columns": "age,salary"},
    "permutation": {"l": 2},
    "personal": {"node_column": "node"},
    "proximity": {"eps": 1, "m": 2},
    "rank-swap": {"share": 0.2},
    "retention": {"p": 0.5},
    "target": {"target": "uniform"},
    "walk": {"share": 0.2, "whole": False, "columns": ["age", "salary"]},
}
"""Parameters as a recipe holds them; Robust needs knowledge, which is no text."""


BY_HIERARCHIES = {"mondrian", "full-domain", "microaggregation"}
"""Methods that use hierarchies of quasi-identifiers; others refuse them."""


def _recipe(folder: Path, name: str) -> Recipe:
    """A recipe for a method, with its table and a hierarchy beside it."""
    rows = "\n".join(f"{n},*,{20 + n},{('Ash', 'Elm')[n // 16]},{n % 8 + 1}" for n in range(32))
    (folder / "people.csv").write_text(f"name,node,age,town,salary\n{rows}\n")
    (folder / "town tree.csv").write_text("Ash;*\nElm;*\n")
    return Recipe(
        table=str(folder / "people.csv"),
        output=str(folder / "out"),
        roles=Roles(quasi=["age", "town"], sensitive=["salary"]),
        others="identifier",
        missing={"salary": "suppress"},
        hierarchies={"town": str(folder / "town tree.csv")} if name in BY_HIERARCHIES else {},
        method={"name": name, **EXAMPLES[name]},
        ledger=str(folder / "ledger.json"),
    )


def test_there_is_an_example_of_every_method():
    """A new method is tried, too."""
    assert set(EXAMPLES) == set(METHODS) - {"robust"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_script_and_a_command_say_what_the_recipe_says(tmp_path, name):
    """With a seed each writes the same tables byte by byte under the same guarantee; without one, the same promise."""
    folders = [tmp_path / way for way in ("recipe", "script", "command")]
    for folder in folders:
        folder.mkdir()
    recipes = [_recipe(folder, name) for folder in folders]
    publish_recipe(recipes[0], seed=7, allow_insecure=True)
    exec(compile(recipe_script(recipes[1], seed=7), "script.py", "exec"), {"__name__": "__main__"})
    main(shlex.split(recipe_command(recipes[2], seed=7))[1:], standalone_mode=False)
    bundles = [{file.name: file.read_bytes() for file in sorted((folder / "out").iterdir())} for folder in folders]
    assert bundles[0] == bundles[1] == bundles[2]
    guarantees = [hr.open(folder / "out").guarantee for folder in folders]
    assert guarantees[0] == guarantees[1] == guarantees[2]


def test_a_script_runs_in_a_process_of_its_own(tmp_path):
    """It needs nothing but hedgerow: the same bytes as the recipe gives with that seed, a fresh draw without it."""
    (tmp_path / "recipe").mkdir()
    (tmp_path / "script").mkdir()
    publish_recipe(_recipe(tmp_path / "recipe", "ke"), seed=7, allow_insecure=True)
    recipe = _recipe(tmp_path / "script", "ke")
    for seed in (7, None):
        script = tmp_path / f"script{seed}.py"
        script.write_text(recipe_script(recipe, seed=seed))
        if seed is None:
            (tmp_path / "script" / "out").rename(tmp_path / "script" / "seeded")
            (tmp_path / "script" / "ledger.json").unlink()
            shutil.rmtree(tmp_path / "script" / "ledger.json.rows")
        subprocess.run([sys.executable, script], check=True, capture_output=True)
    seeded = [(tmp_path / place / "release.parquet").read_bytes() for place in ("recipe/out", "script/seeded")]
    assert seeded[0] == seeded[1]
    fresh = hr.open(tmp_path / "script" / "out")
    assert not fresh.made.reproducible
    assert fresh.guarantee == hr.open(tmp_path / "recipe" / "out").guarantee


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"roles": Roles(quasi=["a,b"])}, "Names with commas"),
        ({"roles": Roles(quasi=[" a"])}, "blanks at their ends"),
        ({"method": {"name": "target", "target": {"a": "b"}}}, "'target' is a table"),
        ({"method": {"name": "kee"}}, "Did you mean 'ke'"),
        ({"method": {}}, "needs a 'name'"),
    ],
)
def test_what_flags_cannot_say_is_refused(change, message):
    """A command that would mean something else is never written."""
    parts = {"table": "t", "output": "o", "roles": Roles(), "method": {"name": "ke", "k": 2}} | change
    with pytest.raises(hr.ParameterError, match=message):
        recipe_command(Recipe(**parts))


def test_a_release_that_is_not_saved_leaves_no_entry(tmp_path):
    """Whoever publishes and saves in two steps takes the entry back by the same function."""
    recipe = _recipe(tmp_path, "ke")
    schema = recipe.build_schema(("name", "node", "age", "town", "salary"))
    release = recipe.build_method().publish(recipe.table, schema, ledger=recipe.ledger)
    assert len(hr.Ledger.open(recipe.ledger).entries) == 1
    with pytest.raises(KeyboardInterrupt), withdraw_unless_saved(release, recipe.output):
        raise KeyboardInterrupt
    assert not hr.Ledger.open(recipe.ledger).entries
    publish_recipe(recipe)
    assert len(hr.Ledger.open(recipe.ledger).entries) == 1


def test_options_of_reading_are_the_same_in_a_recipe_a_script_and_a_command(tmp_path):
    """A headerless file with decimal commas and codes for missing, compressed: three ways, one release."""
    import gzip

    rows = "".join(f"{n};{n % 7},5;{n % 4};{'x' if n % 9 else '-9'}\n" for n in range(36))
    recipes = []
    for way in ("recipe", "script", "command"):
        (tmp_path / way).mkdir()
        (tmp_path / way / "t.csv.gz").write_bytes(gzip.compress(rows.encode()))
        recipes.append(Recipe(
            table=str(tmp_path / way / "t.csv.gz"),
            output=str(tmp_path / way / "out"),
            roles=Roles(quasi=["column1", "column2"], sensitive=["column3"], plain=["column4"]),
            reading={"header": False, "decimal": ",", "missing_codes": ["-9"], "types": {"column3": "text"}},
            method={"name": "anatomy", "l": 2},
        ))  # fmt: skip
    write_recipe(recipes[0], tmp_path / "recipe" / "r.toml")
    assert read_recipe(tmp_path / "recipe" / "r.toml") == recipes[0]
    publish_recipe(recipes[0], seed=7, allow_insecure=True)
    exec(compile(recipe_script(recipes[1], seed=7), "script.py", "exec"), {"__name__": "__main__"})
    main(shlex.split(recipe_command(recipes[2], seed=7))[1:], standalone_mode=False)
    bundles = [
        {file.name: file.read_bytes() for file in sorted((tmp_path / way / "out").iterdir())}
        for way in ("recipe", "script", "command")
    ]
    assert bundles[0] == bundles[1] == bundles[2]
    published = hr.open(tmp_path / "recipe" / "out")
    assert sum(table.num_rows for name, table in published.tables.items() if name in ("quasi", "release")) == 36


@pytest.mark.parametrize("table", ["duckdb:d.duckdb#people", "postgresql://somewhere/db#people"])
def test_tables_of_databases_are_kept_in_recipes(tmp_path, table):
    """A file's place is relative to the recipe, a server's address is as it is."""
    (tmp_path / "r.toml").write_text(f'table = "{table}"\noutput = "out"\n[roles]\n[method]\nname = "ke"\n')
    recipe = read_recipe(tmp_path / "r.toml")
    assert recipe.table == (table if "://" in table else f"duckdb:{tmp_path}/d.duckdb#people")
    write_recipe(recipe, tmp_path / "again.toml")
    assert f'"{table}"' in (tmp_path / "again.toml").read_text()


def _graph_files(folder):
    (folder / "left.csv").write_text("person,town\n" + "".join(f"p{n},t{n % 4}\n" for n in range(30)))
    (folder / "right.csv").write_text("shop,kind\n" + "".join(f"s{n},k{n % 3}\n" for n in range(20)))
    (folder / "edges.csv").write_text("person,shop,day\n" + "".join(f"p{n},s{n * 7 % 20},{n % 2}\n" for n in range(30)))


def _graph_recipe(folder, **more):
    from hedgerow.graph.recipe import GraphRecipe, GraphSource

    source = GraphSource(**{side: str(folder / f"{side}.csv") for side in ("left", "right", "edges")}, values=[])
    method = {"name": "safe-grouping", "k": 2, "l": 2}
    return GraphRecipe(graph=source, output=str(folder / "out"), method=method, **more)


def test_the_recipe_of_a_graph_reads_back_and_gives_the_same_bytes_three_ways(tmp_path):
    """As a recipe, as a script and as a command, in fresh processes, with a seed."""
    import subprocess
    import sys

    from hedgerow.recipe import read_any, recipe_command, recipe_script, write_recipe

    _graph_files(tmp_path)
    recipe = _graph_recipe(tmp_path)
    write_recipe(recipe, tmp_path / "recipe.toml")
    assert read_any(tmp_path / "recipe.toml") == recipe
    assert 'edges = "edges.csv"' in (tmp_path / "recipe.toml").read_text()
    (tmp_path / "script.py").write_text(recipe_script(recipe, seed=7))
    shown = []
    for words in (
        ["-m", "hedgerow", "publish", str(tmp_path / "recipe.toml"), "--seed", "7", "--allow-insecure"],
        [str(tmp_path / "script.py")],
        ["-m", *recipe_command(recipe, seed=7).split()],
    ):
        subprocess.run([sys.executable, *words], check=True, capture_output=True)
        shown.append({file.name: file.read_bytes() for file in sorted((tmp_path / "out").iterdir())})
        (tmp_path / "out").rename(tmp_path / f"out-{len(shown)}")
    assert shown[0] == shown[1] == shown[2]


def test_a_graph_that_cannot_be_saved_leaves_no_entry(tmp_path, monkeypatch):
    """And one that was saved is confirmed with its checksum."""
    from hedgerow.ledger import Ledger
    from hedgerow.recipe import publish_recipe
    from hedgerow.release.bundle import checksum

    _graph_files(tmp_path)
    recipe = _graph_recipe(tmp_path, ledger=str(tmp_path / "ledger.json"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "something").write_text("")
    with pytest.raises(hr.BundleError):
        publish_recipe(recipe)
    assert Ledger.open(recipe.ledger).entries == ()
    (tmp_path / "out" / "something").unlink()
    (tmp_path / "out").rmdir()
    publish_recipe(recipe)
    (entry,) = Ledger.open(recipe.ledger).entries
    assert entry.bundle == checksum(tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[method]\nname = 'safe-grouping'\nk = 2", "needs 'l'"),
        ("[method]\nname = 'ke'\nk = 2\nl = 2", "safe-grouping"),
        ("[method]\nname = 'safe-grouping'\nk = 2\nl = 2\nm = 3", "no parameter 'm'"),
        ("surprise = 1\n[method]\nname = 'safe-grouping'", "surprise"),
    ],
)
def test_wrong_recipes_of_graphs_are_refused_by_name(tmp_path, text, message):
    """Each mistake is one sentence."""
    from hedgerow.recipe import read_any

    (tmp_path / "recipe.toml").write_text(f"output = 'o'\n[graph]\nedges = 'edges.csv'\n{text}\n")
    with pytest.raises(hr.ParameterError, match=message):
        read_any(tmp_path / "recipe.toml").build_method()
