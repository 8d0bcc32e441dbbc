"""Pictures as inline SVG in the page's colours: no style attributes, and texts for screen readers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from hedgerow.digits import number_text

_WIDE = 400.0


@dataclass(frozen=True)
class Stretch:
    """A piece of a bar from `start` to `end`, shares of its width; a tick where both are equal."""

    kind: str
    start: float
    end: float


_SHAPES = {"bar": (5, 10), "span": (6, 8), "reach": (9, 2), "whisker": (9, 2), "track": (8, 4)}


def bar(label: str, marks: Iterable[Stretch]) -> Markup:
    """Draw marks on one line."""
    drawn = [_rect("track", 0, 1, *_SHAPES["track"])]
    for mark in marks:
        if mark.start == mark.end:
            drawn.append(_tick(mark.kind, mark.start))
        else:
            drawn.append(_rect(mark.kind, mark.start, mark.end, *_SHAPES.get(mark.kind, (6, 8))))
    return Markup(
        '<svg class="strip" viewBox="0 0 400 20" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    ).format(label, Markup("").join(drawn))


def share_bar(share: float) -> Markup:
    """Draw a share of the whole."""
    return bar(f"{share:.1%}", [Stretch("bar", 0, share)] if share else [])


def _rect(kind: str, start: float, end: float, y: int, height: int) -> Markup:
    left, right = (min(1.0, max(0.0, place)) for place in (start, end))
    return Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>').format(
        kind, f"{_WIDE * left:.1f}", y, f"{max(_WIDE * (right - left), 1.0):.1f}", height
    )


def _tick(kind: str, place: float) -> Markup:
    x = min(_WIDE - 3, max(0.0, _WIDE * place - 1.5))
    return Markup('<rect class="{}" x="{}" y="1" width="3" height="18"/>').format(kind, f"{x:.1f}")


def share_place(value: float, low: float, high: float) -> float:
    """Where a value lies between two ends; halves before differences, so that large floats do not overflow."""
    low, high = low / 2, high / 2
    return (value / 2 - low) / (high - low) if high > low else 0.5


def span_bar(
    label: str, ends: tuple[float | None, float | None, float | None], scale: tuple[float, float], truth: float | None
) -> Markup:
    """Draw an answer: the stretch between its bounds, a tick where it is expected, another for the truth."""
    lower, expected, upper = ends
    marks = []
    if lower is not None and upper is not None:
        first, last = share_place(lower, *scale), share_place(upper, *scale)
        marks.append(Stretch("span", first, max(last, first + 0.004)))
    if expected is not None:
        place = share_place(expected, *scale)
        marks.append(Stretch("expected", place, place))
    if truth is not None:
        place = share_place(truth, *scale)
        marks.append(Stretch("truth", place, place))
    return bar(label, marks)


@dataclass(frozen=True)
class ChartPoint:
    """A setting of a method: how sure the surest guess is, how wide answers are, and where a form would choose it."""

    method: str
    label: str
    chance: float
    width: float
    address: str
    is_chosen: bool = False
    is_best: bool = False


_LEFT, _TOP, _RIGHT, _BOTTOM = 66.0, 16.0, 700.0, 330.0
_TICKS = (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0)


def frontier_chart(points: Sequence[ChartPoint], least_chance: float, words: Mapping[str, str]) -> Markup:
    """Draw width against the surest guess, a line per method; what no grouping can promise is hatched."""
    widths = [max(point.width, 1e-4) for point in points] or [0.01, 1.0]
    low = 10 ** math.floor(math.log10(min(widths)))
    high = 10 ** math.ceil(math.log10(max(max(widths), low * 10)))

    def x(chance: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * min(1.0, max(0.0, chance))

    def y(width: float) -> float:
        share = math.log(max(width, low) / low) / math.log(high / low)
        return _BOTTOM - (_BOTTOM - _TOP) * min(1.0, share)

    parts = [
        Markup(
            '<defs><pattern id="{}" width="8" height="8" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)"><rect class="hatch" width="3" height="8"/></pattern></defs>'
        ).format(words["id"])
    ]
    if least_chance > 0:
        parts.append(
            Markup('<rect fill="url(#{})" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>').format(
                words["id"], _LEFT, _TOP, f"{x(least_chance) - _LEFT:.1f}", _BOTTOM - _TOP, words["infeasible"]
            )
        )
    for tick in _TICKS:
        if low <= tick <= high:
            parts.append(_grid_line(_LEFT, y(tick), _RIGHT, y(tick)))
            parts.append(_text("tick end", _LEFT - 6, y(tick) + 4, f"±{number_text(100 * tick)}%"))
    for share in (0, 0.25, 0.5, 0.75, 1.0):
        parts.append(_grid_line(x(share), _TOP, x(share), _BOTTOM))
        parts.append(_text("tick middle", x(share), _BOTTOM + 16, f"{share:.0%}"))
    parts.append(_text("axis middle", (_LEFT + _RIGHT) / 2, _BOTTOM + 38, words["x"]))
    parts.append(_text("axis", _LEFT, _TOP - 4, words["y"]))
    for number, method in enumerate(dict.fromkeys(point.method for point in points)):
        own = sorted((point for point in points if point.method == method), key=lambda p: (p.chance, p.width))
        best = _best(own)
        line = " ".join(f"{x(point.chance):.1f},{y(point.width):.1f}" for point in best)
        if len(best) > 1:
            parts.append(Markup('<polyline class="line series-{}" points="{}"/>').format(number % 6, line))
        parts += [_marker(point, (x(point.chance), y(point.width)), number, point in best) for point in own]
        height = _TOP + 8 + 20 * number
        parts.append(_shape(f"point series-{number % 6}", (_RIGHT + 20, height), 5, number))
        parts.append(_text(f"name series-{number % 6}", _RIGHT + 32, height + 4, method))
    for point in points:
        if point.is_best:
            place = x(point.chance), y(point.width)
            parts.append(Markup('<circle class="ring" cx="{}" cy="{}" r="13"/>').format(*(f"{p:.1f}" for p in place)))
            parts.append(_text("axis", place[0] + 17, place[1] + 4, words["begin"]))
    return Markup('<svg class="chart" viewBox="0 0 900 380" role="group" aria-label="{}">{}</svg>').format(
        words["label"], Markup("").join(parts)
    )


def _best(own: Sequence[ChartPoint]) -> list[ChartPoint]:
    """The points of a method that none of its others beats: what its line goes through."""
    best: list[ChartPoint] = []
    for point in own:
        if not best or point.width < best[-1].width:
            best.append(point)
    return best


def _marker(point: ChartPoint, place: tuple[float, float], number: int, is_on_line: bool) -> Markup:
    faint = "" if is_on_line or point.is_chosen else " faint"
    kind = f"point series-{number % 6}{' chosen' if point.is_chosen else faint}"
    shape = _shape(kind, place, 8 if point.is_chosen else 5, number)
    words = f"{point.label}: ±{number_text(100 * point.width, 2)}%, {point.chance:.0%}"
    return Markup('<a tabindex="-1" href="{}" aria-label="{}">{}<title>{}</title></a>').format(
        point.address, words, shape, words
    )


def _shape(kind: str, place: tuple[float, float], size: int, number: int) -> Markup:
    """A circle, a square or a triangle, so that lines differ without colours."""
    a, b = place
    return (
        Markup('<circle class="{}" cx="{}" cy="{}" r="{}"/>').format(kind, f"{a:.1f}", f"{b:.1f}", size),
        Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>').format(
            kind, f"{a - size:.1f}", f"{b - size:.1f}", 2 * size, 2 * size
        ),
        Markup('<path class="{}" d="M{},{} l{},{} l{},0 z"/>').format(
            kind, f"{a:.1f}", f"{b - size - 1:.1f}", size + 1, 2 * size + 1, -2 * size - 2
        ),
    )[(number + number // 6) % 3]


def _grid_line(x1: float, y1: float, x2: float, y2: float) -> Markup:
    return Markup('<line class="grid" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
        *(f"{place:.1f}" for place in (x1, y1, x2, y2))
    )


def _text(kind: str, x: float, y: float, words: str) -> Markup:
    return Markup('<text class="{}" x="{}" y="{}">{}</text>').format(kind, f"{x:.1f}", f"{y:.1f}", words)
