"""Refusals that no other test asks for by their words, each reached by the edit that it is about."""

import os
from dataclasses import replace

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow import graph
from hedgerow.schema.target import uniform
from hedgerow.verify import verify_bundle
from hedgerow.verify.manifest import decode
from hedgerow.verify.structure import _check_counts, _check_protected
from hedgerow.verify.target import check_personal
from tests.support.forger import Forgery

TABLE = pa.table({"age": range(8), "pay": [1, 2, 3, 4] * 2, "ill": list("abcd") * 2})


def saved(place, method, sensitive):
    """An honest bundle."""
    names = ["age", *sensitive]
    method.publish(TABLE.select(names), hr.Schema(quasi=["age"], sensitive=sensitive)).save(place)
    return place


@pytest.mark.parametrize(("change", "reason"), [
    (lambda place: (place / "help.parquet").unlink(), r"help\.parquet is missing from the bundle"),
    (lambda place: (place / "more").touch(), "'out' holds 1 file that its manifest does not list"),
    (lambda place: [(place / name).touch() for name in "ab"], "'out' holds 2 files that its manifest does not list"),
    (lambda place: (place / "manifest.json").unlink(), r"'out' is not a hedgerow bundle: it has no manifest\.json"),
    (lambda place: (place / "manifest.json").write_text("{"), "not a hedgerow manifest (not valid JSON)"),
    (lambda place: (place / "manifest.json").write_text("[]"), "not a hedgerow manifest (a field is missing"),
])  # fmt: skip
def test_folders(tmp_path, change, reason):
    """What is missing, too much, or no manifest."""
    place = saved(tmp_path / "out", hr.Anatomy(l=2), ["pay"])
    change(place)
    with pytest.raises(hr.BundleError, match=reason.replace("(", r"\(").replace(")", r"\)")):
        verify_bundle(place)


def test_a_file_is_no_bundle(tmp_path):
    """It is not said to lack a manifest."""
    (tmp_path / "table.csv").write_text("a\n1\n")
    with pytest.raises(hr.BundleError, match=r"'table\.csv' is not a hedgerow bundle: it is a file"):
        verify_bundle(tmp_path / "table.csv")


def test_a_release_with_groups_has_a_help_table(tmp_path):
    """Its manifest may not leave it out, either."""
    forgery = Forgery.of(saved(tmp_path / "in", hr.Anatomy(l=2), ["pay"]))
    del forgery.tables["help"]
    with pytest.raises(hr.BundleError, match=r"The bundle has no help\.parquet\."):
        verify_bundle(forgery.write(tmp_path / "out"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(tmp_path):
    """Says why."""
    place = saved(tmp_path / "out", hr.Anatomy(l=2), ["pay"])
    (place / "quasi.parquet").chmod(0)
    with pytest.raises(hr.BundleError, match="'out' cannot be read: Permission denied"):
        verify_bundle(place)


@pytest.mark.parametrize("name", ["left", "right", "left_nodes", "right_nodes", "edges"])
def test_graphs_have_five_tables(tmp_path, name):
    """Each one is missed by its name."""
    sides = (pa.table({side: range(12), "town": list("abcd") * 3}) for side in ("author", "paper"))
    edges = pa.table({"author": range(12), "paper": [5 * n % 12 for n in range(12)]})
    graph.SafeGrouping(2, 2).publish(graph.BipartiteGraph.read(*sides, edges)).save(tmp_path / "in")
    forgery = Forgery.of(tmp_path / "in")
    del forgery.tables[name]
    with pytest.raises(hr.BundleError, match=rf"The bundle has no {name}\.parquet\."):
        graph.verify_bundle(forgery.write(tmp_path / "out"))


@pytest.mark.parametrize("criterion", ["ke", "proximity", "robust", "m_invariance", "target", "personal"])
def test_criteria_of_one_column(criterion):
    """Two sensitive columns are too many, one is not; frequencies and groups are of any number."""
    release = hr.Anatomy(l=2).publish(TABLE, hr.Schema(quasi=["age"], sensitive=["pay", "ill"])).published
    _check_protected(release)
    two = replace(release, guarantee=replace(release.guarantee, criterion=criterion))
    with pytest.raises(hr.BrokenPromise, match=r"The criterion speaks of one sensitive column\."):
        _check_protected(two)
    one = replace(two.columns, sensitive=("pay",))
    _check_protected(replace(two, columns=one, guarantee=replace(two.guarantee, columns=("pay",))))
    with pytest.raises(hr.BrokenPromise, match="does not cover every sensitive column"):
        _check_protected(replace(two, columns=one))


@pytest.mark.parametrize(("groups", "reason"), [(8, ""), (9, "more groups than rows"), (-1, "is negative")])
def test_groups_and_rows(groups, reason):
    """As many groups as rows at most."""
    release = hr.Anatomy(l=2).publish(TABLE.select(["age", "pay"]), hr.Schema(quasi=["age"], sensitive="pay")).published
    release = replace(release, groups=groups)
    if reason:
        with pytest.raises(hr.BrokenPromise, match=reason):
            _check_counts(release)
    else:
        _check_counts(release)
    for rows in ({"input": 9}, {"published": 7, "input": 7}, {"suppressed": -1, "input": 7}, {"suppressed": 1}):
        with pytest.raises(hr.BrokenPromise, match=r"do not add up|is negative"):
            _check_counts(replace(release, rows=replace(release.rows, **rows)))


def test_a_personalized_release_has_a_subdomain_for_each_row():
    """A table of more is that of a target with fakes."""
    table = TABLE.select(["age", "pay"]).append_column("node", pa.array(["*"] * 8))
    schema = hr.Schema(quasi=["age"], sensitive="pay", identifier=["node"])
    tree = uniform(hr.Hierarchy.binary([1, 2, 3, 4]))
    release = hr.Personal("node", target=tree, partition="one").publish(table, schema).published
    check_personal(release)
    rows = release.tables["release"]
    two = {"quasi": rows, "sensitive": pa.concat_tables([rows, rows.slice(7)]), "target": release.tables["target"]}
    with pytest.raises(hr.BrokenPromise, match=r"A personalized release has one subdomain for each row\."):
        check_personal(replace(release, tables=two))


@pytest.mark.parametrize("text", [b"{", b"\xff", b'{"format": 1.5}', b'{"format": NaN}', b'{"a": 1, "a": 1}'])
def test_manifests_that_are_no_json_of_ours(text):
    """Floats and fields that come twice among them."""
    with pytest.raises(hr.BundleError, match=r"manifest\.json is not a hedgerow manifest \(not valid JSON\); ask for"):
        decode(text)


@pytest.mark.parametrize(("k", "l"), [(3, 1), (1, 3), (2, 2)])
def test_a_side_that_is_not_hidden_has_groups_of_one(tmp_path, k, l):  # noqa: E741
    """Which open and verify as others do."""
    sides = (pa.table({side: range(12), "town": list("abcd") * 3}) for side in ("author", "paper"))
    edges = pa.table({"author": range(12), "paper": [5 * n % 12 for n in range(12)]})
    graph.SafeGrouping(k, l).publish(graph.BipartiteGraph.read(*sides, edges)).save(tmp_path / "out")
    assert "12 left entities" in str(graph.verify_bundle(tmp_path / "out"))
