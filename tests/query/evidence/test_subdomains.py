"""Aggregates of disguised columns, with and without conditions on them, against every table that the release allows."""

import contextlib
import signal
from dataclasses import replace
from itertools import permutations, product

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.query import help_table
from tests.support.truth import database_of

VALUES = [-4, 1, 2, 8]
TREE = hr.Hierarchy.binary(VALUES).with_target([1, 2, 1, 2])
SCHEMA = hr.Schema(quasi=["age"], sensitive="pay", plain=["kind"])
AGGREGATES = ["count(*)", "count(pay)", "sum(pay)", "avg(pay)", "min(pay)", "max(pay)", "median(pay)"]
AGGREGATES += ["var_pop(pay)", "stddev(pay)", "count(DISTINCT pay)", "quantile_disc(pay, 0.25)", "max(pay) - min(pay)"]
CONDITIONS = ["age = 2", "age < 9", "kind = 'x'", "age > 9"]
HIDDEN = ["", " AND pay > 1", " AND pay = 2", " AND pay IN (-4, 8)", " AND NOT pay < 100", " AND pay > 100"]
HIDDEN += [" AND pay < 2", " AND pay % 2 = 0", " AND abs(pay) > 1"]
EITHER = [" OR pay > 1", " OR pay = 2", " OR pay < 100", " OR NOT pay < 100", " OR abs(pay) > 1 AND kind = 'y'"]


@st.composite
def releases(draw):
    """Up to three rows, with and without fakes; which the group allows is drawn by the method."""
    rows = draw(st.integers(1, 3))
    table = pa.table(
        {
            "age": draw(st.lists(st.integers(1, 2), min_size=rows, max_size=rows)),
            "kind": draw(st.lists(st.sampled_from("xy"), min_size=rows, max_size=rows)),
            "pay": draw(st.lists(st.sampled_from(VALUES), min_size=rows, max_size=rows)),
        }
    )
    fakes = draw(st.sampled_from([0, "0.5"]))
    return table, hr.TargetDistribution(TREE, fakes=fakes).publish(table, SCHEMA)


def worlds(release):
    """All tables: the subdomains of each group in every order over its rows, every value below each; with chances."""
    halves = "quasi" in release.tables
    rows = release.tables["quasi" if halves else "release"].to_pylist()
    nodes = release.tables["sensitive" if halves else "release"].to_pylist()
    options = []
    for group in sorted({row["group"] for row in rows}):
        mine = [row for row in rows if row["group"] == group]
        options.append(list(_dealt(mine, [node["pay_node"] for node in nodes if node["group"] == group])))
    stacked = {"world": [], "age": [], "kind": [], "pay": []}
    chances = []
    for number, world in enumerate(product(*options)):
        chance = 1.0
        for part, share in world:
            chance *= share
            for age, kind, pay in part:
                for name, value in zip(stacked, (number, age, kind, pay), strict=True):
                    stacked[name].append(value)
        chances.append(chance)
    return pa.table(stacked), chances


def _dealt(rows, nodes):
    shares = TREE.target()
    orders = list(permutations(nodes, len(rows)))
    for order in orders:
        spans = [range(*TREE.leaves_under(node)) for node in order]
        for leaves in product(*spans):
            chance = 1.0 / len(orders)
            for leaf, span in zip(leaves, spans, strict=True):
                chance *= float(shares[leaf] / sum(shares[i] for i in span))
            yield [(row["age"], row["kind"], VALUES[leaf]) for row, leaf in zip(rows, leaves, strict=True)], chance


def asked(tables, worlds, aggregate, condition):
    """The answer of each world according to DuckDB."""
    with database_of(worlds=tables) as database:
        text = f"SELECT world, {aggregate} FROM worlds WHERE {condition} GROUP BY world"
        found = dict(database.execute(text).fetchall())
        (nothing,) = database.execute(f"SELECT {aggregate} FROM worlds WHERE false").fetchone()
    return [found.get(world, nothing) for world in range(worlds)]


@settings(max_examples=40, deadline=None)
@given(drawn=releases(), condition=st.sampled_from(CONDITIONS), data=st.data())
def test_bounds_hold_for_every_table_and_for_the_true_one(drawn, condition, data):
    """COUNT is reached unless OR parts the rows, and the others are without a hidden condition."""
    table, release = drawn
    hidden = data.draw(st.sampled_from(HIDDEN + EITHER))
    aggregates = data.draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=4, unique=True))
    tables, chances = worlds(release)
    for aggregate in aggregates:
        answer = release.ask(f"SELECT {aggregate} FROM release WHERE {condition}{hidden}")
        answers = asked(tables, len(chances), aggregate, condition + hidden)
        (true,) = asked(table.append_column("world", pa.array([0] * len(table))), 1, aggregate, condition + hidden)
        numbers = [number for number in [*answers, true] if number is not None]
        if not numbers:
            assert answer.lower is None, aggregate
            continue
        assert answer.lower <= min(numbers) + 1e-9, aggregate
        assert answer.upper >= max(numbers) - 1e-9, aggregate
        assert answer.lower - 1e-9 <= answer.expected <= answer.upper + 1e-9, aggregate
        if (aggregate in AGGREGATES[:2] and hidden not in EITHER) or (not hidden and aggregate in AGGREGATES[:7]):
            assert (answer.lower, answer.upper) == pytest.approx((min(numbers), max(numbers))), aggregate


