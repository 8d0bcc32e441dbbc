"""The study of coefficients, in small."""

import pytest

from studies import regression
from studies.figures import draw_curves


def test_the_study_runs(tmp_path):
    """Two thousand people: every original coefficient inside, and two figures."""
    pytest.importorskip("matplotlib")
    done = regression.run(tmp_path, quick=True)
    assert done.claims[0].holds
    figures = [*done.figures, *draw_curves(tmp_path, done.tables)]
    assert len(figures) == 2
    assert all(path.is_file() for path in figures)
