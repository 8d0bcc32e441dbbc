"""Columns published as nodes of a hierarchy: a node covers values that no row of its group has."""

import random

import duckdb
import pyarrow as pa
import pytest

import hedgerow as hr

AGES = hr.Hierarchy.from_nested({"low": [1, 2, 3], "high": [7, 8, 9]})
TOWNS = hr.Hierarchy.from_nested({"north": ["a", "b", "c"], "south": ["d"]})
QUESTIONS = [
    "count(*) FROM {table} WHERE x >= 3",
    "count(*) FROM {table} WHERE t = 'c'",
    "sum(x) FROM {table} WHERE x > 1 AND t <> 'b'",
    "max(x) FROM {table} WHERE x < 9",
    "min(x) FROM {table} WHERE t >= 'b'",
    "count(DISTINCT x) FROM {table}",
    "median(x) FROM {table} WHERE x < 8",
    "stddev_pop(x) FROM {table}",
]


def test_the_end_of_a_node_need_not_be_there():
    """Rows 1 and 2 are published as 1..3, and only the two others are 3; without the tree everything is exact."""
    table = pa.table({"x": [1, 2, 3, 3], "s": ["p", "q", "p", "q"]})
    question = "SELECT count(*) FROM release WHERE x = 3"
    answers = [
        hr.Mondrian(k=2).publish(table, hr.Schema(quasi="x", sensitive="s", hierarchies=trees)).ask(question)
        for trees in ({"x": AGES}, {})
    ]
    assert [(answer.lower, answer.upper) for answer in answers] == [(2, 4), (2, 2)]


@pytest.mark.parametrize("in_blocks", [False, True])
def test_the_truth_lies_inside(in_blocks, tmp_path):
    """With a hierarchy for one column, both or none, in memory and in blocks; and what is said to be exact is."""
    draw = random.Random(5)
    for trial in range(8 if in_blocks else 60):
        rows = [(draw.choice([1, 2, 3, 7, 8, 9]), draw.choice("abcd")) for _ in range(draw.randint(4, 9))]
        people = pa.table({"x": [x for x, _ in rows], "t": [t for _, t in rows], "s": [*range(len(rows))]})
        trees = [{"x": AGES}, {"t": TOWNS}, {"x": AGES, "t": TOWNS}, {}][trial % 4]
        schema = hr.Schema(quasi=["x", "t"], sensitive="s", hierarchies=trees)
        out = {"out": tmp_path / str(trial), "engine": "duckdb", "memory": "256MB"} if in_blocks else {}
        release = hr.Mondrian(k=2).publish(people, schema, **out)
        for question in QUESTIONS:
            answer = (hr.open(out["out"]) if out else release).ask(f"SELECT {question.format(table='release')}")
            ((truth,),) = duckdb.sql(f"SELECT {question.format(table='people')}").fetchall()
            if truth is None or answer.lower is None:
                assert truth is None or not answer.exact
            else:
                assert answer.lower - 1e-9 <= truth <= answer.upper + 1e-9, (question, rows)
