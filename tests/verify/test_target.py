"""The audit of disguised releases: every planted fault is found."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.criteria.target import Target
from hedgerow.query import help_table
from hedgerow.release.forms.disguised import target_table
from hedgerow.schema.target import uniform
from hedgerow.verify import verify_bundle
from hedgerow.verify.help import check_help
from hedgerow.verify.target import Counts, Trees, check_ratios, still_tells, trees_of
from tests.support.trees import weighted_trees

TREE = uniform(hr.Hierarchy.binary([30, 40, 50, 60]))
SCHEMA = hr.Schema(quasi=["age"], sensitive="pay")
TABLE = pa.table({"age": [1, 1, 1, 2, 2, 2, 2], "pay": [30, 40, 40, 40, 50, 60, 60]})


def release_of(**parameters):
    """A release of the small table."""
    return hr.TargetDistribution(TREE, **parameters).publish(TABLE, SCHEMA)


def with_column(release, table, name, values):
    """The release with one column of one table replaced."""
    old = release.tables[table]
    place = old.column_names.index(name)
    new = old.set_column(place, old.schema.field(name), pa.array(values, old.schema.field(name).type))
    return replace(release, tables={**release.tables, table: new})


@given(weighted_trees(most_leaves=6), st.data(), st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 3)]))
@settings(max_examples=150)
def test_audit_and_criterion_agree(tree, data, shift):
    """Cross-multiplied ratios pass exactly the groups that the definition passes."""
    published = np.array(data.draw(st.lists(st.integers(0, 4), min_size=tree.num_nodes, max_size=tree.num_nodes)))
    published[-1] += not published.any()
    nodes = np.flatnonzero(published)
    counts = Counts(np.zeros(len(nodes), np.int64), nodes, published[nodes])
    trees = _trees(tree)
    try:
        check_ratios(counts, trees, np.array([tree.root]), shift)
        passed = True
    except hr.BrokenPromise:
        passed = False
    assert passed is Target(tree, shift).holds(published)


def _trees(tree):
    weights = np.array(tree.weights)
    totals = np.zeros(tree.num_nodes, np.int64)
    np.add.at(totals, tree.parents[:-1], weights[:-1])
    return Trees(
        tree.parents.astype(np.int64), weights, totals, tree.depths.astype(np.int64), np.full(tree.num_nodes, tree.root)
    )


def test_an_untouched_release_passes_and_says_what_it_tells():
    """The sentence names groups, values, fakes, and the values at the root."""
    release = release_of()
    assert "1 group follows" in str(release.verify())
    assert "1 of 7 values stand at a root" in still_tells(release)


def test_nothing_at_the_root_tells_nothing():
    """A table that already follows its target is published as it is."""
    release = hr.TargetDistribution("source").publish(TABLE, SCHEMA)
    assert "no value stands at a root" in still_tells(release)


def test_nothing_at_the_root_does_not_make_the_values_follow_the_target():
    """Of 1, [2, 3] two have 1 and four have 2: no side has too many, and nobody has 3; the sentence claims no more."""
    schema = hr.Schema(quasi=["q"], sensitive="s", hierarchies={"s": hr.Hierarchy.from_nested([1, [2, 3]])})
    table = pa.table({"q": range(6), "s": [1, 1, 2, 2, 2, 2]})
    told = still_tells(hr.TargetDistribution("uniform").publish(table, schema))
    assert told == "no value stands at a root, so nothing tells there of a side with too many for the target"


def test_a_narrowed_subdomain_is_found():
    """Replacing a root value by a leaf breaks the ratio."""
    release = release_of()
    nodes = release.tables["release"]["pay_node"].to_pylist()
    at = nodes.index(6)
    faulty = with_column(release, "release", "pay_node", [*nodes[:at], 0, *nodes[at + 1 :]])
    for name, end in (("pay_low", 30), ("pay_high", 30)):
        values = release.tables["release"][name].to_pylist()
        faulty = with_column(faulty, "release", name, [*values[:at], end, *values[at + 1 :]])
    with pytest.raises(hr.BrokenPromise, match="follow"):
        faulty.verify()


@pytest.mark.parametrize(
    ("table", "column", "values", "match"),
    [
        ("release", "pay_low", [30] * 7, "bounds"),
        ("release", "pay_node", [99] * 7, "not in the table"),
        ("release", "group", [0, 0, 0, 1, 1, 1, 1], "group"),
        ("release", "group", [0, 1, 0, 0, 0, 0, 0], "group"),
        ("target", "weight", [1, 1, 1, 2, 1, 1, 1], "follow"),
        ("target", "weight", [1, 1, 1, -1, 1, 1, 1], "trees"),
        ("target", "parent", [4, 4, 5, 5, 3, 6, None], "trees"),
        ("target", "parent", [4, 4, 5, 5, 6, 6, -1], "trees"),
        ("target", "weight", [2**61, 2**61, 2**61, 2**61, 2**61, 2**61, 1], "large"),
    ],
)
def test_edited_tables_are_found(table, column, values, match):
    """Whatever cell is edited, the audit says that the promise is broken."""
    with pytest.raises(hr.BrokenPromise, match=match):
        with_column(release_of(), table, column, values).verify()


def test_a_wrong_number_of_fakes_is_found():
    """One more value than declared is a broken promise, and so is one less than rows."""
    release = release_of(fakes="0.3")
    sensitive = release.tables["sensitive"]
    for table in (pa.concat_tables([sensitive, sensitive.slice(0, 1)]), sensitive.slice(0, 6)):
        with pytest.raises(hr.BrokenPromise):
            replace(release, tables={**release.tables, "sensitive": table}).verify()


def test_a_wrong_declaration_of_fakes_is_found():
    """The guarantee must say how many values nobody has."""
    release = release_of(fakes="0.3")
    guarantee = replace(release.guarantee, parameters={"shift": "0", "fakes": 0})
    with pytest.raises(hr.BrokenPromise, match="fake"):
        replace(release, guarantee=guarantee).verify()


def test_two_targets_in_one_group_are_found():
    """A group that mixes trees follows none."""
    release = hr.TargetDistribution({1: TREE, 2: "uniform"}, parts="age").publish(TABLE, SCHEMA)
    merged = with_column(release, "release", "group", [0] * 7)
    with pytest.raises(hr.BrokenPromise, match="mixes"):
        replace(merged, groups=1).verify()


def test_implied_weights_are_checked():
    """The published weights of a shifted release must be its own."""
    release = release_of(shift="0.2")
    release.verify()
    weights = release.tables["implied"]["weight"].to_pylist()
    with pytest.raises(hr.BrokenPromise, match="implied"):
        with_column(release, "implied", "weight", [weights[0] + 1, *weights[1:]]).verify()
    bare = {name: table for name, table in release.tables.items() if name != "implied"}
    with pytest.raises(hr.BrokenPromise, match="tables are not those"):
        replace(release, tables=bare).verify()


@pytest.mark.parametrize("fakes", [0, "0.4"])
def test_an_edited_help_table_is_found(fakes):
    """Every bound of the help table is recomputed."""
    release = release_of(fakes=fakes)
    helper = help_table(release)
    assert "8 columns" in check_help(release, helper)
    for name in ("sum_lower", "sum_upper", "min_lower", "min_upper", "max_lower", "max_upper", "hits"):
        edited = helper.set_column(
            helper.column_names.index(name),
            name,
            pa.array([helper[name][0].as_py() + 1, *helper[name].to_pylist()[1:]]),
        )
        with pytest.raises(hr.BrokenPromise, match=r"help\.parquet"):
            check_help(release, edited)


def test_trees_are_listed_with_their_labels():
    """The published tree has one row per node, values first."""
    table = target_table([TREE], pa.int64()).to_pandas()
    assert table.label.tolist() == ["30", "40", "50", "60", "[30, 40]", "[50, 60]", "*"]
    assert table.high.tolist() == [30, 40, 50, 60, 40, 60, 60]


@pytest.mark.parametrize("first", [-1, 1])
def test_groups_that_do_not_begin_with_zero_are_refused(first):
    """Negative numbers and a first group of another number end in a sentence, not in an error of arithmetic."""
    release = release_of()
    groups = release.tables["release"].column(release.group_column).to_pylist()
    with pytest.raises(hr.BrokenPromise, match="numbered from 0"):
        with_column(release, "release", release.group_column, [first, *groups[1:]]).verify()


@pytest.mark.parametrize("weights", [[1], [1, 0, 1]])
def test_a_target_of_one_value_is_refused(weights):
    """Trees of one possible value each publish everybody's value, and every group follows its target exactly."""
    release = release_of()
    parents = [None] if len(weights) == 1 else [2, 2, None]
    ends = pa.array([30, 40, 30][: len(weights)], pa.int64())
    nodes = pa.array(range(len(weights)), pa.int32())
    target = release.tables["target"].schema.empty_table().to_pydict() | {
        "target": [0] * len(weights),
        "node": nodes,
        "parent": parents,
        "low": ends,
        "high": pa.array([30, 40, 40][: len(weights)], pa.int64()),
        "label": ["30", "40", "*"][: len(weights)],
        "weight": weights,
    }
    forged = replace(
        release, tables={**release.tables, "target": pa.table(target, schema=release.tables["target"].schema)}
    )
    for name, value in (("pay_low", 30), ("pay_high", 30), ("pay_node", 0)):
        forged = with_column(forged, "release", name, [value] * 7)
    with pytest.raises(hr.BrokenPromise, match="one possible value"):
        hr.verify.promise.verify(forged)


