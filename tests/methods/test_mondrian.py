"""Mondrian from a frame to a release: promises, refusals, words."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.datasets import census
from hedgerow.methods.registry import method
from hedgerow.testing import check_method, microdata
from hedgerow.testing.contract import SCHEMA

TREE = hr.Hierarchy.from_nested({"ill": {"lung": ["asthma", "flu"], "gut": ["ulcer"]}, "well": ["none", "cold"]})


@pytest.mark.parametrize("parameters", [
    {"k": 2},
    {"k": 3, "l": 2, "relaxed": True},
    {"k": 2, "l": "1.5", "diversity": "entropy"},
    {"k": 2, "l": 2, "diversity": "recursive", "c": 2, "form": "separated"},
    {"k": 2, "t": "0.3", "distance": "ordered"},
    {"k": 2, "l": 2, "diversity": "distinct", "alpha": "0.7", "form": "permuted"},
    {"k": 2, "beta": 2, "form": "scattered"},
    {"k": 2, "delta": 1},
])  # fmt: skip
def test_every_criterion_and_form_keeps_the_contract(parameters):
    """Published tables verify, account for their rows and survive a bundle."""
    check_method(hr.Mondrian(**parameters), examples=8)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(microdata(), st.integers(2, 4), st.integers(2, 3))
def test_infeasible_exactly_when_the_whole_table_fails(table, k, l):  # noqa: E741
    """The method refuses if and only if one group of all rows would miss a criterion."""
    salaries = table.column("salary").to_pylist()
    most = max(salaries.count(value) for value in salaries)
    if len(salaries) >= k and l * most <= len(salaries):
        assert hr.Mondrian(k=k, l=l).publish(table, SCHEMA).groups >= 1
    else:
        with pytest.raises(hr.Infeasible, match="'salary' in one group would not be enough"):
            hr.Mondrian(k=k, l=l).publish(table, SCHEMA)


def _patients():
    values = ["asthma", "flu", "ulcer", "none", "cold"] * 8
    return pa.table({"age": list(range(40)), "illness": values})


def test_hierarchical_closeness_is_published_and_verified_with_its_tree():
    """The guarantee lists the hierarchy, so that whoever has the release can check it."""
    schema = hr.Schema(quasi=["age"], sensitive="illness", hierarchies={"illness": TREE})
    release = hr.Mondrian(k=3, t="0.2", distance="hierarchical").publish(_patients(), schema)
    assert release.groups > 1
    assert "hierarchy of illness" in release.guarantee.parameters
    assert "hierarchical" in str(release.verify())
    bare = hr.Schema(quasi=["age"], sensitive="illness")
    with pytest.raises(hr.SchemaError, match="needs a hierarchy"):
        hr.Mondrian(k=3, t="0.2", distance="hierarchical").publish(_patients(), bare)


@pytest.mark.parametrize(("values", "leaves"), [
    ([1.5, 2.0, 1e300], ["1.50", "2", "1e300"]),
    ([7, 11], ["07", "11"]),
    ([datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)], None),
    ([date(1970, 1, 1), date(2020, 2, 29)], None),
    ([Decimal("1.50"), Decimal("-0.07")], ["1.5", "-0.070"]),
    ([True, False], None),
], ids=["floats", "whole numbers", "times", "days", "decimals", "truth values"])  # fmt: skip
def test_values_of_a_hierarchy_may_be_written_in_another_way(values, leaves):
    """A hierarchy says `1.50` where the table has 1.5; what was published can be verified."""
    tree = hr.Hierarchy.from_nested({"any": leaves if leaves else values})
    table = pa.table({"age": list(range(12)), "s": values * (12 // len(values))})
    schema = hr.Schema(quasi=["age"], sensitive="s", hierarchies={"s": tree})
    release = hr.Mondrian(k=3, t="0.9", distance="hierarchical").publish(table, schema)
    assert "hierarchical" in str(release.verify())


def test_presence_of_members():
    """A column of truth values says who is a member; its share is kept in every group."""
    table = pa.table({"age": list(range(60)), "member": [row % 3 == 0 for row in range(60)]})
    schema = hr.Schema(quasi=["age"], sensitive="member")
    release = hr.Mondrian(k=3, presence_low="0.2", presence_high="0.5").publish(table, schema)
    assert release.groups > 3
    assert "members" in release.guarantee.promise
    with pytest.raises(hr.Infeasible, match="around 20/60"):
        hr.Mondrian(k=3, presence_high="0.3").publish(table, schema)


def test_missing_values_are_values_or_refused():
    """A missing sensitive value counts as one, except where values need an order."""
    table = pa.table({"age": list(range(8)), "pay": [1, 2, None, 3, 1, 2, None, 3]})
    schema = hr.Schema(quasi=["age"], sensitive="pay", missing={"pay": "value"})
    assert hr.Mondrian(k=2, t="0.5").publish(table, schema).groups >= 1
    with pytest.raises(hr.SchemaError, match="no place in an order"):
        hr.Mondrian(k=2, t="0.5", distance="ordered").publish(table, schema)


def test_the_guarantee_says_what_it_assumes():
    """Beyond k the groups depend on sensitive values, and the words say so; k alone promises nothing about values."""
    table = census(300, seed=1).select(["age", "gender", "occupation"])
    schema = hr.Schema(quasi=["age", "gender"], sensitive="occupation")
    diverse, bare = (m.publish(table, schema).guarantee for m in (hr.Mondrian(k=5, l=2), hr.Mondrian(k=5)))
    assert "tested sensitive values" in diverse.adversary
    assert any("Minimality" in sentence for sentence in diverse.not_promised)
    assert any("the same one" in sentence for sentence in bare.not_promised)
    assert "no value fills more than 1/2 of a group" in diverse.promise


def test_answers_enclose_the_truth():
    """The same groups in the permuted form answer with bounds that hold for the original table."""
    table = census(2000, seed=2).select(["age", "education", "income"])
    schema = hr.Schema(quasi=["age", "education"], sensitive="income")
    release = hr.Mondrian(k=5, l=3, form="permuted").publish(table, schema)
    answer = release.ask("SELECT sum(income) FROM release WHERE age BETWEEN 30 AND 50")
    ages, incomes = table["age"].to_numpy(), table["income"].to_numpy()
    assert answer.lower <= incomes[(ages >= 30) & (ages <= 50)].sum() <= answer.upper
    assert release.ask("SELECT count(*) FROM release").expected == 2000


@pytest.mark.parametrize("parameters", [
    {"k": 1}, {"k": "3"}, {"k": 2, "l": 1}, {"k": 2, "l": 2.5}, {"k": 2, "l": "many"}, {"k": 2, "t": 2},
    {"k": 2, "t": True}, {"k": 2, "alpha": 0}, {"k": 2, "delta": 0}, {"k": 2, "beta": -1}, {"k": 2, "c": 1},
    {"k": 2, "l": 2, "diversity": "recursive"}, {"k": 2, "diversity": "other"}, {"k": 2, "distance": "other"},
    {"k": 2, "form": "other"}, {"k": 2, "relaxed": 1}, {"k": 2, "presence_low": 2}, {"k": 2, "enhanced": "yes"},
])  # fmt: skip
def test_bad_parameters_are_refused_at_the_door(parameters):
    """Each is one sentence, before any table is read."""
    with pytest.raises(hr.ParameterError, match=r"must be|must not"):
        hr.Mondrian(**parameters)


def test_parameters_may_be_text():
    """Recipes and the command line bring text."""
    built = method("mondrian", {"k": "5", "l": "2", "t": "0.5", "relaxed": "true"})
    assert built == hr.Mondrian(k=5, l="2", t="0.5", relaxed=True)
    table = census(200, seed=3).select(["age", "occupation"])
    assert built.publish(table, hr.Schema(quasi=["age"], sensitive="occupation")).groups >= 1


def test_forty_quasi_identifiers_publish():
    """Wide tables work."""
    rng = np.random.default_rng(1)
    table = pa.table({f"q{i}": rng.integers(0, 3, 300) for i in range(40)} | {"s": rng.integers(0, 9, 300)})
    schema = hr.Schema(quasi=[f"q{i}" for i in range(40)], sensitive="s")
    assert hr.Mondrian(k=5, l=2).publish(table, schema).groups > 10


AGES = hr.Hierarchy.intervals(range(48), width=[6, 12])
TOWNS = hr.Hierarchy.from_nested({"north": {"coast": ["Ay", "Bo"], "hill": ["Ce"]}, "south": ["Du", "Ef", "Gi"]})


def _residents(gaps=False):
    towns = ["Ay", "Bo", "Ce", "Du", "Ef", "Gi"]
    rows = [(age % 48, towns[age * 7 % 6], "ab"[age % 2]) for age in range(96)]
    return pa.table({
        "age": [None if gaps and n % 16 == 0 else row[0] for n, row in enumerate(rows)],
        "town": [row[1] for row in rows],
        "pay": [row[2] for row in rows],
    })  # fmt: skip


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("asked", [{"k": 3}, {"k": 4, "l": 2}, {"k": 3, "relaxed": True}, {"k": 3, "t": "0.4"}])
def test_hierarchies_are_cut_and_published_as_nodes(asked, gaps):
    """Labels are nodes that cover exactly the published set or interval, and every true value lies in its own."""
    schema = hr.Schema(quasi=["age", "town"], sensitive="pay", hierarchies={"age": AGES, "town": TOWNS})
    table = _residents(gaps)
    release = hr.Mondrian(**asked).publish(table, schema, seed=1)
    assert release.groups > 4
    release.verify()
    published = release.tables["release"].to_pylist()
    assert {row["town"] for row in published} <= set(TOWNS.labels)
    assert {row["age"].removesuffix(" or missing") for row in published} <= {*AGES.labels, "missing"}
    members = {}
    for row in release.tables["sets"].to_pylist():
        members.setdefault(row["set"], set()).add(row["value"])
    leaves = TOWNS.leaves.to_pylist()
    for row in published:
        node = TOWNS.labels.index(row["town"])
        assert members[row["town_set"]] == set(leaves[slice(*TOWNS.leaves_under(node))])
    north = sum(town in ("Ay", "Bo", "Ce") for town in table["town"].to_pylist())
    answer = release.ask("SELECT count(*) FROM release WHERE town IN ('Ay', 'Bo', 'Ce')")
    assert answer.lower <= north <= answer.upper
    if asked == {"k": 3} and not gaps:
        assert answer.upper - answer.lower < 40, "towns are cut between north and south first"


def test_a_hierarchy_that_a_method_cannot_use_is_refused():
    """No hierarchy is ignored in silence."""
    schema = hr.Schema(quasi=["age", "town"], sensitive="pay", hierarchies={"town": TOWNS})
    with pytest.raises(hr.SchemaError, match="Anatomy does not use the hierarchy of 'town', which is quasi; leave it"):
        hr.Anatomy(l=2).publish(_residents(), schema)
    sick = hr.Schema(quasi=["age"], sensitive="illness", hierarchies={"illness": TREE})
    with pytest.raises(hr.SchemaError, match="Mondrian does not use the hierarchy of 'illness', which is sensitive"):
        hr.Mondrian(k=2).publish(_patients(), sick)


def test_only_boxes_are_said_not_to_tell_rows_apart():
    """The promise speaks of equal quasi-identifiers where they are published as boxes, and nowhere else."""
    table, schema = {"age": [1, 2, 3, 4], "pay": [1, 2, 3, 4]}, hr.Schema(quasi="age", sensitive="pay")
    said = {
        form: "do not tell apart" in hr.Mondrian(k=2, form=form).publish(table, schema).guarantee.promise
        for form in ("generalized", "separated", "permuted")
    }
    assert said == {"generalized": True, "separated": False, "permuted": False}
