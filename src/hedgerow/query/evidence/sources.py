"""One form, one source of evidence: the only place where questions look at the form of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.query.engines.arrays import Source
from hedgerow.query.evidence.altered import AlteredSource
from hedgerow.query.evidence.disguised import DisguisedSource
from hedgerow.query.evidence.generalized import BoxSource
from hedgerow.query.evidence.padded import PaddedSource
from hedgerow.query.evidence.permuted import RowSource
from hedgerow.query.evidence.scattered import ScatteredSource
from hedgerow.query.evidence.view import view_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.release import Release

__all__ = ["source_of"]

_SOURCES: dict[str, Callable[[Release], Source]] = {
    "permuted": lambda release: RowSource(view_of(release)),
    "separated": lambda release: RowSource(view_of(release)),
    "scattered": lambda release: ScatteredSource(view_of(release)),
    "generalized": BoxSource,
    "disguised": DisguisedSource,
    "padded": PaddedSource,
    "perturbed": AlteredSource,
    "swapped": AlteredSource,
    "substituted": AlteredSource,
}


def source_of(release: Release) -> Source:
    """The evidence of a release; its arrays live as long as its view."""
    view = view_of(release)  # refuses forms that have no rows to ask about
    source: Source = view.remember("source", lambda: _SOURCES[release.form.name](release))
    return source
