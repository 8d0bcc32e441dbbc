"""FullDomain, TargetDistribution, RankSwap and Microaggregation in blocks promise what they promise in memory."""

from collections import Counter
from itertools import permutations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.errors import Infeasible, SchemaError
from hedgerow.methods.blocks import deal_ranks
from hedgerow.methods.scaled import divide_classes
from hedgerow.randomness import generator, seeded_keys
from hedgerow.release.forms.swapped import window_for
from hedgerow.scale.duckdb import DuckEngine
from hedgerow.verify import verify_bundle
from tests.scale.test_groups import CITIES, ONE, ROWS, TWO, _boxes, _table, publish, same_rows

LEVELS = hr.Schema(
    quasi=["age", "city", "sex"],
    sensitive="illness",
    plain="pay",
    hierarchies={
        "city": CITIES,
        "age": hr.Hierarchy.from_nested({f"{low}s": list(range(low, low + 10)) for low in (20, 30, 40, 50)}),
    },
)


@pytest.fixture
def bundle(tmp_path, monkeypatch):
    """Publish to a bundle in blocks of 90 rows."""
    monkeypatch.setattr("hedgerow.scale.duckdb._LEAST_ROWS", 90)
    monkeypatch.setattr("hedgerow.scale.duckdb._BYTES_PER_ROW", 1 << 40)

    def publish_to(method, schema, table=None):
        made = method.publish(pa.table(table or _table()), schema, out=tmp_path / "out", overwrite=True)
        assert verify_bundle(tmp_path / "out").checks
        files = sorted((tmp_path / "out").glob("*.parquet"))
        found = {
            kind: pa.concat_tables([pq.read_table(file) for file in files if file.name.startswith(kind)])
            for kind in ("release", "quasi", "sensitive", "target")
            if any(file.name.startswith(kind) for file in files)
        }
        return made, found

    return publish_to


FULL = [
    {"k": 3},
    {"k": 3, "l": 2},
    {"k": 3, "t": 0.4},
    {"k": 3, "beta": 4},
    {"k": 12, "suppression": "0.1"},
    {"k": 5, "l": 3, "suppression": "0.3"},
    {"k": 10, "blind": True},
]


@pytest.mark.parametrize("asked", FULL, ids=str)
def test_full_domain_equals_that_in_memory(asked, bundle, tmp_path):
    """The same levels, boxes, values and suppressed rows, and one sentence about all of them."""
    method = hr.FullDomain(**asked)
    whole = method.publish(_table(), LEVELS, seed=1)
    releases = publish(method, LEVELS, tmp_path)
    assert len(releases) > 1
    assert _boxes(releases) == _boxes([whole])
    made, _ = bundle(method, LEVELS)
    assert (made.rows, made.groups) == (whole.rows, whole.groups)
    assert (made.guarantee, made.made.parameters) == (whole.guarantee, whole.made.parameters)
    assert made.rows.suppressed > 0 or "suppression" not in asked


def test_blind_full_domain_refuses_what_misses_a_criterion(tmp_path):
    """Levels that look at no sensitive value may miss it, and the table is refused before rows move."""
    with pytest.raises(Infeasible, match="blind"):
        publish(hr.FullDomain(k=3, l=4, blind=True), LEVELS, tmp_path)


def test_too_many_combinations_are_refused(tmp_path, monkeypatch):
    """Levels are chosen on the combinations of values that occur, which the driver holds."""
    monkeypatch.setattr("hedgerow.scale.coding.MOST_CODES", 200)
    with pytest.raises(SchemaError, match="combinations"):
        publish(hr.FullDomain(k=3), LEVELS, tmp_path)


TARGETS = [
    {"target": "uniform"},
    {"target": "zipf", "parts": "sex"},
    {"target": "source", "parts": {"age": [35, 45]}},
    {"target": {0: "uniform", 1: "source"}, "parts": {"age": [40]}},
    {"target": "uniform", "fakes": "0.1", "parts": "sex"},
    {"target": "source", "shift": "0.2", "parts": "city"},
    {"target": "uniform", "grouping": "quasi"},
]
PARTS = hr.Schema(quasi=["age", "sex"], sensitive="illness", plain=["pay", "city"])


