"""Descriptions that fit exactly one person."""

import numpy as np
import pyarrow as pa

import hedgerow as hr
from hedgerow.attack import run
from hedgerow.attack.adversaries.singling_out import (
    Description,
    _singles,
    count_fitting,
    find_descriptions,
    mix_descriptions,
)
from hedgerow.attack.candidates import CandidateRows as Rows
from hedgerow.attack.candidates import combine_codes, number_looks, people_of, point_column
from hedgerow.randomness import seeded_keys

TABLE = pa.table({"a": [1, 1, 2, 3, None], "b": ["x", "y", "y", None, "x"]})
COLUMNS = tuple(point_column(name, TABLE.column(name)) for name in ("a", "b"))
PEOPLE = people_of(Rows(COLUMNS, np.arange(5), np.ones(5, np.int64)), TABLE, np.arange(5))


def test_people_who_fit_are_counted():
    """By value, by combination, and with gaps as values."""
    found = [Description((0,), (0,)), Description((0, 1), (0, 0)), Description((1,), (3,)), Description((0,), (4,))]
    assert count_fitting(COLUMNS, found, PEOPLE).tolist() == [2, 1, 1, 1]


def test_descriptions_fit_one_published_row():
    """Whatever is drawn, each fits one row of the release, of which all its parts are."""
    found = find_descriptions(COLUMNS, np.ones(5, np.int64), wanted=30, keys=seeded_keys(1))
    assert len(found) > 15
    assert set(count_fitting(COLUMNS, found, PEOPLE)) == {1}
    assert all(len(set(one.rows)) == 1 for one in found)


def test_rows_that_stand_for_several_are_not_single():
    """A box of five rows describes nobody alone."""
    assert not find_descriptions(COLUMNS, np.full(5, 5), wanted=3, keys=seeded_keys(1))


def test_the_baseline_mixes_rows():
    """Parts of different rows, by the same columns."""
    found = [Description((0, 1), (2, 2))] * 40
    other = mix_descriptions(found, 5, keys=seeded_keys(4))
    assert {one.columns for one in other} == {(0, 1)}
    assert any(len(set(one.rows)) == 2 for one in other)


def test_boxes_do_not_rule_it_out():
    """A value that one row of a box has describes one person: k-anonymity promises nothing about this adversary."""
    rng = np.random.default_rng(6)
    table = pa.table({"a": rng.integers(0, 90, 800), "b": rng.integers(0, 90, 800), "s": rng.integers(0, 40, 800)})
    release = hr.Mondrian(k=20).publish(table, hr.Schema(quasi=["a", "b"], sensitive="s"))
    found = run(release, table, keys=seeded_keys(3))["singling out"]
    assert found.rate > 0.25
    assert "no form rules it out" in found.next_step


def test_combinations_stay_apart_beyond_64_bits():
    """Four columns of two million looks each: rows are alike exactly where all four are."""
    looks = np.array([0, 1, 0, 2_000_000, 2_000_000], np.int64)
    last = np.array([0, 0, 0, 1, 2], np.int64)
    together = combine_codes([looks, looks, looks, last])
    assert len(np.unique(together)) == 4
    assert together[0] == together[2]


def test_numbers_of_looks_tell_the_same_rows_apart_by_counting_and_by_sorting():
    """Gaps, fractions, unknown texts and wide ranges: two rows have one number exactly where they look alike."""
    wide = np.array([1e12, 1e12, -3.0, np.nan, np.nan, 0.5])
    narrow = np.array([-1.0, -1.0, 4.0, np.nan, 4.0, 4.0])
    for parts in ([wide], [narrow], [wide, narrow], [np.isnan(wide), narrow]):
        numbers = number_looks(parts)
        rows = [tuple(str(part[row]) for part in parts) for row in range(6)]
        assert [[one == other for other in numbers] for one in numbers] == [[a == b for b in rows] for a in rows]
        assert numbers.min() >= 0


def test_rows_that_stand_alone_are_drawn_with_their_weights():
    """Looks 5, 5, 7, 8: the first two are alike, the last stands for two people."""
    singles = _singles(np.array([5, 5, 7, 8]), np.array([1, 1, 1, 2]), 9, seeded_keys(1))
    assert singles.tolist() == [2]


def test_a_small_control_does_not_hide_anybody():
    """Nobody is like anybody else, all are published, twenty are the control: far more than 20 in 400 are hit."""
    table = pa.table({"a": np.arange(400), "s": np.arange(400) % 7})
    release = hr.Anatomy(l=2).publish(table, hr.Schema(quasi=["a"], sensitive="s"))
    few = pa.table({"a": np.arange(1000, 1020), "s": np.arange(20) % 7})
    found = run(release, table, holdout=few, keys=seeded_keys(2))["singling out"]
    assert found.rate > 0.5
    assert found.control == 0
