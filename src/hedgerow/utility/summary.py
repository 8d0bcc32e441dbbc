"""Risk and loss of a release beside those of the table that it was made from: what `publish` prints.

Source     own; the measures are those of `utility.risk`, `utility.measures` and `utility.widths`
Cost       O(n log n)

The figures before publishing are about the table itself, and stay with its owner.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import Infeasible
from hedgerow.utility.measures import Loss, generalization_loss
from hedgerow.utility.risk import (
    AttributeRisk,
    ClassRisk,
    attribute_risk,
    class_codes,
    class_risk,
    pitman_uniques,
    zayatz_uniques,
)

if TYPE_CHECKING:
    from hedgerow.release import Release
    from hedgerow.schema import Schema
    from hedgerow.table import Table

__all__ = ["ReleaseSummary", "summarize"]


@dataclass(frozen=True)
class ReleaseSummary:
    """Risk before and after, disclosure of each sensitive column after, loss, and population uniques if asked for."""

    before: ClassRisk
    after: ClassRisk
    attributes: tuple[AttributeRisk, ...]
    loss: Loss
    population_uniques: dict[str, dict[str, float | None]]

    def to_data(self) -> dict[str, Any]:
        """Everything as plain data."""
        return asdict(self)


def summarize(
    release: Release, table: Table, schema: Schema, *, threshold: float = 0.2, population: int | None = None
) -> ReleaseSummary | None:
    """Measure a release against its table; None where there is no quasi-identifier to find anybody by."""
    quasi = release.columns.quasi
    published = next((one for name, one in release.tables.items() if name in ("release", "quasi")), None)
    if not quasi or published is None:
        return None
    own = np.bincount(class_codes([table.arrow.column(name) for name in quasi]))
    classes = class_codes([published.column(name) for name in quasi])
    sizes = np.bincount(classes)
    attributes = []
    if "release" in release.tables and not release.form.is_permutation:
        attributes = [
            attribute_risk(name, classes, published.column(name))
            for name in release.columns.sensitive
            if name in published.column_names
        ]
    estimates = {} if population is None else {
        "before": _uniques(own, population), "after": _uniques(sizes, population)
    }  # fmt: skip
    return ReleaseSummary(
        before=class_risk(own, threshold=threshold),
        after=class_risk(sizes, threshold=threshold),
        attributes=tuple(attributes),
        loss=generalization_loss(release, table, schema.hierarchies),
        population_uniques=estimates,
    )


def _uniques(sizes: Any, population: int) -> dict[str, float | None]:
    try:
        pitman: float | None = pitman_uniques(sizes, population)
    except Infeasible:
        pitman = None
    return {"zayatz": zayatz_uniques(sizes, population), "pitman": pitman}
