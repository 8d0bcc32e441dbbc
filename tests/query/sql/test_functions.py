"""Functions: any deterministic one of a row's values, computed by DuckDB, the same on every engine and every form."""

import random

import duckdb
import pyarrow as pa
import pytest
import sqlglot

from hedgerow.errors import QueryError
from hedgerow.query import connect
from hedgerow.query.sql.dialect import QuestionSQL
from tests.support.agreement import disagreement
from tests.support.every_form import sample_of
from tests.support.truth import contradiction

KNOWN = [
    "age::VARCHAR LIKE '3%'",
    "CAST(fee AS INTEGER) % 3 = 1",
    "town ILIKE 'b%'",
    "town NOT ILIKE '%E%'",
    "age // 7 > 4",
    "rate % 7 > 2",
    "power(age, 2) > 1600 OR ln(age) < 3.2",
    "sqrt(age) > 6 AND exp(age / 10.0) < 400 AND log(age) > 1.3",
    "sign(rate) = -1 OR round(rate, -1) = 20 OR trunc(rate) = 3",
    "date_trunc('year', born) > DATE '1980-01-01'",
    "date_part('quarter', born) = 2 OR extract(dow FROM born) = 3",
    "born + INTERVAL 3 MONTH > DATE '1985-01-01'",
    "date_diff('day', born, DATE '1990-01-01') > 2000",
    "regexp_matches(town, '^B.*e') AND starts_with(town, 'B') AND contains(town, 'i')",
    "trim(upper(town)) || '!' = 'BERN!' OR right(town, 2) = 'el' OR reverse(town) = 'leiB'",
    "concat(town, '-', age) = 'Bern-30' OR replace(town, 'B', 'C') = 'Cern'",
    "town IS DISTINCT FROM 'Bern'",
    "age IS NOT DISTINCT FROM NULL",
    "(age, town) IN ((30, 'Bern'), (31, 'Biel'))",
    "age = ANY([30, 31, 32])",
    "greatest(age, 40) = 40 AND nullif(age, 35) > 25",
    "strftime(born, '%Y-%m') > '1980-06' OR last_day(born) = DATE '1980-02-29'",
    "if(age > 30, rate, fee::DOUBLE) > 20",
    "hour(born::TIMESTAMP) = 0 AND to_days(age) > to_days(30)",
]
OF_THE_SENSITIVE = [
    "sum(s // 7)",
    "sum(power(s, 2))",
    "max(sqrt(abs(s)))",
    "avg(sign(s))",
    "median(round(s / 7.0, 1))",
    "sum(s > 5)",
    "sum((s > 5)::INT)",
    "count(DISTINCT s % 3)",
    "max(s::VARCHAR)",
]
FORMS = ("permuted, whole numbers", "separated, dates", "scattered, whole numbers with gaps", "padded, whole numbers",
         "generalized, whole numbers", "disguised, whole numbers")  # fmt: skip


@pytest.fixture(scope="module", params=FORMS)
def sample(request):
    """A release of some form, and the table behind it."""
    return sample_of(request.param, random.Random(7), rows=60)


@pytest.mark.parametrize("condition", KNOWN)
def test_conditions_mean_what_they_mean_in_duckdb(sample, condition):
    """Exact where the columns are published as they are."""
    text = f"SELECT count(*) AS n, min(fee) AS m FROM release WHERE {condition}"
    session = connect(sample.release)
    assert contradiction(session, sample.table, text) is None
    if sample.release.form.is_permutation or sample.release.form.may_have_fakes:
        assert all(answer.exact for answer in session.sql(text).answers("n"))


@pytest.mark.parametrize("item", OF_THE_SENSITIVE)
@pytest.mark.parametrize("form", FORMS[:1] + FORMS[2:5])
def test_functions_of_a_sensitive_column(item, form):
    """The truth is inside; engines agree."""
    sample = sample_of(form, random.Random(8), rows=60)
    text = f"SELECT {item} AS x FROM release WHERE fee > 30"
    session, other = connect(sample.release), connect(sample.release, "duckdb")
    assert session.sql(text).answers("x")[0].bounded
    assert contradiction(session, sample.table, text) is None
    assert disagreement(session, other, text) is None


