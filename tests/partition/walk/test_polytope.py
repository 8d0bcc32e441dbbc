"""Blocks, hulls and kernel bases against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import ParameterError
from hedgerow.partition.walk.chain import Polytope, System, deepest_points, directions, in_affine_hull, kernel_basis
from hedgerow.partition.walk.plan import TickRelation, blocks
from hedgerow.partition.walk.segments import keep_sides, localities, runs, sample
from hedgerow.randomness import seeded_keys


def _column(values, *, segment=20, low=None, high=None, share=1.0, relations=(), firsts=()):
    distinct = np.unique(values)
    cut = runs(
        distinct,
        np.arange(len(distinct), dtype=np.int32),
        segment=segment,
        low=int(distinct[0]) if low is None else low,
        high=int(distinct[-1]) if high is None else high,
    )
    cut = keep_sides(cut, np.array(firsts, np.int64))
    chosen = sample(localities(cut.values, cut.offsets), share, keys=seeded_keys(1))
    return cut, chosen, list(blocks(cut, chosen, relations))


def _points(system, width):
    cube = np.array(list(itertools.product(range(width + 1), repeat=system.coefficients.shape[1])))
    return cube[(system.coefficients @ cube.T <= system.bounds[:, None]).all(axis=0)]


@settings(max_examples=40)
@given(st.lists(st.integers(0, 5), min_size=3, max_size=4, unique=True))
def test_the_systems_points_are_those_that_keep_distances_order_and_bounds(values):
    """Enumerated whole points of a block are exactly the tuples that satisfy the definition with absolute values."""
    values = np.array(sorted(values))
    _, chosen, (block,) = _column(values, low=0, high=5)
    expected = []
    involved = np.unique(chosen.triples)
    for point in itertools.product(range(6), repeat=len(values)):
        x = np.array(point)
        ordered = (np.diff(x[involved]) >= 0).all()
        near = [
            abs(x[j] - x[i]) >= abs(x[k] - x[j]) if n else abs(x[j] - x[i]) <= abs(x[k] - x[j])
            for (i, j, k), n in zip(chosen.triples, chosen.nearer, strict=True)
        ]
        if ordered and all(near):
            expected.append(point)
    assert sorted(map(tuple, (_points(block.polytope.system, 5) + block.base).tolist())) == sorted(expected)
    assert block.polytope.system.keeps(block.polytope.point)


def test_thresholds_become_bounds_that_the_order_does_not_imply():
    """A threshold inside a segment bounds the values on both of its sides."""
    *_, (block,) = _column([0, 1, 2, 3, 4, 5], firsts=[3])
    points = _points(block.polytope.system, 5)
    assert (points[:, :3] < 3).all()
    assert (points[:, 3:] >= 3).all()


def test_a_relation_ties_segments_together_and_only_those():
    """Segments that share a relation are walked as one block, the others alone."""
    relation = TickRelation((0, 7), (-1, 1), 9)
    *_, found = _column(np.arange(12), segment=3, relations=[relation])
    assert [block.variables.tolist() for block in found] == [[0, 1, 2, 6, 7, 8], [3, 4, 5], [9, 10, 11]]
    assert [block.given for block in found] == [True, False, False]
    assert found[0].polytope.system.kinds[0] == "given"


def test_coefficients_that_could_overflow_are_refused():
    """A relation whose sums would not fit 64 bits is a wrong parameter."""
    with pytest.raises(ParameterError, match="coefficients too large"):
        _column([0, 10**6], relations=[TickRelation((0, 1), (10**15, 1), 10**18)])


def test_equations_whose_whole_solutions_are_too_long_are_refused():
    """Several equations with long coefficients have whole solutions beyond 64 bits; that is said, not overrun."""
    rng = np.random.default_rng(1)
    values = np.arange(30)
    relations = []
    for _ in range(5):
        chosen = tuple(sorted(rng.choice(30, 4, replace=False).tolist()))
        weights = tuple(rng.integers(-(10**10), 10**10, 4).tolist())
        total = sum(c * v for c, v in zip(weights, chosen, strict=True))
        relations += [TickRelation(chosen, weights, total), TickRelation(chosen, tuple(-c for c in weights), -total)]
    *_, (block,) = _column(values, segment=30, share=0.0, relations=relations)
    with pytest.raises(ParameterError, match="equations have coefficients too large"):
        in_affine_hull(block.polytope)


@given(st.lists(st.lists(st.integers(-4, 4), min_size=4, max_size=4), min_size=1, max_size=3))
def test_a_kernel_basis_generates_every_whole_solution(equations):
    """Each small whole solution is a whole combination of the basis."""
    matrix = np.array(equations, np.int64)
    basis = np.array(kernel_basis(matrix), np.int64).reshape(-1, 4)
    assert len(basis) == 4 - np.linalg.matrix_rank(matrix)
    assert not (matrix @ basis.T).any()
    for x in itertools.product(range(-2, 3), repeat=4):
        if not (matrix @ np.array(x)).any():
            amounts = np.linalg.lstsq(basis.T.astype(float), np.array(x, float), rcond=None)[0] if len(basis) else []
            assert np.allclose(np.rint(amounts) @ basis, x)


def _equal_sum():
    """Three values between 0 and 10 whose sum is 15, and one that is pinned to 4."""
    single = np.eye(4, dtype=np.int64)
    total = np.array([[1, 1, 1, 0], [-1, -1, -1, 0]])
    rows = np.concatenate([total, single, -single])
    bounds = np.array([15, -15, 10, 10, 10, 4, 0, 0, 0, -4])
    return Polytope(System(rows, bounds, np.full(10, "given")), np.array([0, 5, 10, 4]))


def test_the_affine_hull_keeps_equations_and_pins_what_cannot_move():
    """Two opposite properties make an equation: every direction keeps it, and a pinned value is told."""
    found = in_affine_hull(_equal_sum())
    ways = directions(found)
    assert np.linalg.matrix_rank(ways) == 2
    assert not ways[:, 3].any()
    assert not ways[:, :3].sum(axis=1).any()
    assert found.pinned.tolist() == [False, False, False, True]


@pytest.mark.parametrize("heavy", [1, 10**4, 10**8, 10**11])
def test_a_heavy_relation_with_room_pins_nothing(heavy):
    """Only what is tight at the original can be an equation, however large the numbers of other properties are."""
    relation = TickRelation((1, 11, 20), (3 * heavy, -2 * heavy, 7 * heavy + 1), 10**5 * heavy)
    *_, (block,) = _column(100 * np.arange(0, 90, 3), segment=30, share=0.1, relations=[relation])
    assert in_affine_hull(block.polytope).hull is None
    (start,) = deepest_points([block.polytope])
    assert block.polytope.system.slacks(start).min() > block.polytope.system.slacks(block.polytope.point).min()


@settings(max_examples=60)
@given(st.lists(st.tuples(*[st.integers(-3, 3)] * 4), min_size=1, max_size=5), st.sampled_from([1, 10**9]))
def test_the_hull_of_a_cone_is_that_of_its_points(rows, scale):
    """The directions of the hull span exactly the whole points of a cone, whatever the rows are multiplied by."""
    rows = np.array([row for row in rows if any(row)] or [(1, 0, 0, 0)])
    box = np.concatenate([np.eye(4, dtype=np.int64), -np.eye(4, dtype=np.int64)])
    system = System(np.concatenate([rows * scale, box]), np.append(np.zeros(len(rows), np.int64), [9] * 8), np.empty(0))
    around = np.array(
        list(itertools.product(range(-9, 10, 3), repeat=4)) + list(itertools.product((-1, 0, 1), repeat=4))
    )
    inside = around[(rows @ around.T <= 0).all(axis=0)]
    found = in_affine_hull(Polytope(system, np.zeros(4, np.int64)))
    assert np.linalg.matrix_rank(found.basis) >= np.linalg.matrix_rank(inside)
    both = np.concatenate([found.basis, inside])
    assert np.linalg.matrix_rank(both) == np.linalg.matrix_rank(found.basis)


def test_a_start_in_the_hull_is_deep_inside():
    """The deepest whole point of the slice is its centre."""
    (start,) = deepest_points([in_affine_hull(_equal_sum())])
    assert start.tolist() == [5, 5, 5, 4]


@pytest.mark.parametrize("heavy", [1, 5, 10**6])
def test_a_start_does_not_depend_on_how_a_property_is_written(heavy):
    """Between 0 and 10 the deepest point is 5, also where the upper bound is written as a multiple of itself."""
    system = System(np.array([[heavy], [-1]]), np.array([10 * heavy, 0]), np.full(2, "given"))
    (start,) = deepest_points([Polytope(system, np.array([0]))])
    assert start.tolist() == [5]


@given(st.lists(st.integers(0, 40), min_size=3, max_size=9, unique=True))
def test_localities_force_no_equation(values):
    """Localities of whole numbers, ties and all, leave a room of full dimension."""
    *_, (block,) = _column(values, low=-1, high=41)
    assert in_affine_hull(block.polytope).hull is None


@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=12, unique=True), st.integers(1, 3))
def test_starts_satisfy_every_property(values, copies):
    """Solved alone or with others, a start is a point of its polytope, and deeper than the original where it can be."""
    *_, (block,) = _column(values)
    for start in deepest_points([block.polytope] * copies):
        assert block.polytope.system.keeps(start)
        before = block.polytope.system.slacks(block.polytope.point).min()
        assert block.polytope.system.slacks(start).min() >= before
