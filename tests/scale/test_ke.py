"""(k,e)-anonymity in blocks keeps the promise of (k,e)-anonymity in memory, on tables that are hard to cut."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import Infeasible, InputError, ParameterError
from hedgerow.methods.scaled import decide_and_scatter
from hedgerow.scale.coding import count_table
from hedgerow.scale.duckdb import DuckEngine

MOST = 8


def publish(method, table, schema, tmp_path, most=MOST, seed=1):
    """The releases of the blocks, in the order in which they are published."""
    with DuckEngine(table, tmp_path / "out", memory=1 << 30) as engine:
        engine.block_rows = most
        decided = decide_and_scatter(method._plan_blocks, count_table(engine, schema), seed=seed)
        return list(engine.run(decided.block, decided.order))


def groups_of(releases):
    """The published values of each group, as a definition-based audit sees them."""
    groups = []
    for release in releases:
        own, table = [[] for _ in range(release.groups)], release.to_arrow()
        for number, value in zip(table["group"].to_pylist(), table["pay"].to_pylist(), strict=True):
            own[number].append(value)
        groups += own
    return groups


TABLES = {
    "spread": [10 * n for n in range(40)],
    "nine in ten are zero": [0] * 90 + list(range(10)),
    "border values shared": [0, 0, 0, 5, 5, 5, 5, 5, 10, 10, 10, 10, 15, 15, 15, 15, 20, 20, 20, 20],
    "few values": [1, 2] * 20,
    "decimals": [n / 4 for n in range(30)],
}
SCHEMA = hr.Schema(quasi=["age", "sex"], sensitive="pay", identifier="name")


def _table(pay):
    rows = len(pay)
    return {
        "name": [f"n{n}" for n in range(rows)],
        "age": list(range(rows)),
        "sex": ["m", "f"] * (rows // 2),
        "pay": pay,
    }


@pytest.mark.parametrize("objective", ["sum", "max", "max_overlap", "count", "random"])
@pytest.mark.parametrize("name", TABLES)
def test_every_group_keeps_the_promise(name, objective, tmp_path):
    """k distinct values over a range of e in each group, all rows and values published once, groups as in memory."""
    pay, method = TABLES[name], hr.KEAnonymity(k=2, e=1, objective=objective)
    releases = publish(method, _table(pay), SCHEMA, tmp_path)
    groups = groups_of(releases)
    assert len(releases) > 1
    assert sorted(value for group in groups for value in group) == sorted(pay)
    assert all(len(set(group)) >= 2 and max(group) - min(group) >= 1 for group in groups)
    ages = [age for release in releases for age in release.to_arrow()["age"].to_pylist()]
    assert sorted(ages) == list(range(len(pay)))
    whole = groups_of([method.publish(_table(pay), SCHEMA, seed=1)])
    if objective != "random" and max(map(len, whole)) <= MOST:
        assert Counter(map(_multiset, groups)) == Counter(map(_multiset, whole))


def _multiset(group):
    return tuple(sorted(group))


def test_a_group_larger_than_a_block_is_divided_if_its_parts_keep_the_promise(tmp_path):
    """Nineteen zeros and one other value are one group in any case; with more others, groups are as small as blocks."""
    releases = publish(hr.KEAnonymity(k=2, e=1), _table([0] * 19 + [5]), SCHEMA, tmp_path, most=3)
    assert [len(group) for group in groups_of(releases)] == [20]
    releases = publish(hr.KEAnonymity(k=2, e=5), _table([0] * 30 + [5] * 30), SCHEMA, tmp_path, most=20)
    assert sorted(len(group) for group in groups_of(releases)) == [20, 20, 20]


def test_refined_groups_keep_the_promise(tmp_path):
    """Groups are divided by quasi-identifiers inside their block, and stay inside the groups of the whole."""
    method = hr.KEAnonymity(k=2, e=1, refine="quasi")
    pay = [n % 4 for n in range(64)]
    releases = publish(method, _table(pay), SCHEMA, tmp_path, most=40)
    groups = groups_of(releases)
    assert len(releases) > 1
    assert len(groups) > 8
    assert all(len(set(group)) >= 2 for group in groups)


def test_a_cap_on_frequency_holds(tmp_path):
    """With l no value fills more than 1/l of a group."""
    pay = [n % 7 for n in range(70)]
    releases = publish(hr.KEAnonymity(k=2, e=1, l=3), _table(pay), SCHEMA, tmp_path)
    for group in groups_of(releases):
        assert 3 * max(Counter(group).values()) <= len(group)


def test_a_table_of_equal_rows_is_refused_before_rows_move(tmp_path):
    """One value has no range."""
    with pytest.raises(Infeasible):
        publish(hr.KEAnonymity(k=2, e=1), _table([3] * 20), SCHEMA, tmp_path)


def test_missing_values_and_texts_are_read_as_in_memory(tmp_path):
    """Rows with a suppressed missing value are left out; texts are trimmed; missing quasi-identifiers are values."""
    table = {
        "age": [None, 1, 2, 3, None, 5, 6, 7],
        "sex": [" m", "m", "f ", "f", None, "m", "f", "m"],
        "pay": [1.0, 2.0, None, 4.5, 5.0, float("nan"), 7.0, -0.0],
    }
    schema = hr.Schema(quasi=["age", "sex"], sensitive="pay", missing={"pay": "suppress"})
    releases = publish(hr.KEAnonymity(k=2, e=1), table, schema, tmp_path, most=2)
    rows = pa.concat_tables([release.to_arrow() for release in releases])
    assert sorted(rows["pay"].to_pylist()) == [0.0, 1.0, 2.0, 4.5, 5.0, 7.0]
    assert sorted(map(str, rows["age"].to_pylist())) == ["1", "3", "6", "7", "None", "None"]
    assert set(rows["sex"].to_pylist()) == {"m", "f", None}
    assert releases[0].rows == hr.KEAnonymity(k=2, e=1).publish(table, schema).rows


def test_a_table_that_changes_between_passes_is_refused(tmp_path):
    """Other rows in the second pass are found by the urns, and nothing is left on the disk."""
    import duckdb

    file = tmp_path / "table.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.register("given", pa.table(_table(list(range(20)))))
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    counted = count_table

    def change(engine, schema):
        found = counted(engine, schema)
        engine._source._connection.execute("CREATE TABLE changed AS SELECT * FROM source.t LIMIT 19")
        engine._source._relation = "changed"
        return found

    with DuckEngine(f"duckdb:{file}#t", tmp_path / "out", memory=1 << 30) as engine:
        decide = hr.KEAnonymity(k=2, e=1)._plan_blocks
        with pytest.raises(InputError, match="changed"):
            decide_and_scatter(decide, change(engine, SCHEMA))
    assert [one.name for one in tmp_path.iterdir()] == ["table.duckdb"]


def test_a_method_that_needs_the_whole_table_says_so(tmp_path):
    """Before any pass over the rows."""
    with pytest.raises(ParameterError, match="memory"):
        publish(hr.Robust(r=2), _table(list(range(20))), SCHEMA, tmp_path)


def test_temporary_files_hold_no_identifier(tmp_path):
    """What lies on the disk between the passes are codes."""
    with DuckEngine(_table(list(range(40))), tmp_path / "out", memory=1 << 30) as engine:
        engine.block_rows = 8
        decide_and_scatter(hr.KEAnonymity(k=2, e=1)._plan_blocks, count_table(engine, SCHEMA))
        files = [file for file in tmp_path.rglob("*") if file.is_file()]
        assert files
        assert not any(b"n1" in file.read_bytes() for file in files)
        assert not (next(tmp_path.iterdir()).stat().st_mode & 0o077)
    assert not list(tmp_path.iterdir())


def test_codes_of_a_block_are_those_of_the_whole(tmp_path):
    """Domains are global, so that units, places and digits do not depend on the block."""
    with DuckEngine(_table(TABLES["decimals"]), tmp_path / "out", memory=1 << 30) as engine:
        counted = count_table(engine, SCHEMA)
        coded = counted.coder.encode(engine._source._connection.sql("SELECT * FROM source LIMIT 3").to_arrow_table())
        block = counted.coder.table(coded)
        assert len(block.encode("pay").domain) == 30
        assert np.array_equal(
            block.arrow["pay"].to_numpy(), block.encode("pay").domain.to_numpy()[block.encode("pay").codes]
        )
