"""The adversary to whom a number nearly right is right.

Knows      quasi-identifiers of everyone, and that they are in the table
Guesses    the value of the person's group that has most of the group in its neighbourhood
Rate       exact, not sampled: the share of people whose number lies in the neighbourhood of the guess, on average over
           the shuffle
Baseline   the same without groups: the most crowded neighbourhood of the whole column

A guess may also lie between the values of a group, where a neighbourhood of the same width can hold more: `anywhere`
takes the fullest stretch that one neighbourhood covers, wherever its middle is. A promise about neighbourhoods of the
group's own values at most doubles for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.attack.beliefs import Beliefs
from hedgerow.criteria.neighbourhood import Neighbourhood, Reach, general
from hedgerow.errors import ParameterError
from hedgerow.exact import column_line

__all__ = ["Proximity", "proximity"]


@dataclass(frozen=True)
class Proximity:
    """How often a guess is near enough: on average, at worst, by a guess anywhere, and without groups."""

    rate: float
    worst: float
    anywhere: float
    baseline: float


def proximity(seen: Beliefs, near: Neighbourhood) -> Proximity:
    """Attack a column of numbers without missing values."""
    line = column_line(seen.domain, seen.column)
    reach = near.reach(line)
    covered = np.maximum.reduceat(_covered(seen, reach), seen.starts[:-1])
    anywhere = np.maximum.reduceat(_covered(seen, _stretch(near).reach(line)), seen.starts[:-1])
    return Proximity(
        rate=float(covered @ seen.sizes / seen.sizes.sum()),
        worst=float(covered.max()),
        anywhere=float(anywhere.max()),
        baseline=_fullest(seen.overall, reach),
    )


def _stretch(near: Neighbourhood) -> Neighbourhood:
    """All that lies in one neighbourhood with a value that is the least in it, whatever the middle is."""
    if near.share == 0:
        return Neighbourhood(above=near.below + near.above)
    up, down = 1 + near.share, 1 - near.share
    if down == 0:
        raise ParameterError("'eps' must be below 1: a neighbourhood as wide as the value itself holds everything.")
    return general(lambda least: (least, least * up / down if least >= 0 else least * down / up))


def _covered(seen: Beliefs, reach: Reach) -> Floats:
    """The chance of each (group, value) pair's neighbourhood."""
    width = len(seen.overall)
    bases = seen.owners * width
    keys = bases + seen.values
    upto = np.append(0.0, np.cumsum(seen.shares))
    first = np.searchsorted(keys, bases + reach.first[seen.values])
    behind = np.searchsorted(keys, bases + reach.last[seen.values], side="right")
    return _chance(upto[behind] - upto[first])


def _fullest(overall: Floats, reach: Reach) -> float:
    upto = np.append(0.0, np.cumsum(overall))
    return float(_chance(upto[reach.last + 1] - upto[reach.first]).max())


def _chance(differences: Floats) -> Floats:
    """Running sums round: a group that lies wholly in one neighbourhood would be hit with slightly more than 1."""
    return np.clip(differences, 0.0, 1.0)
