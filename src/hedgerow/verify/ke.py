"""Check (k,e)-anonymity of a published table: sort the values of each group and look.

Source     [Zhang 2008], section 2.4
Guarantee  passes exactly the tables whose every group has k distinct values over a range of at least e and, where l
           is promised, none that fills more than 1/l of it
Cost       O(n log n) time; memory of a block of about a million rows beyond the table
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import BrokenPromise, counted
from hedgerow.exact import float_above
from hedgerow.verify.structure import group_starts, number_line
from hedgerow.verify.values import PublishedRelease, spread

__all__ = ["check_ke"]

_BLOCK = 1 << 17


def check_ke(release: PublishedRelease) -> str:
    """Every group holds at least k distinct values whose range is at least e."""
    k, e = int(release.guarantee.parameters["k"]), Fraction(release.guarantee.parameters["e"])
    l = int(release.guarantee.parameters.get("l", 0))  # noqa: E741
    table = release.tables["release"]
    starts = group_starts(table, release)
    for name in release.columns.sensitive:
        where = number_line(table.column(name), name)
        for first, last in _blocks(starts, table.num_rows):
            ascending, inside = _check_block(where.positions[first:last], starts, first, last, k, where.distance(e))
            if l:
                _check_cap(ascending, inside, l)
    sizes = np.diff(np.append(starts, table.num_rows))
    groups, rows = spread(release, sizes)
    return (
        f"each of {groups} ({rows} rows) "
        f"has at least {k} distinct values over a range of at least {release.guarantee.parameters['e']}"
        + (f", and none that fills more than 1/{l} of it" if l else "")
    )


def _blocks(starts: NDArray[np.int64], rows: int) -> Iterator[tuple[int, int]]:
    """Cut the rows at group borders into blocks of about a million."""
    borders = np.append(starts, rows)
    wanted = np.arange(0, rows, _BLOCK)
    cuts = np.unique(np.append(borders[np.searchsorted(borders, wanted)], rows))
    yield from zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)


def _check_block(
    values: NDArray[Any], starts: NDArray[np.int64], first: int, last: int, k: int, e: Fraction
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Check the groups that lie in rows first..last; return their values, sorted, and where each group begins."""
    inside = starts[np.searchsorted(starts, first) : np.searchsorted(starts, last)] - first
    sizes = np.diff(np.append(inside, len(values)))
    groups = np.repeat(np.arange(len(inside)), sizes)
    ascending = values[np.lexsort((values, groups))]
    is_new = np.append(True, ascending[1:] != ascending[:-1])
    is_new[inside] = True
    distinct = np.add.reduceat(is_new.astype(np.int64), inside)
    if distinct.min() < k:
        raise BrokenPromise(
            f"{counted(int((distinct < k).sum()), 'group holds', 'groups hold')} fewer than {k} "
            f"distinct sensitive values."
        )
    if narrow := _count_narrow(ascending[inside], ascending[inside + sizes - 1], e):
        raise BrokenPromise(f"{counted(narrow, 'group has', 'groups have')} a range of sensitive values below e.")
    return ascending, inside


def _check_cap(ascending: NDArray[Any], starts: NDArray[np.int64], l: int) -> None:  # noqa: E741
    """Raise if a run of equal values is longer than 1/l of its group."""
    is_new = np.append(True, ascending[1:] != ascending[:-1])
    is_new[starts] = True
    runs = np.flatnonzero(is_new)
    lengths = np.diff(np.append(runs, len(ascending)))
    sizes = np.diff(np.append(starts, len(ascending)))[np.searchsorted(starts, runs, side="right") - 1]
    # In whole numbers the floor loses nothing, and no product leaves 64 bits.
    if (lengths > sizes // l).any():
        raise BrokenPromise(f"A sensitive value fills more than 1/{l} of a group.")


def _count_narrow(lows: NDArray[Any], highs: NDArray[Any], e: Fraction) -> int:
    """Count the pairs that are less than e apart, exactly."""
    if lows.dtype.kind == "i":
        return int((highs - lows < math.ceil(e)).sum())
    # Floats decide where rounding cannot matter; the few that are left are compared as fractions.
    wide = float_above(e)
    near = highs - lows <= wide + 1e-9 * (np.abs(highs) + np.abs(lows) + wide)
    pairs = zip(lows[near].tolist(), highs[near].tolist(), strict=True)
    return sum(Fraction(high) - Fraction(low) < e for low, high in pairs)
