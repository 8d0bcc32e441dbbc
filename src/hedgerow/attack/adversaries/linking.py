"""The adversary who knows everybody's quasi-identifiers and finds each person's group.

Knows      quasi-identifiers of everyone, and that they are in the table
Guesses    the most frequent sensitive value of the person's group
Rate       exact, not sampled: the share of people for whom the guess is right, on average over the shuffle
Baseline   the same adversary without groups, who guesses the most frequent value of the whole column
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.attack.beliefs import Beliefs, beliefs
from hedgerow.errors import ParameterError
from hedgerow.release import Release

__all__ = ["Linking", "linking", "linking_of"]


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
    if not any(release.group_column in table.column_names for table in release.tables.values()):
        raise ParameterError(f"Linking needs groups with values of '{column}'; a {release.form} release shows none.")
    return linking_of(beliefs(release, column))


def linking_of(seen: Beliefs) -> Linking:
    """Attack with what each group tells."""
    best = np.maximum.reduceat(seen.shares, seen.starts[:-1])
    return Linking(
        column=seen.column,
        rate=float(best @ seen.sizes / seen.sizes.sum()),
        worst=float(best.max()),
        baseline=float(seen.overall.max()),
        fewest_candidates=int(np.diff(seen.starts).min()),
    )
