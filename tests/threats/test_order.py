"""threats.md, part A: order and group numbers say nothing, for every method of the registry.

One row is tagged: the only one whose plain column is true, and of the least salary. It stands first in one table and
last in another that is the same otherwise. Whatever is published about it must look alike.
"""

import math

import numpy as np
import pyarrow as pa
import pytest

from tests.support.every_method import SCHEMA, cases, people

RUNS = 24
SURE = 5.0
"""Deviations from what chance gives that no honest method shows in a lifetime of runs."""


def _tagged():
    table = people(16)
    return table.set_column(4, "note", pa.array([True] + [False] * 15))


def _seen(release):
    """Position of the tag, number of its group as a share, and the sensitive values of the group and at its place."""
    opened = release.tables["quasi" if "quasi" in release.tables else "release"]
    place = opened.column("note").to_pylist().index(True)
    if not release.groups or release.groups == 1 or release.group_column not in opened.column_names:
        return place, 0.5, None, None
    groups = np.asarray(opened.column(release.group_column))
    share = (groups[place] + 0.5) / release.groups
    hidden = release.tables.get("sensitive", opened)
    if "salary" not in hidden.column_names or hidden.num_rows != opened.num_rows:
        return place, share, None, None
    values = hidden.column("salary").to_pylist()
    numbers = np.asarray(hidden.column(release.group_column))
    return place, share, values[place], [values[row] for row in np.flatnonzero(numbers == groups[place])]


@pytest.fixture(scope="module", params=cases(), ids=str)
def runs(request):
    """What many releases show about the tag, first and last in the input."""
    first = _tagged()
    last = first.take(np.arange(first.num_rows)[::-1])
    return [[_seen(request.param.method.publish(table, SCHEMA)) for _ in range(RUNS)] for table in (first, last)]


def test_where_a_row_stood_does_not_show(runs):
    """Two-sample rank test: the published position is independent of the position in the input."""
    one, other = ([place for place, *_ in side] for side in runs)
    wins = sum((a > b) + 0.5 * (a == b) for a in one for b in other)
    spread = math.sqrt(RUNS * RUNS * (2 * RUNS + 1) / 12)
    assert abs(wins - RUNS * RUNS / 2) < SURE * spread


def test_positions_are_not_fixed(runs):
    """The tag is found in many places, not always in the same one."""
    assert len({place for side in runs for place, *_ in side}) > 4


def test_the_number_of_a_group_says_nothing(runs):
    """The group of the least salary and of the first row has no number more often than others."""
    shares = [share for side in runs for _, share, *_ in side]
    assert abs(np.mean(shares) - 0.5) < SURE * 0.29 / math.sqrt(len(shares))


def test_a_value_stands_at_its_own_place_as_often_as_chance_says(runs):
    """Identity, derangements and biased shuffles show in how often the tag keeps its own value."""
    excess, variance = 0.0, 0.0
    for _, _, value, values in (seen for side in runs for seen in side):
        if values is not None:
            chance = values.count(1) / len(values)
            excess += (value == 1) - chance
            variance += chance * (1 - chance)
    assert excess == 0 or abs(excess) < SURE * math.sqrt(variance)
