"""Answers for frames, notebooks and terminals; and still an Arrow table to whoever takes one."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.query import Answer
from hedgerow.query.answer import MEANING
from hedgerow.query.answer_table import AnswerTable
from tests.support.assignments import release_of

GROUPED = "SELECT town, count(*) AS n, avg(s) AS m FROM release WHERE age < 4 GROUP BY town ORDER BY town"


@pytest.fixture(scope="module")
def release():
    """Two groups of four rows."""
    columns = {
        "age": [1, 2, 3, 4, 5, 1, 2, 7],
        "town": ["<b>Bern</b>", "Chur"] * 4,
        "s": [10, 20, 30, 40, 50, 60, 70, 80],
    }
    return release_of(columns, [0, 0, 0, 0, 1, 1, 1, 1], sensitive="s")


def test_frames_have_the_same_columns_and_numbers(release):
    """Keys, then x, x_lower, x_upper and x_std."""
    found = release.sql(GROUPED)
    names = ["town", "n", "n_lower", "n_upper", "n_std", "m", "m_lower", "m_upper", "m_std"]
    assert isinstance(found, AnswerTable)
    assert found.columns == found.column_names == names
    assert isinstance(found.to_pandas(), pd.DataFrame)
    assert isinstance(found.to_polars(), pl.DataFrame)
    assert list(found.to_pandas().columns) == found.to_polars().columns == names
    rows = found.to_arrow().to_pylist()
    assert found.to_pandas().to_dict("records") == found.to_polars().to_dicts() == rows == found.to_pylist()


def test_it_is_an_arrow_table_to_arrow(release):
    """As a stream, by its methods, and compared with another."""
    found = release.sql(GROUPED)
    assert pa.table(found).equals(found.to_arrow())
    assert pl.DataFrame(found).to_dicts() == found.to_pylist()
    assert found.equals(release.sql(GROUPED))
    assert found.to_arrow().equals(pa.table(release.sql(GROUPED)))
    assert found.column("n").to_pylist() == found["n"].to_pylist() == [3, 2]
    assert (found.num_rows, found.schema.names) == (2, found.columns)
    with pytest.raises(AttributeError):
        found.nothing_of_the_kind  # noqa: B018


def test_rows_are_answers(release):
    """Length, iteration, and what an aggregate says row by row."""
    found = release.sql(GROUPED)
    assert (len(found), found.keys, found.aggregates) == (2, ["town"], ["n", "m"])
    rows = list(found)
    assert [row["town"] for row in rows] == ["<b>Bern</b>", "Chur"]
    assert all(isinstance(row["m"], Answer) for row in rows)
    assert rows[0]["n"].exact
    assert found.answers("m")[1] == rows[1]["m"]


def test_it_reads_as_a_table(release):
    """Names, bounds and the sentence about the deviation; an exact answer says so and needs no sentence."""
    text = repr(release.sql(GROUPED))
    assert [word for word in ("town", "answer", "lower", "expected", "upper", "std") if word not in text] == []
    assert "exact" in text
    assert MEANING in text
    assert MEANING not in repr(release.sql("SELECT count(*) AS n, avg(s) AS m FROM release"))


def test_long_tables_are_cut(release):
    """The rest is counted."""
    columns = {"a": list(range(100)), "s": [1, 2] * 50}
    text = repr(release_of(columns, [0] * 100, sensitive="s").sql("SELECT a, avg(s) AS m FROM release GROUP BY a"))
    assert len(text.splitlines()) < 70
    assert "40 more rows" in text


def test_a_notebook_draws_bounds_and_runs_no_markup_of_the_data(release):
    """A bar an answer; names and values are text."""
    page = release.sql(GROUPED)._repr_html_()
    assert page.count("<svg") == 4
    assert "<b>" not in page
    assert "&lt;b&gt;Bern" in page
    assert MEANING in page


def test_texts_dates_and_nulls_are_shown():
    """What has no place on a line has no bar."""
    from datetime import date

    columns = {"a": [1, 1, 2, 2], "s": [date(2020, 1, day) for day in (1, 2, 3, 4)]}
    dates = release_of(columns, [0] * 4, sensitive="s").sql("SELECT a, max(s) AS m FROM release GROUP BY a")
    assert "2020-01-04" in repr(dates)
    assert "<rect" in dates._repr_html_()
    texts = release_of({"a": [1, 2], "s": ["x", "y"]}, [0, 0], sensitive="s").sql(
        "SELECT max(s) AS m, sum(a) AS t FROM release WHERE a > 5"
    )
    assert "NULL" in repr(texts)
    assert texts._repr_html_()


def test_ask_gives_one_answer_or_the_table(release):
    """GROUP BY and several aggregates are no refusal."""
    assert isinstance(release.ask("SELECT avg(s) FROM release WHERE age = 1"), Answer)
    assert release.ask(GROUPED).equals(release.sql(GROUPED))
    assert release.ask("SELECT count(*) AS n, avg(s) AS m FROM release").aggregates == ["n", "m"]
    page = release.ask("SELECT avg(s) FROM release WHERE age = 1")._repr_html_()
    assert MEANING in page
    assert "between" in page


def test_an_estimate_without_bounds_says_so():
    """Where values were changed the table has no bounds: they are not called NULL, which is an answer."""
    release = hr.Noise().publish(
        {"age": list(range(40)), "pay": list(range(40))}, hr.Schema(quasi=["age"], sensitive="pay"), seed=1
    )
    text = repr(release.sql("SELECT avg(pay) FROM release"))
    assert "NULL" not in text.splitlines()[2].split()[1:4]
    assert "an estimate without bounds" in text
