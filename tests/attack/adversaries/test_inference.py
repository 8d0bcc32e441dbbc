"""Guessing a person's value from the rows that look like the person."""

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.attack import run
from hedgerow.attack.adversaries.inference import best, is_right
from hedgerow.attack.context import reach_of
from hedgerow.randomness import seeded_keys

SCHEMA = hr.Schema(quasi=["q"], sensitive="s")


def test_a_number_is_right_within_five_percent_of_the_guess():
    """A guess of 100 covers 95 to 105, ends included; a text covers itself."""
    reach = reach_of(pa.array([94, 95, 100, 105, 106]), "s")
    assert is_right(np.full(5, 2), np.arange(5), reach).tolist() == [False, True, True, True, False]
    texts = reach_of(pa.array(["a", "b"]), "s")
    assert is_right(np.array([0, 0]), np.array([0, 1]), texts).tolist() == [True, False]


def test_a_value_that_is_not_published_is_never_guessed():
    """The code -1 of an unknown value lies in nobody's reach."""
    assert not is_right(np.array([0]), np.array([-1]), reach_of(pa.array([1, 2]), "s"))[0]


def test_the_guess_has_most_near_it():
    """Three numbers close together beat a single one that is more likely than each of them."""
    reach = reach_of(pa.array([98, 100, 102, 500]), "s")
    assert best(np.array([0.2, 0.22, 0.2, 0.38, 0.0]), reach) == 1


def test_an_unchanged_table_is_read_and_its_strangers_are_not():
    """Rows published as they are: everyone is known, people who were not published are guessed by chance."""
    rng = np.random.default_rng(1)
    table, others = (
        pa.table({"q": rng.permutation(5000)[:500], "s": rng.integers(0, 20, 500).astype(str)}) for _ in "ab"
    )
    table = table.set_column(0, "q", [np.arange(0, 5000, 10)])
    others = others.set_column(0, "q", [np.arange(5, 5005, 10)])
    release = hr.Microaggregation(columns=["s2"], k=2).publish(
        table.append_column("s2", pa.array(rng.normal(size=500))), hr.Schema(quasi=["q"], plain=["s2"], sensitive="s")
    )
    found = run(release, table.append_column("s2", pa.array(np.zeros(500))), holdout=others, keys=seeded_keys(1))
    assert found["inference"].rate == 1
    assert found["inference"].control < 0.12
    assert found["inference"].risk == pytest.approx(1)
    assert found["inference"].next_step == "Make groups larger or more diverse."


def test_inside_groups_the_rate_is_that_of_the_promise():
    """Unique people in three-diverse groups: one in three, within the interval."""
    rng = np.random.default_rng(2)
    table = pa.table({"q": np.arange(3000), "s": rng.integers(0, 9, 3000).astype(str)})
    found = run(hr.Anatomy(l=3).publish(table, SCHEMA), table, keys=seeded_keys(2))["inference"]
    assert found.low <= 1 / 3 <= found.high
