"""Methods that divide rows into groups keep their promise in blocks, compared with the whole table."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.criteria.groupwise import groups_of
from hedgerow.errors import Infeasible
from hedgerow.methods.scaled import decide_and_scatter
from hedgerow.randomness import generator
from hedgerow.scale.coding import count_table
from hedgerow.scale.duckdb import DuckEngine
from hedgerow.table import read_table

ROWS = 400


def _table(seed=1):
    random = generator(seed)
    return {
        "age": random.integers(20, 60, ROWS).tolist(),
        "sex": [["m", "f", None][n] for n in random.integers(0, 3, ROWS)],
        "city": [f"c{n}" for n in np.minimum(random.geometric(0.3, ROWS), 9)],
        "illness": [f"i{n}" for n in np.minimum(random.geometric(0.2, ROWS), 9)],
        "pay": (random.integers(0, 60, ROWS) * 10).tolist(),
    }


ONE = hr.Schema(quasi=["age", "sex", "city"], sensitive="illness", plain="pay")
NUMBER = hr.Schema(quasi=["age", "sex", "city"], sensitive="pay", plain="illness")
TWO = hr.Schema(quasi=["age", "sex", "city"], sensitive=["illness", "pay"])
CITIES = hr.Hierarchy.from_nested(
    {"west": ["c1", "c2"], "east": {"north": ["c3", "c4"], "south": ["c5", "c6", "c7", "c8", "c9"]}}
)
TREE = hr.Schema(quasi=["age", "city"], sensitive="illness", plain=["pay", "sex"], hierarchies={"city": CITIES})


def publish(method, schema, tmp_path, most=90, table=None):
    """The releases of the blocks."""
    with DuckEngine(table or _table(), tmp_path / "out", memory=1 << 30) as engine:
        engine.block_rows = most
        decided = decide_and_scatter(method._plan_blocks, count_table(engine, schema), seed=1)
        return list(engine.run(decided.block, decided.order))


def groups(releases, column, table=None):
    """The published values of a sensitive column in each group."""
    found, first = [], 0
    for release in releases:
        published = release.tables.get("sensitive", release.tables.get("release"))
        found += (published["group"].to_numpy() + first).tolist()
        first += release.groups
    values = [
        value
        for release in releases
        for value in release.tables.get("sensitive", release.tables.get("release"))[column].to_pylist()
    ]
    listed = [[] for _ in range(first)]
    for number, value in zip(found, values, strict=True):
        listed[number].append(value)
    return listed


def same_rows(releases, column):
    """Tell whether the values of a column are those of the table."""
    return Counter(value for group in groups(releases, column) for value in group) == Counter(_table()[column])


@pytest.mark.parametrize("grouping", ["blind", "near", "ncp"])
@pytest.mark.parametrize("form", ["separated", "scattered", "permuted"])
def test_anatomy(grouping, form, tmp_path):
    """No value fills more than 1/l of a group, and every value is published once."""
    releases = publish(hr.Anatomy(l=3, grouping=grouping, form=form), ONE, tmp_path)
    assert len(releases) > 3
    assert same_rows(releases, "illness")
    for group in groups(releases, "illness"):
        assert 3 * max(Counter(group).values()) <= len(group)


@pytest.mark.parametrize("grouping", ["blind", "near", "ncp"])
def test_permutation(grouping, tmp_path):
    """The same for permutation anonymization."""
    releases = publish(hr.PermutationAnonymization(l=3, grouping=grouping), ONE, tmp_path)
    assert len(releases) > 3
    assert same_rows(releases, "illness")
    for group in groups(releases, "illness"):
        assert 3 * max(Counter(group).values()) <= len(group)


@pytest.mark.parametrize("grouping", ["blind", "near"])
def test_several_sensitive_columns(grouping, tmp_path):
    """Each sensitive column keeps the promise."""
    releases = publish(hr.Anatomy(l=3, grouping=grouping), TWO, tmp_path)
    assert len(releases) > 1
    for column in ("illness", "pay"):
        assert same_rows(releases, column)
        for group in groups(releases, column):
            assert 3 * max(Counter(group).values()) <= len(group)


def test_blind_blocks_where_nothing_is_to_spare(tmp_path):
    """A value that fills exactly 1/l of the table is dealt so that it fills no more than 1/l of any block."""
    rows = 120
    table = {"age": list(range(rows)), "ill": ["flu"] * (rows // 3) + [f"i{n % 50}" for n in range(rows - rows // 3)]}
    schema = hr.Schema(quasi="age", sensitive="ill")
    for most in (7, 20, 50):
        for method in (hr.Anatomy(l=3), hr.PermutationAnonymization(l=3, grouping="blind")):
            releases = publish(method, schema, tmp_path, most=most, table=table)
            assert len(releases) == -(-rows // most)
            assert all(3 * max(Counter(group).values()) <= len(group) for group in groups(releases, "ill"))


@pytest.mark.parametrize("grouping", ["blind", "near"])
def test_proximity(grouping, tmp_path):
    """At most 1/m of a group lies near any of its values."""
    releases = publish(hr.Proximity(eps=20, m=3, grouping=grouping), NUMBER, tmp_path)
    assert len(releases) > 3
    assert same_rows(releases, "pay")
    for group in groups(releases, "pay"):
        assert all(3 * sum(abs(other - value) <= 20 for other in group) <= len(group) for value in group)


CRITERIA = {
    "k": {"k": 3},
    "frequency": {"k": 3, "l": 2},
    "distinct": {"k": 3, "l": 3, "diversity": "distinct"},
    "entropy": {"k": 3, "l": 2, "diversity": "entropy"},
    "recursive": {"k": 3, "l": 2, "c": 2, "diversity": "recursive"},
    "t": {"k": 3, "t": 0.3},
    "ordered t": {"k": 3, "t": 0.2, "distance": "ordered"},
    "alpha": {"k": 3, "alpha": 0.5},
    "beta": {"k": 3, "beta": 2},
    "delta": {"k": 3, "delta": 2},
}


@pytest.mark.parametrize("schema", [ONE, TREE], ids=["values", "hierarchy"])
@pytest.mark.parametrize("name", CRITERIA)
def test_strict_mondrian_equals_that_in_memory(name, schema, tmp_path):
    """The same groups, with the same boxes and values, as on the whole table; relative criteria against the whole."""
    method = hr.Mondrian(**CRITERIA[name])
    releases = publish(method, schema, tmp_path)
    whole = method.publish(_table(), schema, seed=1)
    assert len(releases) > 1
    assert _boxes(releases) == _boxes([whole])
    table = read_table(_table())
    encoded = table.encode("illness")
    codes = {value: code for code, value in enumerate(encoded.domain.to_pylist())}
    labels, values = [], []
    for number, group in enumerate(groups(releases, "illness")):
        labels += [number] * len(group)
        values += [codes[value] for value in group]
    seen = groups_of(np.array(labels, np.int32), np.array(values, np.int32), encoded.counts())
    prepared = method._prepare(_table(), schema, 1)
    assert all(criterion.holds(seen).all() for criterion in method._criteria(prepared))


def _boxes(releases):
    found = Counter()
    for release in releases:
        table = release.to_arrow()
        names = [name for name in table.column_names if name not in ("group", "pay", "illness", "sex_set", "city_set")]
        names = [name for name in names if name not in release.columns.plain]
        rows = {}
        for group, box, value in zip(
            table["group"].to_pylist(),
            zip(*(table[name].to_pylist() for name in names), strict=True),
            table["illness"].to_pylist(),
            strict=True,
        ):
            rows.setdefault((group, box), []).append(value)
        found += Counter((box, tuple(sorted(values))) for (_, box), values in rows.items())
    return found


@pytest.mark.parametrize("flags", [{"relaxed": True}, {"blind": True}, {"form": "permuted"}, {"form": "scattered"}])
def test_mondrian_with_flags(flags, tmp_path):
    """Groups keep k and l, whatever the form."""
    releases = publish(hr.Mondrian(k=4, l=None if "blind" in flags else 2, **flags), ONE, tmp_path)
    assert len(releases) > 1
    assert same_rows(releases, "illness")
    assert all(len(group) >= 4 for group in groups(releases, "illness"))


def test_blind_mondrian_refuses_what_misses_a_criterion(tmp_path):
    """Blind groups look at no sensitive value, and one that misses the criterion is found in its block."""
    with pytest.raises(Infeasible, match="blind"):
        publish(hr.Mondrian(k=2, l=2, blind=True), ONE, tmp_path)


def test_equal_rows_are_one_group(tmp_path):
    """Rows that cannot be told apart cannot be cut, in blocks or not."""
    table = {"age": [30] * 40, "ill": ["a", "b"] * 20}
    releases = publish(hr.Mondrian(k=2), hr.Schema(quasi="age", sensitive="ill"), tmp_path, most=10, table=table)
    assert [release.groups for release in releases] == [1]


def test_blocks_hold_whole_regions(tmp_path):
    """No two blocks share a point of the quasi-identifiers."""
    releases = publish(hr.Mondrian(k=3, form="permuted"), ONE, tmp_path)
    points = [
        set(zip(*(release.to_arrow()[name].to_pylist() for name in ("age", "sex", "city")), strict=True))
        for release in releases
    ]
    assert sum(map(len, points)) == len(set().union(*points))
    assert sum(release.to_arrow().num_rows for release in releases) == ROWS
    assert isinstance(releases[0].to_arrow(), pa.Table)
