"""What the pages print can be typed."""

import re
from pathlib import Path

import click
import duckdb
import msgspec
import pytest

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.recipe import Recipe

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _command(words):
    """The command that words lead to."""
    command, context = main, click.Context(main)
    while words and isinstance(command, click.Group) and words[0].isalpha():
        command = command.get_command(context, words.pop(0))
    return command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_has_its_options(page):
    """A verb or an option that was renamed is renamed in the pages, too."""
    text = page.read_text().replace("\\\n", " ")
    for line in re.findall(r"^ +(hedgerow .*)$|`(hedgerow [^`]*)`", text, re.MULTILINE):
        words = "".join(line).split("#")[0].split()[1:]
        if not words or not words[0].isalpha():
            continue
        command = _command(words)
        assert command is not None, line
        known = {"--help", *(option for parameter in command.params for option in parameter.opts)}
        assert {word.rstrip("`,.)").split("=")[0] for word in words if word.startswith("--")} <= known, line


def test_the_printed_recipe_is_one():
    """The recipe in the page about publishing is read as it stands."""
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "publishing.md").read_text(), re.DOTALL)
    recipe = msgspec.toml.decode(text, type=Recipe)
    assert recipe.build_method().k == 5


def _sql_of_the_page_about_bundles():
    return re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "bundle.md").read_text(), re.DOTALL)


def _ask(question, folder):
    """What DuckDB answers over the Parquet files of a bundle."""
    with duckdb.connect() as database:
        for file in folder.glob("*.parquet"):
            database.execute(f"CREATE VIEW {file.stem} AS FROM '{file}'")
        return database.execute(question).fetchall()


def test_the_printed_sql_runs_on_bundles(tmp_path):
    """Each statement of the page about bundles, on a bundle that has its tables: boxes, shares of a target, bounds."""
    in_boxes, of_targets, bounds = _sql_of_the_page_about_bundles()
    people = {"age": list(range(20, 60)), "sex": ["F", "M"] * 20, "salary": [100 * (n % 8 + 1) for n in range(40)]}
    schema = hr.Schema(quasi=["age", "sex"], sensitive="salary")

    boxed = hr.Mondrian(k=4).publish(people, schema)
    boxed.save(tmp_path / "boxed")
    condition = "FROM release WHERE age BETWEEN 30 AND 50 AND sex = 'F'"
    sizes = dict(_ask('SELECT "group", count(*) FROM release GROUP BY 1', tmp_path / "boxed"))
    found = _ask(in_boxes, tmp_path / "boxed")
    answer = boxed.ask(f"SELECT count(*) {condition}")
    assert sum(sizes[group] for group, is_inside in found if is_inside) <= answer.lower
    assert sum(sizes[group] for group, _ in found) >= answer.upper

    hr.TargetDistribution(target="uniform").publish(people, schema).save(tmp_path / "disguised")
    assert _ask(of_targets, tmp_path / "disguised") == [(100 * n, 0.125) for n in range(1, 9)]

    permuted = hr.KEAnonymity(k=2, e=100).publish(people, schema)
    permuted.save(tmp_path / "permuted")
    answer = permuted.ask("SELECT sum(salary) FROM release WHERE age BETWEEN 35 AND 55")
    assert _ask(bounds, tmp_path / "permuted") == [(answer.lower, answer.upper)]


def test_every_page_is_in_the_site():
    """A page that no list of the site names is found by nobody."""
    lists = [ROOT / "docs" / "index.md", *(ROOT / "docs").glob("*/index.md")]
    named = {
        (page.parent / entry.lstrip("/")).resolve() if not entry.startswith("/") else ROOT / "docs" / entry[1:]
        for page in lists
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), re.DOTALL)
        for entry in block.splitlines()
        if entry and not entry.startswith(":")
    }
    for page in (ROOT / "docs").rglob("*.md"):
        listed = page.with_suffix("") in named or any(
            Path(one).parent == page.parent and "*" in Path(one).name for one in named
        )
        assert listed or page == ROOT / "docs" / "index.md", page.name
