"""The COUNT studies in their quick form, and what they call a trend."""

import numpy as np
import pytest

from hedgerow.datasets import census
from studies import permutation, proximity
from studies.counting import Workload, error_of, falls, grows
from studies.frame import run_plan


@pytest.mark.parametrize(("study", "figures"), [(proximity, 4), (permutation, 7)], ids=["proximity", "permutation"])
def test_a_quick_study_judges_every_claim_and_draws_every_figure(study, figures, tmp_path, monkeypatch):
    """Each claim has words for what was seen; each figure is a file that is not empty."""
    for name in ("DIMENSIONS", "VOLUMES"):
        monkeypatch.setattr(study, name, getattr(study, name)[:2])
    heard = []
    _, done = run_plan("count", study.PLAN, tmp_path, quick=True, progress=heard.append)
    assert heard
    assert len(done.figures) == figures
    assert all(figure.stat().st_size > 5_000 for figure in done.figures)
    assert all(claim.seen and claim.says for claim in done.claims)
    assert all(table.num_rows for table in done.tables.values())


def test_near_groups_answer_better_than_perturbation(monkeypatch):
    """The proximity paper's main claim holds even on a small table."""
    monkeypatch.setattr(proximity, "SHARES", proximity.SHARES[:2])
    runs = proximity._Runs(proximity._tables(quick=True)[0], 30, lambda _: None)
    claims = {claim.says: claim.holds for claim in runs._against_eps()}
    assert claims["groups answer more precisely than perturbation"]


def test_education_is_in_its_order():
    """No schooling is 0, a doctorate 16; the other columns stay."""
    people = census(2000)
    ordered = permutation.in_order(people)
    pairs = dict(zip(people["education"].to_pylist(), ordered["education"].to_pylist(), strict=True))
    assert pairs["No schooling"] == 0
    assert pairs["9th grade"] < pairs["High school graduate"] < pairs["Master's degree"] < pairs["Doctorate"] == 16
    assert ordered.drop_columns(["education"]).equals(people.drop_columns(["education"]))


def test_mean_and_median_of_errors():
    """One query with a tiny answer carries the mean alone."""
    asked = Workload([None] * 3, np.array([10.0, 10.0, 1.0]))
    mean, median = error_of(asked, lambda queries: np.array([11.0, 11.0, 10.0]))
    assert (mean, median) == (pytest.approx((0.1 + 0.1 + 9) / 3), pytest.approx(0.1))


def test_trends_allow_for_noise_and_not_for_the_opposite():
    """A dip within the slack is noise; an end below the start is no growth."""
    assert grows([1.0, 2.0, 1.95, 3.0])
    assert not grows([1.0, 2.0, 1.5, 3.0])
    assert not grows([2.0, 2.0, 1.99])
    assert falls([3.0, None, 2.0, 2.05, 1.0])
    assert not falls([1.0])
