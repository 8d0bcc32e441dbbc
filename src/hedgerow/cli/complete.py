"""Completion at the prompt: columns as they must be written, SQL words, commands."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["COMMANDS", "DELIMITERS", "WORDS", "as_written", "completions"]

COMMANDS = (".columns", ".explain", ".help", ".quit")
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
