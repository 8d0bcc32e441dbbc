"""Personal end to end: wishes by label and level, consent, the owner's audit."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.methods import personal
from hedgerow.methods.personal import cheapest, check_nodes
from hedgerow.partition.personal import Wishes, one_groups, total_cost
from hedgerow.release.forms.disguised import DisguisedGroups
from hedgerow.schema.target import uniform

TREE = uniform(hr.Hierarchy.binary(range(1, 9)))
SCHEMA = hr.Schema(quasi=["age"], sensitive="v", identifier=["node", "agrees"])
PARTITIONS = ("cheapest", "one", "quasi", "top_down", "bottom_up")
FOUR_ONES = pa.table(
    {
        "age": [30] * 4 + list(range(7)),
        "v": [1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8],
        "node": ["*"] * 4 + [str(v) for v in range(2, 9)],
        "agrees": [False] * 4 + [True] * 7,
    }
)


def cost(release):
    """The sum of the sizes of the published subdomains of whole numbers."""
    table = release.tables["release"]
    return int((table["v_high"].to_numpy() - table["v_low"].to_numpy() + 1).sum())


def test_printed_example_reaches_its_optimum():
    """Four people with 1 who name everything, and 2 to 8 exactly: 23, three of them published exactly."""
    release = hr.Personal("node", target=TREE, consent="agrees").publish(FOUR_ONES, SCHEMA)
    assert cost(release) == 23
    assert release.guarantee.parameters["exact"] == 3
    assert "3 of 11" in str(release.verify())
    assert release.made.parameters["partition"] == "bottom_up"


@pytest.mark.parametrize(("consent", "silent"), [(False, "7 people name"), ("agrees", "1 person names")])
def test_exact_values_need_consent(consent, silent):
    """Without consent nobody is published exactly; the message counts the people."""
    table = FOUR_ONES.set_column(3, "agrees", pa.array([False] * 5 + [True] * 6)) if consent else FOUR_ONES
    with pytest.raises(hr.Infeasible, match=f"^{silent}"):
        hr.Personal("node", target=TREE, consent=consent).publish(table, SCHEMA)


def test_a_publisher_may_vouch():
    """True stands for everybody's consent."""
    assert cost(hr.Personal("node", target=TREE, consent=True).publish(FOUR_ONES, SCHEMA)) == 23


def test_a_node_with_one_possible_value_needs_consent_too():
    """Where the target leaves one value below a node, naming it hides nothing."""
    tree = hr.Hierarchy.binary([1, 2, 3, 4]).with_target([1, 0, 1, 1])
    table = pa.table({"age": [1], "v": [1], "node": ["[1, 2]"], "agrees": [False]})
    with pytest.raises(hr.Infeasible, match="hides nothing"):
        hr.Personal("node", target=tree).publish(table, SCHEMA)


@given(st.data(), st.sampled_from(PARTITIONS))
@settings(max_examples=25)
def test_levels_are_respected_and_bounds_hold(data, partition):
    """Any levels, any partition: the release verifies, and the truth lies in its bounds."""
    rows = data.draw(st.integers(1, 25))
    column = lambda low, high: data.draw(st.lists(st.integers(low, high), min_size=rows, max_size=rows))  # noqa: E731
    table = pa.table({"age": column(0, 3), "v": column(1, 8), "node": column(1, 3), "agrees": [False] * rows})
    release = hr.Personal("node", target=TREE, partition=partition).publish(table, SCHEMA)
    assert release.guarantee.parameters["exact"] == 0
    young = [v for age, v in zip(table["age"].to_pylist(), table["v"].to_pylist(), strict=True) if age < 2]
    answer = release.ask("SELECT sum(v) FROM release WHERE age < 2")
    assert (answer.lower is None) if not young else (answer.lower <= sum(young) <= answer.upper)


@given(st.data())
@settings(max_examples=20)
def test_cheapest_is_never_above_the_others(data):
    """The cheapest of all is not above any of them."""
    rows = data.draw(st.integers(1, 12))
    leaves = data.draw(st.lists(st.integers(0, 7), min_size=rows, max_size=rows))
    levels = data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    nodes = [int(TREE.recode(level)[leaf]) for leaf, level in zip(leaves, levels, strict=True)]
    table = pa.table({"age": leaves, "v": [leaf + 1 for leaf in leaves], "node": levels, "agrees": [True] * rows})
    costs = {p: cost(hr.Personal("node", target=TREE, partition=p, consent=True).publish(table, SCHEMA))
             for p in PARTITIONS}  # fmt: skip
    assert costs["cheapest"] == min(costs.values())
    wishes = Wishes.of(TREE, leaves, nodes, [1] * rows)
    assert total_cost(cheapest(wishes, [])[0] if rows else [], TREE) >= 0


def test_the_owners_audit_finds_a_group_that_is_too_narrow():
    """A person who named everything may not sit in a group that covers less."""
    release = hr.Personal("node", target=TREE, consent=True).publish(FOUR_ONES, SCHEMA)
    groups = DisguisedGroups(np.array([0], np.int32), np.array([0, 1]), np.array([3], np.int32), np.array([0, 1]))
    check_nodes(release, groups, np.array([3], np.int32))
    with pytest.raises(hr.BrokenPromise, match=r"^1 person"):
        check_nodes(release, groups, np.array([TREE.root], np.int32))


def test_the_declared_number_of_exact_people_is_audited():
    """A release that understates how many people are exact is refused."""
    release = hr.Personal("node", target=TREE, consent=True).publish(FOUR_ONES, SCHEMA)
    guarantee = release.guarantee.__class__(
        "personal", {"exact": 0}, release.guarantee.columns, release.guarantee.promise, release.guarantee.adversary
    )
    with pytest.raises(hr.BrokenPromise, match="exactly"):
        replace(release, guarantee=guarantee).verify()


