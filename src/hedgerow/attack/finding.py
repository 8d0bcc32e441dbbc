"""What an adversary found, as data and as a sentence: the lines of the bench."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.attack.rate import alike_trials, wilson

__all__ = ["SLIGHT", "Bench", "Finding", "Skipped", "counted", "counted_in", "exactly", "with_words"]

SLIGHT = 0.05
"""A gain over the control, or over guessing, of no more than this calls for nothing."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One adversary against one release.

    `rate` is the share of guesses that are right, between `low` and `high` with 95 % confidence; where `exact` is true
    it was computed, not sampled, and all three are equal. `baseline` is what guessing gives, `control` the same attack
    on people or values about whom the release says nothing, `risk` what is left of the rate beyond the control.
    `worst` is the chance for the person worst off; `promised` is what the guarantee says about it, None where the
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


class Skipped(msgspec.Struct, frozen=True):
    """An adversary that does not apply, and why."""

    adversary: str
    reason: str


class Bench(msgspec.Struct, frozen=True):
    """All adversaries against one release. `msgspec.to_builtins` and `json` give it as data."""

    method: str
    form: str
    rows: int
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]

    def json(self) -> bytes:
        """Return the bench as JSON, each finding with its derived `risk` and `holds`."""
        built = msgspec.to_builtins(self)
        built["findings"] = [
            plain | {"risk": finding.risk, "holds": finding.holds}
            for plain, finding in zip(built["findings"], self.findings, strict=True)
        ]
        return msgspec.json.format(msgspec.json.encode(built), indent=2)

    def label(self, finding: Finding) -> str:
        """The adversary's name, and its column where it attacks several."""
        same = [other for other in self.findings if other.adversary == finding.adversary]
        return finding.adversary if len(same) == 1 else f"{finding.adversary}: {finding.column}"

    def __getitem__(self, adversary: str) -> Finding:
        """Return the first finding of an adversary; KeyError if it did not apply."""
        found = next((finding for finding in self.findings if finding.adversary == adversary), None)
        if found is None:
            raise KeyError(adversary)
        return found


def counted(hits: int, trials: int) -> dict[str, Any]:
    """The measured part of a finding: a share of trials with its interval."""
    low, high = wilson(hits, trials)
    return {"rate": hits / trials, "low": low, "high": high, "exact": False, "trials": trials}


def counted_in(is_hit: NDArray[np.bool_], groups: NDArray[np.int64]) -> dict[str, Any]:
    """The measured part of a finding whose guesses inside a group stand and fall together."""
    hits, trials = int(is_hit.sum()), len(is_hit)
    low, high = wilson(hits, trials, alike=alike_trials(is_hit, groups))
    return {"rate": hits / trials, "low": low, "high": high, "exact": False, "trials": trials}


def exactly(rate: float, trials: int) -> dict[str, Any]:
    """The measured part of a finding that was computed over all people."""
    return {"rate": rate, "low": rate, "high": rate, "exact": True, "trials": trials}


def with_words(finding: Finding, sentence: str, next_step: str) -> Finding:
    """Return a finding with its words, which are chosen after its numbers are known."""
    return msgspec.structs.replace(finding, sentence=sentence, next_step=next_step)
