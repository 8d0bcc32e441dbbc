"""Issue a certificate for a bundle that holds a table.

Guarantee  a certificate exists only if every check of `verify_held` passed on the very bytes that it names
Cost       a verification, the adversaries that need no original, and 135 questions; for the internal part the
           adversaries with the original, and the typical questions once more on the table itself

The internal part is what only the owner may read: every number in it was learnt from true values. Measures of risk and
loss are those of `utility.summary`; docs/methods/measures.md has the formulas.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.attack.report import MOST_ATTACKED, sampled_words
from hedgerow.certificate.fill import DerivedFacts, Progress, fill, group_sizes
from hedgerow.certificate.model import (
    Certificate,
    GroupSizes,
    Internal,
    Issuer,
    Measure,
    Risk,
    TrueAnswers,
    round_share,
)
from hedgerow.certificate.risks import (
    attack_report,
    kinds_of,
    published_risks,
    risk_of,
    typical_answers,
    typical_questions,
)
from hedgerow.errors import ParameterError
from hedgerow.release import Release
from hedgerow.release.bundle import as_release, read_held
from hedgerow.release.part_tables import sample_groups
from hedgerow.release.readme import what_was_done
from hedgerow.schema import Schema
from hedgerow.table import read_table
from hedgerow.utility.compare import QuestionOutcome, outcomes_of, score, true_answers
from hedgerow.utility.measures import ncp
from hedgerow.utility.risk import JOURNALIST, PROSECUTOR, AttributeRisk, ClassRisk
from hedgerow.utility.summary import ReleaseSummary, published_risk, summarize
from hedgerow.verify.holding import hold, open_held
from hedgerow.verify.manifest import PartsManifest
from hedgerow.verify.promise import verify_held

_SUPPRESSED = "Rows were suppressed, so that true answers over the whole table may lie outside bounds about the others."
_MISSING = "rows with a missing value in {columns}"
_METHOD = "rows for which the promise could not be kept"


def certify_table(
    path: str | os.PathLike[str],
    issuer: Issuer,
    *,
    internal: bool = False,
    original: pa.Table | None = None,
    progress: Progress = lambda step, share: None,
) -> Certificate:
    """Verify a bundle and write down what it is; raise BrokenPromise or BundleError if it does not verify.

    The publishable version, which is the default, is made from the bundle alone.
    """
    progress("verifying", 0.0)
    with hold(path) as held:
        text, manifest = held.manifest, held.decoded
        if isinstance(manifest, PartsManifest):
            whole, checks = read_held(held), verify_held(held).checks
        else:
            bundle = open_held(held)
            whole, checks = as_release(bundle.release), verify_held(held, bundle).checks
    # What is measured of a bundle in many parts is measured on some of its groups, and the certificate says so.
    release = whole if internal and original is not None else sample_groups(whole, MOST_ATTACKED)
    note = "" if release is whole else f" Risks, measures and answers: {sampled_words(release, whole)}"
    progress("attacking", 0.2)
    risks = published_risks(release)
    progress("asking", 0.3)
    derived = DerivedFacts(
        what="table",
        done=what_was_done(whole) + note,
        counts={
            "input": manifest.rows.input,
            "published": manifest.rows.published,
            "suppressed": manifest.rows.suppressed,
            "groups": manifest.groups,
        },
        sizes=_sizes(release),
        columns={role: getattr(manifest.columns, role) for role in ("quasi", "sensitive", "plain")},
        checks=checks,
        risks=risks,
        answers=typical_answers(release),
        internal=internal_part(release, original, risks, _second_half(progress)) if internal else None,
        missing=dict(manifest.missing),
        unverifiable=release.form.unverifiable,
        measures=_published_measures(release),
    )
    return fill(issuer, text, manifest, derived)


def _second_half(progress: Progress) -> Progress:
    """The second half of the way, by the steps of what is measured."""
    return lambda step, share: progress(f"measuring: {step}", 0.5 + share / 2)


def _sizes(release: Release) -> tuple[GroupSizes, ...]:
    if not release.groups:
        return ()
    people = next(table for name, table in release.tables.items() if name in ("release", "quasi"))
    return (group_sizes("rows", np.bincount(people.column(release.group_column).to_numpy())),)


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
        measures=_compared_measures(release, original),
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
    """Distinguish rows suppressed by the policy for missing values from rows that the method could not place."""
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


def _compare_truths(aggregate: str, selectivity: float, outcomes: list[QuestionOutcome]) -> TrueAnswers:
    inside = [outcome.inside for outcome in outcomes if outcome.inside is not None]
    found = score(outcomes)
    return TrueAnswers(
        question=aggregate.upper(),
        selectivity=selectivity,
        checked=len(inside),
        inside=sum(inside),
        error=round_share(found.error),
        near=round_share(found.near),
    )


def _published_measures(release: Release) -> tuple[Measure, ...]:
    """What follows from the published tables alone."""
    found = published_risk(release)
    if found is None:
        return ()
    risk, attributes = found
    return tuple(_release_measures(release, risk, attributes))


def _release_measures(release: Release, risk: ClassRisk, attributes: tuple[AttributeRisk, ...]) -> Iterator[Measure]:
    yield _measure("classes of equal quasi-identifiers", risk.classes, unit="number")
    for name, field in PROSECUTOR.items():
        yield _measure(name.format(threshold=risk.threshold), getattr(risk, field))
    yield _measure("sample uniques", risk.sample_uniques, unit="number")
    for one in attributes:
        yield _measure(f"most frequent {one.column}, worst group", one.worst)
        yield _measure(f"most frequent {one.column}, average", one.average)
    if release.form.has_boxes:
        cells = max(release.rows.published * len(release.columns.quasi), 1)
        yield _measure("NCP of the published rows", ncp(release) / cells)
    yield _measure("average class size", risk.rows / risk.classes, unit="number")


def _compared_measures(release: Release, original: pa.Table) -> tuple[Measure, ...]:
    """Before and after, for the owner alone."""
    columns, weight = release.columns, release.made.parameters.get("weight")
    plain = [name for name in columns.plain if name != weight]
    rest = [name for name in original.column_names if name not in columns.all]
    declared = [] if weight is None else [str(weight)]
    schema = Schema(columns.quasi, columns.sensitive, rest, plain, weight=declared)
    found = summarize(release, read_table(original), schema)
    return () if found is None else tuple(_comparison_measures(found))


def _comparison_measures(found: ReleaseSummary) -> Iterator[Measure]:
    before, after = found.before, found.after
    yield _measure("classes of equal quasi-identifiers", after.classes, before.classes, unit="number")
    known = {} if found.population.startswith("none") else JOURNALIST | {"marketer risk": "marketer"}
    for name, field in (PROSECUTOR | known).items():
        yield _measure(name.format(threshold=after.threshold), getattr(after, field), getattr(before, field))
    yield _measure("sample uniques", after.sample_uniques, before.sample_uniques, unit="number")
    yield _measure("k-map" if known else "k", after.k_map, before.k_map, unit="number")
    for one in found.attributes:
        yield _measure(f"most frequent {one.column}, worst group", one.worst, one.baseline)
        yield _measure(f"most frequent {one.column}, average", one.average, one.baseline)
    yield _measure("NCP", found.loss.ncp, found.loss_before.ncp)
    for name in ("discernibility", "average_class_size"):
        pair = (getattr(loss, name) for loss in (found.loss, found.loss_before))
        yield _measure(name.replace("_", " "), *pair, unit="number")


def _measure(
    name: str, after: float, before: float | None = None, *, unit: Literal["share", "number"] = "share"
) -> Measure:
    rounded = round_share(float(after))
    assert rounded is not None
    return Measure(name=name, after=rounded, before=None if before is None else round_share(float(before)), unit=unit)
