"""What `release.sql` gives back: answers in rows and columns, for frames, notebooks and terminals.

An `AnswerTable` is an Arrow table to whoever takes one (`pa.table(answers)`, `.column`, `.to_pylist`): the keys, then
for each aggregate x the columns x (expected), x_lower, x_upper and x_std. Iterating gives rows of `Answer`s, which also
know whether they are exact, and whether their bounds are reached.
"""

from __future__ import annotations

import functools
import html
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from hedgerow.digits import bound_texts, key_text, number_text
from hedgerow.errors import printable
from hedgerow.query.answer import MEANING, Answer, Result

__all__ = ["AnswerTable", "answer_cells", "place_of"]

PICKED = "rows were chosen by expected answers; the true table may have others"
ABSENT = "some of these groups may have no row in the true table, which then does not list them; a COUNT of 0 says that"
_SHOWN = 60
_UNBOUNDED = "none"
_BAR = (140, 12)


class AnswerTable:
    """Answers to a question, a row for each group."""

    def __init__(self, result: Result) -> None:
        self._result = result

    @functools.cached_property
    def _table(self) -> pa.Table:
        return self._result.table()

    @property
    def keys(self) -> list[str]:
        """Names of the columns that tell rows apart."""
        return list(self._result.keys)

    @property
    def aggregates(self) -> list[str]:
        """Names of the results."""
        return list(self._result.estimates)

    @property
    def columns(self) -> list[str]:
        """Names of all columns, as `to_pandas` has them."""
        names: list[str] = self._table.column_names
        return names

    def answers(self, name: str) -> list[Answer]:
        """Return one aggregate's answers, row by row."""
        return self._result.estimates[name].answers

    @property
    def sure(self) -> list[bool]:
        """For each row, whether the true result surely has it; a group that may be empty may be missing there."""
        return [True] * len(self) if self._result.sure is None else list(self._result.sure)

    @property
    def is_picked(self) -> bool:
        """Whether HAVING, LIMIT or OFFSET chose rows by expected answers; the true result may then have other rows."""
        return self._result.is_picked

    def to_arrow(self) -> pa.Table:
        """Return the Arrow table."""
        return self._table

    def to_pandas(self) -> Any:
        """Return a data frame of pandas."""
        return self._table.to_pandas()

    def to_polars(self) -> Any:
        """Return a data frame of polars."""
        import polars

        return polars.from_arrow(self._table)

    def equals(self, other: AnswerTable | pa.Table) -> bool:
        """Tell whether the numbers are the same."""
        table = other.to_arrow() if isinstance(other, AnswerTable) else other
        return bool(self._table.equals(table))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the table to any library that takes Arrow streams."""
        return self._table.__arrow_c_stream__(requested_schema)

    def __getattr__(self, name: str) -> Any:
        """Answer for everything else that an Arrow table can do."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._table, name)

    def __getitem__(self, name: str | int | slice) -> Any:
        """Return a column."""
        return self._table[name]

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._result.cells

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Give rows: values of keys, and an `Answer` for each aggregate."""
        keys = {name: column.to_pylist() for name, column in self._result.keys.items()}
        for row in range(len(self)):
            values = {name: column[row] for name, column in keys.items()}
            yield values | {name: self.answers(name)[row] for name in self.aggregates}

    def __repr__(self) -> str:
        """Read as a table of text: bounds, expected answer and deviation of each aggregate in each row."""
        header, *lines = self._lines()
        widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
        text = ["   ".join(_align(line, widths, len(self.keys) + 1)).rstrip() for line in (header, *lines)]
        return "\n".join([text[0], "─" * max(map(len, text)), *text[1:], *self._rest(), *self.notes])

    def _lines(self) -> list[list[str]]:
        lines = [
            [*(key_text(row[key]) for key in self.keys), name, *answer_cells(row[name])]
            for _, row in zip(range(_SHOWN), self, strict=False)
            for name in self.aggregates
        ]
        header = [*self.keys, "answer", "lower", "expected", "upper", "std"]
        return [[printable(cell) for cell in line] for line in (header, *lines)]

    def _rest(self) -> list[str]:
        return [f"... {len(self) - _SHOWN:,} more rows"] if len(self) > _SHOWN else []

    @property
    def notes(self) -> list[str]:
        """Say what a reader must know about the columns."""
        found = [answer for name in self.aggregates for answer in self.answers(name)]
        notes = [MEANING] if any(answer.bounded and answer.std for answer in found) else []
        if self._result.is_picked:
            notes.append(PICKED)
        if not all(self.sure):
            notes.append(ABSENT)
        if any(not answer.reached for answer in found):
            notes.append("* bounds that hold, and may be wider than the best ones")
        if not all(answer.bounded for answer in found):
            notes.append(f"{_UNBOUNDED}: this answer is an estimate without bounds")
        return notes

    def _repr_html_(self) -> str:
        """Draw the same in a notebook, with a bar from bound to bound for each answer."""
        header, *lines = self._lines()
        scales = {name: _scale(self.answers(name)[:_SHOWN]) for name in self.aggregates}
        drawn = (
            _bar(row[name], scales[name])
            for _, row in zip(range(_SHOWN), self, strict=False)
            for name in self.aggregates
        )
        left = len(self.keys) + 1
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in (*header, ""))
        body = "".join(_row(line, left, bar) for line, bar in zip(lines, drawn, strict=True))
        notes = "".join(f"<div><small>{html.escape(note)}</small></div>" for note in (*self._rest(), *self.notes))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


def _align(line: list[str], widths: list[int], left: int) -> list[str]:
    """Texts begin at the left, numbers end at the right."""
    pairs = zip(line, widths, strict=True)
    return [cell.ljust(width) if place < left else cell.rjust(width) for place, (cell, width) in enumerate(pairs)]


def answer_cells(answer: Answer) -> list[str]:
    """An answer for a table: lower, expected, upper and std, with a star at bounds that may be wider than the best."""
    if not answer.bounded:
        return [_UNBOUNDED, number_text(answer.expected), _UNBOUNDED, number_text(answer.std)]
    spread = "exact" if answer.exact and answer.lower is not None else number_text(answer.std)
    star = "" if answer.reached else "*"
    lower, expected, upper = bound_texts(answer.lower, answer.expected, answer.upper, exact=answer.exact)
    return [lower + star, expected, upper + star, spread]


def _row(line: list[str], left: int, bar: str) -> str:
    cells = [
        f'<td style="text-align:{"left" if place < left else "right"}">{html.escape(cell)}</td>'
        for place, cell in enumerate(line)
    ]
    return f"<tr>{''.join(cells)}<td>{bar}</td></tr>"


def _scale(answers: list[Answer]) -> tuple[float, float]:
    places = [place for answer in answers for place in _places(answer) if place is not None]
    return min(places, default=0.0), max(places, default=0.0)


def _places(answer: Answer) -> list[float | None]:
    return [place_of(value) for value in (answer.lower, answer.expected, answer.upper)]


def place_of(value: Any) -> float | None:
    """Where a value lies on a line; texts and truth values lie nowhere."""
    if isinstance(value, datetime):
        return value.toordinal() + (value.hour * 3600 + value.minute * 60 + value.second) / 86400
    if isinstance(value, date):
        return float(value.toordinal())
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _bar(answer: Answer, scale: tuple[float, float]) -> str:
    """Draw one answer: a line between the bounds, a mark where it is expected."""
    width, height = _BAR
    low, high = scale
    lower, expected, upper = _places(answer)

    def x(value: float) -> float:
        # Halves before differences: bounds near the largest float must not overflow.
        share = (value / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5
        return round(2 + share * (width - 4), 1)

    shapes = ""
    if lower is not None and upper is not None:
        size = max(x(upper) - x(lower), 1.0)
        shapes += f'<rect x="{x(lower)}" y="4" width="{size:g}" height="4" fill="#9bb8d3"/>'
    if expected is not None:
        shapes += f'<rect x="{x(expected) - 1}" y="1" width="2" height="10" fill="#1f4e79"/>'
    return f'<svg width="{width}" height="{height}" role="img">{shapes}</svg>' if shapes else ""
