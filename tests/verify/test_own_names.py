"""Tables beside those of rows have columns of their own: a column of the release may bear the same name."""

import pytest

import hedgerow as hr
from hedgerow.verify import verify_bundle

_AGES = [30, 31, 40, 41, 50, 51]
_PLACES = ["e\u0301", "c", "e\u0301", "c", "d", "d"]


@pytest.mark.parametrize("name", ["value", "column", "set"])
def test_a_sensitive_column_called_like_one_of_the_sets(tmp_path, name):
    """Listed quasi-identifiers were held against the policy for sensitive texts: an honest release was refused."""
    table = {"place": _PLACES, "age": _AGES, name: ["x", "y", "z", "x", "y", "z"]}
    release = hr.Mondrian(k=3).publish(table, hr.Schema(quasi=["place", "age"], sensitive=name), seed=1)
    assert "sets" in release.tables
    release.save(tmp_path / "out", allow_insecure=True)
    verify_bundle(tmp_path / "out")


@pytest.mark.parametrize("name", ["label", "node", "weight", "low"])
def test_a_known_column_called_like_one_of_the_target(tmp_path, name):
    """Labels of a target's nodes were held against the policy for texts of another column."""
    table = {name: ["x", "y", "z", "x", "y", "z"], "ill": ["Flu", "Cold", "Flu", "Cold", "Flu", "Cold"]}
    schema = hr.Schema(quasi=name, sensitive="ill", texts={name: "folded", "ill": "exact"})
    release = hr.TargetDistribution(target="uniform").publish(table, schema, seed=1)
    release.save(tmp_path / "out", allow_insecure=True)
    verify_bundle(tmp_path / "out")


def test_releases_are_compared_by_the_values_of_their_rows():
    """The domain of a retention took the place of the rows, and their numbers did not fit."""
    table = {"age": _AGES * 4, "place": _PLACES * 4, "pay": [1, 2, 3, 1, 2, 3] * 4}
    schema = hr.Schema(quasi=["age", "place"], sensitive="pay")
    releases = {"kept": hr.Retention(p="0.5").publish(table, schema, seed=1)}
    scores = hr.compare(releases)
    assert set(scores) == {"kept"}
