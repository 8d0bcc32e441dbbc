"""What a name and a place mean, where they could mean a column or a result: as DuckDB reads them, or refused."""

import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from hedgerow.query import connect
from tests.query.sql.test_compose import make
from tests.support.truth import true_answers

REGION = pa.table({"town": ["Bern", "Biel"], "w": [10, 20], "folk": [7, 8]})


def rows_of(rows, names):
    """Rows in the order of some names, numbers as floats."""
    plain = [[row[name] for name in names] for row in rows]
    return [[value if isinstance(value, str | bool | None) else float(value) for value in row] for row in plain]


ORDERED = [
    "SELECT count(*) AS n, town FROM release GROUP BY town ORDER BY 1 DESC, 2 LIMIT 2",
    "SELECT sum(w) AS n, town, max(a) AS m FROM release GROUP BY town ORDER BY 3 DESC, 1 LIMIT 1",
    "SELECT sum(a) / count(*) AS q, town, max(w) AS m FROM release GROUP BY town ORDER BY 1 LIMIT 1",
    "SELECT sum(a) AS n, town FROM release GROUP BY 2 ORDER BY 1 LIMIT 1 OFFSET 1",
    "SELECT count(*) AS n, town FROM release GROUP BY ROLLUP (town) ORDER BY 1 DESC LIMIT 1",
    "SELECT n, town FROM (SELECT town, sum(a) AS n FROM release GROUP BY town) ORDER BY 1 DESC LIMIT 1",
    "SELECT max(n) AS n, town FROM (SELECT town, w, sum(a) AS n FROM release GROUP BY town, w) GROUP BY town "
    "ORDER BY 1",
    "SELECT max(n) AS n, w FROM (SELECT town, w, sum(a) AS n FROM release GROUP BY town, w) GROUP BY w "
    "HAVING min(n) < 100 ORDER BY 1 DESC, 2 LIMIT 2",
    "SELECT sum(a) AS n, town AS k FROM release GROUP BY town UNION ALL SELECT w, 'w' FROM release GROUP BY w "
    "ORDER BY 1, 2 LIMIT 4",
    "SELECT -w AS w, sum(a) AS n FROM release GROUP BY -w ORDER BY w LIMIT 1",
    "SELECT w % 3 AS k, count(*) AS n FROM release GROUP BY w % 3 HAVING w % 3 > 0 ORDER BY w % 3 DESC",
    "SELECT k, sum(a) AS n FROM (SELECT coalesce(town, '') AS k, a FROM release) GROUP BY k HAVING k <> 'Biel' "
    "ORDER BY k",
    "SELECT a AS w, w AS a, count(*) AS n FROM release GROUP BY a, w ORDER BY w, a LIMIT 3",
    "SELECT w AS x, count(*) AS n FROM (SELECT a AS x, w FROM release) GROUP BY x, w HAVING x > 3 ORDER BY 2 DESC, 1",
    # A result's name in GROUP BY that the release has, and the sub-query has not.
    "SELECT w AS town, count(*) AS n FROM (SELECT w FROM release) GROUP BY town ORDER BY 1",
    "SELECT a % 2 AS w, count(*) AS n FROM (SELECT a FROM release) GROUP BY w ORDER BY 1",
    # Results whose names differ from a grouped column's in case alone; results without a name of their own.
    "SELECT sum(a) AS W FROM release GROUP BY w ORDER BY W DESC",
    "SELECT count(*), w AS k FROM (SELECT a AS w, w AS count FROM release) GROUP BY count, w ORDER BY count, k, 1",
    # Constants are no places, and results come before columns.
    "SELECT a, 1 AS g, count(*) AS n FROM release GROUP BY CUBE (a) ORDER BY g DESC, 1, 3",
    "SELECT a AS x, count(*) AS a FROM release GROUP BY ROLLUP (x) ORDER BY a, x",
    # An expression that is grouped by, of a column that a result is called like.
    "SELECT max(w) AS n, 7 AS A, a % 2 AS s FROM release GROUP BY ALL ORDER BY a % 2 DESC",
    # A key that HAVING names by its place, beside a result of that name; keys that a grouping does not have.
    "WITH t AS (SELECT w AS b, town FROM release) SELECT town AS n, count(*) AS B, b AS a FROM t GROUP BY town, 3 "
    "HAVING b < 3 ORDER BY 3, 1",
    "SELECT town, count(*) AS n FROM release GROUP BY ROLLUP (town) HAVING town > 'Bf' ORDER BY 1",
    "SELECT sum(w) AS n, (SELECT max(a) FROM release) AS m FROM release GROUP BY ROLLUP (town) ORDER BY 1",
    "SELECT upper(town) AS u, a % 2 AS k, count(*) AS n FROM release GROUP BY town, a ORDER BY ALL LIMIT 5",
    "SELECT TOWN, count(NULL) AS n, count(*) AS m FROM (SELECT Town FROM release) GROUP BY Town ORDER BY ALL DESC",
]


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("text", ORDERED)
def test_rows_and_their_order_are_those_of_duckdb(text, engine):
    """A place is one in the select list, not one among the keys and then the results."""
    table, release = make("permuted")
    truth = true_answers(table, text)
    found = connect(release, engine).sql(text).to_pylist()
    names = [name for name in truth[0] if "(" not in name]  # other names are not the same
    assert rows_of(found, names) == rows_of(truth, names)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sum(n) AS n, w FROM (SELECT w, a, count(*) AS n FROM release GROUP BY w, a) GROUP BY w "
        "UNION ALL SELECT count(*) * 100, w FROM release GROUP BY w",
        "(SELECT sum(a) AS n, w FROM release GROUP BY w UNION ALL SELECT count(*), a FROM release GROUP BY a) "
        "UNION ALL SELECT sum(a) * 100, w FROM release GROUP BY w",
        "SELECT * FROM (SELECT sum(a) AS n, w FROM release GROUP BY w UNION ALL SELECT 1, count(*) FROM release) "
        "UNION ALL SELECT sum(a) * 100, w FROM release GROUP BY w",
    ],
)
def test_columns_of_union_are_stacked_by_place(text):
    """The first column of a part stands below the first, also where that part asks the answers of another."""
    table, release = make("permuted")
    truth, found = true_answers(table, text), connect(release).sql(text).to_pylist()
    assert sorted(rows_of(found, ["n", "w"])) == sorted(rows_of(truth, ["n", "w"]))


