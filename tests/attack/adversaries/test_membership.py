"""Was this record published?"""

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.attack import run
from hedgerow.attack.adversaries.membership import count_right_sides
from hedgerow.randomness import seeded_keys


def test_the_better_half_is_said_to_be_published():
    """Scores 3, 1 of members against 2, 0 of others: 3 and 2 are said, so two of four are right."""
    keys = np.zeros(4, np.uint64)
    assert count_right_sides(np.array([3.0, 1.0]), np.array([2.0, 0.0]), keys) == 2
    assert count_right_sides(np.array([3.0, 2.0]), np.array([1.0, 0.0]), keys) == 4
    assert count_right_sides(np.array([0.0, 1.0]), np.array([2.0, 3.0]), keys) == 0


def test_equal_scores_are_a_coin():
    """Where the release supports everyone alike, half are right."""
    right = count_right_sides(np.zeros(2000), np.zeros(2000), seeded_keys(1)(4000))
    assert right / 4000 == pytest.approx(0.5, abs=0.04)


def test_whoever_is_shown_is_found_and_whoever_is_not_is_missed():
    """Unique quasi-identifiers published as they are tell everybody's membership."""
    rng = np.random.default_rng(1)
    table, others = (pa.table({"q": np.arange(first, 800, 2), "s": rng.integers(0, 9, 400)}) for first in (0, 1))
    release = hr.Anatomy(l=3).publish(table, hr.Schema(quasi=["q"], sensitive="s"))
    found = run(release, table, holdout=others, keys=seeded_keys(2))["membership"]
    assert (found.rate, found.baseline) == (1.0, 0.5)
    assert "larger" in found.next_step
