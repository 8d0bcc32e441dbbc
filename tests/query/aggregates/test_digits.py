"""Digits that floats and 64 bits do not have: deviations of large values, floats beyond 15 digits, large sums."""

import itertools
import math
import random
from fractions import Fraction

import pytest

from hedgerow.exact import float_above, float_below
from hedgerow.query import ask, connect
from hedgerow.query.engines.postgres import export
from tests.support.assignments import release_of
from tests.support.truth import contradiction

ENGINES = ("arrays", "duckdb")


def deviation_of_sum(values, groups, hit):
    """The exact deviation: h (N-h)/(N-1) times the variance of each group."""
    total = Fraction(0)
    for group in set(groups):
        own = [Fraction(v) for v, g in zip(values, groups, strict=True) if g == group]
        h = sum(hit[row] for row in range(len(groups)) if groups[row] == group)
        n, mean = len(own), sum(own) / len(own)
        if n > 1:
            total += Fraction(h * (n - h), n - 1) * sum((v - mean) ** 2 for v in own) / n
    return math.sqrt(total)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("base", "spread"), [(10**13, 1000), (10**8, 7), (20_201_201, 28), (2**61, 7), (0, 50)], ids=str
)
@pytest.mark.parametrize("gap", [False, True])
def test_the_deviation_of_large_values_keeps_its_digits(engine, base, spread, gap):
    """It depends on differences alone, whatever is added to all values."""
    rng = random.Random(1)
    groups = [row // 10 for row in range(400)]
    values = [base + rng.randrange(spread) for _ in groups]
    ages = [rng.randrange(50) for _ in groups]
    columns = {"a": [None if gap and row == 0 else ages[row] for row in range(len(ages))], "s": values}
    release = release_of(columns, groups, sensitive="s")
    hit = [age is not None and age < 25 for age in columns["a"]]
    for text, by in (("sum(s)", 1), ("avg(s)", sum(hit))):
        found = connect(release, engine).ask(f"SELECT {text} FROM release WHERE a < 25")
        assert found.std == pytest.approx(deviation_of_sum(values, groups, hit) / by, rel=1e-6)


def test_a_sum_that_may_be_null_keeps_its_digits():
    """One row, and half of its values missing: where there is a number, it is one of these."""
    columns = {"a": [1, 2, 2, 2], "s": [10**13 + 1, 10**13 + 7, None, None]}
    found = ask(release_of(columns, [0, 0, 0, 0], sensitive="s"), "SELECT sum(s) FROM release WHERE a = 1")
    assert (found.lower, found.upper) == (10**13 + 1, 10**13 + 7)
    assert found.std == pytest.approx(3.0, rel=1e-3)


RAGGED = [
    [1234567890.123456, 0.0000012345678, 0.0000045678, 3.3333333333333],
    [1e15, 0.1, 2.5, 3.0],
    [1e300, -1e300, 1e-300, 0.0],
    [0.1, 0.1 + 2**-55, 0.1 + 2**-54, 1 / 3],
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("values", RAGGED[:2] + RAGGED[3:], ids=str)
@pytest.mark.parametrize("sensitive", ["s", "a"])
def test_floats_beyond_fifteen_digits_are_told_apart(engine, values, sensitive):
    """Known or shuffled: COUNT(DISTINCT), MIN and MAX are those of the floats themselves."""
    release = release_of({"a": [1, 2, 3, 4], "s": values}, [0, 0, 0, 0], sensitive=sensitive)
    session = connect(release, engine)
    assert session.ask("SELECT count(DISTINCT s) FROM release").lower == len(set(values))
    for text, truth in (("min(s)", min(values)), ("max(s)", max(values)), ("quantile_disc(s, 0.5)", sorted(values)[1])):
        found = session.ask(f"SELECT {text} FROM release")
        assert (found.lower, found.upper, found.exact) == (truth, truth, True)
    found = session.ask("SELECT min(s) FROM release WHERE a < 3")
    if sensitive == "s":
        assert (found.lower, found.upper, found.exact) == (min(values), sorted(values)[2], False)


def ends_of(values, chosen, work):
    """The least and the greatest of what `work` gives for so many of the values, as the floats next outside."""
    found = [work([Fraction(value) for value in some]) for some in itertools.combinations(values, chosen)]
    return float_below(min(found)), float_above(max(found))


def median(numbers):
    """The middle of numbers, or of the two in the middle."""
    numbers, place = sorted(numbers), Fraction(len(numbers) - 1, 2)
    return (numbers[math.floor(place)] + numbers[math.ceil(place)]) / 2


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "values", [[1e10 / 3, 0.1, 2.5, 1 / 3, -1e-7 / 3], [1e15, 0.1, 2.5, 3.0, 1e-5], [1e200, 1e-200, 0.3, -1e-60, 7.1]]
)
def test_sums_of_ragged_floats_are_reached_to_the_last_digit(engine, values):
    """Whatever large one stands beside them: bounds are the floats next to sums in fractions, and exact is exact."""
    columns = {"a": [1, 2, 2, 3, 3], "f": values[::-1], "s": values}
    session = connect(release_of(columns, [0] * 5, sensitive="s", plain=["f"]), engine)
    works = {"sum": sum, "avg": lambda numbers: sum(numbers) / len(numbers), "median": median}
    for name, work in works.items():
        for where, chosen in (("a = 1", 1), ("a = 2", 2), ("a >= 2", 4), ("TRUE", 5)):
            found = session.ask(f"SELECT {name}(s) FROM release WHERE {where}")
            assert (found.lower, found.upper) == ends_of(values, chosen, work)
            assert found.reached
            assert found.exact == (chosen == 5)
    small = sorted(values)[:4]
    for name in ("sum", "avg"):
        known = session.ask(f"SELECT {name}(f) FROM release WHERE f < 1e9 AND a > 1")
        truth = works[name]([Fraction(f) for a, f in zip(columns["a"], columns["f"], strict=True) if f < 1e9 and a > 1])
        assert (known.lower, known.upper, known.exact) == (float_below(truth), float_above(truth), True)
        # Of two rows one at least has a value below 1e9.
        found = session.ask(f"SELECT {name}(s) FROM release WHERE s < 1e9 AND a = 2")
        ends = [end for chosen in (1, 2) for end in ends_of(small, chosen, works[name])]
        assert (found.lower, found.upper, found.exact) == (min(ends), max(ends), False)
        assert found.reached


def test_ragged_floats_between_the_same_ticks_are_two_values():
    """No sum of one of them is exact."""
    release = release_of({"a": [1, 2, 3, 4], "s": [1e15, 0.1, 2.5, 3.0]}, [0, 1, 1, 1], sensitive="s")
    for text in ("sum(s)", "avg(s)", "median(s)", "min(s)", "max(s)"):
        assert not ask(release, f"SELECT {text} FROM release WHERE a = 2").exact
        assert ask(release, f"SELECT {text} FROM release WHERE a > 1").exact


@pytest.mark.parametrize("engine", ENGINES)
def test_sums_beyond_64_bits_are_answered(engine, tmp_path):
    """Eight values near 2^61: SUM, AVG, MAX; and the release can be saved."""
    values = [2**61 + row for row in range(8)]
    release = release_of({"a": list(range(8)), "s": values}, [0] * 8, sensitive="s")
    session = connect(release, engine)
    assert session.ask("SELECT max(s) FROM release").upper == max(values)
    assert session.ask("SELECT sum(s) FROM release").lower == sum(values)
    found = session.ask("SELECT sum(s) FROM release WHERE a < 5")
    assert (found.lower, found.upper) == (sum(values[:5]), sum(values[3:]))
    found = session.ask("SELECT sum(-s) FROM release WHERE a < 5")
    assert (found.lower, found.upper) == (-sum(values[3:]), -sum(values[:5]))
    assert session.ask("SELECT avg(s) FROM release").upper >= sum(values) / 8


def test_a_release_of_large_values_is_saved(tmp_path):
    """Its help table has sums of 128 bits."""
    import pyarrow as pa

    from hedgerow.methods import KEAnonymity
    from hedgerow.release.bundle import read
    from hedgerow.schema import Schema

    table = pa.table({"a": list(range(16)), "s": [2**61 + 7 * row for row in range(16)]})
    release = KEAnonymity(8, 7).publish(table, Schema(quasi=["a"], sensitive="s"))
    release.save(tmp_path / "out")
    session = connect(read(tmp_path / "out"), "duckdb")
    assert contradiction(session, table, "SELECT sum(s) AS t, max(s) AS m FROM release WHERE a < 9") is None


def test_postgresql_sums_large_values_and_tells_floats_apart(url):
    """The same on a server."""
    release = release_of({"a": list(range(8)), "s": [2**61 + row for row in range(8)]}, [0] * 8, sensitive="s")
    export(release, url, overwrite=True)
    session = connect(release, url)
    text = "SELECT sum(s) AS t, avg(s) AS m, max(s) AS x FROM release WHERE a < 5"
    assert (
        session.sql(text)
        .select(["t_lower", "t_upper", "x_lower"])
        .equals(connect(release).sql(text).select(["t_lower", "t_upper", "x_lower"]))
    )
    session.close()


def test_a_variance_that_may_be_missing_is_not_exact():
    """One row has the value in some tables and in others none has: zero, or NULL."""
    release = release_of({"a": [1, 2], "s": [3, 4]}, [0, 0], sensitive="s")
    for text in ("var_pop(s)", "stddev_pop(s)"):
        assert not ask(release, f"SELECT {text} FROM release WHERE s = 3 AND a = 1").exact
        found = ask(release, f"SELECT {text} FROM release WHERE s = 3")
        assert (found.exact, str(found.upper)) == (True, "0.0")
