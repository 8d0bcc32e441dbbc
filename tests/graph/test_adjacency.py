"""Safety as counted, against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.graph.adjacency import adjacency, check_size, count_unsafe, largest_possible
from tests.support.graph_worlds import is_safe


def random_graph(seed: int, *, most: int = 9, density: float = 0.3):
    """A small random graph from both sides, and its edges."""
    random = np.random.default_rng(seed)
    v, w = random.integers(2, most, size=2)
    ends, others = (array.astype(np.int32) for array in np.nonzero(random.random((v, w)) < density))
    edges = list(zip(ends.tolist(), others.tolist(), strict=True))
    return adjacency(ends, others, int(v), int(w)), adjacency(others, ends, int(w), int(v)), edges


def test_safety_is_what_the_definition_says() -> None:
    """No unsafe edges are counted exactly where no two nodes of a group share a neighbour."""
    verdicts = []
    for seed in range(400):
        side, opposite, edges = random_graph(seed)
        groups = np.random.default_rng(seed).integers(0, 4, side.nodes).astype(np.int32)
        verdicts.append(is_safe(groups.tolist(), edges))
        assert (count_unsafe(groups, opposite) == 0) == verdicts[-1]
    assert 50 < sum(verdicts) < 350


def test_the_compiled_count_is_the_plain_one() -> None:
    """On a graph large enough to be compiled both agree."""
    from hedgerow.graph.adjacency import _count

    random = np.random.default_rng(0)
    ends, others = random.integers(0, 300, 6000).astype(np.int32), random.integers(0, 300, 6000).astype(np.int32)
    opposite = adjacency(others, ends, 300, 300)
    groups = random.integers(0, 40, 300).astype(np.int32)
    plain = _count.plain(opposite.offsets, opposite.neighbours, groups, np.full(40, -1, np.int32))
    assert plain == count_unsafe(groups, opposite) > 0


def test_a_hub_limits_the_size_of_groups() -> None:
    """The neighbours of one node need a group each."""
    star = adjacency(np.zeros(6, np.int32), np.arange(6, dtype=np.int32), 1, 6)
    assert largest_possible(star) == 1
    assert largest_possible(adjacency(np.zeros(2, np.int32), np.arange(2, dtype=np.int32), 1, 7)) == 3
    assert largest_possible(adjacency(np.zeros(0, np.int32), np.zeros(0, np.int32), 4, 7)) == 7


@pytest.mark.parametrize("size", [0, -1, 2.5, float("nan"), True, "3", None])
def test_sizes_are_checked_at_the_door(size) -> None:
    """A size is a whole number of at least 1."""
    with pytest.raises(ParameterError, match="'k' must be"):
        check_size("k", size)
