"""The study of target distributions runs, and its tables are what they say."""

import numpy as np

from studies.figures import draw_curves
from studies.real import data_folder
from studies.targets import run
from studies.targets_data import LOWEST, by_width, correlated, error, published, uncorrelated


def test_quick_run(tmp_path):
    """A quick run gives a verdict or its reason for every claim, and figures that exist."""
    study = run(tmp_path, quick=True)
    # One claim is about Adult, which is not always at hand.
    assert len(study.claims) >= (18 if data_folder() else 17)
    assert all(claim.seen for claim in study.claims)
    figures = draw_curves(tmp_path, study.tables)
    assert len(figures) >= 7
    assert all(path.exists() and path.with_suffix(".svg").exists() for path in figures)
    verdicts = {claim.says: claim.holds for claim in study.claims}
    assert verdicts["relaxing some people's privacy makes subdomains smaller"]
    assert verdicts["correlation: more parts make both groupings more accurate"]


def test_synthetic_tables():
    """Correlated losses follow age, uncorrelated ones do not, and all lie in their domain."""
    apart, together = uncorrelated(2000, 256), correlated(2000, 256)
    assert abs(np.corrcoef(apart.age, apart.loss)[0, 1]) < 0.1
    assert np.corrcoef(together.age, together.loss)[0, 1] > 0.95
    for shape in ("uniform", "zipf"):
        loss = uncorrelated(500, 64, shape=shape).loss
        assert loss.min() >= LOWEST
        assert loss.max() < LOWEST + 64


def test_trees_by_width_halve_the_range():
    """Equal halves of the range, whatever lies in them."""
    tree = by_width([0, 1, 2, 3, 100])
    assert [tree.labels[c] for c in tree.children(tree.root)] == ["[0, 3]", "100"]


def test_errors_are_relative_widths():
    """A table under its own distribution has no error where everybody is asked for."""
    losses = uncorrelated(300, 32)
    release = published(losses, "source")
    assert error(release, losses, 70, queries=2) < 1e-9
    assert error(release, losses, 3, queries=2) > 0
