"""The adversary who knows everybody's quasi-identifiers and finds each person's group.

Knows      quasi-identifiers of everyone, and that they are in the table
Guesses    the most frequent sensitive value of the person's group
Rate       exact, not sampled: the share of people for whom the guess is right, on average over the shuffle
Baseline   the same adversary without groups, who guesses the most frequent value of the whole column
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.release import Release

__all__ = ["Linking", "linking"]


@dataclass(frozen=True)
class Linking:
    """How often the guess is right: on average, at worst, and without the release's groups."""

    column: str
    rate: float
    worst: float
    baseline: float
    fewest_candidates: int

    def __str__(self) -> str:
        return (
            f"Guessing the most frequent value of '{self.column}' in a person's group is right for {self.rate:.1%} of "
            f"the people ({self.baseline:.1%} without groups), for {self.worst:.0%} in the worst group; "
            f"at least {self.fewest_candidates} different values remain possible for everyone."
        )


def linking(release: Release) -> Linking:
    """Attack a release that shows which sensitive values each group has, in one table or in two."""
    column = release.columns.sensitive[0]
    table = next((t for t in release.tables.values() if {column, release.group_column} <= set(t.column_names)), None)
    if table is None:
        raise ParameterError(f"Linking needs groups with values of '{column}'; a {release.form} release shows none.")
    groups = table.column(release.group_column).to_numpy()
    codes, size = _codes(table.column(column))
    pairs, counts = np.unique(groups.astype(np.int64) * size + codes, return_counts=True)
    starts = np.flatnonzero(np.diff(pairs // size, prepend=-1))
    best, rows = np.maximum.reduceat(counts, starts), np.add.reduceat(counts, starts)
    return Linking(
        column=column,
        rate=float(best.sum() / len(groups)),
        worst=float((best / rows).max()),
        baseline=float(np.bincount(codes).max() / len(groups)),
        fewest_candidates=int(np.diff(np.append(starts, len(pairs))).min()),
    )


def _codes(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], int]:
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)
