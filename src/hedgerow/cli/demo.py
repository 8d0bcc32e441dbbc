"""`hedgerow demo`: the whole path once, on generated data, with the truth beside every answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedgerow.cli.output import Output, put_json
from hedgerow.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from hedgerow.query import Answer
    from hedgerow.release import Release

ROWS = 20_000
QUASI = ("age", "gender", "education", "marital", "country")
QUESTIONS = (
    "SELECT avg(income) FROM release WHERE age BETWEEN 30 AND 50",
    "SELECT sum(income) FROM release WHERE gender = 'Female' AND age >= 60",
    "SELECT count(*) FROM release WHERE education = 'Doctorate'",
)


@click.command()
@click.argument("folder", type=Output("folder"), default=Path("demo"))
def demo(folder: Path) -> None:
    """Publish a generated census, ask it three questions, verify it, attack it; everything goes to FOLDER."""
    from hedgerow.attack import linking
    from hedgerow.cli.publish import run
    from hedgerow.cli.show import console
    from hedgerow.verify import verify_bundle

    screen = console()
    table = _write_table(folder)
    _heading(
        screen, "1  The table, which never leaves", f"{ROWS:,} generated people, kept in {folder / 'census.parquet'}"
    )
    screen.print(_first_rows(table))
    _heading(screen, "2  The release, which does", "published by the recipe " + str(folder / "recipe.toml"))
    release = run(_recipe(folder), overwrite=True)
    _heading(
        screen, "3  Three questions", "asked of the release; the truth, which only the owner knows, is beside them"
    )
    answered = [(question, release.ask(question), _truth(table, question)) for question in QUESTIONS]
    screen.print(_answers(answered))
    _heading(screen, "4  Is the promise kept?", "re-derived from the published files alone")
    screen.print(str(verify_bundle(folder / "release")))
    _heading(
        screen,
        "5  What does an attacker learn?",
        "who knows everybody's age, gender, education, marital status and country",
    )
    screen.print(str(linking(release)))
    _heading(screen, "6  Figures", "")
    try:
        for figure in _figures(release, answered, folder / "figures"):
            screen.print(f"  {figure}")
    except InputError as error:
        screen.print(f"  left out. {error}", markup=False)  # an install without matplotlib shows everything else
    put_json(
        lambda: {
            "release": str(folder / "release"),
            "answers": [
                {"question": question, "lower": a.lower, "expected": a.expected, "upper": a.upper, "truth": truth}
                for question, a, truth in answered
            ],
        }
    )
    screen.print(f"\nAsk more: hedgerow query {folder / 'release'} 'SELECT max(income) FROM release WHERE age < 25'")


def _heading(screen: Any, title: str, subtitle: str) -> None:
    screen.print(f"\n[bold green]{title}[/bold green]  [dim]{subtitle}[/dim]")


def _write_table(folder: Path) -> pa.Table:
    """Generate the table and a recipe for it."""
    import pyarrow.parquet as pq

    from hedgerow.datasets import census

    folder.mkdir(parents=True, exist_ok=True)
    table = census(ROWS, seed=2026).select([*QUASI, "income"])
    pq.write_table(table, folder / "census.parquet")
    names = ", ".join(f'"{name}"' for name in QUASI)
    (folder / "recipe.toml").write_text(
        'table  = "census.parquet"\noutput = "release"\n\n'
        f'[roles]\nquasi     = [{names}]\nsensitive = ["income"]\n\n'
        '[method]\nname = "ke"\nk = 10\ne = 5000\nl = 4\n',
        encoding="utf-8",
    )
    return table


def _recipe(folder: Path) -> Any:
    from hedgerow.recipe import read_recipe

    return read_recipe(folder / "recipe.toml")


def _first_rows(table: pa.Table) -> Any:
    from hedgerow.cli.show import table as shown
    from hedgerow.digits import key_text

    rows = [[key_text(cell) for cell in row.values()] for row in table.slice(0, 4).to_pylist()]
    return shown("", table.column_names, rows, right=("age", "income"))


def _truth(table: pa.Table, question: str) -> float:
    import duckdb

    with duckdb.connect() as connection:
        connection.register("release", table)
        return float(connection.execute(question).fetchall()[0][0])


def _answers(answered: list[tuple[str, Answer, float]]) -> Any:
    from hedgerow.cli.show import table as shown
    from hedgerow.digits import bound_texts, number_text

    rows = [
        [question, *bound_texts(a.lower, a.expected, a.upper, exact=a.exact), number_text(truth)]
        for question, a, truth in answered
    ]
    numbers = ("lower", "expected", "upper", "truth")
    return shown("", ("question", *numbers), rows, right=numbers)


def _figures(release: Release, answered: list[tuple[str, Answer, float]], folder: Path) -> list[Path]:
    from hedgerow.report.release_figures import bounds_figure, groups_figure

    return [bounds_figure(answered, folder), groups_figure(release, folder)]
