"""Groups that may have no row, and rows that HAVING and LIMIT pick by what is expected: the answer says so."""

import itertools

import pyarrow as pa
import pytest

from hedgerow.query import connect
from hedgerow.query.answer_table import ABSENT, PICKED
from tests.support.assignments import release_of
from tests.support.form_worlds import as_scattered, as_separated
from tests.support.truth import true_answers

COLUMNS = {"a": [1, 1, 2, 2], "b": [1, 2, 3, 4], "s": [5, 6, 7, 8]}
LABELS = [0, 0, 0, 1]
ENGINES = ("arrays", "duckdb")
QUESTIONS = (
    "SELECT b, count(*) AS n FROM release WHERE a = 1 GROUP BY b",
    "SELECT b, count(*) AS n FROM release WHERE a = 1 GROUP BY b ORDER BY b DESC LIMIT 1",
    "SELECT b, count(*) AS n FROM release WHERE a = 2 GROUP BY b ORDER BY b DESC LIMIT 1 OFFSET 1",
    "SELECT b, count(*) AS n FROM release GROUP BY b ORDER BY b LIMIT 2",
    "SELECT s, count(*) AS n FROM release WHERE a = 1 GROUP BY s ORDER BY s LIMIT 2",
    "SELECT b, sum(s) AS t FROM release GROUP BY b ORDER BY t LIMIT 1",
    "SELECT b, sum(s) AS t FROM release GROUP BY b HAVING sum(s) > 6",
    "SELECT a, sum(s) AS t FROM release GROUP BY a HAVING count(*) > 1 ORDER BY a LIMIT 1",
    "SELECT b, count(*) AS n FROM release WHERE s > 5 GROUP BY b ORDER BY b LIMIT 9",
    "SELECT b, count(*) AS n FROM (SELECT * FROM release WHERE s > 5) AS t GROUP BY ROLLUP (b) ORDER BY b LIMIT 2",
    "SELECT b FROM (SELECT b, sum(s) AS t FROM release GROUP BY b) AS x WHERE t > 6",
)


def worlds(form):
    """All tables that the release allows, each once whatever the order of its rows: values shuffled inside groups."""
    shuffled = ("b", "s") if form is as_scattered else ("s",)  # a stays: only what rows hold together counts
    ways = [p for p in itertools.permutations(range(4)) if all(LABELS[row] == LABELS[to] for row, to in enumerate(p))]
    for chosen in itertools.product(ways, repeat=len(shuffled)):
        moved = {name: [COLUMNS[name][row] for row in way] for name, way in zip(shuffled, chosen, strict=True)}
        yield pa.table(COLUMNS | moved)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", [lambda release: release, as_separated, as_scattered], ids=["plain", "two", "apart"])
def test_rows_that_are_not_the_same_in_every_table_are_marked(engine, form):
    """Without a mark every table has the very rows of the answer; a row that is sure is in all of them."""
    release = form(release_of(COLUMNS, LABELS, sensitive="s"))
    tables = list(worlds(form))
    with connect(release, engine) as session:
        for text in QUESTIONS:
            found = session.sql(text)
            truths = [{row[found.keys[0]] for row in true_answers(table, text)} for table in tables]
            listed = found.to_arrow().column(0).to_pylist()
            for key, is_sure in zip(listed, found.sure, strict=True):
                assert found.is_picked or all(key in truth for truth in truths) == is_sure, text
            if not found.is_picked:
                assert set().union(*truths) == set(listed), text
            assert (PICKED in found.notes, ABSENT in found.notes) == (found.is_picked, not all(found.sure))


def test_groups_of_known_rows_are_sure():
    """Nothing is said where nothing is open."""
    release = release_of(COLUMNS, LABELS, sensitive="s")
    found = connect(release).sql("SELECT b, sum(s) AS t FROM release WHERE a = 1 GROUP BY b ORDER BY b LIMIT 1")
    assert not found.is_picked
    assert all(found.sure)
