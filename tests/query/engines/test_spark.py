"""The Spark engine against the array engine, on a cluster that the tests start: classic sessions and Spark Connect."""

import random

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.query import connect
from hedgerow.query.sql.spark_text import safe_name, to_spark
from tests.support.agreement import disagreement
from tests.support.assignments import release_of
from tests.support.every_form import EVERY_FORM, sample_of
from tests.support.every_method import SCHEMA, people
from tests.support.random_sql import random_question

QUESTIONS = 6


@pytest.fixture(params=["classic", "connect"])
def spark(request, spark_cluster):
    """A session of either kind."""
    return spark_cluster.spark if request.param == "classic" else spark_cluster.remote


@pytest.mark.parametrize("form", EVERY_FORM)
def test_spark_agrees_with_arrays_to_the_last_digit(form, spark_cluster):
    """Keys, bounds, flags and refusals are equal for every form; classic and Connect take turns."""
    rng = random.Random(f"spark {form}")
    sample = sample_of(form, rng)
    kind = sample.release.form
    session = (spark_cluster.spark, spark_cluster.remote)[list(EVERY_FORM).index(form) % 2]
    arrays = connect(sample.release)
    with connect(sample.release, session) as cluster:
        for _ in range(QUESTIONS):
            once = kind == "scattered" or rng.random() < 0.5
            text = random_question(rng, sample.kind, once=once, boxed=kind == "generalized")
            assert disagreement(arrays, cluster, text) is None, text


CLASSES = [
    "SELECT town, count(*) AS n, sum(s) AS t, avg(s) AS a, min(s) AS l, max(s) AS h FROM release GROUP BY town",
    "SELECT min(s) AS l, max(s) AS h FROM release WHERE age > 30",
    "SELECT sum(age) AS a, avg(rate) AS r, min(born) AS b, max(town) AS t, count(town) AS n FROM release",
    "SELECT count(*) AS n, sum(s) AS t FROM release WHERE s > 2 AND age < 50",
    "SELECT median(s) AS m, variance(s) AS v, count(DISTINCT s) AS d FROM release WHERE town LIKE 'B%'",
    "SELECT s, count(*) AS n FROM release GROUP BY s",
    "SELECT avg(s) AS a FROM release WHERE age > 30 OR s > 3",
    "SELECT sum(s) FILTER (WHERE age > 40) / count(*) AS q FROM release",
    "SELECT born - DATE '2020-02-26' AS days, count(*) AS n FROM release GROUP BY days",
    "SELECT count(*) AS n FROM release WHERE born + 2 > DATE '2020-02-28' AND year(born) = 2020",
    "SELECT round(rate) AS k, sum(floor(rate)) AS f, count(*) AS n FROM release GROUP BY k",
    "SELECT left(town, 1) AS k, sum(age % 7) AS m, avg(age / 2) AS h FROM release GROUP BY k HAVING count(*) > 2",
    "SELECT coalesce(town, 'nowhere') AS k, sum(CASE WHEN age > 40 THEN age ELSE 0 END) AS c FROM release GROUP BY k",
    "SELECT covar_pop(age, s) AS c FROM release WHERE town IS NOT NULL",
]


def test_every_class_of_questions_has_the_bounds_of_arrays(spark):
    """Plain statements, counts that arrays finish, dates, rounding, missing values."""
    release = sample_of("permuted, whole numbers", random.Random(5)).release
    with connect(release, spark) as cluster:
        for text in CLASSES:
            assert disagreement(connect(release), cluster, text) is None, text


ODD = [
    "SELECT sum(x / y) AS a, avg(x % y) AS b, count(x / y) AS c FROM release",
    "SELECT x / y AS k, count(*) AS n FROM release GROUP BY k",
    "SELECT sum(s) AS t FROM release WHERE x / (y - y) IS NULL AND s / (s - 1) > 1",
    "SELECT round(r) AS k, sum(s) AS t FROM release GROUP BY k",
    "SELECT floor(h) AS k, ceil(h) AS c, sum(s) AS t FROM release GROUP BY k, c",
    "SELECT upper(w) AS k, max(s) AS t FROM release WHERE lower(w) <> 'ß' GROUP BY k",
    "SELECT count(*) AS n FROM release WHERE x NOT IN (y - 1, 4) OR h > 1e299",
    "SELECT sum(big) AS t, count(*) AS n FROM release",
]


def test_tasks_read_the_parts_of_a_bundle(spark, tmp_path, monkeypatch):
    """The driver puts nothing together; answers and refusals are those of arrays."""
    release = hr.KEAnonymity(k=2).publish(people(96), SCHEMA)
    release.save(tmp_path / "out", rows_per_part=40)
    monkeypatch.setattr("hedgerow.release.bundle.concat_parts", None)
    with connect(tmp_path / "out", spark) as cluster:
        for text in (
            "SELECT town, avg(salary) AS a, median(salary) AS m, count(*) AS n FROM release GROUP BY town",
            "SELECT min(town) AS t, max(salary) AS h FROM release WHERE salary > 3",
            "SELECT salary, avg(age) AS a FROM release GROUP BY salary",
        ):
            assert disagreement(connect(release), cluster, text) is None, text


