"""How the command line prints: plain tables, a progress bar, and an announcement before kernels are compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hedgerow.kernel import on_compile

if TYPE_CHECKING:
    from rich.console import Console

    from hedgerow.methods.method import Progress

__all__ = ["console", "facts", "number", "progress_bar", "table"]

_PIPE_WIDTH = 120


def console(*, stderr: bool = False) -> Console:
    """Return a console that highlights nothing by itself; in a pipe, where there is no screen, lines may be long."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # the command line has an exit code for it; 1 would say that a promise is broken

    screen = Screen(stderr=stderr, highlight=False)
    return screen if screen.is_terminal else Screen(stderr=stderr, highlight=False, width=_PIPE_WIDTH)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, right: Sequence[str] = ()) -> Any:
    """Build a table; the columns named in `right` are numbers. Square brackets in names and cells are text."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    built = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for name in columns:
        built.add_column(Text(name), justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        built.add_row(*(Text(str(cell)) for cell in row))
    return built


def facts(title: str, pairs: Iterable[tuple[str, object]]) -> Any:
    """Build a table of two columns: what, and its value."""
    from rich import box
    from rich.table import Table

    built = Table(title=title or None, box=box.SIMPLE, title_justify="left", show_header=False, pad_edge=False)
    for what, value in pairs:
        built.add_row(what, str(value))
    return built


def number(value: object) -> str:
    """Write a number for a person: thousands apart, at most six significant digits behind the point."""
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1e6 or value == int(value) else f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show the steps of long work on the error stream, if it is a terminal, and leave nothing behind."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    screen = console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    on_compile(lambda sentence: screen.print(f"[dim]{sentence}[/dim]"))
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda step, share: bar.update(task, description=step, completed=share)
