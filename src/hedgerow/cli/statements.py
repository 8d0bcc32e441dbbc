"""Lines to statements: a question may take several lines, up to `;`.

A question that is whole on one line needs no `;`. That it goes on is told by what is open (a bracket, WITH or UNION ALL
without its SELECT, no FROM yet), or by how the next line begins (WHERE, GROUP BY, ...).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hedgerow.query.sql.wording import begins_question, expects_select, goes_on, is_ended, is_whole

__all__ = ["is_command", "is_waiting", "statements"]

WORDS = ("help", "quit", "exit")
"""Commands that people type without a dot."""


def statements(lines: Iterable[str]) -> Iterator[str]:
    """Join the lines of a pipe to statements; commands, comments and blank lines stand alone."""
    held = ""
    for line in lines:
        text = line.strip()
        stands_alone = not text or is_command(text) or text.startswith("--")
        belongs = goes_on(text) or (expects_select(held) if begins_question(text) else is_waiting(held))
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
    """Tell whether a line is a command."""
    return text.startswith((".", "\\")) or text.lower().rstrip("; ") in WORDS


def is_waiting(text: str) -> bool:
    """Tell whether a question that has begun is not at its end."""
    return begins_question(text) and not is_ended(text) and not is_whole(text)
