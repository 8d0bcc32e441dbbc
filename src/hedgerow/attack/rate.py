"""How often an adversary is right: a rate with an interval, next to what guessing gives.

Source     Wilson, probable inference, the law of succession, and statistical inference
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rate", "alike_trials", "percent", "wilson"]

_Z = 1.959963984540054
"""Two-sided 95 %."""


@dataclass(frozen=True)
class Rate:
    """`hits` of `trials` guesses were right; `baseline` is the rate of an adversary without the release."""

    hits: int
    trials: int
    baseline: float

    @property
    def rate(self) -> float:
        """The share of right guesses."""
        return self.hits / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """Where the rate lies with 95 % confidence."""
        return wilson(self.hits, self.trials)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.rate:.1%} ({low:.1%} to {high:.1%}; {percent(self.baseline)} by guessing)"


def wilson(hits: int, trials: int, *, alike: float = 1.0) -> tuple[float, float]:
    """The 95 % interval of a share; it stays within 0 and 1 and is honest where no or all trials hit.

    Where trials depend on each other, `alike` of them are worth one.
    """
    share, weight = hits / trials, _Z**2 * alike / trials
    middle = (share + weight / 2) / (1 + weight)
    half = math.sqrt(share * (1 - share) * weight + weight**2 / 4) / (1 + weight)
    # At either end the interval touches it exactly; rounding must not push it past.
    return (0.0 if hits == 0 else middle - half, 1.0 if hits == trials else middle + half)


def alike_trials(is_hit: NDArray[np.bool_], groups: NDArray[np.int64]) -> float:
    """How many trials are worth one, from how much the hits of groups scatter (Kish's design effect, at least 1)."""
    _, group_of = np.unique(groups, return_inverse=True)
    sizes, hits = np.bincount(group_of), np.bincount(group_of, is_hit)
    share = float(is_hit.mean())
    if share in (0.0, 1.0) or len(sizes) < 2:
        return len(is_hit) / len(sizes)
    scatter = float(((hits - share * sizes) ** 2).sum()) * len(sizes) / (len(sizes) - 1)
    return max(1.0, scatter / (len(is_hit) * share * (1 - share)))


def percent(share: float) -> str:
    """Write a small share with as many places as it needs, and one just below the whole not as the whole."""
    if 0.9995 <= share < 1:
        return ">99.9%"
    return f"{share:.1%}" if share >= 0.001 or share == 0 else f"{100 * share:.1g}%"
