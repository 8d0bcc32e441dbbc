"""What a typical answer costs: random questions to a release, and how far apart the bounds of their answers are.

Source     [Zhang 2008], section 2.7
Guarantee  none; a measure. The questions are drawn from published values by a fixed seed, so that anyone gets the same
Cost       135 questions

A form that publishes a column as intervals, sets or subdomains lends the lower ends, or the members of its sets, to the
conditions of questions: what matters is that a condition selects about the share that it says.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.certificate.model import Answers, Width, round_share
from hedgerow.errors import ParameterError
from hedgerow.release import Release
from hedgerow.release.forms.generalized import SETS
from hedgerow.utility.compare import QuestionOutcome, answer_width, outcomes_of
from hedgerow.utility.random_questions import RandomQuestion, Workload, draw_questions

__all__ = ["half_width", "kinds_of", "summarize_widths", "typical_answers", "typical_questions"]

_SHARES = (0.01, 0.1, 0.3)
_COUNT = 15
_NO_BOUNDS = (
    "Values were changed and no bound on the change is published: an answer over this release is an estimate, and "
    "nothing guarantees how far it is from the truth."
)
_NO_COLUMNS = "There is no column that a condition could name, so that no typical question can be drawn."
_ASKED = (
    "{count} random questions of each kind, with conditions on {dimensions} that together select about the stated "
    "share of the rows. The true answer lies inside the bounds for sure; half their width is "
    "stated relative to the answer."
)


def typical_answers(release: Release) -> Answers:
    """Ask a release its typical questions and sum up the bounds."""
    if not release.groups:
        return Answers(note=_NO_BOUNDS)
    questions = typical_questions(release)
    if not questions:
        return Answers(note=_NO_COLUMNS)
    outcomes = outcomes_of(release, questions)
    conditions = {1: "one known column", 2: "two known columns"}[questions[0].dimensions]
    note = _ASKED.format(count=_COUNT, dimensions=conditions)
    sensitive = release.columns.sensitive[0]
    widths = [
        summarize_widths(_words(kind[0], sensitive), kind[1], [outcome.answer for outcome in found])
        for kind, found in kinds_of(outcomes).items()
    ]
    return Answers(note=note, widths=tuple(widths))


def typical_questions(release: Release) -> list[RandomQuestion]:
    """Draw the questions: COUNT with one more condition on the sensitive column, SUM and AVG where it has numbers."""
    known = {name: _values(release, name) for name in (*release.columns.quasi, *release.columns.plain)}
    if not known:
        return []
    name = release.columns.sensitive[0]
    sensitive = _values(release, name)
    kind = sensitive.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    workload = Workload(
        aggregates=("count", "sum", "avg") if is_number else ("count",),
        dimensions=(min(2, len(known)),),
        selectivity=_SHARES,
        count=_COUNT,
    )
    return draw_questions(workload, known, sensitive, name)


def kinds_of(outcomes: Sequence[QuestionOutcome]) -> dict[tuple[str, float], list[QuestionOutcome]]:
    """Sort outcomes by aggregate and selectivity."""
    kinds: dict[tuple[str, float], list[QuestionOutcome]] = {}
    for outcome in outcomes:
        kinds.setdefault((outcome.question.aggregate, outcome.question.selectivity), []).append(outcome)
    return kinds


def summarize_widths(question: str, selectivity: float, answers: Sequence[Any]) -> Width:
    """Count what one kind of question got, and take the quartiles of the widths; None is a refusal."""
    given = [answer for answer in answers if answer is not None]
    widths = [width for answer in given if (width := half_width(answer)) is not None]
    low, middle, high = _quartiles(widths)
    return Width(
        question=question,
        selectivity=selectivity,
        asked=len(answers),
        answered=len(given),
        exact=sum(answer.exact for answer in given),
        lower_quartile=low,
        median=middle,
        upper_quartile=high,
    )


def _quartiles(numbers: Sequence[float]) -> Sequence[float | None]:
    if not numbers:
        return None, None, None
    found = statistics.quantiles(numbers, n=4, method="inclusive") if len(numbers) > 1 else [numbers[0]] * 3
    return [round_share(number) for number in found]


def half_width(answer: Any) -> float | None:
    """Half the width of bounds relative to the expected answer; None where there is none, or zero is expected."""
    width = answer_width(answer)
    return None if width is None else width / 2


def _words(aggregate: str, sensitive: str) -> str:
    return f"COUNT, with a condition on {sensitive}" if aggregate == "count" else f"{aggregate.upper()} of {sensitive}"


def _values(release: Release, name: str) -> pa.ChunkedArray:
    """Values of a column that were published, or that its boxes and subdomains have as ends."""
    shown = release.form.lower_ends(release.columns, release.group_column).get(name, name)
    tables = [release.tables[key] for key in ("release", "quasi", "sensitive") if key in release.tables]
    found = next((table.column(shown) for table in tables if shown in table.column_names), None)
    if found is not None:
        return found
    if SETS not in release.tables:
        raise ParameterError(f"The release has no values of '{name}'.")
    sets = release.tables[SETS]
    return sets.column("value").filter(pc.equal(sets.column("column"), name))
