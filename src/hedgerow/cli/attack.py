"""`hedgerow attack`: how often is each adversary right about a release, and what should be done about it?

Exit code 1 says that a promise was broken.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import pyarrow as pa

    from hedgerow.attack import Bench, Finding

__all__ = ["attack"]


@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option("--original", type=click.Path(), help="the table that was published: guesses are checked against it")
@click.option("--also", multiple=True, type=click.Path(path_type=Path), help="another release of the same people")
@click.option("--holdout", type=click.Path(), help="people of the same kind who were not published: the control")
@click.option("--targets", type=int, default=1000, show_default=True, help="people on whom costly adversaries try")
@click.option("--figure", type=click.Path(path_type=Path), help="draw the rates (.png; an .svg beside it)")
@click.option("--json", "file", type=click.Path(path_type=Path), help="write everything as data (.json)")
def attack(
    bundle: Path,
    original: str | None,
    also: tuple[Path, ...],
    holdout: str | None,
    targets: int,
    figure: Path | None,
    file: Path | None,
) -> None:
    """Let every adversary that applies try BUNDLE: how often it is right, what guessing gives, what was promised.

    \b
    hedgerow attack out/ --original table.csv
    hedgerow attack out/ --original table.csv --also out2/ --holdout others.csv --figure rates.png --json rates.json
    """
    from hedgerow.attack import run
    from hedgerow.cli.show import console, progress_bar
    from hedgerow.release import read

    release, others = read(bundle), [read(path) for path in also]
    with progress_bar() as progress:
        bench = run(
            release,
            _table(original),
            also=others,
            holdout=_table(holdout),
            targets=targets,
            progress=progress,
        )
    screen = console()
    screen.print(_rates(bench))
    screen.print(_words(bench))
    screen.print(_skipped(bench))
    screen.print(_legend(bench, targets))
    _write(bench, figure, file)
    if any(finding.holds is False for finding in bench.findings):
        raise SystemExit(1)


def _table(path: str | None) -> pa.Table | None:
    from hedgerow.table import read_table

    return None if path is None else read_table(path).arrow


def _rates(bench: Bench) -> Any:
    from hedgerow.cli.show import table

    numbers = ("right", "95% interval", "guessing", "control", "worst off", "promised")
    title = f"{bench.method}, {bench.form}: {bench.rows:,} rows against {len(bench.findings)} adversaries"
    lines = [
        (
            bench.label(finding),
            _percent(finding.rate),
            "exact" if finding.exact else f"{_percent(finding.low)} to {_percent(finding.high)}",
            _percent(finding.baseline),
            _percent(finding.control),
            _percent(finding.worst),
            _promised(finding),
        )
        for finding in bench.findings
    ]
    return table(title, ("adversary", *numbers), lines, right=numbers)


def _words(bench: Bench) -> Any:
    from hedgerow.cli.show import table

    lines = []
    for finding in bench.findings:
        lines.append((bench.label(finding), f"Knows {finding.knows}; guesses {finding.guesses}."))
        lines.append(("", finding.sentence))
        lines.append(("", f"→ {finding.next_step}"))
    return table("What each knows, what it finds, and what to do", ("adversary", ""), lines)


def _skipped(bench: Bench) -> Any:
    from hedgerow.cli.show import table

    lines = [(one.adversary, one.reason) for one in bench.skipped]
    return table("Not tried", ("adversary", "because"), lines)


def _legend(bench: Bench, targets: int) -> str:
    sampled = any(not finding.exact for finding in bench.findings)
    people = f" Rates with an interval are of up to {targets:,} people drawn at random." if sampled else ""
    return (
        "right: share of guesses that are right. guessing: the same without the release. control: the same about "
        "people who were not published. worst off: the chance for the person whom the release protects least. "
        f"promised: what the guarantee says at most; nothing where it says nothing.{people}"
    )


def _percent(share: float | None) -> str:
    from hedgerow.attack.rate import percent

    return "-" if share is None else percent(share)


def _promised(finding: Finding) -> str:
    if finding.promised is None:
        return "-"
    return f"{_percent(finding.promised)} {'kept' if finding.holds else 'BROKEN'}"


def _write(bench: Bench, figure: Path | None, file: Path | None) -> None:
    if figure is not None:
        from hedgerow.report.attack_figure import attack_figure

        click.echo(f"  {attack_figure(bench, figure.parent, figure.stem)}")
    if file is not None:
        file.write_bytes(bench.json() + b"\n")
        click.echo(f"  {file}")
