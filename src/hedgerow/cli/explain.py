"""`.explain` at the prompt: the question as plain SQL, what makes its bounds wide, and what would narrow them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hedgerow.cli.show import console, number, table
from hedgerow.errors import HedgerowError

if TYPE_CHECKING:
    from hedgerow.query import Session
    from hedgerow.release import Release
    from hedgerow.utility.uncertainty import Causes, Move

__all__ = ["explain"]

_NOTHING = 1e-12
"""Relative width of an exact answer: bounds that are no whole numbers are rounded outwards."""


def explain(release: Release, session: Session, question: str) -> None:
    """Print the three parts; what one of them cannot say does not keep the others back."""
    from hedgerow.utility.uncertainty import best_moves, causes, relative_width

    width = relative_width(session.sql(question))
    click.echo(_plain_sql(release, question) + "\n")
    if width is None:
        click.echo("There are no bounds to explain: the answer is NULL or zero, or the release gives estimates only.")
        return
    if width == 0:
        click.echo("The answer is exact: every assignment of values to rows gives the same.")
        return
    click.echo(f"The bounds reach ±{width / 2:.2g} times the answer." if width > 2 else _reach(width))
    _print_causes(release, causes(release, question))
    for sentence in _advice(*best_moves(release, session, question)):
        click.echo(sentence)


def _plain_sql(release: Release, question: str) -> str:
    from hedgerow.query import rewrite

    try:
        return rewrite(release, question)
    except HedgerowError as error:
        return f"-- no plain SQL: {error}"


def _reach(width: float) -> str:
    return f"The bounds reach {_around(width)} of the answer."


def _around(width: float) -> str:
    return f"±{50 * width:.2g}%"


def _print_causes(release: Release, found: Causes) -> None:
    click.echo(f"Of {release.groups:,} groups the question hits {found.hit:,}; {found.open:,} of them leave it open.")
    rows = [
        (cause.group, f"{number(round(cause.hits, 1))} of {cause.rows:,}", f"{100 * cause.share:.1f}%")
        for cause in found.worst
    ]
    if rows:
        columns = ("group", "rows hit", "share of the uncertainty")
        console().print(table("", columns, rows, right=columns))


def _advice(narrower: Move | None, wider: Move | None) -> list[str]:
    """Say what to ask instead; the best part of a range first."""
    if narrower is None and wider is None:
        return ["No other range that was tried has narrower bounds."]
    moves = [("Narrow", narrower), ("Widen", wider)]
    return [_sentence(verb, move) for verb, move in moves if move is not None]


def _sentence(verb: str, move: Move) -> str:
    asked = f"{verb} your range of {move.column} to {move.low}..{move.high} and"
    if move.after < _NOTHING:
        return f"{asked} the answer is exact."
    saved = "by half" if 0.45 <= move.saved <= 0.55 else f"by {100 * move.saved:.0f}%"
    return f"{asked} the bounds shrink {saved}: {_around(move.after)} of the answer instead of {_around(move.before)}."
