"""Rows with some columns replaced at random: retention, additive noise, group means. Baselines, in random order.

Source     randomized response [Warner 1965] and additive noise, as compared with in [Li 2008] and [Xue 2011]
Guarantee  the order of the rows is random; what a replaced value reveals about the true one depends on the method
Cost       O(n) per column

An answer over such a release is an estimate without a bound. For a column under retention COUNT is estimated without
bias by `inverted_count`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.partition.shuffles import permutation
from hedgerow.randomness import Keys, order_keys, system_keys
from hedgerow.release.forms.example import altered_example
from hedgerow.release.forms.form import Form
from hedgerow.release.release import PublishedColumns

_FULL = 2**64
NOISES = ("normal", "laplace", "uniform")


def publish_perturbed(
    kept: pa.Table, columns: PublishedColumns, replaced: Mapping[str, pa.Array], *, keys: Keys = system_keys
) -> pa.Table:
    """Publish every column, some of them replaced, the rows in random order."""
    rows = pa.array(permutation(kept.num_rows, keys=order_keys(keys)))
    return pa.table(
        {name: (replaced[name] if name in replaced else kept.column(name)).take(rows) for name in columns.all}
    )


def retain_values(codes: NDArray[np.int32], size: int, *, p: Fraction, keys: Keys = system_keys) -> NDArray[np.int32]:
    """Keep each code with probability `p`, else draw one of `size` codes, all equally likely, the same one too."""
    if p == 1:
        return codes.copy()
    # Rounding p down to a multiple of 2^-64 keeps the risk on the safe side.
    is_kept = keys(len(codes)) < np.uint64(int(p * _FULL))
    return np.where(is_kept, codes, _below(keys(len(codes)), size))


def noise(count: int, *, kind: str, keys: Keys = system_keys) -> NDArray[np.float64]:
    """Draw numbers of mean 0 and standard deviation 1."""
    first, second = _units(keys(count)), _units(keys(count))
    if kind == "normal":
        drawn: NDArray[np.float64] = np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * np.pi * second)
    elif kind == "laplace":
        drawn = np.where(second < 0.5, -1.0, 1.0) * -np.log(first) / np.sqrt(2.0)
    else:
        drawn = (2.0 * first - 1.0) * np.sqrt(3.0)
    return drawn


def inverted_count(observed: float, selected: float, *, p: Fraction, share: Fraction) -> float:
    """Estimate how many of `selected` rows truly satisfy a condition on the replaced column.

    `observed` of them do as published; `share` of the domain satisfies the condition.
    """
    if p == 0:
        raise QueryError("nothing was retained, so the published values reveal nothing about the true ones")
    return float((observed - float((1 - p) * share) * selected) / float(p))


def _below(keys: NDArray[np.uint64], size: int) -> NDArray[np.int32]:
    """Turn each key into one of `size` codes by a 64 x 32 bit product."""
    half, places = np.uint64(32), np.uint64(size)
    low = ((keys & np.uint64(0xFFFFFFFF)) * places) >> half
    return (((keys >> half) * places + low) >> half).astype(np.int32)


def _units(keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Uniform numbers above 0 and at most 1."""
    return ((keys >> np.uint64(11)).astype(np.float64) + 1.0) / 2.0**53


PERTURBED = Form(
    name="perturbed",
    is_altered=True,
    done="Some values were replaced by chance or by means; see the promise. Rows are in random order.",
    files={"release": "the columns {columns}", "domain": "the values that were drawn from"},
    unverifiable=None,
    example=altered_example,
    evidence="altered",
)
