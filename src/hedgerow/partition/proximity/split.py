"""Divide rows at medians of quasi-identifiers for as long as both parts can be made (eps,m)-anonymous, then deal.

Source     [Li 2008], section 5
Guarantee  every group satisfies criteria.proximity; feasible exactly when m <= rows // largest_cover
Cost       O(n d) time per level of the tree, about log(n/m) levels, on two cores; two packed copies of the columns
Deviates   parts are dealt to as many groups as there are m rows for, which are smaller than the printed ones and just
           as good; a cut is at the border of the median's value that is nearest to the middle; in columns with over
           four times as many codes as a part has rows, medians and widths are taken over bins; equal values are dealt
           in secret order
Minimality the search follows quasi-identifiers and tests sensitive values: where it stops tells something about them

Rows are sorted by sensitive value once, and parts keep that order, so that the most crowded neighbourhood of a part is
found by two pointers.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import numpy as np
from numpy.typing import NDArray

from hedgerow.cores import cores
from hedgerow.criteria.neighbourhood import Reach
from hedgerow.criteria.proximity import require_proximity
from hedgerow.kernel import SMALL
from hedgerow.parameters import read_whole
from hedgerow.partition.proximity.grow import NeighbourRules, Sorted, buffers_for, grow, split
from hedgerow.partition.shuffles import by_value
from hedgerow.randomness import Keys, system_keys

__all__ = ["proximity_split"]

_SUBTREE = 1 << 16  # rows below which a subtree is one thread's work
_FEW_COLUMNS = 16  # squared columns up to which the rows alone say whether compiling pays


def proximity_split(
    quasi: NDArray[np.int32],
    scales: Sequence[int | NDArray[np.float64]],
    sensitive: NDArray[np.int32],
    reach: Reach,
    *,
    m: int,
    finest: bool = True,
    keys: Keys = system_keys,
) -> NDArray[np.int32]:
    """Return a group number per row, from 0 without gaps.

    `quasi` holds one row of codes per quasi-identifier; `scales` says for each how many codes it has, and the loss of
    the column is the share of its codes that are covered, or where each code lies between 0 and 1, ascending.
    `finest` False keeps parts that are good whole and deals others to as few groups as possible, as the paper does.
    """
    counts = np.bincount(sensitive, minlength=len(reach.first))
    read_whole("m", m, least=1)
    require_proximity(reach, counts, m=m)
    rows = by_value(sensitive, counts, keys=keys)
    lines = [scale if isinstance(scale, np.ndarray) else np.arange(scale) / scale for scale in scales]
    widths = np.array([len(line) for line in lines], np.int64)
    rules = NeighbourRules(np.concatenate(lines), np.cumsum(widths) - widths, reach.first, reach.last, m, finest)
    labels = np.empty(len(rows), np.int32)
    _grow_in_threads(_sorted(quasi, int(widths.max()), sensitive, rows), rules, labels)
    used = np.zeros(len(rows), np.bool_)
    used[labels] = True
    return (np.cumsum(used, dtype=np.int32) - np.int32(1))[labels]


def _sorted(quasi: NDArray[np.int32], most_codes: int, sensitive: NDArray[np.int32], rows: NDArray[np.int32]) -> Sorted:
    """The rows in order of their sensitive values, their codes in 16 bits where they fit."""
    kind = np.dtype(np.uint16 if most_codes <= 1 << 16 else np.int32)
    points = np.empty(quasi.shape, kind)

    def gather(place: int) -> None:
        # Narrow first: rows come in random order, and half as wide a column is nearer to the processor.
        np.take(quasi[place].astype(kind), rows, out=points[place], mode="clip")

    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(gather, range(len(quasi))))
    return Sorted(points, np.take(sensitive, rows), rows)


def _grow_in_threads(table: Sorted, rules: NeighbourRules, labels: NDArray[np.int32]) -> None:
    """Split large runs one by one, hand their parts to a pool, and let each thread finish the small ones alone."""
    # Every column's cut is weighed in every column, so many columns make even a few rows worth compiling for.
    small = len(labels) * max(1, len(rules.starts) ** 2 // _FEW_COLUMNS) <= SMALL
    split_one, grow_all = (split.plain, grow.plain) if small else (split.compiled, grow.compiled)

    def work(lo: int, hi: int, most: int) -> list[tuple[int, int, int]]:
        scratch = buffers_for(table, rules, hi - lo)
        if hi - lo > _SUBTREE and (middle := split_one(table, rules, scratch, lo, hi, most)) >= 0:
            left, right = scratch.covers.tolist()
            return [(lo, middle, left), (middle, hi, right)]
        grow_all(table, rules, scratch, lo, hi, most, labels)
        return []

    with ThreadPoolExecutor(cores()) as pool:
        pending: set[Future[list[tuple[int, int, int]]]] = {pool.submit(work, 0, len(labels), len(labels))}
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            parts = [part for finished in done for part in finished.result()]
            pending |= {pool.submit(work, *part) for part in parts}
