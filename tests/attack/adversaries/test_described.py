"""People whom a description fits, found in order instead of one by one."""

from functools import reduce

import numpy as np
import pytest

from hedgerow.attack.adversaries.singling_out import SortedPeople
from hedgerow.attack.candidates import ORDERED, SAME, SET, CandidateColumn


def _column(kind, rng, rows=12):
    gaps = rng.random(rows) < 0.3
    if kind == SET:
        of_row = rng.integers(-1, 4, rows).astype(float)
        return CandidateColumn("s", SET, of_row, of_row, gaps, members=rng.random((4, 5)) < 0.4)
    low = np.where(rng.random(rows) < 0.1, np.nan, rng.integers(0, 5, rows)).astype(float)
    high = low if kind == SAME else low + rng.integers(0, 3, rows)
    return CandidateColumn("c", kind, low, high, gaps)


def _people(rng, columns, count=80):
    values = rng.integers(-1, 5, (columns, count)).astype(float)
    return np.where(rng.random(values.shape) < 0.15, np.nan, values)


@pytest.mark.parametrize("seed", range(20))
def test_the_same_people_are_counted_as_by_asking_everybody(seed):
    """Points, intervals and sets, with gaps and unknown texts: each part asked of everybody gives the same number."""
    rng = np.random.default_rng(seed)
    columns = tuple(_column(kind, rng) for kind in rng.choice([ORDERED, SAME, SET], 3))
    people = _people(rng, 3)
    everyone = SortedPeople(columns, people)
    for _ in range(40):
        chosen = rng.permutation(3)[: rng.integers(1, 4)].tolist()
        rows = rng.integers(0, 12, len(chosen)).tolist()
        parts = [columns[c].holds(row, people[c]) for c, row in zip(chosen, rows, strict=True)]
        assert everyone.count(chosen, rows) == int(reduce(np.logical_and, parts).sum())


def test_nobody_is_counted_of_no_people():
    """Without people every description fits none."""
    column = _column(ORDERED, np.random.default_rng(1))
    assert SortedPeople((column,), np.zeros((1, 0))).count([0], [0]) == 0
