"""Functions of results, FILTER, groupings, sub-queries over tables of one's own: bounds hold, as sharp as said."""

import random
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from hedgerow.query import connect
from hedgerow.query.answer import Estimate, Rounding
from hedgerow.query.calculated import FUNCTIONS, Uncertain, calculate
from tests.support.agreement import disagreement
from tests.support.assignments import release_of
from tests.support.every_form import sample_of
from tests.support.truth import contradiction

FORMS = ("permuted, whole numbers", "scattered, whole numbers with gaps", "generalized, whole numbers")
OVER_RESULTS = [
    "round(avg(s), 2)",
    "abs(sum(s))",
    "coalesce(sum(s) FILTER (WHERE s > 40), 0)",
    "CASE WHEN count(*) > 10 THEN avg(s) ELSE -1 END",
    "CASE WHEN sum(s) > 0 THEN 1 WHEN sum(s) < -100 THEN 2 ELSE 3 END",
    "greatest(sum(s), 0, count(*))",
    "least(min(s), 0)",
    "nullif(count(*), 3) * 2",
    "sqrt(abs(sum(s)))",
    "ln(count(*) + 1)",
    "power(avg(s), 2)",
    "exp(avg(s) / 1000)",
    "floor(avg(s)) + ceil(avg(s)) + sign(sum(s)) + trunc(avg(s))",
    "avg(s)::INT",
    "count(*)::DOUBLE * 0.1",
    "(sum(s) / 7)::BIGINT",
    "sum(DISTINCT s)",
    "avg(DISTINCT s)",
    "sum(1) + max(2)",
    "min(s) FILTER (WHERE fee > 50)",
    "median(s) FILTER (WHERE fee > 50)",
    "count(DISTINCT s) FILTER (WHERE fee > 50)",
    "count_if(s > 3) / count(*)",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("item", OVER_RESULTS)
def test_the_truth_is_inside(item, form):
    """With and without groups; engines agree."""
    sample = sample_of(form, random.Random(11), rows=50)
    session, other = connect(sample.release), connect(sample.release, "duckdb")
    for text in (
        f"SELECT {item} AS x FROM release WHERE fee > 20",
        f"SELECT floor(fee / 30) AS k, {item} AS x FROM release WHERE s > -30 GROUP BY 1",
    ):
        assert contradiction(session, sample.table, text) is None
        assert disagreement(session, other, text) is None
    assert session.sql(text).answers("x")[0].bounded


def number(low, high, may_miss):
    """A number between bounds."""
    is_exact = low == high and not may_miss
    ends = [None if end is None else Fraction(end) for end in (low, high)]
    middle = 0.0 if low is None else (low + high) / 2
    return Uncertain(Estimate([ends[0]], [ends[1]], [middle], [1.0], [is_exact], Rounding.OUTWARD), [may_miss])


def points(low, high, may_miss):
    """Numbers that the bounds allow, and NULL."""
    values = [None] if low is None else [Fraction(low) + Fraction(high - low) * n / 8 for n in range(9)]
    return [*values, *([None] if may_miss else [])]


def by_definition(function, values):
    """What SQL says."""
    if function in ("greatest", "least"):
        some = [value for value in values if value is not None]
        return (max if function == "greatest" else min)(some) if some else None
    if function in ("coalesce", "ifnull"):
        return next((value for value in values if value is not None), None)
    one, other = values
    return None if one is not None and one == other else one


@pytest.mark.parametrize("function", ["greatest", "least", "coalesce", "ifnull", "nullif"])
def test_choosing_functions_against_all_their_operands(function):
    """Every combination of numbers and NULL that the operands allow: inside, exact only if all agree."""
    rng = random.Random(function)
    for _ in range(300):
        drawn = []
        for _ in range(2):
            low = rng.choice([None, *range(-3, 4)])
            drawn.append((low, None if low is None else low + rng.choice([0, 0, 1, 3]), rng.random() < 0.4))
        drawn = [(low, high, may_miss or low is None) for low, high, may_miss in drawn]
        operands = [number(*one) if one[0] is not None else _null() for one in drawn]
        found = calculate(function, operands)
        truths = {by_definition(function, (a, b)) for a in points(*drawn[0]) for b in points(*drawn[1])}
        low, high = found.estimate.lower[0], found.estimate.upper[0]
        assert all(truth is None or low <= truth <= high for truth in truths)
        assert not found.estimate.exact[0] or len(truths) == 1
        assert found.gaps[0] or None not in truths


def _null():
    nothing = Estimate([None], [None], [float("nan")], [0.0], [True], Rounding.OUTWARD)
    return Uncertain(nothing, [True])


def test_every_function_of_results_is_tried():
    """A function that is added comes with a question here."""
    tried = " ".join(OVER_RESULTS) + " ceiling ifnull log( log10 log2 cast to whole cast to double"
    assert all(name in tried for name in FUNCTIONS)


@pytest.mark.parametrize("form", FORMS[:2])
@pytest.mark.parametrize("by", [
    'ROLLUP (town, "Odd name")',
    'CUBE (town, "Odd name")',
    'GROUPING SETS ((town, "Odd name"), ("Odd name"), ())',
    '"Odd name", ROLLUP (town)',
])  # fmt: skip
def test_groupings_are_answers_below_each_other(form, by):
    """As many rows as DuckDB has, told apart by GROUPING, with the truth inside."""
    sample = sample_of(form, random.Random(12), rows=50)
    text = (
        'SELECT town, "Odd name", grouping(town, "Odd name") AS g, count(*) AS n, avg(s) AS m FROM release '
        f"WHERE fee > 20 GROUP BY {by} HAVING count(*) > 0 ORDER BY 3, 1, 2"
    )
    session = connect(sample.release)
    assert contradiction(session, sample.table, text) is None
    total = session.sql("SELECT town, count(*) AS n FROM release GROUP BY ROLLUP (town) ORDER BY n DESC LIMIT 1")
    assert total.answers("n")[0].lower == sample.table.num_rows


def test_union_all_is_sorted_and_cut():
    """By name, by place, and with OFFSET."""
    sample = sample_of("permuted, whole numbers", random.Random(13), rows=50)
    parts = "SELECT 'a' AS k, count(*) AS n FROM release WHERE fee > 50 UNION ALL SELECT 'b', count(*) FROM release"
    session = connect(sample.release)
    assert session.sql(f"{parts} ORDER BY n DESC LIMIT 1").column("k").to_pylist() == ["b"]
    assert session.sql(f"{parts} ORDER BY 2").column("k").to_pylist() == ["a", "b"]
    assert session.sql(f"{parts} ORDER BY n OFFSET 1").column("k").to_pylist() == ["b"]


def test_sub_queries_over_tables_of_ones_own():
    """IN, EXISTS and single values; a table may not be called release, asked about or not."""
    sample = sample_of("permuted, whole numbers", random.Random(13), rows=50)
    session = connect(sample.release)
    tables = {"places": pa.table({"town": ["Bern", "Biel", None], "size": [3, 1, 2]})}
    for condition, plain in (
        ("town IN (SELECT town FROM places WHERE size > 2)", "town IN ('Bern')"),
        ("town NOT IN (SELECT town FROM places WHERE town IS NOT NULL)", "town NOT IN ('Bern', 'Biel')"),
        ("age > (SELECT 10 * max(size) FROM places)", "age > 30"),
        ("EXISTS (SELECT 1 FROM places WHERE size > 2) AND age > 30", "age > 30"),
        ("EXISTS (SELECT 1 FROM places WHERE size > 9) AND age > 30", "FALSE"),
        ("EXISTS (SELECT 1 FROM release WHERE fee >= 0) AND age > 30", "age > 30"),
    ):
        asked = session.ask(f"SELECT count(*) FROM release WHERE {condition}", tables)
        assert asked == session.ask(f"SELECT count(*) FROM release WHERE {plain}")
    for text in ("SELECT count(*) FROM release", "SELECT count(*) FROM release WHERE age IN (SELECT age FROM release)"):
        with pytest.raises(QueryError, match="cannot be called 'release'"):
            session.ask(text, {"release": tables["places"]})


@pytest.mark.parametrize(("item", "reason"), [
    ("mode(s)", "equally frequent"),
    ("any_value(s)", "any of the values"),
    ("string_agg(town, ',')", "single rows"),
    ("list(s)", "single rows"),
    ("first(s)", "no order"),
    ("arg_max(town, s)", "single row"),
    ("approx_count_distinct(s)", "count\\(DISTINCT x\\) has"),
    ("sum(s) OVER ()", "single rows"),
    ("ln(sum(s) - 900)", "zero or less"),
    ("round(sum(s), count(*))", "constant|digits"),
])  # fmt: skip
def test_refusals_give_the_reason(item, reason):
    """In words of the question."""
    sample = sample_of("permuted, whole numbers", random.Random(13), rows=50)
    with pytest.raises(QueryError, match=reason):
        connect(sample.release).sql(f"SELECT {item} AS x FROM release WHERE s > -30 AND fee > 20")


@pytest.mark.parametrize("form", ["separated, dates", "generalized, dates", "permuted, whole numbers"])
def test_means_of_dates_are_moments(form):
    """AVG, MEDIAN and quantiles of dates, as DuckDB has them."""
    sample = sample_of(form, random.Random(14), rows=50)
    column = "s" if "dates" in form else "born"
    for where in ("TRUE", "fee > 40"):
        items = f"avg({column}) AS a, median({column}) AS m, quantile_cont({column}, 0.3) AS q"
        text = f"SELECT {items} FROM release WHERE {where}"
        session, other = connect(sample.release), connect(sample.release, "duckdb")
        assert contradiction(session, sample.table, text) is None
        assert disagreement(session, other, text) is None
        assert session.sql(text).answers("a")[0].bounded


BETWEEN_DATES = [
    "max(s) - min(s)",
    "max(s) - min(born)",
    "max(s) + 7",
    "7 + max(s)",
    "min(s) - 2",
    "max(s) - DATE '2020-01-01'",
    "CASE WHEN max(s) > DATE '2020-02-29' THEN 1 ELSE 2 END",
    "CASE WHEN max(s) - min(s) > 4 THEN count(*) ELSE 0 END",
]


@pytest.mark.parametrize("item", BETWEEN_DATES)
def test_dates_are_days_apart(item):
    """Days between dates, dates some days away, and comparisons of dates; over answers as well."""
    sample = sample_of("separated, dates", random.Random(5), rows=40)
    session, other = connect(sample.release), connect(sample.release, "duckdb")
    for text in (
        f"SELECT {item} AS x FROM release WHERE age > 30",
        f"SELECT town AS k, {item} AS x FROM release WHERE s > DATE '2020-02-26' GROUP BY 1",
        f"SELECT count(x) AS n FROM (SELECT town AS k, {item} AS x FROM release GROUP BY 1) AS t",
    ):
        assert contradiction(session, sample.table, text) is None
        assert disagreement(session, other, text) is None
    session.sql(text)


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("item", ["avg(s)", "median(s)", "quantile_cont(s, 0.3)", "avg(CASE WHEN age > 3 THEN s END)"])
def test_means_of_dates_under_mixed_conditions_are_refused(item, engine):
    """They would come as microseconds; extremes are dates."""
    session = connect(sample_of("separated, dates", random.Random(5), rows=30).release, engine)
    with pytest.raises(QueryError, match="MIN, MAX"):
        session.sql(f"SELECT {item} AS x FROM release WHERE s > born")
    assert session.ask("SELECT max(s) AS x FROM release WHERE s > born").lower.year == 2020


NO_NUMBERS = [
    "min(s) / 3",
    "max(town) + 1",
    'max("Odd name") * 2',
    "max(s) - max(town)",
    "max(s) * 1",
    "3 - max(s)",
    "max(s) + min(s)",
    "avg(s) - min(s)",
    "max(s) + 0.5",
    "CASE WHEN max(town) > 3 THEN 1 ELSE 2 END",
    "CASE WHEN max(town) = min(town) THEN 1 ELSE 2 END",
    "CASE WHEN max(s) > 18000 THEN 1 ELSE 2 END",
    "max(s) + 10000000000",
    "max(s) - DATE '0001-01-01' + max(s) + 3000000",
]


@pytest.mark.parametrize("form", ["separated, dates", "disguised, dates with fakes", "generalized, dates"])
@pytest.mark.parametrize("item", NO_NUMBERS)
def test_texts_and_moments_are_no_numbers(form, item):
    """What DuckDB does not compute, or gives as a moment, is refused: a place in a list of values is no number."""
    sample = sample_of(form, random.Random(5), rows=40)
    for engine in ("arrays", "duckdb"):
        session = connect(sample.release, engine)
        with pytest.raises(QueryError):
            session.sql(f"SELECT {item} AS x FROM release")
        with pytest.raises(QueryError):
            session.sql(f"SELECT floor(fee / 30) AS k, {item} AS x FROM release GROUP BY 1")


def test_texts_that_a_sub_query_found_do_not_compare_with_numbers():
    """Nor do they with each other, for each result has its own list of values."""
    sample = sample_of("permuted, texts with gaps", random.Random(5), rows=40)
    inner = "(SELECT town, max(s) AS m, min(town) AS t FROM release GROUP BY town) AS q"
    for condition in ("m > 3", "m = t", "m IN (1, 2)", "m > DATE '2020-01-01'"):
        with pytest.raises(QueryError):
            connect(sample.release).sql(f"SELECT count(*) AS n FROM {inner} WHERE {condition}")


ROUNDED = [
    "CASE WHEN avg(a) = 1/3 THEN 1 ELSE 0 END",
    "CASE WHEN avg(a) > 1/3 THEN 1 ELSE 0 END",
    "CASE WHEN avg(a) * 3 = 1 THEN 1 ELSE 0 END",
    "CASE WHEN sum(a) / count(*) = 2/3 THEN 1 ELSE 0 END",
    "CASE WHEN count(*) / 9 IN (1/3) THEN 1 ELSE 0 END",
    "CASE WHEN max(f) - 0.2 = 0.1 THEN 1 ELSE 0 END",
    "CASE WHEN max(f) * 3 = 0.9 THEN 1 ELSE 0 END",
    "nullif(avg(a), 1/3)",
    "sign(avg(a) - 1/3)",
    "sign(max(f) - 0.2 - 0.1)",
    "floor(max(f) - 0.2 - 0.1)",
]


def rounded_session():
    """Means that are no floats, and floats whose differences are not those of the decimals that they print."""
    columns = {"g": [1, 1, 1, 2, 2, 2, 3, 3], "a": [0, 0, 1, 0, 1, 1, 5, 5], "f": [0.1, 0.2, 0.3] * 2 + [0.7, 0.1]}
    columns |= {"fee": pa.array([Decimal(1)] * 8, pa.decimal128(5, 2)), "s": list(range(8))}
    return connect(release_of(columns, [row // 4 for row in range(8)], sensitive="s")), pa.table(columns)


@pytest.mark.parametrize("item", ROUNDED)
def test_what_sql_computes_in_floats_is_not_decided_in_fractions(item):
    """An answer is exact where both agree; a row of a sub-query is sure where both agree."""
    session, table = rounded_session()
    assert contradiction(session, table, f"SELECT g AS k, {item} AS x FROM release GROUP BY g") is None
    outer = f"SELECT count(*) AS n FROM (SELECT g, {item} AS x FROM release GROUP BY g) WHERE x = 1"
    assert contradiction(session, table, outer) is None


def test_rows_of_a_sub_query_whose_means_are_no_floats():
    """The mean of 0, 0 and 1 is a third, as it is for a database."""
    session, table = rounded_session()
    text = "SELECT count(*) AS n FROM (SELECT g, avg(a) AS x FROM release GROUP BY g) WHERE x = 1/3"
    assert contradiction(session, table, text) is None
    for sure in ("avg(a) = 5", "avg(a) > 0.5", "max(f) = 0.3", "sum(fee) * 0.1 = 0.3", "max(fee) - 0.9 = 0.1"):
        assert session.ask(f"SELECT CASE WHEN {sure} THEN 1 ELSE 0 END AS x FROM release WHERE g = 1").exact


@pytest.mark.parametrize(
    "item",
    [
        "(count(*) * 100)::TINYINT",
        "TRY_CAST(count(*) * 100 AS TINYINT)",
        "(sum(s) * 100000000)::INT",
        "(-sum(s) * 1e30)::BIGINT",
        "CASE WHEN (count(*) * 100)::TINYINT > 3 THEN 1 ELSE 0 END",
    ],
)
def test_results_beyond_the_type_that_they_are_cast_to_are_refused(item):
    """A database stops there, or says NULL if it is TRY_CAST; what fits is answered."""
    session, table = rounded_session()
    with pytest.raises(QueryError, match=r"beyond the type that it is cast to|TRY_CAST of a result"):
        session.ask(f"SELECT {item} AS x FROM release")
    for fits in ("(count(*) * 15)::TINYINT", "(sum(s) * -100)::SMALLINT", "avg(s)::INT", "(sum(s) * 1e9)::HUGEINT"):
        assert contradiction(session, table, f"SELECT {fits} AS x FROM release") is None


@pytest.mark.parametrize("item", ["floor(sum(s * w))", "sign(sum(s * w) - 7)", "floor(nullif(sum(s * w), 1))"])
def test_a_step_that_rounding_alone_takes_is_not_reached(item):
    """The least sum is 7: no table has a sum whose floor is 6, though a database that adds up floats might."""
    columns = {"w": [0, 2, 2, 2, 1], "s": [-1.0, -1.0, 1.5, 2.0, 2.0], "t": [0, 1, 2, 3, 4]}
    release = release_of(columns, [0, 0, 1, 1, 1], sensitive="s")
    answer = release.ask(f"SELECT {item} FROM release WHERE t > 0")
    assert answer.lower < answer.upper
    assert not answer.reached
    assert release.ask("SELECT floor(sum(s * w) + 0.5) FROM release WHERE t > 0").upper == 8
    nothing = release.ask("SELECT sign(sqrt(count(*))) FROM release WHERE t > 9")
    assert (nothing.lower, nothing.upper, nothing.reached) == (-1, 1, False)
