"""Tables that an analyst joins: the same as more known columns; DuckDB on the original table is the judge."""

from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import QueryError
from hedgerow.query import connect
from tests.query.sql.test_compose import make
from tests.support.assignments import release_of
from tests.support.truth import contradiction_of, database_of, fetch_rows, is_inside

FORMS = ("permuted", "separated", "scattered", "generalized", "gaps")
REGION = pa.table(
    {
        "town": ["Bern", "Biel", None, "Genf"],
        "canton": ["BE", "BE", "??", "GE"],
        "people": [134, 55, 1, 203],
        "rate": [0.5, 1.25, 9.0, None],
    }
)
GRADE = pa.table({"w": [1.0, 2.0, 2.5, 4.0], "town": ["Bern", "Bern", "Biel", "Chur"], "grade": ["x", "y", "z", "x"]})
CANTON = pa.table({"canton": ["BE", "GE"], "language": ["de", "fr"]})
TABLES = {"region": REGION, "grade": GRADE, "canton": CANTON}
QUESTIONS = [
    "SELECT canton AS k, count(*) AS n, avg(s) AS m FROM release JOIN region ON release.town = region.town "
    "GROUP BY canton",
    "SELECT canton AS k, count(*) AS n, sum(s) AS m FROM release r LEFT JOIN region g ON g.town = r.town "
    "GROUP BY g.canton",
    "SELECT sum(people) AS n, max(rate) AS m FROM release LEFT JOIN region USING (town) WHERE w > 1",
    "SELECT count(people) AS n, count(*) AS m FROM release LEFT JOIN region USING (town)",
    "SELECT avg(s) AS n FROM release INNER JOIN region USING (town) WHERE people > 60 AND a < 5",
    "SELECT max(s) AS n FROM release JOIN grade ON release.w = grade.w AND grade.town = release.town",
    "SELECT grade AS k, sum(s) AS n FROM release LEFT JOIN grade USING (w, town) GROUP BY grade",
    "SELECT language AS k, avg(s) AS n FROM release JOIN region USING (town) "
    "JOIN canton ON region.canton = canton.canton GROUP BY language",
    "SELECT sum(people * s) AS n FROM release JOIN region USING (town)",
    "SELECT count(*) AS n FROM release LEFT JOIN region USING (town) WHERE s > rate * 20",
    "SELECT count(*) AS n FROM release LEFT JOIN region USING (town) WHERE canton IS NULL AND s > 10",
    "SELECT max(m) AS n FROM (SELECT canton, avg(s) AS m FROM release JOIN region USING (town) GROUP BY canton)",
    "WITH t AS (SELECT s, people FROM release JOIN region USING (town)) SELECT avg(s) AS n FROM t WHERE people < 100",
]


def truth(table, text):
    """What DuckDB says."""
    with database_of(release=table, **TABLES) as database:
        return fetch_rows(database, text)


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", QUESTIONS)
def test_the_truth_lies_inside(form, text, engine):
    """And where an answer is exact it is the truth; keys are those of the truth."""
    for seed in range(2):
        table, release = make(form, seed)
        try:
            found = {row.get("k"): row for row in connect(release, engine).sql(text, TABLES)}
        except QueryError:
            if form not in ("scattered", "generalized"):
                raise
            continue
        for row in truth(table, text):
            for name in [name for name in row if name != "k"]:
                answer = found[row.get("k")][name]
                if row[name] is None:
                    assert answer.lower is None or not answer.exact
                    continue
                assert is_inside(answer.lower, row[name], answer.upper), (name, row)
                assert not answer.exact or is_inside(answer.expected, row[name], answer.expected)


def test_most_is_answered_where_columns_are_known():
    """Of shuffled columns those that need one of them."""
    for form, least in (
        ("permuted", len(QUESTIONS)),
        ("separated", len(QUESTIONS)),
        ("scattered", 5),
        ("generalized", 9),
    ):
        _, release = make(form)
        answered = 0
        for text in QUESTIONS:
            try:
                answered += bool(len(release.sql(text, tables=TABLES)))
            except QueryError:
                continue
        assert answered >= least, form


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, dict, lambda columns: pa.table(columns)])
def test_frames_of_every_kind(kind):
    """A mapping of columns, too."""
    _, release = make("permuted")
    frame = kind({"town": ["Bern", "Biel"], "canton": ["BE", "BE"]})
    text = "SELECT count(*) AS n FROM release JOIN region USING (town)"
    expected = release.sql("SELECT count(*) AS n FROM release WHERE town IN ('Bern', 'Biel')")
    assert release.sql(text, tables={"region": frame}).equals(expected)
    assert release.ask(text, tables={"Region": frame}) == expected.answers("n")[0]


