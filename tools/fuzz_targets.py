"""What is fuzzed: a reader, texts to begin with, words to insert, and what a refusal must look like."""

from __future__ import annotations

import ast
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hedgerow as hr
from hedgerow import query
from hedgerow.recipe import read_recipe
from hedgerow.table import read_csv
from hedgerow.table.dialect import find_dialect, to_utf8

__all__ = ["CANARY", "TARGETS", "Finding", "Target"]

CANARY = "canary-7f3a"
TESTS = Path(__file__).resolve().parent.parent / "tests"
LONGEST = 600
"""Letters of a message beyond what it quotes of the input's own names."""


class Finding(Exception):
    """An outcome that must not be."""


class Target:
    """A reader of foreign text."""

    seeds: list[bytes]
    words: list[bytes]

    def read(self, data: bytes) -> None:
        """Read; raise a HedgerowError to refuse, a Finding for a wrong value."""
        raise NotImplementedError

    def second_look(self, data: bytes) -> None:
        """Examine more slowly what reached something new."""

    def complaint(self, data: bytes, error: hr.HedgerowError) -> str | None:
        """What is wrong with a refusal, if anything."""
        message = str(error)
        if not message.isprintable() or not 0 < len(message) <= LONGEST + 10 * len(data):
            return f"a {type(error).__name__} that is not a short line of text"
        if CANARY in message and not self.may_say(data):
            return f"a {type(error).__name__} that quotes a cell"
        return None

    def may_say(self, data: bytes) -> bool:
        """Whether the canary is in a place that messages may name: a column, a parameter."""
        return False


class CSV(Target):
    """Delimited text files."""

    def __init__(self) -> None:
        self.file = Path(tempfile.mkdtemp()) / "table.csv"
        texts = [text for text in _texts("table/test_csv.py") if b"," in text and b"\n" in text]
        self.seeds = [*texts, *(text.replace(b"1", CANARY.encode(), 1) for text in texts if text.count(b"\n") > 1)]
        self.words = [
            *(b',";|\t\n\r', b"\r\n", b'"', b'""', b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"\xc3\x28", b"\xe9"),
            *(b"1e400", b"inf", b"NaN", b"-0.0", b"01234", b"9" * 40, b"2020-02-30", b"0001-01-01T00:00:00Z", b"true"),
            *(CANARY.encode(), b"=1+1", b"NULL", b"2020-01-01 10:00+25:00", b"1_000", b"\xd9\xa1", b",", b"\n"),
        ]

    def read(self, data: bytes) -> None:
        """Read the file; every column is of a type that a table may hold."""
        self.file.write_bytes(data)
        table = read_csv(self.file)
        if table.num_rows < 1 or any(len(column.chunks) != 1 for column in table.arrow.columns):
            raise Finding("a table without rows or in several chunks")
        table.arrow.validate(full=True)

    def second_look(self, data: bytes) -> None:
        """What was read and written is read again as the same table."""
        try:
            table = read_csv(self.file)
        except hr.HedgerowError:
            return
        from hedgerow.table import write_csv

        write_csv(table, self.file)
        again = read_csv(self.file, unescape_formulas=True)
        if again.names != table.names or again.num_rows != table.num_rows:
            raise Finding("a table that changes its shape when written and read")

    def may_say(self, data: bytes) -> bool:
        """Columns are named in messages."""
        return any(CANARY in name for name in find_dialect(to_utf8(data)).names)


