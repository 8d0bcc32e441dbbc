"""Answers as a table for a person: the expected value with its bounds beside it, in digits and as a small bar.

Bars share a scale: they show where an answer may lie and where it is expected. `.explain` at the prompt prints the
question as plain SQL, what makes its bounds wide, and what would narrow them.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa
import pyarrow.csv

from hedgerow.cli.output import put_json
from hedgerow.cli.show import EDGES, GAP, console, table
from hedgerow.query.answer import MEANING
from hedgerow.report.answer_text import COLUMNS, answer_lines, explanation, has_width

if TYPE_CHECKING:
    from hedgerow.query import Session
    from hedgerow.query.answer_table import AnswerTable
    from hedgerow.release import Release

_WIDEST_BAR = 24
_NARROWEST_BAR = 6


@dataclass(frozen=True)
class Strokes:
    """What a bar is drawn with: the stretch between the bounds, and the expected answer on it."""

    stretch: str
    mark: str


BLOCKS = Strokes("░", "█")
ASCII = Strokes("-", "#")


def answers(result: pa.Table | AnswerTable, *, width: int = 120, strokes: Strokes = BLOCKS) -> Any:
    """Lay out what `query.sql` returned on `width` columns: one line per aggregate, or per group if there are groups.

    Bars share one scale per aggregate. They take the room that the digits leave, and are left out where that is none.
    """
    said = answer_lines(result)
    columns, lines, rows, aggregates = said.columns, said.lines, said.rows, said.aggregates
    room = min(width - _natural(columns, lines) - GAP, _WIDEST_BAR)
    if room >= _NARROWEST_BAR and any(has_width(row, name) for row in rows for name in aggregates):
        drawn = {name: bars([_span(row, name) for row in rows], width=room, strokes=strokes) for name in aggregates}
        ordered = (drawn[name][place] for place in range(len(rows)) for name in aggregates)
        lines = [[*line, bar] for line, bar in zip(lines, ordered, strict=True)]
        columns.append("")
    return table("", columns, lines, right=COLUMNS, width=width)


def _span(row: dict[str, Any], name: str) -> Span:
    lower, expected, upper = (row[column] for column in (f"{name}_lower", name, f"{name}_upper"))
    lower, upper = (lower, upper) if has_width(row, name) else (expected, expected)
    return Span(*(None if end is None else float(end) for end in (lower, expected, upper)))


def _natural(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> int:
    """The width of a table whose cells are all on one line."""
    widths = [max(len(cell) for cell in column) for column in zip(columns, *lines, strict=True)]
    return sum(widths) + GAP * (len(widths) - 1) + EDGES


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
        low, high = self.low / 2, self.high / 2
        share = (value / 2 - low) / (high - low) if high > low else 0.5
        return round(share * (self.cells - 1))


def _bar(span: Span, scale: _Scale, strokes: Strokes) -> str:
    cells = [" "] * scale.cells
    if span.ends:
        first, last = scale.cell(min(span.ends)), scale.cell(max(span.ends))
        cells[first : last + 1] = strokes.stretch * (last + 1 - first)
    if span.expected is not None:
        cells[scale.cell(span.expected)] = strokes.mark
    return "".join(cells)


def put_answers(result: AnswerTable) -> None:
    """Hand answers over as JSON, one object on one line: rows, and what is said below them; NULL is null."""
    put_json(
        lambda: {"rows": list(result), "sure": result.sure, "picked": result.is_picked, "std": MEANING}, indent=None
    )


def print_csv(result: AnswerTable) -> None:
    """Print answers as CSV with a header; NULL is an empty field, an empty text is quoted."""
    sink = io.BytesIO()
    pa.csv.write_csv(result.to_arrow(), sink)
    click.echo(sink.getvalue().decode(), nl=False)


def explain(release: Release, session: Session, question: str) -> None:
    """Print the question as plain SQL, what makes its bounds wide, and what would narrow them."""
    found = explanation(release, session, question)
    click.echo(found.sql + "\n")
    for sentence in found.sentences:
        click.echo(sentence)
    if found.groups:
        columns = ("group", "matching rows", "share of the uncertainty")
        console().print(table("", columns, found.groups, right=columns))
    for sentence in found.advice:
        click.echo(sentence)
