"""Quasi-identifiers and sensitive values in two tables, joined by nothing but the group.

Source     [Xiao 2006] (QIT and ST); taken up by [Li 2015]
Guarantee  inside a group every assignment of its sensitive values to its rows is equally likely; the order of the
           published rows, the group numbers and the order inside a group are independent of the input's order
Cost       O(n) time; row numbers beyond the table

Several sensitive columns stay together, a person's values in one row of the sensitive table, or are shuffled
separately, which also hides how they are combined inside a group.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.partition.shuffles import group_numbers, grouped_rows, reshuffle
from hedgerow.release.forms.form import Form, Labelled


def publish_separated(given: Labelled) -> dict[str, pa.Table]:
    """Publish the open columns as they are in `quasi` and the sensitive ones, shuffled, in `sensitive`."""
    rows, offsets = grouped_rows(given.labels, keys=given.keys)
    numbers = {given.group_column: group_numbers(offsets)}
    opened = given.table.at((*given.columns.quasi, *given.columns.plain), rows)
    hidden = sensitive_columns(given, rows, offsets)
    return {"quasi": pa.table(opened | numbers), "sensitive": pa.table(hidden | numbers)}


def sensitive_columns(
    given: Labelled, rows: NDArray[np.int32], offsets: NDArray[np.int64]
) -> dict[str, pa.Array | pa.ChunkedArray]:
    """Shuffle the sensitive columns inside their groups: by one permutation, or each by its own."""
    if given.together:
        return given.table.at(given.columns.sensitive, reshuffle(rows, offsets, keys=given.keys))
    apart: dict[str, pa.Array | pa.ChunkedArray] = {}
    for name in given.columns.sensitive:
        apart |= given.table.at((name,), reshuffle(rows, offsets, keys=given.keys))
    return apart


SEPARATED = Form(
    name="separated",
    done="The values of {sensitive} are in a table of their own, in random order inside {groups} of rows; all other "
    "columns are as they were.",
    files={"quasi": "the other columns and `{group}`", "sensitive": "{sensitive} and `{group}`"},
    publish=publish_separated,
)