@pytest.mark.parametrize("leaf", [0, 1])
def test_a_value_of_a_tree_is_one_value(leaf):
    """One leaf of two is a range, and its root has the ends of both."""
    lows, highs = [1, 5], [1, 5]
    highs[leaf] += 1
    table = pa.table(
        {
            "target": pa.array([0, 0, 0], pa.int32()), "node": pa.array([0, 1, 2], pa.int32()),
            "parent": pa.array([2, 2, None], pa.int32()), "low": [*lows, 1], "high": [*highs, max(highs)],
            "label": ["a", "b", "c"], "weight": [1, 1, 0],
        }
    )  # fmt: skip
    with pytest.raises(hr.BrokenPromise, match="the ends of the values below it"):
        trees_of(SimpleNamespace(tables={"target": table}))
    honest = table.set_column(4, "high", pa.array([1, 5, 5]))
    assert trees_of(SimpleNamespace(tables={"target": honest})).parents.tolist() == [2, 2, -1]


@pytest.mark.parametrize(("weight", "fits"), [(2**62 - 1, True), (2**62, False)])
def test_weights_of_roots_are_limited_too(weight, fits):
    """They are of no edge, so no sum of weights holds them."""
    release = release_of()
    weights = release.tables["target"]["weight"].to_pylist()
    edited = with_column(release, "target", "weight", [*weights[:-1], weight])
    if fits:
        trees_of(edited)
    else:
        with pytest.raises(hr.BrokenPromise, match="trees with weights"):
            trees_of(edited)


