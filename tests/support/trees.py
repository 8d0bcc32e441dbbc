"""Hypothesis strategies for hierarchies with weights, zeros included."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from hedgerow.schema.hierarchy import Hierarchy

__all__ = ["trees", "weighted_trees"]


@st.composite
def trees(draw: st.DrawFn, *, most_leaves: int = 12) -> Hierarchy:
    """Trees over ascending whole numbers with uneven gaps: balanced with any fan-out, or of any shape."""
    gaps = draw(st.lists(st.integers(1, 5), min_size=2, max_size=most_leaves))
    values = [sum(gaps[: i + 1]) for i in range(len(gaps))]
    if draw(st.booleans()):
        return Hierarchy.balanced(values, fanout=draw(st.integers(2, 4)))
    return Hierarchy.from_nested(_any_shape(draw, values))


@st.composite
def weighted_trees(draw: st.DrawFn, *, most_leaves: int = 12) -> Hierarchy:
    """Trees whose values have small whole shares, some of them zero."""
    tree = draw(trees(most_leaves=most_leaves))
    shares = draw(st.lists(st.integers(0, 3), min_size=tree.num_leaves, max_size=tree.num_leaves))
    return tree.with_target(shares if any(shares) else [1] * tree.num_leaves)


def _any_shape(draw: st.DrawFn, values: list[int]) -> list[Any]:
    """Cut the values into runs, some of them again; a run of one stays a value."""
    if len(values) <= 2:
        return list(values)
    cuts = sorted(draw(st.sets(st.integers(1, len(values) - 1), min_size=1, max_size=3)))
    runs = [values[a:b] for a, b in zip([0, *cuts], [*cuts, len(values)], strict=True)]
    return [run[0] if len(run) == 1 else _any_shape(draw, run) for run in runs]
