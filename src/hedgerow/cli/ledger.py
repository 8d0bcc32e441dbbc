"""`hedgerow ledger`: what was published before, and whether a table is among it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedgerow.cli.output import put_json
from hedgerow.cli.reading import pop_reading, reading_flags
from hedgerow.errors import ParameterError, printable

if TYPE_CHECKING:
    from hedgerow.ledger import Entry, Ledger


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("action", type=click.Choice(["list", "history", "check", "forget"]), default="list")
@click.argument("what", nargs=-1)
@reading_flags
def ledger(file: str, action: str, what: tuple[str, ...], **flags: Any) -> None:
    """List the releases in FILE, show what changed between them, check a table, or forget what never left.

    \b
    hedgerow ledger ledger.json
    hedgerow ledger ledger.json history
    hedgerow ledger ledger.json check patients.csv
    hedgerow ledger ledger.json forget 3f2a90c1

    The options of reading are those of the table that is checked.
    """
    from hedgerow.ledger import Ledger

    reading = pop_reading(flags)
    if action == "check":
        _check(Ledger.open(file), what, reading)
        return
    if reading:
        raise ParameterError(f"'{next(iter(reading))}' is an option of reading a table; '{action}' reads none.")
    {"list": _list, "history": _history, "forget": _forget}[action](Ledger.open(file), what)


_FIELDS = ("release", "date", "method", "parameters", "rows", "recognized_by", "bundle")


def _list(book: Ledger, what: Sequence[str]) -> None:
    """One line per release."""
    from hedgerow.cli.show import console, table
    from hedgerow.ledger.history import is_saved

    if what:
        raise ParameterError("'list' takes no more arguments; 'check' takes a table.")
    unsaved = [entry.id for entry in book.entries if not is_saved(entry)]
    put_json(lambda: [dict(zip(_FIELDS, _line(entry), strict=True)) for entry in book.entries])
    names = ("release", "date", "what", "parameters", "rows", "recognized by", "bundle")
    title = f"{len(book.entries)} release{'s' * (len(book.entries) != 1)} in {book.path.name}"
    console().print(table(title, names, [_line(entry) for entry in book.entries], right=("rows",)))
    if unsaved:
        click.echo(
            f"Not known to be saved: {', '.join(unsaved)}. Each counts as published. If it never left: "
            f"hedgerow ledger {shlex.quote(str(book.path))} forget {' '.join(unsaved)}"
        )


def _line(entry: Entry) -> tuple[str, ...]:
    from hedgerow.ledger import GraphEntry

    bundle = entry.bundle[:12] if entry.bundle else "not known to be saved"
    if isinstance(entry, GraphEntry):
        return entry.id, entry.date, "graph", f"k={entry.k}, l={entry.l}", "", "the whole graph", bundle
    parameters = ", ".join(f"{name}={value}" for name, value in entry.parameters.items())
    columns = ", ".join(entry.marks[0].columns)
    return entry.id, entry.date, entry.method, parameters, f"{entry.rows:,}", columns, bundle


def _history(book: Ledger, what: Sequence[str]) -> None:
    """For each release what was published otherwise than before of the same table, and how to take it back."""
    from hedgerow.cli.show import console, table
    from hedgerow.ledger.history import history

    if what:
        raise ParameterError("'history' takes no more arguments.")
    steps = history(book.entries)
    put_json(lambda: steps)
    rows = [
        (step.release, step.date, f"{step.of} {step.number}", step.method, "; ".join(step.changed), step.undo)
        for step in steps
    ]
    columns = ("release", "date", "of", "what", "changed since the release before", "to take it back")
    console().print(table(f"History of {book.path.name}", columns, rows))


def _check(book: Ledger, what: Sequence[str], reading: dict[str, Any]) -> None:
    """Say for each earlier release how many rows of a table it holds."""
    from hedgerow.cli.show import console, table
    from hedgerow.table import read_table

    if len(what) != 1:
        raise ParameterError("'check' takes one table, for example: hedgerow ledger ledger.json check patients.csv")
    rows = read_table(what[0], **reading)
    overlaps = book.overlaps(rows)
    put_json(
        lambda: [
            {
                "release": overlap.entry.id,
                "date": overlap.entry.date,
                "method": overlap.entry.method,
                "rows": overlap.rows,
                "same_table": overlap.same,
                "recognized_by": list(overlap.columns),
            }
            for overlap in overlaps
        ]
    )
    if not overlaps:
        click.echo(printable(f"No release in {book.path.name} is known to hold a row of {Path(what[0]).name}."))
        return
    lines = [
        (
            overlap.entry.id,
            overlap.entry.date,
            overlap.entry.method,
            f"{overlap.rows:,} of {rows.num_rows:,}",
            "yes" if overlap.same else "no",
            ", ".join(overlap.columns),
        )
        for overlap in overlaps
    ]
    names = ("release", "date", "what", "rows in it", "same table", "recognized by")
    console().print(table(f"Rows of {Path(what[0]).name} that were published before", names, lines))


def _forget(book: Ledger, what: Sequence[str]) -> None:
    """Take releases out."""
    if not what:
        raise ParameterError("'forget' takes the release to forget; 'list' shows them.")
    left = book.forget(what)
    put_json(lambda: {"forgotten": list(what), "left": len(left.entries)})
    click.echo(f"{len(what)} forgotten, {len(left.entries)} left. Forget only releases that nobody has received.")
