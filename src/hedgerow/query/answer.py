"""What a question gets back: an interval that holds, and the middle of it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Answer", "Number"]

Number = int | float


@dataclass(frozen=True)
class Answer:
    """One aggregate over a release.

    `lower` and `upper` enclose the true answer and are reached by some assignment of values to rows that the release
    allows. `expected` and `std` are mean and standard deviation over all such assignments, each as likely as the
    others. `exact` says that every assignment gives the same answer. SQL's NULL is None, in all four.

    Bounds are `int` where column and aggregate are of whole numbers, otherwise `float`, rounded outwards. Where an
    assignment may leave the aggregate without a single row (only conditions on sensitive values and missing sensitive
    values can), the numbers speak of the assignments that leave it one.
    """

    lower: Number | None
    upper: Number | None
    expected: Number | None
    std: float | None
    exact: bool

    def __repr__(self) -> str:
        """Read as `80000 (exact)` or `between 530000 and 540000, expected 535000 ± 4082.48`."""
        if self.lower is None or self.upper is None or self.expected is None or self.std is None:
            return "NULL (exact)"
        if self.exact:
            return f"{self.expected:.15g} (exact)" if isinstance(self.expected, float) else f"{self.expected} (exact)"
        bounds = f"between {_text(self.lower)} and {_text(self.upper)}"
        return f"{bounds}, expected {self.expected:.8g} ± {self.std:.6g}"


def _text(number: Number) -> str:
    return str(number) if isinstance(number, int) else f"{number:.15g}"
