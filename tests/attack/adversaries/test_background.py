"""The adversary who already knows how values are distributed reads what other methods publish."""

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.attack.adversaries.background import background
from hedgerow.inference.knowledge import KnowledgeEstimate
from hedgerow.methods.anatomy import Anatomy
from hedgerow.methods.robust import Robust

SCHEMA = hr.Schema(quasi=["a"], sensitive="ill")


def _table() -> pa.Table:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 600)
    ill = np.where(
        rng.random(600) < np.where(a == 1, 0.4, 0.02), "x", np.array(["u", "v", "w"])[rng.integers(0, 3, 600)]
    )
    return pa.table({"a": a, "ill": ill})


KNOWN = KnowledgeEstimate(support=50).of(_table(), quasi=["a"], sensitive="ill")


def test_anatomy_is_read_by_who_knows_how_values_are_distributed() -> None:
    """Two-diverse groups look safe without the odds and are not with them, in either model."""
    release = Anatomy(2).publish(_table(), SCHEMA, seed=1)
    found = background(release, KNOWN, r=2, protect=["x"])
    assert found.blind == 0
    assert found.problematic > 0.05
    assert found.of_sensitive > 0.3
    assert found.worst > 0.8
    assert "0.0% without that" in str(found)
    assert background(release, KNOWN, r=2, protect=["x"], model="full").problematic > 0.05


def test_the_expected_share_is_what_happens() -> None:
    """Among the rows that stand out, as many have x as their probabilities say."""
    table = _table()
    release = Anatomy(2, form="permuted").publish(table, SCHEMA, seed=1)
    found = background(release, KNOWN, r=2, protect=["x"])
    has = (table["ill"].to_numpy(zero_copy_only=False) == "x").sum()
    assert found.p.sum() == pytest.approx(has)
    assert found.of_sensitive * has == pytest.approx(found.p[found.p > 0.5 + 1e-9].sum())


def test_a_register_places_people_where_the_release_does_not() -> None:
    """A generalized release needs a list of everybody's groups, and is refused a wrong one."""
    release = Robust(3, KnowledgeEstimate(support=50), protect=["x"], form="generalized", max_suppressed=0.3).publish(
        _table(), SCHEMA
    )
    with pytest.raises(hr.ParameterError, match="register"):
        background(release, KNOWN, r=3, protect=["x"])
    groups = release.tables["release"].column("group")
    register = pa.table({"a": np.zeros(len(groups), np.int64), "group": groups})
    assert background(release, KNOWN, r=3, protect=["x"], register=register).worst <= 1 / 3 + 1e-12
    with pytest.raises(hr.ParameterError, match="as many people"):
        background(release, KNOWN, r=3, protect=["x"], register=register.slice(1))
