"""Answers over counterfeits: the truth lies inside the bounds, whoever the values belong to."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.release import Guarantee, Made, PublishedColumns, Release, Rows
from hedgerow.release.forms.padded import PADDED
from tests.support.truth import database_of

QUESTIONS = [
    "count(*)", "count(pay)", "sum(pay)", "avg(pay)", "min(pay)", "max(pay)", "median(pay)", "var_pop(pay)",
    "count(DISTINCT pay)", "sum(pay * 2 + 1)", "sum(age)", "max(age)", "count(nullif(pay, 4))",
    "count(CASE WHEN pay > 3 THEN 1 END)", "avg(nullif(pay, 4))", "median(CASE WHEN pay < 4 THEN pay END)",
]  # fmt: skip
CONDITIONS = ["", "WHERE age >= 2", "WHERE pay > 3", "WHERE age >= 2 AND pay IN (1, 4, 6)", "WHERE age < 2 OR pay > 4"]


def release_of(groups):
    """A release whose groups are (ages, values)."""
    ages = [(age, g) for g, (ages, _) in enumerate(groups) for age in ages]
    pays = [(pay, g) for g, (_, pays) in enumerate(groups) for pay in pays]
    tables = {
        "quasi": pa.table({"age": [a for a, _ in ages], "group": pa.array([g for _, g in ages], pa.int32())}),
        "sensitive": pa.table({"pay": [p for p, _ in pays], "group": pa.array([g for _, g in pays], pa.int32())}),
    }
    promise = Guarantee("m_invariance", {"m": 2, "counterfeits": len(pays) - len(ages)}, ("pay",), "", "")
    columns = PublishedColumns(("age",), ("pay",))
    made = Made("MInvariant", {"m": 2})
    return Release(PADDED, tables, columns, "group", promise, Rows(len(ages), len(ages)), len(groups), made)


@st.composite
def groups(draw):
    """One or two groups with at most three people and four different values."""
    made = []
    for _ in range(draw(st.integers(1, 2))):
        pays = draw(st.lists(st.integers(0, 7), min_size=2, max_size=4, unique=True))
        made.append((draw(st.lists(st.integers(0, 4), min_size=1, max_size=min(3, len(pays)))), pays))
    return made


def answers(groups, question):
    """The answer in every world: everybody takes another one of the values of the group."""
    worlds = itertools.product(*(itertools.permutations(pays, len(ages)) for ages, pays in groups))
    ages = [age for ages, _ in groups for age in ages]
    rows = [(n, age, pay) for n, world in enumerate(worlds)
            for age, pay in zip(ages, itertools.chain(*world), strict=True)]  # fmt: skip
    world, age, pay = zip(*rows, strict=True)
    with database_of(release=pa.table({"world": world, "age": age, "pay": pay})) as database:
        select, where = question
        sql = f"SELECT w.world, {select} FROM (SELECT DISTINCT world FROM release) w LEFT JOIN "
        sql += f"(SELECT * FROM release {where}) r USING (world) GROUP BY w.world"
        sql = sql.replace("count(*)", "count(age)")
        return [row[1] for row in database.execute(sql).fetchall()]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(groups(), st.sampled_from(QUESTIONS), st.sampled_from(CONDITIONS))
def test_every_world_lies_inside_the_bounds(drawn, select, where):
    """Over every injection of people into values no aggregate leaves its bounds; counts and sums reach them."""
    release = release_of(drawn)
    try:
        answer = release.ask(f"SELECT {select} FROM release {where}")
    except hr.QueryError:
        assert select in ("sum(age)", "max(age)")  # an open column under this condition on the sensitive one
        assert "pay" in where
        return
    possible = [float(number) for number in answers(drawn, (select, where)) if number is not None]
    if not possible:
        assert answer.lower is None or answer.upper is None or answer.lower <= answer.upper
        return
    low, high = float(answer.lower), float(answer.upper)
    assert low <= min(possible) + 1e-9
    assert high >= max(possible) - 1e-9
    if select in ("count(*)", "sum(pay)", "min(pay)", "max(pay)") and where in ("", "WHERE age >= 2"):
        assert (low, high) == (min(possible), max(possible))
        if select != "min(pay)" and select != "max(pay)":
            assert float(answer.expected) == pytest.approx(np.mean(possible))


def test_rows_are_counted_exactly_and_values_are_not():
    """Nobody counts counterfeits: two people among four values are two, and perhaps none of them earns 6."""
    release = release_of([([1, 3], [1, 2, 6, 7])])
    assert release.ask("SELECT count(*) FROM release").exact
    found = release.ask("SELECT count(*) FROM release WHERE pay >= 6")
    assert (found.lower, found.upper, found.expected) == (0, 2, 1.0)
    assert release.ask("SELECT count(*) FROM release WHERE pay >= 2").lower == 1


def test_databases_give_the_same_answers():
    """DuckDB counts and array code finishes, as over any other form."""
    release = release_of([([1, 3], [1, 2, 6, 7]), ([2], [0, 5]), ([4, 4, 0], [3, 4, 5])])
    session = release.connect("duckdb")
    for select, where in itertools.product(QUESTIONS, CONDITIONS):
        sql = f"SELECT {select} FROM release {where}"
        try:
            plain = release.ask(sql)
        except hr.QueryError:
            continue
        other = session.ask(sql)
        assert (other.lower, other.upper) == (plain.lower, plain.upper), sql


def test_grouping_by_the_sensitive_column_is_refused_with_the_reason():
    """Values do not lie beside rows."""
    with pytest.raises(hr.QueryError, match="counterfeits GROUP BY"):
        release_of([([1, 3], [1, 2, 6])]).sql("SELECT pay, count(*) FROM release GROUP BY pay")


def test_open_columns_group_as_always():
    """GROUP BY of a quasi-identifier has bounds over all values of the groups."""
    found = release_of([([1, 3], [1, 2, 6])]).sql("SELECT age, sum(pay) AS s FROM release GROUP BY age ORDER BY age")
    assert found.column("s_lower").to_pylist() == [1, 1]
    assert found.column("s_upper").to_pylist() == [6, 6]