def test_a_file_is_a_table(tmp_path):
    """As for publish."""
    _, release = make("permuted")
    (tmp_path / "region.csv").write_text("town,canton\nBern,BE\nBiel,BE\n")
    text = "SELECT count(*) AS n FROM release JOIN region USING (town)"
    assert release.ask(text, tables={"region": tmp_path / "region.csv"}).exact


def test_two_tables_of_one_name_are_not_confused():
    """What was computed from the first is not shown for the second."""
    _, release = make("permuted")
    session = connect(release)
    text = "SELECT canton, count(*) AS n FROM release JOIN region USING (town) GROUP BY canton"
    for canton in ("BE", "XX"):
        frame = pa.table({"town": ["Bern"], "canton": [canton]})
        assert session.sql(text, {"region": frame}).column("canton").to_pylist() == [canton]


def test_a_sensitive_key_is_a_function_of_the_value():
    """Of a release that lists values: what belongs to a value is as hidden as the value."""
    _, release = make("permuted")
    levels = pa.table({"s": list(range(50)), "level": ["low"] * 25 + ["high"] * 25})
    text = "SELECT count(*) AS n FROM release JOIN levels USING (s) WHERE level = 'low' AND a < 3"
    plain = "SELECT count(*) AS n FROM release WHERE s < 25 AND a < 3"
    answer = release.ask(text, tables={"levels": levels})
    assert (answer.lower, answer.upper) == (release.ask(plain).lower, release.ask(plain).upper)
    _, scattered = make("scattered")
    with pytest.raises(QueryError, match="sensitive"):
        scattered.ask(text, tables={"levels": levels})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT count(*) FROM release JOIN twice USING (town)", "several rows for one value of 'town'"),
        ("SELECT count(*) FROM release RIGHT JOIN region USING (town)", "RIGHT JOIN adds rows"),
        ("SELECT count(*) FROM release CROSS JOIN region", "CROSS JOIN adds rows"),
        ("SELECT count(*) FROM release SEMI JOIN region USING (town)", r"IN \(SELECT a FROM t\)"),
        ("SELECT count(*) FROM release ANTI JOIN region USING (town)", "WHERE t.a IS NULL"),
        ("SELECT count(*) FROM release JOIN region ON release.a > region.people", "equal columns"),
        ("SELECT count(*) FROM release JOIN region ON release.town = region.town AND people > 3", "equal columns"),
        ("SELECT count(*) FROM release JOIN region ON TRUE", "equal columns"),
        ("SELECT count(*) FROM release JOIN region USING (w)", "no column 'w' in 'region'"),
        ("SELECT count(*) FROM release JOIN nowhere USING (town)", "there are region, twice"),
        ("SELECT count(*) FROM release JOIN region ON release.w = region.town", "holds a text"),
        ("SELECT count(*) FROM region", "."),
        ("SELECT count(*) FROM region JOIN release USING (town)", "release itself"),
        ("SELECT town, count(*) FROM release JOIN region ON release.town = region.town GROUP BY town", "two tables"),
        (
            "SELECT count(*) FROM release JOIN region r USING (town) WHERE q.people > 3",
            "is not what this SELECT is about",
        ),
        ("SELECT avg(peple) FROM release JOIN region USING (town)", "no column 'peple'"),
        ("SELECT count(*) FROM release JOIN (SELECT 1) AS t ON TRUE", "tables of your own"),
        ("SELECT count(*) FROM release ASOF JOIN region USING (town)", "equal columns|adds rows"),
    ],
)
def test_the_rest_is_refused(text, words):
    """In words of the question."""
    _, release = make("permuted")
    twice = pa.table({"town": ["Bern", "Bern"], "canton": ["BE", "XX"]})
    with pytest.raises(QueryError, match=words) as refused:
        release.sql(text, tables={"region": REGION, "twice": twice})
    assert str(refused.value).isprintable()


def test_ranges_cannot_be_joined_on():
    """The reason is said."""
    _, release = make("generalized")
    ages = pa.table({"a": [1, 2], "name": ["x", "y"]})
    with pytest.raises(QueryError, match="'a' is published as ranges"):
        release.sql("SELECT count(*) FROM release JOIN ages USING (a)", tables={"ages": ages})


def test_names_that_have_a_meaning_are_refused():
    """And what is no table."""
    _, release = make("permuted")
    session = connect(release)
    text = "SELECT count(*) FROM release JOIN t USING (a)"
    with pytest.raises(QueryError, match="meaning already"):
        session.sql(text, {"Release": REGION})
    with pytest.raises(QueryError, match="is no table"):
        session.sql(text, {"t": 3})
    with pytest.raises(QueryError, match="cannot be called '5'"):
        session.sql(text, {5: REGION})


