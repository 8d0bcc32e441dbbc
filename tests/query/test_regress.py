"""Linear models on a release: formulas as statsmodels writes them, the truth inside, refusals with their reasons."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.errors import QueryError
from hedgerow.query.sql.formula import read_formula
from studies.real import data_folder
from tests.support.assignments import release_of
from tests.support.form_worlds import as_scattered, as_separated

DATA = data_folder() or Path("nowhere")


def people(rows=400, seed=0):
    """Income with known effects of age, sex and schooling."""
    rng = np.random.default_rng(seed)
    age, sex, school = rng.integers(18, 80, rows), rng.integers(0, 2, rows), rng.integers(0, 3, rows)
    income = 235 * age + 16_000 * sex + 9_000 * school + rng.integers(0, 20_000, rows)
    return pa.table(
        {
            "age": age,
            "sex": np.array(["F", "M"])[sex],
            "school": np.array(["BA", "HS", "PhD"])[school],
            "w": rng.integers(1, 9, rows),
            "income": income,
        }
    )


def published(table, k=5):
    """Some (k, e)-anonymous release of it."""
    schema = hr.Schema(quasi=["age", "sex", "school"], sensitive="income", plain=["w"])
    return hr.KEAnonymity(k=k, e=1000).publish(table, schema)


def least_squares(columns, outcome, weights=None):
    """NumPy's coefficients, on columns scaled to the same size."""
    design = np.column_stack(columns).astype(np.float64)
    root = np.ones(len(design)) if weights is None else np.sqrt(weights.astype(np.float64))
    scale = np.abs(design).max(axis=0)
    return np.linalg.lstsq(design / scale * root[:, None], outcome * root, rcond=None)[0] / scale


def assert_inside(result, truth):
    """Every coefficient, with room for NumPy's own rounding."""
    assert len(result) == len(truth)
    for line, number in zip(result, truth, strict=True):
        room = 1e-7 * max(1.0, abs(number), line.upper - line.lower)
        assert line.lower - room <= number <= line.upper + room, (line, number)
        assert line.lower <= line.expected <= line.upper


def test_the_truth_lies_inside():
    """Intercept, a number, texts with the first level as reference; a condition; weights."""
    table = people()
    age, w, income = (table.column(name).to_numpy() for name in ("age", "w", "income"))
    sex, school = (np.array(table.column(name).to_pylist()) for name in ("sex", "school"))
    kept = age >= 30
    columns = [np.ones(len(age)), age, sex == "M", school == "HS", school == "PhD"]
    truth = least_squares([column[kept] for column in columns], income[kept], w[kept])
    result = published(table).regress("income ~ age + sex + school", where="age >= 30", weights="w")
    assert [line.term for line in result] == ["Intercept", "age", "sex[T.M]", "school[T.HS]", "school[T.PhD]"]
    assert result.rows == int(kept.sum())
    assert_inside(result, truth)
    assert not any(line.exact for line in result)


@pytest.mark.parametrize(
    ("formula", "terms"),
    [
        ("income ~ 1", ["Intercept"]),
        ("income ~ age - 1", ["age"]),
        ("income ~ 0 + age", ["age"]),
        ("income ~ sex - 1", ["sex[F]", "sex[M]"]),
        ("income ~ sex + school - 1", ["sex[F]", "sex[M]", "school[T.HS]", "school[T.PhD]"]),
        ("income ~ age + age:sex", ["Intercept", "age", "age:sex[T.M]"]),
        ("income ~ age*sex", ["Intercept", "age", "sex[T.M]", "age:sex[T.M]"]),
        ("income ~ age:sex", ["Intercept", "age:sex[F]", "age:sex[M]"]),
        ("income ~ C(w)", ["Intercept", *(f"C(w)[T.{level}]" for level in range(2, 9))]),
        ('income ~ "age" + I(age * age)', ["Intercept", "age", "I(age * age)"]),
    ],
)
def test_formulas_name_their_terms(formula, terms):
    """As R and statsmodels do."""
    assert [line.term for line in published(people()).regress(formula)] == terms


def test_interactions_and_expressions_are_right():
    """Groups of one row leave nothing open: the coefficients are NumPy's."""
    table = people(60)
    release = release_of({name: table.column(name) for name in table.column_names}, list(range(60)), sensitive="income")
    age, income, sex = table.column("age").to_numpy(), table.column("income").to_numpy(), np.array(table.column("sex"))
    male = sex == "M"
    result = release.regress("income ~ age*sex + I(age * age)")
    truth = least_squares([np.ones(60), age, male, age * age, age * male], income)
    for line, number in zip(result, truth, strict=True):
        assert line.exact
        assert line.lower == pytest.approx(number, rel=1e-6)
        assert line.expected == pytest.approx(number, rel=1e-6)


