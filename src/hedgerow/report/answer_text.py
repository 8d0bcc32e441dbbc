"""Answers as words, alike on every surface: the cells of an answer, and why its bounds are as wide as they are.

Wide bounds are explained by the groups that widen them, and by ranges that would be narrower.

Guarantee  none; everything here is found by asking the release more questions
Cost       one question per group cell, and about twenty questions per range condition

A group of which a question takes all rows, or none, leaves nothing open. Width comes from groups that are hit in part.
Of a column that is published as boxes only ranges that begin and end where boxes do take boxes whole.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hedgerow.digits import key_text, number_text
from hedgerow.errors import HedgerowError, QueryError, counted
from hedgerow.query import Session, connect
from hedgerow.query.answer import Answer
from hedgerow.query.answer_table import answer_cells
from hedgerow.query.sql.rephrase import WrittenRange, by_group, ranges_of
from hedgerow.release.forms import PERMUTED
from hedgerow.release.forms.generalized import box_columns
from hedgerow.release.release import PublishedColumns, free_name

if TYPE_CHECKING:
    from hedgerow.query import Session
    from hedgerow.query.answer_table import AnswerTable
    from hedgerow.release import Release


_PARTS = (2, 10)
_MOST_RANGES = 3
Ends = tuple[Any, Any]


@dataclass(frozen=True)
class Cause:
    """A group that is hit in part: its number, the rows hit of all its rows, and its share of all width."""

    group: int
    hits: float
    rows: int
    share: float


@dataclass(frozen=True)
class Causes:
    """How many groups a question hits, how many of them leave something open, and those that leave most."""

    hit: int
    open: int
    worst: tuple[Cause, ...]


@dataclass(frozen=True)
class Move:
    """Another range for a column, and the relative widths of the bounds without and with it."""

    column: str
    low: Any
    high: Any
    before: float
    after: float

    @property
    def saved_share(self) -> float:
        """The share of the width that goes away."""
        return 1 - self.after / self.before


def relative_width(result: pa.Table) -> float | None:
    """(upper - lower) / |expected|: the median over the rows of a result, of its widest aggregate.

    None where no answer has bounds and a value other than zero.
    """
    names = [name for name in result.column_names if f"{name}_lower" in result.column_names]
    medians = [statistics.median(widths) for name in names if (widths := list(_widths(result, name)))]
    return max(medians, default=None)


def _widths(result: pa.Table, name: str) -> Iterator[float]:
    columns = [result.column(column).to_pylist() for column in (f"{name}_lower", name, f"{name}_upper")]
    for lower, expected, upper in zip(*columns, strict=True):
        if lower is not None and upper is not None and expected:
            yield float(upper - lower) / abs(float(expected))


def causes(release: Release, sql: str, *, most: int = 5) -> Causes:
    """Find the groups that widen a question's bounds; shares of SUM, COUNT and AVG add up to the whole width.

    MIN, MAX and other aggregates that do not add up are compared by the width of each group's own answer.
    """
    session, name = _with_groups(release)
    found = session.sql(by_group(sql, name, release.columns.all))
    sizes = session.sql(f'SELECT "{name}" AS number, count(*) AS hits FROM release GROUP BY "{name}"')
    rows = dict(zip(*(sizes.column(column).to_pylist() for column in ("number", "hits")), strict=True))
    numbers, place = np.unique(found.column("number").to_numpy(), return_inverse=True)
    hits = np.bincount(place, weights=_floats(found, "hits"))
    shares = np.bincount(place, weights=_width_shares(found))
    order = np.argsort(-shares, kind="stable")[:most]
    worst = [
        Cause(int(numbers[i]), float(hits[i]), int(rows[int(numbers[i])]), float(shares[i])) for i in order if shares[i]
    ]
    return Causes(len(numbers), int((shares > 0).sum()), tuple(worst))


def _with_groups(release: Release) -> tuple[Session, str]:
    """The same release with its group numbers as one more column that can be asked about."""
    name = free_name(
        "group number", tuple(column for table in release.tables.values() for column in table.column_names)
    )
    tables = {
        key: table.append_column(name, table.column(release.group_column))
        if release.group_column in table.column_names
        else table
        for key, table in release.tables.items()
    }
    columns = replace(release.columns, plain=(*release.columns.plain, name))
    return connect(replace(release, tables=tables, columns=columns)), name


def _width_shares(found: pa.Table) -> Any:
    """Each row's share of the width of an aggregate, averaged over the aggregates that have any."""
    names = [
        name for name in found.column_names if name.startswith("answer_") and f"{name}_lower" in found.column_names
    ]
    widths = [_floats(found, f"{name}_upper") - _floats(found, f"{name}_lower") for name in names]
    wide = [width / width.sum() for width in widths if width.sum() > 0]
    return np.mean(wide, axis=0) if wide else np.zeros(found.num_rows)


