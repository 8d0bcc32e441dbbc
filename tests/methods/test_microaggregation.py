"""Microaggregation at the front door."""

from collections import Counter

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.methods.microaggregation import Microaggregation
from hedgerow.methods.registry import method
from hedgerow.testing import check_method

SCHEMA = hr.Schema(quasi=["age", "hours", "sex"], sensitive="pay")
TABLE = pa.table({"age": range(20), "hours": [n % 7 for n in range(20)], "sex": ["F", "M"] * 10, "pay": range(20)})


@pytest.mark.parametrize("asked", [Microaggregation(k=2), Microaggregation(k=3, columns=["age", "salary"])])
def test_contract(asked):
    """Microaggregation keeps the contract of every method."""
    check_method(asked, examples=15)


def test_k_rows_share_their_means():
    """Every combination of means occurs k times, totals stay, and other columns are as they were."""
    release = Microaggregation(k=4).publish(TABLE, SCHEMA)
    rows = release.tables["release"].to_pylist()
    assert min(Counter((row["age"], row["hours"]) for row in rows).values()) >= 4
    for name in ("age", "hours"):
        assert sum(row[name] for row in rows) == pytest.approx(sum(TABLE[name].to_pylist()))
    assert Counter((row["sex"], row["pay"]) for row in rows) == Counter(
        zip(TABLE["sex"].to_pylist(), TABLE["pay"].to_pylist(), strict=True)
    )
    assert "'sex'" in release.guarantee.adversary


def test_refusals():
    """Too few rows, texts and nonsense are refused."""
    with pytest.raises(hr.Infeasible, match="at least as many"):
        Microaggregation(k=30).publish(TABLE, SCHEMA)
    with pytest.raises(hr.SchemaError, match="cannot replace"):
        Microaggregation(k=2, columns="sex").publish(TABLE, SCHEMA)
    for wrong in (1, 0, -1, 2.5, "3", None, True):
        with pytest.raises(hr.ParameterError):
            Microaggregation(k=wrong)


def test_short_name():
    """Recipes and the command line know it."""
    assert method("microaggregation", {"k": "3", "columns": "age,pay"}) == Microaggregation(k=3, columns="age,pay")


def test_a_column_with_a_hierarchy_is_published_as_nodes():
    """Texts take part by their leaves; each group holds the lowest node that covers it, and the promise says so."""
    tree = hr.Hierarchy.from_nested({"old": ["a", "b"], "new": ["c", "d"]})
    towns = ["a", "b", "c", "d"] * 5
    table = TABLE.append_column("town", pa.array(towns))
    schema = hr.Schema(quasi=["age", "town"], sensitive="pay", plain=["hours", "sex"], hierarchies={"town": tree})
    release = Microaggregation(k=2).publish(table, schema, seed=1)
    release.verify()
    rows = release.tables["release"].to_pylist()
    assert {row["town"] for row in rows} <= set(tree.labels)
    assert min(Counter((row["age"], row["town"]) for row in rows).values()) >= 2
    for row in rows:  # pay is the number of the row
        low, high = tree.leaves_under(tree.labels.index(row["town"]))
        assert towns[row["pay"]] in tree.leaves.to_pylist()[low:high]
    assert "'town' holds the lowest common nodes" in release.guarantee.promise
    with pytest.raises(hr.SchemaError, match="not used: 'columns' does not name it"):
        Microaggregation(k=2, columns="age").publish(table, schema)


def test_sensitive_columns_beside_the_means_are_named():
    """Who reads the guarantee knows that these values are the true ones."""
    table = pa.table({"age": [1, 2, 3, 4, 5, 6], "pay": [10, 20, 30, 40, 50, 60]})
    schema = hr.Schema(quasi="age", sensitive="pay")
    release = hr.Microaggregation(k=3).publish(table, schema)
    assert release.guarantee.promise.startswith("'age' holds the means")
    assert any(
        line.startswith("Sensitive columns: every published value of 'pay' is the true one")
        for line in release.guarantee.not_promised
    )
    both = hr.Microaggregation(k=3, columns="age,pay").publish(table, schema)
    assert not any(line.startswith("Sensitive columns") for line in both.guarantee.not_promised)
