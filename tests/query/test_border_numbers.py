"""Constants at, next to and beyond the borders of a column's type compare as the numbers that they are."""

import operator
import random
from decimal import Decimal

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import QueryError
from hedgerow.query import connect
from tests.support.agreement import disagreement
from tests.support.assignments import release_of
from tests.support.every_form import sample_of

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


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_decimals_become_the_nearest_floats(engine):
    """In casts, computed values and joins alike; Arrow's own cast misses one in eight."""
    cents = range(100, 2_000, 7)
    columns = {
        "fee": pa.array([Decimal(n).scaleb(-2) for n in cents], pa.decimal128(9, 2)),
        "s": [n % 5 for n in cents],
    }
    session = connect(hr.Anatomy(l=2).publish(pa.table(columns), hr.Schema(quasi="fee", sensitive="s")), engine)
    for cent in cents[::9]:
        for value in ("fee::DOUBLE", "abs(fee) * 1.0::DOUBLE", "greatest(fee, 0)::DOUBLE"):
            text = f"SELECT count(*) AS n FROM release WHERE {value} = {cent / 100}::DOUBLE"
            assert session.ask(text).lower == 1, text
    own = {"own": pa.table({"fee": [n / 100 for n in cents], "mark": ["x"] * len(cents)})}
    assert session.ask("SELECT count(*) AS n FROM release JOIN own USING (fee)", tables=own).lower == len(cents)
    decimals = {"own": own["own"].set_column(0, "fee", columns["fee"])}
    assert session.ask("SELECT count(*) AS n FROM release JOIN own USING (fee)", tables=decimals).lower == len(cents)


@pytest.mark.parametrize("form", ["generalized, whole numbers", "generalized to least boxes, decimals"])
def test_sums_of_computed_decimals_do_not_depend_on_the_engine(form):
    """Whoever computes them: bounds are equal to the last digit, and so is what is said about them."""
    for seed in range(6):
        sample = sample_of(form, random.Random(seed), rows=20)
        arrays, database = connect(sample.release), connect(sample.release, "duckdb")
        for value in ("abs(fee) * 1", "fee * 1", "round(fee / 7, 1)"):
            text = f"SELECT sum({value}) FILTER (WHERE s < fee) AS x FROM release"
            assert disagreement(arrays, database, text) is None, text


@pytest.mark.parametrize("hidden", [False, True])
def test_arithmetic_beyond_64_bits_is_refused_by_every_engine(hidden):
    """Also where a database would rewrite it to something that it can compute, or look at fewer rows first."""
    columns = {"a": pa.array([LEAST, LEAST + 1, -1, 0, 1, 5, LARGEST - 1, LARGEST], pa.int64()), "s": list(range(8))}
    release = hr.Anatomy(l=2).publish(pa.table(columns), hr.Schema(quasi="a", sensitive="s"))
    arrays, database = connect(release), connect(release, "duckdb")
    also = " AND s > 3" if hidden else ""
    for condition in ("-a < 0", "a + 1 > 0", "a * 2 > 0", "abs(a) > 5", "a < 100 AND a > 0 AND a * 3 > 0", "a - 1 < s"):
        text = f"SELECT count(*) AS n FROM release WHERE {condition}{also}"
        with pytest.raises(QueryError, match="64-bit"):
            arrays.ask(text)
        assert disagreement(arrays, database, text) is None, text
    for item in ("sum(-a)", "max(a + 1)", "count(DISTINCT a * 2)"):
        assert disagreement(arrays, database, f"SELECT {item} AS x FROM release") is None, item
    for condition in ("-s < 0", "a % 3 = 0", "a // 3 = 0", "CASE WHEN a > 0 THEN 1 ELSE a END > 0", "s * 1000 + 5 > 0"):
        text = f"SELECT count(*) AS n FROM release WHERE {condition}{also}"
        assert disagreement(arrays, database, text) is None, text
        assert arrays.ask(text).lower is not None


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_there_is_one_zero(engine):
    """Arrow tells 0.0 from -0.0 where it looks for equal values; SQL does not, also where a zero is computed."""
    columns = {"a": [0.0, -0.0, 1.0, 2.0], "b": [1.0, 1.0, -1.0, 1.0], "s": [1, 2, 3, 4]}
    session = connect(release_of(columns, [0, 0, 1, 1], sensitive="s"), engine)
    assert session.ask("SELECT count(DISTINCT a) AS n FROM release").upper == 3
    assert session.ask("SELECT count(DISTINCT (a * -4) % 2) AS n FROM release").upper == 1
    assert session.sql("SELECT a, count(*) AS n FROM release GROUP BY a").to_pylist()[0]["n"] == 2
    for condition in ("a IN (0.0, 7)", "a * b IN (0.0, 7)", "a = 0", "a * s = 0"):
        assert session.ask(f"SELECT count(*) AS n FROM release WHERE {condition}").lower == 2, condition
    own = {"own": pa.table({"a": [-0.0, 1.0], "mark": ["x", "y"]})}
    assert session.ask("SELECT count(*) AS n FROM release JOIN own USING (a)", tables=own).lower == 3
