"""The help table: the printed one, its types, and several kinds of numbers."""

from decimal import Decimal

import pyarrow as pa
import pytest

from hedgerow.datasets.printed import SALARY_GROUPS
from hedgerow.query import help_table
from hedgerow.query.engines.help import help_by_group
from hedgerow.query.evidence.view import view_of
from tests.support.assignments import release_of
from tests.support.printed import salaries_help, salaries_permuted


def test_the_printed_help_table_is_reproduced():
    """Table 2.4, all rows: SUM and MIN for one, two and three hits in each group."""
    table = salaries_permuted()
    columns = {name: table.column(name) for name in ("age", "zipcode", "gender", "salary")}
    built = help_table(release_of(columns, SALARY_GROUPS, sensitive="salary")).to_pydict()
    rows = zip(*(built[name] for name in ("sum_lower", "sum_upper", "min_lower", "min_upper")), strict=True)
    assert list(rows) == [
        (54_000, 56_000, 54_000, 56_000),
        (109_000, 111_000, 54_000, 55_000),
        (165_000, 165_000, 54_000, 54_000),
        (65_000, 75_000, 65_000, 75_000),
        (135_000, 145_000, 65_000, 70_000),
        (210_000, 210_000, 65_000, 65_000),
        (75_000, 85_000, 75_000, 85_000),
        (155_000, 165_000, 75_000, 80_000),
        (240_000, 240_000, 75_000, 75_000),
    ]
    assert built["group"] == list(SALARY_GROUPS)
    assert built["hits"] == [1, 2, 3] * 3
    assert built["max_lower"][:3] == [54_000, 55_000, 56_000]
    assert salaries_help().num_rows == 9


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], pa.int64()),
        ([1.0, 2.0], pa.int64()),
        ([1.5, 2.25], pa.decimal128(18, 2)),
        ([1 / 3, 2 / 3], pa.decimal128(18, 15)),
        (pa.array([Decimal("1.5"), Decimal("2.0")], pa.decimal128(9, 1)), pa.decimal128(18, 1)),
        ([1e-20, 3e-21 / 7], pa.decimal128(38, 34)),
    ],
)
def test_bounds_are_exact_types(values, expected):
    """Whole numbers are BIGINT, grids DECIMAL of 18 digits where they fit, so that databases add them exactly."""
    table = help_table(release_of({"a": [1, 2], "x": values}, [0, 0], sensitive="x"))
    kinds = {
        table.schema.field(name).type for name in table.column_names[3:] if not name.startswith(("sum_e", "sum_v"))
    }
    assert len(kinds) == 1
    (kind,) = kinds
    assert kind == expected or (pa.types.is_decimal(kind) and kind.precision == expected.precision)


def test_ragged_floats_are_enclosed():
    """A float without a decimal grid lies between its two decimals."""
    values = [1 / 3, 2 / 3, 1 / 7]
    table = help_table(release_of({"a": [1, 2, 3], "x": values}, [0] * 3, sensitive="x"))
    for name, value in (("min_lower", 1 / 7), ("max_upper", 2 / 3)):
        assert abs(table[name][0].as_py() - Decimal(value)) < Decimal("1e-14")
    assert table["max_lower"][0].as_py() <= Decimal(1 / 7) <= table["min_upper"][2].as_py()


@pytest.mark.parametrize("values", [["a", "b"], [1, None]])
def test_columns_without_bounds_are_left_out(values):
    """Text has no sums, and missing values make the number of values uncertain."""
    table = help_table(release_of({"a": [1, 2], "x": values}, [0, 0], sensitive="x"))
    assert table.column_names == ["group", "hits", "size"]


@pytest.mark.parametrize(
    "values", [[5, 1, 4, 9, 2], [1.5, 0.25, 7.0, -3.0, 2.0], [2**61, 3, -(2**61), 2**61 - 1, 2**61 - 2]]
)
def test_help_by_group_says_the_same(values):
    """One row per group with lists holds the sums of the help table."""
    release = release_of({"a": [1, 2, 3, 4, 5], "x": values}, [0, 0, 0, 1, 1], sensitive="x")
    helper = help_table(release)
    grouped = help_by_group(view_of(release)).to_pylist()
    assert [row["size"] for row in grouped] == [3, 2]
    lower = [n for row in grouped for n in row["sums"][: row["size"]]]
    upper = [n for row in grouped for n in row["sums"][row["size"] :]]
    assert (lower, upper) == (helper["sum_lower"].to_pylist(), helper["sum_upper"].to_pylist())
    means = [h * row["mean"] for row in grouped for h in range(1, row["size"] + 1)]
    assert means == pytest.approx(helper["sum_expected"].to_pylist())
    assert [row["variance"] for row in grouped] == pytest.approx(
        [n for n, h in zip(helper["sum_variance"].to_pylist(), helper["hits"].to_pylist(), strict=True) if h == 1]
    )
