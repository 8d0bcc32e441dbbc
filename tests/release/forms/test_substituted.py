"""The substituted form."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hedgerow.randomness import seeded_keys
from hedgerow.release import PublishedColumns
from hedgerow.release.forms.substituted import PROPERTY_COLUMNS, PropertyTerms, publish_substituted

KEPT = pa.table({"name": ["p", "q", "r"], "a": [1, 2, 3], "b": [4, 5, 6], "s": ["x", "y", "z"]})


def _terms(column, rows):
    return PropertyTerms(
        column, np.array([0, 0, 1]), np.array(rows), np.array([1, -1, 2]), np.array(["order", "bound"]), ["0", "7/2"]
    )


def test_properties_follow_their_rows():
    """A property names the published place of the input row that it spoke of, whatever the shuffle."""
    columns = PublishedColumns(quasi=("a", "b"), sensitive=("s",))
    for seed in range(10):
        replaced = {"a": pa.array([10, 20, 30])}
        made = publish_substituted(
            KEPT, columns, replaced, [_terms("a", [2, 0, 1]), _terms("b", [0, 1, 2])], keys=seeded_keys(seed)
        )
        release, listed = made["release"], made["properties"]
        assert release.column_names == ["a", "b", "s"]
        assert sorted(zip(*release.to_pydict().values(), strict=True)) == [(10, 4, "x"), (20, 5, "y"), (30, 6, "z")]
        assert tuple(listed.column_names) == PROPERTY_COLUMNS
        named = [release[t["column"]][t["row"]].as_py() for t in listed.to_pylist()]
        assert named == [30, 10, 20, 4, 5, 6]
        assert listed["property"].to_pylist() == [0, 0, 1, 2, 2, 3]
        assert listed["at_most"].to_pylist() == ["0", "0", "7/2"] * 2
        assert listed["kind"].to_pylist() == ["order", "order", "bound"] * 2
