"""COUNT over edges and COUNT(DISTINCT) of their ends, against every selection that fits the release."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from hedgerow.graph.adjacency import adjacency
from hedgerow.graph.distinct import count_joined
from hedgerow.graph.grouped import Side
from hedgerow.graph.links import count_ends, count_links, count_paths, most_links, smallest_sums
from hedgerow.graph.selected import Selected


@dataclass(frozen=True, eq=False)
class Case:
    """A small safely grouped graph with a selection on each side, its matrix, and every selection that fits."""

    left: Selected
    right: Selected
    matrix: NDArray[np.int64]

    @functools.cached_property
    def lefts(self) -> NDArray[np.int64]:
        """Every set of selected left nodes, a row each."""
        return choices(self.left)

    @functools.cached_property
    def rights(self) -> NDArray[np.int64]:
        """Every set of selected right nodes, a row each."""
        return choices(self.right)


def _labels(random: np.random.Generator, nodes: int) -> NDArray[np.int32]:
    """Groups of one to three nodes, the last of which takes what is left."""
    least = int(random.integers(1, 4))
    return np.minimum(np.arange(nodes) // least, max(1, nodes // least) - 1).astype(np.int32)


def _matrix(random: np.random.Generator, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.int64]:
    """Put in edges at random as long as both groupings stay safe."""
    matrix = np.zeros((len(left), len(right)), np.int64)
    cells = [(i, j) for i in range(len(left)) for j in range(len(right))]
    for cell in random.permutation(len(cells))[: random.integers(0, len(cells) + 1)]:
        i, j = cells[cell]
        if not matrix[left == left[i], j].any() and not matrix[i, right == right[j]].any():
            matrix[i, j] = 1
    return matrix


@functools.cache
def case(seed: int) -> Case:
    """Make a small case."""
    random = np.random.default_rng(seed)
    left, right = (_labels(random, int(nodes)) for nodes in random.integers(2, 7, size=2))
    matrix = _matrix(random, left, right)
    ends, others = (array.astype(np.int32) for array in np.nonzero(matrix))
    near = Side("left", None, "", "", left, left, np.bincount(left), adjacency(ends, others, *matrix.shape))
    far = Side("right", None, "", "", right, right, np.bincount(right), adjacency(others, ends, *matrix.shape[::-1]))
    return Case(_select(random, near), _select(random, far), matrix)


def _select(random: np.random.Generator, side: Side) -> Selected:
    share = random.choice([0.0, 0.5, 0.8, 1.0], p=[0.05, 0.45, 0.3, 0.2])
    entities = random.random(len(side.entity_groups)) < share
    return Selected(side, entities, random.random(len(side.node_groups)) < random.choice([0.6, 1.0]))


def choices(chosen: Selected) -> NDArray[np.int64]:
    """Every set of nodes that may be the selected entities, a row each, after the condition on nodes."""
    firsts = np.append(0, np.cumsum(chosen.sizes))
    subsets = [
        [set(s) for s in itertools.combinations(range(firsts[g], firsts[g + 1]), int(chosen.counts[g]))]
        for g in range(len(chosen.sizes))
    ]
    rows = [set().union(*choice) for choice in itertools.product(*subsets)]
    marks = np.array([[node in row for node in range(len(chosen.nodes))] for row in rows], np.int64)
    return marks * chosen.nodes


CASES = range(2000)
FEW = range(500)


def test_edges_lie_between_the_bounds_and_their_mean_is_the_expectation() -> None:
    """On thousands of small graphs every assignment's number of edges is inside, and the mean is exact."""
    tight = 0
    for it in map(case, CASES):
        counts = it.lefts @ it.matrix @ it.rights.T
        found = count_links(it.left, it.right)
        assert found.lower <= counts.min()
        assert counts.max() <= found.upper
        assert found.expected == pytest.approx(counts.mean())
        tight += (found.lower, found.upper) == (counts.min(), counts.max())
    assert tight > 0.99 * len(CASES)