@pytest.mark.parametrize("asked", TARGETS, ids=str)
def test_target_distribution_is_verified_against_the_targets_of_the_whole(asked, bundle):
    """Every group follows its target, which is that of the whole table; rows are published once."""
    method = hr.TargetDistribution(**asked)
    made, found = bundle(method, PARTS)
    whole = method.publish(_table(), PARTS)
    assert made.parts > 1
    assert made.made == whole.made
    assert found["target"].equals(whole.tables["target"])
    people = found.get("quasi", found.get("release"))
    assert Counter(people["pay"].to_pylist()) == Counter(_table()["pay"])
    if "fakes" in asked:
        fakes = found["sensitive"].num_rows - found["quasi"].num_rows
        assert made.guarantee.parameters["fakes"] == fakes


@pytest.mark.parametrize("asked", [{"target": "uniform", "parts": "city"}, {"target": "uniform", "grouping": "quasi"}])
def test_target_groups_that_fit_a_block_equal_those_in_memory(asked, tmp_path):
    """The same subdomains of the same rows."""
    method = hr.TargetDistribution(**asked)
    table = {name: values[:200] for name, values in _table().items()}
    whole = method.publish(table, PARTS, seed=1)
    releases = publish(method, PARTS, tmp_path, table=table)
    assert len(releases) > 1
    assert sum(release.groups for release in releases) == whole.groups
    assert _subdomains(releases) == _subdomains([whole])


def _subdomains(releases):
    found = Counter()
    for release in releases:
        table, groups = release.tables["release"], {}
        for group, pay, node in zip(*(table[n].to_pylist() for n in ("group", "pay", "illness_node")), strict=True):
            groups.setdefault(group, []).append((pay, node))
        for rows in groups.values():
            pays, nodes = zip(*rows, strict=True)
            found[tuple(sorted(pays)), tuple(sorted(nodes))] += 1
    return found


def test_a_class_larger_than_a_block_is_dealt_evenly():
    """In as few pieces as fit, none of them below the least, and every row somewhere."""
    placing = divide_classes(None, np.array([3, 25, 0, 10, 7]), most=10, keys=seeded_keys(1))
    assert placing.left.tolist() == [3, 25, 0, 10, 7]
    assert max(placing.sizes) <= 10
    assert sorted(placing.rows[placing.starts[1] : placing.starts[2]].tolist()) == [8, 8, 9]
    few = divide_classes(None, np.array([25]), most=10, least=9, keys=seeded_keys(1))
    assert sorted(few.rows.tolist()) == [12, 13]


@pytest.mark.parametrize("window", [2, 40, 133, 400])
def test_swapped_values_come_from_near_ranks(window, bundle):
    """Nobody gets a value from farther away than the window of the whole table, and every value is published once."""
    random = generator(3)
    table = {"id": list(range(ROWS)), "pay": random.integers(0, 150, ROWS).tolist()}
    method = hr.RankSwap(share=f"{window / ROWS:.4f}")
    made, found = bundle(method, hr.Schema(quasi="id", sensitive="pay"), table)
    assert made.parts > 4
    assert made.guarantee == method.publish(table, hr.Schema(quasi="id", sensitive="pay")).guarantee
    pay, ranks = np.array(table["pay"]), np.sort(table["pay"])
    swapped = np.empty(ROWS, np.int64)
    swapped[found["release"]["id"].to_numpy()] = found["release"]["pay"].to_numpy()
    assert sorted(swapped.tolist()) == ranks.tolist()
    assert (swapped != pay).any()
    # Equal values have ranks in random order, so that a rank is known but for those of its value.
    lowest = np.searchsorted(ranks, np.minimum(pay, swapped), side="right") - 1
    highest = np.searchsorted(ranks, np.maximum(pay, swapped), side="left")
    assert (np.maximum(highest - lowest, 0) <= window).all()


def test_each_of_neighbouring_ranks_goes_to_another_block_uniformly():
    """Over all outcomes: each order of the blocks in a run of ranks, and each choice in the last one, equally often."""
    counts, tries = np.array([1, 1, 1, 1, 1]), 6000
    keys, seen = seeded_keys(5), Counter()
    for _ in range(tries):
        placing, inside = deal_ranks(counts, "x", window=29, most=2, keys=keys)
        assert inside == 9
        blocks = placing.blocks[placing.starts[:-1]].tolist()
        assert sorted(blocks[:3]) == [0, 1, 2]
        assert len(set(blocks[3:])) == 2
        seen[tuple(blocks)] += 1
    assert set(seen) == {(*first, *last) for first in permutations(range(3)) for last in permutations(range(3), 2)}
    expected = tries / len(seen)
    assert sum((count - expected) ** 2 / expected for count in seen.values()) < 80  # 35 degrees of freedom, seeded


