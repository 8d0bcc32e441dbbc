"""An answer reads as a person would say it."""

import dataclasses
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import hedgerow as hr
import hedgerow.query
from hedgerow.query import Answer


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (Answer(80000, 80000, 80000, 0.0, True), "80000 (exact)"),
        (Answer(0.5, 0.5, 0.5, 0.0, True), "0.5 (exact)"),
        (Answer(None, None, None, None, True), "NULL (exact)"),
        (Answer(1, 4, 2.5, 0.75, False), "between 1 and 4, expected 2.5 ± 0.75 over fair assignments"),
    ],
)
def test_an_answer_is_readable(answer, text):
    """Bounds, middle and deviation in one line."""
    assert repr(answer) == text


def test_an_answer_cannot_be_changed():
    """Whoever gets it can rely on it."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Answer(1, 2, 1.5, 0.5, False).lower = 0


def test_one_average_visits_at_most_twelve_files():
    """From the text to the answer: a reader who follows an AVG opens few files (docs/design.md)."""
    ages = [20 + row % 50 for row in range(60)]
    table = pa.table({"age": ages, "pay": [1_000 * (1 + row % 7) for row in range(60)]})
    schema, sql = hr.Schema(quasi=["age"], sensitive="pay"), "SELECT avg(pay) FROM release WHERE age < 40"
    first, release = (hr.KEAnonymity(k=3, e=2_000).publish(table, schema) for _ in range(2))
    first.ask(sql)  # what is imported is not visited
    folder, visited = Path(hedgerow.query.__file__).parent, set()

    def note(frame, event, argument):
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(folder):
            visited.add(str(file.relative_to(folder)))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        answer = release.ask(sql)
    finally:
        sys.setprofile(before)
    assert not answer.exact
    assert 9 <= len(visited) <= 12, visited


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_extremes_of_decimals_are_rounded_outwards(engine, role):
    """The float nearest to 1.60 is greater than it, so that it is no lower bound."""
    decimals = pa.array([Decimal(text) for text in ("1.60", "1.60", "1.10", "0.70")], pa.decimal128(5, 2))
    others = pa.array([1, 2, 3, 4])
    table = pa.table({"q": decimals, "s": others} if role == "quasi" else {"q": others, "s": decimals})
    release = hr.Anatomy(l=2).publish(table, hr.Schema(quasi="q", sensitive="s"))
    column = "q" if role == "quasi" else "s"
    for function, truth in (("max", Fraction(8, 5)), ("min", Fraction(7, 10)), ("quantile_disc", Fraction(11, 10))):
        share = ", 0.5" if function == "quantile_disc" else ""
        answer = release.connect(engine).ask(f"SELECT {function}({column}{share}) FROM release")
        assert Fraction(answer.lower) <= truth <= Fraction(answer.upper)
        assert answer.exact
        assert answer.expected == float(truth)
