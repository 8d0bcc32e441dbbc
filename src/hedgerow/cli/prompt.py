"""The prompt of `hedgerow query`: questions from a person or from a pipe, also over several lines up to `;`.

A refusal is one sentence and the next question can follow. Ctrl-C drops a question or stops an answer; Ctrl-D leaves.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from hedgerow.cli.answers import answers, explain, strokes_for
from hedgerow.cli.line_editing import as_written
from hedgerow.cli.regress import show_regression
from hedgerow.cli.show import console, table
from hedgerow.cli.statements import is_command, is_waiting, statements
from hedgerow.errors import HedgerowError, QueryError
from hedgerow.query.sql.wording import begins_question, check_beginning, goes_on, is_ended

if TYPE_CHECKING:
    from hedgerow.query import Session
    from hedgerow.query.answer_table import AnswerTable
    from hedgerow.release import Release

__all__ = ["Prompt", "show"]

_COMMANDS = {
    ".columns, \\d": "what can be asked about",
    ".tables": "the tables that can be asked",
    ".explain SELECT ...": "the question as plain SQL, what makes its bounds wide, and what would narrow them",
    ".regress y ~ a + b": "a linear model of a sensitive column, every coefficient with bounds",
    ".help": "this",
    ".quit": "leave; so does Ctrl-D",
}
_EXAMPLE = "SELECT avg({}) FROM release WHERE ..."


class Prompt:
    """Questions to one release, one after the other."""

    def __init__(self, release: Release, session: Session, shown: Callable[[AnswerTable], None] | None = None) -> None:
        self._release = release
        self._session = session
        self._show = shown or show
        self._last = ""

    def run(self, *, keep_history: bool = True) -> bool:
        """Answer until the input ends. Tell whether a question from a pipe was refused."""
        if not sys.stdin.isatty():
            refused = [self._is_refused(text.strip()) for text in _until_quit(statements(sys.stdin))]
            return any(refused)
        from hedgerow.cli.line_editing import line_editing

        self._greet()
        with line_editing(self._release.columns.all, keep_history=keep_history) as remember:
            for text in _until_quit(_typed()):
                # A line that begins with WHERE, GROUP BY, ... goes on with the question that was just answered.
                whole = f"{self._last}\n{text}" if self._last and goes_on(text) else text.strip()
                remember(" ".join(whole.split("\n")))
                self._is_refused(whole)
                self._last = whole.rstrip("; \n") if begins_question(whole) else ""
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
        if not is_command(line):
            check_beginning(line, self._release.columns.all)
            self._show(self._session.sql(line))
            return
        word, _, rest = line.rstrip("; ").partition(" ")
        word = {"help": ".help", "\\d": ".columns", "\\?": ".help", "\\h": ".help", "\\dt": ".tables"}.get(
            word.lower(), word
        )
        commands: dict[str, Callable[[str], None]] = {
            ".columns": self._columns,
            ".tables": self._tables,
            ".explain": self._explain,
            ".regress": self._regress,
            ".help": self._help,
        }
        if word not in commands:
            raise QueryError(f"there is no command '{word}'; there are {', '.join((*commands, '.quit'))}")
        commands[word](rest.strip())

    def _columns(self, _: str) -> None:
        rows = [(as_written(name), *_described(self._release, name)) for name in self._release.columns.all]
        console().print(table("", ("column", "holds", "its values are"), rows))

    def _tables(self, _: str) -> None:
        rows = [("release", f"{self._release.rows.published:,}", ", ".join(self._release.columns.all))]
        console().print(table("", ("table", "rows", "columns"), rows))

    def _regress(self, formula: str) -> None:
        if not formula:
            name = as_written(self._release.columns.sensitive[0])
            raise QueryError(f".regress needs a formula: .regress {name} ~ a + b, with known columns on the right")
        show_regression(self._release.regress(formula))

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


def show(result: AnswerTable) -> None:
    """Print answers on the screen, as wide as it is, with what its encoding has; then what the deviation is."""
    screen = console()
    screen.print(answers(result, width=screen.width, strokes=strokes_for(screen.encoding)))
    for note in result.notes:
        screen.print(note, style="dim", markup=False)


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
    """Statements from a person; Ctrl-C gives up what is typed, Ctrl-D ends them. An empty line ends a statement."""
    held = ""
    while True:
        try:
            line = input("     ...> " if held else "hedgerow> ")
        except KeyboardInterrupt:
            click.echo()
            held = ""
            continue
        except EOFError:
            click.echo()
            return
        text = f"{held}\n{line}" if held else line
        # What takes several lines ends with `;` or an empty line; a question that is whole on one line needs neither.
        is_open = bool(line.strip()) and (is_waiting(text) or (bool(held) and not is_ended(text)))
        held = text if is_open else ""
        if not is_open:
            yield text


def _until_quit(lines: Any) -> Iterator[str]:
    for line in lines:
        if line.strip().rstrip(";").lower() in (".quit", ".exit", "quit", "exit", "\\q"):
            return
        yield line
