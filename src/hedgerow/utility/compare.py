"""Compare releases on the same random questions: share answered, width of bounds, error of expected answers.

Source     [Zhang 2008], section 2.7; [Li 2008], section 8
Guarantee  none; a measure. With the original table it also sees whether every true answer lies inside its bounds

The truth comes from DuckDB on the original table. Without the original only widths are compared.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from hedgerow.arrays import is_numeric
from hedgerow.errors import ParameterError, QueryError
from hedgerow.query import Answer, ask
from hedgerow.utility.random_questions import RandomQuestion, Workload, draw_questions
from hedgerow.verify.names import tables_with

if TYPE_CHECKING:
    from hedgerow.release import Release

_TEXTS = ("release", "aggregate", "question")
_COLUMNS = ("release", "aggregate", "selectivity", "truth", "expected", "std", "lower", "upper", "question")
_ANSWERS = pa.schema([(name, pa.string() if name in _TEXTS else pa.float64()) for name in _COLUMNS])
_FLOAT_ERROR = 1e-12
"""Sums of floats in a database are off by their last digits; bounds are not."""


@dataclass(frozen=True)
class QuestionOutcome:
    """What a release said to a question (None: it refused), and the truth where it is known and not NULL."""

    question: RandomQuestion
    answer: Answer | None
    truth: float | None = None

    @property
    def width(self) -> float | None:
        """The bounds' width relative to the expected answer; None without bounds or where zero is expected."""
        return None if self.answer is None else answer_width(self.answer)

    @property
    def error(self) -> float | None:
        """How far the expected answer is off, relative to a truth other than zero."""
        if self.answer is None or self.answer.expected is None or not self.truth:
            return None
        return abs(float(self.answer.expected) - self.truth) / abs(self.truth)

    @property
    def is_near(self) -> bool | None:
        """Return whether the truth lies within two deviations of the expected answer; None if it is exact or unknown.

        Deviations are those of random assignments. If columns are correlated the truth may lie further off: only the
        bounds are guaranteed, and the deviation is not a standard error.
        """
        a = self.answer
        if a is None or a.exact or a.expected is None or a.std is None or self.truth is None:
            return None
        return bool(abs(float(a.expected) - self.truth) <= 2 * a.std)

    @property
    def inside(self) -> bool | None:
        """Return whether the truth lies inside the bounds; None where either is not there."""
        a = self.answer
        if a is None or a.lower is None or a.upper is None or self.truth is None:
            return None
        slack = _FLOAT_ERROR * abs(self.truth) if isinstance(a.lower, float) else 0
        return bool(a.lower - slack <= self.truth <= a.upper + slack)


@dataclass(frozen=True)
class Score:
    """A release over many questions: shares, and medians over the questions that have the number.

    `error` says how far expected answers are off, `near` how many of those that are not exact have the truth within two
    deviations: together they say how well `expected` and its deviation are calibrated for this workload.
    """

    questions: int
    answered: float
    width: float | None
    error: float | None
    inside: float | None
    near: float | None = None


def compare_releases(
    releases: Mapping[str, Release],
    workload: Workload | None = None,
    original: pa.Table | None = None,
    *,
    progress: Callable[[str, float], None] = lambda step, share: None,
) -> dict[str, list[QuestionOutcome]]:
    """Ask all releases the same questions; with the original table the truth stands beside the answers.

    Without a workload the questions are those of `Workload()` that the columns allow.
    """
    questions = questions_for(list(releases.values()), workload, original)
    truths = true_answers(original, questions) if original is not None else None
    outcomes = {}
    for place, (name, release) in enumerate(releases.items()):
        progress(f"asking {name}", place / len(releases))
        outcomes[name] = outcomes_of(release, questions, truths)
    return outcomes


def questions_for(
    releases: Sequence[Release], wanted: Workload | None, original: pa.Table | None = None
) -> list[RandomQuestion]:
    """Draw a workload over the columns that all releases share, from the original table or else from a release."""
    workload = wanted or Workload()
    names = _shared_columns(releases, workload)
    sensitive = _sensitive(releases, workload)
    source = original if original is not None else _first_plain(releases, (*names, sensitive))
    missing = [name for name in (*names, sensitive) if name not in source.column_names]
    if missing:
        raise ParameterError(
            f"the original table must have the columns of the releases; it lacks {', '.join(missing)}."
        )
    if wanted is None:
        workload = _allowed_questions(workload, len(names), source.schema.field(sensitive).type)
    _require_numbers(source, sensitive, workload)
    return draw_questions(workload, {name: source.column(name) for name in names}, source.column(sensitive), sensitive)


def _shared_columns(releases: Sequence[Release], workload: Workload) -> tuple[str, ...]:
    published = [(*release.columns.quasi, *release.columns.plain) for release in releases]
    shared = tuple(name for name in published[0] if all(name in names for names in published))
    unknown = [name for name in workload.columns if name not in shared]
    if unknown or not shared:
        named = ", ".join(shared) or "none"
        raise ParameterError(f"'columns' must be known columns of every release: {named}; got {', '.join(unknown)}.")
    return tuple(workload.columns) or shared


