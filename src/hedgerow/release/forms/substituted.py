"""Other numbers in the place of some columns, and the list of the properties that they keep.

Source     [Xue 2011]
Guarantee  the rows are in random order, and a property names published rows, not input rows
Cost       O(n) for n rows and O(t) for t terms of properties

Table `release` has every published column. Table `properties` has one row per term: the sum of coefficient * (the value
of `column` in row `row` of the release, counted from 0) over the terms of one `property` is at most `at_most`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.partition.shuffles import permutation
from hedgerow.randomness import Keys, system_keys
from hedgerow.release.forms.example import altered_example
from hedgerow.release.forms.form import Form
from hedgerow.release.release import PublishedColumns

PROPERTY_COLUMNS = ("property", "column", "kind", "row", "coefficient", "at_most")


@dataclass(frozen=True, eq=False)
class PropertyTerms:
    """Properties of one column, term after term: `properties[t]` numbers the property of term t from 0, ascending.

    `rows` are input rows; `kinds` and `limits` have one entry per property.
    """

    column: str
    properties: NDArray[np.int64]
    rows: NDArray[np.int64]
    coefficients: NDArray[np.int64]
    kinds: NDArray[np.str_]
    limits: list[str]


def publish_substituted(
    kept: pa.Table,
    columns: PublishedColumns,
    replaced: Mapping[str, pa.Array],
    terms: Iterable[PropertyTerms],
    *,
    keys: Keys = system_keys,
) -> dict[str, pa.Table]:
    """Publish `kept` with some columns replaced, its rows in random order, and the properties over those rows."""
    order = permutation(kept.num_rows, keys=keys)
    rows = pa.array(order)
    published = {name: (replaced[name] if name in replaced else kept.column(name)).take(rows) for name in columns.all}
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return {"release": pa.table(published), "properties": _property_table(list(terms), place)}


def _property_table(parts: list[PropertyTerms], place: NDArray[np.int32]) -> pa.Table:
    counts = [len(part.limits) for part in parts]
    firsts = np.cumsum(counts) - counts
    numbers = [part.properties + first for part, first in zip(parts, firsts, strict=True)]
    return pa.table(
        {
            "property": np.concatenate(numbers).astype(np.int32),
            "column": pa.array([part.column for part in parts]).take(
                pa.array(np.repeat(np.arange(len(parts)), [len(part.rows) for part in parts]))
            ),
            "kind": pa.array(np.concatenate([part.kinds[part.properties] for part in parts])).cast(pa.string()),
            "row": place[np.concatenate([part.rows for part in parts])],
            "coefficient": np.concatenate([part.coefficients for part in parts]),
            "at_most": pa.concat_arrays(
                [pa.array(part.limits, pa.string()).take(pa.array(part.properties)) for part in parts]
            ),
        }
    )


SUBSTITUTED = Form(
    name="substituted",
    is_altered=True,
    done="Numbers were replaced by others that keep chosen properties; all other columns are as they were. Rows are in "
    "random order.",
    files={
        "release": "the columns {columns}",
        "properties": "what is kept, a row per term: over the terms of a `property` the sum of `coefficient` times the "
        "value of `column` in row `row` of the release (counted from 0) is at most `at_most`",
    },
    unverifiable=None,
    example=altered_example,
    evidence="altered",
)
