"""What the command line prints, on wide and on narrow screens."""

import pytest
from rich.console import Console

from hedgerow.cli.show import facts, table


def printed(built, width):
    """The lines that a screen of that width shows."""
    screen = Console(width=width, highlight=False, color_system=None)
    with screen.capture() as captured:
        screen.print(built)
    return [line.rstrip() for line in captured.get().splitlines()]


COLUMNS = ("column", "type", "distinct", "because")
ROWS = [
    ("marital-status", "string", "7", "the name says 'marital': something that outsiders know or can look up"),
    ("capital-loss", "int64", "28,523", "the name says 'loss': something that people keep to themselves"),
]


@pytest.mark.parametrize("width", [120, 80, 60, 40, 30])
def test_no_word_is_broken_and_none_is_lost(width):
    """However narrow the screen, every word of every cell stands on one line, and no line is too long."""
    lines = printed(table("", COLUMNS, ROWS, right=("distinct",), width=width), width)
    assert max(map(len, lines)) <= width
    words = {word for line in lines for word in line.split()}
    assert {word for row in ROWS for cell in row for word in cell.split()} <= words
    assert set(COLUMNS) <= words


def test_a_screen_too_narrow_for_columns_gets_a_line_per_cell():
    """Names stand at the left and values beside them, a blank line between two rows."""
    lines = printed(table("", ("sex", "answer", "lower"), [("F", "average", "1,000"), ("M", "b", "2")], width=18), 18)
    assert [line.split() for line in lines if line.strip()] == [
        ["sex", "F"], ["answer", "average"], ["lower", "1,000"], ["sex", "M"], ["answer", "b"], ["lower", "2"],
    ]  # fmt: skip


def test_brackets_in_facts_are_text():
    """A column's name that looks like an instruction for the screen is printed as it is."""
    assert any("[red]x[/red]" in line for line in printed(facts("", [("promise", "'[red]x[/red]' is hidden")]), 60))


def test_signs_that_steer_a_terminal_are_spelled_out():
    """A column or a cell of somebody else's bundle cannot colour, rename or turn round the screen."""
    name, cell = "to\x1b[32mwn", "\x1b]0;title\x07 \u202e a\nb"
    for built in (table("", (name,), [(cell,)], width=80), facts("", [(name, cell)])):
        text = "\n".join(printed(built, 80))
        assert text.replace("\n", "").isprintable()
        assert r"to\x1b[32mwn" in text
        assert r"\x1b]0;title\x07 \u202e a\nb" in text


def test_a_title_is_as_wide_as_the_screen():
    """A title longer than its table is not folded to the table's width."""
    title = "Risk by quasi-identifiers as published"
    assert printed(facts(title, [("a", "b")]), 60)[0] == title
    assert printed(table(title, ("a",), [("b",)], width=60), 60)[0] == title
