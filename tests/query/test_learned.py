"""The learned estimate: inside the bounds, nearer than the fair shuffle where columns tell something, else honest."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.query import learned_dealing
from hedgerow.query.evidence import view
from hedgerow.query.learned_dealing import _fit
from tests.support.truth import original_of

SCHEMA = hr.Schema(quasi=["age", "town"], sensitive="pay")


def people(rows: int = 4000, slope: float = 500.0, seed: int = 0) -> pa.Table:
    """Pay rises with age and differs by town, with noise."""
    rng = np.random.default_rng(seed)
    age, town = rng.integers(20, 70, rows), rng.integers(0, 3, rows)
    pay = 20_000 + slope * (age + 10 * town) + rng.normal(0, 3000, rows)
    return pa.table({"age": age, "town": np.array(["a", "b", "c"])[town], "pay": np.rint(pay).astype(int)})


def questions(rng: np.random.Generator, number: int) -> list[tuple[str, str]]:
    """Conditions on known columns, each with one on the hidden one."""
    found = []
    for _ in range(number):
        low = int(rng.integers(20, 55))
        known = f"age BETWEEN {low} AND {low + int(rng.integers(5, 15))}"
        known += f" AND town = '{rng.choice(['a', 'b', 'c'])}'" if rng.random() < 0.5 else ""
        found.append((known, f"pay > {int(rng.integers(35_000, 60_000))}"))
    return found


def truth(table: pa.Table, sql: str) -> float:
    """What the owner's table says."""
    with original_of(table) as connection:
        return float(connection.execute(sql).fetchall()[0][0])


def test_median_errors_are_halved_and_errors_are_covered() -> None:
    """AVG, SUM and COUNT over Anatomy: half of the fair shuffle's error, and nine in ten within two standard errors.

    Questions of one release share its slopes, so several releases are asked. Here pay follows age almost without noise:
    a condition on it has an edge that no sum of lines follows, so that a COUNT's error is covered less often.
    """
    fair, learned, within = [], [], []
    for seed in range(8):
        table = people(1600, seed=seed)
        release = hr.Anatomy(l=4).publish(table, SCHEMA, seed=seed)
        for known, hidden in questions(np.random.default_rng(seed), 5):
            for what, where in (("avg(pay)", known), ("sum(pay)", known), ("count(*)", f"{known} AND {hidden}")):
                sql = f"SELECT {what} FROM release WHERE {where}"
                answer, true = release.ask(sql, estimate="learned"), truth(table, sql)
                assert answer.lower <= answer.learned.estimate <= answer.upper
                fair.append(abs(answer.expected - true))
                learned.append(abs(answer.learned.estimate - true))
                within.append(abs(answer.learned.estimate - true) <= 2 * answer.learned.standard_error)
    for start in range(3):
        assert np.median(learned[start::3]) <= np.median(fair[start::3]) / 2
        assert np.mean(within[start::3]) >= (0.9 if start < 2 else 0.8)


def test_where_known_columns_tell_nothing_the_answer_says_so() -> None:
    """Pay that does not depend on anything known: the estimate is the fair shuffle's, with the reason."""
    release = hr.Anatomy(l=4).publish(people(slope=0.0), SCHEMA, seed=1)
    answer = release.ask("SELECT avg(pay) FROM release WHERE age < 30", estimate="learned")
    assert answer.learned.note.startswith("no model helps") or abs(answer.learned.estimate - answer.expected) < 500
    assert answer.lower <= answer.learned.estimate <= answer.upper


@pytest.mark.parametrize("sql", ["sum(pay)", "avg(pay)", "count(*)"])
def test_columns_of_one_value_and_gaps_are_nothing_to_learn_from(sql: str) -> None:
    """A condition tells gaps from values, but no feature does: the fair shuffle, and why."""
    table = pa.table({"age": [30, None] * 20, "town": ["a"] * 40, "pay": range(40)})
    release = hr.Anatomy(l=2).publish(table, SCHEMA, seed=1)
    more = " AND pay > 10" if sql == "count(*)" else ""
    answer = release.ask(f"SELECT {sql} FROM release WHERE age = 30{more}", estimate="learned")
    assert "known columns tell too little" in answer.learned.note
    assert answer.learned.estimate == answer.expected


