"""What each form publishes as rows of columns beside a group number: the table on which questions are bound.

Two halves that share their groups are laid side by side. Where a column is published as something else than values, an
empty stand-in of the values' type takes its place: it tells the kind of the column and is never read as data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hedgerow.release.forms.generalized import SETS, box_columns
from hedgerow.release.forms.separated import joined

if TYPE_CHECKING:
    from hedgerow.release import Release

__all__ = ["rows_of"]


def rows_of(release: Release) -> pa.Table:
    """Return the rows of a release of any form."""
    form = release.form
    if form.has_boxes:
        return _boxed(release)
    if form.has_subdomains:
        return _people(release)
    if form.may_have_fakes:
        return _without_values(release)
    whole = release.tables.get("release")
    return joined(dict(release.tables), release.columns, release.group_column) if whole is None else whole


def _people(release: Release) -> pa.Table:
    """The rows of people beside a stand-in for their values, of which there may be more than rows."""
    table = release.tables["release" if "release" in release.tables else "quasi"]
    name, low = release.columns.sensitive[0], release.tables["target"].schema.field("low").type
    opened = table.select([*release.columns.quasi, *release.columns.plain, release.group_column])
    return opened.append_column(name, pa.nulls(table.num_rows, low))


def _without_values(release: Release) -> pa.Table:
    """The rows beside a stand-in for the values, of which there are more."""
    (name,) = release.columns.sensitive
    people, kind = release.tables["quasi"], release.tables["sensitive"].schema.field(name).type
    return people.append_column(name, pa.nulls(people.num_rows, kind))


def _boxed(release: Release) -> pa.Table:
    table, names = release.tables["release"], box_columns(release.columns, release.group_column)
    opened = table.select([*release.columns.plain, *release.columns.sensitive, release.group_column])
    for name in release.columns.quasi:
        low = names[name].low
        kind = table.schema.field(low).type if low in table.column_names else _set_type(release)
        opened = opened.append_column(name, pa.nulls(table.num_rows, kind))
    return opened


def _set_type(release: Release) -> pa.DataType:
    kind: pa.DataType = release.tables[SETS].schema.field("value").type
    return kind
