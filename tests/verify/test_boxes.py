"""The audit of boxes refuses every way in which rows of a group could be told apart."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.datasets import census
from hedgerow.errors import BrokenPromise
from hedgerow.randomness import seeded_keys, system_keys
from hedgerow.verify import verify
from hedgerow.verify.boxes import _listed_sets, _set_texts, check_boxes
from hedgerow.verify.structure import expected_columns
from tests.support.boxes import generalized_release

TABLE = pa.table(
    {"age": [1, 3, 5, None], "town": ["Ash", "Elm", "Oak", None], "member": [True, False, True, True], "pay": range(4)}
)


def _release(keys=system_keys):
    return generalized_release(TABLE, (0, 0, 1, 1), quasi=("age", "town", "member"), sensitive=("pay",), keys=keys)


def _edited(name, column, change):
    """The release with one cell of a table replaced."""
    release = _release()
    return _replaced(release, name, column, change(release.tables[name].column(column).to_pylist()))


def _replaced(release, name, column, values):
    table = release.tables[name]
    changed = pa.array(values, table.schema.field(column).type)
    edited = table.set_column(table.column_names.index(column), column, changed)
    return dataclasses.replace(release, tables={**release.tables, name: edited})


def test_good_release_passes():
    """What the form publishes is accepted and declared."""
    release = _release()
    assert "3 quasi-identifiers" in check_boxes(release)
    assert {name: sorted(columns) for name, columns in expected_columns(release.published).items()} == {
        name: sorted(table.column_names) for name, table in release.tables.items()
    }


@pytest.mark.parametrize("column", ["age", "age_low", "age_high", "age_missing", "town", "member_low"])
def test_rows_that_can_be_told_apart(column):
    """Any published part of a quasi-identifier that differs inside a group breaks the promise."""
    other = {"age": "7", "age_low": 0, "age_high": 9, "age_missing": None, "town": "x", "member_low": None}[column]
    with pytest.raises(BrokenPromise):
        check_boxes(_edited("release", column, lambda values: [other, *values[1:]]))


@pytest.mark.parametrize(
    ("table", "column", "change", "message"),
    [
        ("release", "age_low", lambda values: [9 for _ in values], "ends before"),
        ("release", "age_low", lambda values: [None for _ in values], "no ends"),
        ("release", "member_low", lambda values: [None for _ in values], "no ends"),
        ("release", "town_set", lambda values: [7 for _ in values], "not those that are listed"),
        ("release", "town_set", lambda values: [None for _ in values], "not named"),
        ("sets", "set", lambda values: [9 for _ in values], "not those that are listed"),
        ("sets", "value", lambda values: ["Ash" for _ in values], "twice"),
        ("sets", "value", lambda values: [None for _ in values], "twice, or a missing"),
    ],
)
def test_malformed_boxes(table, column, change, message):
    """Ends out of order, ends that are missing, and sets that are not listed are refused."""
    with pytest.raises(BrokenPromise, match=message):
        check_boxes(_edited(table, column, change))


def test_unused_sets_are_refused():
    """A set that no row refers to could tell of suppressed rows."""
    release = _release()
    more = pa.concat_tables(
        [
            release.tables["sets"],
            pa.table({"column": ["town"], "set": pa.array([5], pa.int32()), "value": ["Yew"]}),
        ]
    )
    with pytest.raises(BrokenPromise, match="not those that are listed"):
        check_boxes(dataclasses.replace(release, tables={**release.tables, "sets": more}))


@pytest.mark.parametrize("flags", [pa.array([True, None, False, False]), pa.array([0, 0, 1, 1])])
def test_flags_are_true_or_false(flags):
    """A flag that is missing, or a number in its place, is not taken for either."""
    release = _release()
    table = release.tables["release"]
    edited = table.set_column(table.column_names.index("age_missing"), "age_missing", flags)
    with pytest.raises(BrokenPromise):
        check_boxes(dataclasses.replace(release, tables={**release.tables, "release": edited}))


def test_a_flag_that_is_missing_at_the_head_of_a_group():
    """The first row of a group is the one that is read."""
    release = _release()
    table = release.tables["release"]
    flags = pa.array(
        [
            None if group == 0 else flag
            for group, flag in zip(
                table.column("group").to_pylist(), table.column("age_missing").to_pylist(), strict=True
            )
        ],
        pa.bool_(),
    )
    edited = table.set_column(table.column_names.index("age_missing"), "age_missing", flags)
    with pytest.raises(BrokenPromise, match="nothing missing"):
        check_boxes(dataclasses.replace(release, tables={**release.tables, "release": edited}))


@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize("seed", range(8))
def test_one_set_without_a_name_is_enough(group, seed):
    """One group's set is not named, be it the first or the last: refused exactly if no value is missing there."""
    release = _release(keys=seeded_keys(seed))
    table = release.tables["release"]
    rows = zip(*(table.column(name).to_pylist() for name in ("group", "town_missing", "town_set")), strict=True)
    named, missing = zip(*((None if at == group else name, gap) for at, gap, name in rows), strict=True)
    edited = _replaced(release, "release", "town_set", named)
    complete = not missing[table.column("group").to_pylist().index(group)]
    with pytest.raises(BrokenPromise, match="not named" if complete else "not those that are listed"):
        check_boxes(edited)