def test_groups_that_follow_the_hidden_values_are_not_learned_from() -> None:
    """(k,e) sorts by the hidden column: slopes between such groups are wrong."""
    release = hr.KEAnonymity(4, 100).publish(people(), SCHEMA, seed=1)
    answer = release.ask("SELECT avg(pay) FROM release WHERE age < 30", estimate="learned")
    assert "groups were made by the hidden values" in answer.learned.note
    assert answer.learned.estimate == answer.expected


def skewed(rows: int = 3000, seed: int = 0) -> pa.Table:
    """Nearly half of the people work 40 hours, so that no range of hours is filled evenly; pay goes with hours."""
    rng = np.random.default_rng(seed)
    hours = np.where(rng.random(rows) < 0.45, 40, np.clip(np.rint(rng.normal(38, 12, rows)), 1, 90)).astype(int)
    town = np.array(["a", "b", "c", "d"])[np.minimum(rng.geometric(0.5, rows) - 1, 3)]
    pay = 10_000 + 700 * hours + rng.normal(0, 4000, rows)
    others = {name: np.minimum(rng.geometric(0.3, rows), 9) for name in ("rooms", "trips", "floors")}
    return pa.table({"age": hours, "town": town, **others, "pay": np.rint(pay).astype(int)})


WIDE = hr.Schema(quasi=["age", "town", "rooms", "trips", "floors"], sensitive="pay")


def test_boxes_are_learned_from_all_boxes_together() -> None:
    """SUM and COUNT over ranges of a column that boxes show as intervals: half of the fair error, and covered.

    Questions of one release share what it says of the spike at 40, beside which most of these ranges end.
    """
    fair, learned, within = [], [], []
    for seed in range(4):
        table = skewed(seed=seed)
        release = hr.Mondrian(k=10, l=3).publish(table, WIDE, seed=seed)
        for low, high in ((20, 39), (41, 60), (35, 42), (38, 55), (25, 40), (25, 34), (45, 70), (10, 33)):
            where = f"age BETWEEN {low} AND {high}"
            for what, known in (("sum(pay)", where), ("count(*)", f"{where} AND pay > 36000"), ("count(*)", where)):
                sql = f"SELECT {what} FROM release WHERE {known}"
                answer, true = release.ask(sql, estimate="learned"), truth(table, sql)
                assert answer.lower <= answer.learned.estimate <= answer.upper
                fair.append(abs(answer.expected - true) / true)
                learned.append(abs(answer.learned.estimate - true) / true)
                within.append(abs(answer.learned.estimate - true) <= 2 * answer.learned.standard_error)
    assert np.median(learned) <= np.median(fair) / 2
    assert np.mean(within) >= 0.8


def test_averages_over_boxes_follow_the_hidden_values_of_their_rows() -> None:
    """AVG over a range inside boxes: pay goes with hours, so rows of a box that earn more work longer."""
    fair, learned, within = [], [], []
    for seed in range(4):
        table = skewed(seed=seed)
        release = hr.Mondrian(k=10, l=3).publish(table, WIDE, seed=seed)
        for low, high in ((20, 39), (41, 60), (38, 55), (25, 34), (45, 70), (10, 33)):
            sql = f"SELECT avg(pay) FROM release WHERE age BETWEEN {low} AND {high}"
            answer, true = release.ask(sql, estimate="learned"), truth(table, sql)
            fair.append(abs(answer.expected - true))
            learned.append(abs(answer.learned.estimate - true))
            within.append(abs(answer.learned.estimate - true) <= 2 * answer.learned.standard_error)
    assert np.median(learned) <= 0.6 * np.median(fair)
    assert np.mean(within) >= 0.8


@pytest.mark.parametrize("method", [hr.RankSwap(share="0.1"), hr.Noise(scale="0.1"), hr.Retention(m=2)])
def test_forms_without_bounds_are_not_called_exact(method: hr.Method) -> None:
    """Values that were changed by chance: the estimate is the answer's own, and no error of 0 is claimed."""
    answer = method.publish(people(200), SCHEMA, seed=1).ask("SELECT avg(pay) FROM release", estimate="learned")
    assert answer.learned.estimate == answer.expected
    assert answer.learned.standard_error != 0
    assert "no model helps" in answer.learned.note


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT avg(age) FROM release WHERE town = 'a'", "sensitive columns"),
        ("SELECT avg(pay) FROM release WHERE age < 30 OR town = 'a'", "one column each"),
    ],
)
def test_what_boxes_cannot_be_learned_for_says_so(sql: str, why: str) -> None:
    """The fair answer, with the reason."""
    answer = hr.Mondrian(k=10).publish(skewed(400), WIDE, seed=1).ask(sql, estimate="learned")
    assert why in answer.learned.note
    assert answer.learned.estimate == answer.expected


