"""Cutting into runs: the plain and the compiled loop, and an independent count of groups."""

import numpy as np
import pytest

from hedgerow.criteria.ke import latest_start
from hedgerow.partition.ke.runs import best_starts, cut_runs, first_within, follow


def column(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A column with gaps and a third of its values tied."""
    source = np.random.default_rng(seed)
    positions = np.sort(source.choice(6 * size, size, replace=False)).astype(np.int64)
    return positions, source.choice([1, 1, 3], size).astype(np.int64)


@pytest.mark.parametrize("most_groups", [False, True])
def test_plain_and_compiled_agree(most_groups: bool) -> None:
    """The two speeds of the kernels find the same starts and the same runs."""
    positions, counts = column(2000, 1)
    latest, nowhere = latest_start(positions, k=4, e=20), np.zeros_like(positions)
    costs = (nowhere, -1, positions, 0) if most_groups else (positions, 0, nowhere, -1)
    arguments = (first_within.plain(positions, 90), latest, counts > 1, *costs)
    plain, compiled = best_starts.plain(*arguments), best_starts.compiled(*arguments)
    for one, two in zip((*plain, *follow.plain(*plain)), (*compiled, *follow.compiled(*plain)), strict=True):
        assert np.array_equal(one, two)
    assert plain[0][-1] >= 0


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_first_within_is_its_definition(kind: type) -> None:
    """For each end the first start within the width, at both speeds."""
    positions = column(300, 2)[0].astype(kind)
    width = kind(25)
    slow = [min(d for d in range(i + 1) if positions[i] - positions[d] <= width) for i in range(300)]
    assert first_within.plain(positions, width).tolist() == slow
    assert first_within.compiled(positions, width).tolist() == slow


def test_limits_of_starts_are_kept() -> None:
    """No run starts before its earliest or after its latest start."""
    positions, counts = column(500, 3)
    latest, earliest = latest_start(positions, k=3, e=10), first_within(positions, 60)
    pieces = cut_runs(positions, counts, latest, earliest=earliest, most_groups=True)
    first, last = pieces.lowest(), pieces.highest()
    assert (earliest[last] <= first).all()
    assert (first <= latest[last]).all()


def test_float_totals_that_are_equal_count_as_equal() -> None:
    """Sharing the middle value costs nothing, though adding up the floats says otherwise: two groups, not one."""
    low, middle, high = -0.5, 0.7000000000000001, 0.8
    assert (middle - low) - middle + high > high - low
    positions = np.array([low, middle, high])
    assert (
        cut_runs(positions, np.array([1, 2, 1]), latest_start(positions, k=2, e=0), most_groups=False).num_groups == 2
    )


def test_runs_of_one_value_are_followed_to_the_first() -> None:
    """A run may be a single value, the first one too."""
    first, last = follow(np.array([0, 1, 1]), np.zeros(3, np.bool_))
    assert (first.tolist(), last.tolist()) == ([0, 1], [0, 2])
