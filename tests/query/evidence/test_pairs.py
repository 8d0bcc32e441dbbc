"""Two sensitive columns that are published together: how they go together is known, and used."""

import itertools
import random
from dataclasses import replace

import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from hedgerow.query import connect
from hedgerow.query.engines.postgres import export
from hedgerow.release import Made
from tests.support.agreement import disagreement
from tests.support.assignments import release_of
from tests.support.form_worlds import as_scattered, as_separated
from tests.support.truth import true_answers

FORMS = {"permuted": lambda release: release, "separated": as_separated, "scattered": as_scattered}


def paired(columns, groups, form, together=True):
    """A release with the sensitive columns s and t."""
    whole = release_of(columns, groups, sensitive="s")
    named = replace(whole.columns, quasi=("a", "b"), sensitive=("s", "t"))
    made = Made("by_hand", {"together": int(together)}, reproducible=True)
    return FORMS[form](replace(whole, columns=named, made=made))


def worlds(columns, groups, form):
    """Every table that the release may come from."""
    units = [("a", "b"), ("s", "t")] if form != "scattered" else [("a",), ("b",), ("s", "t")]
    members = [[row for row in range(len(groups)) if groups[row] == group] for group in sorted(set(groups))]
    orders = [list(itertools.permutations(rows)) for rows in members]
    every = [[row for part in parts for row in part] for parts in itertools.product(*orders)]
    for chosen in itertools.product(every, repeat=len(units) - 1):
        moved = zip(units, [list(range(len(groups))), *chosen], strict=True)
        yield pa.table({name: [columns[name][row] for row in order] for unit, order in moved for name in unit})


QUESTIONS = [
    "sum(t) AS x FROM release WHERE s = 1",
    "avg(t) AS x FROM release WHERE s = 1 AND a < 3",
    "count(*) AS x FROM release WHERE s = 1 AND t > 15",
    "count(*) AS x FROM release WHERE s = 1 OR t > 15",
    "sum(s) AS x FROM release WHERE t > 10 AND b = 'u'",
    "max(t) AS x FROM release WHERE s IN (1, 2) AND t < 30",
]


def columns_of(rng, rows):
    """Small columns with repeated values."""
    return {
        "a": [rng.randrange(5) for _ in range(rows)],
        "b": [rng.choice("uv") for _ in range(rows)],
        "s": [rng.randrange(1, 4) for _ in range(rows)],
        "t": [20, *(rng.choice([None, 10, 20, 30]) for _ in range(rows - 1))],
    }


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_bounds_are_those_of_all_tables(form, question):
    """Both ends are reached, on arrays and on a database that counts."""
    rng = random.Random(f"{form} {question}")
    for _ in range(6):
        groups = [0, 0, 0] if form == "scattered" else [0, 0, 0, 1, 1]
        columns = columns_of(rng, len(groups))
        release = paired(columns, groups, form)
        found = connect(release).ask(f"SELECT {question}")
        answers = [true_answers(table, f"SELECT {question}")[0]["x"] for table in worlds(columns, groups, form)]
        numbers = [float(number) for number in answers if number is not None]
        if numbers:
            assert float(found.lower) == pytest.approx(min(numbers))
            assert float(found.upper) == pytest.approx(max(numbers))
        assert disagreement(connect(release), connect(release, "duckdb"), f"SELECT {question}") is None


def test_the_published_pair_is_used():
    """The release itself shows that s = 1 goes with 10."""
    columns = {"a": [1, 2], "b": ["u", "v"], "s": [1, 2], "t": [10, 20]}
    for form in FORMS:
        assert connect(paired(columns, [0, 0], form)).ask("SELECT sum(t) FROM release WHERE s = 1").upper == 10


def test_columns_that_are_shuffled_apart_do_not_go_together():
    """Then a condition on one says nothing about the other."""
    columns = {"a": [1, 2], "b": ["u", "v"], "s": [1, 2], "t": [10, 20]}
    found = connect(paired(columns, [0, 0], "scattered", together=False)).ask("SELECT sum(t) FROM release WHERE s = 1")
    assert (found.lower, found.upper) == (10, 20)
    with pytest.raises(QueryError, match="sensitive column"):
        connect(paired(columns, [0, 0], "separated", together=False)).ask("SELECT sum(t) FROM release WHERE s = 1")


@pytest.mark.parametrize("form", FORMS)
def test_postgresql_knows_pairs(form, url):
    """The same on a server."""
    release = paired(columns_of(random.Random(4), 6), [0, 0, 0, 1, 1, 1], form)
    export(release, url, overwrite=True)
    with connect(release, url) as session:
        for question in QUESTIONS:
            assert disagreement(connect(release), session, f"SELECT {question}") is None, question