class SQL(Target):
    """Questions, parsed, bound and answered over a release with awkward columns."""

    def __init__(self) -> None:
        release = hr.KEAnonymity(k=3).publish(_people(), _SCHEMA, seed=1)
        self.arrays, self.duckdb = query.connect(release), query.connect(release, "duckdb")
        texts = [text for text in _texts("query") if text.lstrip()[:6].upper() == b"SELECT" and len(text) < 2000]
        self.seeds = [*(question.encode() for question in _QUESTIONS), *texts]
        self.words = [word.encode() for word in _SQL_WORDS]

    def read(self, data: bytes) -> None:
        """Answer; every bound is in order and holds what is expected."""
        for row in self.arrays.sql(data.decode("utf-8", "replace")).to_pylist():
            for name in row:
                if {f"{name}_lower", f"{name}_upper"} <= row.keys():
                    _check_bounds(row[f"{name}_lower"], row[name], row[f"{name}_upper"])

    def second_look(self, data: bytes) -> None:
        """The engine over arrays and the one over DuckDB agree wherever both answer."""
        text = data.decode("utf-8", "replace")
        try:
            answers = [session.sql(text).to_pylist() for session in (self.arrays, self.duckdb)]
        except hr.HedgerowError:
            return
        if len(answers[0]) != len(answers[1]) or not all(map(_alike, *answers)):
            raise Finding("two engines that disagree")

    def may_say(self, data: bytes) -> bool:
        """A question is its author's own."""
        return True


class Recipes(Target):
    """TOML files that say everything about a publication."""

    def __init__(self) -> None:
        self.file = Path(tempfile.mkdtemp()) / "recipe.toml"
        examples = [text for text in _texts("cli") if b"[method]" in text or b"[roles]" in text]
        self.seeds = [*examples, _RECIPE.encode(), _RECIPE.replace('"ke"', '"mondrian"').encode()]
        self.words = [word.encode() for word in _TOML_WORDS]

    def read(self, data: bytes) -> None:
        """Read the recipe, build its method and the schema of a table."""
        self.file.write_bytes(data)
        recipe = read_recipe(self.file)
        recipe.build_method()
        recipe.build_schema(("age", "town", "salary", "name"))

    def may_say(self, data: bytes) -> bool:
        """A recipe holds no cells."""
        return True


TARGETS: dict[str, type[Target]] = {"csv": CSV, "sql": SQL, "recipe": Recipes}


def _texts(where: str) -> list[bytes]:
    """Every text that the tests in a file or folder spell out, in their order."""
    place = TESTS / where
    files = [place] if place.is_file() else sorted(place.glob("*.py"))
    return list(dict.fromkeys(text for file in files for text in _constants(file)))


def _constants(file: Path) -> Iterator[bytes]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and len(node.value) < 1 << 16:
            yield node.value if isinstance(node.value, bytes) else node.value.encode("utf-8", "replace")


def _people() -> dict[str, list[object]]:
    return {
        "age": [21, 22, 23, 34, 35, 36, 47, 48, 49, 50],
        "town": ["Ash", "Elm", None, "Oak", "Ash", "Elm", "Oak", "Ash", "Elm", "Oak"],
        'say "hi"': [True, False, None, True, True, False, False, True, None, False],
        "weight": [1.5, 2.5, None, 4.25, 5.0, 6.5, 7.0, 8.0, 9.0, 1e300],
        "salary": [10, 20, 30, 40, 50, 60, 70, 80, 90, 100],
    }


_SCHEMA = hr.Schema(quasi=["age", "town", 'say "hi"', "weight"], sensitive="salary")


