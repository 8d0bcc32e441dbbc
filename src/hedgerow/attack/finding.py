"""What an adversary is and what it finds: a rate with an interval beside what guessing gives, as data and in words.

Source     [Wilson 1927] for the interval; Kish's design effect for guesses that depend on each other
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from hedgerow.arrays import Bools, Ints
from hedgerow.digits import number_text

if TYPE_CHECKING:
    from hedgerow.attack.context import Context

SLIGHT = 0.05
"""A gain over the control, or over guessing, of no more than this calls for nothing."""

KNOWS_GROUPS = "quasi-identifiers of everyone and their groups"
NOTHING_TO_DO = "Nothing to do."
STOP = "Do not publish: the promise does not hold. Run `hedgerow verify` and report what it says."

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
    """Wilson's 95 % interval of a share: it stays within 0 and 1, and is valid where no trial or every trial hits.

    Where trials are correlated, `alike` of them count as one.
    """
    share, weight = hits / trials, _Z**2 * alike / trials
    middle = (share + weight / 2) / (1 + weight)
    half = math.sqrt(share * (1 - share) * weight + weight**2 / 4) / (1 + weight)
    # At either end the interval touches it exactly; rounding must not push it past.
    return (0.0 if hits == 0 else middle - half, 1.0 if hits == trials else middle + half)


def alike_trials(is_hit: Bools, groups: Ints) -> float:
    """How many correlated trials count as one: Kish's design effect, from how hits vary between groups; at least 1."""
    _, group_of = np.unique(groups, return_inverse=True)
    sizes, hits = np.bincount(group_of), np.bincount(group_of, is_hit)
    share = float(is_hit.mean())
    if share in (0.0, 1.0) or len(sizes) < 2:
        return len(is_hit) / len(sizes)
    scatter = float(((hits - share * sizes) ** 2).sum()) * len(sizes) / (len(sizes) - 1)
    return max(1.0, scatter / (len(is_hit) * share * (1 - share)))


def percent(share: float) -> str:
    """Write a share with as many decimals as it needs; one just below 1 is not rounded to 100 %."""
    if 0.9995 <= share < 1:
        return ">99.9%"
    return f"{share:.1%}" if share >= 0.001 or share == 0 else f"{number_text(100 * share, 1)}%"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One adversary against one release.

    `rate` is the share of guesses that are right, between `low` and `high` with 95 % confidence; where `exact` is true
    it was computed, not sampled, and all three are equal. `baseline` is what guessing gives, `control` the same attack
    on people or values about whom the release says nothing, `risk` what is left of the rate beyond the control.
    `worst` is the probability for the person worst off; `promised` is what the guarantee says about it, None where the
    guarantee says nothing about this adversary.
    """

    adversary: str
    column: str
    knows: str
    guesses: str
    rate: float
    low: float
    high: float
    exact: bool
    trials: int
    baseline: float
    control: float | None = None
    worst: float | None = None
    promised: float | None = None
    sentence: str = ""
    next_step: str = ""
    seconds: float = 0.0

    @property
    def risk(self) -> float | None:
        """How much of what could be gained over the control is gained; None without a control."""
        if self.control is None:
            return None
        return 0.0 if self.control >= 1 else max(0.0, (self.rate - self.control) / (1 - self.control))

    @property
    def holds(self) -> bool | None:
        """Whether the promise is kept, sampling and rounding aside; None where nothing is promised."""
        if self.promised is None:
            return None
        return (self.worst if self.worst is not None else self.low) <= self.promised * (1 + 1e-9)

    def conclude(self, sentence: str, next_step: str) -> Finding:
        """Add the words, which are chosen after the numbers are known."""
        return msgspec.structs.replace(self, sentence=sentence, next_step=next_step)


class Skipped(msgspec.Struct, frozen=True):
    """An adversary that does not apply, and why."""

    adversary: str
    reason: str


@dataclass(frozen=True)
class Adversary:
    """One adversary of the report: `measure` tries it, once for each sensitive column where `per_column`.

    A need says what is missing for it, or None. Adversaries are printed by `order`: from those who need the release
    alone to those who need most beside it.
    """

    name: str
    order: int
    measure: Callable[[Context], Finding | None]
    needs: tuple[Callable[[Context], str | None], ...]
    per_column: bool = True


def sampled_rate(hits: int, trials: int) -> dict[str, Any]:
    """The measured part of a finding: a share of trials with its interval."""
    low, high = wilson(hits, trials)
    return {"rate": hits / trials, "low": low, "high": high, "exact": False, "trials": trials}


def clustered_rate(is_hit: Bools, groups: Ints) -> dict[str, Any]:
    """The measured part of a finding whose guesses inside a group are correlated."""
    hits, trials = int(is_hit.sum()), len(is_hit)
    low, high = wilson(hits, trials, alike=alike_trials(is_hit, groups))
    return {"rate": hits / trials, "low": low, "high": high, "exact": False, "trials": trials}


def exact_rate(rate: float, trials: int) -> dict[str, Any]:
    """The measured part of a finding that was computed over all people."""
    return {"rate": rate, "low": rate, "high": rate, "exact": True, "trials": trials}
