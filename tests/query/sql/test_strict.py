"""The strict reader: whatever a node can carry is read, or the question is refused. Nothing is passed over."""

import random
from datetime import date, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from hedgerow.errors import QueryError
from hedgerow.query import connect
from hedgerow.query.sql.dialect import QuestionSQL
from hedgerow.query.sql.parse import question_of
from hedgerow.query.sql.strict import NODES, is_set
from tests.support.assignments import release_of
from tests.support.truth import contradiction, true_answers

QUESTIONS = [
    "SELECT r.town AS k, count(*) AS n, sum(s) AS t FROM release AS r WHERE age > 30 GROUP BY r.town "
    "HAVING count(*) > 1 ORDER BY k DESC NULLS FIRST LIMIT 3 OFFSET 1",
    "SELECT count(s) AS n, count(DISTINCT town) AS d FROM release WHERE (age = 30 OR age <> 31) AND NOT age < 25",
    "SELECT sum(age) AS n FROM release WHERE age <= 40 AND age >= 20 AND age BETWEEN 21 AND 39",
    "SELECT avg(s) AS n FROM release WHERE town IN ('Bern', 'Biel') OR town IS NULL",
    "SELECT count(*) AS n FROM release WHERE town LIKE 'B%'",
    "SELECT count(*) AS n FROM release WHERE town NOT LIKE 'B%'",
    "SELECT count(*) AS n FROM release WHERE town NOT LIKE 'B!%' ESCAPE '!'",
    "SELECT min(s) AS n, max(-s) AS m FROM release WHERE age + 1 - 2 * age / 3 > 1 AND age % 2 = 0",
    "SELECT sum(CASE town WHEN 'Bern' THEN 1 ELSE age END) AS n FROM release WHERE CASE WHEN age > 30 THEN flag END",
    "SELECT sum(abs(age) + floor(rate) + ceil(rate) + round(rate)) AS n FROM release WHERE flag IS TRUE",
    "SELECT count(*) AS n FROM release WHERE lower(town) = 'bern' OR upper(town) = 'BIEL' OR length(town) = 5",
    "SELECT count(*) AS n FROM release WHERE left(town, 1) = 'B' AND substring(town, 2, 2) = 'er'",
    "SELECT count(*) AS n FROM release WHERE coalesce(town, 'x') = 'x' AND TRUE OR age = NULL",
    "SELECT max(year(born)) AS n, min(month(born)) AS m, avg(day(born)) AS d FROM release",
    "SELECT count(*) AS n FROM release WHERE extract(year FROM born) = 1975 OR born > DATE '1980-01-01'",
    "SELECT count(*) AS n FROM release WHERE born > DATE '1980-01-01' + INTERVAL 3 DAY",
    "SELECT median(s) AS n, variance(s) AS v, var_pop(s) AS p, stddev(s) AS d FROM release",
    "SELECT stddev_samp(s) AS n, stddev_pop(s) AS p, quantile_cont(s, 0.3) AS c FROM release",
    "SELECT quantile_disc(s, 0.3) AS d FROM release",
    "SELECT quantile(s, 0.3) AS q FROM release",
    "SELECT percentile_cont(0.2) WITHIN GROUP (ORDER BY s) AS n FROM release",
    "SELECT percentile_disc(0.2) WITHIN GROUP (ORDER BY s) AS n FROM release",
    "SELECT corr(s, rate) AS n, covar_pop(s, rate) AS p, covar_samp(rate, s) AS c FROM release",
    "SELECT regr_slope(s, rate) AS n, regr_intercept(s, rate) AS i, regr_r2(s, rate) AS r FROM release",
    "SELECT regr_count(s, rate) AS n FROM release WHERE age > 25",
    "SELECT count(*) AS n FROM release WHERE age::DECIMAL(9, 2) > 30.5 AND try_cast(town AS INT) IS NULL",
    "SELECT count(*) AS n FROM release WHERE (age, town) IN ((30, 'Bern'), (31, 'Biel')) OR age = ANY([30, 31])",
    "SELECT count(*) AS n FROM release WHERE town GLOB 'B*' OR town ILIKE 'g%' OR town NOT ILIKE '%E%'",
    "SELECT count(*) AS n FROM release WHERE town SIMILAR TO 'B.*' OR town ^@ 'G' OR position('e' IN town) > 1",
    "SELECT count(*) AS n FROM release WHERE age // 7 = 4 OR age ** 2 > 900 OR trim(BOTH 'B' FROM town) = 'ern'",
    "SELECT count(*) AS n FROM release WHERE town IS DISTINCT FROM 'Bern' AND age IS NOT DISTINCT FROM NULL",
    "SELECT max(s) FILTER (WHERE age > 30) AS n, count_if(age > 30) AS c FROM release",
    "SELECT bool_and(age > 10) AS n, bool_or(age > 40) AS m FROM release",
    "SELECT count(*) AS n FROM release WHERE town || 'x' = 'Bernx' OR power(age, 2) > 1200 OR if(flag, 1, 2) = 1",
]
CONTENTS = [
    lambda: True,
    lambda: exp.Literal.number(2),
    lambda: exp.Literal.string("Bern"),
    lambda: exp.column("age"),
    lambda: exp.to_identifier("age"),
    lambda: exp.Var(this="DAY"),
    lambda: [exp.to_identifier("age"), exp.to_identifier("town")],
    lambda: [exp.Literal.number(2)],
    lambda: [exp.column("age")],
    lambda: exp.LimitOptions(percent=True),
    lambda: exp.Tuple(expressions=[exp.column("age")]),
    lambda: exp.Null(),
]


