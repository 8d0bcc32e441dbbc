"""Values replaced by chance."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from hedgerow.randomness import seeded_keys
from hedgerow.release.forms.perturbed import NOISES, inverted_count, noise, publish_perturbed, retain_values
from hedgerow.release.release import PublishedColumns


def test_retention_follows_its_probability():
    """Every value is published as often as p and the uniform draw say."""
    codes, p, rows = np.zeros(60_000, np.int32), Fraction(1, 4), 60_000
    drawn = np.bincount(retain_values(codes, 5, p=p, keys=seeded_keys(1)), minlength=5)
    expected = np.array([rows * (0.25 + 0.15)] + [rows * 0.15] * 4)
    assert ((drawn - expected) ** 2 / expected).sum() < 23.5  # chi-square with 4 degrees, one in ten thousand


def test_retention_at_its_ends():
    """p = 1 keeps everything, p = 0 nothing but by chance."""
    codes = np.arange(1000, dtype=np.int32)
    assert np.array_equal(retain_values(codes, 1000, p=Fraction(1)), codes)
    assert (retain_values(codes, 1000, p=Fraction(0), keys=seeded_keys(3)) == codes).sum() < 12


@pytest.mark.parametrize("kind", NOISES)
def test_noise_has_its_shape(kind):
    """Mean 0, deviation 1, and the fourth moment of its distribution."""
    drawn = noise(200_000, kind=kind, keys=seeded_keys(7))
    assert abs(drawn.mean()) < 0.02
    assert drawn.std() == pytest.approx(1, abs=0.02)
    assert (drawn**4).mean() == pytest.approx({"normal": 3, "laplace": 6, "uniform": 1.8}[kind], rel=0.1)


def test_rows_leave_in_random_order():
    """Every order of three rows comes up, and rows stay whole."""
    table, columns = pa.table({"age": [1, 2, 3], "pay": [4, 5, 6]}), PublishedColumns(("age",), ("pay",))
    seen = set()
    for _ in range(120):
        published = publish_perturbed(table, columns, {"pay": pa.array([7, 8, 9])})
        seen.add(tuple(zip(*published.to_pydict().values(), strict=True)))
    assert len(seen) == 6
    assert {frozenset(rows) for rows in seen} == {frozenset({(1, 7), (2, 8), (3, 9)})}


def test_inversion():
    """Of 100 rows at p = 1/2 and a domain half of which matches, 45 published ones stand for 40 true ones."""
    assert inverted_count(45, 100, p=Fraction(1, 2), share=Fraction(1, 2)) == pytest.approx(40)
    with pytest.raises(QueryError, match="nothing was retained"):
        inverted_count(45, 100, p=Fraction(0), share=Fraction(1, 2))
