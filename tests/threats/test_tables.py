"""verifier.md, honest bundles: hostile tables are refused before anything is published, or go the whole way."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from tests.support import table_trials
from tests.support.table_trials import Tally, run_graph_trial, run_trial

_END = 1.7976931348623157e308


def test_random_tables_go_the_whole_way(tmp_path):
    """A sample of `make tables`: no finding, and enough of everything to mean something."""
    tally = Tally()
    for number in range(150):
        run_trial(number, tmp_path, tally)
    assert tally.findings == []
    assert tally.counts["published"] >= 20
    assert tally.counts["answers checked"] >= 20


def test_random_graphs_go_the_whole_way(tmp_path):
    """The same for graphs."""
    tally = Tally()
    for number in range(40):
        run_graph_trial(number, tmp_path, tally)
    assert tally.findings == []
    assert tally.counts["graph answers checked"] >= 5


def test_a_wrong_answer_and_a_refused_bundle_are_seen(tmp_path, monkeypatch):
    """Planted: truths that no answer holds, and a verifier that refuses."""
    with monkeypatch.context() as patch:
        truth = table_trials.true_values
        patch.setattr(
            table_trials, "true_values", lambda *words: {key: rows * 2 for key, rows in truth(*words).items()}
        )
        tally = Tally()
        for number in range(60):
            run_trial(number, tmp_path, tally)
        assert tally.counts["truth outside"] + tally.counts["wrong exact"] >= 2

    def refuse(place):
        raise hr.BrokenPromise("planted")

    monkeypatch.setattr(table_trials, "verify_bundle", refuse)
    tally = Tally()
    for number in range(20):
        run_trial(number, tmp_path, tally)
    assert tally.counts["honest bundle refused"] >= 2


@pytest.mark.parametrize(
    "values",
    [
        pa.array([2**63 - 1, -(2**63), 1, 2]),
        pa.array([_END, -_END, 1.0, 2.5]),
        pa.array([5e-324, 1e-323, 0.0, 1.5e-323]),
        pa.array([Decimal(10**37), Decimal(1), Decimal(2), Decimal(3)], pa.decimal128(38, 0)),
    ],
    ids=["whole", "large", "denormal", "decimal"],
)
def test_numbers_that_cannot_be_summed_are_refused_before_publishing(values):
    """They were published, and then no bundle could be written; the refusal names the column and what would work."""
    table = pa.table({"age": [1, 2, 3, 4], "pay": values})
    with pytest.raises(hr.SchemaError, match=r"'pay'.*(units|text)"):
        hr.Anatomy(l=2).publish(table, hr.Schema(quasi="age", sensitive="pay"))


@pytest.mark.parametrize("columns", [1, 2])
def test_microaggregation_at_the_end_of_floats_is_refused_by_name(columns):
    """Spreads overflowed, distances were not numbers, and the search never ended."""
    ends = [_END, -_END, 1.0, 2.0, _END, -_END]
    table = pa.table({f"q{n}": ends for n in range(columns)} | {"s": [1, 2, 3, 4, 5, 6]})
    schema = hr.Schema(quasi=[f"q{n}" for n in range(columns)], sensitive="s")
    with pytest.raises(hr.SchemaError, match="'q0'"):
        hr.Microaggregation(k=2).publish(table, schema)


def test_noise_at_the_end_of_floats_is_refused_by_name():
    """It became infinite, and the verifier called it a broken promise."""
    table = pa.table({"age": [1, 2, 3, 4], "pay": [_END, -_END, _END, -_END]})
    with pytest.raises(hr.SchemaError, match="'pay'"):
        hr.Noise(scale=2).publish(table, hr.Schema(quasi="age", sensitive="pay"))


def test_a_walk_at_the_end_of_floats_is_refused_in_a_sentence():
    """A warning about an overflow came first."""
    table = pa.table({"age": [_END, -_END, 0.5, 2.5], "pay": [1, 2, 3, 4]})
    with pytest.raises(hr.HedgerowError):
        hr.PropertyWalk(share="0.2").publish(table, hr.Schema(quasi="age", sensitive="pay"))


def test_a_published_table_without_rows_can_be_read_back(tmp_path):
    """Two people who fit the target exactly leave the table of implied weights empty: it was written unreadably."""
    table = pa.table({"age": [1, 2], "pay": [10.5, 20.5]})
    method = hr.TargetDistribution(target="uniform", grouping="quasi", shift="0.1")
    release = method.publish(table, hr.Schema(quasi="age", sensitive="pay"))
    assert release.tables["implied"].num_rows == 0
    release.save(tmp_path / "out")
    assert hr.open(tmp_path / "out").tables["implied"].num_rows == 0


def test_small_floats_keep_their_digits_beside_an_outlier():
    """0.2165 was called exact, and the truth is 0.21667...: floats of all sizes are added up without rounding."""
    small = [0.28229247413814645, 0.1510509171654725, 0.3, 0.1]
    table = pa.table({"age": [*small, 1e15 / 3], "pay": [1, 2, 3, 4, 5]})
    release = hr.KEAnonymity(k=5).publish(table, hr.Schema(quasi="age", sensitive="pay"))
    answer = release.ask("SELECT avg(age) FROM release WHERE age < 0.29 AND age > 0.11")
    truth = (Fraction(small[0]) + Fraction(small[1])) / 2
    assert answer.lower <= truth <= answer.upper
    assert answer.exact
    assert answer.expected == float(truth)
    assert release.ask("SELECT sum(age) FROM release").exact


def test_conditions_on_boxes_that_reach_the_end_of_floats():
    """The share of a box that a condition hits was an infinite number divided by another."""
    table = pa.table({"age": [_END, -_END, 1.0, 2.0], "pay": [1, 2, 3, 4]})
    release = hr.Mondrian(k=4).publish(table, hr.Schema(quasi="age", sensitive="pay"))
    answer = release.ask("SELECT count(*) FROM release WHERE age > 1.5")
    assert answer.lower <= 2 <= answer.upper
    assert np.isfinite(answer.expected)
