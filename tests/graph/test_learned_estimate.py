"""Estimates that use what degrees tell: near the truth where a fair assignment is far away, and calibrated."""

from __future__ import annotations

import dataclasses

import numpy as np
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
