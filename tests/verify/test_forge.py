"""A sample of the forger: nothing forged passes, nothing hostile ends in anything but a sentence."""

import dataclasses

import pyarrow as pa
import pytest

import hedgerow as hr
from tests.support import forge as forge_tool
from tests.support.definitions import keeps_promise
from tests.support.every_method import PEOPLE, SCHEMA
from tests.support.forge import Original, bundles, forge, verify_in_memory
from tests.support.forge_parts import has_parts, joined
from tests.support.forge_use import use_forgeries
from tests.support.forger import Forgery


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", [11, 12])
def test_a_sample_of_forgeries(seed):
    """No false ok, no exception without a type, nothing over five seconds. `make forge N=...` makes more."""
    findings = forge(700, seed=seed)
    assert findings.is_good, str(findings)
    assert findings.counts["ok"] < sum(findings.counts.values()) / 3
    # Many forgeries pass the decoder and reach the checks of the promise, or the forger would find nothing. The more
    # of it the decoder derives, the fewer are left to be called broken.
    assert findings.counts["broken"] + findings.counts["ok"] > sum(findings.counts.values()) / 5
    assert findings.counts["broken"] > sum(findings.counts.values()) / 20


def _forgery(release, path, **options):
    release.save(path, **options)
    return Forgery.of(path)


def test_what_opens_can_be_used():
    """Opened, asked, exported and attacked without having been verified: an answer or one of our errors."""
    used = use_forgeries(250, seed=5)
    assert used.findings == []
    assert used.counts["ask"] > 200
    assert used.counts["export"] > 5


@pytest.mark.parametrize("edit", ["missing", "negative", "huge", "shuffled", "one more"])
@pytest.mark.parametrize("form", ["permuted", "separated", "scattered", "generalized"])
def test_numbers_of_groups_are_checked_before_a_question(tmp_path, form, edit):
    """A group called 2^31 - 1 made arrays of as many cells, and a negative one raised what nobody had typed."""
    method = hr.Mondrian(k=4, l=2, form=form)
    forged = _forgery(method.publish(PEOPLE, SCHEMA), tmp_path / "honest")
    for name in ("release", "quasi", "sensitive"):
        if name in forged.tables:
            numbers = forged.tables[name]["group"].to_pylist()
            last = {"missing": None, "negative": -1, "huge": 2**31 - 1, "one more": numbers[-1] + 1}
            changed = numbers[::-1] if edit == "shuffled" else [*numbers[:-1], last[edit]]
            forged.edit(name, "group", changed)
    with pytest.raises(hr.BundleError, match="group"):
        hr.open(forged.write(tmp_path / "forged"))


@pytest.mark.parametrize(
    ("table", "column", "value"), [("sets", "set", -1), ("sets", "set", 99), ("release", "age_high", 0)]
)
def test_boxes_are_checked_before_a_question(tmp_path, table, column, value):
    """What refers to a set that is not listed, and an interval that ends before it begins."""
    forged = _forgery(hr.Mondrian(k=4).publish(PEOPLE, SCHEMA), tmp_path / "honest")
    forged.edit(table, column, [value] * forged.tables[table].num_rows)
    with pytest.raises(hr.BundleError, match="not a release"):
        hr.open(forged.write(tmp_path / "forged"))


def test_parts_have_their_columns_in_one_order(tmp_path):
    """Also where they are put together without having been verified."""
    forged = _forgery(hr.Anatomy(l=2).publish(PEOPLE, SCHEMA), tmp_path / "honest", rows_per_part=6)
    table = forged.tables["quasi-00001"]
    forged.tables["quasi-00001"] = table.select(table.column_names[::-1])
    opened = hr.open(forged.write(tmp_path / "forged"))
    with pytest.raises(hr.BundleError, match="same tables, columns and types"):
        opened.connect("duckdb")


def test_honest_bundles_keep_their_promise_by_definition(tmp_path):
    """The oracle of the forger says yes to every method, and no to a bundle whose values are all the same."""
    for name, bundle in bundles(tmp_path).items():
        forgery = joined(bundle) if has_parts(bundle) else bundle
        assert keeps_promise(forgery), name
        verify_in_memory(bundle, Original.of(bundle))
        if forgery.manifest["guarantee"]["criterion"] in ("frequency", "ke", "m_invariance", "robust"):
            table = "sensitive" if "sensitive" in forgery.tables else "release"
            same = dataclasses.replace(forgery, tables=dict(forgery.tables))
            same.edit(table, "salary", [1] * same.tables[table].num_rows)
            assert not keeps_promise(same), name


def test_honest_bundles_pass_in_memory(tmp_path):
    """Every file written anew is read as one on disk is: once, none was found, and all forgeries seemed refused."""
    for name, forgery in bundles(tmp_path).items():
        original = Original.of(forgery)
        fresh = {
            table: pa.concat_tables([columns]).select(columns.column_names) for table, columns in forgery.tables.items()
        }
        assert verify_in_memory(dataclasses.replace(forgery, tables=fresh), original), name


def test_a_verifier_that_passes_everything_is_found_out(monkeypatch):
    """Planted: it says yes to every bundle, and the forger notices."""
    monkeypatch.setattr(forge_tool, "_verify_held", lambda held: True)
    findings = forge(150, seed=3)
    assert len(findings.false_ok) > 20
    assert any("in parts" in sentence for sentence in findings.false_ok)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("edges", "left_node", -1),
        ("edges", "right_node", 2**31 - 1),
        ("left_nodes", "group", -1),
        ("right_nodes", "node", 99),
    ],
)
def test_nodes_of_a_graph_are_checked_before_a_question(tmp_path, table, column, value):
    """A node called 2^31 - 1 made arrays of as many cells."""
    sides = (pa.table({name: range(12), "town": list("abcd") * 3}) for name in ("author", "paper"))
    edges = pa.table({"author": range(12), "paper": [n * 5 % 12 for n in range(12)]})
    release = hr.graph.SafeGrouping(2, 2).publish(hr.graph.BipartiteGraph.read(*sides, edges))
    forged = _forgery(release, tmp_path / "honest")
    numbers = forged.tables[table][column].to_pylist()
    forged.edit(table, column, [*numbers[:-1], value])
    with pytest.raises(hr.BundleError, match="not a grouped graph"):
        hr.graph.open(forged.write(tmp_path / "forged"))
