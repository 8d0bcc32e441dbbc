"""Questions whose names and places could mean several things: the whole table of results is DuckDB's, or a refusal."""

import random
from collections import Counter

import pytest

from hedgerow.query import connect
from tests.support.name_questions import NAME_FORMS, NameQuestions, judge, name_sample


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("form", NAME_FORMS)
def test_names_mean_what_they_mean_to_duckdb(form, engine):
    """Columns, rows and their order; thousands more by `python -m tools.questions N --names`."""
    rng, counts = random.Random(f"names {form} {engine}"), Counter()
    release, tables = name_sample(rng, form)
    with connect(release, engine) as session:
        for place in range(60):
            question = NameQuestions(rng, hides=place % 3 == 2).question()
            assert judge(session, tables, question, counts) is None, question.text
    assert counts["answered"] >= 15
