"""How many threads work is spread over."""

from __future__ import annotations

import os

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.cores import cores


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
