"""The view of a release: what is remembered, what is refused, and releases of no size."""

import gc
import weakref

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from hedgerow.query import ask, connect
from hedgerow.query.evidence.view import Codes, view_of
from tests.support.assignments import release_of


def test_a_view_is_built_once_and_forgotten_with_its_release():
    """Asking twice builds once; dropping the release drops the view."""
    release = release_of({"a": [1, 2], "s": [3, 4]}, [0, 0], sensitive="s")
    assert ask(release, "SELECT sum(s) FROM release WHERE a = 1").lower == 3
    watched = weakref.ref(view_of(release))
    assert view_of(release) is watched()
    del release
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize("size", [1, 200, 255, 256, 70_000])
def test_codes_find_values_at_every_width(size):
    """Eight, sixteen and thirty-two bits; runs, gaps and missing values."""
    values = [None, *((n * 11) % size for n in range(size)), None]
    codes = Codes(pa.array(values, pa.int64()))
    for wanted in ({0}, {size - 1}, set(range(size // 3, size // 2 + 1)), {0, size - 1}, set(), {None}):
        truth = np.array([n in wanted for n in [*range(size), None]])
        assert codes.where(truth).tolist() == [value in wanted for value in values]


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_a_release_without_rows_answers_as_an_empty_table_does(engine):
    """COUNT is zero, everything else NULL, GROUP BY gives no rows."""
    nothing = pa.array([], pa.int64())
    session = connect(release_of({"a": nothing, "s": nothing}, [], sensitive="s"), engine)
    assert session.ask("SELECT count(*) FROM release").lower == 0
    assert session.ask("SELECT sum(s) FROM release WHERE a > 1").lower is None
    assert session.ask("SELECT min(s) FROM release").lower is None
    assert session.sql("SELECT a, avg(s) FROM release GROUP BY a").num_rows == 0


def test_text_that_is_sensitive_can_be_counted():
    """How many of the first two have the flu: one or two."""
    release = release_of({"a": [1, 2, 3], "disease": ["flu", "flu", "hiv"]}, [0, 0, 0], sensitive="disease")
    answer = ask(release, "SELECT count(*) FROM release WHERE a < 3 AND disease = 'flu'")
    assert (answer.lower, answer.upper, answer.exact) == (1, 2, False)
    least = ask(release, "SELECT min(disease) FROM release WHERE a < 2")
    assert (least.lower, least.upper, least.expected, least.exact) == ("flu", "hiv", None, False)
    with pytest.raises(QueryError, match="text column"):
        ask(release, "SELECT sum(disease) FROM release")


def test_cells_that_cannot_exist_are_not_listed():
    """Under a sensitive condition a group of rows that certainly matches nothing has no row in the result."""
    release = release_of({"a": [1, 1, 2, 2], "s": [1, 2, 8, 9]}, [0, 0, 1, 1], sensitive="s")
    table = connect(release).sql("SELECT a, count(*) AS n FROM release WHERE s > 5 GROUP BY a")
    assert table.column("a").to_pylist() == [2]
    assert table.column("n_lower").to_pylist() == [2]


def test_groups_out_of_order_are_refused():
    """Engines rely on rows sorted by group."""
    release = release_of({"a": [1, 2], "s": [3, 4]}, [0, 1], sensitive="s")
    table = release.tables["release"].take([1, 0])
    object.__setattr__(release, "tables", {"release": table})
    with pytest.raises(QueryError, match="sorted"):
        ask(release, "SELECT sum(s) FROM release")
