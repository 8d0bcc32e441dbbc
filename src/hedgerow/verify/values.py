"""A release as plain values: what was published, what is promised of it, and how it was made.

The decoder makes these from a bundle's bytes; methods make them in memory. Everything that verifies, asks or attacks a
release starts from here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import counted, printable
from hedgerow.exact import DecimalGrid
from hedgerow.markup import html_table

__all__ = [
    "HELP",
    "MANIFEST",
    "MOST_MANIFEST",
    "MOST_PAGE",
    "NOT_PROMISED",
    "PAGES",
    "FileEntry",
    "Guarantee",
    "Made",
    "PartEntry",
    "PublishedColumns",
    "PublishedRelease",
    "Rows",
    "Verification",
    "Whole",
    "is_end",
    "spread",
    "told_seed",
    "total",
]

PAGES = ("README.md", "index.html")
"""Files of a bundle for people; they are covered by checksums and are no part of the promise."""

MANIFEST = "manifest.json"

MOST_MANIFEST, MOST_PAGE = 16 << 20, 16 << 20
"""Bytes of a manifest, and of a page for people, that are read."""

HELP = ("all", "sums", "none")
"""What the help tables of a bundle in parts hold: every bound, those of sums alone, or there are none."""

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
class PartEntry:
    """One part of a bundle in parts: its published rows, the number of its first group, and how many groups it has."""

    rows: int
    first_group: int
    groups: int


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
    whole: Whole | None = None


@dataclass(eq=False)
class Whole:
    """What is known of all parts of a release while they are verified one after the other.

    `overall` has, for each sensitive column whose distribution matters, its distinct values, ascending, and how often
    each occurs, missing last; `grids` the units of numbers. Checks add up what they see in `numbers`, `least`, `most`,
    `named` and `met`; what the release declares of all parts is compared at the last one.
    """

    rows: Rows
    overall: Mapping[str, tuple[pa.Array, NDArray[np.int64]]] = field(default_factory=dict)
    grids: Mapping[str, DecimalGrid] = field(default_factory=dict)
    is_last: bool = False
    numbers: Counter[str] = field(default_factory=Counter)
    least: int = 2**63
    most: int = 0
    named: set[str] = field(default_factory=set)
    met: set[int] = field(default_factory=set)
    help_types: str = ""
    rare: Counter[tuple[object, ...]] = field(default_factory=Counter)


def told_seed(is_reproducible: bool) -> tuple[str, ...]:
    """What has to be said of a bundle that was made from a seed."""
    told = (
        "the manifest says that it was made from a seed: whoever learns the seed can undo it, so it is for tests only"
    )
    return (told,) if is_reproducible else ()


def is_end(release: PublishedRelease) -> bool:
    """Tell whether all rows were seen: always, but for parts before the last one."""
    return release.whole is None or release.whole.is_last


def total(release: PublishedRelease, name: str, number: int) -> int:
    """Add up a number over the parts that were seen; it is the number itself where a release is whole."""
    if release.whole is None:
        return number
    release.whole.numbers[name] += number
    return release.whole.numbers[name]


def spread(release: PublishedRelease, sizes: NDArray[np.int64]) -> tuple[str, str]:
    """In words: how many groups were seen, and how many rows they have."""
    least, most = int(sizes.min()), int(sizes.max())
    if release.whole is not None:
        release.whole.least = least = min(least, release.whole.least)
        release.whole.most = most = max(most, release.whole.most)
    return counted(total(release, "groups", len(sizes)), "group"), f"{least:,} to {most:,}"


@dataclass(frozen=True)
class Verification:
    """What was checked, a sentence each. It exists only if every check passed."""

    checks: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(f"ok  {printable(check)}" for check in self.checks)

    def _repr_html_(self) -> str:
        return html_table(("", "checked"), [("ok", check) for check in self.checks], texts=2)
