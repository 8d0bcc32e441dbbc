"""The adversary who has two lists about the same people, with nothing in common, and wants to join them.

Source     Giomi et al., A unified framework for quantifying privacy risk in synthetic data, 2023 (linkability)
Knows      half of a person's quasi-identifiers from one list and the other half from another
Guesses    that two entries are the same person if among the few published rows nearest to either one is the same
Rate       the share of people whose own two entries are joined
Baseline   two entries of different people, who should not be joined
Control    people of the same kind who were not published
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.attack.candidates import People, Seen
from hedgerow.attack.matching import Fit, fit
from hedgerow.randomness import Keys, system_keys

__all__ = ["linked"]


NEIGHBOURS = 10


def linked(seen: Seen, people: People, *, shift: int = 0, keys: Keys = system_keys) -> NDArray[np.bool_]:
    """Tell whose entries are joined; with a `shift` the second entry is that of the person so many places on."""
    half = (len(seen.columns) + 1) // 2
    names = [column.name for column in seen.columns]
    first = _nearest(seen, fit(seen.of(names[:half]), people[:half]), keys)
    second = _nearest(seen, fit(seen.of(names[half:]), np.roll(people[half:], -shift, axis=1)), keys)
    return np.array([len(np.intersect1d(one, other)) > 0 for one, other in zip(first, second, strict=True)])


def _nearest(seen: Seen, found: Fit, keys: Keys) -> list[Ints]:
    """A few of the nearest rows of each person, all of them if they are few; a box stands for several rows."""
    behind = np.cumsum(seen.weights)
    return [_few(found.of(person), seen.weights, behind, keys) for person in range(len(found.distances))]


def _few(rows: Ints, weights: Ints, behind: Ints, keys: Keys) -> Ints:
    ends = np.cumsum(weights[rows])
    total = int(ends[-1])
    drawn = np.arange(total) if total <= NEIGHBOURS else (keys(NEIGHBOURS) % np.uint64(total)).astype(np.int64)
    place = np.searchsorted(ends, drawn, side="right")
    return np.asarray(behind[rows[place]] - (ends[place] - drawn))
