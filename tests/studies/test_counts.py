"""COUNT workloads and what each form expects."""

from fractions import Fraction

import numpy as np
import pytest

from hedgerow.datasets import printed
from hedgerow.errors import ParameterError
from hedgerow.randomness import seeded_keys
from hedgerow.release.forms.perturbed import retain_values
from hedgerow.table import read_table
from studies.counts import (
    CountQuery,
    count_errors,
    count_queries,
    expected_generalized,
    expected_retained,
    expected_scattered,
    expected_separated,
    true_counts,
)

TABLE = read_table(printed.patients())
QUASI = np.stack([TABLE.encode(name).codes for name in ("age", "sex")])
DISEASE = TABLE.encode("disease").codes
GROUPS = np.array(printed.PATIENT_GROUPS, np.int32)


def _asked() -> CountQuery:
    ages = TABLE.encode("age").domain.to_pylist()
    flu = TABLE.encode("disease").domain.to_pylist().index("Flu")
    return CountQuery({0: (ages.index(40), ages.index(70)), 1: (0, 0)}, (flu, flu))


def test_printed_example():
    """COUNT of age 40..70, F, Flu: the truth is 1, separated expects 0.9, scattered 0.855."""
    query = [_asked()]
    assert true_counts(query, QUASI, DISEASE) == [1]
    assert expected_separated(query, QUASI, GROUPS, DISEASE) == pytest.approx([0.9])
    assert expected_scattered(query, QUASI, GROUPS, DISEASE) == pytest.approx([0.855])


def test_one_group_per_row_is_exact():
    """Every form that tells all rows apart answers truly."""
    queries = count_queries([9, 2], 6, dimensions=3, volume=0.4, count=40, exact_value=False, keys=seeded_keys(1))
    truth, alone = true_counts(queries, QUASI, DISEASE), np.arange(9, dtype=np.int32)
    for expected in (expected_separated, expected_scattered, expected_generalized):
        assert expected(queries, QUASI, alone, DISEASE) == pytest.approx(truth)


def test_generalized_spreads_rows_over_the_box():
    """A condition that covers half of a box's codes expects half of its rows."""
    quasi, labels = np.array([[0, 3]], np.int32), np.zeros(2, np.int32)
    query = [CountQuery({0: (0, 1)}, (0, 0))]
    assert expected_generalized(query, quasi, labels, np.zeros(2, np.int32)) == pytest.approx([1.0])


def test_retention_is_inverted_without_bias():
    """The mean of many inverted counts is the truth."""
    keys = seeded_keys(5)
    quasi, sensitive = np.zeros((1, 400), np.int32), np.repeat([0, 1, 2, 3], 100).astype(np.int32)
    query, p = [CountQuery({0: (0, 0)}, (0, 1))], Fraction(1, 3)
    drawn = [
        expected_retained(query, quasi, retain_values(sensitive, 4, p=p, keys=keys), p=p, size=4) for _ in range(400)
    ]
    assert np.mean(drawn) == pytest.approx(200, abs=4 * np.std(drawn) / 20)


def test_workload_has_the_asked_shape():
    """Each question has its conditions, of the length that the volume says."""
    queries = count_queries([100, 50, 10], 20, dimensions=3, volume=0.1, count=50, keys=seeded_keys(2))
    share = 0.1 ** (1 / 4)
    for query in queries:
        assert len(query.quasi) == 2
        assert query.sensitive[0] == query.sensitive[1]
        for column, (first, last) in query.quasi.items():
            size = [100, 50, 10][column]
            assert 0 <= first <= last < size
            assert last - first + 1 == max(1, int(size * share))


def test_errors_and_refusals():
    """A truth of zero has no relative error; impossible workloads are refused."""
    assert np.array_equal(count_errors(np.array([2.0, 0.0]), np.array([1.0, 1.0])), [0.5, np.nan], equal_nan=True)
    with pytest.raises(ParameterError, match="dimensions"):
        count_queries([2], 2, dimensions=3, volume=0.1)
    with pytest.raises(ParameterError, match="volume"):
        count_queries([2], 2, dimensions=2, volume=0)


def _by_hand(query, quasi, labels, sensitive, expected):
    """Group by group, row by row."""
    total = 0.0
    for group in np.unique(labels):
        rows = np.flatnonzero(labels == group)
        matches = [query.sensitive[0] <= sensitive[row] <= query.sensitive[1] for row in rows]
        fits = [[first <= quasi[c][row] <= last for c, (first, last) in query.quasi.items()] for row in rows]
        boxes = [(quasi[c][rows].min(), quasi[c][rows].max(), *run) for c, run in query.quasi.items()]
        covered = [max(0, min(high, last) - max(low, first) + 1) / (high - low + 1) for low, high, first, last in boxes]
        shares = {expected_separated: np.mean([all(fit) for fit in fits]),
                  expected_scattered: np.mean(fits, axis=0).prod(), expected_generalized: np.prod(covered)}  # fmt: skip
        total += sum(matches) * shares[expected]
    return total


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("expected", [expected_separated, expected_scattered, expected_generalized])
def test_expectations_are_those_of_the_definition(expected, compiled, monkeypatch):
    """Random tables and groups; the plain loop and the compiled one."""
    if compiled:
        monkeypatch.setattr("hedgerow.kernel.SMALL", 0)
    rng = np.random.default_rng(9)
    quasi, sensitive = rng.integers(0, 6, (3, 60)).astype(np.int32), rng.integers(0, 5, 60).astype(np.int32)
    labels = np.concatenate([np.arange(9), rng.integers(0, 9, 51)]).astype(np.int32)
    queries = count_queries([6, 6, 6], 5, dimensions=3, volume=0.3, count=30, exact_value=False, keys=seeded_keys(2))
    found = expected(queries, quasi, labels, sensitive)
    assert found == pytest.approx([_by_hand(query, quasi, labels, sensitive, expected) for query in queries])
    assert found.any()
