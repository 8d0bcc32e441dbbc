"""Rows are dealt to blocks by exact numbers, every assignment equally likely."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.errors import InputError
from hedgerow.randomness import seeded_keys
from hedgerow.scale.coding import codes_of
from hedgerow.scale.dealing import Placing, draw_tables, hypergeometric


def _listed(numbers):
    """A source that gives these keys, in order."""
    drawn = iter(numbers)
    return lambda count: np.array([next(drawn) for _ in range(count)], np.uint64)


def _placing(triples, size, keys):
    classes, blocks, rows = (np.array(part) for part in zip(*triples, strict=True))
    return Placing.of(partial(codes_of, name="v"), classes, blocks, rows, size=size, keys=keys)


def _batch(codes):
    return pa.table({"v": pa.array(codes, pa.uint8())})


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (3, 2), (1, 2, 2), (2, 2, 2)])
def test_every_assignment_of_equal_rows_is_equally_likely(sizes):
    """Over all outcomes of all draws, each way to deal the rows of one value occurs equally often."""
    rows, found = sum(sizes), Counter()
    for keys in itertools.product(*(range(rows - step) for step in range(rows))):
        placing = _placing([(0, block, size) for block, size in enumerate(sizes)], 1, _listed(keys))
        first = placing.place(_batch([0] * (rows // 2)))  # the urn goes on in the next batch
        found[tuple(first) + tuple(placing.place(_batch([0] * (rows - rows // 2))))] += 1
        placing.finish()
    assert len(found) == math.factorial(rows) // math.prod(map(math.factorial, sizes))
    assert len(set(found.values())) == 1


def test_a_class_of_one_block_takes_no_key():
    """Only rows that could go elsewhere need a coin."""
    placing = _placing([(0, 1, 3), (1, 0, 1), (1, 1, 1)], 2, _listed([0, 0]))
    assert placing.place(_batch([0, 1, 0, 1, 0])).tolist() == [1, 0, 1, 1, 1]
    placing.finish()


@pytest.mark.parametrize("codes", [[0, 0, 0], [0], [0, 1], [2]])
def test_other_rows_than_were_counted_raise(codes):
    """A row too many, a row too few, another value: the table changed."""
    placing = _placing([(0, 0, 1), (0, 1, 1)], 2, seeded_keys(1))

    def scatter():
        placing.place(_batch(codes))
        placing.finish()

    with pytest.raises(InputError, match="changed"):
        scatter()


def _keys_between(parts):
    return [np.uint64(int((place + 0.5) / parts * 2**64)) for place in range(parts)]


@pytest.mark.parametrize("run", [hypergeometric.plain, hypergeometric.compiled], ids=["plain", "compiled"])
@pytest.mark.parametrize(("good", "bad", "draws"), [(1, 1, 1), (2, 3, 2), (3, 2, 4), (4, 4, 4), (5, 0, 3), (0, 4, 2)])
def test_hypergeometric_is_exact(run, good, bad, draws):
    """Keys that lie evenly give each number as often as combinatorics says."""
    ways = math.comb(good + bad, draws)
    found = Counter(int(run(good, bad, draws, key)) for key in _keys_between(ways * 10))
    assert found == Counter(
        {
            x: 10 * math.comb(good, x) * math.comb(bad, draws - x)
            for x in range(max(0, draws - bad), min(good, draws) + 1)
        }
    )


def test_hypergeometric_of_billions():
    """Large numbers stay within what is possible and near the mean."""
    for key in seeded_keys(3)(50):
        found = hypergeometric.compiled(9 * 10**11, 10**11, 10**9, key)
        assert abs(found - 9 * 10**8) < 20 * math.sqrt(9 * 10**7)


@pytest.mark.parametrize(
    ("counts", "sizes"), [((2, 2), (2, 2)), ((2, 3), (3, 2)), ((1, 1, 2), (2, 2)), ((2, 2), (1, 1, 2))]
)
def test_tables_are_drawn_as_if_all_were_shuffled(counts, sizes):
    """Over all outcomes, weighted by how many keys give them, tables have the multivariate hypergeometric law."""
    rows, found = sum(counts), Counter()
    grid = _keys_between(60)
    free = [(line, kind) for line in range(len(sizes)) for kind in range(len(counts))]
    # Draws that leave no choice take any key; the others walk the grid.
    walked = [place for place, (line, kind) in enumerate(free) if line < len(sizes) - 1 and kind < len(counts) - 1]
    for chosen in itertools.product(grid, repeat=len(walked)):
        keys = [np.uint64(0)] * len(free)
        for place, key in zip(walked, chosen, strict=True):
            keys[place] = key
        table = draw_tables(np.array(counts), np.array(sizes), keys=_listed(keys))
        assert table.sum(0).tolist() == list(counts)
        assert table.sum(1).tolist() == list(sizes)
        found[tuple(map(tuple, table.tolist()))] += 1
    total = sum(found.values())
    things = [kind for kind, count in enumerate(counts) for _ in range(count)]
    expected = Counter()
    for order in itertools.permutations(things):
        cuts = np.split(np.array(order), np.cumsum(sizes)[:-1])
        expected[tuple(tuple(np.bincount(cut, minlength=len(counts)).tolist()) for cut in cuts)] += 1
    assert {table: Fraction(n, total) for table, n in found.items()} == {
        table: Fraction(n, math.factorial(rows)) for table, n in expected.items()
    }


def test_urns_divided_among_tasks_hold_what_the_tasks_will_see():
    """Each task gets tickets for exactly its rows, and all tasks together the urn."""
    placing = _placing([(0, 0, 5), (0, 1, 3), (1, 1, 4)], 2, seeded_keys(2))
    batches = [_batch([0, 0, 1]), _batch([0] * 6 + [1, 1]), _batch([1])]
    tasks = placing.divide([placing.tally(batch) for batch in batches])
    blocks = np.concatenate([task.place(batch) for task, batch in zip(tasks, batches, strict=True)])
    for task in tasks:
        task.finish()
    assert np.bincount(blocks).tolist() == [5, 7]
    with pytest.raises(InputError, match="changed"):
        placing.divide([placing.tally(batches[0])])
