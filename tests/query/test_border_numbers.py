"""Constants at, next to and beyond the borders of a column's type compare as the numbers that they are."""

import operator
from decimal import Decimal

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.query import connect

LEAST, LARGEST = -(2**63), 2**63 - 1
WHOLE = [LEAST, LEAST + 1, -1, 0, 1, LARGEST - 1, LARGEST]
STEPS = [-999, -998, 0, 1, 998, 999]  # of hundredths in three digits
CONSTANTS = {
    "whole": [LEAST - 1, *WHOLE, LARGEST + 1, Decimal("0.5"), Decimal("-9223372036854775808.5")],
    "decimal": [Decimal(step).scaleb(-2) for step in (-1000, *STEPS, 1000)] + [Decimal("-9.995"), Decimal("0.005")],
}
COMPARE = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _release(kind):
    """Columns of the type, one of them sensitive; what is summed must lie within a quarter of 64 bits."""
    if kind == "whole":
        columns = {"known": pa.array(WHOLE, pa.int64()), "hidden": pa.array(range(-3, 4), pa.int64())}
    else:
        values = pa.array([Decimal(step).scaleb(-2) for step in STEPS], pa.decimal128(3, 2))
        columns = {"known": values, "hidden": values}
    return columns, hr.Anatomy(l=2).publish(pa.table(columns), hr.Schema(quasi="known", sensitive="hidden"))


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("kind", CONSTANTS)
def test_constants_at_the_borders_of_a_type(kind, engine):
    """How many rows meet a condition on one column is certain for either column, and counted in whole numbers here."""
    columns, release = _release(kind)
    session = connect(release, engine)
    for constant in CONSTANTS[kind]:
        conditions = {f"{name} {{}}": test for name, test in COMPARE.items()}
        conditions |= {"IN ({}, 77)": operator.eq, "NOT IN ({}, 77)": operator.ne}
        conditions |= {"BETWEEN {} AND 99999999999999999999": operator.ge}
        for text, test in conditions.items():
            for column, values in columns.items():
                sql = f"SELECT count(*) AS n FROM release WHERE {column} {text.format(constant)}"
                found = session.answers(sql).table().to_pylist()[0]
                true = sum(test(value, constant) for value in values.to_pylist())
                assert (found["n_lower"], found["n_upper"]) == (true, true), (sql, found, true)
