"""Bounds as small bars: where an answer may lie on a common scale, and where it is expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["ASCII", "BLOCKS", "Span", "Strokes", "bars", "strokes_for"]


@dataclass(frozen=True)
class Strokes:
    """What a bar is drawn with: the stretch between the bounds, and the expected answer on it."""

    stretch: str
    mark: str


BLOCKS = Strokes("░", "█")
ASCII = Strokes("-", "#")


@dataclass(frozen=True)
class Span:
    """One answer's bounds; None is an answer without bounds."""

    lower: float | None
    expected: float | None
    upper: float | None

    @property
    def ends(self) -> tuple[float, ...]:
        """What the scale must reach."""
        return tuple(end for end in (self.lower, self.expected, self.upper) if end is not None)


def strokes_for(encoding: str) -> Strokes:
    """Choose blocks where the screen's encoding has them."""
    try:
        (BLOCKS.stretch + BLOCKS.mark).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def bars(spans: Sequence[Span], *, width: int, strokes: Strokes = BLOCKS) -> list[str]:
    """Draw every span on the scale from the least to the greatest end of all."""
    ends = [end for span in spans for end in span.ends]
    scale = _Scale(min(ends, default=0.0), max(ends, default=0.0), width)
    return [_bar(span, scale, strokes) for span in spans]


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    cells: int

    def cell(self, value: float) -> int:
        """Find a value's place; where all values agree it is the middle."""
        # Halves before differences: bounds near the largest float must not overflow.
        share = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2) if self.high > self.low else 0.5
        return round(share * (self.cells - 1))


def _bar(span: Span, scale: _Scale, strokes: Strokes) -> str:
    cells = [" "] * scale.cells
    if span.ends:
        first, last = scale.cell(min(span.ends)), scale.cell(max(span.ends))
        cells[first : last + 1] = strokes.stretch * (last + 1 - first)
    if span.expected is not None:
        cells[scale.cell(span.expected)] = strokes.mark
    return "".join(cells)
