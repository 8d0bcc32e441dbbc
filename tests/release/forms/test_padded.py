"""The form with counterfeits: nothing tells which values they are."""

from collections import Counter

import numpy as np
import pyarrow as pa

from hedgerow.randomness import seeded_keys
from hedgerow.release.forms.padded import publish_padded
from hedgerow.release.release import PublishedColumns
from hedgerow.table import read_table

KEPT = read_table(pa.table({"age": [10, 20, 30, 40], "pay": [1, 2, 1, 3]}))
LABELS = np.array([0, 0, 1, 1], np.int32)


def _published(seed):
    fakes, values = np.array([1, 0, 1], np.int32), pa.array([7, 8, 9])
    columns = PublishedColumns(("age",), ("pay",))
    return publish_padded(KEPT, columns, LABELS, fakes, values, group_column="group", keys=seeded_keys(seed))


def test_groups_keep_their_people_and_their_values():
    """Under secret numbers each group has its rows, its values and its counterfeits, and nothing else."""
    for seed in range(20):
        tables = _published(seed)
        people, values = (tables[name].to_pylist() for name in ("quasi", "sensitive"))
        shown = {
            frozenset(row["age"] for row in people if row["group"] == g): sorted(
                row["pay"] for row in values if row["group"] == g
            )
            for g in (0, 1)
        }
        assert shown == {frozenset({10, 20}): [1, 2, 8], frozenset({30, 40}): [1, 3, 7, 9]}
        assert [row["group"] for row in people] == [0, 0, 1, 1]
        assert [row["group"] for row in values] == sorted(row["group"] for row in values)


def test_the_place_of_a_counterfeit_is_uniform():
    """Over many releases the counterfeit of the first group is at each of three places (chi-square, 1 in 10,000)."""
    places = Counter()
    for seed in range(900):
        values = _published(seed)["sensitive"].to_pylist()
        group = next(row["group"] for row in values if row["pay"] == 8)
        places[[row["pay"] for row in values if row["group"] == group].index(8), group] += 1
    assert sum((count - 150) ** 2 / 150 for count in places.values()) < 25.7
    assert len(places) == 6
