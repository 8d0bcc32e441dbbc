"""How a question begins and ends, seen from its words alone; and what to say where it begins wrongly."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from hedgerow.errors import QueryError

__all__ = ["begins_question", "check_beginning", "expects_select", "goes_on", "is_ended", "is_whole", "on_one_line"]

_EXAMPLE = "SELECT avg(x) FROM release WHERE a BETWEEN 1 AND 2"
_FIRST = ("SELECT", "WITH", "FROM")
_GOING_ON = (
    *("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "AND", "OR", "NOT", "UNION", "JOIN", "LEFT"),
    *("INNER", "ON", "USING", "BETWEEN", "IN", "AS", "WHEN", "THEN", "ELSE", "END"),
)
_OTHER = ("DROP", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "PRAGMA", "SET", "COPY", "ATTACH", "CALL", "VALUES")
_UNFINISHED = (
    *("FROM", "WHERE", "BY", "AND", "OR", "ALL", "UNION", "ON", "NOT", "SELECT", "JOIN", "HAVING", "BETWEEN", "IN"),
    *("LIKE", "IS", "LIMIT", "OFFSET", *",=<>+-/|"),
)
_TOKENS = re.compile(r"""'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|--[^\n]*|/\*.*?(?:\*/|$)|\w+|\S""", re.DOTALL)


def _words(text: str) -> list[str]:
    return [token for token in _TOKENS.findall(text) if not token.startswith(("--", "/*"))]


def begins_question(text: str) -> bool:
    """Tell whether a text begins like a question."""
    return next((word for word in _words(text) if word != "("), "").upper() in _FIRST


def is_ended(text: str) -> bool:
    """Tell whether a text ends with a semicolon that is not part of a constant."""
    return _words(text)[-1:] == [";"]


def goes_on(line: str) -> bool:
    """Tell whether a line begins in the middle of a question."""
    return next(iter(_words(line)), "").upper() in (*_GOING_ON, *",()+-*/|=<>")


def on_one_line(text: str) -> str:
    """Write a question without its line breaks and comments."""
    kept = _TOKENS.sub(lambda token: "" if token[0].startswith(("--", "/*")) else token[0], text)
    return " ".join(line.strip() for line in kept.splitlines() if line.strip())


def is_whole(text: str) -> bool:
    """Tell whether a question could end here: brackets and quotes are closed, and it says FROM what."""
    outer = _outside(text)
    where = outer if outer[:1] != ["("] else text.upper().split()
    return not expects_select(text) and "FROM" in where[:-1] and outer[-1] not in _UNFINISHED


def expects_select(text: str) -> bool:
    """Tell whether a SELECT that follows would belong to this question: a bracket or quote is open, WITH, UNION ALL."""
    outer = _outside(text)
    if not outer or outer[-1] in ("ALL", "UNION", "?"):
        return True
    return outer[0] == "WITH" and "SELECT" not in outer


def _outside(text: str) -> list[str]:
    """Words outside of brackets; a last one, ?, where a bracket or a quote is open."""
    depth = 0
    outer: list[str] = []
    for token in _words(text):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if token[0] in "'\"" and (len(token) == 1 or token[-1] != token[0]):
            return [*outer, "?"]
        if depth == 0 or token == "(":
            outer.append(token.upper())
    return [*outer, "?"] if depth > 0 else outer


def check_beginning(text: str, columns: Sequence[str] = ()) -> None:
    """Refuse what begins no question, and say what may be meant: a typing error, a column, a word without SELECT."""
    words = [word for word in _words(text) if word != ";"]
    if not words or begins_question(text) or words[0].upper() in _OTHER:
        return
    first = words[0]
    name = next((name for name in columns if name.lower() == first.strip('"').lower()), None)
    if name is not None and len(words) == 1:
        written = name if re.fullmatch(r"[A-Za-z_]\w*", name) else '"' + name.replace('"', '""') + '"'
        raise QueryError(f"'{name}' is a column; ask about it: SELECT avg({written}) FROM release WHERE ...")
    if re.fullmatch(r"[^\W\d]\w*", first):
        close = difflib.get_close_matches(first.upper(), _FIRST, n=1, cutoff=0.6)
        meant = f"did you mean {close[0]}? " if close else ""
        if first.upper() in _GOING_ON:
            meant = "it goes on with a question, and there is none before it; "
        raise QueryError(
            f"no question begins with '{first[:30]}'; {meant}only a single SELECT can be asked: {_EXAMPLE}"
        )
