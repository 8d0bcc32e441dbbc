"""The study of coefficients, in small."""

import pytest

from studies import regression


def test_the_study_runs(tmp_path):
    """Two thousand people: every original coefficient inside, and two figures."""
    pytest.importorskip("matplotlib")
    done = regression.run(tmp_path, quick=True)
    assert done.claims[0].holds
    assert all(path.is_file() for path in done.figures)
