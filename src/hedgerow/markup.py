"""HTML for notebooks: small tables, every text escaped, no script and no style that a page could clash with."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

__all__ = ["html_note", "html_table"]


def html_table(header: Sequence[str], rows: Iterable[Sequence[object]], *, texts: int = 1) -> str:
    """Write a table whose first `texts` columns begin at the left, while the others end at the right."""
    head = "".join(
        f'<th style="text-align:{_side(place, texts)}">{_text(cell)}</th>' for place, cell in enumerate(header)
    )
    body = "".join(
        "<tr>"
        + "".join(f'<td style="text-align:{_side(place, texts)}">{_text(cell)}</td>' for place, cell in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_note(text: str) -> str:
    """Write a line of text."""
    return f"<div>{_text(text)}</div>"


def _text(cell: object) -> str:
    return html.escape(str(cell))


def _side(place: int, texts: int) -> str:
    return "left" if place < texts else "right"
