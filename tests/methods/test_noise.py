"""Noise at the front door."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.methods.noise import Noise
from hedgerow.methods.registry import method
from hedgerow.testing import check_method

SCHEMA = hr.Schema(quasi=["age"], sensitive="pay")


@pytest.mark.parametrize("asked", [Noise(), Noise(scale=2, kind="laplace", columns=["age", "salary"])])
def test_contract(asked):
    """Noise keeps the contract of every method."""
    check_method(asked, examples=15)


def test_scale():
    """The noise has the asked share of the column's deviation, and whole numbers stay whole."""
    pay = np.random.default_rng(1).integers(0, 100_000, 20_000)
    table = pa.table({"age": np.arange(20_000), "pay": pay})
    release = Noise(scale="0.5", kind="uniform").publish(table, SCHEMA).tables["release"]
    assert release.schema.field("pay").type == pa.int64()
    order = np.argsort(release["age"].to_numpy())
    added = release["pay"].to_numpy()[order] - pay
    assert added.std() == pytest.approx(0.5 * pay.std(), rel=0.03)


def test_decimals_and_floats_keep_their_type():
    """Decimals stay decimals of the same scale, cents stay cents."""
    values = [Decimal("1.25"), Decimal("-3.50"), Decimal("7.00")]
    release = Noise().publish(pa.table({"age": [1, 2, 3], "pay": values}), SCHEMA).tables["release"]
    assert release.schema.field("pay").type == pa.decimal128(3, 2)
    floats = Noise().publish(pa.table({"age": [1, 2, 3], "pay": [0.25, -1.5, 3.75]}), SCHEMA).tables["release"]
    assert all(round(value, 2) == value for value in floats["pay"].to_pylist())


def test_refusals():
    """Texts, gaps, unknown columns and nonsense are refused in a sentence."""
    text = pa.table({"age": [1], "pay": ["a"]})
    with pytest.raises(hr.SchemaError, match="No column"):
        Noise().publish(text, SCHEMA)
    with pytest.raises(hr.SchemaError, match="cannot replace"):
        Noise(columns="pay").publish(text, SCHEMA)
    with pytest.raises(hr.SchemaError, match="not a published column"):
        Noise(columns="name").publish(text, SCHEMA)
    for wrong in ({"scale": 0}, {"scale": -1}, {"scale": "x"}, {"kind": "cauchy"}):
        with pytest.raises(hr.ParameterError):
            Noise(**wrong)


def test_short_name():
    """Recipes and the command line know it."""
    assert method("noise", {"scale": "0.2"}) == Noise(scale="0.2")
