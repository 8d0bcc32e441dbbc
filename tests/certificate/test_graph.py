"""Certificates of grouped graphs."""

import shutil

import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.certificate import issue as certificates
from hedgerow.certificate.graph import certify_graph
from hedgerow.certificate.model import Issuer, encode
from hedgerow.certificate.page import page
from hedgerow.graph import SafeGrouping, author_paper_graph, verify_bundle
from hedgerow.graph.attack import static_attack
from hedgerow.graph.bundle import read

ISSUER = Issuer(title="Papers", issued="2026-11-16")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """A generated graph, published."""
    folder = tmp_path_factory.mktemp("graph") / "out"
    SafeGrouping(k=3, l=3).publish(author_paper_graph(400, 500, 1200, seed=1)).save(folder)
    return folder


@pytest.fixture(scope="module")
def issued(bundle):
    """Its certificate."""
    return certificates.certify(bundle, issuer=ISSUER)


def test_a_graph_has_the_same_sections(issued, bundle):
    """Promise, checks, unseen, risks, answers, hashes and citation, all from the published bytes."""
    release = read(bundle)
    assert issued.published.what == "graph"
    assert issued.checks == verify_bundle(bundle).checks
    assert issued.promise == release.guarantee
    assert {sentence.partition(":")[0] for sentence in issued.not_promised} >= {
        "Presence",
        "Composition",
        "Correlation",
        "Structure",
    }
    assert issued.published.counts["edges"] == release.edges
    assert [size.least >= 3 for size in issued.published.sizes] == [True, True]
    assert issued.unseen
    for number in range(1, 9):
        assert f"<h2>{number}." in page(issued)


def test_links_are_no_surer_than_promised(issued, bundle):
    """The surest guess is that of the static adversary, within 1 / max(k, l)."""
    linking, found = issued.risks[0], static_attack(read(bundle))
    assert linking.worst == pytest.approx(float(found.surest), rel=1e-5)
    assert linking.rate <= linking.worst <= linking.promised == pytest.approx(1 / 3, rel=1e-5)


def test_typical_questions_are_answered(issued):
    """Degrees of either side and links between both were asked, and nothing was refused."""
    assert len(issued.answers.widths) == 9
    assert all(width.answered == width.asked == 15 for width in issued.answers.widths)
    assert all(width.median is not None for width in issued.answers.widths)


def test_it_fits_its_bundle_and_no_other(issued, bundle, tmp_path):
    """A certificate is derived again from the same bytes; another grouping has others."""
    assert certificates.check(bundle, issued) == ()
    SafeGrouping(k=3, l=3).publish(author_paper_graph(400, 500, 1200, seed=1)).save(tmp_path / "out")
    assert certificates.check(tmp_path / "out", issued) == ("bundle",)


def test_a_damaged_graph_is_not_certified(bundle, tmp_path):
    """An edge too many is noticed before anything is said."""
    shutil.copytree(bundle, tmp_path / "out")
    edges = pq.read_table(tmp_path / "out" / "edges.parquet")
    pq.write_table(edges.slice(1), tmp_path / "out" / "edges.parquet")
    with pytest.raises(hr.BundleError):
        certify_graph(tmp_path / "out", ISSUER)


def test_no_entity_is_named(issued, bundle):
    """Keys and attributes of entities are in no certificate."""
    release, text = read(bundle), encode(issued).decode()
    for side in (release.left, release.right):
        for value in side.entities.column(side.key).to_pylist()[:50]:
            assert f'"{value}"' not in text


def test_a_graph_takes_no_table(bundle):
    """The internal version of a graph has no measurements against a table."""
    with pytest.raises(hr.ParameterError, match="for graphs"):
        certificates.certify(bundle, issuer=ISSUER, internal=True, original=object())
    assert certificates.certify(bundle, issuer=ISSUER, internal=True).internal.risks == ()
