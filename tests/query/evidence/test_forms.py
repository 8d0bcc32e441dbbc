"""Every form: the papers' worked answers, and every table that a small release may come from."""

import dataclasses
import random
from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.datasets.printed import PATIENT_GROUPS, patients
from hedgerow.query import ask, connect, select
from hedgerow.release import PublishedColumns
from hedgerow.release.forms import Labelled, form_of
from hedgerow.release.forms.generalized import publish_generalized
from hedgerow.table import read_table
from tests.support.assignments import release_of
from tests.support.form_worlds import (
    as_generalized,
    as_scattered,
    as_separated,
    possible_answers,
    possible_groups,
)
from tests.support.printed import patients_scattered, patients_separated

FORMS = {"permuted": lambda release: release, "separated": as_separated, "scattered": as_scattered}
FORMS |= {"generalized": as_generalized}
FLU = "SELECT count(*) FROM release WHERE age BETWEEN 40 AND 70 AND sex = 'F' AND disease = 'Flu'"
TIGHT = ["count(*)", "sum(s)", "avg(s)", "min(s)", "max(s)", "median(s)", "quantile_disc(s, 0.25)"]
LOOSE = ["var_pop(s)", "stddev(s)", "count(DISTINCT s)", "max(s) - min(s)", "sum(s) / count(s)", "sum(s * s)"]
ONCE = ["a >= 2", "a = 2 AND b = 'x'", "NOT (a = 1 AND b = 'x')", "b = 'y' OR a < 2", "1 = 1", "a > 5"]
HIDDEN = ["", " AND s > 0", " AND s IN (-1, 2)", " AND NOT s = 1", " AND s > 9"]


@st.composite
def releases(draw):
    """Up to five rows in two groups."""
    rows = draw(st.integers(1, 5))
    columns = {
        "a": draw(st.lists(st.integers(1, 3), min_size=rows, max_size=rows)),
        "b": draw(st.lists(st.sampled_from("xy"), min_size=rows, max_size=rows)),
        "s": draw(st.lists(st.integers(-2, 3), min_size=rows, max_size=rows)),
    }
    return release_of(columns, [int(row >= 2) for row in range(rows)], sensitive="s")


def published(form, tables, quasi, sensitive):
    """Printed tables as a release."""
    whole = release_of({"a": [1], "s": [1]}, [0], sensitive="s")
    columns = PublishedColumns(quasi, (sensitive,))
    return dataclasses.replace(whole, form=form_of(form), tables=tables, columns=columns, groups=2)


def numbered(table):
    """Group numbers of the published type."""
    place = table.column_names.index("group")
    return table.set_column(place, "group", pa.array(table["group"].to_pylist(), pa.int32()))


def check(whole, form, aggregate, condition, *, is_tight):
    """The bounds are, or enclose, the least and the greatest answer of all possible tables."""
    answer = ask(FORMS[form](whole), f"SELECT {aggregate} FROM release WHERE {condition}")
    answers = [number for number in possible_answers(whole, form, aggregate, condition) if number is not None]
    if not answers:
        assert answer.lower is None
        return
    assert answer.lower <= min(answers) + 1e-9
    assert answer.upper >= max(answers) - 1e-9
    assert answer.lower - 1e-9 <= answer.expected <= answer.upper + 1e-9
    if is_tight:
        assert (answer.lower, answer.upper) == pytest.approx((min(answers), max(answers)), abs=1e-9)


def test_the_nine_patients_separated():
    """Two women of the age are in either group: 2/5 + 2/4."""
    quasi, sensitive = (numbered(table) for table in patients_separated())
    answer = ask(published("separated", {"quasi": quasi, "sensitive": sensitive}, ("age", "sex"), "disease"), FLU)
    assert (answer.lower, answer.upper) == (0, 2)
    assert answer.expected == pytest.approx(0.9)


def test_the_nine_patients_scattered():
    """5 * 4/5 * 3/5 * 1/5 + 4 * 3/4 * 2/4 * 1/4."""
    quasi, sensitive = (numbered(table) for table in patients_scattered())
    answer = ask(published("scattered", {"quasi": quasi, "sensitive": sensitive}, ("age", "sex"), "disease"), FLU)
    assert (answer.lower, answer.upper) == (0, 2)
    assert answer.expected == pytest.approx(0.855)


def test_the_nine_patients_generalized():
    """Half of the first box's ages and a quarter of the second's, half of the sexes, one flu in each: 3/8."""
    columns = PublishedColumns(("age", "sex"), ("disease",))
    table = read_table(patients().select(["age", "sex", "disease"]))
    tables = publish_generalized(Labelled(table, columns, np.array(PATIENT_GROUPS, np.int32), "group"))
    answer = ask(published("generalized", tables, columns.quasi, "disease"), FLU)
    assert (answer.lower, answer.upper) == (0, 2)
    assert answer.expected == pytest.approx(3 / 8)


