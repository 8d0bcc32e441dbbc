"""Questions over the whole grammar: the truth is inside, exact is equal, engines agree, reached is an answer."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import QueryError
from hedgerow.query import connect
from hedgerow.query.engines.postgres import export
from tests.support.agreement import disagreement
from tests.support.assignments import release_of
from tests.support.every_form import EVERY_FORM, sample_of
from tests.support.form_worlds import as_generalized, as_scattered, as_separated, possible_answers
from tests.support.grammar import SAMPLE_COLUMNS, Columns, Grammar
from tests.support.truth import contradiction, is_inside

UNBOUNDED = ("perturbed", "swapped", "substituted")
BOUNDED = [form for form in EVERY_FORM if not form.startswith(UNBOUNDED)]


@pytest.mark.parametrize("form", BOUNDED)
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_the_truth_lies_inside(form, seed):
    """Whatever is asked and answered."""
    rng = random.Random(seed)
    sample = sample_of(form, rng, rows=rng.randrange(4, 40))
    kind = sample.kind if sample.kind in ("text", "date") else "number"
    columns = Columns(("fee",), keys=("floor(fee / 30)",)) if form.startswith("generalized") else SAMPLE_COLUMNS
    grammar = Grammar(rng, columns, kind, mixes=not form.startswith("scattered"))
    session, other = connect(sample.release), connect(sample.release, "duckdb")
    for place in range(5):
        text = grammar.question()
        problem = contradiction(session, sample.table, text)
        assert problem is None or problem.startswith("answered, but DuckDB stops"), text
        assert place or disagreement(session, other, text) is None, text


@pytest.mark.slow
@pytest.mark.parametrize("form", EVERY_FORM)
def test_postgresql_agrees_over_the_whole_grammar(form, url):
    """Keys, bounds, refusals and what is said about bounds; thousands more by `python -m tools.questions`."""
    rng = random.Random(f"grammar on a server {form}")
    sample = sample_of(form, rng, rows=40)
    kind = sample.kind if sample.kind in ("text", "date") else "number"
    grammar = Grammar(rng, SAMPLE_COLUMNS, kind, mixes=not form.startswith("scattered"))
    export(sample.release, url, overwrite=True)
    with connect(sample.release, url) as server:
        arrays = connect(sample.release)
        for _ in range(15):
            text = grammar.question()
            assert disagreement(arrays, server, text) is None, text


FORMS = {
    "permuted": lambda whole: whole,
    "separated": as_separated,
    "scattered": as_scattered,
    "generalized": as_generalized,
}


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_against_all_tables_that_a_tiny_release_allows(form, seed):
    """All their answers are inside; an end that is reached is the answer of one of them."""
    rng = random.Random(seed)
    rows = 4 if form == "generalized" else 6
    size = 2 if form == "generalized" else 3
    columns = {"a": [rng.randrange(4) for _ in range(rows)], "s": [rng.randrange(-3, 6) for _ in range(rows)]}
    whole = release_of(columns, [row // size for row in range(rows)], sensitive="s")
    session = connect(FORMS[form](whole))
    grammar = Grammar(rng, Columns(("a",)), mixes=form in ("permuted", "separated"))
    for _ in range(4):
        item, condition = grammar.result().replace("60", "3"), grammar.condition(1)
        if "(SELECT" in item:
            continue
        try:
            answer = session.ask(f"SELECT {item} AS x FROM release WHERE {condition}")
            worlds = possible_answers(whole, form, item, condition)
        except QueryError:
            continue
        if not answer.bounded:
            continue
        found = [world for world in worlds if world is not None and math.isfinite(world)]
        text = f"{item} WHERE {condition}: {answer}"
        if answer.lower is None:
            assert not found, text
            continue
        assert all(is_inside(answer.lower, world, answer.upper) for world in found), text
        assert not answer.exact or len({float(world) for world in found}) <= 1 or _is_near(found), text
        assert not answer.exact or None not in worlds, text
        if answer.reached and found and form != "generalized":
            assert is_inside(min(found), answer.lower, min(found)), text
            assert is_inside(max(found), answer.upper, max(found)), text


def _is_near(found):
    return max(found) - min(found) <= 1e-9 * max(1.0, abs(float(max(found))))
