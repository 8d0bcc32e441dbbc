"""The synthetic author-paper graph has the shape that it should."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.graph import author_paper_graph


@pytest.mark.parametrize("size", [(8, 6, 14), (200, 260, 700), (6000, 8000, 21_000)])
def test_counts_are_as_asked_for(size) -> None:
    """Nodes and edges are exactly as many, no edge is double, nobody is alone."""
    graph = author_paper_graph(*size, seed=1)
    assert (graph.left.num_rows, graph.right.num_rows, graph.edges) == size
    assert len(set(zip(graph.left_ends.tolist(), graph.right_ends.tolist(), strict=True))) == size[2]
    assert graph.by_left.degrees.min() >= 1
    assert graph.by_right.degrees.min() >= 1


def test_degrees_have_heavy_tails() -> None:
    """The busiest author writes far more than most, and no paper has more than a hundred authors."""
    graph = author_paper_graph(6000, 8000, 21_000, seed=2)
    degrees = graph.by_left.degrees
    assert degrees.max() > 20 * np.median(degrees)
    assert graph.by_right.degrees.max() <= 100


def test_a_seed_gives_the_same_graph_and_sizes_are_checked() -> None:
    """Reproducible, and refused where nobody could fill the papers."""
    first, second = (author_paper_graph(100, 120, 300, seed=4) for _ in range(2))
    assert np.array_equal(first.left_ends, second.left_ends)
    with pytest.raises(ParameterError, match="'edges'"):
        author_paper_graph(10, 10, 5)
