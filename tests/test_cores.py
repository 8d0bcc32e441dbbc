"""How many threads work is spread over."""

from __future__ import annotations

import os

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.cores import cores, on_cores


def test_a_process_that_was_given_one_core_uses_one(monkeypatch):
    """Linux: what the process may use counts, not what the machine has."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert cores() == 1


@pytest.mark.parametrize(("machine", "expected"), [(6, 6), (None, 1)])
def test_without_affinity_the_machine_is_asked(monkeypatch, machine, expected):
    """macOS and Windows have no affinity; where nothing is known, one thread works."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: machine)
    assert cores() == expected


@pytest.mark.parametrize(
    "method", [hr.Mondrian(k=5), hr.Proximity(eps=2, m=2), hr.PropertyWalk(columns=["a", "s"]), hr.Anatomy(l=2)]
)
def test_methods_publish_where_there_is_no_affinity(monkeypatch, method):
    """No method asks the system for what only Linux knows."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    rng = np.random.default_rng(1)
    table = {"a": rng.integers(0, 1000, 120), "b": rng.integers(0, 50, 120), "s": rng.integers(0, 60, 120)}
    release = method.publish(table, hr.Schema(quasi=["a", "b"], sensitive="s"))
    assert release.rows.published == 120


MANY = 10**6
"""Rows that are worth several threads."""


def test_results_come_in_the_order_of_the_items():
    """Whichever thread took them."""
    assert on_cores(lambda item: item * item, range(100), rows=MANY) == [item * item for item in range(100)]


def test_work_may_be_spread_inside_work():
    """Nobody waits for a thread that waits for him."""

    def inner(item):
        return sum(on_cores(lambda n: n + item, range(8), rows=MANY))

    assert on_cores(inner, range(16), rows=MANY) == [28 + 8 * item for item in range(16)]


@pytest.mark.parametrize("bad", [0, 5, 9])
def test_an_error_in_any_thread_is_the_caller_s(bad):
    """And the next call works."""

    def work(item):
        if item == bad:
            raise KeyError(item)
        return item

    with pytest.raises(KeyError):
        on_cores(work, range(10), rows=MANY)
    assert on_cores(work, range(10, 20), rows=MANY) == list(range(10, 20))


def test_a_process_that_was_forked_works():
    """It has none of its parent's threads."""
    on_cores(str, range(4), rows=MANY)
    child = os.fork()
    if child == 0:
        os._exit(0 if on_cores(str, range(4), rows=MANY) == ["0", "1", "2", "3"] else 1)
    assert os.waitpid(child, 0)[1] == 0