@pytest.mark.parametrize("case", range(30))
def test_the_window_is_the_least_by_its_definition(case):
    """Counted by values it is what counting rank by rank gives."""
    random = generator(case)
    counts = random.integers(1, 5, random.integers(1, 7))
    places = np.sort(random.choice(20, len(counts), replace=False))
    k, e = int(random.integers(1, 4)), int(random.integers(0, 9))
    value = np.repeat(np.arange(len(counts)), counts)

    def is_wide(window):
        inside = [value[max(r - window, 0) : r + window + 1] for r in range(len(value))]
        return all(len(set(one)) >= k and places[one[-1]] - places[one[0]] >= e for one in inside)

    least = next((window for window in range(len(value) + 1) if is_wide(window)), None)
    assert window_for(places, counts.astype(np.int64), k=k, e=e) == least


def test_several_columns_are_not_swapped_in_blocks(tmp_path, monkeypatch):
    """Each has an order of its own, which is said before any pass."""
    monkeypatch.setattr(DuckEngine, "distinct", lambda self, *args: pytest.fail("a pass was made"))
    monkeypatch.setattr(DuckEngine, "count_rows", lambda self: pytest.fail("a pass was made"))
    with pytest.raises(SchemaError, match="order of its own"):
        hr.RankSwap(share="0.1").publish(pa.table(_table()), TWO, out=tmp_path / "out")


MEANS = [({"k": 4, "columns": "age"}, ONE), ({"k": 4, "columns": ["age", "pay"]}, ONE), ({"k": 5}, LEVELS)]


@pytest.mark.parametrize(("asked", "schema"), MEANS, ids=["one", "two", "hierarchies"])
def test_microaggregation(asked, schema, bundle):
    """Combinations of means are shared by k rows and add up to the values; the other columns are those of the table."""
    made, found = bundle(hr.Microaggregation(**asked), schema)
    whole = hr.Microaggregation(**asked).publish(_table(), schema)
    assert made.parts > 1
    assert made.guarantee == whole.guarantee
    table = found["release"]
    names = made.guarantee.columns
    assert min(Counter(zip(*(table[name].to_pylist() for name in names), strict=True)).values()) >= asked["k"]
    assert table.schema.names == whole.to_arrow().schema.names
    for name in names:
        if name not in schema.hierarchies:
            assert sum(table[name].to_pylist()) == pytest.approx(sum(_table()[name]))
    assert Counter(table["illness"].to_pylist()) == Counter(_table()["illness"])


def test_rows_that_are_all_equal_are_microaggregated_in_blocks_of_at_least_k(bundle):
    """A point that no cut divides is dealt to blocks at random, and is published unchanged."""
    table = {"age": [30] * 395 + [40] * 5, "pay": [1.5] * ROWS, "ill": ["a", "b"] * (ROWS // 2)}
    made, found = bundle(hr.Microaggregation(k=5), hr.Schema(quasi=["age", "pay"], sensitive="ill"), table)
    assert made.parts > 3
    assert made.guarantee.parameters["unchanged"] == '["age", "pay"]'
    assert Counter(found["release"]["age"].to_pylist()) == {30.0: 395, 40.0: 5}


def test_a_column_that_one_block_leaves_unchanged_is_not_said_to_be_unchanged(bundle):
    """What is promised of all blocks is true of each."""
    table = {"age": [30] * 200 + list(range(40, 240)), "ill": ["a", "b"] * (ROWS // 2)}
    made, _ = bundle(hr.Microaggregation(k=5), hr.Schema(quasi="age", sensitive="ill"), table)
    assert made.parts > 3
    assert "unchanged" not in made.guarantee.parameters


def test_same_rows_is_able_to_fail(tmp_path):
    """The helper that other tests lean on."""
    releases = publish(hr.Mondrian(k=3), ONE, tmp_path)
    assert same_rows(releases, "illness")
    assert not same_rows(releases[1:], "illness")
