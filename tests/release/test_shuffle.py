"""Shuffles are uniform, independent, and stay inside their groups."""

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.partition.shuffles import deal, permutation, shuffle_within
from hedgerow.randomness import seeded_keys, system_keys


def _chi_square(observed, expected):
    return float(((np.asarray(observed) - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_every_permutation_is_equally_likely(size):
    """Chi-square over all size! orders, the identity included (one chance in a million of a false alarm)."""
    rounds = 240 * math.factorial(size) // 2
    array = np.tile(np.arange(size, dtype=np.int32), rounds)
    shuffle_within(array, np.arange(0, size * rounds + 1, size))
    orders = dict.fromkeys(permutations(range(size)), 0)
    for order in map(tuple, array.reshape(rounds, size).tolist()):
        orders[order] += 1
    freedom = len(orders) - 1
    assert _chi_square(list(orders.values()), rounds / len(orders)) < freedom + 4.9 * math.sqrt(2 * freedom) + 16


def test_fixed_points_are_as_frequent_as_chance():
    """A shuffle is no derangement: on average one element of a group stays where it was."""
    size, rounds = 8, 4000
    array = np.tile(np.arange(size, dtype=np.int32), rounds)
    shuffle_within(array, np.arange(0, size * rounds + 1, size))
    fixed = (array.reshape(rounds, size) == np.arange(size)).sum(axis=1)
    assert abs(fixed.mean() - 1) < 5 / math.sqrt(rounds)


def test_two_shuffles_are_independent():
    """Where one shuffle puts an element says nothing about where the next one puts it."""
    rounds = 6000
    one, other = (np.tile(np.arange(3, dtype=np.int32), rounds) for _ in range(2))
    offsets = np.arange(0, 3 * rounds + 1, 3)
    shuffle_within(one, offsets)
    shuffle_within(other, offsets)
    joint = np.histogram2d(one[::3], other[::3], bins=3)[0]
    assert _chi_square(joint.ravel(), rounds / 9) < 8 + 4.9 * 4 + 16


@given(st.lists(st.integers(0, 6), min_size=1, max_size=20), st.integers(0, 2**32))
def test_groups_keep_their_members(sizes, seed):
    """Elements never leave their group, empty groups included, and plain equals compiled."""
    offsets = np.append(0, np.cumsum(sizes))
    array = np.arange(offsets[-1], dtype=np.int32)
    shuffle_within(array, offsets, keys=seeded_keys(seed))
    for first, last in pairwise(offsets):
        assert sorted(array[first:last]) == list(range(first, last))


def test_large_arrays_are_shuffled_in_blocks_like_small_ones():
    """The compiled loop over several blocks keeps groups and moves nearly everything."""
    offsets = np.append(np.arange(0, 1_100_000, 1000), 1_100_000)
    array = np.arange(1_100_000, dtype=np.int32)
    shuffle_within(array, offsets, keys=system_keys)
    assert np.array_equal(np.sort(array.reshape(-1, 1000), axis=1).ravel(), np.arange(1_100_000))
    assert (array == np.arange(1_100_000)).mean() < 0.01


def test_compiled_equals_plain():
    """The two speeds of the kernel give the same order for the same keys."""
    from hedgerow.partition import shuffles as secret

    offsets = np.array([0, 10, 11, 5000])
    one, other = np.arange(5000, dtype=np.int32), np.arange(5000, dtype=np.int32)
    keys = seeded_keys(5)(5000)
    secret._shuffle_block.plain(one, offsets, keys, 0, 0)
    secret._shuffle_block.compiled(other, offsets, keys, 0, 0)
    assert np.array_equal(one, other)


def test_permutation_is_one():
    """Every number appears once."""
    assert sorted(permutation(100)) == list(range(100))


def test_tied_rows_are_dealt_at_random():
    """Which of four equal rows lands in which of two groups is a fair draw, not their order."""
    codes = np.array([0, 0, 0, 0], np.int32)
    values, groups, counts = np.array([0, 0], np.int32), np.array([0, 1], np.int32), np.array([1, 3])
    alone = [deal(codes, values, groups, counts)[0][0] for _ in range(2000)]
    assert _chi_square(np.bincount(alone, minlength=4), 500) < 35


@given(st.data())
def test_dealing_fills_every_piece(data):
    """Each group gets exactly the values that its pieces say."""
    pieces = data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), unique=True, min_size=1, max_size=12))
    pieces.sort()
    known = {v: i for i, v in enumerate(sorted({v for v, _ in pieces}))}
    labels = {g: i for i, g in enumerate(sorted({g for _, g in pieces}))}
    values = np.array([known[v] for v, _ in pieces], np.int32)
    groups = np.array([labels[g] for _, g in pieces], np.int32)
    counts = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(pieces), max_size=len(pieces))))
    codes = np.repeat(values, counts)[permutation(int(counts.sum()))].astype(np.int32)
    rows, offsets = deal(codes, values, groups, counts)
    assert sorted(rows) == list(range(len(codes)))
    for group in range(len(labels)):
        wanted = np.sort(np.repeat(values[groups == group], counts[groups == group]))
        assert np.array_equal(np.sort(codes[rows[offsets[group] : offsets[group + 1]]]), wanted)
