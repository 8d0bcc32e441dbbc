"""Quasi-identifiers and sensitive values in two tables, joined by nothing but the group.

Source     [Xiao 2006] (QIT and ST); taken up by [Li 2015]
Guarantee  inside a group every assignment of its sensitive values to its rows is equally likely; the order of the
           published rows, the group numbers and the order inside a group are independent of the input's order
Cost       O(n) time; row numbers beyond the table

Several sensitive columns stay together, a person's values in one row of the sensitive table, or are shuffled apart,
which hides how they go together inside a group, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.partition.shuffles import group_numbers, grouped_rows, reshuffle
from hedgerow.randomness import Keys, system_keys
from hedgerow.release.forms.form import Form, Labelled
from hedgerow.release.release import PublishedColumns

if TYPE_CHECKING:
    from hedgerow.table import Table

__all__ = ["SEPARATED", "publish_separated", "publish_two_tables", "sensitive_columns"]


def publish_two_tables(
    kept: Table,
    columns: PublishedColumns,
    labels: NDArray[np.int32],
    *,
    group_column: str,
    together: bool = True,
    keys: Keys = system_keys,
) -> dict[str, pa.Table]:
    """Publish the open columns as they are in `quasi` and the sensitive ones, shuffled, in `sensitive`.

    `labels` number the group of each row, -1 for rows that are suppressed.
    """
    rows, offsets = grouped_rows(labels, keys=keys)
    numbers = {group_column: group_numbers(offsets)}
    opened = kept.at((*columns.quasi, *columns.plain), rows)
    hidden = sensitive_columns(kept, columns, rows, offsets, together=together, keys=keys)
    return {"quasi": pa.table(opened | numbers), "sensitive": pa.table(hidden | numbers)}


def sensitive_columns(
    kept: Table,
    columns: PublishedColumns,
    rows: NDArray[np.int32],
    offsets: NDArray[np.int64],
    *,
    together: bool,
    keys: Keys,
) -> dict[str, pa.Array | pa.ChunkedArray]:
    """Shuffle the sensitive columns inside their groups: by one permutation, or each by its own."""
    if together:
        return kept.at(columns.sensitive, reshuffle(rows, offsets, keys=keys))
    apart: dict[str, pa.Array | pa.ChunkedArray] = {}
    for name in columns.sensitive:
        apart |= kept.at((name,), reshuffle(rows, offsets, keys=keys))
    return apart


def publish_separated(rows: Labelled) -> dict[str, pa.Table]:
    """Publish labelled rows in two tables."""
    return publish_two_tables(
        rows.table,
        rows.columns,
        rows.labels,
        group_column=rows.group_column,
        together=rows.together,
        keys=rows.keys,
    )


SEPARATED = Form(
    name="separated",
    done="The values of {sensitive} are in a table of their own, in random order inside {groups} of rows; all other "
    "columns are as they were.",
    files={"quasi": "the other columns and `{group}`", "sensitive": "{sensitive} and `{group}`"},
    publish=publish_separated,
)
