"""Questions composed of others: the truth lies inside, and equals what is called exact."""

import random
from fractions import Fraction

import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from hedgerow.query import connect
from tests.support.assignments import release_of
from tests.support.boxes import generalized_release
from tests.support.form_worlds import as_scattered, as_separated
from tests.support.truth import contradiction, true_answers

FORMS = ("permuted", "separated", "scattered", "generalized", "gaps")


def make(form, seed=0):
    """A table of 40 rows, and a release of it."""
    rng = random.Random(seed)
    rows = 40
    columns = {
        "a": [rng.randrange(6) for _ in range(rows)],
        "town": [rng.choice(["Bern", "Biel", "Chur"]) for _ in range(rows)],
        "w": [rng.randrange(1, 5) for _ in range(rows)],
        "s": [rng.choice([None, 1, 2, 3]) if form == "gaps" else rng.randrange(50) for _ in range(rows)],
    }
    labels = sorted(rng.randrange(8) for _ in range(rows))
    labels = [sorted(set(labels)).index(label) for label in labels]
    if form == "generalized":
        table = pa.table(columns)
        return table, generalized_release(table, labels, quasi=["a"], sensitive=["s"], plain=["town", "w"])
    made = release_of(columns, labels, sensitive="s", plain=["w"])
    change = {"separated": as_separated, "scattered": as_scattered}
    return pa.table(columns), change.get(form, lambda release: release)(made)


FLAT = [
    ("SELECT avg(s) AS m FROM (SELECT * FROM release WHERE a > 2) AS t", "SELECT avg(s) AS m FROM release WHERE a > 2"),
    (
        "WITH t AS (SELECT s * 2 AS d, town FROM release WHERE w < 4) SELECT town, sum(d) AS n FROM t GROUP BY town",
        "SELECT town, sum(s * 2) AS n FROM release WHERE w < 4 GROUP BY town",
    ),
    (
        "SELECT count(*) AS n FROM (SELECT town AS place, a FROM release WHERE a = 1 OR a = 2) q "
        "WHERE q.place = 'Bern'",
        "SELECT count(*) AS n FROM release WHERE town = 'Bern' AND (a = 1 OR a = 2)",
    ),
    (
        "WITH t AS (SELECT * FROM release WHERE w > 1), u AS (SELECT s, a FROM t WHERE a < 5) "
        "SELECT max(s) AS n FROM u",
        "SELECT max(s) AS n FROM release WHERE w > 1 AND a < 5",
    ),
    ("(SELECT count(*) AS n FROM (SELECT a FROM release))", "SELECT count(*) AS n FROM release"),
    (
        "SELECT place, avg(s) AS m FROM (SELECT town AS place, s FROM release) GROUP BY place HAVING count(*) > 3 "
        "ORDER BY place DESC LIMIT 2",
        "SELECT town AS place, avg(s) AS m FROM release GROUP BY town HAVING count(*) > 3 ORDER BY town DESC LIMIT 2",
    ),
    (
        "SELECT length(town) AS k, k % 2 AS x, count(*) AS n FROM (SELECT w AS k, town FROM release) GROUP BY 1, 2 "
        "HAVING count(*) FILTER (WHERE k > 3) > 0",
        "SELECT length(town) AS k, w % 2 AS x, count(*) AS n FROM release GROUP BY 1, 2 "
        "HAVING count(*) FILTER (WHERE w > 3) > 0",
    ),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("text", "plain"), FLAT)
def test_rows_that_are_selected_are_the_same_question(form, text, plain):
    """To the last digit, refusals too."""
    table, release = make(form)
    session = connect(release)
    try:
        expected = session.sql(plain)
    except QueryError:
        with pytest.raises(QueryError):
            session.sql(text)
        return
    assert session.sql(text).equals(expected)
    assert contradiction(session, table, text) is None


