"""The adversary who looks for a description that fits exactly one person.

Source     Giomi et al., A unified framework for quantifying privacy risk in synthetic data, 2023 (singling out);
           Cohen and Nissim, Towards formalizing the GDPR's notion of singling out, 2020
Knows      the release
Guesses    that a description by some of the columns that fits one published row fits exactly one person
Rate       the share of descriptions that do
Baseline   descriptions whose parts come from different published rows
Control    the same descriptions on people of the same kind who were not published, as many of them if there are; fewer
           are hit less often, so that a small holdout makes the release look worse, not better
Cost       a sort of the rows per choice of columns, a sort of the people per column, and for each description a look at
           the people whom its most telling part leaves
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.attack.candidates import People, SeenColumn, combined, numbered
from hedgerow.attack.described import Crowd
from hedgerow.randomness import Keys, system_keys

__all__ = ["Description", "descriptions", "fitting", "mixed"]


CHOICES = 60
"""How many choices of columns are tried: how well descriptions fit depends more on their columns than on the rows."""


@dataclass(frozen=True)
class Description:
    """What rows `rows[i]` show in columns `columns[i]`, all at once."""

    columns: tuple[int, ...]
    rows: tuple[int, ...]


def descriptions(
    columns: tuple[SeenColumn, ...], weights: NDArray[np.int64], *, wanted: int, keys: Keys = system_keys
) -> list[Description]:
    """Find descriptions that fit one published row: for some choices of columns, some of the rows that stand out."""
    looks = [numbered(column.look) for column in columns]
    found: list[Description] = []
    for _ in range(CHOICES):
        chosen = np.argsort(keys(len(columns)))[: 1 + _below(keys, len(columns))].tolist()
        few = _singles(combined([looks[column] for column in chosen]), weights, -(-wanted // CHOICES), keys)
        found += [Description(tuple(chosen), (row,) * len(chosen)) for row in few.tolist()]
    return found


def _singles(looks: NDArray[np.int64], weights: NDArray[np.int64], most: int, keys: Keys) -> NDArray[np.int64]:
    """Some of the rows, drawn at random, that look like no other and stand for one person."""
    ordered = np.sort(looks)
    is_new = np.append(True, ordered[1:] != ordered[:-1])
    alone = ordered[is_new & np.append(is_new[1:], True)]
    if weights.max(initial=1) > 1:
        alone = np.intersect1d(alone, looks[weights == 1])
    few = alone[np.argsort(keys(len(alone)))[:most]]
    return np.flatnonzero(np.isin(looks, few))


def mixed(found: list[Description], rows: int, *, keys: Keys = system_keys) -> list[Description]:
    """Return descriptions by the same columns, each part of another row."""
    return [Description(one.columns, tuple(_below(keys, rows) for _ in one.columns)) for one in found]


def fitting(columns: tuple[SeenColumn, ...], found: list[Description], people: People) -> NDArray[np.int64]:
    """Count the people whom each description fits."""
    crowd = Crowd(columns, people)
    return np.array([crowd.count(one.columns, one.rows) for one in found], np.int64)


def _below(keys: Keys, limit: int) -> int:
    return int(keys(1)[0]) % limit
