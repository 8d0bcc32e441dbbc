"""The form generalized: boxes that cover, no smaller than needed, and nothing else."""

import datetime
from collections import Counter
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.datasets import printed
from hedgerow.randomness import seeded_keys
from hedgerow.release.forms.generalized import box_columns
from hedgerow.release.release import PublishedColumns
from tests.support.boxes import generalized_release

TOWNS = hr.Hierarchy.from_nested({"north": ["Ash", "Elm"], "south": ["Oak", "Yew"]})
AGES = hr.Hierarchy.intervals(range(10), width=[2, 4])


@st.composite
def _grouped(draw):
    """A table with gaps and a group per row."""
    rows = draw(st.integers(1, 25))
    labels = draw(st.lists(st.integers(0, 4), min_size=rows, max_size=rows))
    dense = {label: n for n, label in enumerate(sorted(set(labels)))}
    table = pa.table(
        {
            "age": pa.array(draw(st.lists(st.integers(0, 9) | st.none(), min_size=rows, max_size=rows)), pa.int64()),
            "town": pa.array(
                draw(st.lists(st.sampled_from(["Ash", "Elm", "Oak", "Yew", None]), min_size=rows, max_size=rows)),
                pa.string(),
            ),
            "pay": list(range(rows)),
        }
    )
    return table, [dense[label] for label in labels]


def _published(release):
    """Per published group: its box, as the sets and ends that SQL sees, and its sensitive values."""
    sets = {}
    for row in release.tables["sets"].to_pylist() if "sets" in release.tables else []:
        sets.setdefault(row["set"], set()).add(row["value"])
    groups = {}
    for row in release.tables["release"].to_pylist():
        box = (
            (row["age_low"], row["age_high"], row.get("age_missing", False)),
            (frozenset(sets.get(row["town_set"], ())), row.get("town_missing", False)),
        )
        groups.setdefault(row["group"], (box, []))[1].append(row["pay"])
        assert groups[row["group"]][0] == box
    return Counter((box, tuple(sorted(pays))) for box, pays in groups.values())


def _by_definition(table, labels, cover_ages=None, cover_towns=None):
    found = []
    for group in set(labels):
        rows = [row for row, label in zip(table.to_pylist(), labels, strict=True) if label == group]
        ages, towns = ({row[name] for row in rows} for name in ("age", "town"))
        told, named = ages - {None}, towns - {None}
        if cover_ages and told:
            told = cover_ages(told)
        if cover_towns and named:
            named = cover_towns(named)
        ends = (min(told), max(told)) if told else (None, None)
        box = (*ends, None in ages), (frozenset(named), None in towns)
        found.append((box, tuple(sorted(row["pay"] for row in rows))))
    return Counter(found)


@settings(max_examples=80, deadline=None)
@given(_grouped())
def test_boxes_are_the_least_that_cover(drawn):
    """Intervals and sets are those of the group's values, and sensitive values stay in their group."""
    table, labels = drawn
    release = generalized_release(table, labels, quasi=("age", "town"), sensitive=("pay",))
    assert _published(release) == _by_definition(table, labels)


@settings(max_examples=60, deadline=None)
@given(_grouped(), st.integers(0, 2), st.integers(0, 2))
def test_nodes_are_the_lowest_that_cover(drawn, age_level, town_level):
    """Under hierarchies a box is the lowest node, at least of its level, that covers the group."""
    table, labels = drawn
    release = generalized_release(
        table,
        labels,
        quasi=("age", "town"),
        sensitive=("pay",),
        hierarchies={"age": AGES, "town": TOWNS},
        levels={"age": age_level, "town": town_level},
    )

    def cover(blocks, level):
        return lambda values: next(
            set(block) for layer in blocks[level:] for block in layer if set(values) <= set(block)
        )

    ages = [
        [_span(AGES, node) for node in sorted(set(AGES.recode(level).tolist()))] for level in range(AGES.height + 1)
    ]
    towns = [[["Ash"], ["Elm"], ["Oak"], ["Yew"]], [["Ash", "Elm"], ["Oak", "Yew"]], [["Ash", "Elm", "Oak", "Yew"]]]
    expected = _by_definition(table, labels, cover(ages, min(age_level, AGES.height)), cover(towns, town_level))
    assert _published(release) == expected


def _span(hierarchy, node):
    low, high = hierarchy.leaves_under(node)
    return hierarchy.leaves.to_pylist()[low:high]


def test_labels_can_be_read():
    """Labels say what the box is, gaps included."""
    table = pa.table({"age": [1, 3, 5, None, None], "town": ["Ash", "Elm", "Oak", "Oak", None], "pay": range(5)})
    release = generalized_release(table, (0, 0, 1, 1, 2), quasi=("age", "town"), sensitive=("pay",))
    labels = {(row["age"], row["town"]) for row in release.tables["release"].to_pylist()}
    assert labels == {("1..3", "{Ash, Elm}"), ("5 or missing", "Oak"), ("missing", "missing")}


def test_long_sets_are_shortened_in_labels_only():
    """A label names a few values of a long set; the table of sets names all."""
    table = pa.table({"town": [f"t{n:02d}" for n in range(20)], "pay": range(20)})
    release = generalized_release(table, [0] * 20, quasi=("town",), sensitive=("pay",))
    assert release.tables["release"]["town"][0].as_py().endswith(", ... (20 values)}")
    assert release.tables["sets"].num_rows == 20


