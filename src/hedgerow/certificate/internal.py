"""What only the owner may read: the release compared with the table that it came from.

Guarantee  none; measurements. Every number here was learnt from true values, so none of it is publishable
Cost       adversaries with the original, and the typical questions once more on the table itself
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.certificate.answers import kinds_of, typical_questions
from hedgerow.certificate.model import Internal, Risk, TrueAnswers, rounded
from hedgerow.certificate.risks import attack_report, risk_of
from hedgerow.errors import ParameterError
from hedgerow.release import Release
from hedgerow.utility.compare import Outcome, outcomes_of, true_answers

__all__ = ["internal_part"]

_SUPPRESSED = "Rows were suppressed, so that true answers over the whole table may lie outside bounds about the others."
_MISSING = "rows with a missing value in {columns}"
_METHOD = "rows for which the promise could not be kept"


def internal_part(
    release: Release,
    original: pa.Table | None,
    known: Sequence[Risk],
    progress: Callable[[str, float], None] = lambda step, share: None,
) -> Internal:
    """Measure what can be measured beyond the `known` risks; without the original there are counts alone."""
    if original is None:
        note = "The original table was not given: nothing was measured against it."
        return Internal(suppressed={"rows, reason not known": release.rows.suppressed}, note=note)
    _require_same(release, original)
    measured = _answers(release, original)
    report = attack_report(release, original, progress)
    reported = {(risk.adversary, risk.column) for risk in known}
    risks = [risk_of(finding, "original") for finding in report.findings]
    return Internal(
        suppressed=_suppressed_rows(release, original),
        left_out=tuple(name for name in original.column_names if name not in release.columns.all),
        risks=tuple(risk for risk in risks if (risk.adversary, risk.column) not in reported),
        skipped={skipped.adversary: skipped.reason for skipped in report.skipped},
        answers=measured,
        note=_SUPPRESSED if release.rows.suppressed and measured else "",
    )


def _require_same(release: Release, original: pa.Table) -> None:
    lacking = [name for name in release.columns.all if name not in original.column_names]
    if lacking:
        raise ParameterError(f"'original' must have the columns of the release; it lacks {', '.join(lacking)}.")
    if original.num_rows != release.rows.input:
        raise ParameterError(
            f"'original' must be the table that was published, of {release.rows.input:,} rows; it has "
            f"{original.num_rows:,}."
        )


def _suppressed_rows(release: Release, original: pa.Table) -> dict[str, int]:
    """Tell rows that the policy for missing values suppresses from those that the method could not place."""
    names = [name for name, policy in release.made.missing.items() if policy == "suppress"]
    gaps = _rows_with_gaps(original, [name for name in names if name in original.column_names])
    reasons = {_MISSING.format(columns=", ".join(names)): gaps, _METHOD: release.rows.suppressed - gaps}
    return {reason: rows for reason, rows in reasons.items() if rows}


def _rows_with_gaps(original: pa.Table, names: list[str]) -> int:
    if not names:
        return 0
    gaps = pc.is_null(original.column(names[0]), nan_is_null=True)
    for name in names[1:]:
        gaps = pc.or_(gaps, pc.is_null(original.column(name), nan_is_null=True))
    return int(pc.sum(gaps).as_py() or 0)


def _answers(release: Release, original: pa.Table) -> tuple[TrueAnswers, ...]:
    """Ask table and release the same; raise if a truth lies outside its bounds, for then it is another table."""
    questions = typical_questions(release)
    outcomes = outcomes_of(release, questions, true_answers(original, questions))
    if not release.rows.suppressed and any(outcome.inside is False for outcome in outcomes):
        raise ParameterError("'original' is not the table that was published: true answers lie outside their bounds.")
    return tuple(_compare_truths(*kind, found) for kind, found in kinds_of(outcomes).items())


def _compare_truths(aggregate: str, selectivity: float, outcomes: list[Outcome]) -> TrueAnswers:
    inside = [outcome.inside for outcome in outcomes if outcome.inside is not None]
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    return TrueAnswers(
        question=aggregate.upper(),
        selectivity=selectivity,
        checked=len(inside),
        inside=sum(inside),
        error=rounded(statistics.median(errors)) if errors else None,
    )
