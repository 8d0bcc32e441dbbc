"""Special uniques: rows that few columns single out already, scored by how few.

Source     [Elliot 2002]; the weights of the IHSN variant and DIS-SUDA as sdcMicro 5.8.1 has them, see
           docs/methods/measures.md
Cost       O(n log n) per combination of columns, of which d columns have 2^d: up to 14 columns

A minimal sample unique of a row is a combination of columns in which the row is unique, although it is not unique in
any part of the combination. With M columns, one of k columns counts (M-k)! ("original"), or (2^(M-k) - 1) k! (M-k)! /
M! ("ihsn").
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Codes, Floats
from hedgerow.errors import ParameterError
from hedgerow.utility.risk import class_codes

_MOST_COLUMNS = 14
_VARIANTS = ("original", "ihsn")


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """Scores of rows, the probability that a match is right (DIS-SUDA), and each column's share of the scores."""

    scores: Floats
    chances: Floats
    contributions: Mapping[str, float]

    @property
    def rows(self) -> int:
        """How many rows some combination of columns singles out."""
        return int((self.scores > 0).sum())


def special_uniques(
    columns: Mapping[str, pa.Array | pa.ChunkedArray], *, variant: str = "original", fraction: float = 0.01
) -> SpecialUniques:
    """Score every row of a table; `fraction` is the share of the population that was sampled, for the probabilities."""
    if variant not in _VARIANTS:
        raise ParameterError(f"'variant' must be one of {', '.join(_VARIANTS)}; got {variant!r}.")
    if not 1 <= len(columns) <= _MOST_COLUMNS:
        raise ParameterError(f"Special uniques are searched in 1 to {_MOST_COLUMNS} columns; got {len(columns)}.")
    if not 0 < fraction < 1:
        raise ParameterError("'fraction' must lie between 0 and 1: the share of the population that was sampled.")
    names, many = list(columns), len(columns)
    total = np.zeros(len(next(iter(columns.values()))))
    shares = dict.fromkeys(names, 0.0)
    for chosen, found in _minimal_uniques(columns):
        weight = _weight(many, len(chosen), variant)
        total += weight * found
        for name in chosen:
            shares[name] += weight * int(found.sum())
    whole = float(total.sum())
    contributions = {name: share / whole if whole else 0.0 for name, share in shares.items()}
    return SpecialUniques(total, _chances(columns, total, fraction), contributions)


def _minimal_uniques(
    columns: Mapping[str, pa.Array | pa.ChunkedArray],
) -> Iterator[tuple[tuple[str, ...], NDArray[np.bool_]]]:
    """Each combination with the rows that are unique in it and in no part of it, few columns first."""
    codes = {name: class_codes([column]) for name, column in columns.items()}
    nothing = np.zeros(len(next(iter(codes.values()))), np.int32)
    numbers: dict[tuple[str, ...], Codes] = {(): nothing}
    singled: dict[tuple[str, ...], NDArray[np.bool_]] = {(): nothing > 0}
    for size in range(1, len(codes) + 1):
        for chosen in combinations(codes, size):
            *first, last = chosen
            joined = numbers[tuple(first)].astype(np.int64) * (int(codes[last].max(initial=0)) + 1) + codes[last]
            classes = np.unique(joined, return_inverse=True)[1].astype(np.int32)
            parts = [singled[(*chosen[:place], *chosen[place + 1 :])] for place in range(size)]
            before = np.logical_or.reduce(parts)
            unique = np.bincount(classes)[classes] == 1
            numbers[chosen], singled[chosen] = classes, before | unique
            yield chosen, unique & ~before


def _weight(many: int, size: int, variant: str) -> float:
    if variant == "original":
        return float(math.factorial(many - size))
    share = math.factorial(size) * math.factorial(many - size) / math.factorial(many)
    return float((2 ** (many - size) - 1) * share)


def _chances(columns: Mapping[str, pa.Array | pa.ChunkedArray], scores: Floats, fraction: float) -> Floats:
    """DIS-SUDA: the probability that a match with a unique is right, spread over rows by their scores."""
    sizes = np.bincount(class_codes(list(columns.values())))
    unique, pairs = int((sizes == 1).sum()), 2 * int((sizes == 2).sum())
    chances, special = np.zeros(len(scores)), scores > 0
    if not unique or not special.any():
        return chances
    overall = unique * fraction / (unique * fraction + pairs * (1 - fraction))
    power = 1 + (8 - len(columns)) / 20
    scale = float((scores[special] ** -power).sum())
    chances[special] = 1 / (1 + (unique / overall - unique) / (scores[special] ** power * scale))
    return chances