@pytest.mark.parametrize("kind", ["float", "date", "bool", "gaps", "one group", "equal"])
def test_odd_boxes_stay_inside_their_bounds(kind: str) -> None:
    """Floats, dates, truth values, gaps, one group, a column of one value: an estimate inside, or the fair answer."""
    table = skewed(200, seed=3)
    age = table["age"].to_numpy()
    columns = {
        "float": age * 0.37,
        "date": pa.array(age + 15_000, pa.int32()).cast(pa.date32()),
        "bool": age > 40,
        "gaps": pa.array([None if i % 7 == 0 else int(x) for i, x in enumerate(age)]),
        "one group": age,
        "equal": np.full(200, 5),
    }
    odd = table.set_column(0, "age", pa.array(columns[kind]))
    release = hr.Mondrian(k=200 if kind == "one group" else 5).publish(odd, WIDE, seed=1)
    condition = {"bool": "age", "date": "age < DATE '2011-01-01'"}.get(kind, "age < 14")
    for what in ("avg(pay)", "sum(pay)", "count(*)"):
        answer = release.ask(f"SELECT {what} FROM release WHERE {condition} AND town <> 'b'", estimate="learned")
        if answer.lower is not None:
            assert answer.lower <= answer.learned.estimate <= answer.upper
            assert answer.learned.standard_error is None or np.isfinite(answer.learned.standard_error)


def test_the_default_is_the_fair_shuffle_and_other_forms_say_why() -> None:
    """Without the word nothing changes; scattered rows have no columns; unknown words and GROUP BY are refused."""
    table = people(400)
    release = hr.Anatomy(l=3).publish(table, SCHEMA, seed=1)
    assert release.ask("SELECT avg(pay) FROM release WHERE age < 30").learned is None
    apart = hr.PermutationAnonymization(l=3).publish(table, SCHEMA, seed=1)
    assert "no model helps" in apart.ask("SELECT avg(pay) FROM release WHERE age < 30", estimate="learned").learned.note
    with pytest.raises(hr.ParameterError, match="estimate"):
        release.ask("SELECT avg(pay) FROM release", estimate="best")
    with pytest.raises(hr.QueryError, match="one aggregate"):
        release.ask("SELECT town, avg(pay) FROM release GROUP BY town", estimate="learned")
    with pytest.raises(hr.QueryError, match="COUNT, SUM and AVG"):
        release.ask("SELECT max(pay) FROM release WHERE age < 30", estimate="learned")


def test_answers_that_are_exact_stay_exact() -> None:
    """A whole table leaves nothing to guess."""
    release = hr.Anatomy(l=3).publish(people(400), SCHEMA, seed=1)
    answer = release.ask("SELECT sum(pay) FROM release", estimate="learned")
    assert answer.learned.estimate == answer.expected
    assert answer.learned.note == "the answer is exact"


@pytest.mark.parametrize("method", [hr.Mondrian(k=5), hr.Mondrian(k=5, form="permuted"), hr.Anatomy(l=3)])
@pytest.mark.parametrize("kind", ["large numbers", "large known floats", "tiny known floats", "large hidden floats"])
@pytest.mark.filterwarnings("error")
def test_the_largest_numbers_are_learned_or_refused(method: hr.Method, kind: str) -> None:
    """Beyond 53 bits and near the ends of floats: inside the bounds, with an error that is a number, no warning."""
    rng = np.random.default_rng(1)
    known, hidden = rng.integers(0, 50, 120), rng.integers(0, 1000, 120)
    columns = {
        "large numbers": (known, hidden + 2**60),
        "large known floats": (rng.normal(size=120) * 1e300, hidden),
        "tiny known floats": (rng.random(120) * 1e-310, hidden),
        "large hidden floats": (known, np.rint(rng.random(120) * 2**40) * 2.0**900),
    }
    age, pay = columns[kind]
    table = pa.table({"age": age, "town": np.array(["a", "b", "c"])[rng.integers(0, 3, 120)], "pay": pay})
    try:
        release = method.publish(table, SCHEMA, seed=1)
    except hr.HedgerowError:
        return
    for what in ("count(*)", "sum(pay)", "avg(pay)"):
        answer = release.ask(f"SELECT {what} FROM release WHERE town = 'a' AND pay > 100", estimate="learned")
        assert answer.lower <= answer.learned.estimate <= answer.upper
        assert answer.learned.standard_error is None or not np.isnan(float(answer.learned.standard_error))


