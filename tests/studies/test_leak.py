"""Exchanges inside groups: none is ruled out where groups do not look at sensitive values, some where they do."""

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from studies.leak import Subject, leak_of


def subject() -> Subject:
    """Sixty people of two columns, and a secret that goes with them."""
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 30, 60), rng.integers(0, 4, 60)
    secret = np.array(["x", "y", "z", "w"])[(a // 8 + rng.integers(0, 3, 60)) % 4]
    table = pa.table({"a": a, "b": b, "s": secret})
    return Subject("people", table, hr.Schema(quasi=["a", "b"], sensitive="s"), {})


@pytest.mark.parametrize("method", [hr.Mondrian(k=15), hr.Mondrian(k=30, l=2, blind=True)])
def test_groups_that_do_not_look_rule_out_nothing(method: hr.Method) -> None:
    """A person's posterior is the value's share in the group."""
    found = leak_of(method, subject(), people=6)
    assert found.ruled_out == 0
    assert found.posterior == found.shown


def test_groups_that_look_rule_out_some() -> None:
    """Cuts that are tried against the secret tell something here."""
    found = leak_of(hr.Mondrian(k=3, l=2), subject(), people=10)
    assert found.ruled_out > 0
    assert found.posterior > found.shown