OVER = [
    "SELECT max(m) AS n, min(m) AS l FROM (SELECT town, avg(s) AS m FROM release WHERE a < 4 GROUP BY town)",
    "SELECT sum(t) AS n, avg(t) AS m, count(*) AS c FROM (SELECT town, sum(s) AS t FROM release GROUP BY town) AS q",
    "SELECT town, max(m) AS n FROM (SELECT town, w, avg(s) AS m FROM release GROUP BY town, w) GROUP BY town",
    "SELECT count(*) AS n, sum(m) AS t, avg(m) AS v, min(m) AS l, max(m) AS h FROM "
    "(SELECT w, avg(s) AS m FROM release WHERE w > 1 GROUP BY w) WHERE m > 24",
    "SELECT count(*) AS n FROM (SELECT w, count(*) AS c FROM release GROUP BY w HAVING count(*) > 8)",
    "SELECT count(*) AS n, max(c) AS h, sum(c) AS t FROM "
    "(SELECT w, count(*) AS c FROM release WHERE s > 25 GROUP BY w)",
    "SELECT avg(t) AS n FROM (SELECT w, sum(s) AS t FROM release WHERE s < 3 GROUP BY w)",
    "SELECT town, m - 10 AS n FROM (SELECT town, avg(s) AS m FROM release WHERE a > 1 GROUP BY town)",
    "SELECT max(m / c) AS n FROM (SELECT w, sum(s) AS m, count(s) AS c FROM release GROUP BY w)",
    "SELECT max(h - l) AS n FROM (SELECT town, max(s) AS h, min(s) AS l FROM release GROUP BY town)",
    "SELECT count(DISTINCT town) AS n FROM (SELECT town, w, sum(s) AS t FROM release GROUP BY town, w) WHERE t > 60",
    "SELECT count(m) AS n, count(*) AS c FROM (SELECT w, avg(s) AS m FROM release WHERE a = 1 GROUP BY w) "
    "WHERE m > 2 OR w = 1",
    "SELECT max(n) AS h FROM (SELECT s, count(*) AS n FROM release GROUP BY s)",
    "SELECT count(*) AS n FROM (SELECT DISTINCT town, w FROM release)",
    "SELECT count(*) AS n FROM (SELECT DISTINCT s FROM release WHERE w < 3)",
    "WITH t AS (SELECT w, avg(s) AS m FROM release GROUP BY w), u AS (SELECT * FROM t WHERE m IS NOT NULL) "
    "SELECT sum(m * w) AS n FROM u",
    "SELECT 'small' AS k, avg(s) AS n FROM release WHERE w < 3 UNION ALL "
    "SELECT 'large', avg(s) FROM release WHERE w >= 3",
    "SELECT max(n) AS h FROM (SELECT avg(s) AS n FROM release WHERE w < 3 "
    "UNION ALL SELECT avg(s) FROM release WHERE w > 2)",
    "SELECT town AS k, sum(s) / (SELECT sum(s) FROM release) AS n FROM release GROUP BY town",
    "SELECT town AS k, sum(s) / (SELECT sum(s) FROM release WHERE w > 1) AS n FROM release WHERE w > 1 GROUP BY town",
    "SELECT count(*) AS n FROM release WHERE w > (SELECT avg(w) FROM release)",
    "SELECT count(*) AS n FROM release WHERE s > (SELECT avg(s) FROM release)",
    "SELECT avg(s) AS n FROM release WHERE town IN (SELECT town FROM release WHERE w = 4)",
    "SELECT avg(s) AS n FROM release WHERE town NOT IN (SELECT town FROM release GROUP BY town HAVING count(*) > 14)",
    "SELECT avg(s) AS n FROM release WHERE w IN (SELECT max(w) FROM release UNION ALL SELECT min(w) FROM release)",
    "SELECT count(*) AS n FROM release WHERE w IN (SELECT w FROM release WHERE w > 99)",
    "SELECT (SELECT max(s) FROM release WHERE w = 1) - min(s) AS n FROM release WHERE w = 2",
    "SELECT w AS k, avg(s) AS n FROM release GROUP BY w HAVING w > (SELECT min(w) FROM release)",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", OVER)
def test_the_truth_lies_inside(form, text):
    """Over several tables; and what is called exact is the truth."""
    answered = 0
    for seed in range(3):
        table, release = make(form, seed)
        session = connect(release)
        assert contradiction(session, table, text) is None, seed
        try:
            answered += len(session.sql(text))
        except QueryError:
            continue
    if form in ("permuted", "separated"):
        assert answered or " s > (SELECT" in text


def test_duckdb_answers_the_same():
    """The parts are asked of the engine; what is made of them is the same code."""
    _, release = make("permuted")
    arrays, database = connect(release), connect(release, "duckdb")
    for text in OVER[:6]:
        for ours, theirs in zip(arrays.sql(text).to_pylist(), database.sql(text).to_pylist(), strict=True):
            assert ours == pytest.approx(theirs)


def every_world(release, table, text, names):
    """Answers of all tables that the release allows: each group's values in every order."""
    from itertools import permutations, product

    groups = [
        [row for row in range(table.num_rows) if release.tables["release"].column("group")[row].as_py() == group]
        for group in range(release.groups)
    ]
    values = table.column("s").to_pylist()
    for orders in product(*(set(permutations([values[row] for row in rows])) for rows in groups)):
        world = list(values)
        for rows, order in zip(groups, orders, strict=True):
            for row, value in zip(rows, order, strict=True):
                world[row] = value
        (found,) = true_answers(table.set_column(table.column_names.index("s"), "s", pa.array(world)), text)
        yield [found[name] for name in names]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT max(m) AS n, sum(m) AS t, avg(m) AS v, min(m) AS l FROM "
        "(SELECT a, avg(s) AS m FROM release GROUP BY a)",
        "SELECT count(*) AS n, sum(c) AS t FROM (SELECT a, count(*) AS c FROM release WHERE s > 2 GROUP BY a)",
        "SELECT count(*) AS n, min(m) AS t FROM (SELECT a, max(s) AS m FROM release GROUP BY a HAVING max(s) > 3)",
        "SELECT max(m) AS n FROM (SELECT a, max(s) AS m FROM release WHERE a = 1 GROUP BY a)",
    ],
)
def test_bounds_against_every_possible_table(text):
    """Every world lies inside; where bounds are called reached, two worlds reach them."""
    columns = {"a": [1, 2, 1, 2, 3, 1], "s": [1, 5, 3, 2, 4, 6]}
    release = release_of(columns, [0, 0, 0, 1, 1, 1], sensitive="s")
    found = connect(release).sql(text)
    worlds = list(every_world(release, pa.table(columns), text, found.aggregates))
    for place, name in enumerate(found.aggregates):
        (answer,) = found.answers(name)
        truths = [world[place] for world in worlds if world[place] is not None]
        assert answer.lower <= min(truths) + 1e-9
        assert answer.upper >= max(truths) - 1e-9
        if answer.reached:
            assert (min(truths), max(truths)) == pytest.approx((answer.lower, answer.upper))
        if answer.exact:
            assert len(set(truths)) == 1