def _floats(table: pa.Table, name: str) -> Any:
    return np.nan_to_num(np.array(table.column(name).to_pylist(), dtype=np.float64))


def best_moves(release: Release, session: Session, sql: str) -> tuple[Move | None, Move | None]:
    """Ask the question with parts of its ranges, and with wider ones; return the best of each that is an improvement.

    Parts are the halves and tenths of the values of a range; wider ranges have twice the values, or all. Of a column
    published as ranges, whole ones are tried. A range of a sensitive column stays: it is what the question is about.
    """
    before = relative_width(session.sql(sql))
    if not before:
        return None, None
    narrower: list[Move] = []
    wider: list[Move] = []
    hidden = {name.lower() for name in release.columns.sensitive}
    for found in [found for found in ranges_of(sql) if found.column.lower() not in hidden][:_MOST_RANGES]:
        inner, outer = _ranges_to_try(release, session, found)
        narrower += _try_ranges(session, found, inner, before)
        wider += _try_ranges(session, found, outer, before)
    return _best(narrower), _best(wider)


def _ranges_to_try(release: Release, session: Session, found: WrittenRange) -> tuple[Iterator[Ends], Iterator[Ends]]:
    """Ranges to try instead, inside and around: of values, or of whole boxes."""
    boundaries = boundaries_of(release, found)
    if boundaries is not None:
        return boundaries.narrower(_PARTS), boundaries.wider()
    inside, everywhere = (_values(session, found, inside=side) for side in (True, False))
    return _parts_of(inside), _wider_than(inside, everywhere)


def _values(session: Session, found: WrittenRange, *, inside: bool) -> list[Any]:
    try:
        values = session.sql(found.values_sql(inside=inside)).column("value").to_pylist()
    except QueryError:
        # A column of which the release does not list the values: nothing to try.
        return []
    return sorted(value for value in values if value is not None)


