"""The DuckDB engine against the array engine, and its locks."""

import random
from datetime import date, timedelta
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import QueryError
from hedgerow.query import Session, connect, rewrite
from hedgerow.query.duckdb_engine import DuckDBEngine
from hedgerow.testing.assignments import release_of
from hedgerow.testing.form_worlds import as_separated

KINDS = {
    "whole": lambda rng: rng.randrange(-50, 50),
    "large": lambda rng: rng.randrange(-(2**58), 2**58),
    "decimal": lambda rng: Decimal(rng.randrange(-9999, 9999)).scaleb(-2),
    "float": lambda rng: rng.randrange(-9999, 9999) / 100,
    "ragged": lambda rng: rng.random() * 1000 / 3 - 150,
}


def random_release(kind, seed, rows=200):
    """Two hundred rows in groups of one to nine, with missing quasi-identifiers."""
    rng = random.Random(seed)
    groups: list[int] = []
    while len(groups) < rows:
        groups += [len(set(groups))] * rng.randrange(1, 10)
    rows = len(groups)
    columns = {
        "age": [rng.choice([None, *range(20, 60)]) for _ in range(rows)],
        "town": [rng.choice([None, "Bern", "Basel", "Biel", "b_x%", "Züri"]) for _ in range(rows)],
        "Odd name": [rng.random() < 0.5 for _ in range(rows)],
        "born": [date(1960, 1, 1) + timedelta(days=rng.randrange(20_000)) for _ in range(rows)],
        "rate": [rng.choice([None, rng.randrange(-500, 500) / 10]) for _ in range(rows)],
        "fee": pa.array([Decimal(rng.randrange(10_000)).scaleb(-2) for _ in range(rows)], pa.decimal128(9, 2)),
        "pay": [KINDS[kind](rng) for _ in range(rows)],
    }
    return release_of(columns, groups, sensitive="pay", plain=["fee"])


def random_condition(rng, depth=0):
    """A random boolean expression over the published columns."""
    if depth < 3 and rng.random() < 0.5:
        operands = [random_condition(rng, depth + 1) for _ in range(2)]
        text = f" {rng.choice(['AND', 'OR'])} ".join(f"({operand})" for operand in operands)
        return f"NOT ({text})" if rng.random() < 0.3 else text
    compare = rng.choice(["=", "<>", "<", "<=", ">", ">="])
    low = rng.randrange(20, 60)
    return rng.choice(
        [
            f"age {compare} {low}",
            f"age {compare} {low}.5",
            f"age BETWEEN {low} AND {low + 9}",
            f"age IN ({low}, {low + 1}, 30.5, NULL)",
            f"age NOT IN ({low}, {low + 1})",
            f"age * 2 - 10 {compare} {low}",
            f"age / (age - {low}) {compare} 1",
            f"age {compare} rate",
            f"rate {compare} {low / 10 - 4}",
            f"fee {compare} {low}.255",
            f"fee {compare} age",
            f"fee * 2 {compare} rate + {low}",
            f"town {compare} 'Biel'",
            f"town LIKE '{rng.choice(['B%', '%e%', '____', 'b!_x!%', 'Z_ri', '%'])}' ESCAPE '!'",
            "town IS NULL",
            '"Odd name"',
            f"born {compare} DATE '1970-05-05' + {low}",
            f"year(born) {compare} 19{low + 10}",
            f"born - DATE '1980-01-01' {compare} {low}",
            "age IS NOT NULL",
        ]
    )


def question(rng):
    """A random question: some aggregates, a condition, perhaps groups."""
    items = ["sum(pay) AS a", "avg(pay) AS b", "min(pay) AS c", "max(pay) AS d", "count(*) AS e"]
    items += [
        "sum(age) AS f",
        "avg(rate) AS g",
        "min(fee) AS h",
        "max(rate) AS i",
        "count(rate) AS j",
        "count(pay) AS k",
    ]
    keys = rng.choice([[], [], ["town"], ["town", '"Odd name"'], ["age"]])
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    chosen = ", ".join([*keys, *rng.sample(items, rng.randrange(1, 5))])
    return f"SELECT {chosen} FROM release WHERE {random_condition(rng)}{grouped}"


