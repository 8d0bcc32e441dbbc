"""The class `Form`: how a release is laid out in tables, and every capability in which forms differ.

Code elsewhere asks for a capability (`release.form.has_boxes`), never for a name. A form equals its name, as the
members of a StrEnum do, so that tables keyed by names serve forms as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.randomness import Keys, system_keys
from hedgerow.release.forms.example import Example, values_example
from hedgerow.release.release import PublishedColumns
from hedgerow.verify.values import NOT_PROMISED

if TYPE_CHECKING:
    from hedgerow.release.release import Release
    from hedgerow.schema import Hierarchy
    from hedgerow.table import Table

SHUFFLED = "that values were shuffled fairly, group numbers and the order of rows included"


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows with the number of their group (-1: suppressed), and how they are to be published.

    `together` keeps a person's sensitive values in one row; a column in `hierarchies` is widened to nodes, not below
    its level in `levels`, by forms that widen.
    """

    table: Table
    columns: PublishedColumns
    labels: NDArray[np.int32]
    group_column: str
    together: bool = True
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    keys: Keys = system_keys


def _no_ends(columns: PublishedColumns, group_column: str) -> Mapping[str, str]:
    return {}


def whole_rows(release: Release) -> pa.Table:
    """The published rows; two tables lie side by side."""
    whole = release.tables.get("release")
    return join_tables(release.tables, release.columns, release.group_column) if whole is None else whole


def join_tables(tables: Mapping[str, pa.Table], columns: PublishedColumns, group_column: str) -> pa.Table:
    """Lay the two tables side by side, which is the form permuted: their rows are in random order inside each group."""
    quasi, sensitive = tables["quasi"], tables["sensitive"]
    sides = {name: quasi.column(name) for name in (*columns.quasi, *columns.plain)}
    sides |= {name: sensitive.column(name) for name in columns.sensitive}
    return pa.table(sides | {group_column: quasi.column(group_column)})


@dataclass(frozen=True, eq=False, repr=False)
class Form:
    """The tables, capabilities and texts of one form.

    `done` and the lines of `files` are sentences of the bundle's README, with {sensitive}, {columns}, {rows},
    {suppressed}, {groups} and {group} to fill in; a file is listed where the release has its table. `unverifiable` is
    what has to be trusted because the published bytes cannot show it; `presence` is what is not promised about being
    in the table. `known_columns` says how columns that are not sensitive are published.
    """

    name: str
    done: str
    files: Mapping[str, str]

    has_boxes: bool = False
    """Quasi-identifiers are published as intervals or sets, the same for all rows of a group."""
    has_subdomains: bool = False
    """Sensitive values are published as nodes of a tree."""
    columns_apart: bool = False
    """Every column is shuffled on its own inside a group, so that no published row is a person's."""
    may_have_fakes: bool = False
    """A group may have more sensitive values than rows; nobody can tell which belong to nobody."""
    is_altered: bool = False
    """Values are replaced by others. There are no groups, and an answer is an estimate without bounds."""

    known_columns: str = "as they are"
    unverifiable: str | None = SHUFFLED
    presence: str = NOT_PROMISED[0]
    lower_ends: Callable[[PublishedColumns, str], Mapping[str, str]] = _no_ends
    """For each column that is not published as values, the published column that holds its lower ends."""
    rows: Callable[[Release], pa.Table] = whole_rows
    """The published rows as questions see them. A column that is published as something else than values is empty in
    them: it carries the kind of the column and is never read as data."""
    evidence: str = "permuted"
    """The module of `query/evidence` whose `source` answers questions about the form."""
    publish: Callable[[Labelled], dict[str, pa.Table]] | None = None
    """Publish rows that a method labelled with groups; None where more than labels is needed."""

    example: Callable[[Release, Collection[str]], Example | None] = values_example
    """A question for the README, of a release and the columns of its help table; None where there is nothing to ask."""

    @property
    def has_groups(self) -> bool:
        """Rows are in groups, which bounds follow from."""
        return not self.is_altered

    @property
    def keeps_rows(self) -> bool:
        """A published row shows the quasi-identifiers of one person together, as values."""
        return not (self.has_boxes or self.columns_apart)

    @property
    def lists_values(self) -> bool:
        """A group lists its sensitive values, fakes among them where there are any."""
        return self.has_groups and not self.has_subdomains

    @property
    def lists_true_values(self) -> bool:
        """A group lists the sensitive values of its rows, each exactly once."""
        return self.lists_values and not self.may_have_fakes

    @property
    def places_people(self) -> bool:
        """A person's quasi-identifiers determine which groups the person may be in, and these list their values."""
        return self.lists_values and not self.columns_apart

    @property
    def is_permutation(self) -> bool:
        """Only the order of sensitive values inside groups was changed: plain SQL over rows and `help` gives bounds."""
        return self.lists_true_values and self.keeps_rows

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Form({self.name!r})"

    def __eq__(self, other: object) -> bool:
        return self.name == (other.name if isinstance(other, Form) else other)

    def __hash__(self) -> int:
        return hash(self.name)