def test_small_groups_are_dealt_in_every_way() -> None:
    """Chances of rows to have values are those over all permutations, each as likely as the product of its chances."""
    rng = np.random.default_rng(5)
    sizes = (4, 3, 2, 1)
    real = np.arange(4) < np.array(sizes)[:, None]
    likely = rng.random((4, 4, 4)) * real[:, :, None] * real[:, None, :]
    found = _fit(likely.copy(), real * 1.0, real * 1.0)
    for group, size in enumerate(sizes):
        expected = np.zeros((4, 4))
        for dealt in itertools.permutations(range(size)):
            rows = np.arange(size)
            expected[rows, dealt] += likely[group, rows, dealt].prod()
        assert found[group] == pytest.approx(expected / expected[0].sum(), abs=1e-6)


def test_rows_and_values_that_are_alike_are_dealt_together() -> None:
    """Chances are those of dealing each row and value by itself, and one large group makes no other large."""
    rng = np.random.default_rng(6)
    likely, rows, values = rng.random((1, 3, 4)), np.array([[3.0, 1.0, 4.0]]), np.array([[2.0, 2.0, 1.0, 3.0]])
    each = np.repeat(np.repeat(likely, rows[0].astype(int), axis=1), values[0].astype(int), axis=2)
    alone = _fit(each.copy(), np.ones((1, 8)), np.ones((1, 8)))
    together = np.repeat(np.repeat(_fit(likely, rows, values), rows[0].astype(int), axis=1), values[0].astype(int), 2)
    assert together == pytest.approx(alone, abs=1e-6)


def test_groups_of_many_equal_rows_are_dealt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of all people are equal in what is known: their group is far larger than the others, and all are dealt."""
    dealt: list[int] = []
    monkeypatch.setattr(learned_dealing, "_fit", lambda *rows: dealt.append(1) or _fit(*rows))
    table, usual = people(6000), np.arange(6000) % 2 == 0
    age, town = (np.where(usual, value, table[name].to_numpy(False)) for name, value in (("age", 40), ("town", "a")))
    pay = 20 + (age + 10 * (town == "b") + 20 * (town == "c")) // 2 + np.random.default_rng(8).integers(-4, 5, 6000)
    table = pa.table({"age": age, "town": town, "pay": pay})
    release = hr.Mondrian(k=50, l=3, form="permuted").publish(table, SCHEMA, seed=1)
    assert np.diff(view.source_of(release).view.offsets).max() >= 3000
    for low in (25, 50, 60):
        sql = f"SELECT avg(pay) FROM release WHERE age BETWEEN {low} AND {low + 3} AND town = 'b'"
        answer = release.ask(sql, estimate="learned")
        assert not answer.learned.note
        assert abs(answer.learned.estimate - truth(table, sql)) <= 3 * answer.learned.standard_error
    assert dealt


def test_what_was_dealt_is_kept_however_large_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next question of a large table does not deal again, though little may be remembered."""
    dealt: list[int] = []
    monkeypatch.setattr(view, "LEAST", 0)
    monkeypatch.setattr(view, "PER_ROW", 0)
    monkeypatch.setattr(learned_dealing, "_fit", lambda *rows: dealt.append(1) or _fit(*rows))
    release = hr.Anatomy(l=2).publish(people(600), SCHEMA, seed=1)
    for low in (30, 40, 50):
        release.ask(f"SELECT avg(pay) FROM release WHERE age > {low}", estimate="learned")
        assert len(dealt) == 2 * (1 + learned_dealing._DEALINGS)


@pytest.mark.parametrize("method", [hr.Anatomy(l=2), hr.Mondrian(k=5), hr.MInvariant(m=2)], ids=str)
def test_averages_of_dates_are_the_fair_shuffle(method: hr.Method) -> None:
    """A moment is no number to learn."""
    rng = np.random.default_rng(4)
    born = np.datetime64("1980-01-01") + rng.integers(0, 300, 120)
    table = pa.table({"age": rng.integers(20, 70, 120), "born": pa.array(born.astype("datetime64[D]"))})
    release = method.publish(table, hr.Schema(quasi=["age"], sensitive="born"))
    answer = release.ask("SELECT avg(born) FROM release WHERE age > 33", estimate="learned")
    assert "averages of dates are not learned" in answer.learned.note
    assert answer.learned.estimate == answer.expected