def test_the_number_of_edges_scatters_as_its_variance_says() -> None:
    """On thousands of small graphs the variance over all assignments is exact, pairs of groups with many edges too."""
    uncertain = 0
    for it in map(case, CASES):
        counts = it.lefts @ it.matrix @ it.rights.T
        assert count_links(it.left, it.right).variance == pytest.approx(counts.var(), abs=1e-9)
        uncertain += counts.var() > 0
    assert uncertain > 0.3 * len(CASES)


def test_edges_under_conditions_on_one_side_are_bounded_exactly() -> None:
    """With nothing asked of the right entities both bounds are reached."""
    for it in map(case, FEW):
        everyone = Selected(it.right.side, np.ones_like(it.right.entities), it.right.nodes)
        counts = it.lefts @ it.matrix @ choices(everyone).T
        for found in (count_links(it.left, everyone), count_links(everyone, it.left)):
            assert (found.lower, found.upper) == (counts.min(), counts.max())


def test_joined_entities_lie_between_the_bounds_and_their_mean_is_the_expectation() -> None:
    """On thousands of small graphs every assignment's number of joined entities is inside, and the mean is exact."""
    tight = 0
    for it in map(case, CASES):
        counts = (it.lefts @ it.matrix > 0).astype(np.int64) @ it.rights.T
        found = count_joined(it.right, it.left)
        assert found.lower <= counts.min()
        assert counts.max() <= found.upper
        assert found.expected == pytest.approx(counts.mean())
        tight += (found.lower, found.upper) == (counts.min(), counts.max())
    assert tight > 0.99 * len(CASES)


def test_joined_entities_under_conditions_on_themselves_are_bounded_exactly() -> None:
    """With nothing asked of the other side both bounds are reached."""
    for it in map(case, FEW):
        everyone = Selected(it.left.side, np.ones_like(it.left.entities), it.left.nodes)
        counts = (choices(everyone) @ it.matrix > 0).astype(np.int64) @ it.rights.T
        found = count_joined(it.right, everyone)
        assert (found.lower, found.upper) == (counts.min(), counts.max())


def _paper_edges(left: Selected, right: Selected, matrix: NDArray[np.int64]) -> tuple[int, int, int, int]:
    """The paper's bounds of the number of edges and of joined right entities, pair of groups by pair of groups."""
    a, k, b, l = left.counts, left.sizes, right.counts, right.sizes  # noqa: E741
    masked = matrix * np.outer(left.nodes, right.nodes)
    c = np.array(
        [[masked[np.ix_(left.side.node_groups == i, right.side.node_groups == j)].sum() for j in range(len(b))]
         for i in range(len(a))]
    )  # fmt: skip
    least = np.maximum(0, a[:, None] + b[None, :] + c - k[:, None] - l[None, :])
    most = np.minimum(np.minimum(a[:, None], b[None, :]), c)
    return least.sum(), most.sum(), least.max(axis=0).sum(), np.minimum(b, most.sum(axis=0)).sum()


def test_the_bounds_are_never_looser_than_the_papers() -> None:
    """Each bound is at least as tight as the sum over pairs of groups, and often tighter."""
    tighter = 0
    for it in map(case, CASES):
        least, most, least_joined, most_joined = _paper_edges(it.left, it.right, it.matrix)
        edges, joined = count_links(it.left, it.right), count_joined(it.right, it.left)
        assert edges.lower >= least
        assert edges.upper <= most
        assert joined.lower >= least_joined
        assert joined.upper <= most_joined
        tighter += edges.upper < most
        tighter += joined.upper < most_joined
    assert tighter > 200


