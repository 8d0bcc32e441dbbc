"""HTML for notebooks: small tables and progress, every text escaped, no script, no style that a page clashes with."""

from __future__ import annotations

import html
import importlib
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

_DELAY = 0.5
"""Seconds that work may take before a notebook shows how far it is."""
_PAUSE = 0.1


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


def progress_or_notebook(progress: Callable[[str, float], None] | None) -> Callable[[str, float], None]:
    """What reports how far work is: what was given; in a notebook a bar below the cell; else nothing."""
    if progress is not None:
        return progress
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return _Bar() if getattr(shell, "kernel", None) is not None else lambda step, share: None


class _Bar:
    """A bar in a notebook that appears when work takes a while, moves in place, and goes when the work is done."""

    def __init__(self) -> None:
        self._began = self._shown = time.monotonic()
        self._place: Any = None

    def __call__(self, step: str, share: float) -> None:
        shown: Any = importlib.import_module("IPython.display")  # there in a notebook, and nowhere else needed
        now = time.monotonic()
        if self._place is None and now - self._began >= _DELAY and share < 1:
            self._place = shown.display(shown.HTML(self._bar(step, share)), display_id=True)
        elif self._place is not None and (share >= 1 or now - self._shown >= _PAUSE):
            self._place.update(shown.HTML("" if share >= 1 else self._bar(step, share)))
            self._shown = now

    def _bar(self, step: str, share: float) -> str:
        return f'<div><progress value="{share:.3f}" max="1">{share:.0%}</progress> {_text(step)} {share:.0%}</div>'


def _text(cell: object) -> str:
    return html.escape(str(cell))


def _side(place: int, texts: int) -> str:
    return "left" if place < texts else "right"
