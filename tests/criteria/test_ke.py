"""The (k,e) criterion: its door, its exact comparisons, and what it advises when it cannot hold."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.criteria.ke import KE, largest_e, largest_k, latest_start
from hedgerow.errors import Infeasible, ParameterError
from tests.support.histograms import Histogram, histograms

THRESHOLDS = st.sampled_from([0, 1, 3, 0.1, 0.3, 0.7, Fraction(1, 3), 2**60, Fraction(2**61 + 1, 2)])


def slow_latest(column: Histogram, k: int, e: Fraction) -> list[int]:
    """The definition of `latest_start`, pair by pair."""
    exact = [Fraction(position) for position in column.positions.tolist()]
    return [
        max((d for d in range(i + 1) if i - d + 1 >= k and exact[i] - exact[d] >= e), default=-1)
        for i in range(len(exact))
    ]


@pytest.mark.parametrize("k", [1, 0, -4, True, 2.5, 3.0, "3", None, float("nan"), float("inf"), [3]])
def test_k_must_be_a_whole_number_of_at_least_two(k: object) -> None:
    """Anything else is refused in one sentence that names the parameter."""
    with pytest.raises(ParameterError, match=r"^'k' must be an integer of at least 2; got "):
        KE(k, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("e", [-1, -0.5, True, "many", None, float("nan"), float("inf"), "-inf", [1]])
def test_e_must_be_a_finite_number_of_at_least_zero(e: object) -> None:
    """Anything else is refused in one sentence that names the parameter."""
    with pytest.raises(ParameterError, match=r"^'e' must be a finite number of at least 0; got "):
        KE(2, e)  # type: ignore[arg-type]


def test_a_table_given_as_a_parameter_is_not_printed() -> None:
    """A message shows the type of what is no number, never its contents."""
    with pytest.raises(ParameterError) as caught:
        KE({"salary": [4711]}, 0)  # type: ignore[arg-type]
    assert "4711" not in str(caught.value)
    assert "dict" in str(caught.value)


@pytest.mark.parametrize("e", [0.1, "0.1", Decimal("0.1"), Fraction(1, 10)])
def test_e_is_read_as_the_decimal_that_it_prints(e: float | str | Decimal | Fraction) -> None:
    """A tenth is a tenth however it is written."""
    assert KE(2, e) == KE(np.int64(2), Fraction(1, 10))  # type: ignore[arg-type]
    assert hash(KE(2, e)) == hash(KE(2, Fraction(1, 10)))


def test_both_conditions_are_inclusive() -> None:
    """Exactly k values over exactly e are enough; one less of either is not."""
    holds = KE(3, 5).holds(np.array([3, 2, 3]), np.array([0, 0, 0]), np.array([5, 9, 4]))
    assert holds.tolist() == [True, False, False]


def test_a_fractional_threshold_rounds_up_among_whole_numbers() -> None:
    """A range of 5 does not reach 5.5, a range of 6 does."""
    assert KE(2, "5.5").holds(np.array([2, 2]), np.array([0, 0]), np.array([5, 6])).tolist() == [False, True]


def test_float_ranges_are_compared_before_rounding() -> None:
    """0.3 - 0.1 and 1.1 - 0.9 round to the neighbours of 0.2, yet 1 + 2^-53 rounds to 1 from above."""
    low, high = np.array([0.1, 0.9, -(2.0**-53), 2.0**-54]), np.array([0.3, 1.1, 1.0, 1.0])
    assert KE(2, "0.2").holds(np.full(4, 2), low, high).tolist() == [False, True, True, True]
    assert (high - low)[2:].tolist() == [1.0, 1.0]
    assert KE(2, 1).holds(np.full(4, 2), low, high).tolist() == [False, False, True, False]


def test_the_criterion_is_monotone() -> None:
    """It declares what a search may rely on."""
    assert KE.monotone


@given(histograms(), histograms(), st.integers(2, 4), THRESHOLDS)
def test_a_union_of_good_groups_is_good(one: Histogram, two: Histogram, k: int, e: float) -> None:
    """Monotone means: where two groups hold, their union does."""
    if one.positions.dtype != two.positions.dtype:
        return
    union = np.union1d(one.positions, two.positions)
    if KE(k, e).feasible(one.positions) and KE(k, e).feasible(two.positions):
        assert KE(k, e).feasible(union)


@settings(max_examples=300)
@given(histograms(), st.integers(2, 5), THRESHOLDS)
def test_latest_start_is_its_definition(column: Histogram, k: int, e: float) -> None:
    """The quick search finds for each end what a loop over exact pairs finds, and never decreases."""
    found = latest_start(column.positions, k=k, e=e)
    assert found.tolist() == slow_latest(column, k, KE(k, e).e)
    assert (np.diff(found) >= 0).all()
    assert found.dtype == np.int64


def test_latest_start_decides_differences_that_round_to_the_threshold() -> None:
    """Neighbouring floats whose distances to a large one all round to e are told apart."""
    positions = np.array([-(2.0**-53), 0.0, 2.0**-54, 2.0**-53, 1.0])
    assert len(set((1.0 - positions[:3]).tolist())) == 1
    assert latest_start(positions, k=2, e=1).tolist() == [-1, -1, -1, -1, 1]


@settings(max_examples=300)
@given(st.data())
def test_float_thresholds_at_a_difference_are_exact(data: st.DataObject) -> None:
    """A range equal to e holds, and a hair more is missed, for any pair of floats, however far apart in size."""
    floats = st.floats(-1e200, 1e200)
    low, high = sorted([data.draw(floats), data.draw(floats)])
    distance = Fraction(high) - Fraction(low)
    pair = np.array([2]), np.array([low]), np.array([high])
    assert KE(2, distance).holds(*pair).all()
    assert not KE(2, distance + Fraction(1, 10**400)).holds(*pair).any()


@settings(max_examples=300)
@given(st.data())
def test_latest_start_is_exact_where_ranges_meet_the_threshold(data: st.DataObject) -> None:
    """With e at, or a hair above, the exact difference of two floats of the column, the definition still holds."""
    kinds = st.one_of(st.floats(-4, 4), st.integers(-40, 40).map(lambda tenths: tenths * 0.1))
    positions = np.unique(data.draw(st.lists(kinds, min_size=2, max_size=8)))
    low, high = sorted(Fraction(data.draw(st.sampled_from(positions.tolist()))) for _ in range(2))
    e = high - low + data.draw(st.sampled_from([0, Fraction(1, 10**400)]))
    column = Histogram(positions, np.ones(len(positions), np.int64))
    assert latest_start(positions, k=2, e=e).tolist() == slow_latest(column, 2, e)


def test_latest_start_survives_the_ends_of_the_number_line() -> None:
    """Whole numbers near 2^62 and floats near 1e308 do not overflow."""
    whole = np.array([-(2**62) + 1, 0, 2**62 - 1])
    assert latest_start(whole, k=2, e=2**63 - 2).tolist() == [-1, -1, 0]
    assert latest_start(whole, k=2, e=2**70).tolist() == [-1, -1, -1]
    floats = np.array([-1.7e308, 0.0, 1.7e308])
    assert latest_start(floats, k=2, e=1.6e308).tolist() == [-1, 0, 1]
    assert latest_start(floats, k=2, e="1.75e308").tolist() == [-1, -1, 0]
    assert latest_start(floats, k=2, e="3.5e308").tolist() == [-1, -1, -1]


@given(histograms(), st.integers(2, 5), THRESHOLDS)
def test_the_advice_is_the_edge_of_what_is_feasible(column: Histogram, k: int, e: float) -> None:
    """The largest k and the largest e work, and anything larger does not."""
    best_k, best_e = largest_k(column.positions, e=e), largest_e(column.positions, k=k)
    if best_k:
        assert KE(best_k, e).feasible(column.positions)
    assert not KE(max(best_k, 1) + 1, e).feasible(column.positions)
    if best_e is None:
        assert not KE(k, 0).feasible(column.positions)
    else:
        assert KE(k, best_e).feasible(column.positions)
        assert not KE(k, best_e + Fraction(1, 10**40)).feasible(column.positions)


def test_an_impossible_promise_says_what_is_possible() -> None:
    """The message names the column, the need, and the largest k and e, in the column's own terms."""
    with pytest.raises(Infeasible) as caught:
        KE(4, 100).require(np.array([0, 3, 70]), unit=Fraction(1, 100), column="pay")
    assert str(caught.value) == (
        "(4, 1)-anonymity needs 4 distinct values spread over 1 in 'pay'; this table has 3 spread over 0.7. "
        "The largest k that works is 3, the largest e is 0.7."
    )


