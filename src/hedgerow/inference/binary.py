"""How likely each row of a group has x, to an adversary who knows the odds of x against not x.

Source     [Wong 2009], section 3, for the two values x and not x
Guarantee  p(u) = o_u e_{c-1}(o without u) / e_c(o) over the odds o of the group's rows, c of which have x;
           relative error below `relative_error`; `at_most` decides p <= 1/r exactly
Cost       O(N c) time and O(c sqrt N) memory for a group of N rows; `at_most` O(N c) whole-number operations
Deviates   the paper adds up possible worlds, of which there are exponentially many

The polynomials are built from probabilities tilted by a common factor, which changes no p and moves their bulk to c:
every sum then has positive terms of moderate size, so nothing cancels, overflows or vanishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hedgerow.kernel import SMALL, kernel

__all__ = ["at_most", "binary_posteriors", "by_group", "relative_error"]


@overload
def relative_error(rows: int) -> float: ...
@overload
def relative_error(rows: NDArray[np.int64]) -> NDArray[np.float64]: ...
def relative_error(rows: int | NDArray[np.int64]) -> float | NDArray[np.float64]:
    """How far a computed p can be off, relative to itself, in a group of `rows` rows."""
    return (16.0 * rows + 64.0) * 2.0**-52


def at_most(yes: Sequence[int], no: Sequence[int], c: int, r: Fraction) -> bool:
    """Decide p <= 1/r for every row exactly; row i has odds `yes[i] : no[i]` of x. A contradiction is not at most.

    p rises with a row's odds, so the row with the greatest odds decides.
    """
    if c == 0:
        return True
    top = max(range(len(yes)), key=lambda i: Fraction(yes[i], no[i]) if no[i] else Fraction(2**200))
    others = _elementary([pair for i, pair in enumerate(zip(yes, no, strict=True)) if i != top], c)
    has, has_not = yes[top] * others[c - 1], no[top] * others[c]
    return has + has_not > 0 and r * has <= has + has_not


def _elementary(pairs: Sequence[tuple[int, int]], c: int) -> list[int]:
    """The coefficients 0..c of the product of (no + yes z) over all pairs."""
    product = [1] + [0] * c
    for yes, no in pairs:
        for degree in range(c, 0, -1):
            product[degree] = product[degree] * no + product[degree - 1] * yes
        product[0] *= no
    return product


def binary_posteriors(
    odds: NDArray[np.float64], offsets: NDArray[np.int64], counts: NDArray[np.int64], *, calls: int = 1
) -> NDArray[np.float64]:
    """p of every row, group after group; `counts[g]` rows of group g have x. Infinite odds stand for certainty.

    Where the knowledge contradicts the group (more certain rows than occurrences, or fewer possible ones) p is 1.
    `calls` says how many such calls are to come: a great many small ones are worth the compiled loop.
    """
    # Per row the program takes as many steps as there are occurrences, and some twenty to find the tilt.
    steps = int((np.diff(offsets) * np.where(counts > 1, counts + 20, counts)).sum())
    return (by_group.plain if steps * calls <= SMALL else by_group.compiled)(odds, offsets, counts)


@kernel
def by_group(odds: NDArray[np.float64], offsets: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The loop of `binary_posteriors`."""
    result = np.zeros(len(odds))
    for g in range(len(counts)):
        if counts[g] > 0:
            _group(odds[offsets[g] : offsets[g + 1]], counts[g], result[offsets[g] : offsets[g + 1]])
    return result


@kernel
def _group(odds: NDArray[np.float64], c: int, result: NDArray[np.float64]) -> None:
    """Write the probability of x for each row of one group in which x occurs c times; impossible odds give 1."""
    size = len(odds)
    low, high, total = odds[0], odds[0], 0.0
    certain, possible = 0, 0
    for o in odds:
        low, high, total = min(low, o), max(high, o), total + o
        certain += o == np.inf
        possible += o > 0.0
    if low == high:
        result[:] = c / size
    elif certain > c or possible < c:
        result[:] = 1.0
    elif certain == c or possible == c:
        for u in range(size):
            has = odds[u] == np.inf if certain == c else odds[u] > 0.0
            result[u] = 1.0 if has else 0.0
    elif c == 1:
        for u in range(size):
            result[u] = odds[u] / total
    else:
        _by_polynomials(odds, c - certain, result)


@kernel
def _tilt(odds: NDArray[np.float64], c: int) -> float:
    """The factor by which all odds are multiplied so that c rows are expected to have x, to a hundredth."""
    low, high = 1e-300, 1e300
    while high > 1.01 * low:
        middle = np.sqrt(low) * np.sqrt(high)
        expected = 0.0
        for o in odds:
            if o < np.inf:
                expected += 1.0 - 1.0 / (1.0 + middle * o)
        if expected < c:
            low = middle
        else:
            high = middle
    return float(low)


@kernel
def _by_polynomials(odds: NDArray[np.float64], c: int, result: NDArray[np.float64]) -> None:
    """Prefix products times suffix products: leaving a row out by division would cancel digits."""
    size = len(odds)
    tilt = _tilt(odds, c)
    yes, no = np.zeros(size), np.ones(size)
    for u in range(size):
        if odds[u] == np.inf:
            result[u] = 1.0
        elif odds[u] > 0.0:
            tilted = min(tilt * odds[u], 1e300)
            yes[u], no[u] = tilted / (1.0 + tilted), 1.0 / (1.0 + tilted)
    step = int(np.sqrt(size)) + 1
    blocks = (size + step - 1) // step
    starts = np.zeros((blocks, c + 1))  # the prefix product before each block; those inside are built again
    running = np.zeros(c + 1)
    running[0] = 1.0
    for u in range(size):
        if u % step == 0:
            starts[u // step] = running
        _times(running, yes[u], no[u])
    whole = running[c]
    after = np.zeros(c + 1)
    after[0] = 1.0
    inside = np.zeros((step, c + 1))
    for block in range(blocks - 1, -1, -1):
        first, last = block * step, min((block + 1) * step, size)
        inside[0] = starts[block]
        for u in range(first + 1, last):
            inside[u - first] = inside[u - first - 1]
            _times(inside[u - first], yes[u - 1], no[u - 1])
        for u in range(last - 1, first - 1, -1):
            if odds[u] < np.inf:
                shared = 0.0
                for j in range(c):
                    shared += inside[u - first, j] * after[c - 1 - j]
                result[u] = yes[u] * shared / whole
            _times(after, yes[u], no[u])


@kernel
def _times(polynomial: NDArray[np.float64], yes: float, no: float) -> None:
    """Multiply a polynomial in place by (no + yes * z)."""
    for j in range(len(polynomial) - 1, 0, -1):
        polynomial[j] = polynomial[j] * no + polynomial[j - 1] * yes
    polynomial[0] *= no