def _sensitive(releases: Sequence[Release], workload: Workload) -> str:
    name = workload.sensitive or releases[0].columns.sensitive[0]
    if not all(name in release.columns.sensitive for release in releases):
        raise ParameterError(f"'sensitive' must be a sensitive column of every release; got {name!r}.")
    return name


def _first_plain(releases: Sequence[Release], names: Sequence[str]) -> pa.Table:
    """Published values, column by column; which row they belong to does not matter here."""
    for release in releases:
        holders = [tables_with(release.tables, name)[:1] for name in names]
        if not (release.form.has_boxes or release.form.has_subdomains) and all(holders):
            return pa.table({name: table.column(name) for name, (table,) in zip(names, holders, strict=True)})
    raise ParameterError(
        "none of the releases has values as they were; name the table that they come from: --original."
    )


def _allowed_questions(workload: Workload, columns: int, kind: pa.DataType) -> Workload:
    """Of a workload that nobody chose, what can be asked of so many columns and a sensitive one of this type."""
    aggregates = workload.aggregates if is_numeric(kind) else ("count",)
    dimensions = tuple(min(number, columns) for number in workload.dimensions)
    return msgspec.structs.replace(workload, aggregates=aggregates, dimensions=dimensions)


def _require_numbers(source: pa.Table, sensitive: str, workload: Workload) -> None:
    kind = source.schema.field(sensitive).type
    if not is_numeric(kind) and set(workload.aggregates) != {"count"}:
        raise ParameterError(f"'{sensitive}' holds no numbers, so that 'aggregates' must be [\"count\"].")


def outcomes_of(
    release: Release, questions: Iterable[RandomQuestion], truths: Mapping[str, float | None] | None = None
) -> list[QuestionOutcome]:
    """Ask a release; a refusal is an outcome, too."""
    known = truths or {}
    return [QuestionOutcome(question, _answer(release, question), known.get(question.sql)) for question in questions]


def _answer(release: Release, question: RandomQuestion) -> Answer | None:
    try:
        answer: Answer = ask(release, question.sql)  # one aggregate without GROUP BY
        return answer
    except QueryError:
        return None


def true_answers(original: pa.Table, questions: Iterable[RandomQuestion]) -> dict[str, float | None]:
    """Answer the questions from the original table; NULL is None."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("release", original)
        found = {question.sql: connection.execute(question.sql).fetchall()[0][0] for question in questions}
    return {sql: None if value is None else _number(value) for sql, value in found.items()}


def _number(value: object) -> float:
    # A whole number stays whole: floats would round large sums.
    return value if isinstance(value, int | float) else float(str(value))


def score(outcomes: Sequence[QuestionOutcome]) -> Score:
    """Sum up what a release said."""
    return Score(
        len(outcomes),
        sum(outcome.answer is not None for outcome in outcomes) / len(outcomes) if outcomes else 0.0,
        _median(outcome.width for outcome in outcomes),
        _median(outcome.error for outcome in outcomes),
        _share(outcome.inside for outcome in outcomes),
        _share(outcome.is_near for outcome in outcomes),
    )


def scores_by_aggregate(outcomes: Sequence[QuestionOutcome]) -> dict[str, Score]:
    """Sum up each aggregate by itself, in the order in which they were asked."""
    by_aggregate: dict[str, list[QuestionOutcome]] = {}
    for outcome in outcomes:
        by_aggregate.setdefault(outcome.question.aggregate, []).append(outcome)
    return {aggregate: score(found) for aggregate, found in by_aggregate.items()}


def answers_table(outcomes: Mapping[str, Sequence[QuestionOutcome]]) -> pa.Table:
    """List every question: what each release expects, its bounds, and the truth where it is known. For the owner."""
    rows = [
        {
            "release": name,
            "aggregate": outcome.question.aggregate,
            "selectivity": outcome.question.selectivity,
            "truth": _float(outcome.truth),
            **{part: _float(getattr(outcome.answer, part, None)) for part in ("expected", "std", "lower", "upper")},
            "question": outcome.question.sql,
        }
        for name, found in outcomes.items()
        for outcome in found
    ]
    return pa.Table.from_pylist(rows, schema=_ANSWERS)


def answer_width(answer: Any) -> float | None:
    """The bounds' width relative to the expected answer; None without bounds or where zero is expected."""
    if answer.lower is None or answer.upper is None or answer.expected is None:
        return None
    if answer.lower == answer.upper:
        return 0.0
    return float(answer.upper - answer.lower) / abs(float(answer.expected)) if answer.expected else None


def _float(number: Any) -> float | None:
    return None if number is None else float(number)


def _share(facts: Iterable[bool | None]) -> float | None:
    known = [fact for fact in facts if fact is not None]
    return sum(known) / len(known) if known else None


def _median(numbers: Iterable[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return statistics.median(known) if known else None
