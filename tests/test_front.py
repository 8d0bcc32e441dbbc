"""The functions of the front door take what `publish` takes."""

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


TABLE = {"age": list(range(20, 40)), "pay": [100 * (n % 7) + n for n in range(20)]}


def _kinds(tmp_path: Path) -> dict[str, object]:
    """The same table in every way in which it may come."""
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.csv

    arrow = pa.table(TABLE)
    pyarrow.csv.write_csv(arrow, tmp_path / "table.csv")
    connection = duckdb.connect()
    connection.register("arrow", arrow)
    return {
        "path": tmp_path / "table.csv",
        "text": str(tmp_path / "table.csv"),
        "pandas": pd.DataFrame(TABLE),
        "polars": pl.DataFrame(TABLE),
        "arrow": arrow,
        "duckdb": connection.table("arrow"),
        "mapping": TABLE,
        "read": hr.read_table(TABLE),
    }


@pytest.fixture
def releases(tmp_path: Path) -> dict[str, Path]:
    """Two releases of one table on disk."""
    schema = hr.Schema(quasi=["age"], sensitive="pay")
    for k in (2, 4):
        hr.KEAnonymity(k=k, e=1).publish(TABLE, schema).save(tmp_path / f"k{k}")
    return {f"k{k}": tmp_path / f"k{k}" for k in (2, 4)}


def test_every_function_takes_every_kind_of_table(releases: dict[str, Path], tmp_path: Path) -> None:
    """A path, frames, a relation, a mapping: attack, certify and compare say the same about each."""
    opened = hr.open(releases["k2"])
    workload = hr.Workload(dimensions=(1,), count=3)
    attacks, certificates, scores = [], [], []
    for original in _kinds(tmp_path).values():
        report = hr.attack(opened, original, also=[releases["k4"]], holdout=original, seed=1)
        attacks.append([(finding.adversary, finding.rate, finding.baseline) for finding in report.findings])
        certificate = hr.certify(releases["k2"], original, internal=True, title="Pay")
        certificates.append((certificate.bundle, certificate.issuer.title, certificate.internal is not None))
        scores.append(hr.compare(releases, original, workload=workload))
    assert all(found == attacks[0] for found in attacks)
    assert all(found == certificates[0] for found in certificates)
    assert all(found == scores[0] for found in scores)
    assert {"linking", "composition", "membership"} <= {adversary for adversary, *_ in attacks[0]}
    assert all(score.inside == 1 for score in scores[0]["k4"].values())


def test_releases_come_as_objects_or_as_folders(releases: dict[str, Path]) -> None:
    """Without a table only what needs none is said; names are the folders' or numbers."""
    from_folder, from_object = (hr.attack(release) for release in (str(releases["k2"]), hr.open(releases["k2"])))
    rates = [[(found.adversary, found.rate) for found in report.findings] for report in (from_folder, from_object)]
    assert rates[0] == rates[1]
    assert rates[0]
    workload = hr.Workload(dimensions=(1,), count=3)
    assert set(hr.compare(list(releases.values()), workload=workload)) == {"k2", "k4"}
    assert set(hr.compare([hr.open(folder) for folder in releases.values()], workload=workload)) == {"1", "2"}


def test_a_certificate_is_written_where_asked(releases: dict[str, Path], tmp_path: Path) -> None:
    """A page and its data; the original is refused for the version that may be published."""
    hr.certify(releases["k2"], title="Pay", publisher="Elm", out=tmp_path / "certificate")
    assert {file.name for file in (tmp_path / "certificate").iterdir()} == {"certificate.html", "certificate.json"}
    with pytest.raises(hr.ParameterError, match="internal"):
        hr.certify(releases["k2"], TABLE)
    with pytest.raises(hr.ParameterError, match="save the release"):
        hr.certify(hr.open(releases["k2"]))  # type: ignore[arg-type]


def test_what_is_no_release_is_refused(graph_bundle: Path) -> None:
    """A graph is pointed to its own adversaries; a table is not taken for a release."""
    with pytest.raises(hr.ParameterError, match=r"hedgerow\.graph\.attack"):
        hr.attack(graph_bundle)
    with pytest.raises(hr.ParameterError, match="not a dict"):
        hr.attack(TABLE)  # type: ignore[arg-type]
    with pytest.raises(hr.ParameterError, match="as a list"):
        hr.compare("out")


def test_attack_is_a_package_and_a_function() -> None:
    """`hr.attack(...)` works whether or not the package was imported before, and its names are still there."""
    import hedgerow.attack

    assert hr.attack is hedgerow.attack
    assert callable(hr.attack)
    assert hr.attack.linking is hedgerow.attack.linking  # type: ignore[attr-defined]


TABLE = {"age": [30, 31, 40, 41], "pay": [10, 20, 30, 40]}
ROLES = hr.Schema(quasi="age", sensitive="pay")
MISUSES = {
    "no schema": lambda method, _: method.publish(TABLE, None),
    "a mapping as schema": lambda method, _: method.publish(TABLE, {"quasi": ["age"]}),
    "schema and table exchanged": lambda method, _: method.publish(ROLES, TABLE),
    "a text as seed": lambda method, _: method.publish(TABLE, ROLES, seed="7"),
    "a fraction as seed": lambda method, _: method.publish(TABLE, ROLES, seed=1.5),
    "a negative seed": lambda method, _: method.publish(TABLE, ROLES, seed=-1),
    "a truth value as seed": lambda method, _: method.publish(TABLE, ROLES, seed=True),
    "no releases": lambda *_: hr.compare([]),
    "no named releases": lambda *_: hr.compare({}),
    "a number as tables": lambda _, release: release.ask("SELECT count(*) FROM release", tables=5),
    "a number as hierarchy": lambda *_: hr.Hierarchy.from_arx(0),  # would be the terminal
    "no name of a hierarchy": lambda *_: hr.Hierarchy.from_arx("a\0b"),
    "a long delimiter": lambda *_: hr.Hierarchy.from_arx(__file__, delimiter="::"),
}


@pytest.mark.parametrize("case", MISUSES)
def test_misuse_is_refused_in_a_sentence(case):
    """Arguments of another kind than is meant end in one of our errors, which says what is meant."""
    method = hr.KEAnonymity(k=2, e=1)
    with pytest.raises(hr.HedgerowError):
        MISUSES[case](method, method.publish(TABLE, ROLES))
