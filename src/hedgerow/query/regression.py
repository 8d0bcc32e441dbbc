"""What a regression gets back: one line per coefficient, for people and for programs."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

import pyarrow as pa

from hedgerow.digits import bound_texts
from hedgerow.errors import counted
from hedgerow.query.answer import MEANING

__all__ = ["Coefficient", "Regression"]


@dataclass(frozen=True)
class Coefficient:
    """One coefficient: the truth lies between `lower` and `upper`.

    `expected` and `std` are mean and deviation over all assignments that the release allows, each equally likely;
    `std` is no standard error of a sample. `exact` says that every assignment gives the same number.
    """

    term: str
    lower: float
    expected: float
    upper: float
    std: float
    exact: bool


@dataclass(frozen=True)
class Regression:
    """Least squares on a release. Bounds are reached by a table that the release allows, up to rounding outwards."""

    formula: str
    coefficients: tuple[Coefficient, ...]
    rows: int

    def __getitem__(self, term: str) -> Coefficient:
        """Return the coefficient of a term."""
        found = {line.term: line for line in self.coefficients}
        if term not in found:
            raise KeyError(f"{term!r} is none of the terms: {', '.join(found)}")
        return found[term]

    def __iter__(self) -> Iterator[Coefficient]:
        """List the coefficients in the order of the formula."""
        return iter(self.coefficients)

    def __len__(self) -> int:
        """Count the coefficients."""
        return len(self.coefficients)

    def to_arrow(self) -> pa.Table:
        """Return a table: term, lower, expected, upper, std, exact."""
        lines = [asdict(line) for line in self.coefficients]
        return pa.table({field.name: [line[field.name] for line in lines] for field in fields(Coefficient)})

    def to_pandas(self) -> Any:
        """Return a pandas frame with one row per term."""
        return self.to_arrow().to_pandas().set_index("term")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "formula": self.formula,
            "rows": self.rows,
            "coefficients": [asdict(line) for line in self.coefficients],
        }

    def __repr__(self) -> str:
        """Print a table."""
        cells = [("term", "lower", "expected", "upper", "std"), *(_cells(line) for line in self.coefficients)]
        widths = [max(len(row[place]) for row in cells) for place in range(5)]
        lines = [f"{self.formula}    ({counted(self.rows, 'row')})"]
        for row in cells:
            first, *rest = (text.rjust(width) for text, width in zip(row, widths, strict=True))
            lines.append("  ".join([row[0].ljust(len(first)), *rest]))
        return "\n".join([*lines, *self._meaning])

    def _repr_html_(self) -> str:
        """Draw a table with the bounds as bars on a scale that has zero in it."""
        head = "".join(f"<th>{name}</th>" for name in ("term", "lower", "expected", "upper", "std", ""))
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(line)) + f"<td>{_bar(line)}</td></tr>"
            for line in self.coefficients
        )
        title = f"{html.escape(self.formula)} ({counted(self.rows, 'row')})"
        table = f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return table + "".join(f"<small>{sentence}</small>" for sentence in self._meaning)

    @property
    def _meaning(self) -> list[str]:
        """What a deviation is, where there is one."""
        return [MEANING] if any(not line.exact for line in self.coefficients) else []


def _cells(line: Coefficient) -> tuple[str, str, str, str, str]:
    lower, expected, upper = bound_texts(line.lower, line.expected, line.upper, exact=line.exact)
    return line.term, lower, expected, upper, "exact" if line.exact else f"{line.std:.3g}"


def _bar(line: Coefficient, width: int = 160) -> str:
    """One coefficient as a line from its lower to its upper bound, with zero marked; each has its own scale."""
    low, high = min(line.lower, 0.0), max(line.upper, 0.0)
    span = high - low or 1.0

    def place(number: float) -> float:
        return 4 + (number / span - low / span) * (width - 8)

    parts = [
        f'<line x1="{place(0.0):.1f}" x2="{place(0.0):.1f}" y1="0" y2="14" stroke="#999"/>',
        f'<line x1="{place(line.lower):.1f}" x2="{place(line.upper):.1f}" y1="7" y2="7" stroke="#27b"/>',
        f'<circle cx="{place(line.expected):.1f}" cy="7" r="4" fill="#27b"/>',
    ]
    return f'<svg width="{width}" height="14">{"".join(parts)}</svg>'
