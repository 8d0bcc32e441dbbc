"""Is somebody in the table? Columns that were shuffled apart answer with a chance."""

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.attack.adversaries.presence import make_up_people, presence_of
from hedgerow.attack.candidates import CandidateColumn, CandidateRows, candidate_rows, occurrences_of, people_of
from hedgerow.randomness import seeded_keys


def _seen(*columns, groups=None):
    groups = np.zeros(len(columns[0]), np.int64) if groups is None else np.array(groups)
    made = []
    for place, values in enumerate(columns):
        low = np.array(values, float)
        made.append(CandidateColumn(f"c{place}", 0, low, low, np.isnan(low)))
    return CandidateRows(tuple(made), groups, np.ones(len(groups), np.int64))


@pytest.mark.parametrize(
    ("counts", "chance"), [((1, 2), 2 / 5), ((2, 3), 9 / 10), ((1, 2, 3), 6 / 25)], ids=["1-2", "2-3", "1-2-3"]
)
def test_the_printed_chances(counts, chance):
    """Five rows, values that occur so often: the chance that some row has all of them."""
    seen = _seen(*([1.0] * count + [0.0] * (5 - count) for count in counts))
    found = presence_of(occurrences_of(seen), np.ones((len(counts), 1)))
    assert found.chances[0] == pytest.approx(chance)
    assert found.chances[0] <= found.bounds[0] + 1e-12


def test_several_groups_add_up_as_all_arrangements_say():
    """Two groups of three rows: count the arrangements of the second column in which the pair occurs."""
    first, second, groups = [1, 1, 0, 1, 0, 0], [1, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 1]
    found = presence_of(occurrences_of(_seen(first, second, groups=groups)), np.ones((2, 1)))
    worlds = [
        any(a == b == 1 for a, b in zip(first, (*one, *other), strict=True))
        for one in permutations(second[:3])
        for other in permutations(second[3:])
    ]
    assert found.chances[0] == pytest.approx(np.mean(worlds))


def test_the_chances_stay_within_the_formula_and_are_kept():
    """Against a real scattered release: at most the bound, and combinations that are there are never ruled out."""
    rng = np.random.default_rng(1)
    table = pa.table({"a": rng.integers(0, 6, 400), "b": rng.integers(0, 5, 400), "s": rng.integers(0, 20, 400)})
    release = hr.PermutationAnonymization(l=4).publish(table, hr.Schema(quasi=["a", "b"], sensitive="s"))
    seen = candidate_rows(release)
    found = presence_of(occurrences_of(seen), people_of(seen, table, np.arange(400)))
    assert (found.chances <= found.bounds + 1e-12).all()
    assert (found.chances > 0).all()


def test_a_value_that_nobody_has_is_absent_for_sure():
    """A person with an unknown value is in no group."""
    assert presence_of(occurrences_of(_seen([1, 2], [1, 2])), np.array([[1.0], [7.0]])).chances.tolist() == [0.0]


def test_missing_is_a_value():
    """A gap is looked for like any value."""
    found = presence_of(occurrences_of(_seen([np.nan, 2], [1, 2])), np.array([[np.nan], [1.0]]))
    assert found.chances[0] == pytest.approx(1 / 2)


def test_made_up_people_have_values_of_others():
    """Each column of a made-up person is somebody's."""
    people = np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
    made = make_up_people(people, people, seeded_keys(1)(6))
    assert set(made[0]) <= {1, 2, 3}
    assert set(made[1]) <= {10, 20, 30}
