"""Texts and names with line breaks, quotes and signs of other scripts mean the same in every engine."""

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.query import connect, rewrite

SIGNS = [
    "\n",
    "\r",
    "\r\n",
    "\t",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x85",
    "\u2028",
    "'",
    "''",
    '"',
    "\\",
    "\\n",
    "--",
    "/*",
    "%",
    "$1",
    ";",
]
TEXTS = [f"a{sign}b" for sign in SIGNS] + ["a    b", "ab"]


def _release(column):
    table = pa.table({column: TEXTS, "s": list(range(len(TEXTS)))})
    return hr.KEAnonymity(k=2).publish(table, hr.Schema(quasi=column, sensitive="s"), seed=1)


@pytest.mark.parametrize("column", ["a", *(name for name in TEXTS if "\r" not in name)], ids=repr)
def test_a_text_is_found_whatever_it_holds(column):
    """Every text is equal to itself alone, and below or above the others as their signs are."""
    release = _release(column)
    engines = [connect(release), connect(release, "duckdb")]
    name = '"' + column.replace('"', '""') + '"'
    for text in TEXTS if column == "a" else TEXTS[:3]:
        quoted = "'" + text.replace("'", "''") + "'"
        conditions = {
            f"{name} = {quoted}": 1,
            f"{name} IN ({quoted}, 'no')": 1,
            f"{name} <= {quoted}": sum(other.encode() <= text.encode() for other in TEXTS),
        }
        for condition, true in conditions.items():
            sql = f"SELECT count(*) AS n, sum(s) FILTER (WHERE {condition}) AS t FROM release WHERE {condition}"
            for engine in engines:
                found = engine.answers(sql).table().to_pylist()[0]
                assert (found["n_lower"], found["n_upper"]) == (true, true), (condition, found)


def test_the_printed_statement_keeps_texts():
    """What is printed for a database holds every constant as it was asked."""
    for text in TEXTS:
        quoted = "'" + text.replace("'", "''") + "'"
        assert quoted in rewrite(_release("a"), f"SELECT avg(s) FROM release WHERE a = {quoted}")
