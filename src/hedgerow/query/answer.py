"""What a question gets back: an interval that holds, and the middle of it."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

__all__ = ["MEANING", "Answer", "Number"]

Number = int | float
MEANING = "std is the deviation over fair assignments, not a standard error of the truth; the guarantee is the bounds"
"""What has to be said wherever a deviation is printed."""


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
    best ones.
    """

    lower: Any
    upper: Any
    expected: Any
    std: float | None
    exact: bool
    bounded: bool = True
    reached: bool = True

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
        return f"{bounds}, expected {middle} ± {self.std:.6g}"

    def _repr_html_(self) -> str:
        """Say the same in a notebook, and what the deviation is."""
        meaning = f"<br><small>{MEANING}</small>" if self.bounded and self.std else ""
        reached = "" if self.reached else "<br><small>bounds that hold, and may be wider than the best ones</small>"
        return f"<div>{html.escape(repr(self))}{reached}{meaning}</div>"


def _text(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)
