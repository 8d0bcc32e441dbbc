"""The compiled passes against NumPy's way and against their own plain loops."""

from collections import Counter

import numpy as np
import pytest

from hedgerow.query import connect
from hedgerow.query.aggregates import aggregator, linear
from hedgerow.query.evidence import rows, tally
from hedgerow.query.evidence.groups import different
from tests.support.assignments import release_of

QUESTIONS = (
    "SELECT q, r, sum(s) AS t, avg(s) AS a, count(*) AS n FROM release WHERE q <> 2 GROUP BY q, r",
    "SELECT r, avg(s) AS a FROM release WHERE s > -20 GROUP BY r",
    "SELECT sum(s) AS t, avg(s) AS a FROM release WHERE q = 1",
    "SELECT r, sum(q * s) AS t FROM release GROUP BY r",
    "SELECT sum(q * s) AS t FROM release WHERE r = 'a'",
    "SELECT q, median(s) AS m, max(s) AS x, count(DISTINCT s) AS d FROM release WHERE s < 30 GROUP BY q",
    "SELECT quantile_cont(s, 0.9) AS m, avg(s) AS a FROM release WHERE q > 1 AND s > 0",
    "SELECT s // 10 AS k, count(*) AS n FROM release WHERE q > 1 GROUP BY k",
    "SELECT r, avg(q) AS a, sum(q) AS t FROM release WHERE s > 0 GROUP BY r",
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
    for module in (rows, aggregator, tally):
        monkeypatch.setattr(module, "MANY", -1)
    assert connect(release).sql(text).equals(wanted)


def test_sums_leave_64_bits():
    """Sums per cell are exact where those of each group just fit into 64 bits."""
    size, largest = 6, 2**61
    release = release_of({"q": [1] * size, "s": [largest, -largest] * 3}, [0, 0, 1, 1, 2, 2], sensitive="s")
    bound = connect(release).sql("SELECT sum(s) AS t FROM release WHERE q = 1").to_pylist()
    cell, group, taken = np.zeros(3, np.int64), np.arange(3), np.ones(3, np.int64)
    offsets, prefix = np.array([0, 2, 4, 6]), np.array([0, -largest, 0, -largest, 0, -largest, 0])
    within = np.array([-largest, 0] * 3)
    sums, _ = tally._ends(np.array([0, 3]), group, taken, offsets, within, 1)
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
    entry_cell, edges = np.repeat(np.arange(7), used), np.concatenate(([0], np.cumsum(used)))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(groups, minlength=40))))
    prefix = np.concatenate(([0], np.cumsum(rng.integers(-(2**40), 2**40, 300))))
    each = (rng.random(40), np.diff(offsets), rng.random(40))
    for kernel, arguments in (
        (tally._count, counted),
        (tally._count_below, (offsets, np.sort(rng.integers(0, 90, 300)), group, rng.integers(0, 90, len(group)))),
        (tally._draw_sums, (entry_cell, group, number, offsets, prefix, 7)),
        (tally._ends, (edges, group, number, offsets, prefix[1:], 1)),
        (tally._ends, (edges, group, number, offsets, prefix[1:] % 1000, 5)),
        (tally._moments, (edges, group, number, np.zeros(7), each, 1)),
        (tally._moments, (edges, group, number, np.zeros(7), each, 3)),
        (tally._terms, (group, number, 2.5, each)),
        (tally._count_bits, (*rows.bits_of(rng.random(300) < 0.3), offsets)),
    ):
        for plain, compiled in zip(kernel.plain(*arguments), kernel.compiled(*arguments), strict=True):
            np.testing.assert_array_equal(plain, compiled)


def test_passes_do_not_depend_on_blocks_of_groups_nor_on_their_order():
    """However many blocks there are, every entry is looked at once; sums of floats keep their order inside a cell."""
    rng = np.random.Generator(np.random.PCG64(6))
    edges, group = np.array([0, 30, 30, 90]), rng.integers(0, 40, 90)
    offsets, within = np.arange(0, 205, 5), rng.integers(-99, 99, 200)
    drawn = rng.integers(0, 6, 90)
    each = (rng.random(40), np.full(40, 5), rng.random(40))
    for blocks in (2, 7, 40):
        for kernel, arguments in (
            (tally._ends, (edges, group, drawn, offsets, within)),
            (tally._moments, (edges, group, drawn, np.zeros(3), each)),
        ):
            ordered = [np.sort(argument) if argument is group else argument for argument in arguments]
            for wanted, found in zip(kernel(*ordered, 1), kernel(*ordered, blocks), strict=True):
                np.testing.assert_array_equal(wanted, found)
            assert kernel(*arguments, blocks)[1].sum() == pytest.approx(kernel(*arguments, 1)[1].sum())


def test_different_numbers_come_once_and_ascend():
    """Also of none at all."""
    for numbers in ([], [3], [2, 2, 1, 2, 5, 1]):
        assert different(np.array(numbers, dtype=np.int64)).tolist() == sorted(set(numbers))


@pytest.mark.parametrize("values", [4, 300])
def test_cells_are_numbered_whether_combinations_are_few_or_many(values):
    """Keys that are missing, and combinations that do not occur: the cells are those that rows have, in order."""
    rng = np.random.Generator(np.random.PCG64(5))
    names = [f"n{number:03}" for number in range(values)]
    keys = {name: [*rng.choice(names, 900).tolist(), None] for name in ("a", "b")}
    release = release_of({**keys, "s": list(range(901))}, [n // 7 for n in range(901)], sensitive="s")
    found = connect(release).sql("SELECT a, b, count(*) AS n FROM release WHERE a <> 'n001' OR a IS NULL GROUP BY a, b")
    pairs = [pair for pair in zip(keys["a"], keys["b"], strict=True) if pair[0] != "n001"]
    wanted = sorted(Counter(pairs).items(), key=lambda item: [(key is None, key or "") for key in item[0]])
    assert [((row["a"], row["b"]), row["n"]) for row in found.to_pylist()] == wanted


@pytest.mark.parametrize("number", [1, 2, 5])
def test_answers_do_not_depend_on_the_number_of_cores(release, number, monkeypatch):
    """Bounds, means and deviations are equal to the last digit, and groups are never cut."""
    texts = [text.replace("q <> 2", "q < 9") for text in QUESTIONS]
    wanted = [connect(release).sql(text) for text in texts]
    for module in (rows, aggregator, tally):
        monkeypatch.setattr(module, "MANY", -1)
    monkeypatch.setattr("hedgerow.cores.FEW", -1)
    monkeypatch.setattr(tally, "_SHARED", 0)
    monkeypatch.setattr("hedgerow.cores.cores", lambda: number)
    monkeypatch.setattr(linear, "_SHARED", 0)
    for module in (tally, linear):
        monkeypatch.setattr(module, "cores", lambda: number)
    for text, table in zip(texts, wanted, strict=True):
        assert connect(release).sql(text).equals(table), text