def test_columns_that_only_case_tells_apart_are_refused():
    """Of a table of one's own the last one was taken, and of the release, too; twice one name ended in a KeyError."""
    columns = {"a": [0, 1, 2, 0], "A": [0, 10, 20, 30], "s": [1, 2, 3, 4]}
    release = release_of(columns, [0, 0, 1, 1], sensitive="s")
    levels = pa.table({"k": [0, 1, 2], "v": [1, 2, 3], "V": [4, 5, 6]})
    text = "SELECT sum(v) AS n FROM release JOIN levels ON {} = levels.k"
    for table in (levels, levels.rename_columns(["k", "v", "v"])):
        with pytest.raises(QueryError, match="'levels' has two columns 'v'"):
            connect(release).sql(text.format("s"), {"levels": table})
    with pytest.raises(QueryError, match="two columns are called 'a'"):
        release.sql(text.format("a"), tables={"levels": levels.select(["k", "v"])})


def test_keys_that_floats_do_not_tell_apart_are_refused():
    """2^53 + 1 as a decimal found the row of 2^53."""
    big = pa.array([Decimal(2**53 + 1), Decimal(2**53), Decimal(5), Decimal(5)], pa.decimal128(38, 0))
    release = release_of({"a": big, "s": [1, 2, 3, 4]}, [0, 0, 1, 1], sensitive="s")
    with pytest.raises(QueryError, match="'a' has more digits"):
        release.sql("SELECT count(*) FROM release JOIN t ON a = t.k", tables={"t": pa.table({"k": [2**53, 5]})})


def test_keys_that_cannot_be_published_are_refused():
    """The original table may have held the text with its spaces, which the release does not show."""
    table = pa.table({"town": ["Bern ", "Biel", "Bern ", "Biel"], "s": [1, 2, 3, 4]})
    release = hr.Anatomy(l=2).publish(table, hr.Schema(quasi=["town"], sensitive="s"))
    text = "SELECT count(*) FROM release JOIN region USING (town)"
    with pytest.raises(QueryError, match="texts of 'town' are published without spaces"):
        connect(release).sql(text, {"region": pa.table({"town": ["Bern ", "Biel"]})})
    assert connect(release).ask(text, {"region": pa.table({"town": ["Biel", None]})}).lower == 2


@pytest.mark.parametrize("value", ["'12:00'::TIME", "[1]", "INTERVAL 1 DAY", "'a'::BLOB", "{'a': 1}", "'nan'::DOUBLE"])
def test_values_that_no_condition_takes_are_refused(value):
    """Of a sub-query over a table of one's own."""
    _, release = make("permuted")
    for text in (f"a IN (SELECT {value} FROM region)", f"a > (SELECT {value} FROM region LIMIT 1)"):
        with pytest.raises(QueryError, match="finite numbers, texts, dates or truth values"):
            release.sql(f"SELECT count(*) FROM release WHERE {text}", tables={"region": REGION})


DECIMALS = pa.table(
    {
        "town": ["Bern", "Biel", "Chur"],
        "price": pa.array([Decimal("0.10"), Decimal("0.20"), Decimal("2.50")], pa.decimal128(6, 2)),
    }
)


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) AS n FROM release JOIN own USING (town) WHERE price * 3 = 0.3",
        "SELECT count(*) AS n FROM release JOIN own USING (town) WHERE price + 0.2 = 0.3 OR price % 0.1 = 0",
        "SELECT count(*) AS n FROM release JOIN own USING (town) WHERE price::VARCHAR = '0.10'",
        "SELECT count(DISTINCT price + 0.2) AS n, max(price * 3) AS m FROM release JOIN own USING (town)",
        "SELECT price * 3 AS k, count(*) AS n, sum(s) AS m FROM release JOIN own USING (town) GROUP BY 1",
        "SELECT price AS k, sum(price) AS n FROM release LEFT JOIN own USING (town) GROUP BY price",
        "SELECT count(*) AS n FROM release WHERE town IN (SELECT town FROM own WHERE price * 3 = 0.3)",
        "SELECT count(*) AS n FROM release WHERE w * 0.1 IN (SELECT price * 3 FROM own)",
        "SELECT count(*) AS n FROM release WHERE w / 10 > (SELECT min(price) * 3 FROM own)",
        "SELECT count(*) AS n FROM release WHERE EXISTS (SELECT 1 FROM own WHERE price + 0.2 = 0.3)",
    ],
)
def test_decimals_of_ones_own_are_decimals(text, engine):
    """They were floats, of which three tenths are not 0.3: counts of such rows were 0, and exact."""
    table, release = make("permuted")
    session = connect(release, engine)
    session.tables = {"own": DECIMALS}
    with database_of(release=table, own=DECIMALS) as database:
        assert contradiction_of(session.answers(text), database, text) is None