def test_quasi_identifiers_can_win():
    """Where equal quasi-identifiers make private groups, they are kept."""
    table = pa.table({"age": [1] * 8, "v": list(range(1, 9)), "node": ["*"] * 8, "agrees": [False] * 8})
    release = hr.Personal("node", target=TREE, partition="quasi").publish(table, SCHEMA)
    assert cost(release) == 8


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"node": ["nowhere"]}, "no nodes"),
        ({"node": ["[5, 8]"]}, "not below"),
        ({"node": [9]}, "between 0 and 3"),
        ({"node": [1.5]}, "labels"),
        ({"node": [None]}, "missing"),
        ({"node": ["1"], "agrees": ["yes"]}, "true or false"),
    ],
)
def test_unreadable_wishes_are_refused(change, match):
    """What people asked for must be a node above their value."""
    row = {"age": [1], "v": [1], "node": ["*"], "agrees": [True], **change}
    table = pa.table({name: pa.array(cell, pa.string()) if cell == [None] else cell for name, cell in row.items()})
    with pytest.raises(hr.HedgerowError, match=match):
        hr.Personal("node", target=TREE, consent="agrees").publish(table, SCHEMA)


def test_wishes_must_not_be_published():
    """A node tells where the value lies, so its column cannot be open."""
    schema = hr.Schema(quasi=["age", "node"], sensitive="v", identifier=["agrees"])
    with pytest.raises(hr.SchemaError, match="identifier"):
        hr.Personal("node", target=TREE).publish(FOUR_ONES, schema)


@pytest.mark.parametrize("parameters", [{"target": "source"}, {"partition": "best"}, {"target": 3}])
def test_refusals(parameters):
    """Parameters are checked at the door."""
    with pytest.raises(hr.ParameterError):
        hr.Personal("node", **parameters)


def test_cells_with_the_same_wishes_are_generalized_once(monkeypatch):
    """Two thousand people whom no quasi-identifier joins have a handful of wishes: as much work, the same groups."""
    asked = []
    monkeypatch.setattr(personal, "one_groups", lambda wishes, sets: asked.extend(sets) or one_groups(wishes, sets))
    rng = np.random.default_rng(3)
    values = rng.integers(0, 8, 2000)
    table = pa.table({"who": np.arange(2000), "s": values, "level": rng.integers(1, 4, 2000)})
    schema = hr.Schema(
        quasi=["who"], sensitive="s", identifier=["level"], hierarchies={"s": hr.Hierarchy.binary(list(range(8)))}
    )
    release = hr.Personal("level", partition="quasi").publish(table, schema)
    assert len(asked) <= 24
    assert release.groups == 2000
    release.verify()


def random_tree(rng, leaves):
    """A random nested list over 1 to `leaves` with a random target, some of whose weights are 0."""
    parts = list(range(1, leaves + 1))
    while len(parts) > 3 or (len(parts) > 1 and rng.random() < 0.4):
        size = int(rng.integers(2, min(4, len(parts)) + 1))
        start = int(rng.integers(0, len(parts) - size + 1))
        parts[start : start + size] = [parts[start : start + size]]
    weights = rng.integers(0, 3, leaves).tolist()
    weights[int(rng.integers(leaves))] = 1
    nested = parts[0] if len(parts) == 1 and isinstance(parts[0], list) else parts
    return hr.Hierarchy.from_nested(nested).with_target(weights)


def test_two_people_who_name_a_node_of_which_the_target_leaves_a_part():
    """Below [1, 3] the target leaves 2 and 3: a group that covers these covers all that can be."""
    tree = hr.Hierarchy.from_nested([[1, [2, 3]], 4]).with_target([0, 1, 1, 1])
    table = pa.table({"age": [1, 2], "v": [2, 3], "node": [2, 2], "agrees": [False] * 2})
    release = hr.Personal("node", target=tree).publish(table, SCHEMA)
    release.verify()
    assert release.guarantee.parameters["exact"] == 0


@pytest.mark.parametrize("seed", range(30))
def test_targets_with_zero_weights_are_published(seed):
    """Random trees, targets and wishes, every partition: each is published, verifies, and its bounds hold."""
    rng = np.random.default_rng(seed)
    for _ in range(8):
        leaves, rows = int(rng.integers(2, 8)), int(rng.integers(1, 9))
        tree = random_tree(rng, leaves)
        values = rng.integers(1, leaves + 1, rows)
        levels = rng.integers(0, tree.height + 1, rows)
        table = pa.table({"age": rng.integers(0, 3, rows), "v": values, "node": levels, "agrees": [True] * rows})
        for partition in PARTITIONS:
            release = hr.Personal("node", target=tree, partition=partition, consent=True).publish(table, SCHEMA)
            release.verify()
            answer = release.ask("SELECT sum(v) FROM release")
            assert answer.lower <= values.sum() <= answer.upper


@pytest.mark.parametrize("partition", ["top_down", "bottom_up"])
def test_a_search_that_would_take_long_is_refused_with_what_works(monkeypatch, partition):
    """The work is known before it begins: a sentence instead of hours."""
    monkeypatch.setattr(personal, "_MOST_SEARCHED", 10)
    table = pa.table({"q": range(8), "s": [1, 2, 3, 4] * 2, "node": ["*"] * 8})
    schema = hr.Schema(quasi=["q"], sensitive="s", identifier="node")
    with pytest.raises(hr.ParameterError, match="choose the partition 'one'"):
        hr.Personal(node_column="node", partition=partition).publish(table, schema)
    hr.Personal(node_column="node", partition="one").publish(table, schema)
    hr.Personal(node_column="node").publish(table, schema)
