"""The disguised form: what leaves, in which order, under which names."""

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import ParameterError
from hedgerow.randomness import seeded_keys
from hedgerow.release import PublishedColumns
from hedgerow.release.forms.disguised import (
    DisguisedGroups,
    implied_table,
    publish_disguised,
    subdomain_columns,
    target_table,
)
from hedgerow.schema.target import uniform
from hedgerow.table import read_table

TREE = uniform(hr.Hierarchy.binary([30, 40, 50, 60]))
COLUMNS = PublishedColumns(("age",), ("pay",), ())
TABLE = read_table(pa.table({"age": [1, 2, 3, 4, 5], "pay": [30, 40, 50, 60, 60]}))
GROUPS = DisguisedGroups(
    np.arange(5, dtype=np.int32), np.array([0, 3, 5]), np.array([6, 4, 5, 5, 4, 0], np.int32), np.array([0, 3, 6])
)


def test_two_tables_hold_every_row_and_every_subdomain():
    """With fakes rows and subdomains are apart, joined by group numbers that agree."""
    tables = publish_disguised(TABLE, COLUMNS, GROUPS, [TREE], group_column="group", separate=True)
    quasi, sensitive = tables["quasi"].to_pandas(), tables["sensitive"].to_pandas()
    assert sorted(quasi.age) == [1, 2, 3, 4, 5]
    by_group = {tuple(sorted(g.age)): tuple(sorted(sensitive[sensitive.group == n].pay_node))
                for n, g in quasi.groupby("group")}  # fmt: skip
    assert by_group == {(1, 2, 3): (4, 5, 6), (4, 5): (0, 4, 5)}


def test_group_numbers_are_secret():
    """Either group comes first about equally often."""

    def publish():
        return publish_disguised(TABLE, COLUMNS, GROUPS, [TREE], group_column="group", separate=True)["quasi"]

    first = [publish()["age"][0].as_py() <= 3 for _ in range(200)]
    assert 60 < sum(first) < 140


def test_names_never_collide():
    """Existing columns keep their names; subdomains get the next free ones."""
    columns = PublishedColumns(("pay_low", "PAY_HIGH"), ("pay",), ("pay_node",))
    assert subdomain_columns(columns, "group") == ("pay_low_2", "pay_high_2", "pay_node_2")


def test_bounds_are_the_least_and_greatest_value_whatever_the_order_of_leaves():
    """A tree whose leaves do not ascend still publishes true bounds; texts go by the tree's order."""
    tree = uniform(hr.Hierarchy.from_nested([[5, 1], [9, 3]]))
    table = target_table([tree], pa.int64()).to_pandas()
    assert list(zip(table.low, table.high, strict=True))[4:] == [(1, 5), (3, 9), (1, 9)]
    words = target_table([uniform(hr.Hierarchy.from_nested([["mild", "bad"], ["worse"]]))], pa.string()).to_pandas()
    assert words.low.tolist()[-1] == "mild"
    assert words.high.tolist()[-1] == "worse"


def test_several_trees_are_numbered_one_after_the_other():
    """Nodes are numbered over all trees, parents too."""
    table = target_table([TREE, TREE], pa.int64()).to_pandas()
    assert table.node.tolist() == list(range(14))
    assert table.parent.tolist()[7] == 11
    assert table.parent.isna().sum() == 2


def test_heavy_weights_are_refused():
    """Weights that no file format holds are refused with what to do."""
    tree = hr.Hierarchy.binary([1, 2]).with_target([1, 2**63])
    with pytest.raises(ParameterError, match="quantize"):
        target_table([tree], pa.int64())


def test_implied_weights_count_subtrees():
    """Every subdomain counts for itself and all nodes above it but the root."""
    table = target_table([TREE], pa.int64())
    implied = implied_table(np.array([0, 1, 4, 6], np.int32), np.array([0, 4]), table).to_pandas()
    assert dict(zip(implied.node, implied.weight, strict=True)) == {0: 1, 1: 1, 4: 3}


def test_the_same_seed_gives_the_same_tables():
    """Randomness is an argument."""
    one, two = (
        publish_disguised(TABLE, COLUMNS, GROUPS, [TREE], group_column="group", separate=True, keys=seeded_keys(4))
        for _ in range(2)
    )
    assert {n: t.to_pydict() for n, t in one.items()} == {n: t.to_pydict() for n, t in two.items()}