@pytest.mark.parametrize("positions", [np.array([5]), np.array([], np.int64)])
def test_a_column_without_two_values_can_promise_nothing(positions: np.ndarray) -> None:
    """The message does not advise a k of one."""
    with pytest.raises(Infeasible, match="no k works"):
        KE(2, 0).require(positions)
    assert largest_k(positions) == 0


@given(histograms(), st.integers(2, 60))
def test_the_advised_range_can_be_asked_for(column: Histogram, k: int) -> None:
    """Reading the largest e back from the message gives an e that works."""
    with pytest.raises(Infeasible) as caught:
        KE(k, 2**63).require(column.positions)
    if len(column.positions) >= 2:
        advised = str(caught.value).rsplit(" ", 1)[1].rstrip(".")
        assert KE(2, advised).feasible(column.positions)


def test_a_feasible_promise_passes_in_silence() -> None:
    """Nothing is raised where the whole column as one group satisfies the criterion."""
    KE(3, 70).require(np.array([0, 3, 70]))


def test_a_column_is_feasible_by_its_ends():
    """The least and the greatest value decide, not those between them."""
    positions = np.array([0, 9, 10])
    assert [KE(2, e).feasible(positions) for e in (9, 10, 11)] == [True, True, False]
    assert [KE(k, 0).feasible(positions) for k in (2, 3, 4)] == [True, True, False]


def test_what_is_asked_for_is_said_in_the_columns_terms():
    """Positions are the column's own numbers unless a unit says otherwise."""
    with pytest.raises(Infeasible, match=r"\(2, 11\)-anonymity needs 2 distinct values spread over 11;"):
        KE(2, 11).require(np.array([0, 9, 10]))
    with pytest.raises(Infeasible, match=r"\(2, 22\)-anonymity"):
        KE(2, 11).require(np.array([0, 9, 10]), unit=Fraction(2))


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_where_nothing_starts_is_minus_one(kind):
    """For whole numbers and floats, for lack of values and for lack of range."""
    positions = np.array([0, 9, 10], kind)
    assert latest_start(positions, k=3, e=1).tolist() == [-1, -1, 0]
    assert latest_start(positions, k=2, e=10).tolist() == [-1, -1, 0]