_RECIPE = """table = "t.csv"
output = "o"
others = "identifier"
[roles]
quasi = ["age", "town"]
sensitive = ["salary"]
[missing]
salary = "suppress"
[method]
name = "ke"
k = 2
e = "0.5"
"""
_QUESTIONS = (
    "SELECT avg(salary) FROM release WHERE age BETWEEN 22 AND 40",
    "SELECT town, count(*) AS n, sum(salary) FROM release GROUP BY town ORDER BY n DESC NULLS FIRST LIMIT 2 OFFSET 1",
    "SELECT median(salary), quantile_disc(salary, 0.25) FROM release WHERE weight * 2 - 1 > age / 10 OR town IS NULL",
    'SELECT min(salary) + max(salary) AS x FROM release WHERE town LIKE \'A%\' AND NOT "say ""hi""" HAVING x > 1',
    "SELECT var_pop(salary), stddev_samp(salary) FROM release WHERE town IN ('Ash', 'Elm', NULL) AND salary > 25",
    "SELECT CASE WHEN age > 30 THEN 'old' ELSE lower(town) END AS k, count(DISTINCT salary) FROM release GROUP BY k",
    "SELECT round(weight), avg(salary * 2 + 1) FROM release WHERE abs(age - 40) < 10 GROUP BY round(weight)",
    "SELECT count(*) FROM release WHERE salary > 20 AND age < 40 OR salary <= 20 AND coalesce(town, 'x') <> 'Oak'",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY salary) FROM release WHERE substring(town, 2, 1) = 'l'",
    "SELECT sum(salary) / count(*), avg(age) - min(weight) FROM release WHERE age % 2 = 1",
)
_SQL_WORDS = (
    *("SELECT", "count(*)", "sum(salary)", "avg(salary)", "FROM release", "WHERE", "GROUP BY", "HAVING", "ORDER BY"),
    *("LIMIT 3", "OFFSET 1", "age", "town", '"say ""hi"""', "weight", "salary", "AND", "OR", "NOT", "IN (1, 2)"),
    *("BETWEEN 1 AND 30", "LIKE '%a_'", "ESCAPE '!'", "IS NULL", "CASE WHEN age > 30 THEN 1 ELSE 2 END", "coalesce("),
    *("(", ")", "((((((((", ",", ";", "--", "/*", "*/", "'", '"', "=", "<>", "<=", "*", "/", "%", "-", "+", "||"),
    *("9223372036854775807", "-1", "0", "1e400", "1e-400", "0.1", "NULL", "TRUE", "DATE '2020-12-31'", "'Ash'", "nan"),
    *("median(salary)", "quantile_cont(salary, 0.9)", "var_pop(salary)", "count(DISTINCT age)", "min(age)", "AS x"),
    *("UNION", "WITH r AS (SELECT 1)", "EXISTS", "INTERVAL 3 DAY", "substring(town, 1, 2)", "abs(", "round(", "DESC"),
    *(
        "NULLS FIRST",
        "::int",
        "[1]",
        "{'a': 1}",
        "x -> x",
        "@",
        "$1",
        "\\",
        "\u202e",
        "lower(town)",
        "year(age)",
        "E'\\n'",
    ),
)
_TOML_WORDS = (
    *("table", "output", "others", "[roles]", "[method]", "[missing]", "[[method]]", "quasi", "sensitive", "name", "="),
    *('"ke"', '"mondrian"', '"robust"', '"target"', '"personal"', '"walk"', '"anatomy"', '"noise"', '"retention"'),
    *(
        "k = 2",
        "l = 3",
        "e = 1",
        "t = 0.2",
        "r = 2",
        "eps = 0.1",
        "[",
        "]",
        "[[[[[[[[",
        "{",
        "}",
        "{a = {b = {c = 1}}}",
    ),
    *(
        '"""',
        "'''",
        "\n",
        "#",
        ".",
        "a.b.c.d = 1",
        "inf",
        "nan",
        "-0",
        "1e400",
        "9" * 5000,
        "0x1F",
        "true",
        "2020-01-01",
    ),
    *("\\u0000", "\\ud800", "\0", "\r", "10:00:00", "[]", "{}", '""', '["age"]', "'identifier'", "k = true", "k = -1"),
)


def _check_bounds(lower: Any, expected: Any, upper: Any) -> None:
    if not all(isinstance(end, int | float) for end in (lower, expected, upper)):
        return
    room = 1e-9 * max(abs(lower), abs(upper), 1)
    if math.isnan(lower) or math.isnan(upper) or not lower - room <= expected <= upper + room:
        raise Finding("bounds that are out of order")


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)
    return bool(one == other)
