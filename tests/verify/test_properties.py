"""The audit of kept properties: every planted fault is noticed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.methods import PropertyWalk

TABLE = pa.table({"a": [0, 3, 9, 12, 40, 41, 70, 90], "b": np.arange(8) / 7 + 1 / 3, "s": list("xxxxyyyy")})


@pytest.fixture(scope="module")
def release():
    """A small release of two columns, one of whole numbers and one of floats."""
    return PropertyWalk(share=0.5).publish(TABLE, hr.Schema(quasi=["a", "b"], plain="s"), seed=1)


def _with_properties(release, **columns):
    listed = release.tables["properties"]
    for name, column in columns.items():
        listed = listed.set_column(
            listed.column_names.index(name), name, pa.array(column, listed.schema.field(name).type)
        )
    return dataclasses.replace(release, tables={**release.tables, "properties": listed})


def _listed(release, name):
    return release.tables["properties"][name].to_pylist()


def test_a_good_release_passes(release):
    """All listed properties hold."""
    assert "listed properties hold, exactly" in str(release.verify())


def test_each_property_is_checked(release):
    """Tightening any single limit below what the rows give is noticed."""
    table, listed = release.tables["release"], release.tables["properties"].to_pylist()
    sums = {}
    for term in listed:
        value = hr.read_table(table).arrow.column(term["column"])[term["row"]].as_py()
        sums[term["property"]] = sums.get(term["property"], 0) + term["coefficient"] * value
    for number in list(sums)[:: max(1, len(sums) // 12)]:
        limits = [str(round(sums[number] - 1)) if t["property"] == number else t["at_most"] for t in listed]
        with pytest.raises(hr.BrokenPromise, match="1 properties of"):
            _with_properties(release, at_most=limits).verify()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: {"row": [100, *_listed(r, "row")[1:]]}, "a row that is not published"),
        (lambda r: {"property": [5, *_listed(r, "property")[1:]]}, "not listed one after the other"),
        (lambda r: {"column": ["s", *_listed(r, "column")[1:]]}, "a column that the guarantee does not cover"),
        (lambda r: {"at_most": [None, *_listed(r, "at_most")[1:]]}, "gaps"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused(release, change, message):
    """Rows out of range, numbers out of order, foreign columns and gaps break the promise."""
    with pytest.raises(hr.BrokenPromise, match=message):
        _with_properties(release, **change(release)).verify()


def test_a_property_of_another_kind_is_refused(release):
    """A list in which a bound passes for a given property does not have the numbers that the guarantee says."""
    kinds = ["given" if kind == "bound" else kind for kind in _listed(release, "kind")]
    with pytest.raises(hr.BrokenPromise, match="number of listed properties of each kind"):
        _with_properties(release, kind=kinds).verify()


def test_a_shortened_list_is_refused(release):
    """Leaving out the last property is noticed by the count in the guarantee."""
    listed = release.tables["properties"]
    last = listed["property"].to_numpy().max()
    cut = listed.filter(pa.array(listed["property"].to_numpy() < last))
    forged = dataclasses.replace(release, tables={**release.tables, "properties": cut})
    with pytest.raises(hr.BrokenPromise, match="number of listed properties"):
        forged.verify()


def test_sums_that_leave_64_bits_are_added_exactly():
    """Huge coefficients take the slow road and give the same verdict."""
    from hedgerow.verify.properties import _count_broken

    column = pa.chunked_array([pa.array([2**40, 2**40 + 1])])
    huge = 2**40
    listed = pa.table(
        {
            "property": pa.array([0, 0], pa.int32()),
            "row": pa.array([0, 1], pa.int32()),
            "coefficient": [huge, -huge],
            "at_most": [str(-huge), str(-huge)],
        }
    )
    assert _count_broken(column, listed) == 0
    assert _count_broken(column, listed.set_column(3, "at_most", pa.array([str(-huge - 1)] * 2))) == 1


def test_one_sum_that_leaves_64_bits_beside_one_that_does_not():
    """The largest sum decides how all are added, not the smallest."""
    from hedgerow.verify.properties import _count_broken

    listed = pa.table({"property": [0, 1], "row": [0, 1], "coefficient": [4, 1], "at_most": ["5", "5"]})
    assert _count_broken(pa.chunked_array([[2**61, 1]]), listed) == 1
