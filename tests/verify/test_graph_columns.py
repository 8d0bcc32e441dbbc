"""Columns of edges that name the entities at their ends, and what is said of entities that were set aside."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow import certificate as certificates
from hedgerow import graph
from hedgerow.certificate import Issuer
from hedgerow.graph.attack import HubAttack, hub_attack
from hedgerow.verify.graph_columns import columns_that_name
from hedgerow.verify.graph_words import FOLLOWING
from tests.verify.test_forged import Forgery

N = 40
TOWNS = "ABCDE"


def _graph(**columns) -> graph.BipartiteGraph:
    """Forty people, forty things and two links of each."""
    people = {"name": [f"p{row}" for row in range(N)], "town": [TOWNS[row % 5] for row in range(N)]}
    things = {"thing": range(N), "price": [row % 7 + 0.5 for row in range(N)]}
    pairs = [(row, (7 * row + 11 * link) % N) for row in range(N) for link in (0, 1)]
    ends = {"name": [f"p{a}" for a, _ in pairs], "thing": [b for _, b in pairs]}
    more = {name: [value(a, b) for a, b in pairs] for name, value in columns.items()}
    return graph.BipartiteGraph.read(people, things, ends | more, values=list(columns))


TELLING = {
    "name": lambda a, b: f"p{a}",
    "town": lambda a, b: TOWNS[a % 5],
    "key of the other side, as text": lambda a, b: str(b),
    "price as decimal": lambda a, b: Decimal(b % 7 + 0.5),
    "town, with gaps": lambda a, b: None if b % 5 == 0 else TOWNS[a % 5],
}
HARMLESS = {
    "of edges": lambda a, b: (3 * a + 5 * b) % 11,
    "town of somebody else": lambda a, b: TOWNS[(a * a + 1) % 5],
    "town but for one link": lambda a, b: "B" if (a, b) == (0, 0) else TOWNS[a % 5],
    "one value": lambda a, b: "A",
    "nothing": lambda a, b: None,
}


@pytest.mark.parametrize("value", TELLING.values(), ids=TELLING)
def test_a_column_of_edges_that_names_an_end_is_refused(value, monkeypatch):
    """By publishing, with the names of both columns; and by verify, which sees groups alone."""
    known = _graph(seen=value)
    with pytest.raises(hr.SchemaError, match="'seen' of the edges is '"):
        graph.SafeGrouping(4, 4).publish(known)
    monkeypatch.setattr("hedgerow.graph.method.check_no_names", lambda known: None)
    with pytest.raises(hr.BrokenPromise, match="'seen' of the edges tells by '"):
        graph.SafeGrouping(4, 4).publish(known)


def test_more_columns_than_are_compared_are_refused(monkeypatch):
    """A small file of some hundred columns on each side would take minutes."""
    harmless = _graph(seen=HARMLESS["of edges"])
    monkeypatch.setattr("hedgerow.verify.graph.MOST_PAIRS", 1)
    with pytest.raises(hr.BrokenPromise, match="more columns than are compared"):
        graph.SafeGrouping(4, 4).publish(harmless)
    monkeypatch.setattr("hedgerow.graph.form.MOST_PAIRS", 1)
    with pytest.raises(hr.SchemaError, match="at most 1 pairs of them"):
        graph.SafeGrouping(4, 4).publish(harmless)


@pytest.mark.parametrize("value", HARMLESS.values(), ids=HARMLESS)
def test_other_columns_of_edges_are_published(value):
    """They belong to edges, or to nobody that is listed."""
    release = graph.SafeGrouping(4, 4).publish(_graph(seen=value))
    assert any("no column of the edges repeats" in check for check in release.verify().checks)


def test_a_fit_by_chance_is_no_fit():
    """Three nodes in a group of three: any column with the same three values would fit."""
    people = pa.table({"key": [1, 2, 3]})
    ends = np.arange(3)
    assert list(columns_that_name({"day": pa.chunked_array([[2, 3, 1]])}, ends, people, np.zeros(3, np.int64))) == []


def test_a_group_of_all_is_no_way_out():
    """One group fits any order of the names; that the edges have just these names is no coincidence."""
    names = [f"p{row}" for row in range(N)]
    found = columns_that_name(
        {"who": pa.chunked_array([names[::-1]])}, np.arange(N), pa.table({"name": names}), np.zeros(N, np.int64)
    )
    assert list(found) == [("who", "name")]
    unlisted = columns_that_name(
        {"who": pa.chunked_array([[*names[1:], "x"]])}, np.arange(N), pa.table({"name": names}), np.zeros(N, np.int64)
    )
    assert list(unlisted) == []


def _star() -> graph.BipartiteGraph:
    """Eight people who buy a thing each, and bread."""
    pairs = [(f"p{row}", thing) for row in range(8) for thing in (f"q{row}", "bread")]
    ends = {"name": [a for a, _ in pairs], "item": [b for _, b in pairs]}
    return graph.BipartiteGraph.read(
        {"name": [f"p{row}" for row in range(8)]}, {"item": ["bread", *(f"q{row}" for row in range(8))]}, ends
    )


@pytest.mark.parametrize("hubs", ["apart", "suppress"])
def test_links_of_hubs_are_not_promised(hubs, tmp_path):
    """All eight buy bread, as its number of links says."""
    release = graph.SafeGrouping(2, 2, hubs=hubs).publish(_star())
    assert "any right entity that were not set aside are joined in at most one of 2" in release.guarantee.promise
    assert any("d in n, which may be all" in sentence for sentence in release.guarantee.not_promised)
    if hubs == "apart":
        assert release.tables["right_hubs"].to_pylist() == [{"item": "bread", "links": 8}]
        assert hub_attack(release) == [HubAttack("right", 8, 8)]
        release.save(tmp_path / "in")
        risks = certificates.certify(tmp_path / "in", issuer=Issuer()).risks
        assert [(one.rate, one.promised) for one in risks if "set aside" in one.adversary] == [(1.0, None)]
        forged = Forgery.of(tmp_path / "in")
        forged.edit("right_hubs", "links", [9])
        forged.manifest["guarantee"]["parameters"]["hub_links"] = 9
        with pytest.raises((hr.BundleError, hr.BrokenPromise), match="more links than there are entities"):
            graph.verify_bundle(forged.write(tmp_path / "out"))


def test_edges_stand_in_the_order_of_their_nodes(tmp_path):
    """Another order could be that of the original; and a repetition apart from its edge was counted as a second one."""
    ends = {"name": ["p0", "p0", "p1", "p2", "p3"], "thing": ["q0", "q0", "q1", "q2", "q3"]}
    sides = {"name": [f"p{row}" for row in range(4)]}, {"thing": [f"q{row}" for row in range(4)]}
    known = graph.BipartiteGraph.read(*sides, ends, repeats="count", values=[])
    graph.SafeGrouping(2, 2).publish(known).save(tmp_path / "in")
    graph.verify_bundle(tmp_path / "in")
    forged = Forgery.of(tmp_path / "in")
    forged.tables["edges"] = forged.tables["edges"].take([4, 0, 1, 2, 3])
    with pytest.raises((hr.BundleError, hr.BrokenPromise), match="order of their nodes"):
        graph.verify_bundle(forged.write(tmp_path / "out"))


def test_an_older_bundle_says_less_of_columns_of_links(tmp_path):
    """A bundle without the sentence about columns that follow from entities opens and verifies; other words do not."""
    release = graph.SafeGrouping(4, 4).publish(_graph(seen=HARMLESS["of edges"]))
    said = release.guarantee.not_promised
    for dropped, is_right in ((FOLLOWING, True), (said[0], False)):
        missing = tuple(sentence for sentence in said if sentence != dropped)
        older = replace(release, guarantee=replace(release.guarantee, not_promised=missing))
        if is_right:
            older.save(tmp_path / "out")
            graph.open(tmp_path / "out").verify()
        else:
            with pytest.raises(hr.BrokenPromise, match="words of the guarantee"):
                older.verify()


LARGE = {
    "whole numbers": lambda n: pa.array([2**60 + row for row in n]),
    "from the last on": lambda n: pa.array([2**62 - row for row in n]),
    "decimals": lambda n: pa.array([Decimal(10**30 + row) for row in n]),
    "texts": lambda n: pa.array([f"{10**40 + row}.0" for row in n]),
}


@pytest.mark.parametrize("numbers", LARGE.values(), ids=LARGE)
def test_large_numbers_that_follow_the_nodes_are_refused(numbers):
    """As floats they were all one number, which tells nothing: 2^60 and the number of the node were called good."""
    release = graph.SafeGrouping(4, 4).publish(_graph())
    release.verify()
    entities = release.tables["left"]
    forged = entities.append_column("number", numbers(range(entities.num_rows)))
    with pytest.raises(hr.BrokenPromise, match="'number' of the left entities tells the nodes"):
        replace(release, tables={**release.tables, "left": forged}).verify()
    others = numbers(np.random.default_rng(1).permutation(entities.num_rows).tolist())
    replace(release, tables={**release.tables, "left": entities.append_column("number", others)}).verify()


@pytest.mark.parametrize("scale", [0, 2, 25])
def test_large_numbers_of_two_types_are_compared(scale):
    """Whole numbers of edges beside decimals of entities, which as floats were all the same."""
    first = 7 if scale == 25 else 2**60
    listed = [first + row for row in range(N)]
    edges = {"seen": pa.chunked_array([pa.array(listed)])}
    entities = pa.table({"key": pa.array(list(map(Decimal, listed)), pa.decimal128(38, scale))})
    ends, groups = np.arange(N), np.arange(N) // 4
    assert list(columns_that_name(edges, ends, entities, groups)) == [("seen", "key")]
    assert not list(columns_that_name(edges, ends, entities.take(np.roll(ends, 7)), groups))
