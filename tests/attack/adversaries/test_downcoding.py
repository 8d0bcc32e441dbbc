"""Ends of intervals are somebody's value."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.attack import run
from hedgerow.attack.adversaries.downcoding import downcoding
from hedgerow.attack.candidates import CandidateColumn
from hedgerow.randomness import seeded_keys


def test_ends_are_compared_with_values_in_widened_columns_alone():
    """Box 1..4 of people with 1, 4, 2 and 3: the low end is right once, the high end once; points are not guessed."""
    low, high = np.array([1.0, 5.0]), np.array([4.0, 5.0])
    column = CandidateColumn("a", 0, low, high, np.zeros(2, bool))
    people = np.array([[1.0, 4.0, 2.0, 3.0, 5.0]])
    rows, sides = np.array([0, 0, 0, 0, 1]), np.array([True, False, True, True, True])
    found = downcoding((column,), rows, people, sides)
    assert (found.hits, found.trials) == (2, 4)
    assert found.baseline == pytest.approx(1 / 4)


def test_minimal_boxes_are_read_as_often_as_enumeration_says():
    """Groups of three uniform values from 1 to 9: an end is somebody's value as often as over all groups of three."""
    rng = np.random.default_rng(2)
    values = rng.integers(1, 10, (4000, 3))
    low, high = values.min(axis=1).astype(float), values.max(axis=1).astype(float)
    column = CandidateColumn("a", 0, low, high, np.zeros(4000, bool))
    sides = rng.random(4000) < 0.5
    found = downcoding((column,), np.arange(4000), values[:, :1].T.astype(float), sides)
    groups = [group for group in product(range(1, 10), repeat=3) if len(set(group)) > 1]
    expected = np.mean([((group[0] == min(group)) + (group[0] == max(group))) / 2 for group in groups])
    assert found.hits / found.trials == pytest.approx(expected, abs=0.03)
    assert found.baseline < expected


def test_least_boxes_tell_more_than_their_width():
    """Mondrian's boxes end at values of their rows, and so are read above guessing inside them."""
    rng = np.random.default_rng(4)
    table = pa.table({"a": rng.integers(0, 100_000, 2000), "s": rng.integers(0, 5, 2000)})
    release = hr.Mondrian(k=4).publish(table, hr.Schema(quasi=["a"], sensitive="s"))
    found = run(release, table, keys=seeded_keys(1))["downcoding"]
    assert found.low > found.baseline + 0.05
    assert "fixed steps" in found.next_step
