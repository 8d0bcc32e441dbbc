"""Values that are far more frequent in a group than in the table."""

from dataclasses import replace

import pyarrow as pa
import pytest

from hedgerow.attack.adversaries.skewness import skewness
from hedgerow.attack.beliefs import beliefs


def _seen(salaries_release, groups, values):
    table = pa.table({"group": pa.array(groups, pa.int32()), "salary": values})
    return beliefs(replace(salaries_release, tables={"release": table}), "salary")


def test_the_value_that_grows_most_is_guessed(salaries_release):
    """2 is half of the first group and a fifth of the table; 3 is a third of the second and a tenth of the table."""
    found = skewness(_seen(salaries_release, [0] * 4 + [1] * 6, [1, 1, 2, 2, 1, 1, 1, 1, 3, 3]))
    assert found.rate == pytest.approx((4 * 1 / 2 + 6 * 1 / 3) / 10)
    assert found.baseline == pytest.approx(0.2)
    assert found.factor == pytest.approx(2.5)


def test_groups_like_the_table_raise_nothing(salaries_release):
    """Where every group has the table's shares, the factor is 1 and nothing is gained."""
    found = skewness(_seen(salaries_release, [0, 0, 0, 1, 1, 1], [1, 2, 2, 1, 2, 2]))
    assert found.factor == pytest.approx(1)
    assert found.rate == pytest.approx(found.baseline) == pytest.approx(2 / 3)
