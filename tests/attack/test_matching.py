"""Finding the published rows that fit a person, against the definition."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.attack.candidates import ORDERED, SAME, SET, CandidateColumn, CandidateRows, _nearest, fit

NAN = float("nan")


def _definition(column, row, value):
    if np.isnan(value):
        return 0.0 if column.gaps[row] else 1.0
    if np.isnan(column.low[row]):
        return 1.0
    if column.kind == ORDERED:
        return max(column.low[row] - value, value - column.high[row], 0.0) / column.scale
    if column.kind == SAME:
        return float(value != column.low[row])
    known = value >= 0 and column.low[row] >= 0
    return 0.0 if known and column.members[int(column.low[row])][int(value)] else 1.0


def _expected(seen, people):
    table = np.array(
        [
            [
                sum(_definition(c, r, v) for c, v in zip(seen.columns, person, strict=True))
                for r in range(len(seen.groups))
            ]
            for person in people.T
        ]
    )
    best = table.min(axis=1)
    return best, [np.flatnonzero(row <= low + 1e-9).tolist() for row, low in zip(table, best, strict=True)]


@st.composite
def _cases(draw):
    rows, count = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    values = st.sampled_from([0.0, 1.0, 2.0, 5.0, NAN])
    columns, people = [], []
    for place in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from([ORDERED, SAME, SET, "box"]))
        low = np.array(draw(st.lists(values, min_size=rows, max_size=rows)))
        gaps, high, members = np.isnan(low), low, None
        if kind == "box":
            kind, high = ORDERED, low + np.array(draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)))
        if kind == SET:
            low = high = np.where(gaps, -1.0, np.minimum(np.nan_to_num(low), 2.0))
            members = np.array(draw(st.lists(st.booleans(), min_size=18, max_size=18))).reshape(3, 6)
        columns.append(CandidateColumn(f"c{place}", kind, low, high, gaps, scale=2.5, members=members))
        people.append(draw(st.lists(values, min_size=count, max_size=count)))
    return CandidateRows(tuple(columns), np.arange(rows), np.ones(rows, np.int64)), np.array(people)


@given(_cases())
def test_the_rows_are_those_at_the_least_distance(case):
    """Points, intervals, sets and gaps: the same rows and distances as by the definition."""
    seen, people = case
    distances, rows = _expected(seen, people)
    found = fit(seen, people)
    assert found.distances == pytest.approx(distances)
    assert [sorted(found.of(person).tolist()) for person in range(people.shape[1])] == rows


def test_the_compiled_search_agrees_with_the_plain_one(monkeypatch):
    """Large inputs are searched by compiled code, which finds the same rows."""
    rng = np.random.default_rng(3)
    low = rng.integers(0, 30, (2, 300)).astype(float)
    columns = tuple(
        CandidateColumn(f"c{c}", ORDERED, low[c], low[c] + rng.integers(0, 3, 300), np.zeros(300, bool), 30.0)
        for c in (0, 1)
    )
    seen = CandidateRows(columns, np.arange(300), np.ones(300, np.int64))
    people = rng.integers(0, 34, (2, 100)).astype(float)
    fast = fit(seen, people)
    monkeypatch.setattr(_nearest, "compiled", _nearest.plain)
    slow = fit(seen, people)
    assert np.array_equal(fast.rows, slow.rows)
    assert fast.distances == pytest.approx(slow.distances)


def test_no_more_rows_are_listed_than_asked_for():
    """A person who fits everybody is listed with a few rows, and still fits."""
    column = CandidateColumn("c", SAME, np.zeros(50), np.zeros(50), np.zeros(50, bool))
    found = fit(CandidateRows((column,), np.arange(50), np.ones(50, np.int64)), np.zeros((1, 2)), most=7)
    assert np.diff(found.offsets).tolist() == [7, 7]
    assert found.distances.tolist() == [0, 0]


@pytest.mark.filterwarnings("error")
def test_the_ends_of_floats_have_distances():
    """Their difference overflowed."""
    table = pa.table({"q": [1.7976931348623157e308, -1e308, 1.0, 2.0], "s": [1, 2, 3, 4]})
    release = hr.Anatomy(l=2).publish(table, hr.Schema(quasi="q", sensitive="s"))
    assert hr.attack(release, table, seed=1).findings
