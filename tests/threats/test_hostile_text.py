"""threats.md, part B: whatever text comes in, a value or one of our own refusals in one printable line comes out."""

import dataclasses

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.query import select
from hedgerow.recipe import read_recipe
from hedgerow.table import read_csv
from hedgerow.table.dialect import find_dialect, to_utf8
from tests.support.assignments import release_of
from tests.support.every_method import PEOPLE, SCHEMA, cases

CANARY = "canary-7f3a"

_signs = st.sampled_from(
    [",", ";", "\t", "|", "\n", "\r", '"', "'", " ", "\0", "\ufeff", "=", "-", "\u202e", "\x1b[31m"]
)
_cells = st.sampled_from(
    [CANARY, "1", "0.5", "01234", "inf", "NaN", "1e400", "-0.0", "2020-02-30", "é", "a", "b", "9" * 40]
)
_files = st.lists(_signs | _cells, max_size=30).map("".join)
_words = st.sampled_from([
    "SELECT", "count(*)", "sum(salary)", "avg(age)", "FROM release", "WHERE", "GROUP BY", "age", "town", "salary",
    "AND", "OR", "NOT", "(", ")", ",", ";", "--", "/*", "=", "<", "+", "-", "*", "/", "%", "1", "0", "1e400",
    "1e-400", "NULL", "9223372036854775808", "'Ash'", "TRUE", "LIKE", "IN", "BETWEEN", "CASE", "WHEN", "THEN", "END",
    "DATE '2020-02-30'", "::", "UNION", "ORDER BY", "LIMIT", "HAVING", "AS x", '"x', "median(salary)",
    "DISTINCT", "IS", "[1]", "$1", "@",
])  # fmt: skip
_lines = st.sampled_from([
    'table = "t"', 'output = "o"', 'others = "plain"', "[roles]", "[method]", "[missing]", 'quasi = ["age"]',
    "quasi = 1", 'sensitive = ["salary"]', 'name = "ke"', 'name = "walk"', 'name = "none"', "k = 2",
    "k = true", "k = nan", "k = -1",
    "k = 2.5", "l = inf", "e = []", "e = {}", "k = " + "9" * 5000, "x = " + "[" * 2000, "[[method]]", "a.b = 1", "\0",
])  # fmt: skip


def _check(refusal):
    """A refusal is one printable line without a cell."""
    message = str(refusal)
    assert message
    assert message.isprintable()
    assert refusal.__cause__ is None


@settings(max_examples=150)
@given(
    _files | st.binary(max_size=60).map(lambda data: data.decode("latin-1")),
    st.sampled_from(["utf-8", "utf-16", "latin-1"]),
)
@example('a,b\n1,2\ncanary"\n', "utf-8")
def test_any_file_is_read_or_refused(tmp_path_factory, text, encoding):
    """Bytes of any kind under the name of a CSV file."""
    file = tmp_path_factory.getbasetemp() / "hostile.csv"
    file.write_bytes(text.encode(encoding, "replace"))
    try:
        table = read_csv(file)
    except hr.HedgerowError as refusal:
        _check(refusal)
        if CANARY in str(refusal):
            assert any(CANARY in name for name in find_dialect(to_utf8(file.read_bytes())).names)
    else:
        assert table.num_rows >= 1


@pytest.fixture(scope="module")
def release():
    """A release with numbers, text and gaps."""
    columns = {"age": [1, 2, 3, 4], "town": ["Ash", None, "Elm", "Elm"], "weight": [1.5, None, 2.0, 3.0]}
    return release_of({**columns, "salary": [10, 20, 30, 40]}, [0, 0, 1, 1], sensitive="salary")


@settings(max_examples=150)
@given(words=st.lists(_words, max_size=14).map(" ".join), question=st.booleans())
@example(words="weight * 1e400 > 1", question=True)
@example(words="weight > -1e400", question=True)
@example(words="weight * 922e-4002036854775807 > 1", question=True)
@example(words="floor() > 1", question=True)
@example(words="SELECT sum(@) FROM release", question=False)
def test_any_question_is_answered_or_refused(release, words, question):
    """Words of SQL in any order, alone or as a condition."""
    text = f"SELECT count(*) FROM release WHERE {words}" if question else words
    try:
        select(release, text)
    except hr.HedgerowError as refusal:
        _check(refusal)


@settings(max_examples=150)
@given(st.lists(_lines, max_size=12).map("\n".join))
@example("table = " + "9" * 5000)
@example("table = " + "[" * 5000)
def test_any_recipe_is_read_or_refused(tmp_path_factory, text):
    """Lines of recipes in any order, with absurd numbers and brackets in brackets."""
    file = tmp_path_factory.getbasetemp() / "hostile.toml"
    file.write_text(text)
    try:
        recipe = read_recipe(file)
        recipe.build_method()
        recipe.build_schema(("age", "salary"))
    except hr.HedgerowError as refusal:
        _check(refusal)


def test_a_name_cannot_steer_the_terminal():
    """Control signs and turned writing in the name of a column are spelled out in messages."""
    schema = hr.Schema(quasi=["age"], sensitive="salary")
    with pytest.raises(hr.SchemaError) as refusal:
        hr.KEAnonymity(k=2).publish({"age": [1], "salary": [1], "x\x1b[2J\n\u202e": [1]}, schema)
    assert str(refusal.value).isprintable()
    assert "\\x1b" in str(refusal.value)


STRANGE = [
    0,
    -1,
    float("nan"),
    float("inf"),
    True,
    None,
    [],
    {},
    10**30,
    "x\n",
    b"2",
    object(),
    "",
    "\x1b[2J",
    2.5,
    "3",
]
ABSURD = STRANGE[:-2]
"""Without those that are a possible `r`, which Robust needs half a minute to refuse."""


@pytest.mark.parametrize("case", cases(), ids=str)
def test_a_parameter_is_checked_at_the_door(case):
    """Every parameter of every method takes a strange value or refuses it in a line; publishing then, too."""
    tried = 0
    for field in dataclasses.fields(case.method):
        for value in ABSURD if field.name == "r" else STRANGE:
            tried += 1
            try:
                strange = dataclasses.replace(case.method, **{field.name: value})
                strange.publish(PEOPLE, SCHEMA)
            except hr.HedgerowError as refusal:
                _check(refusal)
    assert tried >= len(ABSURD)
