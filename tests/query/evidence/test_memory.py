"""A session forgets: its memory is bounded, and its answers do not depend on what it remembers."""

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.query import connect
from hedgerow.query.evidence import view
from hedgerow.query.evidence.view import Recent, bytes_of
from tests.support.assignments import release_of


@pytest.fixture
def release():
    """20,000 rows in groups of five."""
    rows = np.arange(20_000)
    columns = {"a": pa.array(rows % 97), "b": pa.array(rows % 89), "s": pa.array(rows * 7 % 1009)}
    return release_of(columns, (rows // 5).tolist(), sensitive="s")


def test_many_expressions_stay_within_the_budget(release, monkeypatch):
    """40 different GROUP BY expressions; each would leave some 20 bytes a row."""
    budget = 2_000_000
    monkeypatch.setattr(view, "LEAST", budget)
    monkeypatch.setattr(view, "PER_ROW", 0)
    session = connect(release)
    memory = view.view_of(release).memory
    first = session.sql("SELECT a % 7 AS k, sum(s) AS t FROM release GROUP BY k ORDER BY k")
    for number in range(40):
        session.sql(f"SELECT (a * {number + 2} + b) % 11 AS k, sum(s * {number + 1}) AS t FROM release GROUP BY k")
    assert memory.size < 2 * budget
    assert (
        session.sql("SELECT a % 7 AS k, sum(s) AS t FROM release GROUP BY k ORDER BY k").to_pylist()
        == first.to_pylist()
    )


def test_the_oldest_is_forgotten_first():
    """What was used last stays; the newest stays whatever its size."""
    memory = Recent(250)
    made = []
    for key in ("a", "b", "a", "c", "a", "b"):
        memory.remember(key, lambda key=key: made.append(key) or np.zeros(100, np.int8))
    assert made == ["a", "b", "c", "b"]
    assert memory.remember("large", lambda: np.zeros(1000, np.int8)).nbytes == 1000
    assert memory.size == 1000


def test_arrays_are_measured_once():
    """Parts of one array share its bytes."""
    whole = np.zeros(1000, np.int8)
    assert bytes_of((whole, whole[:10], [whole], {"x": whole[5:]}, None, "text"), set()) == 1000
