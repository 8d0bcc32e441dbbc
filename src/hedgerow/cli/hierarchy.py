"""`hedgerow hierarchy`: build a hierarchy of a column's values, look at it, and save it in ARX's format."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import click

from hedgerow.cli.output import Output, put_json
from hedgerow.cli.reading import pop_reading, reading_flags, split
from hedgerow.errors import InputError, ParameterError, counted, limit_reached, printable

_SHOWN = 8


@click.command()
@click.argument("table", type=click.Path())
@click.option("--column", required=True, metavar="NAME", help="the column to build a hierarchy for")
@click.option("--intervals", metavar="5,10,...", help="intervals of these widths, finest first (numbers)")
@click.option("--digits", is_flag=True, help="hide one more digit or letter at the end on every level (codes)")
@click.option("--dates", is_flag=True, help="day, month, year, decade (dates)")
@click.option("--parents", type=click.Path(), help="a file of two columns: value and parent, any number of levels")
@click.option(
    "--rare", type=click.IntRange(min=1), metavar="ROWS", help="merge values that occur in fewer rows than this"
)
@click.option("--out", type=Output(), help="file to write (.csv); without it the hierarchy is only shown")
@click.option("--overwrite", is_flag=True, help="replace an existing file")
@reading_flags
def hierarchy(table: str, column: str, out: Path | None, overwrite: bool, **flags: Any) -> None:
    """Build a hierarchy of a column of TABLE; it shows values of the table, so it is for your own screen.

    \b
    hedgerow hierarchy adult.csv --column age --intervals 5,10,20 --out age.csv
    hedgerow hierarchy adult.csv --column zip --digits
    hedgerow hierarchy adult.csv --column occupation --rare 500
    """
    from hedgerow.cli.show import console
    from hedgerow.cli.show import table as shown
    from hedgerow.schema.hierarchy import LINES
    from hedgerow.table import read_table

    encoded = read_table(table, **pop_reading(flags)).encode(column)
    ways = [way for way in LINES if flags[way]]
    if len(ways) != 1:
        raise ParameterError(f"Name one way to build it: {', '.join(f'--{way}' for way in LINES)}.")
    asked = split(flags[ways[0]]) if ways[0] == "intervals" else flags[ways[0]]
    lines = LINES[ways[0]](column, encoded, asked)
    if out is not None:
        _write(lines, out, overwrite)
    put_json(lambda: lines)
    levels = [f"level {n}" for n in range(len(lines[0]))]
    screen = console()
    screen.print(shown(f"'{column}': {counted(len(lines), 'value')}", levels, [*lines[:_SHOWN], *_rest(lines)]))
    counts = ", ".join(f"{name}: {len({line[n] for line in lines}):,}" for n, name in enumerate(levels))
    screen.print(f"different labels at {counts}", markup=False)
    if out is not None:
        click.echo(printable(f"written to {out}; use it with --hierarchy {column}={out}"))


def _rest(lines: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [("...", *[""] * (len(lines[0]) - 1))] if len(lines) > _SHOWN else []


def _write(lines: list[tuple[str, ...]], out: Path, overwrite: bool) -> None:
    if out.exists() and not overwrite:
        raise InputError(f"'{out.name}' is there already; choose another name or add --overwrite.")
    try:
        with out.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=";", lineterminator="\n").writerows(lines)
    except OSError as error:
        raise limit_reached(error) or InputError(f"'{out.name}' cannot be written: {error.strerror}.") from None
