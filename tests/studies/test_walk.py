"""The study of the random walk, quick, and the walk that it is measured against."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from hedgerow.partition.walk.segments import deal_to_segments, in_order
from hedgerow.randomness import seeded_keys
from hedgerow.utility.measures import distortion
from studies.averages import AverageQuery
from studies.clustering import centres_of, clusters_from, misplaced
from studies.frame import run_plan
from studies.noise import NOISES
from studies.printed_walk import (
    _printed_walk,
    _walk_one_block,
    blocks_of_rows,
    normal_numbers,
    printed_walk,
    walk_blocks_as_printed,
)
from studies.real import data_folder
from studies.walk_measures import mixing_of
from studies.walk_paper import at_distortion, clustering_at, drawn_back, moving_table, tune
from studies.walk_tables import Generalized, Numbers, generalize

INTERVAL = np.array([[1.0], [-1.0]]), np.array([1.0, 0.0]), np.array([0.5])


def test_the_whole_chord_is_uniform_and_the_printed_half_is_not():
    """On an interval hit-and-run is uniform; forward steps alone pile up at both ends."""
    whole, half = (
        printed_walk(*INTERVAL, steps=4000, half=half, keys=seeded_keys(1), states=4000)[::4, 0]
        for half in (False, True)
    )
    assert stats.kstest(whole, "uniform").pvalue > 1e-4
    assert stats.kstest(half, "uniform").pvalue < 1e-6
    assert stats.kstest(half, "arcsine").pvalue > 1e-4


def test_the_printed_walk_does_not_move_on_whole_numbered_ages_and_ours_does():
    """Equal ages leave no slack, so no printed step has a length; merged and from inside, the same ages move."""
    ages = np.random.default_rng(2).integers(17, 40, 40)
    found = mixing_of(ages, 0.1, steps=2000, keys=seeded_keys(3))
    assert found["printed"] == (0.0, 0.0)
    assert found["ours"][1] > 0.5


def test_generalized_averages_spread_values_over_their_group():
    """A group of range 0 to 10 counts with six tenths above 4, one of range 0 to 5 with two tenths."""
    means, lows, highs = np.array([[5.0, 2.0], [2.5, 6.0]]), np.zeros((2, 2)), np.array([[10.0, 9.0], [5.0, 9.0]])
    query = AverageQuery(1, (4.0, 0.0), np.array([True]))
    answer = Generalized(np.arange(2), means, lows, highs, np.ones((2, 1), np.int64)).answer(query)
    assert answer == pytest.approx((0.6 * 2 + 0.2 * 6) / 0.8)


def test_groups_of_generalized_tables_are_diverse():
    """Every row's box holds l different sensitive values, and its mean lies in it."""
    rng = np.random.default_rng(5)
    table = Numbers("t", ("a", "b"), rng.integers(0, 50, (200, 2)).astype(float), rng.integers(0, 4, 200))
    general = generalize(table, 3)
    groups = general.groups
    assert len(general.lows) > 5
    assert min(len(np.unique(table.sensitive[groups == g])) for g in range(len(general.lows))) >= 3
    assert ((general.lows <= general.centres) & (general.centres <= general.highs)).all()
    assert ((general.lows[groups] <= table.values) & (table.values <= general.highs[groups])).all()
    assert (general.counts == [np.bincount(table.sensitive[groups == g], minlength=4) for g in np.unique(groups)]).all()


def test_a_block_of_rows_keeps_its_localities_its_domain_and_its_place():
    """Blocks of consecutive rows, ties apart: every sampled relation holds afterwards, and rows stay in place."""
    rng = np.random.default_rng(1)
    column = rng.permutation(400)[:60].astype(float)
    blocks = blocks_of_rows(column, 0.2, segment=20, seed=1)
    assert [sorted(blocks.rows[a:b]) for a, b in itertools.pairwise(blocks.offsets)] == [
        list(range(n, n + 20)) for n in (0, 20, 40)
    ]
    walked = walk_blocks_as_printed(blocks, steps=500, seed=1)
    assert (walked != column).all()
    assert column.min() <= walked.min() <= walked.max() <= column.max()
    i, j, k = walked[blocks.rows][blocks.chosen.triples].T
    gap = np.where(blocks.chosen.nearer, (j - i) - (k - j), (k - j) - (j - i))
    assert len(gap) > 100
    assert gap.min() > -1e-6


