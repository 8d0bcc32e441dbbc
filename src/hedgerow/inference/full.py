"""The probability that each row of a group has each value, for an adversary who knows the odds of all values.

Source     [Wong 2009], section 3: shares of possible worlds, which are permanents
Guarantee  exact up to rounding (all terms positive) where the program has at most `MOST_STATES` states
Cost       O(S D) for S states and D kinds: S = product of (count + 1) over the distinct values, or over the distinct
           signatures of the group, whichever is smaller; at most 2^N for N rows
Deviates   the paper adds up possible worlds, of which there are exponentially many

Items of one side (rows by signature, or values) are assigned one after the other to the kinds of the other side. A
state counts how many of each kind are used, so its sum is the number of assigned items: all steps share one array.

For the two values x and not x ([Wong 2009], section 3) p(u) = o_u e_{c-1}(o without u) / e_c(o) over the odds o of the
group's rows, c of which have x: relative error below `relative_error`, O(N c) time and O(c sqrt N) memory for a group
of N rows; `at_most` decides p <= 1/r exactly, in O(N c) whole-number operations. The paper adds up possible worlds, of
which there are exponentially many. The polynomials are built from probabilities tilted by a common factor, which
changes no p and moves their bulk to c: every sum then has positive terms of moderate size, so nothing cancels,
overflows or vanishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.kernel import SMALL, kernel


@overload
def relative_error(rows: int) -> float: ...
@overload
def relative_error(rows: Ints) -> Floats: ...
def relative_error(rows: Any) -> Any:
    """How far a computed p can be off, relative to itself, in a group of `rows` rows."""
    return (16.0 * rows + 64.0) * 2.0**-52


def at_most(yes: Sequence[int], no: Sequence[int], c: int, r: Fraction) -> bool:
    """Decide p <= 1/r for every row exactly; row i has odds `yes[i] : no[i]` of x.

    False if the knowledge contradicts the group.

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


def binary_posteriors(odds: Floats, offsets: Ints, counts: Ints, *, calls: int = 1) -> Floats:
    """p of every row, group after group; `counts[g]` rows of group g have x. Infinite odds stand for certainty.

    Where the knowledge contradicts the group (more certain rows than occurrences, or fewer possible ones) p is 1.
    `calls` says how many such calls are to come: a great many small ones are worth the compiled loop.
    """
    # Per row the program takes as many steps as there are occurrences, and some twenty to find the tilt.
    steps = int((np.diff(offsets) * np.where(counts > 1, counts + 20, counts)).sum())
    return (by_group.plain if steps * calls <= SMALL else by_group.compiled)(odds, offsets, counts)


@kernel
def by_group(odds: Floats, offsets: Ints, counts: Ints) -> Floats:
    """The loop of `binary_posteriors`."""
    result = np.zeros(len(odds))
    for g in range(len(counts)):
        if counts[g] > 0:
            _binary_group(odds[offsets[g] : offsets[g + 1]], counts[g], result[offsets[g] : offsets[g + 1]])
    return result


@kernel
def _binary_group(odds: Floats, c: int, result: Floats) -> None:
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
def _tilt(odds: Floats, c: int) -> float:
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
def _by_polynomials(odds: Floats, c: int, result: Floats) -> None:
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
def _times(polynomial: Floats, yes: float, no: float) -> None:
    """Multiply a polynomial in place by (no + yes * z)."""
    for j in range(len(polynomial) - 1, 0, -1):
        polynomial[j] = polynomial[j] * no + polynomial[j - 1] * yes
    polynomial[0] *= no


MOST_STATES = 1 << 21
"""Programs up to this many states take well below a second."""


def states(kinds: Ints) -> float:
    """The number of states of a program over kinds with these counts."""
    return float(np.prod(kinds + 1.0))


def full_posteriors(weights: Floats, rows: Ints, counts: Ints) -> Floats:
    """p for each signature and value: `weights[s, y]` is f, `rows[s]` rows have signature s, `counts[y]` values are y.

    Knowledge that contradicts the group (no world has a positive weight) gives p = 1 everywhere.
    """
    program = _group if min(states(rows), states(counts)) <= SMALL else _group.compiled
    return program(np.ascontiguousarray(weights, np.float64), rows, counts)


def full_by_group(
    weights: Floats,
    signatures: NDArray[np.int32],
    values: NDArray[np.int32],
    offsets: Ints,
    member: Bools,
    most_states: int = MOST_STATES,
) -> tuple[Floats, Bools]:
    """p of each row for each protected set of values, and which groups were too large for the program (p = 1 there).

    `values` are those of the group in any order. `member[i, y]` says that value y belongs to the protected set i.
    """
    small = len(values) * most_states <= SMALL
    return (_groups.plain if small else _groups.compiled)(weights, signatures, values, offsets, member, most_states)


