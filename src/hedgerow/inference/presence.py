"""How likely a combination of values exists in a group whose columns were shuffled apart.

Source     [Li 2015], lemma 1
Guarantee  exact: every arrangement of each column is equally likely, independently of the others
Cost       O(d n^2) fractions for d columns and a value that occurs n times
Deviates   the printed product of shares is the chance of one given row, not of the group: 2/25 instead of 2/5 for a
           value that one of five rows has and one that two have
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from hedgerow.errors import ParameterError

__all__ = ["presence", "presence_at_most"]


def presence(counts: Sequence[int], rows: int) -> Fraction:
    """The chance that one of `rows` rows has all of several values, of which `counts` rows have each."""
    _check(counts, rows)
    chances = {counts[0]: Fraction(1)}
    for count in counts[1:]:
        chances = _met(chances, count, rows)
    return 1 - chances.get(0, Fraction(0))


def presence_at_most(counts: Sequence[int], rows: int) -> Fraction:
    """A bound on the chance: the mean number of rows that have all of the values, at most 1."""
    _check(counts, rows)
    return min(Fraction(1), Fraction(math.prod(counts), rows ** (len(counts) - 1)))


def _met(chances: dict[int, Fraction], count: int, rows: int) -> dict[int, Fraction]:
    """How many rows still have all values once another column is dealt: a hypergeometric draw."""
    after: dict[int, Fraction] = {}
    for left, chance in chances.items():
        for both in range(max(0, left + count - rows), min(left, count) + 1):
            ways = math.comb(left, both) * math.comb(rows - left, count - both)
            after[both] = after.get(both, Fraction(0)) + chance * Fraction(ways, math.comb(rows, count))
    return after


def _check(counts: Sequence[int], rows: int) -> None:
    if rows < 1 or not counts or not all(0 <= count <= rows for count in counts):
        raise ParameterError(
            "'counts' must be at least one number of rows, each between 0 and 'rows', which is positive."
        )
