"""Learning from a release: it reads what is correlated, and nothing where nothing is."""

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.attack import run
from hedgerow.attack.worlds import CodedGroups, bin_numbers, cut_points, learn, learn_from
from hedgerow.randomness import seeded_keys

QUASI = [f"q{column}" for column in range(7)]


def correlated(rows, strength, seed=0):
    """People whose columns each show their value with a probability, and chance otherwise."""
    rng = np.random.default_rng(seed)
    value = rng.integers(0, 6, rows)
    shown = {
        name: np.where(rng.random(rows) < strength, (value + place) % 6, rng.integers(0, 6, rows))
        for place, name in enumerate(QUASI)
    }
    return pa.table({**shown, "s": [f"v{one}" for one in value]})


def _bench(table, **settings):
    release = hr.Anatomy(l=3).publish(table, hr.Schema(quasi=QUASI, sensitive="s"), seed=1)
    return run(release, table, targets=600, keys=seeded_keys(1), **settings)


def test_a_correlated_release_is_read():
    """Three-diverse groups promise one in three; whoever learns is right for nearly everyone."""
    found = _bench(correlated(3000, 0.85))
    assert found["linking"].worst <= 1 / 3 + 1e-12
    assert found["deFinetti"].rate >= 0.97
    assert found["deFinetti"].baseline == pytest.approx(1 / 3, abs=0.05)
    assert "No promise" in found["deFinetti"].next_step


def test_an_uncorrelated_release_is_not():
    """The control: where columns say nothing, learning gives what guessing inside groups gives."""
    found = _bench(correlated(3000, 0.0))["deFinetti"]
    assert found.low <= 1 / 3 <= found.high
    assert found.next_step == "Nothing to do."


def test_people_who_were_not_published_tell_correlation_from_groups():
    """The model alone is right for many strangers, and the groups add the rest."""
    found = _bench(correlated(3000, 0.6), holdout=correlated(800, 0.6, seed=9))["deFinetti"]
    assert 0.6 < found.control < found.rate


def test_large_groups_are_walked_through():
    """Groups of twelve rows are read by swaps, far above the most frequent value of a group."""
    table = correlated(2400, 0.85)
    codes = np.stack([table[name].to_numpy() for name in QUASI])
    truth = np.array([int(one[1:]) for one in table["s"].to_pylist()])
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.permutation(truth[first : first + 12]) for first in range(0, 2400, 12)])
    rows = CodedGroups(codes, (6,) * 7, values, np.arange(0, 2401, 12))
    scores = learn(rows, np.arange(6), keys=seeded_keys(3)).scores(np.arange(2401), np.arange(2400), 6)
    assert (scores.argmax(axis=1) == truth).mean() > 0.9
    assert scores.sum(axis=1) == pytest.approx(np.ones(2400))


def test_a_tiny_release_is_learned_by_the_plain_loops():
    """The plain loops and the compiled ones fit the same model."""
    table = correlated(120, 0.85)
    codes = np.stack([table[name].to_numpy() for name in QUASI])
    truth = np.array([int(one[1:]) for one in table["s"].to_pylist()])
    tiny, large = (
        learn(
            CodedGroups(np.tile(codes, copies), (6,) * 7, np.tile(truth, copies), np.arange(0, 120 * copies + 1, 4)),
            np.arange(6),
        )
        for copies in (1, 10)
    )
    assert tiny.is_tiny
    assert not large.is_tiny
    assert np.abs(tiny.chances - large.chances[:120]).mean() < 0.1


def test_known_odds_read_what_learned_ones_do():
    """Whoever knows the odds beforehand weighs the same worlds, and is right where they decide."""
    table = correlated(900, 0.9)
    codes = np.stack([table[name].to_numpy() for name in QUASI])
    truth = np.array([int(one[1:]) for one in table["s"].to_pylist()])
    rows = CodedGroups(codes, (6,) * 7, truth.reshape(-1, 3)[:, ::-1].ravel(), np.arange(0, 901, 3))
    teacher = CodedGroups(codes, (6,) * 7, truth, np.arange(901))
    scores = learn_from(teacher, rows, np.arange(6)).scores(np.arange(901), np.arange(900), 6)
    assert (scores.argmax(axis=1) == truth).mean() > 0.97


def test_boxes_are_learned_from_when_everybody_is_known():
    """A generalized release places people whom the adversary knows, and is learned from like any other."""
    rng = np.random.default_rng(3)
    table = correlated(1500, 0.8).append_column("age", pa.array(rng.integers(20, 80, 1500)))
    schema = hr.Schema(quasi=["age", *QUASI], sensitive="s")
    release = hr.Mondrian(k=10).publish(table, schema)
    found = run(release, table, targets=500)["deFinetti"]
    assert found.trials > 300
    assert found.rate > found.baseline + 0.1


def test_bins_are_quantiles_or_the_values_themselves():
    """Few values stay apart, many are cut into equal shares, and gaps have a bin of their own."""
    few = np.array([3.0, 1.0, np.nan, 2.0])
    bins = bin_numbers(few, cut_points(few))
    assert bins.tolist() == [2, 0, 3, 1]
    cuts = cut_points(np.arange(1000.0))
    many = bin_numbers(np.arange(1000.0), cuts)
    assert len(cuts) == 15
    assert np.bincount(many).tolist() == pytest.approx([62.5] * 16, abs=1)
