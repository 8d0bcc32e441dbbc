"""Quasi-identifiers and sensitive values in two tables, the values with counterfeits that belong to nobody.

Source     [Xiao 2007] and [Xiao 2006]
Guarantee  inside a group every assignment of its rows to its values is equally likely, counterfeits among them; the
           order of the published rows, the group numbers and the order inside a group are independent of the input's
Cost       O(n log n) time; row numbers beyond the table
Deviates   in the paper a counterfeit is a whole row and a second table counts them; here it is a value without a row,
           so that rows are counted exactly and everybody sees how many values of a group belong to nobody
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import one_array
from hedgerow.partition.shuffles import group_numbers, grouped_rows, shuffle_within
from hedgerow.randomness import Keys, system_keys
from hedgerow.release.forms.form import SHUFFLED, Form
from hedgerow.release.release import PublishedColumns, Release

if TYPE_CHECKING:
    from hedgerow.table import Table


def publish_padded(
    kept: Table,
    columns: PublishedColumns,
    labels: NDArray[np.int32],
    fake_groups: NDArray[np.int32],
    fakes: pa.Array,
    *,
    group_column: str,
    keys: Keys = system_keys,
) -> dict[str, pa.Table]:
    """Publish `quasi` and `sensitive`; the group that `labels` call `fake_groups[i]` gets the value `fakes[i]` as well.

    Every group has a row.
    """
    rows, offsets = grouped_rows(labels, keys=keys)
    secret = np.empty(len(offsets) - 1, np.int64)
    secret[labels[rows[offsets[:-1]]]] = np.arange(len(secret))
    owners = np.concatenate((np.repeat(np.arange(len(secret)), np.diff(offsets)), secret[fake_groups]))
    order = np.argsort(owners, kind="stable").astype(np.int32)
    ends = np.append(0, np.cumsum(np.bincount(owners)))
    shuffle_within(order, ends, keys=keys)
    opened = kept.at((*columns.quasi, *columns.plain), rows)
    name = columns.sensitive[0]
    values = pa.concat_arrays([one_array(kept.at((name,), rows)[name]), fakes]).take(pa.array(order))
    return {
        "quasi": pa.table({**opened, group_column: group_numbers(offsets)}),
        "sensitive": pa.table({name: values, group_column: group_numbers(ends)}),
    }


def _without_values(release: Release) -> pa.Table:
    """The rows beside an empty column for the values, of which there are more."""
    (name,) = release.columns.sensitive
    people, kind = release.tables["quasi"], release.tables["sensitive"].schema.field(name).type
    return people.append_column(name, pa.nulls(people.num_rows, kind))


PADDED = Form(
    name="padded",
    may_have_fakes=True,
    done="The values of {sensitive} are in a table of their own, in random order inside {groups} of rows, with "
    "counterfeit values that belong to nobody among them; all other columns are as they were.",
    files={
        "quasi": "the other columns and `{group}`",
        "sensitive": "{sensitive} and `{group}`; a group that has more values than rows has so many counterfeit ones, "
        "and nobody can tell which",
    },
    unverifiable=f"{SHUFFLED}, and how many of the values are counterfeit",
    rows=_without_values,
    evidence="padded",
)
