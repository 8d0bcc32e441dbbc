"""How the command line prints: plain tables, a progress bar, and an announcement before kernels are compiled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from hedgerow.cli.output import QUIET
from hedgerow.errors import printable
from hedgerow.kernel import on_compile

if TYPE_CHECKING:
    from rich.console import Console

    from hedgerow.methods.method import Progress

__all__ = ["EDGES", "GAP", "console", "facts", "progress_bar", "table"]

_PIPE_WIDTH = 120
GAP = 3
"""Blanks between two columns of a table."""
EDGES = 2
"""Blanks at the two ends of a line of a table."""


def console(*, stderr: bool = False) -> Console:
    """Return a console that highlights nothing by itself; in a pipe, where there is no screen, lines may be long."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # the command line has an exit code for it; 1 would say that a promise is broken

    screen = Screen(stderr=stderr, highlight=False)
    return screen if screen.is_terminal else Screen(stderr=stderr, highlight=False, width=_PIPE_WIDTH)


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    right: Sequence[str] = (),
    width: int | None = None,
) -> Any:
    """Build a table; the columns named in `right` are numbers. Square brackets in names and cells are text,
    and signs that steer a terminal are spelled out.

    It is `width` wide at most (by default as wide as the screen) and breaks no word: where the words do not fit beside
    each other, each cell gets a line of its own, with the column's name before it.
    """
    columns, right = list(map(_spell_out, columns)), list(map(_spell_out, right))
    cells = [[_spell_out(str(cell)) for cell in row] for row in rows]
    widths = _widths(columns, cells, console().width if width is None else width)
    if widths is None:
        return facts(title, _one_below_the_other(columns, cells))
    return _grid(title, columns, cells, widths, right)


_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def _spell_out(text: str) -> str:
    """Spell out signs that steer a terminal, turn its direction or end a line: names and cells may be a stranger's.

    Other invisible signs stay, since some languages write words with them.
    """
    return _STEERING.sub(lambda found: printable(found[0]), text)


def _grid(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int], right: Any) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    built = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, width in zip(columns, widths, strict=True):
        built.add_column(Text(name), justify="right" if name in right else "left", overflow="fold", width=width)
    for row in rows:
        built.add_row(*map(Text, row))
    return _with_title(title, built)


def _with_title(title: str, built: Any) -> Any:
    """Put a title above, as wide as the screen: rich would fold it to the width of the table."""
    from rich.console import Group
    from rich.text import Text

    return Group(Text(_spell_out(title)), built) if title else built


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Each column's width: its longest word at least, and as much of its longest line as there is room for."""
    from rich.cells import cell_len

    texts = list(zip(columns, *rows, strict=True))
    widths = [max(cell_len(word) for text in column for word in (text.split() or [""])) for column in texts]
    wanted = [max(map(cell_len, column)) for column in texts]
    left = room - sum(widths) - GAP * (len(widths) - 1) - EDGES
    if left < 0:
        return None
    for place in sorted(range(len(widths)), key=lambda place: wanted[place] - widths[place]):
        more = min(wanted[place] - widths[place], left)
        widths[place] += more
        left -= more
    return widths


def _one_below_the_other(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    for place, row in enumerate(rows):
        yield from [("", "")] if place else []
        yield from zip(columns, row, strict=True)


def facts(title: str, pairs: Iterable[tuple[str, object]]) -> Any:
    """Build a table of two columns: what, and its value. Square brackets are text."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    built = Table(box=box.SIMPLE, show_header=False, pad_edge=False)
    for what, value in pairs:
        built.add_row(Text(_spell_out(what)), Text(_spell_out(str(value))))
    return _with_title(title, built)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show the steps of long work on the error stream, if it is a terminal, and leave nothing behind."""
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    screen = console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    context = click.get_current_context(silent=True)
    is_quiet = context is not None and context.meta.get(QUIET, False)
    on_compile((lambda sentence: None) if is_quiet else (lambda sentence: screen.print(f"[dim]{sentence}[/dim]")))
    with Progress(*columns, console=screen, transient=True, disable=is_quiet or not screen.is_terminal) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda step, share: bar.update(task, description=escape(printable(step)), completed=share)
