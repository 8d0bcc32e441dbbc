"""An answer reads as a person would say it."""

import dataclasses

import pytest

from hedgerow.query import Answer


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (Answer(80000, 80000, 80000, 0.0, True), "80000 (exact)"),
        (Answer(0.5, 0.5, 0.5, 0.0, True), "0.5 (exact)"),
        (Answer(None, None, None, None, True), "NULL (exact)"),
        (Answer(1, 4, 2.5, 0.75, False), "between 1 and 4, expected 2.5 ± 0.75"),
    ],
)
def test_an_answer_is_readable(answer, text):
    """Bounds, middle and deviation in one line."""
    assert repr(answer) == text


def test_an_answer_cannot_be_changed():
    """Whoever gets it can rely on it."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Answer(1, 2, 1.5, 0.5, False).lower = 0
