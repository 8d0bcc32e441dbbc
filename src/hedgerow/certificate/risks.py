"""Success rates of adversaries who have only the release: anyone can compute them again, so they are publishable.

Guarantee  nothing here uses more than the published bytes; guesses that must be checked against true values are not
           made here
Cost       a sort of the rows per rate, and whatever adversary runs on a release alone

Costly adversaries draw their targets from a fixed seed, so that the measurement can be repeated.

The width of typical answers: random questions to a release, and how far apart the bounds of their answers are.

Source     [Zhang 2008], section 2.7
Guarantee  none; a measure. The questions are drawn from published values by a fixed seed, so that anyone gets the same
Cost       135 questions

A form that publishes a column as intervals, sets or subdomains lends the lower ends, or the members of its sets, to the
conditions of questions: what matters is that a condition selects about the share that it says.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import is_numeric
from hedgerow.attack.finding import Finding
from hedgerow.attack.report import AttackReport, run
from hedgerow.certificate.model import Answers, Risk, Width, round_share
from hedgerow.errors import ParameterError
from hedgerow.randomness import seeded_keys
from hedgerow.release import Release
from hedgerow.release.forms.generalized import SETS
from hedgerow.utility.compare import QuestionOutcome, answer_width, outcomes_of
from hedgerow.utility.random_questions import RandomQuestion, Workload, draw_questions
from hedgerow.utility.risk import class_codes

_SEED = 1


def published_risks(release: Release) -> tuple[Risk, ...]:
    """Attack a release without the original: adversaries that do not need it, and risks found by counting rows."""
    found = [risk_of(finding, "release") for finding in attack_report(release).findings]
    return (*found, *_rows_alike(release), *_values_kept(release), *_unique_rows(release))


def attack_report(
    release: Release,
    original: pa.Table | None = None,
    progress: Callable[[str, float], None] = lambda step, share: None,
) -> AttackReport:
    """Run the attack report in a way that can be repeated."""
    return run(release, original, keys=seeded_keys(_SEED), progress=progress)


def risk_of(finding: Finding, basis: Literal["release", "original"]) -> Risk:
    """Take the numbers of a finding; advice is for the owner, so the publishable version has none."""
    return Risk(
        adversary=finding.adversary,
        column=finding.column,
        knows=finding.knows,
        guesses=finding.guesses,
        basis=basis,
        rate=_six(finding.rate),
        low=_six(finding.low),
        high=_six(finding.high),
        exact=finding.exact,
        baseline=round_share(finding.baseline),
        worst=round_share(finding.worst),
        promised=round_share(finding.promised),
        next_step=finding.next_step if basis == "original" else "",
    )


def exact_risk(*, rate: float, basis: Literal["release", "promise"] = "release", **described: Any) -> Risk:
    """A rate that was computed, not sampled; `described` are further fields of a Risk."""
    shares: dict[str, Any] = {
        name: round_share(described.pop(name, None)) for name in ("baseline", "worst", "promised")
    }
    six = _six(rate)
    return Risk(rate=six, low=six, high=six, exact=True, basis=basis, **described, **shares)


def _six(number: float) -> float:
    return float(f"{number:.6g}")


def _rows_alike(release: Release) -> Iterator[Risk]:
    """Which of the rows that look alike is the person's? Only where rows were made to look alike."""
    if release.form.has_boxes:
        sizes = np.bincount(release.tables["release"].column(release.group_column).to_numpy())
        names = release.columns.quasi
    elif release.guarantee.criterion == "microaggregation":
        names = release.guarantee.columns
        sizes = np.bincount(class_codes(release.tables["release"].select(names).columns))
    else:
        return
    share = float(len(sizes) / sizes.sum())
    yield exact_risk(
        adversary="picking a row",
        column=", ".join(names),
        knows="a person's true values in these columns, and that they are in the table",
        guesses="one of the rows that fit, at random, as the person's own",
        rate=share,
        baseline=1 / float(sizes.sum()),
        worst=1 / float(sizes.min()),
        promised=1 / int(release.guarantee.parameters["k"]) if "k" in release.guarantee.parameters else None,
    )


def _values_kept(release: Release) -> Iterator[Risk]:
    """The probability that a published value is the true one: kept with p, or redrawn by chance: p + (1 - p) / d."""
    if release.guarantee.criterion != "retention":
        return
    (name,) = release.guarantee.columns
    parameters, size = release.guarantee.parameters, release.tables["domain"].num_rows
    p = Fraction(parameters["p"])
    kept = float(p + (1 - p) / size)
    yield exact_risk(
        adversary="taking values at their word",
        column=name,
        knows="which row is a person's",
        guesses="that the published value is the true one",
        basis="promise",
        rate=kept,
        promised=1 / int(parameters["m"]) if "m" in parameters else None,
    )


def _unique_rows(release: Release) -> Iterator[Risk]:
    """Unique rows: an attacker who knows the quasi-identifiers sees that such a person is in the table."""
    if not release.form.keeps_rows:
        return
    replaced = release.guarantee.columns if release.form.is_altered else ()
    names = [name for name in release.columns.quasi if name not in replaced]
    if not names:
        return
    table = next(table for key, table in release.tables.items() if key in ("release", "quasi"))
    alone = float((np.bincount(class_codes(table.select(names).columns)) == 1).sum() / table.num_rows)
    yield exact_risk(
        adversary="seeing unique rows",
        column=", ".join(names),
        knows="a person's quasi-identifiers",
        guesses="that the one row with them is the person's; this share of the rows is like no other",
        rate=alone,
    )


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
    workload = Workload(
        aggregates=("count", "sum", "avg") if is_numeric(kind) else ("count",),
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
