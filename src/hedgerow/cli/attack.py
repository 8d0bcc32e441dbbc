"""`hedgerow attack`: how often is each adversary right about a release, and what should be done about it?

Exit code 1 says that a promise was broken.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedgerow.cli.output import Output, put_json
from hedgerow.cli.reading import pop_reading, read_named, reading_flags
from hedgerow.errors import counted, printable

if TYPE_CHECKING:
    from hedgerow.attack import AttackReport


@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option("--original", type=click.Path(), help="the table that was published: guesses are checked against it")
@click.option("--also", multiple=True, type=click.Path(path_type=Path), help="another release of the same people")
@click.option("--holdout", type=click.Path(), help="people of the same kind who were not published: the control")
@click.option(
    "--targets",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="number of people that costly attacks are tried on",
)
@click.option("--figure", type=Output("figure"), help="draw the rates (.png and .svg)")
@reading_flags
def attack(
    bundle: Path,
    original: str | None,
    also: tuple[Path, ...],
    holdout: str | None,
    targets: int,
    figure: Path | None,
    **flags: Any,
) -> None:
    """Attack BUNDLE with every adversary that applies: how often each is right, what guessing gives, what was promised.

    \b
    hedgerow attack out/ --original table.csv
    hedgerow attack out/ --original table.csv --also out2/ --holdout others.csv --figure rates.png --json rates.json
    """
    from hedgerow import front
    from hedgerow.cli.show import console, progress_bar

    reading = pop_reading(flags)
    if front.holds_graph(bundle):
        _attack_graph(bundle, plain=original is None and holdout is None and not (also or figure))
        return
    with progress_bar() as progress:
        report = front.attack(
            bundle,
            read_named(original, reading),
            also=also,
            holdout=read_named(holdout, reading),
            targets=targets,
            progress=progress,
        )
    # Before anything is printed: if the reader closes the pipe (`| head`), the files are still written.
    put_json(lambda: json.loads(report.json()))
    files = []
    if figure is not None:
        from hedgerow.report.release_figures import attack_figure

        files.append(attack_figure(report, figure.parent, figure.stem))
    screen = console()
    if report.findings:
        screen.print(_rates(report))
        screen.print(_explanations(report))
    if report.skipped:
        screen.print(_skipped_table(report))
    if report.note:
        screen.print(report.note)
    if report.findings:
        screen.print(_legend(report, targets))
    elif not report.skipped:
        screen.print(
            "The release has no sensitive column, so that there is no value to guess. How easily people are found in "
            "it is in the summary of publish: prosecutor, journalist and marketer risk."
        )
    for written in files:
        click.echo(printable(f"drawn: {written}"))
    if any(finding.holds is False for finding in report.findings):
        raise SystemExit(1)


def _attack_graph(bundle: Path, *, plain: bool) -> None:
    """Hand a graph to its own adversaries, which need nothing but the release."""
    from hedgerow.cli.graph_attack import attack_release
    from hedgerow.errors import ParameterError
    from hedgerow.graph import open as open_graph

    if not plain:
        raise ParameterError("This bundle holds a graph: `hedgerow graph attack BUNDLE` has options of its own.")
    found = attack_release(open_graph(bundle))
    put_json(lambda: found)


def _rates(report: AttackReport) -> Any:
    from hedgerow.attack.report import HEADER
    from hedgerow.cli.show import table

    title = (
        f"{report.method}, {report.form}: {counted(report.rows, 'row')} against "
        f"{counted(len(report.findings), 'adversary', 'adversaries')}"
    )
    return table(title, HEADER, report.lines(), right=HEADER[1:])


def _explanations(report: AttackReport) -> Any:
    from hedgerow.cli.show import table

    rows = []
    for finding in report.findings:
        rows.append((report.label(finding), f"Knows {finding.knows}; guesses {finding.guesses}."))
        rows.append(("", finding.sentence))
        rows.append(("", f"→ {finding.next_step}"))
    return table("What each knows, what it finds, and what to do", ("adversary", ""), rows)


def _skipped_table(report: AttackReport) -> Any:
    from hedgerow.cli.show import table

    rows = [(one.adversary, one.reason) for one in report.skipped]
    return table("Not tried", ("adversary", "because"), rows)


def _legend(report: AttackReport, targets: int) -> str:
    sampled = any(not finding.exact for finding in report.findings)
    people = f" Rates with an interval are of up to {targets:,} people drawn at random." if sampled else ""
    return (
        "right: share of guesses that are right. guessing: the same without the release. control: the same about "
        "people who were not published. worst off: the chance for the person whom the release protects least. "
        f"promised: what the guarantee says at most; nothing where it says nothing.{people}"
    )