@settings(max_examples=15, deadline=None)
@given(drawn=releases(), condition=st.sampled_from(["age = 2", "age < 3", "TRUE"]))
def test_no_deviation_is_said_to_be_zero_that_is_not(drawn, condition):
    """Where it is not known, that of values drawn from ranges, it is NULL."""
    _, release = drawn
    tables, chances = worlds(release)
    for aggregate in AGGREGATES:
        answer = release.ask(f"SELECT {aggregate} FROM release WHERE {condition}")
        numbers = {
            number
            for number, chance in zip(asked(tables, len(chances), aggregate, condition), chances, strict=True)
            if number is not None and chance
        }
        assert answer.std != 0 or len(numbers) <= 1, aggregate


@settings(max_examples=15, deadline=None)
@given(drawn=releases(), hidden=st.sampled_from(HIDDEN))
def test_means_are_those_over_all_tables(drawn, hidden):
    """COUNT exactly; SUM where nothing counts as zero; deviations too."""
    _, release = drawn
    tables, chances = worlds(release)
    for aggregate in ("count(*)", "coalesce(sum(pay), 0)"):
        ours = "sum(pay)" if "sum" in aggregate else aggregate
        answer = release.ask(f"SELECT {ours} FROM release WHERE age = 2{hidden}")
        answers = asked(tables, len(chances), aggregate, "age = 2" + hidden)
        if answer.expected is None:
            assert not any(answers)
            continue
        mean = sum(float(n) * chance for n, chance in zip(answers, chances, strict=True))
        square = sum((float(n) - mean) ** 2 * chance for n, chance in zip(answers, chances, strict=True))
        if answer.lower - 1e-9 <= mean <= answer.upper + 1e-9:
            assert answer.expected == pytest.approx(mean, abs=1e-9)
            assert answer.std == pytest.approx(square**0.5, abs=1e-6)


def test_the_mean_of_an_extreme_takes_what_the_target_expects():
    """One row, one subdomain of all values: its expected value, not its low end."""
    table = pa.table({"age": [1], "kind": ["x"], "pay": [8]})
    release = hr.TargetDistribution(TREE).publish(table, SCHEMA)
    tables, chances = worlds(release)
    answers = asked(tables, len(chances), "min(pay)", "true")
    mean = sum(number * chance for number, chance in zip(answers, chances, strict=True))
    for function in ("min", "max"):
        answer = release.ask(f"SELECT {function}(pay) FROM release")
        assert answer.expected == pytest.approx(mean)
        assert answer.lower <= answer.expected <= answer.upper


@settings(max_examples=12, deadline=None)
@given(drawn=releases(), hidden=st.sampled_from(HIDDEN), extreme=st.sampled_from(["min", "max"]))
def test_means_of_extremes_are_close(drawn, hidden, extreme):
    """They are approximations: within a half of the range of the bounds."""
    _, release = drawn
    tables, chances = worlds(release)
    answer = release.ask(f"SELECT {extreme}(pay) FROM release WHERE age = 2{hidden}")
    answers = asked(tables, len(chances), f"{extreme}(pay)", "age = 2" + hidden)
    kept = [(number, chance) for number, chance in zip(answers, chances, strict=True) if number is not None]
    if kept:
        mean = sum(number * chance for number, chance in kept) / sum(chance for _, chance in kept)
        assert abs(answer.expected - mean) <= 0.5 * (answer.upper - answer.lower) + 1e-9


def test_trees_in_a_circle_are_no_endless_path():
    """A tree that nobody verified may lead back to where it began."""
    table = pa.table({"age": [1, 2], "kind": ["x", "y"], "pay": [1, 2]})
    release = hr.TargetDistribution(TREE).publish(table, SCHEMA, seed=1)
    target = release.tables["target"]
    circle = pa.array([*range(1, target.num_rows), 0], pa.int32())
    tables = release.tables | {"target": target.set_column(target.column_names.index("parent"), "parent", circle)}

    def stop(*_):
        raise AssertionError("an endless path")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(20)
    try:
        with contextlib.suppress(ArithmeticError, IndexError, ValueError):
            help_table(replace(release, tables=tables))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
