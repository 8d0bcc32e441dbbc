"""Localities against all triples."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.partition.walk.segments import _extract, localities, sample
from hedgerow.randomness import seeded_keys

ascending = st.lists(st.integers(-50, 50), min_size=1, max_size=9, unique=True).map(lambda v: np.array(sorted(v)))


def _relations(values):
    found = localities(values, np.array([0, len(values)]))
    return {(*map(int, triple), bool(near)) for triple, near in zip(found.triples, found.nearer, strict=True)}


def _follows(relations, i, j, k, near):
    """Whether d_j - d_i >= d_k - d_j (or <=) follows from one kept relation of j and the order alone."""
    if near:  # a farther left neighbour, or a nearer right one, only helps
        return any(a >= i and b == j and c >= k and n for a, b, c, n in relations)
    return any(a <= i and b == j and c <= k and not n for a, b, c, n in relations)


@given(ascending)
def test_every_locality_holds_and_every_triple_follows(values):
    """The returned relations are true, and each of the cubic number of relations follows from one of them."""
    relations = _relations(values)
    for i, j, k, near in relations:
        left, right = values[j] - values[i], values[k] - values[j]
        assert left >= right if near else left <= right
    for i, j, k in itertools.combinations(range(len(values)), 3):
        left, right = values[j] - values[i], values[k] - values[j]
        assert _follows(relations, i, j, k, near=bool(left >= right)), (i, j, k)


def test_the_paper_figure_has_its_two_relations():
    """For six values and the pair (2, 3) the neighbours of the breakpoint are the fourth and the fifth value."""
    values = np.array([0, 3, 8, 11, 15, 16])
    assert {r for r in _relations(values) if r[:2] == (1, 2)} == {(1, 2, 3, True), (1, 2, 4, False)}


def test_there_are_at_most_two_relations_for_each_pair():
    """The number of relations is quadratic."""
    values = np.sort(np.random.default_rng(0).choice(10**6, 60, replace=False))
    assert len(_relations(values)) <= 60 * 59


def test_segments_do_not_see_each_other():
    """The relations of two segments are those of each alone, with positions in the whole array."""
    values = np.array([1, 2, 4, 9, 20, 21, 22, 40])
    both = localities(values, np.array([0, 4, 8]))
    alone = [localities(part, np.array([0, 4])) for part in (values[:4], values[4:])]
    assert both.offsets.tolist() == [0, len(alone[0]), len(alone[0]) + len(alone[1])]
    assert np.array_equal(both.triples[len(alone[0]) :], alone[1].triples + 4)


def test_compiled_equals_plain():
    """The compiled loop writes what the plain one writes."""
    values = np.sort(np.random.default_rng(1).choice(1000, 30, replace=False)).astype(np.int64)
    offsets = np.array([0, 14, 30])
    results = []
    for run in (_extract.plain, _extract.compiled):
        counts = np.zeros(2, np.int64)
        run(values, offsets, counts, np.empty((0, 3), np.int32), np.empty(0, np.bool_))
        triples, nearer = np.empty((counts.sum(), 3), np.int32), np.empty(counts.sum(), np.bool_)
        run(values, offsets, counts, triples, nearer)
        results.append((counts, triples, nearer))
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


def test_a_share_is_kept_of_every_segment_and_each_relation_is_equally_likely():
    """Sampling keeps the rounded share of each segment, and over many draws no relation is favoured."""
    found = localities(np.array([0, 1, 3, 7, 12, 13, 20, 31]), np.array([0, 5, 8]))
    keys = seeded_keys(5)
    hits = np.zeros(len(found))
    for _ in range(2000):
        chosen = sample(found, 0.5, keys=keys)
        sizes = np.diff(found.offsets)
        assert np.diff(chosen.offsets).tolist() == np.rint(0.5 * sizes).astype(int).tolist()
        for triple, near in zip(chosen.triples, chosen.nearer, strict=True):
            hits[np.flatnonzero((found.triples == triple).all(axis=1) & (found.nearer == near))[0]] += 1
    sizes = np.diff(found.offsets)
    expected = np.repeat(2000 * np.rint(0.5 * sizes) / sizes, sizes)
    assert np.abs(hits - expected).max() < 5 * np.sqrt(2000 * 0.25)
