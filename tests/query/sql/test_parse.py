"""The parser: what is understood, what is refused with a reason, and what hostile text does (nothing)."""

import contextlib
import time

import pytest
from sqlglot import exp

from hedgerow.errors import QueryError
from hedgerow.query import ask, connect, select
from hedgerow.query.sql.parse import _AGGREGATES, parse
from hedgerow.query.sql.question import Aggregate, Key, Name, Truth
from hedgerow.query.sql.strict import NODES
from tests.support.assignments import release_of


@pytest.fixture(scope="module")
def release():
    """A release with awkward column names."""
    columns = {
        "age": [1, 2, 3, 4],
        "capital-loss": [5, 6, 7, 8],
        'say "hi"': ["a", "b", "c", None],
        "x.y": [True, False, None, True],
        "select": [1.5, 2.5, None, 4.5],
        "Zip": ["1", "2", "3", "4"],
        "salary": [10, 20, 30, 40],
    }
    return release_of(columns, [0, 0, 1, 1], sensitive="salary", plain=["Zip"])


def test_a_question_is_a_small_tree():
    """Select items, condition and groups are read into frozen values."""
    question = parse('SELECT sex AS s, avg("a b") FROM release GROUP BY sex')
    assert question.select == (Key(Name("sex"), "s"), Aggregate("avg", Name("a b", quoted=True), "avg_a b"))
    assert question.where == Truth(True)
    assert question.groups == (Name("sex"),)


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ('"capital-loss" > 5', 3),
        ('release."capital-loss" = 6 OR release.age = 1', 2),
        ('"say ""hi""" = \'a\'', 1),
        ('"say ""hi""" <> \'a\'', 2),
        ('"say ""hi""" NOT IN (\'a\')', 2),
        ('"say ""hi""" NOT IN (\'a\', NULL)', 0),
        ('"say ""hi""" IN (\'a\', NULL)', 1),
        ('"x.y"', 2),
        ('NOT "x.y"', 1),
        ('"x.y" IS NOT TRUE', 2),
        ('"select" BETWEEN 2 AND 4.5', 2),
        ('"select" NOT BETWEEN 2 AND 4.5', 1),
        ("zip = '2' /* a comment */ -- and another", 1),
        ("ZIP LIKE '_' AND AGE * 2 + 1 > \"capital-loss\" - 1", 2),
        ("age / 2 = 1.5", 1),
        ("age <> 1 AND age / (age - 1) >= 1", 3),
        ("age < 2.5 AND age <> 1.5 AND age = age", 2),
        ("age > 2.5 AND age >= 1.5", 2),
        ("3.5 <= age", 1),
        ("age = 1.5 OR age > 1e30", 0),
        ("-age < -3", 1),
        ("NULL", 0),
        ("1 IN (NULL)", 0),
        ("NOT (1 IN (NULL))", 0),
        ("1 IN (1, NULL) AND 1.0 = 1 AND DATE '2020-01-01' < DATE '2020-01-02'", 4),
        ("age = NULL OR TRUE", 4),
        ("NOT (age > 1 AND NOT age > 3)", 2),
    ],
)
def test_conditions_select_the_rows_that_sql_selects(release, condition, rows):
    """Names in quotes, three-valued logic, arithmetic and constants off the column's grid."""
    assert ask(release, f"SELECT count(*) FROM release WHERE {condition}").lower == rows


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("SELECT count(*) FROM release; SELECT 1", "one SELECT"),
        ("SELECT count(*) FROM release; DROP TABLE release", "one SELECT"),
        ("DROP TABLE release", "single SELECT"),
        (";;;", "is empty"),
        ("-- nothing but a comment", "is empty"),
        ("/* SELECT count(*) FROM release", "SQL"),
        ("SELECT count(*) FROM release -- ; \n; DELETE FROM release", "one SELECT"),
        ("SELECT count(*) FROM release /**/;/**/ SET threads = 9", "one SELECT"),
        ("INSERT INTO release VALUES (1)", "single SELECT"),
        ("UPDATE release SET age = 1", "single SELECT"),
        ("DELETE FROM release", "single SELECT"),
        ("CREATE TABLE x AS SELECT count(*) FROM release", "single SELECT"),
        ("EXPLAIN SELECT count(*) FROM release", "SELECT"),
        ("INSTALL httpfs", "SELECT"),
        ("EXPORT DATABASE 'x'", "SELECT"),
        ("CALL pragma_version()", "SELECT"),
        ("SELECT count(*) FROM release INTERSECT SELECT 1", "single SELECT"),
        ("SELECT count(*) FROM release EXCEPT SELECT 1", "single SELECT"),
        ("(SELECT count(*) FROM release) UNION (SELECT 1)", "single SELECT"),
        ("SELECT count(*) FROM read_parquet('*')", "FROM release"),
        ("SELECT count(*) FROM glob('/etc/*')", "FROM release"),
        ("SELECT count(*) FROM duckdb_settings()", "FROM release"),
        ("SELECT count(*) FROM information_schema.tables", "FROM release"),
        ("SELECT count(*) FROM pg_catalog.pg_user", "FROM release"),
        ("SELECT count(*) FROM release TABLESAMPLE 10%", "FROM release"),
        ("SELECT count(*) FROM release, LATERAL (SELECT 1)", "release"),
        ("SELECT count(*) FROM release CROSS JOIN generate_series(1, 9)", "release"),
        ("SELECT (SELECT 1) + count(*) FROM release", "without FROM"),
        ("SELECT count(*), (SELECT age FROM release) FROM release", "cannot"),
        ("SELECT count(*) FROM release HAVING count(*) > (SELECT 1)", "without FROM"),
        ("SELECT count(*) FROM release ORDER BY (SELECT 1)", "cannot"),
        ("SELECT count(*) FROM release GROUP BY (SELECT 1)", "cannot"),
        ("SELECT count(*) FROM release LIMIT (SELECT 1)", "whole number"),
        ("SELECT count(*) FROM release WHERE age = ANY (SELECT 1)", "without FROM"),
        ("SELECT count(*) FROM release WHERE read_blob('/etc/passwd') IS NULL", "cannot"),
        ("SELECT count(*) FROM release WHERE pg_read_file('/etc/passwd') LIKE 'r%'", "cannot"),
        ("SELECT count(*) FROM release WHERE pg_sleep(9) IS NULL", "cannot"),
        ("SELECT max(getenv('HOME')) FROM release", "cannot"),
        ("SELECT sum(random()) FROM release", "cannot"),
        ("SELECT count(*) FROM release WHERE current_user = 'x'", "cannot"),
        ("SELECT count(*) FROM release WHERE nowhere = 1", "there is no column"),
        ("SELECT sum(nowhere) FROM release", "there is no column"),
        ("SELECT count(*) FROM release GROUP BY nowhere", "there is no column"),
        ("SELECT count(*) FROM release HAVING nowhere > 1", "there is no column"),
        ("SELECT count(*) FROM release WHERE rowid = 1", "there is no column"),
        ('SELECT count(*) FROM release WHERE "group" = 1', "there is no column"),
        ("SELECT count(*) FROM release WHERE age = $1", "cannot"),
        ("SELECT count(*) FROM release WHERE age = ?", "cannot"),
        ("SELECT count(*) INTO other FROM release", "INTO"),
        ("SELECT count(*) FROM release FOR UPDATE", "FOR UPDATE"),
        ("PRAGMA database_list", "single SELECT"),
        ("COPY release TO 'x.csv'", "SELECT"),
        ("ATTACH 'x.db'", "SELECT"),
        ("SELECT count(*) FROM release UNION SELECT 1", "single SELECT"),
        ("SELECT count(*) FROM read_csv('/etc/passwd')", "FROM release"),
        ("SELECT count(*) FROM '/etc/passwd'", "FROM release"),
        ("SELECT count(*) FROM help", "FROM release"),
        ("SELECT count(*) FROM other.release", "FROM release"),
        ("SELECT count(*) FROM release, release", "release"),
        ("SELECT count(*) FROM release JOIN help ON true", "release"),
        ("SELECT count(*)", "FROM release"),
        ("WITH r AS (SELECT 1) SELECT count(*) FROM release", "WITH"),
        ("SELECT count(*) FROM release WHERE age IN (SELECT 1)", "without FROM"),
        ("SELECT count(*) FROM release WHERE age = (SELECT 1)", "without FROM"),
        ("SELECT count(*) FROM release WHERE EXISTS (SELECT 1)", "without FROM"),
        ("SELECT count(*) FROM release WHERE getenv('HOME') = 'x'", "cannot"),
        ("SELECT count(*) FROM release WHERE age = read_text('x')", "cannot"),
        ("SELECT DISTINCT count(*) FROM release", "DISTINCT"),
        ("SELECT sum(age) OVER () FROM release", "single rows"),
        ("SELECT stddev(DISTINCT age) FROM release", "count\\(DISTINCT"),
        ("SELECT md5(sum(age)) FROM release", "functions of results"),
        ("SELECT * FROM release", "COUNT, SUM"),
        ("SELECT age FROM release", "at least one"),
        ("SELECT age, count(*) FROM release", "GROUP BY"),
        ("SELECT count(*) FROM release GROUP BY 1", "position of a selected column"),
        ("SELECT count(*) FROM release WHERE", "not SQL"),
        ("SELECT count(*) FROM release WHERE age > 'x'", "numbers"),
        ("SELECT count(*) FROM release WHERE Zip = 3", "quotes"),
        ("SELECT count(*) FROM release WHERE '1' = 1", "one kind"),
        ("SELECT count(*) FROM release WHERE age LIKE '1%'", "text"),
        ("SELECT count(*) FROM release WHERE Zip LIKE 'a!' ESCAPE '!'", "escape"),
        ("SELECT sum(Zip) FROM release", "numbers"),
        ("SELECT sum(DISTINCT age + salary) FROM release", "COUNT, SUM, AVG, MIN"),
        ("SELECT corr(age * salary, age) FROM release", "mixes a sensitive column"),
        ("SELECT sum(DISTINCT age) FROM release WHERE age > 1 OR age > salary", "COUNT, SUM"),
        ("SELECT salary, avg(age) FROM release GROUP BY salary", "COUNT"),
        ("SELECT quantile_cont(salary, 1.5) FROM release", "0 to 1"),
        ("SELECT quantile_cont(salary, age) FROM release", "0 to 1"),
        ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY salary DESC) FROM release", "ORDER BY x"),
        ("SELECT sum(age) + age FROM release", "beside aggregates"),
        ("SELECT sum(age) + 'x' FROM release", "between aggregates"),
        ("SELECT sum(sum(age)) FROM release", "cannot"),
        ("SELECT count(*) FROM release WHERE count(*) > 1", "cannot"),
        ("SELECT count(*) AS n FROM release ORDER BY m", "did you mean|there is no column"),
        ("SELECT count(*) AS n FROM release ORDER BY 2", "from 1 to 1"),
        ("SELECT count(*) AS n FROM release LIMIT 1 + 1", "whole number"),
        ("SELECT count(*) FROM release WHERE upper(age) = 'A'", "text"),
        ("SELECT count(*) FROM release WHERE abs(zip) = 1", "numbers"),
        ("SELECT count(*) FROM release WHERE coalesce(zip, 1) = 'A'", "one kind"),
        ("SELECT count(*) FROM release WHERE CASE WHEN age > 1 THEN zip ELSE 2 END = 'A'", "one kind"),
        ("SELECT variance(zip) FROM release", "numbers"),
        ("SELECT count(*) FROM release QUALIFY true", "QUALIFY"),
        ("SELECT count(*) FROM release WHERE age = 1\0", "NUL"),
        ("SELECT sum(age) AS x, sum(salary) AS x FROM release", "AS"),
        ("SELECT sum(age) AS x, sum(salary) AS X_lower FROM release", "AS"),
        ("SELECT count(*) FROM release WHERE age * 9223372036854775807 > 1", "64-bit"),
        ("SELECT count(*) FROM release WHERE other.age = 1", "double quotes"),
        ("SELECT max(age FROM release", "a bracket is missing"),
        ("SELECT count(*) FROM release WHERE 1 < age < 3", "not chained"),
        ('SELECT count(*) FROM release WHERE age = 1 = "x.y"', "not chained"),
    ],
)
def test_everything_else_is_refused_with_the_reason(release, text, reason):
    """Each refusal says what works instead."""
    with pytest.raises(QueryError, match=reason):
        select(release, text)


