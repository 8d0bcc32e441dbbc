"""Completion at the prompt."""

import pytest

from hedgerow.cli.prompt import as_written, completions

COLUMNS = ("age", "capital-loss", "Sex", "from", 'odd"name')


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("cap", '"capital-loss"'),
        ('"cap', '"capital-loss"'),
        ('"ag', '"age"'),
        ("AG", "age"),
        ("sel", "select"),
        ("SEL", "SELECT"),
        (".e", ".explain"),
        ("rel", "release"),
    ],
)
def test_the_first_completion(text, first):
    """Columns as SQL needs them, words in the case that was begun, commands after a dot."""
    assert completions(text, COLUMNS)[0] == first


def test_nothing_typed_lists_columns():
    """And unknown beginnings have no completion."""
    assert completions("", COLUMNS) == ["age", '"capital-loss"', "Sex", '"from"', '"odd""name"']
    assert completions("zzz", COLUMNS) == []


def test_names_are_quoted_where_sql_needs_it():
    """Words of SQL, hyphens and quotes."""
    assert [as_written(name) for name in COLUMNS] == ["age", '"capital-loss"', "Sex", '"from"', '"odd""name"']