def test_rows_without_a_regressor_are_left_out():
    """Complete cases, as other programs take them."""
    columns = {"a": pa.array([1, 2, None, 4], pa.int64()), "s": [1, 2, 100, 4]}
    result = release_of(columns, [0, 1, 2, 3], sensitive="s").regress("s ~ a")
    assert result.rows == 3
    assert result["a"].expected == pytest.approx(1.0)


def test_missing_outcomes():
    """A group in which nobody has one is left out; where some have, it is open who."""
    columns = {"a": [1, 2, 3, 4, 5, 6], "s": pa.array([1, 2, 3, 4, None, None], pa.int64())}
    assert release_of(columns, [0, 0, 1, 1, 2, 2], sensitive="s").regress("s ~ a").rows == 4
    with pytest.raises(QueryError, match="which of them is hidden"):
        release_of(columns, [0, 0, 1, 1, 1, 2], sensitive="s").regress("s ~ a")
    filled = release_of(columns, [0, 0, 1, 1, 1, 2], sensitive="s").regress("I(coalesce(s, 0)) ~ a")
    assert filled.rows == 6


def test_a_known_outcome_is_exact():
    """Nothing is hidden, so that nothing is open."""
    result = published(people()).regress("w ~ age + sex")
    assert all(line.exact for line in result)


def test_forms():
    """Two tables give what one gives; columns that are shuffled apart give nothing."""
    whole = release_of({"a": [1, 2, 3, 5], "s": [1, 5, 2, 9]}, [0, 0, 1, 1], sensitive="s")
    assert as_separated(whole).regress("s ~ a") == whole.regress("s ~ a")
    with pytest.raises(QueryError, match="no bounds"):
        as_scattered(whole).regress("s ~ a")
    boxed = hr.Mondrian(k=2).publish(
        people(40), hr.Schema(quasi=["age"], sensitive="income", plain=["w", "sex", "school"])
    )
    assert len(boxed.regress("income ~ w")) == 2
    with pytest.raises(QueryError, match="ranges"):
        boxed.regress("income ~ age")


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        ("income", "~"),
        ("income ~ age ~ sex", "~"),
        ("income ~ height", "no column 'height'"),
        ("income ~ log(age)", r"I\(log"),
        ("income ~ age + 2", "0 and 1"),
        ("income ~ age - sex", "intercept"),
        ("income ~ age sex", r"joined by \+"),
        ("income ~ (age + sex)", "columns"),
        ("income ~ I(age", "not closed"),
        ("income ~ 0", "a term"),
        ("C(income) ~ age", "before ~"),
        ("income ~ C(age w)", "C takes one column"),
        ("income ~ C(age + w)", "C takes one column"),
        ("income ~ I(DISTINCT age)", "I an expression"),
        ("sex ~ age", "Logistic"),
        ("age ~ income", "shuffled"),
        ("I(income * age) ~ sex", "mixes"),
        ("income ~ age + I(2 * age)", r"'age', 'I\(2 \* age\)' depend"),
        ("income ~ age + C(age)", "depend"),
        ("income ~ I(age * 0)", "zero in every row"),
    ],
)
def test_refusals_say_why(formula, reason):
    """One sentence each."""
    with pytest.raises(QueryError, match=reason):
        published(people(80)).regress(formula)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"where": "income > 3"}, "sensitive"),
        ({"where": "income > age"}, "sensitive"),
        ({"where": "1 = 1) GROUP BY (age"}, "takes a condition"),
        ({"where": "age > 1000"}, "no row"),
        ({"weights": "sex"}, "numbers"),
        ({"weights": "income"}, "shuffled"),
        ({"weights": "age - 50"}, "negative"),
        ({"weights": "age, w"}, "MAX"),
    ],
)
def test_options_that_are_refused(options, reason):
    """Rows are selected, and weighted, by known columns."""
    with pytest.raises(QueryError, match=reason):
        published(people(80)).regress("income ~ age", **options)


def test_formulas_are_read_whole():
    """Products are their factors in all sizes; equal terms count once."""
    formula = read_formula("y ~ b:a + a*b + a")
    assert [[factor.text for factor in term] for term in formula.terms] == [["a"], ["b"], ["b", "a"]] or [
        [factor.text for factor in term] for term in formula.terms
    ] == [["a"], ["b"], ["a", "b"]]