def test_one_block_walks_as_the_dense_walk_does():
    """The sparse step and the dense one of the same directions and lengths end at the same point."""
    column = np.array([3.0, 1.0, 12.0, 8.0, 20.0])
    blocks = blocks_of_rows(column, 1.0, segment=5, seed=1)
    rng = np.random.default_rng(3)
    draws, lengths = rng.integers(0, len(normal_numbers()), (200, 5), dtype=np.uint16), rng.random(200)
    ways = normal_numbers()[draws]
    sparse = blocks.values.copy()
    signs = np.where(blocks.chosen.nearer, 1.0, -1.0)
    triples = blocks.chosen.triples.T.astype(np.uint64)
    _walk_one_block.plain(sparse, triples, signs, normal_numbers(), draws, lengths, (1.0, 20.0))
    matrix = np.zeros((len(signs), 5))
    for row, (triple, sign) in enumerate(zip(blocks.chosen.triples, signs, strict=True)):
        matrix[row, triple] += sign * np.array([1.0, -2.0, 1.0])
    matrix = np.concatenate([matrix, np.eye(5), -np.eye(5)])
    bounds = np.concatenate([np.zeros(len(signs)), np.full(5, 20.0), np.full(5, -1.0)])
    dense = blocks.values.copy()
    trace = np.empty((1, 5))
    _printed_walk.plain(matrix, bounds - matrix @ dense, dense, ways, lengths, True, trace)
    assert not np.allclose(sparse, blocks.values)
    np.testing.assert_allclose(sparse, dense)


def test_ties_hold_the_printed_walk_still_from_a_share_on():
    """Without localities whole numbers move; with many of them no forward step has a length."""
    column = np.random.default_rng(2).integers(20, 40, 200).astype(float)
    found = moving_table(("x", column, (1.0, 120.0)), (0.0, 0.5), segment=100, steps=400, seed=1).to_pylist()
    assert [row["still"] for row in found] == [0.0, 1.0]


def test_a_share_is_tuned_to_a_distortion_a_little_above():
    """Few blocks mislead and a fifth of them corrects: the share is within a hundredth of where the walk arrives."""
    asked = []

    def measure(share, every):
        asked.append(every)
        return math.exp(-5 * share) * (1.2 if every == 30 else 1.0)

    share, falls = tune(measure, 0.3)
    assert 0.3 <= math.exp(-5 * share) <= 0.3 * 1.05
    assert falls == pytest.approx(5)
    assert asked == [30] * 6 + [5, 1]
    assert tune(lambda share, every: 0.1, 0.3)[0] == 0.0


def test_a_walk_is_corrected_until_it_distorts_a_little_more_than_wanted():
    """A share that misses is corrected by all blocks, one that fits is taken at once, what stays below is not taken."""
    asked = []

    def walk(share):
        asked.append(share)
        return np.array([share]), math.exp(-5 * share)

    share, published = at_distortion(walk, (0.3, 5.0), 0.3)
    assert published == [share]
    assert 0.3 <= math.exp(-5 * share) <= 0.3 * 1.05
    again = len(asked)
    assert at_distortion(walk, (share, 5.0), 0.3)[0] == share
    assert len(asked) == again + 1
    assert at_distortion(lambda share: (np.zeros(1), 0.1), (0.5, 5.0), 0.3) is None


def test_values_are_drawn_back_to_a_distortion_and_no_further_than_published():
    """The way to a published table is straight, and so is its distortion."""
    original, published = np.array([[10.0], [20.0]]), np.array([[12.0], [10.0]])
    near = drawn_back(original, published, 0.07)
    assert distortion(original, near) == pytest.approx(0.07)
    assert drawn_back(original, published, 9.0) == pytest.approx(published)