@pytest.mark.parametrize("form", ["permuted", "scattered"])
def test_a_quantile_is_over_the_column_and_not_over_the_result_of_that_name(form):
    """WITHIN GROUP (ORDER BY x) AS x; the release has an x of its own."""
    table, release = make(form)
    text = "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY w) AS w FROM (SELECT a AS w FROM release)"
    answer, (truth,) = connect(release).ask(text), true_answers(table, text)
    assert answer.lower <= truth["w"] <= answer.upper
    joined = "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY folk) AS folk FROM release JOIN region USING (town)"
    assert connect(release).ask(joined, {"region": REGION}).lower in (7, 7.5, 8)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT avg(w) AS a FROM release GROUP BY a HAVING a > 2",
        "SELECT a AS w, w AS a, count(*) AS n FROM release GROUP BY a, w HAVING a = 1",
        "SELECT a AS w, w AS a, count(*) AS n FROM release GROUP BY a, w ORDER BY a + 10 * w LIMIT 1",
        "SELECT a AS x, w AS a, a + count(*) AS n FROM release GROUP BY a, w",
        "SELECT a AS x, count(*) AS a FROM release GROUP BY x HAVING a > 1",
        "SELECT a + 1 AS a, count(*) AS n FROM release GROUP BY a, a + 1 HAVING a > 1",
        "SELECT max(n) AS town, town AS k FROM (SELECT town, w, count(*) AS n FROM release GROUP BY town, w) "
        "GROUP BY town HAVING town > 'C'",
    ],
)
def test_a_name_with_two_meanings_is_refused(text):
    """Databases take the column, and a reader may mean the result."""
    _, release = make("permuted")
    with pytest.raises(QueryError, match="is a column of GROUP BY and the name of another result"):
        connect(release).sql(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT a % 2 AS n, count(*) AS n FROM release GROUP BY a % 2", "two results would be called"),
        ("SELECT a AS n, w AS s, count(*) AS n FROM release GROUP BY a, w", "two results would be called"),
        ("SELECT max(b) AS m FROM (SELECT max(a) AS B, 7 AS b FROM release)", "two results would be called"),
        ("SELECT a AS n, count(*) AS g FROM (SELECT a FROM release) GROUP BY CUBE (n, a)", "in two ways"),
        ("SELECT x, count(*) AS g FROM (SELECT a AS x, a AS y FROM release) GROUP BY CUBE (x, y)", "in two ways"),
        ("SELECT a, count(*) AS g FROM release GROUP BY ROLLUP (release.a, a)", "in two ways"),
        (
            "SELECT count(n) AS m FROM (SELECT (SELECT max(a) FROM release) AS n FROM (SELECT town, count(*) AS c "
            "FROM release GROUP BY town) HAVING n > 0)",
            "is selected but not grouped",
        ),
        ("SELECT count(*) AS a, a % 2 AS k FROM release GROUP BY a % 2 HAVING a % 2 > 0", "name of another result"),
        ("SELECT lower(town) AS town, count(*) FROM release GROUP BY town HAVING town > 'a'", "name of another result"),
        ("SELECT count(*) AS g, a % 2 AS w FROM release GROUP BY ALL HAVING -w < 4", "GROUP BY ALL does not group by"),
        (
            "SELECT max(x) AS w, y % 2 AS k FROM (SELECT w AS y, a AS x FROM release) GROUP BY y % 2 HAVING w % 2 = 1",
            "the name of a result and of a column that the sub-query asks about",
        ),
    ],
)
def test_what_databases_read_in_several_ways_is_refused(text, reason):
    """The second took the place of the first, or rows were others than DuckDB's."""
    _, release = make("permuted")
    with pytest.raises(QueryError, match=reason):
        connect(release).sql(text)


