"""Quasi-identifiers unchanged, sensitive values shuffled inside each group.

Source     [Zhang 2008], section 2.4
Guarantee  inside a group every assignment of its sensitive values to its rows is equally likely; the order of the
           published rows, the group numbers and the order inside a group are independent of the input's order
Cost       O(n) time; row numbers and codes of the sensitive column beyond the table

Rows are ordered by group. Group numbers are a secret relabelling, so the order reveals nothing, and readers may rely on
groups being contiguous.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.partition.shuffles import deal, permutation, shuffle_within
from hedgerow.randomness import Keys, order_keys, system_keys
from hedgerow.release.forms.form import Form, Labelled, join_tables
from hedgerow.release.forms.separated import publish_separated
from hedgerow.release.release import PublishedColumns

if TYPE_CHECKING:
    from hedgerow.partition.ke.runs import Pieces
    from hedgerow.table import Encoded, Table


def publish_permuted(
    kept: Table,
    columns: PublishedColumns,
    sensitive: Encoded,
    pieces: Pieces,
    *,
    group_column: str,
    keys: Keys = system_keys,
) -> pa.Table:
    """Publish the open columns of `kept` as they are beside a shuffled sensitive column and group numbers."""
    groups = _relabel(pieces.groups, keys)
    rows, offsets = deal(sensitive.codes, pieces.values, groups, pieces.counts, keys=keys)
    shuffle_within(rows, offsets, keys=order_keys(keys))
    codes = _values_by_group(pieces, groups)
    shuffle_within(codes, offsets, keys=order_keys(keys))
    numbers = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    published = kept.at((*columns.quasi, *columns.plain), rows)
    published[columns.sensitive[0]] = sensitive.decode(codes)
    published[group_column] = pa.array(numbers)
    return pa.table(published)


def _relabel(groups: NDArray[np.int32], keys: Keys) -> NDArray[np.int32]:
    """Give the groups secret random numbers."""
    return permutation(int(groups.max()) + 1, keys=order_keys(keys))[groups]


def _values_by_group(pieces: Pieces, groups: NDArray[np.int32]) -> NDArray[np.int32]:
    """List the codes of each group, group after group."""
    order = np.argsort(groups, kind="stable")
    return np.repeat(pieces.values[order], pieces.counts[order])


def _publish(rows: Labelled) -> dict[str, pa.Table]:
    return {"release": join_tables(publish_separated(rows), rows.columns, rows.group_column)}


PERMUTED = Form(
    name="permuted",
    done="The values of {sensitive} were shuffled inside {groups} of rows; all other columns are as they were.",
    files={"release": "the columns {columns} and `{group}`"},
    publish=_publish,
)
