"""Everybody's row and group."""

import numpy as np
import pyarrow as pa

import hedgerow as hr
from hedgerow.attack.context import Context, _whole_groups
from hedgerow.randomness import seeded_keys


def test_groups_that_are_too_full_or_not_full_are_left_out():
    """Three known people for two values, one for one, none for one: the second group is whole."""
    assert _whole_groups(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 2])).tolist() == [False, True, False]


def test_rows_and_values_of_a_group_are_as_many_and_are_its_own():
    """Boxes and points: each kept group has the values that its people truly have."""
    rng = np.random.default_rng(1)
    table = pa.table(
        {"a": rng.integers(0, 60, 300), "b": rng.integers(0, 3, 300).astype(str), "s": rng.integers(0, 8, 300)}
    )
    for method in (hr.Mondrian(k=6), hr.Anatomy(l=3)):
        release = method.publish(table, hr.Schema(quasi=["a", "b"], sensitive="s"))
        context = Context(release, "s", table, (), None, 100, seeded_keys(1))
        known = context.members
        assert len(known.rows.values) == known.rows.codes.shape[1] == known.rows.offsets[-1] > 100
        assert (np.diff(known.offsets) >= 1).all()
        group_of = np.repeat(np.arange(len(known.rows.offsets) - 1), np.diff(known.rows.offsets))
        for person in np.flatnonzero(np.diff(known.offsets) == 1).tolist():
            group = group_of[known.fitting[known.offsets[person]]]
            values = known.rows.values[known.rows.offsets[group] : known.rows.offsets[group + 1]]
            assert known.truth[person] in values
