"""A release as plain values: what was published, what is promised of it, and how it was made.

The decoder makes these from a bundle's bytes; methods make them in memory. Everything that verifies, asks or attacks a
release starts from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from hedgerow.markup import html_table

__all__ = [
    "MANIFEST",
    "NOT_PROMISED",
    "PAGES",
    "FileEntry",
    "Guarantee",
    "Made",
    "PublishedColumns",
    "PublishedRelease",
    "Rows",
    "Verification",
]

PAGES = ("README.md", "index.html")
"""Files of a bundle for people; they are covered by checksums and are no part of the promise."""

MANIFEST = "manifest.json"

NOT_PROMISED = (
    "Presence: whoever knows the quasi-identifiers of a person can see whether a row with them was published.",
    "Composition: a second, independent release of the same rows can narrow down what this one hides.",
    "Correlation: whoever knows how the sensitive column depends on the quasi-identifiers guesses better than chance.",
)
"""What no method that publishes quasi-identifiers as they are can promise."""


@dataclass(frozen=True)
class FileEntry:
    """One file of a bundle; `rows` is None for text."""

    sha256: str
    bytes: int
    rows: int | None = None


@dataclass(frozen=True)
class Guarantee:
    """A promise as data, which `verify` re-derives, and in words, which follow from the data.

    `parameters` are exact: integers, or fractions and decimals as text. `adversary` says what the other side is assumed
    to know; against anyone who knows more nothing is promised.
    """

    criterion: str
    parameters: Mapping[str, int | str]
    columns: tuple[str, ...]
    promise: str = ""
    adversary: str = ""
    not_promised: tuple[str, ...] = ()


@dataclass(frozen=True)
class PublishedColumns:
    """The names of the published columns by what they mean; identifiers are gone."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    plain: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Every published column in the order of publication."""
        return (*self.quasi, *self.plain, *self.sensitive)


@dataclass(frozen=True)
class Rows:
    """How many rows came in, were published and were suppressed. The difference is never silent."""

    input: int
    published: int
    suppressed: int = 0


@dataclass(frozen=True)
class Made:
    """How a release was made: the method's name, its parameters, and where its randomness came from.

    `texts` names the policies for texts that were declared; `merged` counts, for each column of text that has one, the
    values that differed from others in nothing that the policy keeps.
    """

    method: str
    parameters: Mapping[str, int | str]
    missing: Mapping[str, str] = field(default_factory=dict)
    reproducible: bool = False
    merged: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class PublishedRelease:
    """Published tables with what is said of them."""

    form: str
    tables: Mapping[str, pa.Table]
    columns: PublishedColumns
    group_column: str
    guarantee: Guarantee
    rows: Rows
    groups: int
    made: Made


@dataclass(frozen=True)
class Verification:
    """What was checked, a sentence each. It exists only if every check passed."""

    checks: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(f"ok  {check}" for check in self.checks)

    def _repr_html_(self) -> str:
        return html_table(("", "checked"), [("ok", check) for check in self.checks], texts=2)