def test_what_is_not_reached_says_so():
    """Two numbers that move together; one number alone is reached."""
    columns = {"a": [1, 2, 1, 2], "s": [1, 5, 3, 2]}
    session = connect(release_of(columns, [0, 0, 0, 0], sensitive="s"))
    inner = "(SELECT a, avg(s) AS m FROM release GROUP BY a)"
    assert not session.ask(f"SELECT sum(m) AS n FROM {inner}").reached
    assert session.ask(f"SELECT max(m) AS n FROM {inner} WHERE a = 1").reached
    assert session.ask("SELECT sum(s) - 1 AS n FROM release WHERE a = 1").reached
    assert not session.ask("SELECT max(s) - min(s) AS n FROM release WHERE a = 1").reached


REFUSED = [
    ("SELECT avg(s) FROM release WHERE s > (SELECT avg(s) FROM release WHERE a = 1)", "lies between"),
    ("SELECT count(*) FROM release WHERE a IN (SELECT a FROM release WHERE s > 20)", "not sure"),
    ("SELECT count(*) FROM release r WHERE w > (SELECT avg(w) FROM release q WHERE q.a = r.a)", "around it"),
    ("SELECT count(*) FROM release WHERE w > (SELECT avg(w) FROM release q WHERE q.a = release.a)", "around it"),
    ("SELECT count(*) FROM (SELECT a FROM release) WHERE s > 1", "has no column 's'"),
    ("SELECT count(*) FROM (SELECT a, unnest([1, 2]) AS u FROM release)", "cannot be answered|not understood"),
    ("SELECT count(*) FROM (SELECT a FROM release LIMIT 3)", "LIMIT"),
    ("SELECT max(m) FROM (SELECT a, avg(s) AS m FROM release GROUP BY a LIMIT 3)", "LIMIT"),
    ("SELECT count(*) FROM (SELECT a, a AS A FROM release)", "two columns"),
    ("SELECT median(m) FROM (SELECT w, avg(s) AS m FROM release GROUP BY w)", "COUNT, SUM, AVG, MIN and MAX"),
    ("SELECT m, count(*) FROM (SELECT w, avg(s) AS m FROM release GROUP BY w) GROUP BY m", "GROUP BY takes columns"),
    ("SELECT count(*) FROM release UNION SELECT count(*) FROM release", "UNION ALL"),
    ("SELECT count(*) FROM release INTERSECT SELECT count(*) FROM release", "single SELECT"),
    ("SELECT s FROM release UNION ALL SELECT s FROM release", "single rows cannot"),
    ("SELECT count(*) AS a, 1 FROM release UNION ALL SELECT count(*) FROM release", "equally many"),
    ("WITH RECURSIVE t AS (SELECT a FROM release) SELECT count(*) FROM t", "RECURSIVE"),
    ("WITH release AS (SELECT a FROM release) SELECT count(*) FROM release", "another one"),
    ("WITH t(x) AS (SELECT a FROM release) SELECT count(*) FROM t", "names of columns"),
    ("SELECT count(*) FROM (SELECT a FROM release) AS t(x)", "names of columns"),
    ("SELECT count(*) FROM (SELECT a FROM release) t WHERE r.a = 1", "is not what this SELECT is about"),
    ("SELECT count(*) FROM release JOIN release r ON release.a = r.a", "your own"),
    (
        "SELECT count(*) FROM release WHERE EXISTS (SELECT a FROM release WHERE s < 3 AND a = 1)",
        "EXISTS is true is not",
    ),
    ("SELECT count(*) FROM release WHERE w > (SELECT w FROM release GROUP BY w)", "one row"),
    ("SELECT count(*) FROM (SELECT a FROM people)", "no table 'people'"),
    ("SELECT x.n FROM (SELECT count(*) AS n FROM release) AS t", "is not what this SELECT is about"),
    ("SELECT count(*) FROM (VALUES (1)) AS t, (SELECT 1) AS u", "."),
    ("SELECT w, count(*) AS n FROM release GROUP BY w ORDER BY (SELECT min(w) FROM release)", "ORDER BY take"),
    ("SELECT count(*) AS n FROM release GROUP BY (SELECT min(w) FROM release)", "GROUP BY"),
    ("WITH t AS (SELECT a FROM release), u AS (SELECT 1) SELECT count(*) FROM t", "nothing asks it"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_the_rest_is_refused_in_words_of_the_question(text, words):
    """With the inner bounds where these are the reason; no class name of a parser."""
    _, release = make("permuted")
    with pytest.raises(QueryError, match=words) as refused:
        release.sql(text)
    assert not any(word in str(refused.value) for word in ("SUBQUERY", "CTE", "exp.", "Subquery", "TABLEALIAS"))


def test_unfolding_is_limited():
    """Names that double themselves are refused in time."""
    _, release = make("permuted")
    steps = ["t0 AS (SELECT count(*) AS n FROM release)"]
    steps += [f"t{n} AS (SELECT n FROM t{n - 1} UNION ALL SELECT n FROM t{n - 1})" for n in range(1, 30)]
    with pytest.raises(QueryError, match="parts"):
        release.sql(f"WITH {', '.join(steps)} SELECT max(n) FROM t29")


def test_an_exact_fraction_is_a_constant_with_all_its_digits():
    """A third is no number of few digits; nothing lies between it and what is written."""
    from hedgerow.query.sql.compose import _typed_node

    assert _typed_node(5, "BIGINT").sql() == "5"
    assert _typed_node(Fraction(-5, 4), "DECIMAL(9, 3)").sql() == "-1.250"
    assert _typed_node(Fraction(1, 3), "DOUBLE").sql() == "0.3333333333333333e0"  # a mean is a floating-point number
    assert _typed_node(5, "DOUBLE").sql() == "5.0e0"
    assert _typed_node(Fraction(-5, 4), "").sql() == "-1.25"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("never", ["FALSE", "NULL", "1 = 2", "FALSE AND w > 1", "FALSE AND s > 3", "NOT TRUE"])
def test_a_condition_that_is_never_true_has_no_rows(form, engine, never):
    """Whatever columns are shuffled apart: a condition without columns counts, too."""
    _, release = make(form)
    session = connect(release, engine)
    assert session.ask(f"SELECT count(*) AS n FROM release WHERE {never}").upper == 0
    assert session.ask(f"SELECT sum(s) AS n FROM release WHERE {never}").upper is None
    assert len(session.sql(f"SELECT town, count(*) AS n FROM release WHERE {never} GROUP BY town")) == 0


def test_what_has_no_bounds_has_none_inside_a_composed_question():
    """A quotient whose divisor may be zero: stacked it stays an estimate, and nothing is computed from it."""
    release = release_of({"a": [1, 2, 1, 2], "s": [-3.5, 5.25, 3.5, 2.0]}, [0, 0, 1, 1], sensitive="s")
    part = "max(s) / sum(s) AS x FROM release"
    stacked = connect(release).answers(f"SELECT 1 AS k, {part} UNION ALL SELECT 2, {part} WHERE a = 1")
    assert [answer.bounded for answer in stacked.estimates["x"].answers] == [True, False]
    inner = f"(SELECT a, {part} GROUP BY a) AS t"
    for text in (f"SELECT max(x) AS y FROM {inner}", f"SELECT count(*) AS y FROM {inner} WHERE x > 0"):
        with pytest.raises(QueryError, match="divisor may be zero"):
            connect(release).sql(text)


NAMES = [
    (
        "SELECT median(s), quantile_cont(s, 0.9), count(*), count(*) FROM release",
        ["quantile_cont_s", "quantile_cont_s_2", "count", "count_2"],
    ),
    ("SELECT town, count(*), sum(s), sum(s) / 2 FROM release GROUP BY ROLLUP (town)", ["count", "sum_s", "result_4"]),
    ("SELECT town, count(*), max(s) FROM release GROUP BY town", ["count", "max_s"]),
    ("SELECT count(*) AS n FROM release UNION ALL SELECT sum(s) FROM release", ["n"]),
    (
        "SELECT max(m), max(m), avg(m) AS max_m FROM (SELECT avg(s) AS m FROM release GROUP BY town) AS t",
        ["max_m_2", "max_m_3", "max_m"],
    ),
]


@pytest.mark.parametrize(("sql", "names"), NAMES)
def test_results_without_a_name_are_called_after_function_and_column(sql, names):
    """One rule for plain questions, sub-queries and groupings; a number behind it tells equal names apart."""
    session = connect(make("permuted")[1])
    found = [name.removesuffix("_std") for name in session.sql(sql).to_arrow().column_names if name.endswith("_std")]
    assert found == names


def test_a_pattern_of_like_in_similar_to_is_refused():
    """DuckDB reads a regular expression, other databases % and _: the same text would be two questions."""
    session = connect(make("permuted")[1])
    assert session.ask("SELECT count(*) FROM release WHERE town SIMILAR TO 'B.*'").exact
    for pattern in ("B%", "B_rn"):
        with pytest.raises(QueryError, match="write LIKE"):
            session.ask(f"SELECT count(*) FROM release WHERE town SIMILAR TO '{pattern}' OR a = 1")