def test_some_blocks_move_as_they_do_among_all():
    """A share is tuned on some of the blocks: their walk is that of the whole table."""
    column = np.random.default_rng(4).permutation(400)[:100].astype(float)
    blocks = blocks_of_rows(column, 0.1, segment=20, seed=1)
    every, some = (walk_blocks_as_printed(blocks, steps=50, seed=3, only=only) for only in (None, np.array([0, 3])))
    moved = np.isin(np.arange(100) // 20, [0, 3])
    assert (some[moved] == every[moved]).all()
    assert (some[~moved] == column[~moved]).all()


def test_our_blocks_of_rows_are_consecutive():
    """Rows of another block do not matter to a block: order 0, 1, 2 of segments follows the table."""
    distinct, codes = np.arange(40), np.random.default_rng(1).permutation(40).astype(np.int32)
    segments = deal_to_segments(distinct, codes, segment=10, low=0, high=39, keys=in_order)
    home = np.searchsorted(segments.offsets, segments.variables, side="right") - 1
    assert home.tolist() == np.repeat(range(4), 10).tolist()
    assert (segments.values[segments.variables] == codes).all()


def test_clear_clusters_are_found_again_from_the_centres_of_the_original():
    """Clouds far apart: neither the walk nor any noise of its distortion misplaces a row."""
    rng = np.random.default_rng(6)
    values = np.repeat([[100.0, 100.0], [1e4, 100.0], [100.0, 1e4]], 40, axis=0) + rng.integers(0, 9, (120, 2))
    centres, right = centres_of(values, k=3, keys=seeded_keys(1))
    assert misplaced(right, clusters_from(values, centres)) == 0
    table = Numbers("clouds", ("a", "b"), values, np.zeros(120, np.int64))
    found = clustering_at(table, 1.0, (3,), seed=1, steps=50, ours_too=False).to_pylist()
    assert [row["walk"] for row in found] == [0]
    assert set(NOISES) <= set(found[0])


def test_readings_of_noise_have_the_same_distortion_in_all():
    """One amplitude, one share of the range, each column's own: the table's mean distortion is the same."""
    rng = np.random.default_rng(7)
    values = np.column_stack([rng.uniform(1, 2, 3000), rng.uniform(100, 900, 3000)])
    made = {name: noise(values, [0.02, 0.06], keys=seeded_keys(1)) for name, noise in NOISES.items()}
    for noisy in made.values():
        assert distortion(values, noisy) == pytest.approx(0.04)
    widths = {name: np.abs(noisy - values).max(axis=0) for name, noisy in made.items()}
    assert widths["one amplitude"][0] == pytest.approx(widths["one amplitude"][1], rel=0.01)
    assert widths["by range"][1] / widths["by range"][0] == pytest.approx(
        np.ptp(values[:, 1]) / np.ptp(values[:, 0]), rel=0.01
    )
    assert distortion(values[:, [0]], made["by column"][:, [0]]) == pytest.approx(0.02)


@pytest.mark.slow
def test_a_quick_study_measures_every_part_and_decides_nothing(tmp_path):
    """Every claim says what was seen, as printed and ours side by side, and every figure is written."""
    if data_folder() is None:
        pytest.skip("the tables of the study are not on this machine")
    from studies.walk import PLAN

    kept = {
        name: part
        for name, part in PLAN.parts.items()
        if name in ("moving", "averages 4", "our averages", "clustering synthetic 0.1")
    }
    record, study = run_plan("walk", replace(PLAN, parts=kept), tmp_path, quick=True)
    assert {claim.verdict for claim in record.claims} == {"not decided"}
    assert {claim.source for claim in record.claims} > {
        "5.3, figure 5, as printed",
        "ours, figure 5, at Mondrian's distortion",
    }
    assert all(claim.seen for claim in record.claims)
    assert all(figure.stat().st_size > 5000 for figure in study.figures)
    assert len(study.figures) == 3