@pytest.mark.parametrize(
    "condition",
    [
        "(" * 10_000 + "age = 1" + ")" * 10_000,
        "age IN " + "(" * 10_000,
        "NOT " * 10_000 + "age = 1",
        "- " * 10_000 + "age = 1",
        "CASE WHEN " * 5_000,
        "age = " + "1 + (" * 3_000 + "1" + ")" * 3_000,
        "age = 1 " * 40_000,
    ],
)
def test_deep_and_long_questions_are_refused(release, condition):
    """Nothing that a person writes nests this deep; no recursion error comes out."""
    with pytest.raises(QueryError):
        ask(release, f"SELECT count(*) FROM release WHERE {condition}")


def test_long_flat_conditions_work(release):
    """Thousands of alternatives are no nesting."""
    alternatives = " OR ".join(["age = 1", "zip = '9'"] * 2_000)
    assert ask(release, f"SELECT count(*) FROM release WHERE {alternatives}").lower == 1
    members = ", ".join(map(str, range(2, 10_000)))
    assert ask(release, f"SELECT count(*) FROM release WHERE age IN ({members})").lower == 3


@pytest.mark.parametrize("text", [None, 7, b"SELECT count(*) FROM release"])
def test_a_question_is_text(release, text):
    """Anything else is refused by name."""
    with pytest.raises(QueryError, match="SQL text"):
        select(release, text)