def test_every_type_of_column():
    """Decimals, dates, times and truth values have ends of their own type."""
    columns = {
        "price": pa.array([Decimal("1.20"), Decimal("3.40")]),
        "day": pa.array([datetime.date(2020, 1, 2), datetime.date(2021, 3, 4)]),
        "time": pa.array([datetime.datetime(2020, 1, 2, 3), datetime.datetime(2020, 1, 2, 4)], pa.timestamp("us")),
        "member": pa.array([True, False]),
        "ratio": pa.array([0.5, 0.25]),
    }
    table = pa.table({**columns, "pay": [1, 2]})
    release = generalized_release(table, (0, 0), quasi=tuple(columns), sensitive=("pay",))
    for name, column in columns.items():
        assert release.tables["release"][f"{name}_low"][0].as_py() == min(column.to_pylist())
        assert release.tables["release"][f"{name}_high"][0].as_py() == max(column.to_pylist())


def test_suppressed_rows_leave_no_trace():
    """Values of suppressed rows are in no table."""
    table = pa.table({"town": ["Ash", "Elm", "canary"], "pay": [1, 2, 3]})
    release = generalized_release(table, (0, 0, -1), quasi=("town",), sensitive=("pay",))
    assert "canary" not in str({name: part.to_pydict() for name, part in release.tables.items()})
    assert release.tables["release"].num_rows == 2


def test_names_keep_clear_of_each_other():
    """Derived names never meet a column's own, whatever its case."""
    columns = PublishedColumns(("age", "AGE_low", "age_low_2"), ("age_high",))
    names = [name.lower() for box in box_columns(columns, "group").values() for name in box.all]
    assert len(set(names)) == len(names)
    assert not {"age_high", "group"} & set(names)
    table = pa.table({"age": [1, 2], "AGE_low": [3, 4], "age_low_2": ["a", "b"], "age_high": [5, 6]})
    release = generalized_release(table, (0, 0), quasi=columns.quasi, sensitive=columns.sensitive)
    assert release.tables["release"].column("age_high").to_pylist() in ([5, 6], [6, 5])


def test_plain_sql_tells_inside_from_overlapping():
    """The documented SQL finds the groups inside a condition and those that may have rows inside."""
    release = generalized_release(
        printed.patients(), printed.PATIENT_GROUPS, quasi=("age", "sex"), sensitive=("disease",)
    )
    database = duckdb.connect()
    for name, part in release.tables.items():
        database.register(name, part)
    asked = """
        SELECT DISTINCT age_low, age_low >= {low} AND age_high <= {high}
            AND NOT EXISTS (SELECT 1 FROM sets WHERE "column" = 'sex' AND "set" = sex_set AND value <> 'F')
        FROM release WHERE age_low <= {high} AND age_high >= {low}
            AND EXISTS (SELECT 1 FROM sets WHERE "column" = 'sex' AND "set" = sex_set AND value = 'F')
    """
    assert sorted(database.sql(asked.format(low=40, high=49)).fetchall()) == [(10, False)]
    assert sorted(database.sql(asked.format(low=0, high=99)).fetchall()) == [(10, False), (50, False)]


def test_order_and_numbers_are_random():
    """Group numbers and the order inside a group change from run to run."""
    table = pa.table({"age": [1, 1, 2, 2], "pay": [1, 2, 3, 4]})
    runs = [
        generalized_release(table, (0, 0, 1, 1), quasi=("age",), sensitive=("pay",), keys=seeded_keys(seed))
        for seed in range(60)
    ]
    orders = {tuple(run.tables["release"]["pay"].to_pylist()) for run in runs}
    assert len(orders) == 8


def test_plain_columns_are_not_tied_to_sensitive_values():
    """Inside a group every pairing of plain and sensitive values comes up."""
    table = pa.table({"age": [1, 1], "note": ["a", "b"], "pay": [1, 2]})
    pairs = set()
    for _ in range(40):
        release = generalized_release(table, (0, 0), quasi=("age",), plain=("note",), sensitive=("pay",))
        pairs |= {(row["note"], row["pay"]) for row in release.tables["release"].to_pylist()}
    assert len(pairs) == 4


def test_sets_that_collide_in_their_keys_stay_apart():
    """Where random keys cannot tell two sets from each other they are compared value by value."""
    table = pa.table({"town": ["Ash", "Elm"], "pay": [1, 2]})
    release = generalized_release(
        table, (0, 1), quasi=("town",), sensitive=("pay",), keys=lambda count: np.zeros(count, np.uint64)
    )
    assert sorted(release.tables["sets"].to_pydict()["value"]) == ["Ash", "Elm"]
    assert sorted(release.tables["release"]["town_set"].to_pylist()) == [0, 1]


def test_unknown_values_of_a_hierarchy_are_refused():
    """A column with values outside its hierarchy cannot be published under it."""
    table = pa.table({"town": ["Ash", "Rome"], "pay": [1, 2]})
    with pytest.raises(hr.SchemaError, match="'town' has 1 value not in"):
        generalized_release(table, (0, 0), quasi=("town",), sensitive=("pay",), hierarchies={"town": TOWNS})