def test_paths_lie_between_the_bounds_and_their_mean_is_the_expectation() -> None:
    """Paths of two edges and the nodes that they reach stay inside their bounds in every assignment."""
    for seed in FEW:
        it = case(seed)
        end = _select(np.random.default_rng(seed + 1), it.left.side)
        lower, upper, expected = count_paths(it.left, it.right, end)
        least, most = count_ends(it.left, it.right, end)
        paths, ends = [], []
        for near, far in _both(it.left, end):
            for via in it.rights:
                through = (it.matrix * via) @ it.matrix.T
                np.fill_diagonal(through, 0)
                paths.append(near @ through @ far)
                ends.append(int(((near @ through > 0) & (far > 0)).sum()))
        assert lower <= min(paths)
        assert max(paths) <= upper
        assert expected == pytest.approx(np.mean(paths))
        assert least <= min(ends)
        assert max(ends) <= most


def _both(start: Selected, end: Selected) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Every assignment of one side's entities to its nodes, as the marks of both selections."""
    firsts = np.append(0, np.cumsum(start.sizes))
    orders = [itertools.permutations(range(firsts[g], firsts[g + 1])) for g in range(len(start.sizes))]
    for order in itertools.product(*orders):
        entity = np.concatenate([np.array(part) for part in order])
        yield start.entities[entity] * start.nodes.astype(int), end.entities[entity] * end.nodes.astype(int)


def test_a_far_group_caps_what_a_choice_can_reach() -> None:
    """Three nodes, two selected, one link each into a group with one selected, two into a wholly selected one."""
    matrix = np.array([[1, 0, 0, 1, 0], [0, 1, 0, 0, 1], [0, 0, 1, 0, 0]])
    ends, others = (array.astype(np.int32) for array in np.nonzero(matrix))
    left, right = np.zeros(3, np.int32), np.array([0, 0, 0, 1, 1], np.int32)
    near = Side("left", None, "", "", left, left, np.bincount(left), adjacency(ends, others, 3, 5))
    far = Side("right", None, "", "", right, right, np.bincount(right), adjacency(others, ends, 5, 3))
    chosen = Selected(near, np.array([True, True, False]), np.ones(3, np.bool_))
    other = Selected(far, np.array([True, False, False, True, True]), np.ones(5, np.bool_))
    assert most_links(chosen, other, np.ones(5, np.bool_)) == 3


def test_the_compiled_bounds_are_the_plain_ones() -> None:
    """On a graph above the size of compilation both speeds give the same bounds and expectations."""
    from hedgerow.graph import SafeGrouping, author_paper_graph, distinct, links

    release = SafeGrouping(4, 3).publish(author_paper_graph(1500, 2000, 5200, seed=1), seed=1)
    questions = [
        "SELECT count(*) FROM edges WHERE left.draw < 70 AND right.year > 2000",
        "SELECT count(DISTINCT right) FROM edges WHERE left.draw < 70 AND right.degree > 1",
        "SELECT count(DISTINCT left) FROM edges WHERE left.draw < 99 AND right.draw < 98",
    ]
    fast = [release.ask(question) for question in questions]
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (links, "_visit"),
            (distinct, "_visit"),
            (distinct, "_look_around"),
            (links, "_add_smallest"),
        ):
            patch.setattr(module, name, getattr(module, name).plain)
        slow = [release.ask(question) for question in questions]
    for first, second in zip(fast, slow, strict=True):
        assert (first.lower, first.upper) == (second.lower, second.upper)
        assert first.expected == pytest.approx(second.expected)


def test_sums_of_the_smallest() -> None:
    """Insertion adds up what sorting does."""
    random = np.random.default_rng(3)
    sizes = random.integers(1, 30, 200)
    counts = random.integers(0, sizes + 1)
    values = random.integers(-9, 9, sizes.sum())
    parts = np.split(values, np.cumsum(sizes)[:-1])
    wanted = [np.sort(part)[:count].sum() for part, count in zip(parts, counts, strict=True)]
    assert smallest_sums(values, sizes, counts).tolist() == wanted
