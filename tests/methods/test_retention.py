"""Retention at the front door."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.methods.registry import method
from hedgerow.methods.retention import Retention
from hedgerow.testing import check_method

SCHEMA = hr.Schema(quasi=["age"], sensitive="pay")
TABLE = pa.table({"age": range(100), "pay": range(100)})


@pytest.mark.parametrize("asked", [Retention(m=2, eps=1), Retention(p="0.3"), Retention(m=2, eps="0.1", relative=True)])
def test_contract(asked):
    """Retention keeps the contract of every method."""
    check_method(asked, examples=15)


def test_p_is_published_and_largest():
    """The manifest names p; around 10 of 100 uniform values a risk of 1/5 allows 1/9 of a chance beyond the border."""
    release = Retention(m=5, eps=5).publish(TABLE, SCHEMA)
    p = Fraction(release.guarantee.parameters["p"])
    inside = Fraction(11, 100)
    assert p + (1 - p) * inside == Fraction(1, 5)
    assert release.made.parameters["p"] == release.guarantee.parameters["p"]
    assert "1/5" in release.guarantee.promise


def test_declared_domain_is_drawn_from():
    """Values that nobody has are published, too, if the schema declares them."""
    schema = hr.Schema(quasi=["age"], sensitive="pay", domains={"pay": hr.Domain.numeric(0, 999, step=1)})
    release = Retention(p=0).publish(TABLE, schema)
    assert release.tables["domain"].num_rows == 1000
    assert np.max(release.tables["release"]["pay"].to_numpy()) > 99


def test_texts_are_near_nothing_but_themselves():
    """Every text is its own neighbourhood."""
    table = pa.table({"age": range(40), "pay": [f"v{n % 4}" for n in range(40)]})
    p = Fraction(Retention(m=2).publish(table, SCHEMA).guarantee.parameters["p"])
    assert p + (1 - p) * Fraction(1, 4) == Fraction(1, 2)


def test_infeasible():
    """A value that half of the people have cannot hide behind chance at m = 3."""
    table = pa.table({"age": range(4), "pay": [1, 1, 50, 90]})
    with pytest.raises(hr.Infeasible, match="largest m that works is 2"):
        Retention(m=3).publish(table, SCHEMA)


@pytest.mark.parametrize(
    "wrong", [{}, {"m": 2, "p": "0.5"}, {"m": 0}, {"m": 2.5}, {"p": 2}, {"p": "x"}, {"m": 2, "eps": -1}, {"m": True}]
)
def test_parameters(wrong):
    """Nonsense is refused at the door."""
    with pytest.raises(hr.ParameterError):
        Retention(**wrong)


def test_missing_values_and_several_columns():
    """One complete sensitive column is replaced, nothing else."""
    gaps = pa.table({"age": [1, 2], "pay": [1, None]})
    with pytest.raises(hr.SchemaError, match="missing"):
        Retention(p=0).publish(gaps, hr.Schema(quasi=["age"], sensitive="pay", missing={"pay": "value"}))
    with pytest.raises(hr.SchemaError, match="one sensitive column"):
        Retention(p=0).publish(TABLE, hr.Schema(sensitive=["age", "pay"]))


def test_short_name():
    """Recipes and the command line know it."""
    assert method("retention", {"m": "3", "eps": "2"}) == Retention(m=3, eps="2")