def test_the_salaries_generalized():
    """Ages to tens: the middle group is inside, the others may be."""
    ages = {"age_low": [31] * 3 + [41] * 3 + [51] * 3, "age_high": [40] * 3 + [50] * 3 + [60] * 3}
    salary = [1000 * k for k in (56, 54, 55, 65, 75, 70, 80, 75, 85)]
    table = pa.table(
        {"age": ["?"] * 9, **ages, "salary": salary, "group": pa.array([0, 0, 0, 1, 1, 1, 2, 2, 2], pa.int32())}
    )
    answer = ask(
        published("generalized", {"release": table}, ("age",), "salary"),
        "SELECT sum(salary) FROM release WHERE age BETWEEN 35 AND 55",
    )
    assert (answer.lower, answer.upper) == (210_000, 615_000)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("aggregate", TIGHT)
@settings(max_examples=15, deadline=None)
@given(whole=releases(), condition=st.sampled_from(ONCE), hidden=st.sampled_from(HIDDEN))
def test_bounds_are_reached_on_every_form(form, aggregate, whole, condition, hidden):
    """No possible table gives an answer outside, and some table gives each end."""
    check(whole, form, aggregate, f"({condition}){hidden}", is_tight=True)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=60, deadline=None)
@given(
    whole=releases(), aggregate=st.sampled_from(LOOSE), condition=st.sampled_from(ONCE), hidden=st.sampled_from(HIDDEN)
)
def test_bounds_hold_on_every_form(form, whole, aggregate, condition, hidden):
    """The other aggregates, computed ones included, enclose every possible answer."""
    check(whole, form, aggregate, f"({condition}){hidden}", is_tight=False)


MIXED = [
    "a >= 2 OR s > 0",
    "(a = 1 AND s > 0) OR (b = 'x' AND s < 1)",
    "NOT (a > 1 AND s = 1) AND b = 'x'",
    "a >= 2 AND (b = 'x' OR s > 0)",
    "b = 'y' AND (a <> 2 OR s < 1) AND s <> 2",
]


@pytest.mark.parametrize("form", ["permuted", "generalized"])
@settings(max_examples=60, deadline=None)
@given(whole=releases(), aggregate=st.sampled_from([*TIGHT, *LOOSE]), condition=st.sampled_from(MIXED))
def test_conditions_that_mix_known_and_hidden_hold(form, whole, aggregate, condition):
    """OR between a quasi-identifier and the sensitive column is answered; COUNT with one alternative is reached."""
    is_tight = aggregate == "count(*)" and condition == MIXED[0] and form == "permuted"
    check(whole, form, aggregate, condition, is_tight=is_tight)


@pytest.mark.parametrize("form", ["permuted", "generalized"])
@settings(max_examples=40, deadline=None)
@given(whole=releases(), condition=st.sampled_from([*MIXED, *ONCE]))
def test_groups_of_the_sensitive_column_hold_in_every_table(form, whole, condition):
    """Every group of every possible table is listed, and its numbers lie inside the bounds."""
    text = f"SELECT s, count(*) AS n, sum(s) AS t FROM release WHERE {condition} GROUP BY s"
    table = select(FORMS[form](whole), text)
    found = {row["s"]: row for row in table.to_pylist()}
    for value, answers in possible_groups(whole, form, "s", "count(*), sum(s)", condition).items():
        for number, total in answers:
            assert found[value]["n_lower"] <= number <= found[value]["n_upper"]
            assert found[value]["t_lower"] <= total <= found[value]["t_upper"]


@settings(max_examples=60, deadline=None)
@given(whole=releases(), aggregate=st.sampled_from(["sum(a)", "avg(a)", "min(a)", "max(a)", "median(a)"]))
def test_known_columns_under_a_hidden_condition_are_bounded(whole, aggregate):
    """Which of the rows hit match is open, so their quasi-identifiers are, too."""
    for form in ("permuted", "scattered"):
        check(whole, form, aggregate, "b = 'x' AND s > 0", is_tight=True)


@settings(max_examples=60, deadline=None)
@given(whole=releases(), condition=st.sampled_from(ONCE), aggregate=st.sampled_from(TIGHT))
def test_generalized_bounds_contain_permuted_ones(whole, condition, aggregate):
    """Blurring quasi-identifiers never tells more than shuffling sensitive values."""
    wide, narrow = (
        ask(FORMS[form](whole), f"SELECT {aggregate} FROM release WHERE {condition}")
        for form in ("generalized", "permuted")
    )
    if narrow.lower is not None:
        assert wide.lower <= narrow.lower
        assert narrow.upper <= wide.upper


