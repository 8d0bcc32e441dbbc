"""The compiled passes against NumPy's way and against their own plain loops."""

import numpy as np
import pytest

from hedgerow.query import connect
from hedgerow.query.aggregates import aggregator
from hedgerow.query.evidence import rows, tally
from tests.support.assignments import release_of

QUESTIONS = (
    "SELECT q, r, sum(s) AS t, avg(s) AS a, count(*) AS n FROM release WHERE q <> 2 GROUP BY q, r",
    "SELECT r, avg(s) AS a FROM release WHERE s > -20 GROUP BY r",
    "SELECT sum(s) AS t, avg(s) AS a FROM release WHERE q = 1",
    "SELECT q, avg(s) AS a FROM release WHERE q > 99 GROUP BY q",
    "SELECT sum(s) AS t, avg(s) AS a, count(*) AS n FROM release WHERE q > 99",
)


@pytest.fixture(scope="module")
def release():
    """A few hundred rows with missing keys, negative values and groups of many sizes."""
    rng = np.random.Generator(np.random.PCG64(3))
    columns = {
        "q": rng.integers(0, 5, 400).tolist(),
        "r": rng.choice(np.array(["a", "b", None], dtype=object), 400).tolist(),
        "s": rng.integers(-50, 50, 400).tolist(),
    }
    return release_of(columns, np.sort(rng.integers(0, 60, 400)).tolist(), sensitive="s")


@pytest.mark.parametrize("text", QUESTIONS)
def test_answers_do_not_depend_on_the_way(release, text, monkeypatch):
    """The passes for very many entries give what NumPy gives for few, in bounds, mean and deviation."""
    wanted = connect(release).sql(text)
    for module in (rows, aggregator):
        monkeypatch.setattr(module, "MANY", -1)
    assert connect(release).sql(text).equals(wanted)


def test_sums_leave_64_bits():
    """Sums per cell are exact where those of each group just fit into 64 bits."""
    size, largest = 6, 2**61
    release = release_of({"q": [1] * size, "s": [largest, -largest] * 3}, [0, 0, 1, 1, 2, 2], sensitive="s")
    bound = connect(release).sql("SELECT sum(s) AS t FROM release WHERE q = 1").to_pylist()
    cell, group, taken = np.zeros(3, np.int64), np.arange(3), np.ones(3, np.int64)
    offsets, prefix = np.array([0, 2, 4, 6]), np.array([0, -largest, 0, -largest, 0, -largest, 0])
    sums, _ = tally._ends(cell, group, taken, offsets, prefix, 1)
    assert [(int(up[0]) << 32) + int(down[0]) for up, down in sums] == [-3 * largest, 3 * largest]
    high, low, number = tally._draw_sums(cell, group, taken, offsets, prefix, 1)
    assert (int(high[0]) << 32) + int(low[0]) == -3 * largest
    high, low, _ = tally._draw_sums(np.zeros(9, np.int64), np.arange(9) % 3, np.ones(9, np.int64), offsets, prefix, 1)
    assert (int(high[0]) << 32) + int(low[0]) == -9 * largest
    assert (number[0], bound[0]["t_lower"]) == (3, 0)


def test_compiled_passes_equal_their_plain_loops():
    """Compilation changes no number."""
    rng = np.random.Generator(np.random.PCG64(4))
    groups = np.sort(rng.integers(0, 40, 300))
    index = np.flatnonzero(rng.integers(0, 2, 300))
    cell = rng.integers(0, 6, len(index))
    counted = (index, cell, groups, 7)
    used, group, number = tally._count.plain(*counted)
    entry_cell = np.repeat(np.arange(7), used)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(groups, minlength=40))))
    prefix = np.concatenate(([0], np.cumsum(rng.integers(-(2**40), 2**40, 300))))
    floats = (np.zeros(7), rng.random(40), np.diff(offsets), rng.random(40))
    for kernel, arguments in (
        (tally._count, counted),
        (tally._draw_sums, (entry_cell, group, number, offsets, prefix, 7)),
        (tally._ends, (entry_cell, group, number, offsets, prefix, 7)),
        (tally._moments, (entry_cell, group, number, *floats)),
    ):
        for plain, compiled in zip(kernel.plain(*arguments), kernel.compiled(*arguments), strict=True):
            np.testing.assert_array_equal(plain, compiled)