def test_where_spark_differs_the_engine_does_not(spark_cluster):
    """Division by zero is refused if it is looked at, large floats keep their size, sums beyond 64 bits are exact."""
    columns = {
        "x": [1, -2, 0, 4, None, 5],
        "y": [0, 1, 0, -3, 2, None],
        "r": [0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994],
        "h": [1e300, -1e300, 0.5, -0.5, 9007199254740993.0, None],
        "w": ["Ä", "ä", "ß", None, "é", "E"],
        "big": [2**62, 2**62, 2**62, 1, 2, 3],
        "s": [1, 2, 3, 4, 5, 6],
    }
    release = release_of(columns, [0, 0, 0, 1, 1, 1], sensitive="s")
    with connect(release, spark_cluster.spark) as cluster:
        for text in ODD:
            assert disagreement(connect(release), cluster, text) is None, text
        for session in (connect(release), cluster):
            with pytest.raises(hr.QueryError, match="64"):
                session.sql("SELECT sum(big * 4) AS t FROM release")


HOSTILE = [
    "${env:HOME}",
    "a`b; DROP VIEW release --",
    "x' OR 1=1 --",
    "back\\",
    ":p0",
    'q" {}',
    "Über",
    "group",
    "hits",
]


def test_hostile_names_and_texts_are_names_and_texts(spark, tmp_path):
    """Columns and values that Spark would read as something else are answered as what they are, from a bundle."""
    table = pa.table({name: [name, "a", "b", "\\%"] * 4 for name in HOSTILE} | {"pay": [n % 7 for n in range(16)]})
    hr.KEAnonymity(k=2, e=1).publish(table, hr.Schema(quasi=HOSTILE, sensitive="pay")).save(tmp_path / "out")
    arrays = connect(hr.open(tmp_path / "out"))
    with connect(tmp_path / "out", spark) as cluster:
        for name in HOSTILE:
            quoted, text = '"' + name.replace('"', '""') + '"', "'" + name.replace("'", "''") + "'"
            for question in (
                f"SELECT {quoted} AS k, sum(pay) AS t, min(pay) AS m FROM release GROUP BY {quoted}",
                f"SELECT count(*) AS n FROM release WHERE {quoted} IN ({text}, '\\%') AND pay > 1",
                f"SELECT sum(pay) AS t FROM release WHERE {quoted} LIKE '\\%' OR {quoted} LIKE 'b!_%' ESCAPE '!'",
            ):
                assert disagreement(arrays, cluster, question) is None, question


def test_the_session_of_the_user_is_left_as_it_was(spark):
    """Settings stay, and no view of ours is seen there."""
    spark.conf.set("spark.sql.ansi.enabled", "false")
    release = release_of({"a": [1, 2, 3], "s": [3, 4, 5]}, [0, 0, 0], sensitive="s")
    try:
        with connect(release, spark) as cluster:
            assert cluster.ask("SELECT sum(s) FROM release WHERE a > 1").upper == 9
            assert not [table.name for table in spark.catalog.listTables() if table.name.startswith("hedgerow")]
        assert spark.conf.get("spark.sql.ansi.enabled") == "false"
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    assert spark.range(3).count() == 3


def test_what_is_no_engine_is_refused(salaries_release):
    """Neither a name, nor an address, nor a session."""
    pytest.importorskip("pyspark", reason="missing tool: Java 17 with pyspark")
    with pytest.raises(hr.ParameterError, match="session of Spark"):
        connect(salaries_release, 7)


def test_names_stay_apart_and_texts_are_parameters():
    """No two names become one, and no text or odd name is left in the statement."""
    names = ["a", "A", "x_61", "a b", "ab", "", "ä", "a" * 70, "1", "group"]
    assert len({safe_name(name).lower() for name in names}) == len(names)
    text, parameters = to_spark('SELECT "${x}" AS k FROM release WHERE "b`" = \'${y}\'', {"release": "v"})
    assert parameters == {"p0": "${y}"}
    assert "$" not in text
    assert "b``" not in text


@pytest.mark.parametrize(("pattern", "escape", "wanted"), [
    ("a%", "", "a%"), ("a\\", "", "a\\\\"), ("a!%", "!", "a\\%"), ("a!!", "!", "a!"), ("a!_\\", "!", "a\\_\\\\"),
])  # fmt: skip
def test_patterns_are_escaped_by_backslashes(pattern, escape, wanted):
    """Whatever sign a pattern uses to escape, Spark sees its own."""
    suffix = f" ESCAPE '{escape}'" if escape else ""
    assert to_spark(f"SELECT a LIKE '{pattern}'{suffix} FROM r", {"r": "v"})[1] == {"p0": wanted}