def _parts_of(values: Sequence[Any]) -> Iterator[Ends]:
    for parts in _PARTS:
        edges = [len(values) * part // parts for part in range(parts + 1)]
        for first, last in pairwise(edges):
            if first < last and last - first < len(values):
                yield values[first], values[last - 1]


def _wider_than(inside: Sequence[Any], everywhere: Sequence[Any]) -> Iterator[Ends]:
    if not inside or len(inside) == len(everywhere):
        return
    first, last = everywhere.index(inside[0]), everywhere.index(inside[-1])
    reach = (len(inside) + 1) // 2
    yield everywhere[max(first - reach, 0)], everywhere[min(last + reach, len(everywhere) - 1)]
    yield everywhere[0], everywhere[-1]


def _try_ranges(session: Session, found: WrittenRange, tries: Iterator[Ends], before: float) -> Iterator[Move]:
    for low, high in tries:
        after = relative_width(session.sql(found.moved_sql(low, high)))
        if after is not None and after < before:
            yield Move(found.column, low, high, before, after)


def _best(moves: Sequence[Move]) -> Move | None:
    return min(moves, key=lambda move: move.after, default=None)


class Boundaries:
    """The ends of a column's boxes, and which of them a range holds."""

    def __init__(self, lows: Sequence[Any], highs: Sequence[Any], inner: tuple[Sequence[Any], Sequence[Any]]) -> None:
        self._lows, self._highs = lows, highs
        self._inner = inner

    def narrower(self, parts: Sequence[int]) -> Iterator[tuple[Any, Any]]:
        """The largest range of whole boxes inside the range, and as many parts of it."""
        lows, highs = self._inner
        for number in (1, *parts):
            edges = sorted({len(lows) * part // number for part in range(number + 1)})
            for first, last in pairwise(edges):
                below = [high for high in highs if high >= lows[first] and (last == len(lows) or high < lows[last])]
                if below:
                    yield lows[first], below[-1]

    def wider(self) -> Iterator[tuple[Any, Any]]:
        """The smallest range of whole boxes around the range, and all."""
        lows, highs = self._inner
        inside = [*lows, *highs]
        if inside:
            yield (
                max((low for low in self._lows if low <= min(inside)), default=self._lows[0]),
                min((high for high in self._highs if high >= max(inside)), default=self._highs[-1]),
            )
        yield self._lows[0], self._highs[-1]


def boundaries_of(release: Release, found: WrittenRange) -> Boundaries | None:
    """The ends of the boxes of a range's column; None where it is published as something else than intervals."""
    name = next((name for name in release.columns.quasi if name.lower() == found.column.lower()), None)
    if not release.form.has_boxes or name is None:
        return None
    ends = box_columns(release.columns, release.group_column)[name]
    table = release.tables["release"]
    if ends.low not in table.column_names:
        return None
    lows, highs = (_distinct(table.column(side)) for side in (ends.low, ends.high))
    if not len(lows):
        return None
    inner = (_values_inside(release, name, lows, found), _values_inside(release, name, highs, found))
    return Boundaries(lows.to_pylist(), highs.to_pylist(), inner)


def _distinct(column: pa.ChunkedArray) -> pa.Array:
    values = column.drop_null().unique()
    return values.take(pa.array(np.argsort(values.to_numpy(zero_copy_only=False), kind="stable")))


def _values_inside(release: Release, name: str, values: pa.Array, found: WrittenRange) -> list[Any]:
    """Which of the values the range holds: asked of a release that lists them."""
    group = pa.array(np.zeros(len(values), np.int32))
    listed = replace(
        release,
        form=PERMUTED,
        tables={"release": pa.table({name: values, release.group_column: group})},
        columns=PublishedColumns((name,), ()),
        groups=1,
    )
    return sorted(connect(listed).sql(found.values_sql(inside=True)).column("value").to_pylist())


COLUMNS = ("lower", "expected", "upper", "std")
_NOTHING = 1e-12
"""Relative width of an exact answer: bounds that are no whole numbers are rounded outwards."""


@dataclass(frozen=True)
class AnswerLines:
    """What a question got back: a line per group and aggregate, as `columns` name its cells, and the rows behind it."""

    columns: list[str]
    lines: list[list[str]]
    aggregates: list[str]
    rows: list[dict[str, Any]]


def answer_lines(result: pa.Table | AnswerTable) -> AnswerLines:
    """Write what `query.sql` returned: keys, the aggregate's name, lower, expected, upper, std."""
    names = set(result.column_names)
    aggregates = [name for name in result.column_names if f"{name}_lower" in names]
    belonging = {f"{name}_{part}" for name in aggregates for part in ("lower", "upper", "std")}
    keys = [name for name in result.column_names if name not in belonging and name not in aggregates]
    rows = result.to_pylist()
    known = set(getattr(result, "aggregates", ()))
    answers = {
        name: result.answers(name) if name in known else [_answer(row, name) for row in rows] for name in aggregates
    }
    lines = [
        [*(key_text(row[key]) for key in keys), name, *answer_cells(answers[name][place])]
        for place, row in enumerate(rows)
        for name in aggregates
    ]
    return AnswerLines([*keys, "answer", *COLUMNS], lines, aggregates, rows)


def _answer(row: dict[str, Any], name: str) -> Answer:
    """An answer of a plain table, which does not say more than its numbers."""
    lower, upper = row[f"{name}_lower"], row[f"{name}_upper"]
    return Answer(lower, upper, row[name], row[f"{name}_std"], lower == upper)


def has_width(row: dict[str, Any], name: str) -> bool:
    """Return whether the digits differ; that bounds were rounded outwards is nothing to draw."""
    return number_text(row[f"{name}_lower"]) != number_text(row[f"{name}_upper"])


@dataclass(frozen=True)
class Explanation:
    """A question as plain SQL, how far its bounds reach, the groups that widen them, and what to ask instead."""

    sql: str
    sentences: list[str]
    groups: list[tuple[int, str, str]]
    advice: list[str]


def explanation(release: Release, session: Session, question: str) -> Explanation:
    """Explain bounds; what one part cannot say does not keep the others back."""

    width, sql = relative_width(session.sql(question)), _plain_sql(release, question)
    if width is None:
        none = "There are no bounds to explain: the answer is NULL or zero, or the release gives estimates only."
        return Explanation(sql, [none], [], [])
    if width == 0:
        return Explanation(sql, ["The answer is exact: every assignment of values to rows gives the same."], [], [])
    found = causes(release, question)
    reach = f"The bounds reach ±{number_text(width / 2, 2)} times the answer." if width > 2 else _reach(width)
    groups = (
        f"Of {counted(release.groups, 'group')} {counted(found.hit, 'has', 'have')} matching rows; "
        f"{found.open:,} of them leave the answer uncertain."
    )
    worst = [
        (cause.group, f"{number_text(round(cause.hits, 1))} of {cause.rows:,}", f"{100 * cause.share:.1f}%")
        for cause in found.worst
    ]
    return Explanation(sql, [reach, groups], worst, _advice(*best_moves(release, session, question)))


def _plain_sql(release: Release, question: str) -> str:
    from hedgerow.query import rewrite

    try:
        return rewrite(release, question)
    except HedgerowError as error:
        return f"-- no plain SQL: {error}"


def _reach(width: float) -> str:
    return f"The bounds reach {_around(width)} of the answer."


def _around(width: float) -> str:
    return f"±{number_text(50 * width, 2)}%"


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
    saved = "by half" if 0.45 <= move.saved_share <= 0.55 else f"by {100 * move.saved_share:.0f}%"
    return f"{asked} the bounds shrink {saved}: {_around(move.after)} of the answer instead of {_around(move.before)}."
