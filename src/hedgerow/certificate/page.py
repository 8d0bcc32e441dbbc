"""A certificate as one self-contained page of HTML: no script, no external font or picture.

Names of columns and everything else that comes from a bundle are hostile until proven otherwise: every expression of
the template is escaped, characters that change the direction of writing or cannot be seen are replaced, and the page's
own policy forbids scripts and anything from outside. Bars are inline SVG as wide as their cell: they take the page's
colours, print, and have texts; their numbers are in the cells beside them, so that no information is in colour alone.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from hedgerow.certificate.fill import list_parameters
from hedgerow.certificate.model import Certificate, Measure, Risk, Width
from hedgerow.digits import number_text

LEAST = 0.0001
"""Where the logarithmic scale of widths begins; everything below is drawn there."""

_SVG = Markup('<svg viewBox="0 0 200 16" preserveAspectRatio="none" role="img" aria-label="{label}">{marks}</svg>')
_RECT = Markup('<rect class="{kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}"/>')
_WIDE = 200.0

_TEMPLATES = Path(__file__).with_name("templates")
_MARKED = re.compile("`([^`]*)`")
_BASES = {"promise": "follows from the promise"}
"""Where a rate comes from, if not from what the table's caption says."""

_COUNTS = {
    "input": "rows came in",
    "published": "rows published",
    "suppressed": "rows suppressed",
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


def strict_environment(folder: Path) -> jinja2.Environment:
    """Templates of a folder, in which every expression is escaped and made visible, and none may be undefined."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        finalize=visible,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _environment() -> jinja2.Environment:
    environment = strict_environment(_TEMPLATES)
    environment.filters |= {
        "percent": percent,
        "measure_text": measure_text,
        "marked": _mark_names,
        "headed": _embolden_head,
        "raised": _capitalize,
        "listed": list_parameters,
        "day": _day,
        "rate_bar": rate_bar,
        "thousands": lambda number: f"{number:,}",
    }
    environment.globals["width_bar"] = width_bar
    return environment


def visible(value: Any) -> Any:
    """Replace what cannot be seen, or turns the text around; markup of our own stays."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join("\ufffd" if unicodedata.category(sign) in _UNSEEN and sign != "\n" else sign for sign in value)


_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def _mark_names(text: str) -> Markup:
    """Set what stands between backticks as names; escaped first."""
    return Markup(_MARKED.sub(r"<code>\1</code>", str(escape(visible(text)))))


def _embolden_head(sentence: str) -> Markup:
    """Set the word before the first colon in bold."""
    head, colon, rest = sentence.partition(": ")
    return (
        Markup("<strong>{}.</strong> {}").format(visible(head), _mark_names(_capitalize(rest)))
        if colon
        else _mark_names(sentence)
    )


def _capitalize(text: str) -> str:
    """Begin with a capital; what follows may be a name and stays."""
    return text[:1].upper() + text[1:]


def _day(text: str) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    return f"{day.day} {day:%B %Y}"


def percent(share: float | None) -> str:
    """Write a share for a person: more places the smaller it is, and nothing for None."""
    if share is None:
        return "–"
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    if share >= 10:
        return f"{share:,.0%}"
    if share > 0.995:
        return ">99%" if share < 1 else f"{share:.0%}"
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}" if share >= 0.001 else f"{number_text(100 * share, 1)}%"


def measure_text(measure: Measure, which: str) -> str:
    """Write a measure, before or after, in its unit."""
    value = getattr(measure, which)
    if value is None or measure.unit == "share":
        return percent(value)
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def rate_bar(risk: Risk) -> Markup:
    """Draw a rate from 0 to 100 %: the bar, a line for the worst off, ticks for guessing and for the promise."""
    marks = [_rect("track", 0, 1, 6, 4), _rect("bar", 0, risk.rate, 4, 8)]
    if risk.worst is not None:
        marks.append(_rect("reach", min(risk.rate, risk.worst), max(risk.rate, risk.worst), 7, 2))
    for kind, share in (("guess", risk.baseline), ("promise", risk.promised)):
        if share is not None:
            marks.append(_tick(kind, share))
    words = [f"right for {percent(risk.rate)}"]
    named = {"guessing": risk.baseline, "worst off": risk.worst, "promised at most": risk.promised}
    words += [f"{name} {percent(share)}" for name, share in named.items() if share is not None]
    return _SVG.format(label=", ".join(words), marks=Markup("").join(marks))


def scale_top(widths: Sequence[Width]) -> float:
    """The upper end of the scale of widths: a power of ten that holds them all, at least 100 %."""
    largest = max((width.upper_quartile or 0.0 for width in widths), default=0.0)
    return float(10 ** max(0, math.ceil(math.log10(largest)))) if largest > 0 else 1.0


def width_bar(width: Width, top: float) -> Markup:
    """Draw half a width on a logarithmic scale: the middle half of the answers as a bar, the median as a tick."""
    marks = [_rect("track", 0, 1, 6, 4)]
    label = "no bounds"
    if width.median is not None and width.lower_quartile is not None and width.upper_quartile is not None:
        ends = [_place(share, top) for share in (width.lower_quartile, width.upper_quartile)]
        marks += [_rect("bar", ends[0], max(ends[1], ends[0] + 0.01), 4, 8), _tick("median", _place(width.median, top))]
        label = (
            f"median {percent(width.median)}, "
            f"middle half {percent(width.lower_quartile)} to {percent(width.upper_quartile)}"
        )
    return _SVG.format(label=label, marks=Markup("").join(marks))


def _place(share: float, top: float) -> float:
    return min(1.0, max(0.0, math.log(max(share, LEAST) / LEAST) / math.log(top / LEAST)))


def _rect(kind: str, start: float, end: float, y: int, height: int) -> Markup:
    return _RECT.format(kind=kind, x=_WIDE * start, y=y, width=_WIDE * max(end - start, 0.0), height=height)


def _tick(kind: str, share: float) -> Markup:
    return _RECT.format(kind=kind, x=min(_WIDE * share, _WIDE - 2), y=1, width=2.0, height=14)
