"""Baselines that cannot change a column say so: nothing is published as it was without a word."""

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.methods.microaggregation import Microaggregation
from hedgerow.methods.noise import Noise
from hedgerow.methods.rank_swap import RankSwap
from hedgerow.methods.retention import Retention

TABLE = pa.table({"age": np.arange(60), "flat": [7] * 60, "sex": np.arange(60) // 30, "pay": np.arange(60) * 100})


def unchanged_columns(method, sensitive, quasi=("age",)):
    """The sentence about unchanged columns, if any, of a release in which it is checked against the rows."""
    rest = [name for name in TABLE.column_names if name not in (*quasi, *sensitive)]
    release = method.publish(TABLE, hr.Schema(quasi=quasi, sensitive=sensitive, plain=rest))
    said = [words for words in release.guarantee.not_promised if words.startswith("Unchanged columns")]
    for name in (*quasi, *sensitive):
        assert any(f"'{name}'" in words for words in said) <= (
            sorted(map(float, release.tables["release"][name].to_pylist()))
            == sorted(map(float, TABLE[name].to_pylist()))
        )
    release.verify()
    return " ".join(said)


@pytest.mark.parametrize("method", [Noise(), RankSwap(share=0.1)])
def test_a_constant_column_is_named(method):
    """Noise without width and swaps of equal values are told, and of the constant column alone."""
    said = unchanged_columns(method, ["flat", "pay"])
    assert "'flat'" in said
    assert "'pay'" not in said


def test_noise_that_rounding_takes_back_is_told():
    """Whole numbers between which the noise is far too narrow to reach come out as they were."""
    said = unchanged_columns(Noise(scale="0.1"), ["sex", "pay"])
    assert "'sex'" in said
    assert "rounding" in said
    assert unchanged_columns(Noise(scale="0.5"), ["sex", "pay"]) == ""


@pytest.mark.parametrize(("method", "column", "is_told"), [
    (Retention(p="0.5"), "flat", True), (Retention(p=1), "pay", True), (Retention(p="0.99"), "pay", False),
])  # fmt: skip
def test_retention_without_another_value_is_told(method, column, is_told):
    """A domain of one value, or p = 1, keeps everything; that chance kept everything would never be told."""
    assert (f"'{column}'" in unchanged_columns(method, [column])) is is_told


def test_means_of_equal_values_are_told():
    """Groups that are equal throughout have their own values as means."""
    said = unchanged_columns(Microaggregation(k=5, columns=["flat", "age"]), ["pay"], quasi=["age", "flat"])
    assert "'flat'" in said
    assert "'age'" not in said
    assert "'sex'" in unchanged_columns(Microaggregation(k=5), ["pay"], quasi=["sex"])
