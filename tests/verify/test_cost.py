"""What takes long in a bundle of a stranger grows with its size, not with the square of it.

Each case is tried at two sizes, one sixteen times the other, by the processor's time: a square would take 256 times as
long, and 64 times is allowed. Each took a square once.
"""

import json
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.verify import groupwise
from hedgerow.verify.made import check_graph_made, interval_names
from hedgerow.verify.names import box_columns
from hedgerow.verify.page import page
from hedgerow.verify.parameters import check_parameters
from hedgerow.verify.parts import PartsBundle
from hedgerow.verify.promise import verify
from hedgerow.verify.target import _climb, trees_of
from hedgerow.verify.values import PartEntry, PublishedColumns, Rows

TIMES, ALLOWED = 16, 64
TABLE = pa.table({"q": [1, 2, 1, 2], "s": [1, 2, 3, 4]})


def counted(groups):
    """The counts of a column that is listed group by group."""
    table = pa.table({"g": pa.array([n for n, group in enumerate(groups) for _ in group], pa.int32()),
                      "s": [value for group in groups for value in group]})  # fmt: skip
    columns = SimpleNamespace(sensitive=("s",))
    release = SimpleNamespace(tables={"release": table}, group_column="g", groups=len(groups), columns=columns)
    release.whole = None
    return groupwise.count_values(release)[0]


def distances(distance):
    """Groups of two, no value twice."""

    def prepared(size):
        column = counted([[n, n + size] for n in range(size)])
        return lambda: groupwise.check_t(column, {"t": "1", "distance": distance})

    return prepared, 1500


def blocks_of_code(size):
    """A page with many blocks of code that do not end."""
    return lambda: page("# x\n\n" + "```a\n" * size)


def intervals(size):
    """Columns of edges, each named as an interval, again and again."""
    names = [f"x{n}" for n in range(size // 100)]
    made = SimpleNamespace(method="S", parameters={"intervals": ",".join(names * 100)})
    columns = [f"{name}_{end}" for name in names for end in ("from", "to")]
    return lambda: interval_names(made, columns)


def chain(size):
    """A tree without branches."""
    parents = np.append(np.arange(1, size), -1)
    return lambda: _climb(parents)


def wide(size):
    """A release of many columns in boxes, with a policy for the gaps of each."""
    release = hr.Mondrian(k=2).publish(TABLE, hr.Schema(quasi=["q"], sensitive="s")).published
    table = release.tables["release"]
    names = [f"q{n}" for n in range(size)]
    columns = {name: table[name] for name in ("s", "group")}
    columns |= {f"{name}{end}": table[f"q{end}"] for name in names for end in ("", "_low", "_high")}
    said = {**release.made.parameters, "least boxes": json.dumps(names)}
    made = replace(release.made, parameters=said, missing=dict.fromkeys(names, "refuse"))
    roles = replace(release.columns, quasi=tuple(names))
    many = replace(release, columns=roles, tables={"release": pa.table(columns)}, made=made)
    return lambda: verify(many)


def plain(size):
    """The same as they came in, with policies for the gaps and the texts of each."""
    release = hr.Mondrian(k=2, form="permuted").publish(TABLE, hr.Schema(quasi=["q"], sensitive="s")).published
    table, names = release.tables["release"], [f"q{n}" for n in range(size)]
    columns = {"s": table["s"], "group": table["group"]} | dict.fromkeys(names, table["q"])
    made = replace(release.made, missing=dict.fromkeys(names, "refuse"), texts=dict.fromkeys(names, "folded"))
    roles = replace(release.columns, quasi=tuple(names))
    many = replace(release, columns=roles, tables={"release": pa.table(columns)}, made=made)
    return lambda: verify(many)


def numbered(size):
    """A part of a bundle whose quasi-identifiers are sets, numbered on from other parts."""
    names = [f"q{n}" for n in range(size)]
    manifest = SimpleNamespace(
        form="generalized", columns=PublishedColumns(tuple(names), ("s",)), group_column="group", rows=Rows(2, 2)
    )
    zeros = pa.array([0, 0], pa.int32())
    table = pa.table({"group": zeros} | {f"{name}{end}": zeros for name in names for end in ("", "_set")})
    return lambda: PartsBundle(None, manifest, ("release",))._renumber("release", table, PartEntry(2, 0, 1))


def ends_of_edges(size):
    """Columns of edges that are all intervals."""
    names, node = [f"x{n}" for n in range(size)], pa.array([0], pa.int32())
    columns = {f"{name}_{end}": node for name in names for end in ("from", "to")}
    edges = pa.table({"left_node": node, "right_node": node} | columns)
    return lambda: check_graph_made(SimpleNamespace(method="S", parameters={"intervals": ",".join(names)}), edges)


def in_other_case(size):
    """Quasi-identifiers that differ in upper and lower case alone, whose boxes ask for the same names."""
    names = ["".join(one.upper() if number >> place & 1 else one for place, one in enumerate("abcdefghijkl"))
             for number in range(size)]  # fmt: skip
    return lambda: box_columns(PublishedColumns(tuple(names), ("s",)), "group")


@pytest.mark.parametrize(
    ("prepared", "size"),
    [
        (in_other_case, 250),
        (plain, 100),
        (numbered, 100),
        (ends_of_edges, 100),
        distances("ordered"),
        distances("equal"),
        (blocks_of_code, 500),
        (intervals, 5000),
        (chain, 3000),
        (wide, 25),
    ],
    ids=["case", "plain", "parts", "edges", "ordered", "equal", "page", "intervals", "chain", "wide"],
)
def test_work_grows_with_the_size(prepared, size):
    """Not with its square."""
    took = []
    for number in (size, TIMES * size):
        work = prepared(number)
        work()  # what is made once
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    assert took[1] < ALLOWED * max(took[0], 0.003)


@pytest.mark.parametrize(("levels", "fits"), [(200, True), (201, False)])
def test_hierarchies_have_so_many_levels_at_most(levels, fits):
    """Each group is looked at on all of them."""
    lines = json.dumps([[value, *["x"] * (levels - 1)] for value in "ab"])
    parameters = {"k": 2, "t": "0.5", "distance": "hierarchical", "hierarchy of s": lines}
    if fits:
        check_parameters("groupwise", parameters, ("s",))
    else:
        with pytest.raises(hr.BrokenPromise, match="'hierarchy of s' is out of range"):
            check_parameters("groupwise", parameters, ("s",))


@pytest.mark.parametrize(("levels", "fits"), [(200, True), (201, False)])
def test_trees_have_so_many_levels_at_most(levels, fits):
    """The same of targets."""
    size = levels + 1
    columns = {"target": [0] * size, "node": range(size), "parent": [*range(1, size), None]}
    table = {name: pa.array(values, pa.int32()) for name, values in columns.items()}
    table |= {"low": [1] * size, "high": [1] * size, "label": ["x"] * size, "weight": [1] * size}
    release = SimpleNamespace(tables={"target": pa.table(table)})
    if fits:
        trees = trees_of(release)
        assert (trees.depths.tolist(), set(trees.roots.tolist())) == (list(range(levels, -1, -1)), {levels})
    else:
        with pytest.raises(hr.BrokenPromise, match="deeper than 200 levels"):
            trees_of(release)


def test_an_interval_that_is_named_twice_is_one():
    """And is looked at once."""
    made = SimpleNamespace(method="S", parameters={"intervals": "x,,y,x,z"})
    table = pa.table({name: [1] for name in ("x_from", "x_to", "y_from", "z_to", "y_to")})
    assert interval_names(made, table.column_names) == ("x", "y")
    check_graph_made(made, table)