def test_keys_of_joined_tables_have_one_name():
    """CUBE tells keys apart by names, and both of these are one column."""
    _, release = make("permuted")
    region = pa.table({"town": ["Bern"], "population": [7]})
    with pytest.raises(QueryError, match="in two ways"):
        connect(release).sql(
            "SELECT count(*) FROM release JOIN region USING (town) GROUP BY CUBE (region.population, population)",
            tables={"region": region},
        )


def test_names_of_results_that_no_column_has_are_used_freely():
    """HAVING, ORDER BY and GROUP BY by the name of a result."""
    _, release = make("permuted")
    for text in (
        "SELECT a + 1 AS b, count(*) AS n FROM release GROUP BY b HAVING b > 2 AND n > 0 ORDER BY b + n",
        "SELECT sum(w) AS a, town FROM release GROUP BY town HAVING a > 3 ORDER BY a",
        "SELECT a, sum(a) AS n FROM release GROUP BY a HAVING a > 2 ORDER BY -a",
    ):
        assert connect(release).sql(text).to_pylist()


def test_a_name_of_with_is_not_taken_for_a_table_of_ones_own():
    """DuckDB would join the sub-query."""
    _, release = make("permuted")
    text = (
        "WITH region AS (SELECT town, count(*) AS folk FROM release GROUP BY town) "
        "SELECT avg(region.folk) AS m FROM release JOIN region ON release.town = region.town"
    )
    with pytest.raises(QueryError, match="'region' of WITH cannot be joined"):
        connect(release).sql(text, {"region": REGION})


def test_a_column_of_a_joined_table_of_another_type_is_called_so():
    """It was said that there is no such column."""
    _, release = make("permuted")
    own = pa.table({"town": ["Bern"], "hours": pa.array([[1, 2]]), "a": pa.array([b"x"], pa.binary())})
    for name in ("hours", "region.hours", "region.a"):
        text = f"SELECT {name} AS h, count(*) AS n FROM release JOIN region USING (town) GROUP BY {name}"
        with pytest.raises(QueryError, match="has a type that questions do not know"):
            connect(release).sql(text, {"region": own})
    answer = connect(release).ask("SELECT count(*) FROM release JOIN region USING (town)", {"region": own})
    assert answer.exact


def test_two_results_of_one_name_over_a_sub_query_are_refused():
    """The second key took the place of the first."""
    _, release = make("permuted")
    inner = "FROM (SELECT w, a, count(*) AS n FROM release GROUP BY w, a)"
    for text in (
        f"SELECT w AS k, a AS k, sum(n) AS m {inner} GROUP BY w, a",
        f"SELECT w AS k, sum(n) AS K {inner} GROUP BY w",
    ):
        with pytest.raises(QueryError, match="two results would be called"):
            connect(release).sql(text)


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) AS n, (SELECT max(s) FROM release WHERE a > 100) AS m FROM release",
        "SELECT count(*) AS n, (SELECT max(a) FROM release) AS m, 5 AS five, NULL AS nothing FROM release",
        "SELECT town, sum(a) + (SELECT sum(a) FROM release WHERE a > 100) AS m FROM release GROUP BY town",
        "SELECT count(*) AS n, coalesce((SELECT sum(a) FROM release WHERE a > 100), 7) AS m FROM release",
        "SELECT count(*) AS n, (SELECT count(*) FROM release HAVING count(*) > 100) AS m FROM release",
        "SELECT sum(-1) AS n, count('x') AS m, count(TRUE) AS t, max(-2.5) AS x FROM release",
    ],
)
def test_constants_and_sub_queries_without_a_value_are_results(text, engine):
    """They stand beside aggregates, and are nothing that rows are grouped by."""
    table, release = make("permuted")
    truth, found = true_answers(table, text), connect(release, engine).sql(text).to_pylist()
    names = list(truth[0])
    assert sorted(rows_of(found, names)) == sorted(rows_of(truth, names))


def test_a_refusal_lists_no_column_that_a_question_computes():
    """Its name is a text that no analyst wrote."""
    _, release = make("permuted")
    with pytest.raises(QueryError) as caught:
        connect(release).sql("SELECT count(*) AS n FROM release GROUP BY a + 1 HAVING a > 1")
    assert "= (" not in str(caught.value)