def test_a_release_of_one_row_has_nothing_to_tell_apart():
    """There is no row before the only one."""
    release = generalized_release(TABLE.slice(0, 1), (0,), quasi=("age", "town", "member"), sensitive=("pay",))
    assert "3 quasi-identifiers" in check_boxes(release)


def test_labels_of_sets_are_those_of_the_definition():
    """The label of a set is its value, or its first six values, ascending, and how many there are."""
    rng = np.random.default_rng(5)
    letters = [chr(97 + n) for n in range(12)] + ["é", "Z", "aa"]
    chosen = [rng.choice(letters, size, replace=False).tolist() for size in (1, 2, 6, 7, 15, 3)]
    rows = [(7 * number, value) for number, values in enumerate(chosen) for value in values]
    order = rng.permutation(len(rows))
    sets = pa.table(
        {
            "column": ["town"] * len(rows) + ["other"],
            "set": pa.array([*(rows[n][0] for n in order), 7], pa.int32()),
            "value": [*(rows[n][1] for n in order), "zzz"],
        }
    )
    listed = _listed_sets(SimpleNamespace(tables={"sets": sets}), {"town", "other"})["town"]
    assert listed.numbers.tolist() == [7 * number for number in range(6)]
    assert listed.sizes.tolist() == [len(values) for values in chosen]
    assert _set_texts(listed).to_pylist() == [_label(sorted(values, key=str.encode)) for values in chosen]


def _label(values):
    more = f", ... ({len(values)} values)" if len(values) > 6 else ""
    return values[0] if len(values) == 1 else "{" + ", ".join(values[:6]) + more + "}"


def test_a_large_release_is_looked_at_by_several_threads():
    """What a thread finds is raised, whichever check it is: rows told apart, or a group that misses the criterion."""
    table = census(40_000, seed=3).select(["age", "race", "occupation"])
    release = hr.Mondrian(k=5, l=2).publish(table, hr.Schema(quasi=["age", "race"], sensitive="occupation"), seed=1)
    assert len(verify(release.published).checks) == 5
    labels = release.tables["release"].column("race").to_pylist()
    with pytest.raises(BrokenPromise, match="told apart by 'race'"):
        verify(_replaced(release, "release", "race", [*labels[:-1], "x"]).published)
    values = release.tables["release"].column("occupation").to_pylist()
    with pytest.raises(BrokenPromise, match="fill"):
        verify(_replaced(release, "release", "occupation", values[:1] * 40_000).published)