def test_a_refused_command_is_not_logged(release, caplog):
    """What a user typed does not end up in somebody's log."""
    with pytest.raises(QueryError):
        ask(release, "GRANT canary")
    assert not caplog.records


@pytest.mark.parametrize(("question", "message"), [
    ("SELECT * FROM release", r"^\* cannot be answered"),
    ("DROP TABLE release", "^DROP cannot be answered"),
    ("SELECT kurtosis(a) FROM release", "^KURTOSIS has no bound"),
])  # fmt: skip
def test_a_refusal_names_what_was_written(question, message):
    """The words are those of SQL, not those of the parser's tree."""
    with pytest.raises(QueryError, match=message):
        parse(question)


HOSTILE = {
    "a tiny fraction": "SELECT quantile_cont(salary, 1e-999999999) FROM release",
    "a fraction of many digits": f"SELECT quantile_cont(salary, 0.{'1' * 150_000}) FROM release",
    "a tiny number": "SELECT count(*) FROM release WHERE age > 1e-999999999",
    "a huge number": "SELECT count(*) FROM release WHERE age < 1e999999999",
    "many digits": f"SELECT count(*) FROM release WHERE age < {'9' * 150_000}",
    "a huge factor": "SELECT sum(age) * 1e999999999 FROM release",
    "a tiny divisor": "SELECT sum(age) / 1e-999999999 FROM release",
    "half a character": "SELECT count(*) FROM release WHERE zip = '\ud800'",
    "many alternatives": f"SELECT count(*) FROM release WHERE {' OR '.join(['age = 1'] * 15_000)}",
    "a long list": f"SELECT count(*) FROM release WHERE age IN ({', '.join(map(str, range(30_000)))})",
    "many results": f"SELECT {', '.join(f'sum(age) AS x{place}' for place in range(2_000))} FROM release",
    "a long limit": f"SELECT count(*) FROM release LIMIT {'9' * 1_000}",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_hostile_numbers_and_sizes_are_answered_or_refused_at_once(release, text, engine):
    """Nothing else comes out, and nothing takes long: seconds here leave room for a busy machine."""
    session = connect(release, engine)
    started = time.process_time()
    with contextlib.suppress(QueryError):
        assert session.sql(text).num_rows == 1
    assert time.process_time() - started < 2


def test_an_aggregate_that_is_listed_is_no_longer_refused(monkeypatch):
    """Adding one is one file and one line: what refuses FIRST today asks the list of aggregates first."""
    with pytest.raises(QueryError, match="FIRST has no bound"):
        parse("SELECT first(x) FROM release")
    monkeypatch.setitem(NODES, exp.First, NODES[exp.Min])
    monkeypatch.setitem(_AGGREGATES, exp.First, "min")
    assert parse("SELECT first(x) FROM release").select[0].function == "min"
