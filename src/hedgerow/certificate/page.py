"""A certificate as one page of HTML that needs nothing else: no script, no font, no picture from anywhere.

Names of columns and everything else that comes from a bundle are hostile until proven otherwise: every expression of
the template is escaped, characters that change the direction of writing or cannot be seen are replaced, and the page's
own policy forbids scripts and anything from outside.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from hedgerow.certificate.charts import LEAST, percent, rate_bar, scale_top, width_bar
from hedgerow.certificate.model import Certificate, Width
from hedgerow.certificate.words import listed

__all__ = ["page"]

_TEMPLATES = Path(__file__).with_name("templates")
_MARKED = re.compile("`([^`]*)`")
_BASES = {"promise": "follows from the promise"}
"""Where a rate comes from, if not from what the table's caption says."""

_COUNTS = {
    "input": "rows came in",
    "published": "rows published",
    "suppressed": "rows held back",
    "groups": "groups",
    "left": "left entities",
    "right": "right entities",
    "edges": "links",
    "left_groups": "left groups",
    "right_groups": "right groups",
}
_ROLES = {
    "quasi": "quasi-identifiers",
    "sensitive": "sensitive",
    "plain": "as they were",
    "left": "left entities",
    "right": "right entities",
}


def page(certificate: Certificate) -> str:
    """Lay out a certificate."""
    return (
        _environment()
        .get_template("certificate.html")
        .render(
            c=certificate,
            style=Markup((_TEMPLATES / "certificate.css").read_text(encoding="utf-8")),
            kinds=_kinds(certificate),
            top=scale_top(certificate.answers.widths),
            least=LEAST,
            bases=_BASES,
            counts=_COUNTS,
            roles=_ROLES,
        )
    )


def _kinds(certificate: Certificate) -> dict[str, list[Width]]:
    """Sort widths by question: one block of the table each."""
    kinds: dict[str, list[Width]] = {}
    for width in certificate.answers.widths:
        kinds.setdefault(width.question, []).append(width)
    return kinds


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "marked": _marked,
        "headed": _headed,
        "raised": _raised,
        "listed": listed,
        "day": _day,
        "rate_bar": rate_bar,
        "thousands": lambda number: f"{number:,}",
    }
    environment.globals["width_bar"] = width_bar
    return environment


def _shown(value: Any) -> Any:
    """Replace what cannot be seen, or turns the text around; markup of our own stays."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join("\ufffd" if unicodedata.category(sign) in _UNSEEN and sign != "\n" else sign for sign in value)


_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def _marked(text: str) -> Markup:
    """Set what stands between backticks as names; escaped first."""
    return Markup(_MARKED.sub(r"<code>\1</code>", str(escape(_shown(text)))))


def _headed(sentence: str) -> Markup:
    """Set the word before the first colon in bold."""
    head, colon, rest = sentence.partition(": ")
    return (
        Markup("<strong>{}.</strong> {}").format(_shown(head), _marked(_raised(rest))) if colon else _marked(sentence)
    )


def _raised(text: str) -> str:
    """Begin with a capital; what follows may be a name and stays."""
    return text[:1].upper() + text[1:]


def _day(text: str) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    return f"{day.day} {day:%B %Y}"
