"""The split by certainty penalty, its parts against their definitions."""

from collections import Counter

import numpy as np
import pytest

from hedgerow.partition import permutation as by_penalty
from hedgerow.partition.permutation import ncp_split
from hedgerow.randomness import seeded_keys


def penalty(rows):
    """Extents of the rows' box, times the rows."""
    return len(rows) * int(np.ptp(rows, axis=0).sum())


def sides_by_definition(points, order):
    """Each row in turn joins the side whose penalty grows least; equal growth goes to the smaller side."""
    sides = {False: [points.min(axis=0)], True: [points.max(axis=0)]}
    chosen = np.empty(len(points), np.bool_)
    for row in order:
        growth = {side: penalty([*rows, points[row]]) - penalty(rows) for side, rows in sides.items()}
        is_smaller = len(sides[False]) < len(sides[True])
        first = growth[False] < growth[True] or (growth[False] == growth[True] and is_smaller)
        chosen[row] = not first
        sides[not first].append(points[row])
    return chosen


def test_every_row_joins_the_side_whose_penalty_grows_least():
    """Boxes kept step by step give what measuring both sides anew for each row gives."""
    rng = np.random.default_rng(1)
    for turn in range(60):
        points = rng.integers(0, 50, (int(rng.integers(2, 25)), int(rng.integers(1, 4))))
        order = rng.permutation(len(points))
        sides = np.empty(len(points), np.bool_)
        base = 100 * turn
        left = by_penalty._choose_sides.plain(
            points.astype(np.int16), (order + base).astype(np.int32), np.int32(base), sides
        )
        assert sides.tolist() == sides_by_definition(points, order).tolist()
        assert left == (~sides).sum()


def test_a_part_is_tried_again_in_a_uniformly_random_order():
    """Over 1,200 shuffles each of the six orders of three rows comes equally often (chi-square at 1 in 10,000)."""
    keys, seen = seeded_keys(2), Counter()
    for _ in range(1200):
        order = np.arange(3, dtype=np.int32)
        by_penalty._shuffle.plain(order, keys(3))
        seen[tuple(order.tolist())] += 1
    assert len(seen) == 6
    assert sum((times - 200) ** 2 / 200 for times in seen.values()) < 25.7


def test_many_columns_and_rows_far_apart_do_not_overflow():
    """Forty columns at their ends: the plain loops stay in the range of their numbers."""
    rng = np.random.default_rng(3)
    quasi = rng.integers(0, 2, (40, 600)).astype(np.int32)
    labels = ncp_split(quasi, [2] * 40, rng.integers(0, 9, 600).astype(np.int32), l=3)
    assert np.bincount(labels).min() >= 3


@pytest.mark.parametrize(("tries", "tables", "rows", "gain"), [(10, 30, 60, 1.2), (2, 60, 40, 1.05)])
def test_a_part_that_was_not_divided_is_tried_in_other_orders(tries, tables, rows, gain):
    """Over many tables ten tries divide far more parts than one does, and two already more: the last one counts."""
    rng, parts = np.random.default_rng(4), {1: 0, tries: 0}
    for seed in range(tables):
        quasi = rng.integers(0, 30, (2, rows)).astype(np.int32)
        sensitive = np.minimum(rng.integers(0, 9, rows), 5).astype(np.int32)
        for most in parts:
            records = by_penalty.CornerRows(quasi.T.astype(np.int16), sensitive.copy(), np.arange(rows, dtype=np.int32))
            parts[most] += int(by_penalty._divide(records, 2, most, seeded_keys(seed)).sum())
    assert parts[tries] > gain * parts[1]
