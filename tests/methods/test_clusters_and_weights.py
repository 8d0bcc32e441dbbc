"""The roles cluster and weight: what methods do with them, and what the guarantee says."""

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.verify.made import TOGETHER


@pytest.fixture(scope="module")
def households():
    """Two hundred households of one to four, each with a weight."""
    rng = np.random.default_rng(11)
    home = np.repeat(np.arange(200), rng.integers(1, 5, 200))
    rows = len(home)
    return pa.table({
        "home": pa.array([None if n % 50 == 0 else int(n) for n in home]),
        "age": rng.integers(18, 90, rows), "town": rng.choice(["a", "b", "c"], rows)[home % rows],
        "pay": rng.integers(0, 60, rows) * 100, "illness": rng.choice(["flu", "cold", "none", "cough"], rows),
        "w": np.round(rng.uniform(20, 300, rows), 1),
    })  # fmt: skip


def schema_of(sensitive, **more):
    """The other sensitive column is left out."""
    other = {"pay": "illness", "illness": "pay"}[sensitive]
    return hr.Schema(quasi=["age", "town"], sensitive=sensitive, identifier=other, weight="w", cluster="home", **more)


BLIND = [
    (hr.Anatomy(l=2), "illness"),
    (hr.Anatomy(l=3, form="permuted"), "illness"),
    (hr.PermutationAnonymization(l=2, grouping="blind"), "illness"),
    (hr.Proximity(eps=100, m=3, grouping="blind"), "pay"),
]


@pytest.mark.parametrize(("method", "sensitive"), BLIND, ids=lambda value: str(value)[:40])
def test_groups_that_follow_from_sensitive_values_part_households(households, method, sensitive):
    """No group holds two rows of one household; the guarantee says it, and that nobody else can check it."""
    release = method.publish(households, schema_of(sensitive))
    assert release.made.parameters[TOGETHER] == 1
    assert "No group holds two rows of one household or person" in release.guarantee.promise
    assert "home" not in {name for table in release.tables.values() for name in table.column_names}
    release.verify()


@pytest.mark.parametrize(("method", "sensitive"), [
    (hr.Mondrian(k=5), "illness"), (hr.FullDomain(k=5), "illness"), (hr.KEAnonymity(k=5, refine="quasi"), "pay"),
    (hr.KEAnonymity(k=5, e=100), "pay"), (hr.KEAnonymity(k=5, e=100, l=4), "pay"),
    (hr.PermutationAnonymization(l=2), "illness"),
], ids=lambda value: str(value)[:40])  # fmt: skip
def test_groups_by_nearness_say_how_many_rows_of_a_household_they_hold(households, method, sensitive):
    """What cannot be kept is not promised."""
    release = method.publish(households, schema_of(sensitive), seed=3)
    together = release.made.parameters[TOGETHER]
    assert together > 1
    assert any(line.startswith(f"Clusters: up to {together} rows") for line in release.guarantee.not_promised)
    assert "No group holds two rows" not in release.guarantee.promise
    release.verify()


def test_the_count_is_that_of_the_true_households():
    """Where every row can be told apart, whoever has the numbers finds the households of each group again."""
    rng = np.random.default_rng(2)
    table = pa.table({"id": range(120), "home": np.arange(120) // 3, "illness": rng.choice(["a", "b", "c"], 120)})
    schema = hr.Schema(quasi="id", sensitive="illness", cluster="home")
    for method, most in ((hr.Anatomy(l=2), 1), (hr.Mondrian(k=10, form="permuted"), 3)):
        release = method.publish(table, schema)
        rows = release.tables["quasi" if "quasi" in release.tables else "release"].to_pylist()
        homes = [(row["group"], row["id"] // 3) for row in rows]
        assert release.made.parameters[TOGETHER] == max(homes.count(one) for one in set(homes)) == most


@pytest.mark.parametrize("method", [hr.Noise(scale="0.1"), hr.Microaggregation(k=3), hr.TargetDistribution("uniform")])
def test_a_method_that_does_not_look_at_clusters_refuses_them(households, method):
    """Nothing is ignored."""
    with pytest.raises(hr.SchemaError, match="does not look at clusters, so that 'home' would be ignored"):
        method.publish(households, schema_of("illness"))


@pytest.mark.parametrize("method", [hr.KEAnonymity(k=5, e=100), hr.Mondrian(k=5), hr.Anatomy(l=3)])
def test_weights_are_published_and_weighted_questions_have_bounds(households, tmp_path, method):
    """A weighted average, and a weighted count, around the truth; the README of the bundle says how to ask."""
    release = method.publish(households, schema_of("pay"))
    release.save(tmp_path / "out")
    assert 'sum("pay" * "w") / sum("w")' in (tmp_path / "out" / "README.md").read_text()
    assert release.made.parameters["weight"] == "w"
    assert "w" in release.columns.plain
    pay, w = (households[name].to_numpy() for name in ("pay", "w"))
    young = households["age"].to_numpy() < 50
    found = release.ask("SELECT sum(pay * w) / sum(w) FROM release WHERE age < 50")
    assert found.lower <= np.average(pay[young], weights=w[young]) <= found.upper
    total = release.ask("SELECT sum(w) FROM release WHERE age < 50")
    assert total.lower - 1e-6 <= w[young].sum() <= total.upper + 1e-6
    if not release.form.has_boxes:
        assert total.lower == pytest.approx(w[young].sum()) == total.upper
    hr.Anatomy(l=2).publish(households, schema_of("illness")).save(tmp_path / "texts")
    page = (tmp_path / "texts" / "README.md").read_text()
    assert 'the number of people is `sum("w")`' in page
    assert '"illness" *' not in page


@pytest.mark.parametrize(("weights", "words"), [
    ([1.0, 0.0, -2.0, 1.0], "2 of its values are not above zero"),
    (["1", "x", "2", "3"], "must hold numbers; it holds string"),
    ([1.0, None, 1.0, 1.0], "'w' has 1 missing value "),
])  # fmt: skip
def test_weights_that_are_none_are_refused(weights, words):
    """One sentence with the remedy."""
    table = pa.table({"age": [1, 2, 3, 4], "pay": [1, 2, 3, 4], "w": weights})
    with pytest.raises(hr.SchemaError, match=words):
        hr.KEAnonymity(k=2).publish(table, hr.Schema(quasi="age", sensitive="pay", weight="w"))


def test_one_column_of_each_at_most():
    """Two weights, or a word that no schema has."""
    with pytest.raises(hr.SchemaError, match="one column at most can be weight; 'a', 'b' are named"):
        hr.Schema(sensitive="pay", weight=["a", "b"])
    with pytest.raises(hr.SchemaError, match="a schema has no 'wieght'"):
        hr.Schema(sensitive="pay", wieght="a")
