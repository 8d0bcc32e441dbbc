"""`hedgerow compare`: the same random questions to several releases, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedgerow.cli.output import Output, put_json
from hedgerow.cli.reading import pop_reading, reading_flags
from hedgerow.errors import ParameterError, counted

if TYPE_CHECKING:
    from hedgerow.release import Release
    from hedgerow.utility.compare import QuestionOutcome


@click.command()
@click.argument("bundles", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--workload",
    "file",
    type=click.Path(),
    help="which questions to draw (.toml); by default COUNT, SUM and AVG, or COUNT of texts",
)
@click.option(
    "--original",
    multiple=True,
    type=click.Path(),
    help="the table that was published: adds errors and checks the bounds; for a graph left, right and edges, or edges",
)
@click.option("--out", type=Output("folder"), default=Path("compare"), show_default=True, help="folder for the figure")
@click.option("--answers", type=Output(), help="write every question, its answers and the truth (.csv)")
@reading_flags
def compare(
    bundles: tuple[Path, ...],
    file: str | None,
    original: tuple[str, ...],
    out: Path,
    answers: Path | None,
    **flags: Any,
) -> None:
    """Ask all BUNDLES the same random questions: share answered, width of the bounds, and with --original errors.

    \b
    hedgerow compare out1/ out2/ --workload w.toml --original table.csv
    hedgerow compare graph/ --original authors.csv --original papers.csv --original wrote.csv
    """
    from hedgerow.front import holds_graph

    reading = pop_reading(flags)
    if any(holds_graph(bundle) for bundle in bundles):
        if file is not None or answers is not None or reading:
            raise ParameterError("Graphs are compared with --original only; `hedgerow graph compare` has more options.")
        _compare_graphs(bundles, original)
        return
    _compare_tables(bundles, file, original, out, answers, reading)


def _compare_graphs(bundles: tuple[Path, ...], original: tuple[str, ...]) -> None:
    """Ask each graph and the plain one the same random questions."""
    from hedgerow.cli.graph import show_comparison

    if not original:
        raise ParameterError("A graph is compared with its original: give --original LEFT, RIGHT and EDGES.")
    show_comparison(dict(zip(_names(bundles), bundles, strict=True)), original)


def _compare_tables(
    bundles: tuple[Path, ...],
    file: str | None,
    original: tuple[str, ...],
    out: Path,
    answers: Path | None,
    reading: dict[str, Any],
) -> None:
    from hedgerow.cli.show import console, progress_bar
    from hedgerow.release import read
    from hedgerow.report.release_figures import compare_figure
    from hedgerow.table import read_table, write_csv
    from hedgerow.utility.compare import answers_table, compare_releases, scores_by_aggregate
    from hedgerow.utility.random_questions import read_workload

    workload = read_workload(file) if file is not None else None
    releases = {name: read(bundle) for name, bundle in zip(_names(bundles), bundles, strict=True)}
    if len(original) > 1:
        raise ParameterError("Give one --original for tables; three are for graphs.")
    table = read_table(original[0], **reading).arrow if original else None
    with progress_bar() as progress:
        outcomes = compare_releases(releases, workload, table, progress=progress)
    # Before anything is printed: if the reader closes the pipe (`| head`), the files are still written.
    files = [compare_figure(outcomes, out)]
    if answers is not None:
        write_csv(answers_table(outcomes), answers)
        files.append(answers)
    put_json(lambda: {name: scores_by_aggregate(found) for name, found in outcomes.items()})
    screen = console()
    screen.print(summary(outcomes, releases))
    for written in files:
        screen.print(f"  {written}")
    _check_inside(outcomes, releases)


def _names(bundles: Sequence[Path]) -> list[str]:
    """Folders' own names, or whole paths where two are called the same."""
    short = [bundle.resolve().name for bundle in bundles]
    return short if len(set(short)) == len(short) else [str(bundle) for bundle in bundles]


def summary(outcomes: Mapping[str, Sequence[QuestionOutcome]], releases: Mapping[str, Release]) -> Any:
    """Lay out the scores: one line per aggregate and release."""
    from hedgerow.cli.show import table
    from hedgerow.utility.compare import scores_by_aggregate

    has_truth = any(outcome.truth is not None for outcome in next(iter(outcomes.values())))
    scores = {name: scores_by_aggregate(found) for name, found in outcomes.items()}
    lines = []
    for aggregate in next(iter(scores.values())):
        for name, found in scores.items():
            mine = found[aggregate]
            measured = [_percent(mine.error), _percent(mine.near), _percent(mine.inside)] if has_truth else []
            line = [aggregate, name, releases[name].form.name, f"{mine.questions:,}", _percent(mine.answered)]
            lines.append([*line, _percent(mine.width), *measured])
    numbers = ("asked", "answered", "width", *(("error", "within 2 std", "truth inside") if has_truth else ()))
    title = "Medians over random questions: width of the bounds and error, relative to the answer"
    return table(title, ("aggregate", "release", "form", *numbers), lines, right=numbers)


def _percent(share: float | None) -> str:
    if share is None:
        return "-"
    return f"{share:.0%}" if share in (0, 1) else f"{share:,.1%}"


def _check_inside(outcomes: Mapping[str, Sequence[QuestionOutcome]], releases: Mapping[str, Release]) -> None:
    """A truth outside its bounds means that the table is not the one that was published, or rows were suppressed."""
    for name, found in outcomes.items():
        outside = sum(outcome.inside is False for outcome in found)
        if not outside:
            continue
        suppressed = releases[name].rows.suppressed
        if suppressed:
            click.echo(
                f"{name} suppressed {counted(suppressed, 'row')}; its bounds are about the "
                f"others: {counted(outside, 'truth differs', 'truths differ')}."
            )
            continue
        click.secho(f"hedgerow: {outside:,} true answers lie outside the bounds of {name}.", err=True, fg="red")
        click.echo("Is --original the table that was published?", err=True)
        raise SystemExit(1)
