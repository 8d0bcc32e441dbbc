"""One door for both kinds of bundle."""

from pathlib import Path

import pytest

import hedgerow as hr
import hedgerow.graph as hg
from hedgerow.datasets.printed import authors_and_papers
from hedgerow.front import holds_graph
from hedgerow.release.bundle import read


@pytest.fixture
def graph_bundle(tmp_path: Path) -> Path:
    """A grouped graph on disk."""
    release = hg.SafeGrouping(2, 2).publish(hg.BipartiteGraph.read(*authors_and_papers()))
    release.save(tmp_path / "graph")
    return tmp_path / "graph"


def test_a_graph_opens_by_the_same_name_as_a_table(graph_bundle: Path, tmp_path: Path) -> None:
    """The manifest says which it is, and both verify."""
    schema = hr.Schema(quasi=["age"], sensitive="pay")
    hr.KEAnonymity(k=2, e=1).publish({"age": [1, 2, 3, 4], "pay": [1, 2, 3, 4]}, schema).save(tmp_path / "table")
    graph, table = hr.open(graph_bundle), hr.open(tmp_path / "table")
    assert isinstance(graph, hg.GroupedGraph)
    assert isinstance(table, hr.Release)
    assert graph.verify().checks
    assert table.verify().checks
    assert holds_graph(graph_bundle)
    assert not holds_graph(tmp_path / "table")


def test_what_reads_tables_only_says_which_verb_reads_a_graph(graph_bundle: Path) -> None:
    """One sentence, not a complaint about fields."""
    with pytest.raises(hr.BundleError, match="holds a grouped graph, not a table; `hedgerow graph`"):
        read(graph_bundle)


@pytest.mark.parametrize("manifest", [b"", b"[]", b'{"format": 3}', b'{"format": "hedgerow-graph/1"}', b"\xff"])
def test_a_damaged_manifest_is_refused_by_the_reader_of_its_kind(graph_bundle: Path, manifest: bytes) -> None:
    """Whatever the manifest says, the answer is a sentence."""
    (graph_bundle / "manifest.json").write_bytes(manifest)
    with pytest.raises(hr.BundleError, match="manifest"):
        hr.open(graph_bundle)