def test_whole_groups_are_exact():
    """A function of a sensitive column over all rows has one value."""
    sample = sample_of("permuted, whole numbers", random.Random(9), rows=60)
    for item in OF_THE_SENSITIVE:
        text = f"SELECT {item} AS x FROM release"
        session = connect(sample.release)
        assert session.ask(text).exact, item
        assert contradiction(session, sample.table, text) is None


@pytest.mark.parametrize(("text", "words"), [
    ("SELECT count(*) FROM release WHERE random() > 0.5", "another value each time"),
    ("SELECT count(*) FROM release WHERE born < now()", "another value each time"),
    ("SELECT count(*) FROM release WHERE born < current_date", "changes from day to day"),
    ("SELECT count(*) FROM release WHERE typeof(age) = 'BIGINT'", "TYPEOF cannot be computed"),
    ("SELECT count(*) FROM release WHERE power(town, 2) > 3", "POWER does not take varchar, integer"),
    ("SELECT count(*) FROM release WHERE age IS DISTINCT FROM 'x'", "does not fit"),
    ("SELECT sum(age::TIME) FROM release", "values are cast to"),
    ("SELECT max(INTERVAL 3 MONTH + INTERVAL (age) DAY) FROM release", "type INTERVAL"),
    ("SELECT count(*) FROM release WHERE list_value(age) = 3", "."),
    ("SELECT count(*) FROM release WHERE power(sum(age), 2) > 3", "aggregates|cannot"),
])  # fmt: skip
def test_what_is_no_function_of_a_row_is_refused(text, words):
    """With the reason."""
    sample = sample_of("permuted, whole numbers", random.Random(9), rows=20)
    with pytest.raises(QueryError, match=words):
        connect(sample.release).sql(text)


def test_what_cannot_be_computed_is_refused():
    """A logarithm of what is not positive, a text that is no number: as division by zero; what is said works."""
    sample = sample_of("permuted, whole numbers", random.Random(9), rows=40)
    session, (positive,) = connect(sample.release), (sum(value > 0 for value in sample.table["s"].to_pylist()),)
    for text in ("SELECT count(ln(s)) FROM release", "SELECT count(*) FROM release WHERE town::INT > 3"):
        with pytest.raises(QueryError, match="no finite value"):
            session.ask(text)
    assert session.ask("SELECT count(CASE WHEN s > 0 THEN ln(s) END) FROM release").lower == positive
    assert session.ask("SELECT count(*) FROM release WHERE TRY_CAST(town AS INT) > 3").upper == 0


def test_operators_bind_as_in_duckdb():
    """Chains without brackets, read and printed again, have the value that DuckDB gives them."""
    rng = random.Random(3)
    operators = ["+", "-", "*", "/", "//", "%", "**", "||", "=", "<>", "<", ">=", "AND", "OR", "LIKE", "ILIKE", "^"]
    operators += ["IS DISTINCT FROM", "::INT +", "::VARCHAR ||", "IS NULL =", "IN (1, 2) =", "BETWEEN 1 AND 3 AND"]
    operators += ["NOT LIKE", "NOT IN (2) AND", "::DOUBLE *", "IS NOT NULL AND", "IS NOT DISTINCT FROM"]
    atoms = ["a", "b", "-a", "- b", "'2'", "t", "NOT t", "NULL", "2.5", "a::DOUBLE", "abs(-a)", "3"]
    tried = 0
    with duckdb.connect() as database:
        database.register("r", pa.table({"a": [2, 7, None], "b": [3, 1, 2], "t": [True, None, False]}))
        for _ in range(4_000):
            chain = " ".join(
                [
                    rng.choice(atoms),
                    *(f"{rng.choice(operators)} {rng.choice(atoms)}" for _ in range(rng.randrange(1, 5))),
                ]
            )
            try:
                truth = database.execute(f"SELECT {chain} AS x FROM r ORDER BY b").fetchall()
                read = sqlglot.parse_one(f"SELECT {chain} AS x FROM r ORDER BY b", read=QuestionSQL)
            except (duckdb.Error, sqlglot.errors.SqlglotError):
                continue
            tried += 1
            assert repr(database.execute(read.sql(dialect=QuestionSQL)).fetchall()) == repr(truth), chain
    assert tried > 500
