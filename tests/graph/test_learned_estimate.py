"""Estimates that use what degrees tell: near the truth where a fair assignment is far away, and calibrated."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

import hedgerow.graph as hg
from hedgerow.errors import QueryError


def _purchases(seed: int) -> hg.BipartiteGraph:
    return dataclasses.replace(hg.purchase_graph(1_500, 2_500, 10_000, busiest=0.004, seed=seed), values=None)


def test_columns_that_go_with_degrees_are_estimated_well() -> None:
    """The truth lies many deviations from `expected`, and within two standard errors of `learned`."""
    fair, learned, errors = [], [], []
    for seed in range(3):
        graph = _purchases(seed)
        segment = np.array(graph.left["segment"].to_pylist())[graph.left_ends]
        for order in ("random", "blurred"):
            release = hg.SafeGrouping(4, 4, order).publish(graph, seed=seed)
            for name in ("large", "small"):
                truth = int((segment == name).sum())
                question = f"SELECT count(*) FROM edges WHERE left.segment = '{name}'"
                answer = release.ask(question, estimate="learned")
                assert answer.lower <= truth <= answer.upper
                assert answer.lower <= answer.learned.estimate <= answer.upper
                fair.append(abs(answer.expected - truth) / answer.std)
                learned.append(abs(answer.learned.estimate - truth) / answer.learned.standard_error)
                errors.append((abs(answer.learned.estimate / truth - 1), abs(answer.expected / truth - 1)))
    assert np.median(fair) > 4
    assert max(learned) < 3
    assert np.median([ours for ours, _ in errors]) < 0.25 * np.median([others for _, others in errors])


def test_conditions_on_both_sides_that_go_together_beyond_degrees_are_found() -> None:
    """Families buy what is for children: a fair assignment misses half of these purchases, the groups tell of them."""
    errors = []
    for seed, order in ((0, "random"), (1, "blurred"), (2, "degree"), (3, "blurred")):
        graph = _purchases(seed)
        family = np.array(graph.left["family"].to_pylist())[graph.left_ends]
        sort = np.array(graph.right["sort"].to_pylist())[graph.right_ends]
        release = hg.SafeGrouping(4, 4, order).publish(graph, seed=seed)
        for name in ("children", "food"):
            truth = int((family & (sort == name)).sum())
            question = f"SELECT count(*) FROM edges WHERE left.family AND right.sort = '{name}'"
            answer = release.ask(question, estimate="learned")
            assert abs(answer.learned.estimate - truth) < 3 * answer.learned.standard_error
            errors.append((abs(answer.learned.estimate / truth - 1), abs(answer.expected / truth - 1)))
    assert np.median([ours for ours, _ in errors]) < 0.35 * np.median([others for _, others in errors])


def test_what_is_frequent_at_middle_degrees_is_found() -> None:
    """A curve that only rises or falls with the degree would be a tenth off."""
    graph = _purchases(1)
    segment = np.array(graph.left["segment"].to_pylist())[graph.left_ends]
    truth = int((segment == "middle").sum())
    release = hg.SafeGrouping(4, 4, "blurred").publish(graph, seed=1)
    learned = release.ask("SELECT count(*) FROM edges WHERE left.segment = 'middle'", estimate="learned").learned
    assert abs(learned.estimate - truth) < min(0.05 * truth, 3 * learned.standard_error)


def test_edges_that_are_repeated_count_as_often() -> None:
    """Each purchase three times: the estimate is three times as large, like the bounds."""
    once = hg.purchase_graph(200, 300, 700, busiest=0.01, seed=3)
    ends = once.values.pairs
    sides = {"household": once.left_ends[ends], "product": once.right_ends[ends]}
    edges = pa.table({name: np.repeat(numbers, 3) for name, numbers in sides.items()} | {"day": np.arange(2100) % 3})
    thrice = hg.BipartiteGraph.read(once.left, once.right, edges, values=["day"])
    single = dataclasses.replace(thrice, values=None)
    for where in ("left.family", "left.family AND right.sort = 'children'"):
        question = f"SELECT count(*) FROM edges WHERE {where}"
        few, many = (
            hg.SafeGrouping(2, 2).publish(graph, seed=1).ask(question, estimate="learned") for graph in (single, thrice)
        )
        assert many.lower > 2 * few.lower
        assert few.learned.estimate < many.learned.estimate / 2


def test_columns_that_say_nothing_stay_near_the_fair_mean() -> None:
    """Without an association both estimates agree within their errors."""
    graph = hg.author_paper_graph(1_500, 2_000, 5_000, seed=2)
    release = hg.SafeGrouping(4, 4).publish(graph, seed=1)
    answer = release.ask("SELECT count(*) FROM edges WHERE left.draw < 30", estimate="learned")
    assert abs(answer.learned.estimate - answer.expected) < 3 * answer.learned.standard_error
    assert "learned" in repr(answer)


def test_what_is_not_learned_is_said() -> None:
    """Only COUNT(*) FROM edges has a learned estimate; exact answers need none."""
    release = hg.SafeGrouping(2, 2).publish(hg.author_paper_graph(40, 60, 100, seed=1))
    with pytest.raises(QueryError, match="learned"):
        release.ask("SELECT avg(degree) FROM left", estimate="learned")
    assert release.ask("SELECT count(*) FROM edges", estimate="learned").learned.standard_error == 0.0


@pytest.mark.parametrize(
    ("nodes", "edges", "size", "why"), [(16, 16, 2, "too few groups"), (40, 150, 3, "so many edges")]
)
def test_where_nothing_can_be_learned_the_answer_says_so(nodes: int, edges: int, size: int, why: str) -> None:
    """The fair guess with its deviation stands in, with the reason."""
    rng = np.random.default_rng(1)
    pairs = np.unique(rng.integers(0, nodes**2, edges))
    numbers, marks = np.arange(nodes), np.arange(nodes) % 3 == 0
    graph = hg.BipartiteGraph.read(
        pa.table({"a": numbers, "f": marks}),
        pa.table({"b": numbers, "g": marks}),
        pa.table({"a": pairs // nodes, "b": pairs % nodes}),
    )
    release = hg.SafeGrouping(size, size).publish(graph, seed=1)
    answer = release.ask("SELECT count(*) FROM edges WHERE left.f AND right.g", estimate="learned")
    assert why in answer.learned.note
    assert (answer.learned.estimate, answer.learned.standard_error) == (answer.expected, answer.std)
