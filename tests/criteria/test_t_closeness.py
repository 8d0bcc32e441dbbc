"""Three distances of t-closeness against their definitions and against a linear program."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from hedgerow.criteria.groupwise import groups_of
from hedgerow.criteria.t_closeness import TCloseness, _at_most, levels_of
from hedgerow.errors import ParameterError
from hedgerow.schema.hierarchy import Hierarchy
from tests.support.groups import check_criterion, grouped_codes, histograms
from tests.support.trees import trees

UNEVEN = Hierarchy.from_nested([["a", "b"], "c", ["d", ["e", "f"]]])


def _gaps(counts, overall, size):
    rows, total = counts.total(), overall.total()
    return [Fraction(counts[v], rows) - Fraction(overall[v], total) for v in range(size)]


def equal(counts, overall):
    """Half the sum of differences of shares."""
    return sum(map(abs, _gaps(counts, overall, max(overall) + 1))) / 2


def ordered(counts, overall):
    """The mass that crosses each gap between neighbours."""
    gaps = _gaps(counts, overall, max(overall) + 1)
    steps = max(len(gaps) - 1, 1)
    return sum(abs(sum(gaps[: i + 1])) for i in range(len(gaps))) / steps


def hierarchical(tree, counts, overall):
    """The definition of the source: what each node moves between its children, times its height over the tree's."""
    gaps = _gaps(counts, overall, tree.num_leaves)
    inside = [sum(gaps[slice(*tree.leaves_under(node))]) for node in range(tree.num_nodes)]
    total = Fraction(0)
    for node in range(tree.num_leaves, tree.num_nodes):
        extra = [inside[child] for child in tree.children(node)]
        moved = min(sum(x for x in extra if x > 0), -sum(x for x in extra if x < 0))
        total += moved * Fraction(tree.height - int(tree.depths[node]), tree.height)
    return total


@pytest.mark.parametrize("t", [0, "0.1", "1/6", "0.25", "0.5", 1])
def test_equal(t):
    """The equal distance is compared exactly."""
    check_criterion(TCloseness(t), lambda counts, overall: equal(counts, overall) <= Fraction(t))


@pytest.mark.parametrize("t", [0, "0.1", "1/6", "0.25", "0.5", 1])
def test_ordered(t):
    """The ordered distance is compared exactly."""
    check_criterion(TCloseness(t, "ordered"), lambda counts, overall: ordered(counts, overall) <= Fraction(t))


@pytest.mark.parametrize("t", [0, "0.1", "1/6", "0.25", "0.5"])
def test_hierarchical(t):
    """The mean over levels is the distance of the source, in an uneven tree too."""

    @settings(max_examples=50, deadline=None, derandomize=True)
    @given(grouped_codes(most_values=UNEVEN.num_leaves), trees(most_leaves=6))
    def law(drawn, other):
        labels, codes = drawn
        overall = np.bincount(codes)
        for tree in (UNEVEN, other):
            if tree.num_leaves < len(overall):
                continue
            criterion = TCloseness(t, "hierarchical", levels_of(tree, np.arange(len(overall), dtype=np.int32)))
            held = criterion.holds(groups_of(labels, codes, overall)).tolist()
            columns = Counter(codes.tolist())
            assert held == [hierarchical(tree, c, columns) <= Fraction(t) for c in histograms(labels, codes)]

    law()


def test_the_sources_salaries():
    """Nine salaries: {3,4,5} thousand are 0.375 away in order, {6,8,11} thousand 1/6."""
    overall = np.ones(9, np.int64)
    labels = np.array([0, 0, 0, 1, 2, 1, 2, 2, 1], np.int32)
    groups = groups_of(labels, np.arange(9, dtype=np.int32), overall)
    assert TCloseness("0.375", "ordered").holds(groups)[0]
    assert not TCloseness("0.374999999", "ordered").holds(groups)[0]
    assert TCloseness("1/6", "ordered").holds(groups)[1]
    assert not TCloseness("0.16666666666666", "ordered").holds(groups)[1]


@settings(max_examples=25, deadline=None, derandomize=True)
@given(grouped_codes(most_values=6, most_groups=2))
def test_distances_are_the_cheapest_transport(drawn):
    """A linear program that knows only the ground distances finds the same optimum."""
    optimize = pytest.importorskip("scipy.optimize")
    labels, codes = drawn
    overall, size = Counter(codes.tolist()), int(codes.max()) + 1
    heights = [[_meet(UNEVEN, a, b) for b in range(size)] for a in range(size)]
    for counts in histograms(labels, codes):
        for ground, distance in [
            ([[float(a != b) for b in range(size)] for a in range(size)], equal(counts, overall)),
            ([[abs(a - b) / max(size - 1, 1) for b in range(size)] for a in range(size)], ordered(counts, overall)),
            (heights, hierarchical(UNEVEN, counts, overall)),
        ]:
            supply = [counts[v] / counts.total() for v in range(size)]
            demand = [overall[v] / overall.total() for v in range(size)]
            rows = np.kron(np.eye(size), np.ones(size))
            sums = np.concatenate([rows, np.kron(np.ones(size), np.eye(size))])
            best = optimize.linprog(np.ravel(ground), A_eq=sums, b_eq=supply + demand)
            assert best.fun == pytest.approx(float(distance), abs=1e-9)


def _meet(tree, a, b):
    node = a
    while not tree.low[node] <= b < tree.high[node]:
        node = tree.parent(node)
    return 0.0 if a == b else (tree.height - int(tree.depths[node])) / tree.height


def test_a_long_ordered_column_does_not_overflow():
    """Where 64 bits would not do, whole numbers of any length decide."""
    size = 3_000_000
    overall = np.full(size, 10**6, np.int64)
    labels = np.zeros(2, np.int32)
    groups = groups_of(labels, np.array([0, size - 1], np.int32), overall)
    assert TCloseness("0.26", "ordered").holds(groups)[0]
    assert not TCloseness("0.24", "ordered").holds(groups)[0]


@pytest.mark.parametrize("t", [-1, 2, "x", None, True, float("nan"), "1/0"])
def test_bad_t_is_refused(t):
    """Each is one sentence that names the parameter."""
    with pytest.raises(ParameterError, match="'t' must be"):
        TCloseness(t)


def test_distance_and_levels_go_together():
    """An unknown distance, and a hierarchical one without a hierarchy, are refused."""
    with pytest.raises(ParameterError, match="'distance'"):
        TCloseness("0.1", "near")
    with pytest.raises(ParameterError, match="'levels'"):
        TCloseness("0.1", "hierarchical")


@pytest.mark.parametrize("kind", [np.int64, object])
@pytest.mark.parametrize("per_row", [Fraction(0), Fraction(7, 3), Fraction(2**61), Fraction(2**63), Fraction(2**80, 3)])
def test_bounds_beyond_64_bits_are_compared_whole(kind, per_row):
    """Of small and large groups side by side, whichever of the two sides leaves 64 bits."""
    sizes = np.array([1, 8, 1, 8])
    moved = np.array([0, 2**62, 2, 2**62 + 1], kind)
    wanted = [int(number) <= per_row * int(size) for number, size in zip(moved, sizes, strict=True)]
    assert _at_most(moved, sizes, per_row).tolist() == wanted
