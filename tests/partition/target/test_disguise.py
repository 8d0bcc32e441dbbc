"""Many groups at once: counted or row by row, with fakes in blocks, or within a shift."""

from fractions import Fraction

import numpy as np
import pytest

from hedgerow.criteria.target import Target
from hedgerow.errors import ParameterError
from hedgerow.partition.target.fake_values import disguise, least_block, with_fakes
from hedgerow.partition.target.least_range import least_range
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.schema.target import uniform

TREES = [uniform(Hierarchy.binary(range(8))), Hierarchy.balanced(range(6), fanout=3).with_target([1, 2, 1, 0, 1, 1])]


@pytest.mark.parametrize("parameters", [{}, {"fakes": Fraction(1, 5)}, {"shift": Fraction(1, 5)}])
@pytest.mark.parametrize("rows", [5, 400])
def test_every_group_follows_its_own_tree(parameters, rows):
    """Small groups go row by row, large ones by counts; each is private for its tree and has all its values."""
    generator = np.random.default_rng(rows)
    which = np.array([0, 1, 1, 0], np.int32)
    leaves = np.concatenate([generator.integers(0, TREES[t].num_leaves, rows) for t in which]).astype(np.int32)
    published = disguise(leaves, np.arange(0, 4 * rows + 1, rows), TREES, which, **parameters)
    for group, number in enumerate(which.tolist()):
        part = slice(published.offsets[group], published.offsets[group + 1])
        nodes = np.bincount(published.nodes[part], published.counts[part], TREES[number].num_nodes).astype(np.int64)
        assert Target(TREES[number], parameters.get("shift", 0)).holds(nodes)
        assert rows <= nodes.sum() <= rows * (1 + parameters.get("fakes", 0))


def test_impatience_makes_blocks():
    """With little patience fakes come in larger blocks, and the result is still private."""
    counts = np.array([30, 1, 5, 9, 2, 2, 8, 3])
    assert least_block(counts, TREES[0], most=20, patience=10**9) == 1
    assert least_block(counts, TREES[0], most=20, patience=2000) > 1
    assert Target(TREES[0]).holds(with_fakes(counts, TREES[0], Fraction(1, 3)))


def test_too_few_rows_for_a_fake():
    """A tenth of five rows is no fake at all."""
    counts = np.array([1, 1, 1, 1, 1, 0, 0, 0])
    assert with_fakes(counts, TREES[0], Fraction(1, 10)).tolist() == least_range(counts, TREES[0]).tolist()


def test_fakes_and_shift_exclude_each_other():
    """One or the other."""
    with pytest.raises(ParameterError, match="exclude"):
        disguise(np.zeros(1, np.int32), np.array([0, 1]), TREES, np.zeros(1, np.int32), fakes=Fraction(1, 2),
                 shift=Fraction(1, 2))  # fmt: skip
