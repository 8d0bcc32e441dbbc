"""Answers as a table for a person: the expected value with its bounds beside it, in digits and as a small bar.

Bars share a scale: they show where an answer may lie and where it is expected. `.explain` at the prompt prints the
question as plain SQL, what makes its bounds wide, and what would narrow them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa
import pyarrow.csv

from hedgerow.cli.show import EDGES, GAP, console, number, table
from hedgerow.errors import HedgerowError
from hedgerow.query.answer import MEANING, Answer

if TYPE_CHECKING:
    from hedgerow.query import Session
    from hedgerow.query.answer_table import AnswerTable
    from hedgerow.release import Release
    from hedgerow.utility.uncertainty import Causes, Move

__all__ = ["ASCII", "BLOCKS", "Span", "Strokes", "answers", "bars", "explain", "print_csv", "print_json", "strokes_for"]


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
    names = set(result.column_names)
    aggregates = [name for name in result.column_names if f"{name}_lower" in names]
    belonging = {f"{name}_{part}" for name in aggregates for part in ("lower", "upper", "std")}
    keys = [name for name in result.column_names if name not in belonging and name not in aggregates]
    rows = result.to_pylist()
    # Bounds that are no whole numbers are rounded outwards: an answer itself knows whether it is exact.
    sure = {name: [answer.exact for answer in result.answers(name)] for name in getattr(result, "aggregates", ())}
    lines = [
        [*(number(row[key]) for key in keys), name, *_cells(row, name, name in sure and sure[name][place])]
        for place, row in enumerate(rows)
        for name in aggregates
    ]
    columns = [*keys, "answer", "lower", "expected", "upper", "std"]
    room = min(width - _natural(columns, lines) - GAP, _WIDEST_BAR)
    if room >= _NARROWEST_BAR and any(_is_wide(row, name) for row in rows for name in aggregates):
        drawn = {name: bars([_span(row, name) for row in rows], width=room, strokes=strokes) for name in aggregates}
        ordered = (drawn[name][place] for place in range(len(rows)) for name in aggregates)
        lines = [[*line, bar] for line, bar in zip(lines, ordered, strict=True)]
        columns.append("")
    return table("", columns, lines, right=("lower", "expected", "upper", "std"), width=width)


def _cells(row: dict[str, Any], name: str, is_sure: bool) -> list[str]:
    is_exact = (is_sure or not _is_open(row, name)) and row[f"{name}_lower"] is not None
    spread = "exact" if is_exact else number(row[f"{name}_std"])
    return [number(row[f"{name}_lower"]), number(row[name]), number(row[f"{name}_upper"]), spread]


def _is_open(row: dict[str, Any], name: str) -> bool:
    return bool(row[f"{name}_lower"] != row[f"{name}_upper"])


def _is_wide(row: dict[str, Any], name: str) -> bool:
    """Tell whether the digits differ; that bounds were rounded outwards is nothing to draw."""
    return number(row[f"{name}_lower"]) != number(row[f"{name}_upper"])


def _span(row: dict[str, Any], name: str) -> Span:
    lower, expected, upper = (row[column] for column in (f"{name}_lower", name, f"{name}_upper"))
    lower, upper = (lower, upper) if _is_wide(row, name) else (expected, expected)
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


def print_json(result: AnswerTable) -> None:
    """Print answers as JSON, one object on one line: a list of rows; NULL is null, dates are texts."""

    def cell(value: Any) -> Any:
        return asdict(value) if isinstance(value, Answer) else value

    rows = [{name: cell(value) for name, value in row.items()} for row in result]
    click.echo(json.dumps({"rows": rows, "std": MEANING}, default=str, ensure_ascii=False))


def print_csv(result: AnswerTable) -> None:
    """Print answers as CSV with a header; NULL is an empty field, an empty text is quoted."""
    sink = io.BytesIO()
    pa.csv.write_csv(result.to_arrow(), sink)
    click.echo(sink.getvalue().decode(), nl=False)


_NOTHING = 1e-12
"""Relative width of an exact answer: bounds that are no whole numbers are rounded outwards."""


def explain(release: Release, session: Session, question: str) -> None:
    """Print the three parts; what one of them cannot say does not keep the others back."""
    from hedgerow.utility.uncertainty import best_moves, causes, relative_width

    width = relative_width(session.sql(question))
    click.echo(_plain_sql(release, question) + "\n")
    if width is None:
        click.echo("There are no bounds to explain: the answer is NULL or zero, or the release gives estimates only.")
        return
    if width == 0:
        click.echo("The answer is exact: every assignment of values to rows gives the same.")
        return
    click.echo(f"The bounds reach ±{width / 2:.2g} times the answer." if width > 2 else _reach(width))
    _print_causes(release, causes(release, question))
    for sentence in _advice(*best_moves(release, session, question)):
        click.echo(sentence)


def _plain_sql(release: Release, question: str) -> str:
    from hedgerow.query import rewrite

    try:
        return rewrite(release, question)
    except HedgerowError as error:
        return f"-- no plain SQL: {error}"


def _reach(width: float) -> str:
    return f"The bounds reach {_around(width)} of the answer."


def _around(width: float) -> str:
    return f"±{50 * width:.2g}%"


def _print_causes(release: Release, found: Causes) -> None:
    click.echo(
        f"Of {release.groups:,} groups {found.hit:,} have matching rows; "
        f"{found.open:,} of them leave the answer uncertain."
    )
    rows = [
        (cause.group, f"{number(round(cause.hits, 1))} of {cause.rows:,}", f"{100 * cause.share:.1f}%")
        for cause in found.worst
    ]
    if rows:
        columns = ("group", "matching rows", "share of the uncertainty")
        console().print(table("", columns, rows, right=columns))


def _advice(narrower: Move | None, wider: Move | None) -> list[str]:
    """Say what to ask instead; the best part of a range first."""
    if narrower is None and wider is None:
        return ["No other range that was tried has narrower bounds."]
    moves = [("Narrow", narrower), ("Widen", wider)]
    return [_sentence(verb, move) for verb, move in moves if move is not None]


def _sentence(verb: str, move: Move) -> str:
    asked = f"{verb} your range of {move.column} to {move.low}..{move.high} and"
    if move.after < _NOTHING:
        return f"{asked} the answer is exact."
    saved = "by half" if 0.45 <= move.saved <= 0.55 else f"by {100 * move.saved:.0f}%"
    return f"{asked} the bounds shrink {saved}: {_around(move.after)} of the answer instead of {_around(move.before)}."
