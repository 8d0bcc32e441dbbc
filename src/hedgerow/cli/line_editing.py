"""Line editing at the prompt, with completion and a file of the questions asked before.

The file lies in the user's state folder (XDG_STATE_HOME) and only its owner may read it. It holds questions, never
answers. Python without readline has plain input instead.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["COMMANDS", "DELIMITERS", "WORDS", "as_written", "completions", "history_file", "line_editing"]


_LONGEST = 1000


def history_file() -> Path:
    """Say where questions are kept."""
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
    question = line.removeprefix(".explain ").strip()
    if question and not question.startswith((".", "--")):
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
