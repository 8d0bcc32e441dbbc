"""Risk and loss by the field's names on a certificate: from the published bytes, and for the owner before and after.

Source     own; the measures are those of `utility.summary`, formulas in docs/methods/measures.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from hedgerow.certificate.model import Measure, round_share
from hedgerow.schema import Schema
from hedgerow.table import read_table
from hedgerow.utility.measures import ncp
from hedgerow.utility.risk import JOURNALIST, PROSECUTOR
from hedgerow.utility.summary import published_risk, summarize

if TYPE_CHECKING:
    from hedgerow.release import Release
    from hedgerow.utility.risk import AttributeRisk, ClassRisk
    from hedgerow.utility.summary import ReleaseSummary


def published_measures(release: Release) -> tuple[Measure, ...]:
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


def compared_measures(release: Release, original: pa.Table) -> tuple[Measure, ...]:
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
