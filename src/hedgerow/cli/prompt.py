"""The prompt of `hedgerow query`: questions from a person or from a pipe, also over several lines up to `;`.

A refusal is one sentence and the next question can follow. Ctrl-C drops a question or stops an answer; Ctrl-D leaves.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedgerow.cli.answers import answers, explain, strokes_for
from hedgerow.cli.regress import show_regression
from hedgerow.cli.show import console, table
from hedgerow.errors import HedgerowError, QueryError
from hedgerow.query.sql.wording import (
    begins_question,
    check_beginning,
    expects_select,
    goes_on,
    is_ended,
    is_whole,
    on_one_line,
)
from hedgerow.verify.names import tables_with

if TYPE_CHECKING:
    from hedgerow.query import Session
    from hedgerow.query.answer_table import AnswerTable
    from hedgerow.release import Release

_LONGEST = 1000


def history_file() -> Path:
    """Where the history of questions is saved."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "hedgerow" / "history"


@contextmanager
def line_editing(columns: Sequence[str], *, keep_history: bool) -> Iterator[Callable[[str], None]]:
    """Edit lines inside; what comes back remembers a question and passes over commands and empty lines."""
    try:
        import readline
    except ImportError:
        yield lambda line: None
        return
    _set_up(readline, columns)
    if keep_history:
        _load(readline, history_file())
    yield lambda line: _remember(readline, line)
    if keep_history:
        _save(readline, history_file())


def _set_up(readline: Any, columns: Sequence[str]) -> None:
    def complete(text: str, state: int) -> str | None:
        found = completions(text, columns)
        return found[state] if state < len(found) else None

    readline.set_auto_history(False)
    readline.clear_history()
    readline.set_completer_delims(DELIMITERS)
    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")


def _remember(readline: Any, line: str) -> None:
    question = on_one_line(_question_of(line))
    if question and not is_command(question):
        readline.add_history(question)


def _load(readline: Any, file: Path) -> None:
    with contextlib.suppress(OSError):
        readline.read_history_file(file)


def _save(readline: Any, file: Path) -> None:
    # A history that cannot be kept is no reason to end with an error.
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        readline.set_history_length(_LONGEST)
        readline.write_history_file(file)


COMMANDS = (".columns", ".explain", ".help", ".quit", ".regress", ".tables")
WORDS = (
    *("SELECT", "FROM", "release", "WHERE", "GROUP", "BY", "AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "IS", "NULL"),
    *("AS", "count(*)", "count(", "sum(", "avg(", "min(", "max(", "DATE", "YEAR(", "MONTH(", "DAY("),
    *("HAVING", "ORDER", "LIMIT", "DISTINCT", "CASE", "WHEN", "THEN", "ELSE", "END"),
)
"""What questions are made of; a word that an engine refuses comes back with the reason."""

DELIMITERS = " \t\n(),=<>+*/;"
"""What parts words: neither quotes nor hyphens, which column names contain."""


def as_written(name: str) -> str:
    """Write a column's name as SQL needs it: in double quotes unless it is a plain word."""
    is_plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.upper() not in WORDS
    return name if is_plain else '"' + name.replace('"', '""') + '"'


def completions(text: str, columns: Sequence[str]) -> list[str]:
    """List what may follow: columns first, then SQL words in the case that was begun, commands after a dot."""
    if text.startswith("."):
        return [command for command in COMMANDS if command.startswith(text)]
    begun = text.lower().lstrip('"')
    names = [as_written(name) for name in columns if name.lower().startswith(begun)]
    if text.startswith('"'):
        return [name if name.startswith('"') else f'"{name}"' for name in names]
    words = [word for word in WORDS if text and word.lower().startswith(begun)]
    return [*names, *(word.lower() if text.islower() else word for word in words)]


_ALSO = {
    "help": ".help",
    "?": ".help",
    "\\?": ".help",
    "\\h": ".help",
    "\\d": ".columns",
    "\\d+": ".columns",
    "\\d release": ".columns",
    ".schema": ".columns",
    "describe release": ".columns",
    "show columns": ".columns",
    "\\dt": ".tables",
    "show tables": ".tables",
    "quit": ".quit",
    "exit": ".quit",
}
"""Commands as other prompts call them."""


def statements(lines: Iterable[str]) -> Iterator[str]:
    """Join the lines of a pipe to statements; commands, comments and blank lines stand alone."""
    held = ""
    for line in lines:
        text = line.strip()
        explains = is_command(text) and begins_question(_question_of(text))
        stands_alone = not text or (is_command(text) and not explains) or text.startswith("--")
        belongs = goes_on(text) or (
            expects_select(_question_of(held)) if begins_question(text) else is_waiting(held) and not explains
        )
        if held and (stands_alone or not belongs):
            yield held
            held = ""
        held = f"{held}\n{text}" if held else text
        if stands_alone or is_ended(held):
            yield held
            held = ""
    if held:
        yield held


def is_command(text: str) -> bool:
    """Return whether a line is a command."""
    return text.startswith((".", "\\")) or text.lower().rstrip("; ") in _ALSO


def is_waiting(text: str) -> bool:
    """Return whether a question that has begun, also one behind .explain, is not at its end."""
    question = _question_of(text)
    return begins_question(question) and not is_ended(question) and not is_whole(question)


def _question_of(text: str) -> str:
    return text.removeprefix(".explain ")


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
        """Answer until the input ends. Return whether a question from a pipe was refused."""
        if not sys.stdin.isatty():
            refused = [self._is_refused(text.strip()) for text in _until_quit(statements(sys.stdin))]
            return any(refused)

        self._greet()
        with line_editing(self._release.columns.all, keep_history=keep_history) as remember:
            for text in _until_quit(_typed_statements()):
                # A line that begins with WHERE, GROUP BY, ... goes on with the question that was just answered.
                whole = f"{self._last}\n{text}" if self._last and goes_on(text) else text.strip()
                remember(whole)
                self._is_refused(whole)
                self._last = whole.rstrip("; \n") if begins_question(_question_of(whole)) else ""
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
        line = line.rstrip("; ")
        word, _, rest = _ALSO.get(line.lower(), line).partition(" ")
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
        rows = [(as_written(name), *_describe(self._release, name)) for name in self._release.columns.all]
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


def _describe(release: Release, name: str) -> tuple[str, str]:
    ends = release.form.lower_ends(release.columns, release.group_column)
    names = (ends.get(name, name), name)
    published = [table.schema.field(name).type for name in names for table in tables_with(release.tables, name)]
    return str(published[0]) if published else "", _fate(release, name)


def _fate(release: Release, name: str) -> str:
    if release.form.is_altered:
        return "changed: answers are estimates" if name in release.guarantee.columns else "as they are"
    return "hidden among those of its group" if name in release.columns.sensitive else release.form.known_columns


def _typed_statements() -> Iterator[str]:
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
