"""The audit of m-invariance sees what a search could get wrong."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.methods.m_invariant import check_signatures
from hedgerow.release import Guarantee

SCHEMA = hr.Schema(quasi=["age"], sensitive="pay", identifier=["name"])


@pytest.fixture
def release(tmp_path):
    """A second release, with counterfeits."""
    people = {"name": list("abcdefgh"), "age": list(range(8)), "pay": [1, 2, 3, 4, 1, 2, 3, 4]}
    hr.MInvariant(2).publish(pa.table(people), SCHEMA, ledger=tmp_path / "ledger.json")
    return hr.MInvariant(2).publish(pa.table(people).slice(0, 3), SCHEMA, ledger=tmp_path / "ledger.json")


def _edited(release, **tables):
    return dataclasses.replace(release, tables={**release.tables, **tables})


def test_a_good_release_passes(release):
    """What is said is what was checked."""
    assert release.form == "padded"
    assert "of them counterfeit" in str(release.verify())


@pytest.mark.parametrize(("words", "edit"), [
    ("one of them twice", lambda t: t.set_column(0, "pay", pa.array([1] * len(t)))),
    ("missing value", lambda t: t.set_column(0, "pay", pa.array([None] * len(t), pa.int64()))),
    ("fewer values than rows|number of groups", lambda t: t.slice(0, 1)),
    ("number of counterfeits", lambda t: pa.concat_tables([t, pa.table({"pay": [99], "group": t["group"][-1:]})])),
])  # fmt: skip
def test_edited_values_break_the_promise(release, words, edit):
    """A value twice, a missing one, too few, or more than declared."""
    with pytest.raises(hr.BrokenPromise, match=words):
        _edited(release, sensitive=edit(release.tables["sensitive"]).combine_chunks()).verify()


def test_a_larger_m_is_not_verified(release):
    """The promise is re-derived, not believed."""
    fields = {name: getattr(release.guarantee, name) for name in vars(release.guarantee)}
    stronger = Guarantee(**{**fields, "parameters": {**release.guarantee.parameters, "m": 9}})
    with pytest.raises(hr.BrokenPromise, match="fewer than 9 values"):
        dataclasses.replace(release, guarantee=stronger).verify()


def test_a_person_who_lost_the_signature_is_noticed():
    """The owner's check compares the values of the group with those of earlier releases."""
    groups, codes = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 2])
    offsets, members = np.array([0, 2]), np.array([0, 1], np.int32)
    check_signatures(np.array([0, 1]), np.array([0, -1]), groups, codes, offsets, members)
    with pytest.raises(hr.BrokenPromise, match="1 person"):
        check_signatures(np.array([0, 1]), np.array([0, 0]), groups, codes, offsets, members)