@pytest.fixture(scope="module")
def table():
    """Rows of every kind of column, with gaps."""
    rng = random.Random(5)
    rows = 40
    return pa.table(
        {
            "age": [rng.choice([None, *range(20, 45)]) for _ in range(rows)],
            "town": [rng.choice([None, "Bern", "Basel", "Biel", "Chur", "Genf"]) for _ in range(rows)],
            "flag": [rng.choice([None, True, False]) for _ in range(rows)],
            "born": [date(1970, 1, 1) + timedelta(days=rng.randrange(5000)) for _ in range(rows)],
            "rate": [rng.randrange(-50, 50) / 8 for _ in range(rows)],
            "s": [rng.randrange(100) for _ in range(rows)],
        }
    )


@pytest.fixture(scope="module")
def session(table):
    """Groups of four."""
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    return connect(release_of(columns, [row // 4 for row in range(table.num_rows)], sensitive="s"))


def tree_of(text):
    """The tree of a question."""
    return sqlglot.parse_one(text, read=QuestionSQL)


def test_the_questions_hold_every_node():
    """A node that is accepted and not in a question here would not be tried."""
    assert {type(node) for text in QUESTIONS for node in tree_of(text).walk()} == set(NODES)


@pytest.mark.parametrize("text", QUESTIONS)
def test_the_questions_are_answered(session, table, text):
    """All of them, and the truth is inside."""
    assert session.sql(text).num_rows == len(true_answers(table, text))
    assert contradiction(session, table, text) is None


def places():
    """For every node that is accepted, a question that has it, and where."""
    found = {}
    for text in QUESTIONS:
        for place, node in enumerate(tree_of(text).walk()):
            found.setdefault(type(node), (text, place))
    return found


def changed(text, place):
    """The question with one more argument set at one node: the argument, and the tree."""
    whole = tree_of(text)
    node = list(whole.walk())[place]
    for name in [name for name in node.arg_types if not is_set(node.args.get(name))]:
        for content in CONTENTS:
            tree = whole.copy()
            list(tree.walk())[place].set(name, content())
            yield name, tree


@pytest.mark.parametrize("kind", NODES, ids=lambda kind: kind.__name__)
def test_an_argument_that_is_not_read_is_refused(session, table, kind):
    """One more argument: refused, or listed; and what it says as SQL is refused or has the truth inside."""
    text, place = places()[kind]
    asked = {text}
    for name, tree in changed(text, place):
        if name not in NODES[kind]:
            with pytest.raises(QueryError):
                question_of(tree)
        try:
            said = tree.sql(dialect=QuestionSQL, unsupported_level=sqlglot.ErrorLevel.IGNORE)
        except Exception:
            continue
        if said in asked:
            continue
        asked.add(said)
        try:
            true_answers(table, said)
        except duckdb.Error:
            continue
        assert contradiction(session, table, said) is None, said


@pytest.mark.parametrize(("text", "truth"), [
    ("SELECT count(*) FROM release WHERE town NOT LIKE 'B%'", "town IN ('Chur', 'Genf')"),
    ("SELECT count(*) FROM release WHERE town !~~ 'B%'", "town IN ('Chur', 'Genf')"),
    ("SELECT count(*) FROM release WHERE NOT town NOT LIKE 'B%'", "town IN ('Bern', 'Basel', 'Biel')"),
    ("SELECT sum(CASE WHEN town NOT LIKE 'B!%' ESCAPE '!' THEN 1 ELSE 0 END) FROM release", "town IS NOT NULL"),
    ("SELECT count(*) FROM release WHERE town IS NOT NULL", "town IS NOT NULL"),
    ("SELECT count(*) FROM release WHERE flag IS NOT TRUE", "flag IS NULL OR NOT flag"),
])  # fmt: skip
def test_a_negation_is_read_wherever_the_parser_puts_it(session, table, text, truth):
    """NOT LIKE is one node with a flag in some versions, two nodes in others."""
    (row,) = true_answers(table, f"SELECT count(*) AS n FROM release WHERE {truth}")
    assert session.ask(text).lower == session.ask(text).upper == row["n"]


def test_not_like_in_having(session):
    """HAVING reads conditions as WHERE does."""
    found = session.sql(
        "SELECT town AS k, count(*) AS n FROM release GROUP BY town HAVING town NOT LIKE 'B%' ORDER BY k"
    )
    assert found.column("k").to_pylist() == ["Chur", "Genf"]


@pytest.mark.parametrize(("text", "words"), [
    ("SELECT count(*) FROM release AS r(a, b)", "alias"),
    ("SELECT count(*) FROM release LIMIT 50%", "LIMIT with PERCENT"),
    ("SELECT count(*) FROM release LIMIT 1 WITH TIES", "."),
    ("SELECT count(age ORDER BY town) FROM release", "."),
    ("SELECT town, count(*) FROM release GROUP BY town WITH TOTALS", "."),
    ("SELECT count(*) FROM release WHERE age & 3 = 1", "age & ..."),
    ("SELECT count(*) FROM release WHERE town ~ 'B'", "~ cannot be"),
    ("SELECT count(*) FROM release WHERE town[1] = 'B'", "town"),
    ("SELECT count(*) FROM release WHERE town.upper() = 'B'", "upper"),
    ("SELECT count(*) FROM release WHERE town COLLATE de = 'x'", "COLLATE"),
])  # fmt: skip
def test_what_is_not_read_is_refused_in_the_analysts_words(session, text, words):
    """No class of the parser is named."""
    with pytest.raises(QueryError, match=words):
        session.sql(text)


def test_only_this_room_knows_the_parser():
    """No other module imports sqlglot."""
    import hedgerow

    package = Path(hedgerow.__file__).parent
    users = [path for path in package.rglob("*.py") if "sqlglot" in path.read_text()]
    assert {path.parent for path in users} == {package / "query" / "sql"}