@settings(max_examples=50, deadline=None)
@given(whole=releases(), condition=st.sampled_from(ONCE[:4]), aggregate=st.sampled_from(["count(*)", "sum(s)"]))
def test_the_mean_over_a_scattered_release_is_that_of_all_tables(whole, condition, aggregate):
    """Different orders of ties have equal weight, so the mean over different tables is the mean over all."""
    answer = ask(as_scattered(whole), f"SELECT {aggregate} FROM release WHERE {condition}")
    answers = possible_answers(whole, "scattered", aggregate, condition)
    if None not in answers:
        mean = sum(answers) / len(answers)
        assert answer.expected == pytest.approx(mean, abs=1e-9)
        assert answer.std == pytest.approx((sum((n - mean) ** 2 for n in answers) / len(answers)) ** 0.5, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(whole=releases())
def test_group_by_the_sensitive_column_says_what_conditions_say(whole):
    """Each row of the result is COUNT with a condition on that value."""
    for row in select(whole, "SELECT s, count(*) AS n FROM release WHERE a > 1 GROUP BY s").to_pylist():
        alone = ask(whole, f"SELECT count(*) FROM release WHERE a > 1 AND s = {row['s']}")
        assert (row["n_lower"], row["n_upper"]) == (alone.lower, alone.upper)
        assert row["n"] == pytest.approx(alone.expected)


@pytest.mark.parametrize(
    "method",
    [hr.Retention(p="0.5"), hr.Noise(), hr.RankSwap(share="0.1")],
    ids=lambda method: type(method).__name__,
)
def test_changed_values_have_estimates_and_no_bounds(method):
    """The answer says that it is an estimate."""
    table = pa.table({"a": list(range(40)), "s": [n % 7 for n in range(40)]})
    release = method.publish(table, hr.Schema(quasi=["a"], sensitive="s"))
    answer = release.ask("SELECT avg(s) FROM release WHERE a < 20")
    assert (answer.lower, answer.upper, answer.bounded) == (None, None, False)
    assert answer.expected is not None
    assert "without bounds" in repr(answer)
    assert connect(release, "duckdb").ask("SELECT avg(s) FROM release WHERE a < 20") == answer
    assert release.ask("SELECT max(a) FROM release").expected == 39


def test_counts_under_retention_are_inverted():
    """Of 4,000 rows with one value a third are counted too few as published; the estimate is close."""
    table = pa.table({"a": [1] * 4000, "s": [1] * 3000 + [2] * 1000})
    release = hr.Retention(p="0.5").publish(table, hr.Schema(quasi=["a"], sensitive="s"))
    answer = release.ask("SELECT count(*) FROM release WHERE a = 1 AND s = 1")
    assert answer.expected == pytest.approx(3000, abs=400)


def test_a_box_must_be_inside_every_part_of_a_condition():
    """All rows have the one value and may have the other: with AND none is sure, with OR all are."""
    release = as_generalized(release_of({"a": [2, 2], "b": ["x", "y"], "s": [1, 2]}, [0, 0], sensitive="s"))
    both = ask(release, "SELECT count(*) FROM release WHERE a = 2 AND b = 'x'")
    either = ask(release, "SELECT count(*) FROM release WHERE a = 2 OR b = 'x'")
    assert (both.lower, both.upper, both.expected) == (0, 2, 1)
    assert (either.lower, either.upper) == (2, 2)


def test_counts_under_retention_are_inverted_in_every_cell():
    """Grouped by known columns they add up to the count without groups, and per value they are its counts."""
    table = pa.table({"a": [n % 3 for n in range(600)], "s": [n * n % 7 for n in range(600)]})
    release = hr.Retention(p="0.5").publish(table, hr.Schema(quasi=["a"], sensitive="s"))
    for session in (release.connect(), release.connect("duckdb")):
        alone = session.ask("SELECT count(*) FROM release WHERE s < 3 AND a < 2").expected
        grouped = session.sql("SELECT a, count(*) AS n FROM release WHERE s < 3 AND a < 2 GROUP BY a")
        assert sum(grouped["n"].to_pylist()) == pytest.approx(alone)
        for question in ("s", "s % 2", "a, s"):
            keys = [key.strip() for key in question.split(",")]
            named = ", ".join(f"{key} AS k{place}" for place, key in enumerate(keys))
            for row in session.sql(f"SELECT {named}, count(*) AS n FROM release GROUP BY {question}").to_pylist():
                condition = " AND ".join(f"{key} = {row[f'k{place}']}" for place, key in enumerate(keys))
                again = session.ask(f"SELECT count(*) FROM release WHERE {condition}").expected
                assert row["n"] == pytest.approx(again)


@pytest.mark.parametrize("form", ["permuted", "separated", "scattered"])
@pytest.mark.parametrize("kind", ["texts", "dates", "truths"])
def test_discrete_quantiles_take_whatever_has_an_order(form, kind):
    """The least and the greatest of all tables, over texts, dates and truth values."""
    rng = random.Random(f"{form} {kind}")
    days = [date(2020, 2, day) for day in (1, 28, 29)]
    values = {"texts": ["a", "B", "é", ""], "dates": days, "truths": [True, False]}
    for _ in range(6):
        columns = {"a": [rng.randrange(3) for _ in range(6)], "s": [rng.choice(values[kind]) for _ in range(6)]}
        whole = release_of(columns, [0, 0, 0, 1, 1, 1], sensitive="s")
        fraction = rng.choice(["0.1", "0.5", "0.75", "1"])
        found = connect(FORMS[form](whole)).ask(f"SELECT quantile_disc(s, {fraction}) FROM release WHERE a < 2")
        asked = possible_answers(whole, form, f"quantile_disc(s, {fraction})", "a < 2")
        every = [one for one in asked if one is not None]
        if every:
            assert (found.lower, found.upper) == (min(every), max(every))
            assert found.reached