@pytest.mark.parametrize(("name", "fits"), [("", False), ("x" * 10_000, True), ("x" * 10_001, False)])
def test_names_have_a_length(name, fits):
    """At least one letter, and at most ten thousand."""
    release = release_of()
    old = release.tables["release"]
    table = old.rename_columns([name if column == "age" else column for column in old.column_names])
    columns = replace(release.columns, quasi=(name,))
    made = replace(release.made, missing={}, texts={}, merged={})
    edited = replace(release, columns=columns, tables={**release.tables, "release": table}, made=made)
    if fits:
        edited.verify()
    else:
        with pytest.raises(hr.BrokenPromise, match="one without a name"):
            edited.verify()


@pytest.mark.parametrize("name", ["sum_expected", "sum_variance"])
@pytest.mark.parametrize("step", [0.9, 1.1])
def test_expectations_of_subdomains_are_derived_again(name, step):
    """Not only held between the bounds, which for the whole range leave room for anything."""
    release = release_of()
    helper = help_table(release)
    check_help(release, helper)
    numbers = [number * step for number in helper[name].to_pylist()]
    edited = helper.set_column(helper.column_names.index(name), name, pa.array(numbers))
    with pytest.raises(hr.BrokenPromise, match=name):
        check_help(release, edited)


@pytest.mark.parametrize("values", [[1000, -1000], [0.1, 0.2, -0.3], [10**15 + 7, -(10**15), -7, 11]])
def test_sums_that_cancel_have_expectations_as_exact_as_their_values(values, tmp_path):
    """Floats that should be zero differ from it by rounding of what was added up."""
    table = pa.table({"part": [0] * len(values) + [1] * 3, "s": pa.array([*values, 3, 5, 8], pa.array(values).type)})
    schema = hr.Schema(quasi=["part"], sensitive="s")
    release = hr.TargetDistribution("source", parts="part").publish(table, schema, seed=1)
    release.save(tmp_path / "out", allow_insecure=True)
    assert verify_bundle(tmp_path / "out")