@kernel
def _groups(
    weights: Floats,
    signatures: NDArray[np.int32],
    values: NDArray[np.int32],
    offsets: Ints,
    member: Bools,
    most_states: int,
) -> tuple[Floats, Bools]:
    """Posteriors of the protected sets for the rows of every group, and which groups have too many states."""
    p = np.zeros((len(signatures), len(member)))
    too_large = np.zeros(len(offsets) - 1, np.bool_)
    for g in range(len(offsets) - 1):
        first, last = offsets[g], offsets[g + 1]
        kinds, rows = _tally(signatures[first:last])
        distinct, counts = _tally(values[first:last])
        if not member[:, distinct].any():
            continue
        fewest = min(np.prod(rows + 1.0), np.prod(counts + 1.0))
        if fewest > most_states and len(kinds) > 1:
            too_large[g] = True
            p[first:last] = 1.0
            continue
        shares = _group(weights[kinds][:, distinct], rows, counts)
        for row in range(first, last):
            s = np.searchsorted(kinds, signatures[row])
            for y in range(len(distinct)):
                for i in range(len(member)):
                    if member[i, distinct[y]]:
                        p[row, i] += shares[s, y]
    return p, too_large


@kernel
def _tally(codes: NDArray[np.int32]) -> tuple[Ints, Ints]:
    """The distinct codes, ascending, and how often each occurs."""
    ascending = np.sort(codes)
    distinct, counts = np.empty(len(codes), np.int64), np.zeros(len(codes), np.int64)
    last = -1
    for i in range(len(ascending)):
        if i == 0 or ascending[i] != ascending[i - 1]:
            last += 1
            distinct[last] = ascending[i]
        counts[last] += 1
    return distinct[: last + 1], counts[: last + 1]


@kernel
def _group(weights: Floats, rows: Ints, counts: Ints) -> Floats:
    """How likely a row of each signature has each value, for one group."""
    kinds, values = weights.shape
    p = np.empty((kinds, values))
    if kinds == 1:
        p[0] = counts / rows[0]
        return p
    scaled = balance(weights, rows, counts)
    if np.prod(counts + 1.0) <= np.prod(rows + 1.0):
        dealt = _deal(scaled, rows, counts)
        return np.where(dealt < 0.0, 1.0, dealt)
    # Dealing values to rows gives how likely an occurrence of y falls on signature s; spread it over the rows of s.
    dealt = _deal(np.ascontiguousarray(scaled.T), counts, rows)
    for s in range(kinds):
        for y in range(values):
            p[s, y] = min(1.0, dealt[y, s] * counts[y] / rows[s]) if dealt[y, s] >= 0.0 else 1.0
    return p


@kernel
def balance(weights: Floats, rows: Ints, counts: Ints) -> Floats:
    """Scale rows and columns, which changes no p, until expected counts fit: the permanent is then of moderate size."""
    scaled = weights.copy()
    kinds, values = scaled.shape
    for _ in range(20):
        for y in range(values):
            share = 0.0
            for s in range(kinds):
                share += scaled[s, y] * rows[s]
            if share == 0.0:  # the group has y although no row can have it: all rows are equally likely
                scaled[:, y] = 1.0 / rows.sum()
            else:
                scaled[:, y] /= share
        for s in range(kinds):
            share = max((scaled[s] * counts).sum(), 1e-300)
            scaled[s] /= share
    # A balanced matrix of N rows has a permanent near e^-N; a factor of e per row undoes that.
    return scaled * np.e


@kernel
def _deal(weights: Floats, items: Ints, kinds: Ints) -> Floats:
    """Deal `items[a]` things of each type a to `kinds[b]` places of each kind b: p[a, b] for a thing of type a.

    Where no way to deal them has a positive weight every p is -1.
    """
    types, places = weights.shape
    steps = np.ones(places + 1, np.int64)
    for b in range(places):
        steps[b + 1] = steps[b] * (kinds[b] + 1)
    size = steps[places]
    total = items.sum()
    type_of = np.empty(total + 1, np.int64)
    first = np.zeros(types, np.int64)
    place = 0
    for a in range(types):
        first[a] = place
        type_of[place : place + items[a]] = a
        place += items[a]
    type_of[total] = -1
    used = np.zeros(size, np.int64)
    before, after = np.zeros(size), np.zeros(size)
    before[0], after[size - 1] = 1.0, 1.0
    for state in range(1, size):
        for b in range(places):
            if (state // steps[b]) % (kinds[b] + 1) > 0:
                smaller = state - steps[b]
                used[state] = used[smaller] + 1
                before[state] += before[smaller] * weights[type_of[used[smaller]], b]
    for state in range(size - 2, -1, -1):
        for b in range(places):
            if (state // steps[b]) % (kinds[b] + 1) < kinds[b]:
                after[state] += after[state + steps[b]] * weights[type_of[used[state]], b]
    p = np.zeros((types, places))
    for state in range(size - 1):
        a = type_of[used[state]]
        if first[a] == used[state]:
            for b in range(places):
                if (state // steps[b]) % (kinds[b] + 1) < kinds[b]:
                    p[a, b] += before[state] * weights[a, b] * after[state + steps[b]]
    whole = before[size - 1]
    return p / whole if whole > 0.0 else np.full((types, places), -1.0)
