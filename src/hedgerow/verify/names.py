"""The names of columns that a form derives from others: writer, reader and verifier derive the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hedgerow.verify.values import PublishedColumns

__all__ = ["PROPERTY_KINDS", "SETS", "BoxColumns", "box_columns", "free_name", "subdomain_columns"]

SETS = "sets"
"""The table of the sets' values: `column`, `set`, `value`."""

PROPERTY_KINDS = ("locality", "order", "bound", "given")


@dataclass(frozen=True)
class BoxColumns:
    """The names under which a quasi-identifier is published; which of them there are depends on its type."""

    label: str
    low: str
    high: str
    set: str
    missing: str

    @property
    def all(self) -> tuple[str, str, str, str, str]:
        """Every name."""
        return self.label, self.low, self.high, self.set, self.missing


def box_columns(columns: PublishedColumns, group_column: str) -> dict[str, BoxColumns]:
    """Name the columns of each quasi-identifier, clear of all other names."""
    used = {name.lower() for name in (*columns.all, group_column)}
    return {name: BoxColumns(name, *_derived(name, ("low", "high", "set", "missing"), used)) for name in columns.quasi}


def subdomain_columns(columns: PublishedColumns, group_column: str) -> tuple[str, str, str]:
    """The names of the columns low, high and node of the sensitive column."""
    used = {name.lower() for name in (*columns.all, group_column)}
    low, high, node = _derived(columns.sensitive[0], ("low", "high", "node"), used)
    return low, high, node


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """Return `wanted`, or the first of wanted_2, wanted_3, ... that no column has; SQL ignores case, so do we."""
    return _free(wanted, {name.lower() for name in taken})


def _derived(column: str, suffixes: Sequence[str], used: set[str]) -> list[str]:
    names = []
    for suffix in suffixes:
        names.append(_free(f"{column}_{suffix}", used))
        used.add(names[-1].lower())
    return names


def _free(wanted: str, used: set[str]) -> str:
    candidates = (wanted if n == 1 else f"{wanted}_{n}" for n in range(1, len(used) + 2))
    return next(name for name in candidates if name.lower() not in used)
