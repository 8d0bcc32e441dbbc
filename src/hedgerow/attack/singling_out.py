"""The adversary who looks for a description that fits exactly one person.

Source     Giomi et al., A unified framework for quantifying privacy risk in synthetic data, 2023 (singling out);
           Cohen and Nissim, Towards formalizing the GDPR's notion of singling out, 2020
Knows      the release
Guesses    that a description by some of the columns that fits one published row fits exactly one person
Rate       the share of descriptions that do
Baseline   descriptions whose parts come from different published rows
Control    the same descriptions on people of the same kind who were not published, as many of them
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.attack.seen import People, SeenColumn, numbered
from hedgerow.randomness import Keys, system_keys

__all__ = ["Description", "descriptions", "fitting", "mixed"]


CHOICES = 20
"""How many choices of columns are tried."""


@dataclass(frozen=True)
class Description:
    """What rows `rows[i]` show in columns `columns[i]`, all at once."""

    columns: tuple[int, ...]
    rows: tuple[int, ...]


def descriptions(
    columns: tuple[SeenColumn, ...], weights: NDArray[np.int64], *, wanted: int, keys: Keys = system_keys
) -> list[Description]:
    """Find descriptions that fit one published row: for some choices of columns, some of the rows that stand out."""
    found: list[Description] = []
    for _ in range(CHOICES):
        chosen = np.argsort(keys(len(columns)))[: 1 + _below(keys, len(columns))].tolist()
        looks = numbered([part for column in chosen for part in columns[column].look])
        single = np.flatnonzero(np.bincount(looks, weights)[looks] == 1)
        few = single[np.argsort(keys(len(single)))[: -(-wanted // CHOICES)]]
        found += [Description(tuple(chosen), (row,) * len(chosen)) for row in few.tolist()]
    return found


def mixed(found: list[Description], rows: int, *, keys: Keys = system_keys) -> list[Description]:
    """Return descriptions by the same columns, each part of another row."""
    return [Description(one.columns, tuple(_below(keys, rows) for _ in one.columns)) for one in found]


def fitting(columns: tuple[SeenColumn, ...], found: list[Description], people: People) -> NDArray[np.int64]:
    """Count the people whom each description fits."""
    return np.array([_fits(columns, one, people) for one in found], np.int64)


def _fits(columns: tuple[SeenColumn, ...], one: Description, people: People) -> int:
    left = np.arange(people.shape[1])
    for column, row in zip(one.columns, one.rows, strict=True):
        left = left[columns[column].holds(row, people[column][left])]
    return len(left)


def _below(keys: Keys, limit: int) -> int:
    return int(keys(1)[0]) % limit
