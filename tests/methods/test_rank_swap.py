"""RankSwap at the front door."""

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.methods.rank_swap import RankSwap
from hedgerow.methods.registry import method
from hedgerow.testing import check_method


@pytest.mark.parametrize("asked", [RankSwap(share="0.2"), RankSwap(k=2, e=1)])
def test_contract(asked):
    """Rank swapping keeps the contract of every method."""
    check_method(asked, examples=15)


def test_every_value_is_published_once():
    """The columns keep their values; only the link changes, each column's on its own."""
    table = pa.table({"age": range(50), "pay": [n * n for n in range(50)], "debt": range(50)})
    release = RankSwap(share="0.1").publish(table, hr.Schema(quasi=["age"], sensitive=["pay", "debt"]))
    published = release.tables["release"]
    for name in ("pay", "debt"):
        assert sorted(published[name].to_pylist()) == table[name].to_pylist()
        assert release.guarantee.parameters[f"window of '{name}'"] == 5
    moved = [abs(row["age"] ** 2 - row["pay"]) for row in published.to_pylist()]
    assert any(moved)
    assert all(abs(row["age"] - row["debt"]) <= 5 for row in published.to_pylist())


def test_infeasible_and_refused():
    """Too few values for k, and nonsense, are refused."""
    table = pa.table({"age": [1, 2], "pay": [3, 3]})
    with pytest.raises(hr.Infeasible, match="this table has 1, so no k works"):
        RankSwap(k=2).publish(table, hr.Schema(quasi=["age"], sensitive="pay"))
    for wrong in ({}, {"share": "0.1", "k": 2}, {"share": 0}, {"share": 2}, {"k": 1}, {"k": 2, "e": -1}):
        with pytest.raises(hr.ParameterError):
            RankSwap(**wrong)


def test_short_name():
    """Recipes and the command line know it."""
    assert method("rank-swap", {"k": "3", "e": "10"}) == RankSwap(k=3, e="10")
