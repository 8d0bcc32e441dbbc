"""What the choice of levels tells, against every table that could be behind it."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import hedgerow as hr
from hedgerow.attack import run
from hedgerow.attack.adversaries.downcoding import weigh_parts, whole_chances


def _is_whole(row, k):
    return all(row.count(value) >= k for value in set(row))


def _worlds(sizes, odds):
    """Every assignment of parts to the rows of all boxes, with its chance."""
    boxes = [list(product(range(len(shares)), repeat=rows)) for rows, shares in zip(sizes, odds, strict=True)]
    for world in product(*boxes):
        chance = np.prod([odds[box][part] for box, row in enumerate(world) for part in row])
        yield world, float(chance)


@pytest.mark.parametrize(
    ("sizes", "odds", "k"),
    [
        ([2, 2], [[0.7, 0.3], [0.6, 0.4]], 2),
        ([3], [[0.5, 0.3, 0.2]], 2),
        ([4, 3], [[0.8, 0.2], [0.5, 0.25, 0.25]], 2),
        ([6], [[0.9, 0.1]], 3),
        ([3, 4], [[1.0], [0.4, 0.6]], 3),
    ],
)
def test_odds_are_those_of_all_tables_whose_finer_level_fails(sizes, odds, k):
    """Enumerated: the chance that the finer level fails, and the chance of each part of a given row after it did."""
    found = weigh_parts(sizes, [np.array(shares) for shares in odds], k)
    left = [(world, chance) for world, chance in _worlds(sizes, odds) if not all(_is_whole(row, k) for row in world)]
    failing = sum(chance for _, chance in left)
    assert found.failing == pytest.approx(failing)
    for box, shares in enumerate(odds):
        for part in range(len(shares)):
            expected = sum(chance for world, chance in left if world[box][0] == part) / failing
            assert found.odds[box][part] == pytest.approx(expected)


def test_the_real_method_tells_what_is_computed():
    """One column, every table of four rows in two boxes, published by FullDomain: those at level 1 are the worlds."""
    odds = {1: 0.7, 2: 0.3, 3: 0.6, 4: 0.4}
    schema = hr.Schema(quasi=["a"], sensitive="s", hierarchies={"a": hr.Hierarchy.binary(range(1, 5))})
    weights = {}
    for values in product((1, 2), (1, 2), (3, 4), (3, 4)):
        table = pa.table({"a": values, "s": list("wxyz")})
        release = hr.FullDomain(k=2).publish(table, schema)
        if release.made.parameters["level of a"] == 1:
            weights[values] = np.prod([odds[value] for value in values])
    total = sum(weights.values())
    found = weigh_parts([2, 2], [np.array([0.7, 0.3]), np.array([0.6, 0.4])], 2)
    assert found.failing == pytest.approx(total)
    assert found.odds[0][1] == pytest.approx(sum(w for values, w in weights.items() if values[0] == 2) / total)
    assert found.odds[0][1] > 0.3


def test_two_columns_fail_each_for_itself():
    """Every table of three rows with two columns of two values: those that FullDomain publishes at the top."""
    shares = {"a": (0.7, 0.3), "b": (0.6, 0.4)}
    trees = {name: hr.Hierarchy.binary([0, 1]) for name in shares}
    schema = hr.Schema(quasi=["a", "b"], sensitive="s", hierarchies=trees)
    top = {}
    for a, b in product(product((0, 1), repeat=3), repeat=2):
        made = hr.FullDomain(k=2).publish(pa.table({"a": a, "b": b, "s": list("xyz")}), schema).made.parameters
        if (made["level of a"], made["level of b"]) == (1, 1):
            top[a, b] = np.prod([shares["a"][one] for one in a] + [shares["b"][one] for one in b])
    total = sum(top.values())
    found = {name: weigh_parts([3], [np.array(odds)], 2) for name, odds in shares.items()}
    assert found["a"].failing * found["b"].failing == pytest.approx(total)
    assert found["a"].odds[0][1] == pytest.approx(sum(w for (a, _), w in top.items() if a[0] == 1) / total)
    assert found["b"].odds[0][1] == pytest.approx(sum(w for (_, b), w in top.items() if b[2] == 1) / total)


def test_two_rows_that_could_not_be_told_apart_by_two_values_differ():
    """One box of two rows, k = 2: had both the same value, it would have been published; a bit is told at even odds."""
    found = weigh_parts([2], [np.array([0.5, 0.5])], 2)
    assert found.bits == pytest.approx(1)
    assert weigh_parts([2], [np.array([0.9, 0.1])], 2).odds[0] == pytest.approx([0.5, 0.5])


def test_many_boxes_make_the_choice_no_news():
    """Among hundreds of boxes some falls apart badly anyway: odds stay as they were."""
    odds = [np.array([0.6, 0.3, 0.1])] * 300
    found = weigh_parts([9] * 300, odds, 5)
    assert found.bits == 0
    assert all(after is before for after, before in zip(found.odds, odds, strict=True))


@pytest.mark.parametrize("rows", [150, 2000])
def test_large_boxes_are_within_reach(rows):
    """Added up or by transforms: with k = 1 nothing is told; with two parts the chances are binomial."""
    odds = np.array([0.5, 0.3, 0.15, 0.05])
    assert whole_chances(rows, odds, 1) == pytest.approx(odds)
    rare = 4 / rows
    bad = stats.binom.cdf(7, rows, rare) - stats.binom.pmf(0, rows, rare)
    assert whole_chances(rows, np.array([1 - rare, rare]), 8).sum() == pytest.approx(1 - bad)


def test_the_bench_asks_what_the_levels_tell():
    """Two rows that would have been published as they are, had they been alike: the line says how many bits that is."""
    table = pa.table({"a": [1, 2], "s": ["x", "y"]})
    found = run(hr.FullDomain(k=2).publish(table, hr.Schema(quasi=["a"], sensitive="s")), table)["downcoding"]
    assert "tells 1 bits about all 2 rows" in found.sentence
    assert found.trials == 2


def test_levels_chosen_for_other_reasons_than_k_tell_nothing():
    """With l the finer level may have failed for its values, with suppressed rows for others; nothing is derived."""
    table = pa.table({"a": [1, 2, 1, 2], "s": ["x", "x", "y", "y"]})
    release = hr.FullDomain(k=2, l=2).publish(table, hr.Schema(quasi=["a"], sensitive="s"))
    bench = run(release, table)
    assert all("tells 0 bits" in line.sentence for line in bench.findings if line.adversary == "downcoding")
