"""Groups of sensitive codes, and what every criterion on groups owes: it says what its definition says, and unions of
good groups are good if it claims so.

    check_criterion(FrequencyDiversity(3), lambda counts, overall: 3 * max(counts.values()) <= counts.total())
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hedgerow.arrays import Codes
from hedgerow.criteria.groupwise import Criterion, groups_of
from hedgerow.randomness import generator

__all__ = ["check_criterion", "check_unions", "grouped_codes", "histograms"]

Definition = Callable[[Counter[int], Counter[int]], bool]
"""Tell from a group's counts and the column's whether the group is good."""


@st.composite
def grouped_codes(draw: st.DrawFn, *, most_values: int = 6, most_groups: int = 4) -> tuple[Codes, Codes]:
    """Draw labels and sensitive codes, both without gaps; groups are often near copies of the column."""
    pattern = draw(st.lists(st.integers(0, 4), min_size=1, max_size=most_values))
    groups = draw(st.integers(1, most_groups))
    noise = draw(st.lists(st.sampled_from([0, 0, 0, 1, -1]), min_size=groups, max_size=groups * len(pattern)))
    counts = np.maximum(np.resize(noise, (groups, len(pattern))) + np.array(pattern), 0)
    counts[:, 0] += counts.sum(axis=1) == 0
    used = counts[:, counts.sum(axis=0) > 0]
    labels = np.repeat(np.arange(groups), used.sum(axis=1))
    codes = np.concatenate([np.repeat(np.arange(used.shape[1]), row) for row in used])
    order = generator(draw(st.integers(0, 9))).permutation(len(labels))
    return labels[order].astype(np.int32), codes[order].astype(np.int32)


def histograms(labels: Codes, codes: Codes) -> list[Counter[int]]:
    """The counts of each group, one row at a time."""
    counters = [Counter[int]() for _ in range(int(labels.max()) + 1)]
    for label, code in zip(labels.tolist(), codes.tolist(), strict=True):
        counters[label][code] += 1
    return counters


def check_criterion(criterion: Criterion, definition: Definition, *, examples: int = 50) -> None:
    """Raise AssertionError where `criterion` differs from its definition or from what it says of itself."""

    @settings(max_examples=examples, deadline=None, derandomize=True)
    @given(grouped_codes())
    def contract(drawn: tuple[Codes, Codes]) -> None:
        labels, codes = drawn
        overall = np.bincount(codes)
        groups = groups_of(labels, codes, overall)
        held = criterion.holds(groups)
        expected = [definition(counts, Counter(codes.tolist())) for counts in histograms(labels, codes)]
        assert held.tolist() == expected, "the criterion differs from its definition"
        kept = criterion.limits(overall).hold(groups)
        assert not (held & ~kept).any(), "a good group breaks the limits"
        assert not criterion.limits(overall).whole or (held == kept).all(), "the limits are not the whole criterion"
        if criterion.monotone:
            check_unions(criterion, labels, codes, held)

    contract()


def check_unions(criterion: Criterion, labels: Codes, codes: Codes, held: NDArray[np.bool_]) -> None:
    """Merge every two good groups, or a good one with any where the criterion absorbs; the column stays the same."""
    good = np.flatnonzero(held).tolist()
    for one in range(len(held)) if criterion.absorbing else good:
        for other in good:
            merged = np.where(labels == one, other, labels)
            _, dense = np.unique(merged, return_inverse=True)
            union = dense[labels == other][0]
            after = criterion.holds(groups_of(dense.astype(np.int32), codes, np.bincount(codes)))
            assert after[union], "a union of good groups is not good"
