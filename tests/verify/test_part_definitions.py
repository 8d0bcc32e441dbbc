"""Blocks and parts of a release against plain lists: whole groups, in order, nothing left out and nothing twice."""

from collections import Counter
from types import SimpleNamespace

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.verify.holding import hold
from hedgerow.verify.parts import PartsBundle, _add_counts, _ascending, _needs_overall, concat_parts, cut_blocks
from hedgerow.verify.promise import BLOCK, _has_blocks
from hedgerow.verify.values import Guarantee

TABLE = pa.table({"age": [n // 3 for n in range(24)], "s": [n % 4 for n in range(24)]})
SCHEMA = hr.Schema(quasi=["age"], sensitive="s")


@pytest.mark.parametrize("method", [
    hr.Anatomy(l=2), hr.KEAnonymity(k=2, e=1), hr.Mondrian(k=3), hr.Mondrian(k=3, t="0.9", distance="equal"),
])  # fmt: skip
@pytest.mark.parametrize("rows", [1, 2, 5, 7, 23, 24, 100])
def test_blocks_are_the_release(method, rows):
    """Put together, with their groups numbered on, they are its tables; each ends with the group that fills it."""
    release = method.publish(TABLE, SCHEMA).published
    found = {name: [] for name in release.tables}
    first, last = 0, []
    for block in cut_blocks(release, rows):
        assert block.whole.rows == release.rows
        for name, table in block.tables.items():
            groups = table["group"].to_pylist()
            assert set(groups) == set(range(block.groups))
            found[name] += [{**row, "group": row["group"] + first} for row in table.to_pylist()]
        longest = max(table.num_rows for table in block.tables.values())
        assert longest <= rows + max(Counter(groups).values()) or block.groups == 1
        first += block.groups
        last.append(block.whole.is_last)
    assert first == release.groups
    assert last == [False] * (len(last) - 1) + [True]
    assert found == {name: table.to_pylist() for name, table in release.tables.items()}
    if "t" in release.guarantee.parameters:
        values, counts = block.whole.overall["s"]
        assert dict(zip(values.to_pylist(), counts.tolist(), strict=True)) == Counter(TABLE["s"].to_pylist())
    else:
        assert not block.whole.overall


@pytest.mark.parametrize("rows", [1, 6, 12])
@pytest.mark.parametrize("method", [
    hr.Anatomy(l=2), hr.Mondrian(k=3), hr.KEAnonymity(k=2, e=1), hr.Noise(scale="0.1"),
])  # fmt: skip
def test_parts_put_together_are_the_release(tmp_path, method, rows):
    """The tables of a bundle in parts, groups and sets numbered on without gaps."""
    release = method.publish(TABLE, SCHEMA)
    release.save(tmp_path / "out", rows_per_part=rows)
    with hold(tmp_path / "out") as held:
        parts = PartsBundle.of(held)
        whole = concat_parts(parts)
        sizes = [parts.read(number)[0].rows.published for number in range(len(parts))]
    assert sum(sizes) == 24
    assert {name: table.to_pylist() for name, table in whole.tables.items()} == {
        name: table.to_pylist() for name, table in release.tables.items()
    }
    assert (whole.rows, whole.groups) == (release.rows, release.groups)


def test_counts_of_parts_add_up():
    """Missing values come last, and are no value."""
    columns = [[1, None, 2, 2], [2, 3, None], [None]]
    found = None
    for column in columns:
        part = SimpleNamespace(tables={"release": pa.table({"s": pa.array(column, pa.int64())})})
        found = _add_counts(found, part, "s")
    values, counts = _ascending(found)
    assert (values.to_pylist(), counts.tolist()) == ([1, 2, 3], [1, 3, 1, 3])


@pytest.mark.parametrize(("criterion", "parameters", "needs"), [
    ("groupwise", {"k": 2}, False), ("groupwise", {"k": 2, "alpha": "1"}, False), ("groupwise", {"t": "1"}, True),
    ("groupwise", {"beta": "1"}, True), ("groupwise", {"delta": "1"}, True), ("groupwise", {"presence_low": "0"}, True),
    ("frequency", {"l": 2}, False), ("other", {"t": "1"}, False),
])  # fmt: skip
def test_promises_that_compare_with_the_whole_table(criterion, parameters, needs):
    """Those about shares in the whole column."""
    assert _needs_overall(Guarantee(criterion, parameters, ("s",))) == needs


@pytest.mark.parametrize(("rows", "criterion", "tables", "whole", "has"), [
    (BLOCK, "ke", ["release"], None, False), (BLOCK + 1, "ke", ["release"], None, True),
    (BLOCK + 1, "frequency", ["quasi", "sensitive"], None, True), (BLOCK + 1, "robust", ["release"], None, False),
    (BLOCK + 1, "ke", ["release"], object(), False), (BLOCK + 1, "groupwise", ["release", "sets"], None, True),
    (BLOCK + 1, "ke", ["release", "target"], None, False),
])  # fmt: skip
def test_large_releases_are_looked_at_in_blocks(rows, criterion, tables, whole, has):
    """From one row more than a block on, where a criterion looks at one group after the other."""
    release = SimpleNamespace(
        whole=whole, rows=SimpleNamespace(published=rows), guarantee=SimpleNamespace(criterion=criterion),
        tables=dict.fromkeys(tables),
    )  # fmt: skip
    assert _has_blocks(release) == has
