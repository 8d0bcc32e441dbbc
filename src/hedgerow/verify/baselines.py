"""Check what can be seen of a baseline's promise in its published rows; most of it cannot, and the sentence says so.

Source     own: docs/methods/baselines.md
Guarantee  retention: p is a probability and every value is in the published domain. Microaggregation: every
           combination of means is shared by k rows. Noise and rank swapping: the columns are of the declared kind
Cost       O(n log n) per column
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.errors import BrokenPromise
from hedgerow.verify.frequency import value_codes
from hedgerow.verify.values import PublishedRelease

__all__ = [
    "check_microaggregation",
    "check_noise",
    "check_rank_swap",
    "check_retention",
    "joint",
]


def check_retention(release: PublishedRelease) -> str:
    """The retention probability is one, and every published value belongs to the published domain."""
    p = Fraction(release.guarantee.parameters["p"])
    if not 0 <= p <= 1:
        raise BrokenPromise("The retention probability must lie between 0 and 1.")
    (name,) = _replaced(release)
    values, domain = release.tables["release"].column(name), release.tables["domain"].column(name)
    if values.null_count or domain.null_count or len(domain.unique()) != len(domain):
        raise BrokenPromise(f"The published values of '{name}' or of its domain are missing or listed twice.")
    if not pc.all(pc.is_in(values, value_set=domain.combine_chunks())).as_py():
        raise BrokenPromise(f"'{name}' has values outside the published domain.")
    return f"values are from a domain of {len(domain):,}; how many were kept cannot be seen"


def check_noise(release: PublishedRelease) -> str:
    """The noisy columns hold numbers and nothing missing."""
    _require_complete(release)
    return "noisy columns have no gaps; how much noise was added cannot be seen"


def check_rank_swap(release: PublishedRelease) -> str:
    """The swapped columns hold nothing missing, and a window is declared for each."""
    _require_complete(release)
    windows = [release.guarantee.parameters.get(f"window of '{name}'") for name in _replaced(release)]
    if not all(isinstance(window, int) and window >= 1 for window in windows):
        raise BrokenPromise("A swapped column has no window.")
    return "swapped columns have no gaps; who swapped with whom cannot be seen"


def check_microaggregation(release: PublishedRelease) -> str:
    """Every combination of means is shared by at least k rows."""
    _require_complete(release)
    k = int(release.guarantee.parameters["k"])
    table = release.tables["release"]
    classes = np.zeros(table.num_rows, np.int64)
    for name in _replaced(release):
        classes = joint(classes, value_codes(table.column(name)))
    sizes = np.bincount(classes)
    if sizes.min() < k:
        raise BrokenPromise(f"{int((sizes < k).sum())} combination(s) of means are shared by fewer than {k} rows.")
    return f"each of {len(sizes):,} combinations of means is shared by {sizes.min():,} to {sizes.max():,} rows"


def joint(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the pairs that occur."""
    _, numbers = np.unique(one * (int(other.max(initial=0)) + 1) + other, return_inverse=True)
    joint: NDArray[np.int64] = numbers.astype(np.int64)
    return joint


def _replaced(release: PublishedRelease) -> tuple[str, ...]:
    names = release.guarantee.columns
    if not names or not set(names) <= set(release.columns.all):
        raise BrokenPromise("The guarantee speaks of columns that are not published.")
    return names


def _require_complete(release: PublishedRelease) -> None:
    if any(release.tables["release"].column(name).null_count for name in _replaced(release)):
        raise BrokenPromise("A replaced column has missing values.")
