"""How many different numbers rows give together with their hidden values: COUNT(DISTINCT x) of a mixed expression.

Source     own
Guarantee  the true number lies inside the bounds, which are called reached only where they agree
Cost       one assignment problem per different number, up to a few of them

A number is there in every assignment if the fewest pairs that give it are one at least. There are no more
different numbers than pairs that count, or than numbers that some pair gives. What is expected is left open: whether
a number occurs depends on all rows at once.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from hedgerow.query.aggregates.mixed import Pairs, count_of_pairs, least_total
from hedgerow.query.answer import Estimate, Rounding

__all__ = ["estimate_distinct"]

_MOST_NUMBERS = 64
"""Different numbers of which each is looked at by itself."""


def estimate_distinct(pairs: Pairs, *, is_loose: bool) -> Estimate:
    """Bound the number of different values; numbers that are `is_loose` may be equal or not, whatever their ends."""
    count = count_of_pairs(pairs)
    lower = [min(int(fewest or 0), 1) for fewest in count.lower]
    upper = [int(most or 0) for most in count.upper]
    if not is_loose and pairs.is_sharp:
        numbers, number = np.unique(pairs.low, return_inverse=True)
        cell = pairs.cell[pairs.owner]
        given = np.unique((cell * len(numbers) + number.reshape(-1))[pairs.possible])
        kinds = np.bincount(given // max(len(numbers), 1), minlength=pairs.cells)
        upper = [min(a, b) for a, b in zip(upper, kinds.tolist(), strict=True)]
        lower = [max(a, b) for a, b in zip(lower, _sure_numbers(pairs), strict=True)]
    exact = [a == b for a, b in zip(lower, upper, strict=True)]
    expected = [float(a) if same else math.nan for a, same in zip(lower, exact, strict=True)]
    ends = [[Fraction(n) for n in side] for side in (lower, upper)]
    std = [0.0 if same else math.nan for same in exact]
    return Estimate(list(ends[0]), list(ends[1]), expected, std, exact, Rounding.WHOLE, reached=list(exact))


def _sure_numbers(pairs: Pairs) -> list[int]:
    """How many numbers every assignment has, per cell; none is looked for where there are too many."""
    numbers = np.unique(pairs.low[pairs.sure])
    found = [0] * pairs.cells
    for number in numbers if len(numbers) <= _MOST_NUMBERS else ():
        fewest, _ = least_total(pairs, (pairs.sure & (pairs.low == number)).astype(np.int64))
        found = [a + (n > 0) for a, n in zip(found, fewest, strict=True)]
    return found
