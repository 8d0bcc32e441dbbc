"""The study of the random walk, quick, and the walk that it is measured against."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hedgerow.randomness import seeded_keys
from studies.averages import AverageQuery
from studies.printed_walk import printed_walk
from studies.real import data_folder
from studies.walk_measures import clustering_table, equally_distorted, mixing_of
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
    answer = Generalized(means, lows, highs).answer(query, np.array([0, 0]))
    assert answer == pytest.approx((0.6 * 2 + 0.2 * 6) / 0.8)


def test_groups_of_generalized_tables_are_diverse():
    """Every row's box holds l different sensitive values, and its mean lies in it."""
    rng = np.random.default_rng(5)
    table = Numbers("t", ("a", "b"), rng.integers(0, 50, (200, 2)).astype(float), rng.integers(0, 4, 200))
    general = generalize(table, 3)
    boxes, groups = np.unique(np.hstack([general.lows, general.highs]), axis=0, return_inverse=True)
    assert len(boxes) > 5
    assert min(len(np.unique(table.sensitive[groups == g])) for g in range(len(boxes))) >= 3
    assert ((general.lows <= general.means) & (general.means <= general.highs)).all()


def test_equal_distortion_is_the_wanted_one_or_a_little_more():
    """Walks that distort less never count, those far above only where nothing is nearer."""
    walks = [(reached, np.full((1, 1), reached)) for reached in (0.30, 0.099, 0.104, 0.2, 0.1)]
    assert [reached for reached, _ in equally_distorted(walks, 0.1)] == [0.1, 0.104]
    assert [reached for reached, _ in equally_distorted(walks, 0.1, most=1)] == [0.1]
    assert [reached for reached, _ in equally_distorted(walks, 0.15)] == [0.2]
    with pytest.raises(ValueError, match="smaller shares"):
        equally_distorted(walks, 0.31)


def test_clear_clusters_are_found_again_and_every_setting_has_a_line():
    """Clouds that k-means finds wherever it begins: nothing is misplaced by itself, and by the walk few."""
    rng = np.random.default_rng(6)
    values = np.repeat([[0.0, 0.0], [1e4, 0.0], [0.0, 1e4]], 40, axis=0) + rng.integers(100, 200, (120, 2))
    table = Numbers("clouds", ("a", "b"), values, np.zeros(120, np.int64))
    found = clustering_table(table, "runs", (0.1, 0.5), (3,), repetitions=2, restarts=5, progress=lambda step: None)
    assert found.select(["share", "k"]).to_pylist() == [{"share": 0.1, "k": 3}, {"share": 0.5, "k": 3}]
    assert found["again"].to_pylist() == [0, 0]
    assert max(found["walk"].to_pylist()) < 20 / 120  # only the run of 20 values across a gap can change sides
    assert all(0 <= better <= 2 for better in found["better"].to_pylist())


@pytest.mark.slow
def test_a_quick_study_has_a_verdict_and_a_figure_for_everything(tmp_path):
    """Every claim says what was seen, and every figure is written."""
    if data_folder() is None:
        pytest.skip("the tables of the study are not on this machine")
    from studies.walk import run

    done = run(tmp_path, quick=True)
    assert len(done.claims) == 13
    assert all(claim.seen for claim in done.claims)
    assert all(figure.stat().st_size > 5000 for figure in done.figures)
    printed = next(claim for claim in done.claims if claim.source == "4")
    assert printed.holds is False
