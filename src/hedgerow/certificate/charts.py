"""Small bars for the tables of a certificate, as inline SVG: they take the page's colours, print, and have words.

A bar is as wide as its cell. Its numbers stand in the cells beside it, so that nothing is told by colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from hedgerow.certificate.model import Risk, Width

__all__ = ["LEAST", "percent", "rate_bar", "scale_top", "width_bar"]

LEAST = 0.0001
"""Where the logarithmic scale of widths begins; everything below is drawn there."""

_SVG = Markup('<svg viewBox="0 0 200 16" preserveAspectRatio="none" role="img" aria-label="{label}">{marks}</svg>')
_RECT = Markup('<rect class="{kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}"/>')
_WIDE = 200.0


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
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}" if share >= 0.001 else f"{100 * share:.1g}%"


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
