"""Divide (k,e)-anonymous groups by quasi-identifiers, as long as the parts stay (k,e)-anonymous.

Source     own, beyond [Zhang 2008]; the cuts are those of `mondrian`
Guarantee  every part is (k,e)-anonymous, lies in one of the given groups, and cannot be cut further at a median
Cost       O(n d) per level, all groups at once

Where there are far more rows than distinct values a group of neighbouring values has rows of every kind, so hardly any
condition takes it whole and every answer has the group's range in it. Its parts have rows of one kind each: a condition
takes most of them whole or not at all, and these add nothing to the width of an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Codes
from hedgerow.criteria.ke import KE, GroupwiseKE, Positions
from hedgerow.partition.mondrian.split import mondrian

__all__ = ["ke_refine"]


def ke_refine(
    labels: Codes,
    quasi: Codes,
    sizes: Sequence[int],
    sensitive: Codes,
    positions: Positions,
    *,
    k: int,
    e: int | Fraction,
    places: Sequence[NDArray[np.float64]] | None = None,
) -> Codes:
    """Return finer group numbers than `labels`, whose groups must be (k,e)-anonymous; the rest is as in `mondrian`."""
    return mondrian(quasi, sizes, sensitive, GroupwiseKE(KE(k, e), positions), places=places, within=labels)
