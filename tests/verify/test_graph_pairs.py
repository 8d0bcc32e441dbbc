"""Pairs that occur twice are counted alike, all at once or a part at a time."""

import numpy as np
import pytest

from hedgerow.verify import graph


def plain(first: np.ndarray, second: np.ndarray) -> int:
    """By the definition."""
    return len(first) - len(set(zip(first.tolist(), second.tolist(), strict=True)))


@pytest.mark.parametrize("part", [3, 17, 1000])
@pytest.mark.parametrize(
    ("rows", "firsts", "seconds"), [(400, 60, 40), (400, 1, 300), (400, 400, 1), (300, 7, 2**31 - 2)]
)
def test_parts_find_what_all_find(
    rows: int, firsts: int, seconds: int, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of a few pairs, firsts with more pairs than a part, seconds that fill nearly all of a word."""
    monkeypatch.setattr(graph, "_FEW", 0)
    monkeypatch.setattr(graph, "_PART", part)
    random = np.random.default_rng(rows + firsts)
    for _ in range(20):
        first = np.sort(random.integers(0, firsts, rows))
        second = random.integers(0, seconds, rows)
        second[rows // 2] = second[rows // 2 - 1]
        assert graph._repeats(first, second) == plain(first, second)
        assert graph._repeats(second, first) == plain(first, second)