def test_the_sign_between_the_sides_may_stand_in_names_and_texts():
    """In quotes it is a part of them; outside of quotes there is one."""
    columns = {"a~b": [1, 2, 3, 5], "~": ["~", "x", "~", "x"], "s": [1, 2, 3, 5]}
    release = release_of(columns, [0, 1, 2, 3], sensitive="s")
    found = {line.term: line.expected for line in release.regress('s ~ "a~b"')}
    assert found == pytest.approx({"Intercept": 0.0, "a~b": 1.0}, abs=1e-9)
    assert len(release.regress("s ~ I(CASE WHEN \"~\" = '~' THEN 1 ELSE 0 END)")) == 2
    with pytest.raises(QueryError, match="an outcome and terms with ~ between them"):
        release.regress('s ~ "a~b" ~ "~"')


def test_results_for_people_and_programs():
    """A table in text, HTML, Arrow and pandas; one coefficient by name."""
    result = published(people()).regress("income ~ age + sex")
    assert result.to_arrow().column_names == ["term", "lower", "expected", "upper", "std", "exact"]
    assert result.to_pandas().loc["age", "lower"] == result["age"].lower
    assert "sex[T.M]" in repr(result)
    assert "<svg" in result._repr_html_()
    assert result.to_dict()["coefficients"][1]["term"] == "age"
    with pytest.raises(KeyError, match="none of the terms"):
        result["height"]


def test_names_of_levels_are_escaped():
    """A level may hold anything."""
    release = release_of({"t": ["<b>", "<i>", "<b>", "<i>"], "s": [1, 2, 3, 4]}, [0, 0, 1, 1], sensitive="s")
    assert "<i>" not in release.regress("s ~ t")._repr_html_()


def indicators(texts):
    """Columns of all levels but the first."""
    return [texts == level for level in np.unique(texts)[1:]]


@pytest.mark.parametrize("k", [3, 10])
def test_adult(k):
    """Capital losses on age, sex, hours and schooling: NumPy on the original lies inside every interval."""
    path = DATA / "adult" / "adult_48842.parquet"
    if not path.is_file():
        pytest.skip("the Adult table is not on this machine; set HEDGEROW_DATA")
    table = pq.read_table(path)
    age, sex, hours, loss = "age", "sex", "hours-per-week", "capital-loss"
    table = table.select([age, sex, hours, loss]).filter(pa.compute.greater(table.column(loss), 0)).drop_null()
    release = hr.KEAnonymity(k=k, e=50).publish(table, hr.Schema(quasi=[age, sex, hours], sensitive=loss))
    result = release.regress(f'"{loss}" ~ "{age}" + "{sex}" + "{hours}"')
    columns = [table.column(name).to_numpy() for name in (age, hours)]
    sexes = indicators(np.array(table.column(sex).to_pylist()))
    assert_inside(
        result, least_squares([np.ones(len(table)), columns[0], *sexes, columns[1]], table.column(loss).to_numpy())
    )


def test_acs():
    """Incomes of the American Community Survey on age, gender and the way to work."""
    path = DATA / "acs" / "acs_income_2018.parquet"
    if not path.is_file():
        pytest.skip("the ACS table is not on this machine; set HEDGEROW_DATA")
    table = pq.read_table(path, columns=["Age", "Gender", "Travel time to work", "Income"]).slice(0, 20_000).drop_null()
    names = {"Gender": table.column("Gender").cast(pa.string())}
    table = pa.table({name: names.get(name, table.column(name)) for name in table.column_names})
    schema = hr.Schema(quasi=["Age", "Gender", "Travel time to work"], sensitive="Income")
    result = (
        hr.KEAnonymity(k=10, e=5000).publish(table, schema).regress('Income ~ Age + Gender + "Travel time to work"')
    )
    age, travel, income = (table.column(name).to_numpy() for name in ("Age", "Travel time to work", "Income"))
    genders = indicators(np.array(table.column("Gender").to_pylist()))
    assert_inside(result, least_squares([np.ones(len(age)), age, *genders, travel], income))


@pytest.mark.parametrize(
    "given",
    [
        {"weights": "w) FROM release --"},
        {"weights": "w) AS a, max(w"},
        {"weights": "0"},
        {"weights": 5},
        {"where": "age > 30) OR (age < 40"},
        {"where": "age > 30 GROUP BY sex"},
    ],
)
def test_weights_and_conditions_say_no_more_than_they_may(given):
    """A text that is no expression by itself could cut off the condition; a number is no column."""
    with pytest.raises(QueryError, match=r"takes a condition|where a column is needed|not SQL"):
        published(people()).regress("income ~ age", **({"where": "age > 60"} | given))
