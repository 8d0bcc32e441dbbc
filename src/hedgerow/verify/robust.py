"""Check what the published bytes tell of r-robustness: no protected value fills more than 1/r of a group.

Source     [Wong 2009], definition 1
Guarantee  `check_robust` passes exactly the releases in which c r <= N for every group of N rows with c protected
           values of a kind: necessary whatever the adversary knows
Cost       O(n) per protected set

What the adversary knows is not part of a release: shares for every combination of quasi-identifiers, put side by side,
would tell more about small groups than any adversary of the paper knows. So p <= 1/r under that knowledge is checked
before a release leaves its owner, and again by whoever has the knowledge (`hedgerow.methods.robust_odds`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import one_array
from hedgerow.errors import BrokenPromise, counted
from hedgerow.verify.structure import group_starts
from hedgerow.verify.values import PublishedRelease, is_end, spread, total

__all__ = ["check_robust", "sensitive_values"]

_MOST_COUNTED = 200_000_000
"""Rows that are looked at over all protected sets."""
_AT_ONCE = 1 << 20


def check_robust(release: PublishedRelease) -> str:
    """No protected set fills more than 1/r of a group: necessary whatever the adversary knows."""
    r = Fraction(release.guarantee.parameters["r"])
    values, offsets = sensitive_values(release)
    codes, sizes = values.indices.to_numpy().astype(np.int64), np.diff(offsets)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    # c r <= N in whole numbers: the floor loses nothing, because a count is whole.
    most = np.array([int(size) * r.denominator // r.numerator for size in sizes.tolist()])
    by_code = np.argsort(codes, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(codes, minlength=len(values.dictionary))))
    protected = _protected_codes(release, values.dictionary, ends)
    crowded: set[int] = set()
    for batch in _batches(protected, ends):
        rows = np.concatenate([by_code[ends[code] : ends[code + 1]] for inside in batch for code in inside])
        owners = np.repeat(np.arange(len(batch)), [sum(ends[c + 1] - ends[c] for c in inside) for inside in batch])
        found, counts = np.unique(owners * len(sizes) + groups[rows], return_counts=True)
        crowded |= set((found % len(sizes))[counts > most[found % len(sizes)]].tolist())
    if crowded:
        raise BrokenPromise(
            f"{counted(len(crowded), 'group holds', 'groups hold')} a protected value in more than {1 / r} of their "
            "rows."
        )
    _check_counts(release, np.diff(ends), sorted({code for inside in protected for code in inside}))
    number, rows_told = spread(release, sizes)
    return (
        f"in each of {number} ({rows_told} rows) no protected value fills more than {1 / r}; the adversary's "
        "probabilities, which are not published, were checked by the owner and can be by whoever knows them"
    )


def _batches(protected: list[list[int]], ends: NDArray[np.int64]) -> Iterator[list[list[int]]]:
    """Protected sets that have values here, as many at a time as have some number of rows, so that all cost alike."""
    batch: list[list[int]] = []
    rows = 0
    for inside in filter(None, protected):  # values of others are in other parts
        batch.append(inside)
        rows += sum(int(ends[code + 1] - ends[code]) for code in inside)
        if rows >= _AT_ONCE:
            yield batch
            batch, rows = [], 0
    if batch:
        yield batch


def _check_counts(release: PublishedRelease, counts: NDArray[np.int64], protected: list[int]) -> None:
    """Rows with a protected value are those that are published and those that were suppressed because of it."""
    stated = {name: int(release.guarantee.parameters[name]) for name in ("suppressed", "protected", "unprotected")}
    found = total(release, "protected", int(counts[protected].sum()))
    rows = release.rows if release.whole is None else release.whole.rows
    if len(protected) < len(counts) and not stated["unprotected"]:
        raise BrokenPromise("Values are published that are not protected, and the guarantee says that there are none.")
    is_off = is_end(release) and found + stated["suppressed"] != stated["protected"]
    if is_off or stated["suppressed"] > rows.suppressed:
        raise BrokenPromise("The numbers of rows with a protected value are not those that the guarantee says.")


def _protected_codes(release: PublishedRelease, values: pa.Array, ends: NDArray[np.int64]) -> list[list[int]]:
    """The codes of each protected set that the guarantee names."""
    sets = json.loads(str(release.guarantee.parameters["protect"]))
    if sets is None:
        return [[code] for code in range(len(values))]
    numbers = {str(value): code for code, value in enumerate(values.to_pylist())}
    found = [sorted({numbers[value] for value in named if value in numbers}) for named in sets]
    met = {n for n, inside in enumerate(found) if inside}
    if release.whole is not None:
        release.whole.met |= met
        met = release.whole.met
    if is_end(release) and len(met) < len(found):
        raise BrokenPromise("A protected set has no value that is published, so that nothing is promised of it.")
    if sum(int(ends[code + 1] - ends[code]) for inside in found for code in inside) > _MOST_COUNTED:
        raise BrokenPromise("The guarantee protects so many sets that they are not counted one by one.")
    return found


def sensitive_values(release: PublishedRelease) -> tuple[pa.DictionaryArray, NDArray[np.int64]]:
    """The values of the one sensitive column, group after group, and the borders of the groups."""
    table = release.tables["sensitive" if "sensitive" in release.tables else "release"]
    column = table.column(release.columns.sensitive[0])
    if column.null_count:
        raise BrokenPromise("r-robustness speaks of a sensitive column without missing values.")
    return one_array(column).dictionary_encode(), np.append(group_starts(table, release), table.num_rows)
