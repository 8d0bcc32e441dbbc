"""Every column shuffled separately inside its group, open columns in one table and sensitive ones in another.

Source     [Li 2015], definition 1 (PQT and PST)
Guarantee  inside a group every combination of its values is equally likely, for each column independently; the order of
           the published rows and the group numbers are independent of the input's order
Cost       O(n) time a column; row numbers beyond the table

Unlike the form separated, this one does not show which combinations of quasi-identifiers exist: of N rows, n_1 of which
have one value and n_2 another, the pair occurs with the probability of a hypergeometric intersection. Plain columns are
shuffled as well: in place they would link the other columns.
"""

from __future__ import annotations

import pyarrow as pa

from hedgerow.partition.shuffles import group_numbers, grouped_rows, reshuffle
from hedgerow.release.forms.form import Form, Labelled
from hedgerow.release.forms.separated import sensitive_columns
from hedgerow.verify.words import PRESENCE_APART


def publish_scattered(given: Labelled) -> dict[str, pa.Table]:
    """Publish every open column by its own permutation in `quasi`, the sensitive ones in `sensitive`."""
    rows, offsets = grouped_rows(given.labels, keys=given.keys)
    numbers = {given.group_column: group_numbers(offsets)}
    opened: dict[str, pa.Array | pa.ChunkedArray] = {}
    for name in (*given.columns.quasi, *given.columns.plain):
        opened |= given.table.at((name,), reshuffle(rows, offsets, keys=given.keys))
    hidden = sensitive_columns(given, rows, offsets)
    return {"quasi": pa.table(opened | numbers), "sensitive": pa.table(hidden | numbers)}


SCATTERED = Form(
    name="scattered",
    columns_apart=True,
    done="Every column was shuffled on its own inside {groups} of rows, so that no row belongs to anybody.",
    files={
        "quasi": "the columns that are not sensitive, each shuffled on its own, and `{group}`; of N rows of a group, "
        "n_1 to n_d of which meet d conditions one by one, max(0, n_1 + ... + n_d - (d-1)N) to min(n_1, ..., n_d) meet "
        "all of them",
        "sensitive": "{sensitive} and `{group}`",
    },
    known_columns="shuffled inside its group",
    presence=PRESENCE_APART,
    publish=publish_scattered,
    evidence="scattered",
)
