"""The table behind a release, asked in DuckDB: its answers lie inside the bounds, on every form."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import QueryError
from hedgerow.query import connect
from tests.support.every_form import EVERY_FORM, sample_of
from tests.support.random_sql import random_question
from tests.support.truth import is_inside, true_answers

UNBOUNDED = ("perturbed", "swapped", "substituted")
BOUNDED = [form for form in EVERY_FORM if not form.startswith(UNBOUNDED)]


@pytest.mark.parametrize("form", BOUNDED)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_the_truth_lies_inside(form, seed):
    """Whatever is asked and answered: every group of the true answer is listed, and its numbers are within bounds."""
    rng = random.Random(seed)
    sample = sample_of(form, rng, rows=rng.randrange(20, 50))
    session = connect(sample.release)
    for _ in range(6):
        once = sample.release.form == "scattered" or rng.random() < 0.5
        text = random_question(rng, sample.kind, once=once, boxed=sample.release.form == "generalized")
        text = text.partition(" HAVING")[0].partition(" ORDER")[0]
        try:
            answers = {row.get("k"): row for row in session.sql(text).to_pylist()}
        except QueryError:
            continue
        for true in true_answers(sample.table, text):
            assert true.get("k") in answers, text
            answer = answers[true.get("k")]
            for name in [name for name in true if name != "k" and true[name] is not None]:
                assert answer[f"{name}_lower"] is not None, (text, true)
                assert is_inside(answer[f"{name}_lower"], true[name], answer[f"{name}_upper"]), (text, true, answer)
