"""Rows of a cluster in different groups: against every arrangement of tiny tables."""

from itertools import permutations, product

import numpy as np
import pytest

from hedgerow.partition.clusters import most_together, separate_clusters
from hedgerow.randomness import seeded_keys


def conflicts(labels, clusters):
    """Rows that share their group with an earlier row of their cluster."""
    pairs = list(zip(labels, clusters, strict=True))
    return len(pairs) - len(set(pairs))


def fewest(labels, codes, clusters):
    """The fewest conflicts over all ways to hand the rows of a value to the groups that hold it."""
    return min(
        conflicts(moved, clusters)
        for moved in set(permutations(labels))
        if sorted(zip(moved, codes, strict=True)) == sorted(zip(labels, codes, strict=True))
    )


def numberings(rows, most):
    """Every way to number so many rows by up to `most` numbers, names of numbers aside."""
    found = [(0,)]
    for _ in range(rows - 1):
        found = [(*one, new) for one in found for new in range(min(max(one) + 2, most))]
    return found


@pytest.mark.parametrize("groups", [(0, 0, 1, 1), (0, 0, 1, 1, 1), (0, 0, 1, 1, 2)])
def test_as_few_as_any_arrangement_has(groups):
    """Every table of so many rows and two values, in all clusterings: no arrangement is better, and no value moves."""
    label = np.array(groups, np.int32)
    for codes, clusters in product(numberings(len(groups), 2), numberings(len(groups), 3)):
        found = separate_clusters(label, np.array(codes, np.int32), np.array(clusters), keys=seeded_keys(7))
        assert sorted(zip(found, codes, strict=True)) == sorted(zip(groups, codes, strict=True))
        assert conflicts(found.tolist(), clusters) == fewest(groups, codes, clusters)


def test_households_of_a_large_table_are_parted():
    """Thousands of rows, households of up to four, groups of ten: none is left together, suppressed rows stay."""
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(400, dtype=np.int32), 10)
    rng.shuffle(labels)
    labels[:7] = -1
    codes = rng.integers(0, 9, len(labels)).astype(np.int32)
    clusters = np.repeat(np.arange(1000), 4)
    found = separate_clusters(labels, codes, clusters, keys=seeded_keys(2))
    assert most_together(found, clusters) == 1 < most_together(labels, clusters)
    assert (found[:7] == -1).all()
    for group in range(400):
        assert sorted(codes[found == group]) == sorted(codes[labels == group])


def test_what_cannot_be_parted_is_left_and_counted():
    """One group, or a cluster with more rows than groups."""
    one = np.zeros(4, np.int32)
    assert most_together(separate_clusters(one, one, np.array([0, 0, 1, 1])), np.array([0, 0, 1, 1])) == 2
    two = np.array([0, 0, 1, 1], np.int32)
    assert most_together(separate_clusters(two, one, np.zeros(4, np.int64)), np.zeros(4, np.int64)) == 2
    assert most_together(np.full(3, -1, np.int32), np.zeros(3, np.int64)) == 0