@pytest.mark.parametrize("kind", KINDS)
def test_both_engines_agree_to_the_last_digit_of_the_bounds(kind):
    """Seven hundred questions to permuted and separated releases: equal keys and bounds, means as floats agree."""
    rng = random.Random(kind)
    for seed in range(4):
        release = random_release(kind, f"{kind}{seed}")
        release = as_separated(release) if seed % 2 else release
        database, arrays = connect(release, "duckdb"), connect(release, "arrays")
        for _ in range(35):
            text = question(rng)
            ours, theirs = arrays.sql(text), database.sql(text)
            assert ours.schema == theirs.schema, text
            for name in ours.column_names:
                mine, other = ours[name].to_pylist(), theirs[name].to_pylist()
                loose = name in "abcd" or name.endswith("_std")
                assert [x is None for x in mine] == [x is None for x in other], (name, text)
                pairs = [pair for pair in zip(mine, other, strict=True) if pair[0] is not None]
                assert all(y == (pytest.approx(x, rel=1e-6, abs=1e-6) if loose else x) for x, y in pairs), (name, text)


def test_the_rewritten_question_runs_as_it_is_printed():
    """What an analyst copies into a database gives bounds that enclose the array engine's closely."""
    release = random_release("whole", 5)
    database, arrays = connect(release, "duckdb"), connect(release, "arrays")
    items = "avg(pay) AS a, sum(pay) AS s, min(pay) AS l, max(pay) AS h, count(*) AS n"
    text = f"SELECT town, {items} FROM release GROUP BY town"
    printed = database.engine.connection.sql(rewrite(release, text)).fetchall()
    for row, ours in zip(printed, arrays.sql(text).to_pylist(), strict=True):
        assert row[0] == ours["town"]
        assert row[2] <= ours["a_lower"] <= row[2] + 1e-12
        assert row[3] - 1e-12 <= ours["a_upper"] <= row[3]
        assert row[6:8] == (ours["s_lower"], ours["s_upper"])
        assert row[10:12] == (ours["l_lower"], ours["l_upper"])
        assert row[13] == pytest.approx(ours["h"])


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "COPY release TO '/tmp/leak.csv'",
        "ATTACH '/tmp/leak.db'",
        "SET enable_external_access = true",
        "SET threads = 3",
        "INSTALL httpfs",
    ],
)
def test_the_database_is_locked(statement):
    """Even a statement that got past the parser could neither read nor write files."""
    database = connect(random_release("whole", 1), "duckdb")
    with pytest.raises(duckdb.Error):
        database.engine.connection.execute(statement).fetchall()


def test_what_the_help_table_cannot_say_is_refused():
    """Conditions on sensitive values and missing ones are left to the array engine, and the message says so."""
    database = connect(random_release("whole", 1), "duckdb")
    with pytest.raises(QueryError, match="array engine"):
        database.ask("SELECT count(*) FROM release WHERE pay > 1")
    holes = release_of({"a": [1, 2], "pay": [None, 3]}, [0, 0], sensitive="pay")
    with pytest.raises(QueryError, match="array engine"):
        connect(holes, "duckdb").ask("SELECT sum(pay) FROM release")
    twins = release_of({"a": [1, 2], "A": [3, 4], "pay": [5, 6]}, [0, 0], sensitive="pay")
    with pytest.raises(QueryError, match="differs in case"):
        connect(twins, "duckdb").ask('SELECT sum("A") FROM release')


def test_errors_of_the_database_quote_no_values():
    """An overflow inside DuckDB names numbers of the table; our refusal does not."""
    release = release_of({"a": [3037000499123, 2], "pay": [5, 6]}, [0, 0], sensitive="pay")
    for engine in ("duckdb", "arrays"):
        with pytest.raises(QueryError) as caught:
            connect(release, engine).ask("SELECT count(*) FROM release WHERE a * a > 1")
        assert "3037000499123" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_a_bundle_is_asked_by_its_files_alone(tmp_path):
    """The help table that comes with a bundle gives the answers of the release that was saved."""
    table = pa.table({"a": list(range(12)), "s": [n * 7 % 12 for n in range(12)]})
    release = hr.Anatomy(l=3).publish(table, hr.Schema(quasi=["a"], sensitive="s"))
    release.save(tmp_path / "out")
    text = "SELECT a % 2 AS odd, avg(s) AS m, count(*) AS n FROM release WHERE a < 9 GROUP BY odd ORDER BY m DESC"
    bundle = hr.open(tmp_path / "out")
    session = Session(bundle, DuckDBEngine.from_bundle(tmp_path / "out"))
    ours, theirs = release.connect().sql(text), session.sql(text)
    for name in ("odd", "m_lower", "m_upper", "n", "n_lower"):
        assert ours[name].to_pylist() == theirs[name].to_pylist()


@pytest.mark.parametrize("item", ["median(pay)", "variance(pay)", "count(DISTINCT pay)", "sum(pay * 2)", "min(town)"])
def test_what_plain_sql_cannot_bound_is_refused(item):
    """The refusal names the engine that can."""
    with pytest.raises(QueryError, match="array engine"):
        connect(random_release("whole", 1), "duckdb").ask(f"SELECT {item} FROM release")
