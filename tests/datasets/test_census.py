import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hedgerow.datasets import census
from hedgerow.datasets.census import CLASS_WIDTH, COUNTRIES, NUM_CLASSES, OCCUPATIONS, _draw
from hedgerow.errors import ParameterError
from hedgerow.randomness import seeded_keys

SHAPE = {
    "age": 78,
    "gender": 2,
    "education": 17,
    "marital": 6,
    "race": 9,
    "workclass": 10,
    "country": 83,
    "occupation": 50,
    "salary_class": 50,
}


@pytest.fixture(scope="module")
def people() -> pa.Table:
    """A large sample, so that shares are stable."""
    return census(200_000, seed=7)


def _mean(people: pa.Table, column: str, value: object) -> float:
    chosen = people.filter(pc.equal(people[column], pa.scalar(value)))
    return float(pc.mean(chosen["income"]).as_py())


def _shares(people: pa.Table, column: str) -> dict[object, float]:
    return {row["values"]: row["counts"] / people.num_rows for row in pc.value_counts(people[column]).to_pylist()}


def test_the_shape_of_the_literature(people: pa.Table) -> None:
    """Every attribute takes as many values as in the CENSUS tables."""
    assert {name: len(people[name].unique()) for name in SHAPE} == SHAPE
    assert people.column_names == [*SHAPE, "income"]
    assert {str(field.type) for field in people.schema} == {"int64", "string"}
    assert sum(column.null_count for column in people.columns) == 0


def test_labels_differ() -> None:
    """No country and no occupation is listed twice."""
    assert len(set(COUNTRIES)) == 83
    assert len({job.label for job in OCCUPATIONS}) == 50


def test_the_class_follows_from_the_income(people: pa.Table) -> None:
    """A salary class is a band of incomes, the last one open."""
    income, salary_class = people["income"].to_numpy(), people["salary_class"].to_numpy()
    assert np.array_equal(salary_class, np.minimum(income // CLASS_WIDTH, NUM_CLASSES - 1))
    assert income.min() >= 0
    assert 20_000 < np.median(income) < 45_000
    assert income.mean() > 1.25 * np.median(income)


def test_ten_diversity_is_feasible(people: pa.Table) -> None:
    """No sensitive value holds more than a tenth of the people."""
    assert max(_shares(people, "salary_class").values()) < 0.1
    assert max(_shares(people, "occupation").values()) < 0.1


def test_skew(people: pa.Table) -> None:
    """One country dominates, the next ones fall off, and the old are few."""
    countries = sorted(_shares(people, "country").values(), reverse=True)
    assert countries[0] > 0.8
    assert countries[1] > 3 * countries[10] > 0
    ages = _shares(people, "age")
    assert ages[40] > 1.1 * ages[20] > 5 * ages[90]


def test_ties_between_columns(people: pa.Table) -> None:
    """Income rises with schooling and differs by gender; the young are single; doctors studied; nurses are women."""
    assert _mean(people, "education", "Doctorate") > 2 * _mean(people, "education", "10th grade")
    assert _mean(people, "gender", "Male") > 1.1 * _mean(people, "gender", "Female")
    assert _mean(people, "age", 45) > 1.3 * _mean(people, "age", 18)
    rows = people.filter(pc.less(people["age"], 20))
    assert _shares(rows, "marital")["Never married"] > 0.9
    assert "Doctorate" not in _shares(rows, "education")
    doctors = _shares(people.filter(pc.equal(people["occupation"], "Physician")), "education")
    assert doctors.get("10th grade", 0.0) < 0.01
    nurses = people.filter(pc.equal(people["occupation"], "Registered nurse"))
    assert _shares(nurses, "gender")["Female"] > 0.85


def test_a_seed_makes_the_same_people() -> None:
    """The same seed gives the same table and another seed another one."""
    assert census(1000, seed=3) == census(1000, seed=3)
    assert census(1000, seed=3) != census(1000, seed=4)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_small_tables(n: int) -> None:
    """Any size works, down to nobody."""
    table = census(n)
    assert table.num_rows == n
    assert table.schema == census(50).schema


def test_draws_follow_their_table() -> None:
    """Each row of a table of shares is drawn from by its own shares; a share of zero is never drawn."""
    shares = np.array([[1.0, 0.0, 3.0], [0.0, 5.0, 5.0]])
    given = np.repeat([0, 1], 40_000)
    drawn = _draw(shares, given, seeded_keys(1))
    for row in (0, 1):
        counts = np.bincount(drawn[given == row], minlength=3) / 40_000
        assert counts == pytest.approx(shares[row] / shares[row].sum(), abs=0.01)
    assert not np.any((drawn == 1) & (given == 0))
    assert not np.any((drawn == 0) & (given == 1))


def test_extreme_keys_stay_inside_the_table() -> None:
    """The largest and the smallest key draw a value of their own row."""
    shares = np.ones((500, 7))
    given = np.arange(500)
    for key, expected in ((0, 0), (2**64 - 1, 6)):
        drawn = _draw(shares, given, lambda count, key=key: np.full(count, key, dtype=np.uint64))
        assert set(drawn.tolist()) == {expected}


@pytest.mark.parametrize("bad", [-1, 2.5, True, "3", None])
def test_parameters_are_checked(bad: object) -> None:
    """Sizes and seeds are whole numbers of at least 0."""
    with pytest.raises(ParameterError, match="'n' must be an integer"):
        census(bad)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'seed' must be an integer"):
        census(5, seed=bad)  # type: ignore[arg-type]
