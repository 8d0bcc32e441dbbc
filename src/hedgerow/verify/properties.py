"""Check that every listed property holds in the published rows, exactly.

Source     [Xue 2011], definition 1
Guarantee  passes exactly the releases whose published numbers satisfy each listed property
Cost       O(t) for t terms; fractions only for columns that have no common decimal unit
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.errors import BrokenPromise
from hedgerow.exact import as_fraction
from hedgerow.verify.names import PROPERTY_KINDS
from hedgerow.verify.parameters import is_number
from hedgerow.verify.structure import number_line
from hedgerow.verify.values import PublishedRelease

__all__ = ["check_properties"]

_SAFE = 2.0**62


def check_properties(release: PublishedRelease) -> str:
    """Every listed property holds, and there are as many of each kind as the guarantee says."""
    table, listed = release.tables["release"], release.tables["properties"]
    _require_sane(table, listed, release)
    for name in release.guarantee.columns:
        mine = listed.filter(pc.equal(listed.column("column"), name))
        broken = _count_broken(table.column(name), mine)
        if broken:
            raise BrokenPromise(f"{broken:,} properties of '{name}' do not hold in the published rows.")
    return f"all {release.guarantee.parameters['properties']:,} listed properties hold, exactly"


def _require_sane(table: pa.Table, listed: pa.Table, release: PublishedRelease) -> None:
    if any(listed.column(name).null_count for name in listed.column_names):
        raise BrokenPromise("The list of properties has gaps.")
    numbers, rows = listed.column("property").to_numpy(), listed.column("row").to_numpy()
    steps = np.diff(numbers, prepend=-1)
    if len(numbers) and (numbers[0] != 0 or not np.isin(steps, (0, 1)).all()):
        raise BrokenPromise("The properties are not listed one after the other, numbered from 0.")
    if len(rows) and not 0 <= rows.min() <= rows.max() < table.num_rows:
        raise BrokenPromise("A property speaks of a row that is not published.")
    if not set(listed.column("column").unique().to_pylist()) <= set(release.guarantee.columns):
        raise BrokenPromise("A property speaks of a column that the guarantee does not cover.")
    for name in ("column", "kind", "at_most"):
        column = listed.column(name).combine_chunks()
        changes = pc.not_equal(column.slice(0, max(len(column) - 1, 0)), column.slice(1)).to_numpy(zero_copy_only=False)
        if (changes & (steps[1:] == 0)).any():
            raise BrokenPromise("The terms of a property do not have one column, kind and limit.")
    kinds = listed.column("kind").take(np.flatnonzero(steps)).to_pylist()
    found = {"properties": len(kinds), **{kind: kinds.count(kind) for kind in PROPERTY_KINDS}}
    if any(count != release.guarantee.parameters.get(kind) for kind, count in found.items()):
        raise BrokenPromise("The number of listed properties of each kind is not the one that the guarantee says.")


def _count_broken(column: pa.ChunkedArray, listed: pa.Table) -> int:
    """Count the properties of one column whose sum exceeds its limit."""
    if not listed.num_rows:
        return 0
    values = column.take(listed.column("row"))
    starts = np.flatnonzero(np.diff(listed.column("property").to_numpy(), prepend=-1))
    coefficients = listed.column("coefficient").to_numpy()
    limits = listed.column("at_most").combine_chunks().dictionary_encode()
    exact = [_limit(text) for text in limits.dictionary.to_pylist()]
    which = limits.indices.to_numpy()[starts]
    where = number_line(values, "a column with properties")
    if where.positions.dtype.kind == "i" and _fits(where.positions, coefficients, starts):
        sums = np.add.reduceat(coefficients * where.positions, starts)
        ceilings = [limit / where.unit for limit in exact]
        # A whole number is at most a fraction exactly when it is at most the fraction's floor.
        tops = np.array([max(-(2**63), min(2**63 - 1, c.numerator // c.denominator)) for c in ceilings], np.int64)
        return int((sums > tops[which]).sum())
    return _count_broken_slowly(values.to_pylist(), coefficients, starts, [exact[n] for n in which])


def _limit(text: str) -> Fraction:
    if not is_number(text):
        raise BrokenPromise("The limit of a property is not a number.")
    return Fraction(text)


def _fits(positions: NDArray[Any], coefficients: NDArray[np.int64], starts: NDArray[np.int64]) -> bool:
    """Whether no sum can leave 64 bits."""
    sizes = np.add.reduceat(np.abs(coefficients.astype(float)) * np.abs(positions.astype(float)), starts)
    return bool(sizes.max() < _SAFE)


def _count_broken_slowly(
    values: list[Any], coefficients: NDArray[np.int64], starts: NDArray[np.int64], limits: list[Fraction]
) -> int:
    terms = [int(c) * as_fraction(value) for c, value in zip(coefficients, values, strict=True)]
    ends = [*starts[1:].tolist(), len(terms)]
    return sum(
        sum(terms[start:end], Fraction(0)) > limit for start, end, limit in zip(starts, ends, limits, strict=True)
    )
