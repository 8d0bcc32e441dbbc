"""Bars: what they reach, and what they are drawn with."""

from hypothesis import example, given
from hypothesis import strategies as st

from hedgerow.cli.answers import ASCII, BLOCKS, Span, bars, strokes_for


def test_bars_share_one_scale():
    """The least lower bound is at the left end, the greatest upper bound at the right, expectations between."""
    drawn = bars([Span(0, 5, 10), Span(10, 15, 20), Span(5, 5, 5)], width=21, strokes=ASCII)
    assert drawn == ["-----#-----          ", "          -----#-----", "     #               "]


def test_an_answer_alone_fills_the_scale():
    """Its bar tells where between its bounds the expectation lies."""
    assert bars([Span(0, 2, 8)], width=9) == ["░░█░░░░░░"]


def test_answers_without_bounds_have_empty_or_single_marks():
    """NULL draws nothing, an estimate draws its mark alone, and a scale without length marks the middle."""
    assert bars([Span(None, None, None)], width=4) == ["    "]
    assert bars([Span(0, 1, 2), Span(None, 1, None)], width=5, strokes=ASCII)[1] == "  #  "
    assert bars([Span(3, 3, 3)], width=5, strokes=ASCII) == ["  #  "]


def test_encodings_without_blocks_get_ascii():
    """Latin and unknown encodings cannot show blocks; UTF-8 and the old PC page can."""
    assert strokes_for("utf-8") is BLOCKS
    assert strokes_for("cp437") is BLOCKS
    assert strokes_for("ascii") is ASCII
    assert strokes_for("latin-1") is ASCII
    assert strokes_for("no-such-encoding") is ASCII


@example([[0.0, 0.0, 5e-324]], 1)
@given(
    st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3).map(sorted), min_size=1
    ),
    st.integers(1, 40),
)
def test_every_bar_has_its_width_and_one_mark(ends, width):
    """Whatever the numbers, up to the largest float."""
    for bar in bars([Span(*three) for three in ends], width=width, strokes=ASCII):
        assert len(bar) == width
        assert bar.count("#") == 1
        assert "- -" not in bar
