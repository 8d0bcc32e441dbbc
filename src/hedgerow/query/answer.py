"""What a question gets back: an interval that holds, and the middle of it."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

__all__ = ["MEANING", "Answer", "Learned", "Number"]

Number = int | float
MEANING = "std is the deviation over fair assignments, not a standard error of the truth; the guarantee is the bounds"
"""What has to be said wherever a deviation is printed."""


@dataclass(frozen=True)
class Learned:
    """What known columns tell about the answer: an estimate inside the bounds, and its standard error.

    The guarantee is the bounds. `note` says where no model helps, or where the estimate was moved to a bound.
    """

    estimate: Any
    standard_error: float | None
    note: str = ""

    def __str__(self) -> str:
        error = "" if self.standard_error is None else f" ± {self.standard_error:.6g}"
        note = f" ({self.note})" if self.note else ""
        return f"learned {_text(self.estimate)}{error}{note}"


@dataclass(frozen=True)
class Answer:
    """One aggregate over a release.

    `lower` and `upper` enclose the true answer and are reached by some assignment of values to rows that the release
    allows. `expected` and `std` are mean and standard deviation over all such assignments, each as likely as the
    others: `std` is no standard error of the truth, which is one assignment; the guarantee is the bounds. `exact` says
    that every assignment gives the same answer. SQL's NULL is None, in all four.

    Bounds are `int` where column and aggregate are of whole numbers, otherwise `float`, rounded outwards. Where an
    assignment may leave the aggregate without a single row (only conditions on sensitive values and missing sensitive
    values can), the numbers speak of the assignments that leave it one. MIN and MAX of texts, dates and truth values
    are such values; texts and truth values have no mean.

    A release of changed values (perturbed, swapped, substituted) allows no bounds: `bounded` is false, `lower` and
    `upper` are None, and `expected` is an estimate. Where `reached` is false, the bounds hold and may be wider than the
    best ones. `learned` is a better guess than `expected`, where it was asked for.
    """

    lower: Any
    upper: Any
    expected: Any
    std: float | None
    exact: bool
    bounded: bool = True
    reached: bool = True
    learned: Learned | None = None

    def __repr__(self) -> str:
        """Read as `80000 (exact)` or `between 530000 and 540000, expected 535000 ± 4082.48`."""
        if not self.bounded:
            return f"about {_text(self.expected)} (an estimate without bounds)"
        if self.lower is None or self.upper is None:
            return "NULL (exact)"
        if self.exact:
            return f"{_text(self.expected)} (exact)"
        bounds = f"between {_text(self.lower)} and {_text(self.upper)}"
        if self.expected is None or self.std is None:
            return bounds
        middle = f"{self.expected:.8g}" if isinstance(self.expected, int | float) else str(self.expected)
        guess = "" if self.learned is None else f"; {self.learned}"
        return f"{bounds}, expected {middle} ± {self.std:.6g}{guess}"

    def _repr_html_(self) -> str:
        """Say the same in a notebook, and what the deviation is."""
        meaning = f"<br><small>{MEANING}</small>" if self.bounded and self.std else ""
        reached = "" if self.reached else "<br><small>bounds that hold, and may be wider than the best ones</small>"
        return f"<div>{html.escape(repr(self))}{reached}{meaning}</div>"


def _text(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)
