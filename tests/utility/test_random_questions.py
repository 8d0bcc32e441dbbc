"""Random workloads as SQL."""

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.errors import InputError, ParameterError
from hedgerow.utility.random_questions import Workload, draw_questions, read_workload
from tests.support.truth import original_of

ROWS = 4000


@pytest.fixture(scope="module")
def table():
    """Independent columns of every kind that a condition may name."""
    rng = np.random.default_rng(5)
    days = np.datetime64("2020-01-01") + rng.integers(0, 900, ROWS)
    return pa.table(
        {
            "age": rng.integers(-20, 80, ROWS),
            "weight": np.round(rng.normal(70, 9, ROWS), 1),
            "born": pa.array(days.astype("datetime64[D]")),
            "town's": rng.choice(["a", "b'", 'c"', "d", "e", "f", "g", "h"], ROWS),
            "is_member": rng.integers(0, 2, ROWS).astype(bool),
            "pay": rng.integers(0, 5000, ROWS),
        }
    )


def drawn(table, names=("age", "weight", "born", "town's"), **settings):
    """Questions over some columns of the table."""
    known = {name: table.column(name) for name in names}
    return draw_questions(Workload(**settings).check(), known, table.column("pay"), "pay")


def selected(table, questions):
    """The shares of rows that the questions' conditions select."""
    conditions = [question.sql.partition(" WHERE ")[2] for question in questions]
    with original_of(table) as connection:
        counts = [connection.execute(f"SELECT count(*) FROM release WHERE {c}").fetchall()[0][0] for c in conditions]
    return np.array(counts) / ROWS


@pytest.mark.parametrize("aggregate", ["count", "avg"])
@pytest.mark.parametrize("dimensions", [1, 3])
def test_questions_select_about_what_was_asked_for(table, aggregate, dimensions):
    """The median over forty questions is near the selectivity: values are indivisible, so a little more."""
    questions = drawn(table, aggregates=(aggregate,), dimensions=(dimensions,), selectivity=(0.2,), count=40)
    assert 0.18 <= np.median(selected(table, questions)) <= 0.33


def test_every_combination_is_drawn_as_often(table):
    """Aggregates times dimensions times selectivities times count, with as many conditions as said."""
    questions = drawn(table, aggregates=("count", "max"), dimensions=(1, 2), selectivity=(0.1, 0.2, 0.3), count=4)
    assert len(questions) == 2 * 2 * 3 * 4
    for question in questions:
        condition = question.sql.partition(" WHERE ")[2]
        conditions = condition.count(" BETWEEN ") + condition.count(" IN (")
        assert conditions == question.dimensions + (question.aggregate == "count")
        assert ('"pay" BETWEEN' in question.sql) == (question.aggregate == "count")


def test_a_seed_draws_the_same_again(table):
    """And another seed draws others."""
    assert drawn(table, seed=4, count=5) == drawn(table, seed=4, count=5)
    assert drawn(table, seed=4, count=5) != drawn(table, seed=5, count=5)


def test_runs_reach_every_value(table):
    """The least and the greatest value are asked for, too."""
    texts = " ".join(question.sql for question in drawn(table, names=("age",), dimensions=(1,), count=200))
    assert "BETWEEN -20 AND" in texts
    assert "AND 79" in texts


def test_questions_are_understood_by_the_engine(table):
    """Every kind of constant survives the way through SQL."""
    from hedgerow.query import ask
    from tests.support.assignments import release_of

    columns = {name: table.column(name).to_pylist()[:200] for name in table.column_names}
    release = release_of(columns, [row // 5 for row in range(200)], sensitive="pay")
    names = ("age", "weight", "born", "town's", "is_member")
    for question in drawn(table, names=names, dimensions=(5,), selectivity=(0.5,), count=10):
        assert ask(release, question.sql) is not None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('aggregates = ["mode"]', "aggregates"),
        ("aggregates = []", "aggregates"),
        ("dimensions = [0]", "dimensions"),
        ("selectivity = [0.0]", "selectivity"),
        ("selectivity = [1.5]", "selectivity"),
        ("count = 0", "count"),
        ('count = "ten"', "count"),
        ("seed = -1", "seed"),
        ("cuont = 3", "cuont"),
        ("= nonsense", "w.toml"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path, text, name):
    """The message says which entry it is."""
    (tmp_path / "w.toml").write_text(text)
    with pytest.raises(ParameterError, match=name):
        read_workload(tmp_path / "w.toml")


def test_a_file_says_everything(tmp_path):
    """Entries that are left out have defaults; a file that is not there is an error of its own."""
    (tmp_path / "w.toml").write_text('aggregates = ["sum"]\nselectivity = [0.1, 1]\nseed = 9\n')
    read = read_workload(tmp_path / "w.toml")
    assert (read.aggregates, read.selectivity, read.seed, read.count) == (("sum",), (0.1, 1), 9, Workload().count)
    with pytest.raises(InputError, match=r"none\.toml"):
        read_workload(tmp_path / "none.toml")


def test_more_dimensions_than_columns_are_refused(table):
    """The message says how many there may be."""
    with pytest.raises(ParameterError, match="at most 1"):
        drawn(table, names=("age",), dimensions=(2,))


def test_a_run_has_the_rows_that_were_asked_for():
    """A quarter of four rows is one value, and each of the four comes up."""
    four = pa.table({"x": [0, 1, 2, 3], "pay": [5, 6, 7, 8]})
    questions = drawn(four, names=("x",), aggregates=("sum",), dimensions=(1,), selectivity=(0.25,), count=60)
    runs = {question.sql.partition(" BETWEEN ")[2] for question in questions}
    assert runs == {f"{value} AND {value}" for value in range(4)}
