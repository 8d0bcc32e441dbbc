"""Answers as words, alike on every surface: the cells of an answer, and why its bounds are as wide as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hedgerow.digits import key_text, number_text
from hedgerow.errors import HedgerowError, counted
from hedgerow.query.answer import Answer
from hedgerow.query.answer_table import answer_cells

if TYPE_CHECKING:
    import pyarrow as pa

    from hedgerow.query import Session
    from hedgerow.query.answer_table import AnswerTable
    from hedgerow.release import Release
    from hedgerow.utility.uncertainty import Move

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
    from hedgerow.utility.uncertainty import best_moves, causes, relative_width

    width, sql = relative_width(session.sql(question)), _plain_sql(release, question)
    if width is None:
        none = "There are no bounds to explain: the answer is NULL or zero, or the release gives estimates only."
        return Explanation(sql, [none], [], [])
    if width == 0:
        return Explanation(sql, ["The answer is exact: every assignment of values to rows gives the same."], [], [])
    found = causes(release, question)
    reach = f"The bounds reach ±{width / 2:.2g} times the answer." if width > 2 else _reach(width)
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
    return f"±{50 * width:.2g}%"


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
