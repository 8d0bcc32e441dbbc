import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import SchemaError
from hedgerow.schema import Domain


def test_a_numeric_domain_includes_both_ends() -> None:
    """Low and high belong to the domain."""
    assert Domain.numeric(17, 20, step=1).values() == (17, 18, 19, 20)


def test_a_decimal_step_lists_the_decimals_that_people_write() -> None:
    """The grid is exact: the third tenth is the float that prints 0.3, not a sum of roundings."""
    assert Domain.numeric(0, 0.5, step=0.1).values() == (0, 0.1, 0.2, 0.3, 0.4, 0.5)


@given(st.integers(-50, 50), st.integers(0, 60), st.integers(1, 7))
def test_listed_values_are_inside(low: int, width: int, step: int) -> None:
    """A domain holds every value that it lists, and misses the value one step beyond."""
    domain = Domain.numeric(low, low + width, step=step)
    values = domain.values()
    domain.check("x", pa.array(values))
    with pytest.raises(SchemaError, match="1 distinct values of 'x'"):
        domain.check("x", pa.array([values[-1] + step]))


def test_a_value_between_two_steps_is_outside() -> None:
    """The step is part of the domain."""
    with pytest.raises(SchemaError, match="2 distinct values"):
        Domain.numeric(0, 10, step=5).check("x", pa.array([0, 3, 5, 7]))


def test_one_tenth_is_not_above_a_bound_of_one_tenth() -> None:
    """Bounds are compared as decimals."""
    Domain.numeric(0, 0.1).check("x", pa.array([0.0, 0.1]))
    with pytest.raises(SchemaError, match="1 distinct"):
        Domain.numeric(0, 0.1).check("x", pa.array([0.0, 0.10000000000000002]))


def test_texts_are_outside_a_numeric_domain() -> None:
    """A column of texts does not pass as numbers even where the texts look like numbers."""
    with pytest.raises(SchemaError, match="2 distinct"):
        Domain.numeric(0, 10).check("x", pa.array(["1", "2"]))


def test_dates_count_in_days() -> None:
    """A date domain lists its days, and a time belongs to its day."""
    day = datetime.date
    domain = Domain.date(day(2024, 2, 28), day(2024, 3, 1))
    assert domain.values() == (day(2024, 2, 28), day(2024, 2, 29), day(2024, 3, 1))
    domain.check("t", pa.array([datetime.datetime(2024, 3, 1, 23, 59)]))
    with pytest.raises(SchemaError, match="1 distinct"):
        domain.check("t", pa.array([day(2024, 3, 2)]))


def test_an_ordered_domain_ranks_by_its_own_order() -> None:
    """Ranks follow the declared order, not the alphabet."""
    domain = Domain.ordered(["low", "middle", "high"])
    assert domain.ranks(pa.array(["high", "low", "middle"])).tolist() == [2, 0, 1]
    assert domain.is_ordered
    assert not Domain.nominal().is_ordered


def test_numbers_rank_as_they_are() -> None:
    """A column's ascending numbers are already in order."""
    assert np.array_equal(Domain.numeric().ranks(pa.array([5, 7, 9])), [0, 1, 2])


@pytest.mark.parametrize(
    ("arrow_type", "kind"),
    [
        (pa.int64(), "numeric"),
        (pa.decimal128(9, 2), "numeric"),
        (pa.date32(), "date"),
        (pa.timestamp("us"), "date"),
        (pa.string(), "nominal"),
        (pa.bool_(), "nominal"),
    ],
)
def test_every_type_has_an_open_domain(arrow_type: pa.DataType, kind: str) -> None:
    """A column that nobody described gets the domain of its type, which refuses nothing."""
    domain = Domain.of(arrow_type)
    assert domain.kind == kind
    domain.check("x", pa.array([], arrow_type))


def test_a_category_between_two_allowed_ones_is_outside() -> None:
    """A list of categories is not a range, even where it is ordered."""
    for domain in (Domain.nominal(["a", "c"]), Domain.ordered(["a", "c"])):
        with pytest.raises(SchemaError, match="1 distinct"):
            domain.check("x", pa.array(["a", "b", "c"]))


def test_messages_count_and_do_not_quote() -> None:
    """A message about a table names the column and counts values; no cell appears in it."""
    with pytest.raises(SchemaError) as caught:
        Domain.nominal(["a"]).check("x", pa.array(["CANARY-1", "a"]))
    assert "CANARY" not in str(caught.value)
    assert "1 distinct values of 'x'" in str(caught.value)


@pytest.mark.parametrize("bound", [float("nan"), float("inf"), True, "3", [1]])
def test_a_bound_must_be_a_number(bound: object) -> None:
    """Not-a-number, infinity, truth values and texts are refused by name."""
    with pytest.raises(SchemaError, match="'low' must be a finite number"):
        Domain.numeric(bound, 5)


def test_impossible_domains_are_refused() -> None:
    """Empty ranges, steps of nothing, doubles, missing values and lone texts raise."""
    for build in (
        lambda: Domain.numeric(3, 2),
        lambda: Domain.numeric(0, 1, step=0),
        lambda: Domain.date(datetime.date(2024, 1, 2), datetime.date(2024, 1, 1)),
        lambda: Domain.date(datetime.datetime(2024, 1, 2)),
        lambda: Domain.ordered([]),
        lambda: Domain.ordered(["a", "a"]),
        lambda: Domain.nominal(["a", None]),
        lambda: Domain.nominal("abc"),
    ):
        with pytest.raises(SchemaError):
            build()


def test_an_open_domain_cannot_be_listed() -> None:
    """Listing needs both ends and a step, and a sensible number of values."""
    for domain in (Domain.numeric(0, 1), Domain.numeric(0, step=1), Domain.nominal(), Domain.numeric(0, 1e12, step=1)):
        with pytest.raises(SchemaError):
            domain.values()
