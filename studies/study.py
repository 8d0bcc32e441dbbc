"""A paper's experiment, re-run: its claims, each with a verdict, and the figures and numbers behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

__all__ = ["Claim", "Study"]


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper in our words, and what we saw. `holds` is None where it cannot be decided here."""

    source: str
    says: str
    holds: bool | None
    seen: str

    @property
    def verdict(self) -> str:
        """The claim's fate in a word or two."""
        return {True: "holds", False: "does not hold", None: "not decided"}[self.holds]


@dataclass(frozen=True)
class Study:
    """An experiment that was re-run."""

    title: str
    claims: tuple[Claim, ...]
    figures: tuple[Path, ...] = ()
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
