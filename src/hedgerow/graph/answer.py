"""What a question to a grouped graph gets back: an interval that holds, and its middle."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GraphAnswer"]

Number = int | float


@dataclass(frozen=True)
class GraphAnswer:
    """One aggregate over a grouped graph.

    `lower` and `upper` enclose the true answer. `expected` is the mean over all assignments of entities to nodes that
    fit the release, each as likely as the others, and `std` their standard deviation; each is None where it has no
    closed form. `exact` says that every assignment gives the same answer; bounds that are no whole numbers are rounded
    outwards all the same. `kind` counts the sides with conditions on entities: 0, 1 or 2. SQL's NULL is None in all
    numbers; where some assignments select nothing, the numbers speak of those that select something.
    """

    lower: Number | None
    upper: Number | None
    expected: float | None
    exact: bool
    kind: int
    std: float | None = None

    def __repr__(self) -> str:
        if self.lower is None or self.upper is None:
            return "NULL (exact)"
        if self.exact:
            return f"{_text(self.lower if isinstance(self.lower, int) else float(self.expected or 0))} (exact)"
        middle = "no expectation in closed form" if self.expected is None else f"expected {self.expected:.8g}"
        spread = "" if self.std is None else f" with a standard deviation of {self.std:.4g}"
        return f"between {_text(self.lower)} and {_text(self.upper)}, {middle}{spread}"


def _text(number: Number) -> str:
    return str(number) if isinstance(number, int) else f"{number:.15g}"
