"""Releases side by side."""

from dataclasses import replace

import pyarrow as pa
import pytest

from hedgerow.errors import ParameterError
from hedgerow.query import Answer
from hedgerow.release.forms import GENERALIZED
from hedgerow.utility.compare import (
    QuestionOutcome,
    answers_table,
    compare_releases,
    outcomes_of,
    questions_for,
    score,
    true_answers,
)
from hedgerow.utility.random_questions import RandomQuestion, Workload
from tests.support.assignments import release_of

QUESTION = RandomQuestion("SELECT count(*) AS answer FROM release", "count", 1, 0.5)


@pytest.fixture(scope="module")
def original():
    """Two hundred people."""
    return pa.table(
        {
            "age": [row * 37 % 61 for row in range(200)],
            "town": ["ABC"[row % 3] for row in range(200)],
            "pay": [1000 + row * 13 % 500 for row in range(200)],
        }
    )


def grouped(original, size):
    """A release whose groups are runs of `size` similar values of pay."""
    ordered = original.sort_by("pay")
    columns = {name: ordered.column(name).to_pylist() for name in ordered.column_names}
    return release_of(columns, [row // size for row in range(200)], sensitive="pay")


def test_small_groups_beat_large_ones_and_the_truth_is_inside(original):
    """All is answered; groups of one are exact."""
    releases = [grouped(original, size) for size in (1, 4, 50)]
    questions = questions_for(releases, Workload(aggregates=("count", "sum", "avg", "min", "max"), count=6), original)
    truths = true_answers(original, questions)
    single, small, large = (score(outcomes_of(release, questions, truths)) for release in releases)
    assert single.answered == small.answered == large.answered == 1
    assert single.inside == small.inside == large.inside == 1
    assert single.width == single.error == 0
    assert 0 < small.width < large.width
    assert small.error < large.error


def test_a_table_that_was_changed_is_noticed(original):
    """Truths of another table do not lie inside."""
    release = grouped(original, 4)
    raised = original.set_column(2, "pay", pa.array([value * 2 for value in original.column("pay").to_pylist()]))
    questions = questions_for([release], Workload(aggregates=("sum",), count=5), original)
    assert score(outcomes_of(release, questions, true_answers(raised, questions))).inside == 0


def test_without_the_original_there_is_width_alone(original):
    """Questions come from the first release with plain values, and are the same as the original's."""
    release = grouped(original, 4)
    questions = questions_for([release], Workload(count=3))
    assert questions == questions_for([release], Workload(count=3), original)
    found = score(outcomes_of(release, questions))
    assert (found.error, found.inside) == (None, None)
    assert found.width > 0


def test_a_refusal_lowers_the_share_answered(original):
    """It is no error of the comparison."""
    bad = replace(QUESTION, sql="SELECT mode(pay) FROM release")
    found = score(outcomes_of(grouped(original, 4), [QUESTION, bad]))
    assert found.answered == 0.5


@pytest.mark.parametrize(
    ("answer", "truth", "width", "error", "inside"),
    [
        (Answer(90, 110, 100.0, 1.0, False), 80, 0.2, 0.25, False),
        (Answer(-110, -90, -100.0, 1.0, False), -100, 0.2, 0, True),
        (Answer(5, 5, 5, 0.0, True), 5, 0, 0, True),
        (Answer(0, 0, 0, 0.0, True), 0, 0, None, True),
        (Answer(None, None, None, None, True), None, None, None, None),
        (None, 4, None, None, None),
        (Answer(2.0, 3.0, 2.5, 0.1, False), 3.0 + 1e-14, 0.4, 1 / 6, True),
        (Answer(2, 3, 2.5, 0.1, False), 4, 0.4, 0.375, False),
    ],
)
def test_an_outcome_in_numbers(answer, truth, width, error, inside):
    """Relative to the expectation or the truth; None where that is zero or missing."""
    outcome = QuestionOutcome(QUESTION, answer, truth)
    assert outcome.width == (None if width is None else pytest.approx(width))
    assert outcome.error == (None if error is None else pytest.approx(error))
    assert outcome.inside is inside


def test_releases_must_share_what_is_asked(original):
    """The message names what is missing."""
    release = grouped(original, 4)
    other = replace(release, columns=replace(release.columns, quasi=("town",), sensitive=("age",)))
    with pytest.raises(ParameterError, match="'sensitive'"):
        questions_for([release, other], Workload())
    with pytest.raises(ParameterError, match="height"):
        questions_for([release], Workload(columns=("height",)))
    with pytest.raises(ParameterError, match="lacks pay"):
        questions_for([release], Workload(), original.drop_columns(["pay"]))
    with pytest.raises(ParameterError, match="--original"):
        questions_for([replace(release, form=GENERALIZED)], Workload())


def test_a_column_of_texts_can_only_be_counted(original):
    """The message says which aggregate works."""
    release = release_of({"pay": [1, 2], "town": ["A", "B"]}, [0, 0], sensitive="town")
    with pytest.raises(ParameterError, match="count"):
        questions_for([release], Workload(dimensions=(1,)))
    assert questions_for([release], Workload(dimensions=(1,), aggregates=("count",), count=2))


@pytest.mark.parametrize(("truth", "near"), [(53.9, True), (54.1, False), (46.0, True), (45.0, False)])
def test_a_truth_is_near_within_two_deviations(truth, near):
    """Expected 50 with a deviation of 2: from 46 to 54. Exact answers and those without truth do not count."""
    answer = Answer(0, 100, 50.0, 2.0, exact=False)
    assert QuestionOutcome(QUESTION, answer, truth).is_near is near
    assert QuestionOutcome(QUESTION, replace(answer, exact=True), truth).is_near is None
    assert QuestionOutcome(QUESTION, answer).is_near is None
    assert QuestionOutcome(QUESTION, None, truth).is_near is None


def test_calibration_is_the_share_of_near_truths():
    """Three answers that are not exact, one of them near; exact ones are left out of the share."""
    answer = Answer(0, 100, 50.0, 2.0, exact=False)
    truths = {49.0: answer, 60.0: answer, 99.0: answer, 50.0: replace(answer, exact=True)}
    found = score([QuestionOutcome(QUESTION, said, truth) for truth, said in truths.items()])
    assert found.near == pytest.approx(1 / 3)


def test_every_answer_stands_beside_the_truth(original):
    """One row per release and question; a refusal has no numbers."""
    releases = {"small": grouped(original, 4), "large": grouped(original, 50)}
    outcomes = compare_releases(releases, Workload(aggregates=("count", "avg"), count=5), original)
    table = answers_table(outcomes)
    assert table.num_rows == 2 * len(outcomes["small"])
    for row in table.to_pylist():
        assert row["truth"] is None or row["lower"] <= row["truth"] <= row["upper"]
        assert row["expected"] is None or row["lower"] <= row["expected"] <= row["upper"]
    refused = answers_table({"x": [QuestionOutcome(QUESTION, None, 3.0)]}).to_pylist()[0]
    assert (refused["truth"], refused["expected"], refused["lower"]) == (3.0, None, None)
