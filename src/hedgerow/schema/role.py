"""What a column means for the person behind the row."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Role"]


class Role(StrEnum):
    """The four things a column can be; every column of a table is exactly one of them."""

    IDENTIFIER = "identifier"
    """Points at one person by itself: dropped, never published."""

    QUASI = "quasi"
    """Known to outsiders or easily learned, so that a combination of several points at a person."""

    SENSITIVE = "sensitive"
    """What nobody may learn about a person."""

    PLAIN = "plain"
    """Neither known to outsiders nor worth hiding: published as it is."""
