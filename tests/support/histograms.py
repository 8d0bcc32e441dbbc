"""Sensitive columns as partitions see them: distinct positions with counts, and the laws that every partition obeys.

Public, for people who add a partition. The strategy needs hypothesis, which hedgerow itself does not.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.partition.ke.runs import Pieces

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["Histogram", "check_ke", "histogram", "histograms", "ranges", "tiny_columns"]


class Histogram(NamedTuple):
    """Distinct positions, ascending, and the number of rows at each."""

    positions: NDArray[Any]
    counts: NDArray[np.int64]


def histogram(rows: Sequence[float]) -> Histogram:
    """Count the rows at each distinct position."""
    positions, counts = np.unique(np.array(rows), return_counts=True)
    return Histogram(positions, counts.astype(np.int64))


def histograms(*, max_values: int = 40, max_count: int = 4) -> SearchStrategy[Histogram]:
    """Draw histograms of whole numbers, narrow or wide, or of floats that no decimal grid holds."""
    from hypothesis import strategies as st

    narrow, wide = st.integers(-30, 30), st.integers(-(2**61), 2**61)
    floats = st.integers(-30, 30).map(lambda tenths: tenths * 0.1)
    counts = st.integers(1, max_count)
    tables = [st.dictionaries(kind, counts, min_size=1, max_size=max_values) for kind in (narrow, wide, floats)]
    return st.one_of(tables).map(_from_tally)


def _from_tally(tally: dict[Any, int]) -> Histogram:
    positions = sorted(tally)
    return Histogram(np.array(positions), np.array([tally[position] for position in positions], np.int64))


def tiny_columns(seed: int, count: int, *, scale: float = 1, most_rows: int = 8) -> Iterator[list[float]]:
    """Columns of two to eight rows with ties and negatives, small enough for `testing.exhaustive`."""
    source = random.Random(seed)
    for _ in range(count):
        highest = source.choice([2, 5, 9])
        yield [source.randint(-3, highest) * scale for _ in range(source.randint(2, most_rows))]


def ranges(pieces: Pieces, positions: NDArray[Any]) -> list[Fraction]:
    """The exact range of each group."""
    exact = [Fraction(position) for position in positions.tolist()]
    return [exact[high] - exact[low] for low, high in zip(pieces.lowest(), pieces.highest(), strict=True)]


def check_ke(pieces: Pieces, column: Histogram, *, k: int, e: Fraction) -> None:
    """Assert that the pieces are sorted, cover the rows exactly, and form (k,e)-anonymous groups: by plain loops."""
    keys = list(zip(pieces.values.tolist(), pieces.groups.tolist(), strict=True))
    assert keys == sorted(set(keys)), "pieces must ascend by (value, group), each pair once"
    left = dict(enumerate(column.counts.tolist()))
    members: dict[int, list[Fraction]] = {}
    for (value, group), count in zip(keys, pieces.counts.tolist(), strict=True):
        assert count >= 1, "a piece takes at least one row"
        left[value] -= count
        members.setdefault(group, []).append(Fraction(column.positions[value].item()))
    assert not any(left.values()), "every row must go to one group"
    assert sorted(members) == list(range(pieces.num_groups)), "groups must be numbered from 0 without gaps"
    for values in members.values():
        assert len(values) >= k, "a group has too few distinct values"
        assert max(values) - min(values) >= e, "a group has too small a range"
