"""The prompt of `hedgerow query`: a question a line, from a person or from a pipe.

A refusal is one sentence and the next question can follow. Ctrl-C drops the line, or stops an answer; Ctrl-D leaves.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from hedgerow.cli.answers import answers, explain, strokes_for
from hedgerow.cli.line_editing import as_written
from hedgerow.cli.show import console, table
from hedgerow.errors import HedgerowError, QueryError

if TYPE_CHECKING:
    import pyarrow as pa

    from hedgerow.query import Session
    from hedgerow.release import Release

__all__ = ["Prompt", "show"]

_COMMANDS = {
    ".columns": "what can be asked about",
    ".explain SELECT ...": "the question as plain SQL, what makes its bounds wide, and what would narrow them",
    ".help": "this",
    ".quit": "leave; so does Ctrl-D",
}
_EXAMPLE = "SELECT avg({}) FROM release WHERE ..."


class Prompt:
    """Questions to one release, one after the other."""

    def __init__(self, release: Release, session: Session) -> None:
        self._release = release
        self._session = session

    def run(self, *, keep_history: bool = True) -> bool:
        """Answer until the input ends. Tell whether a question from a pipe was refused."""
        if not sys.stdin.isatty():
            refused = [self._is_refused(line.strip()) for line in _until_quit(sys.stdin)]
            return any(refused)
        from hedgerow.cli.line_editing import line_editing

        self._greet()
        with line_editing(self._release.columns.all, keep_history=keep_history) as remember:
            for line in _until_quit(_typed()):
                remember(line.strip())
                self._is_refused(line.strip())
        return False

    def _greet(self) -> None:
        click.echo(f"{self._release!r}")
        click.echo(f"Ask in SQL, for example {self._example()}   .help lists the rest.")

    def _example(self) -> str:
        return _EXAMPLE.format(as_written(self._release.columns.sensitive[0]))

    def _is_refused(self, line: str) -> bool:
        try:
            self.answer(line)
        except HedgerowError as error:
            click.secho(f"hedgerow: {error}", err=True, fg="red")
            return True
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
        return False

    def answer(self, line: str) -> None:
        """Answer one line: a question, a command, a comment or nothing."""
        if not line or line.startswith("--"):
            return
        if not line.startswith("."):
            show(self._session.sql(line))
            return
        word, _, rest = line.partition(" ")
        commands: dict[str, Callable[[str], None]] = {
            ".columns": self._columns,
            ".explain": self._explain,
            ".help": self._help,
        }
        if word not in commands:
            raise QueryError(f"there is no command '{word}'; there are {', '.join((*commands, '.quit'))}")
        commands[word](rest.strip())

    def _columns(self, _: str) -> None:
        rows = [(as_written(name), *_described(self._release, name)) for name in self._release.columns.all]
        console().print(table("", ("column", "holds", "its values are"), rows))

    def _explain(self, question: str) -> None:
        if not question:
            raise QueryError(f".explain needs a question: .explain {self._example()}")
        explain(self._release, self._session, question)

    def _help(self, _: str) -> None:
        rows = [(self._example(), "an answer with guaranteed bounds"), *_COMMANDS.items()]
        screen = console()
        screen.print(table("", ("write", "to see"), rows))
        strokes = strokes_for(screen.encoding)
        click.echo(
            f"In a bar, {strokes.stretch} reaches from the lower to the upper bound and {strokes.mark} is expected."
        )


def show(result: pa.Table) -> None:
    """Print answers on the screen, as wide as it is, with what its encoding has."""
    screen = console()
    screen.print(answers(result, width=screen.width, strokes=strokes_for(screen.encoding)))


def _described(release: Release, name: str) -> tuple[str, str]:
    ends = release.form.lower_ends(release.columns, release.group_column)
    names = (ends.get(name, name), name)
    published = [t.schema.field(name).type for name in names for t in release.tables.values() if name in t.column_names]
    return str(published[0]) if published else "", _fate(release, name)


def _fate(release: Release, name: str) -> str:
    if release.form.is_altered:
        return "changed: answers are estimates" if name in release.guarantee.columns else "as they are"
    return "hidden among those of its group" if name in release.columns.sensitive else release.form.known_columns


def _typed() -> Iterator[str]:
    """Lines from a person; Ctrl-C gives up a line, Ctrl-D ends them."""
    while True:
        try:
            yield input("hedgerow> ")
        except KeyboardInterrupt:
            click.echo()
        except EOFError:
            click.echo()
            return


def _until_quit(lines: Any) -> Iterator[str]:
    for line in lines:
        if line.strip() in (".quit", ".exit"):
            return
        yield line
