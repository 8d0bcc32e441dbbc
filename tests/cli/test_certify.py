"""`hedgerow certify` as its users meet it: the steward who issues, the reader who checks."""

import json
import shutil

import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.datasets import salaries

SCHEMA = hr.Schema(quasi=["age", "zipcode", "gender"], sensitive="salary", identifier=["name"])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a table and its release."""
    folder = tmp_path_factory.mktemp("certify")
    pq.write_table(salaries(), folder / "table.parquet")
    hr.KEAnonymity(k=3, e=2000).publish(salaries(), SCHEMA).save(folder / "out")
    return folder


def test_certify_then_check(run, place, tmp_path):
    """A certificate is written, says where, and fits the bundle afterwards."""
    code, output, errors = run(
        "certify", place / "out", "--title", "Pay", "--publisher", "Elm", "--out", tmp_path / "c"
    )
    assert code == 0, errors
    for word in ("Certified", "6 checks", "linking", "certificate.html", "certificate.json"):
        assert word in output
    data = json.loads((tmp_path / "c" / "certificate.json").read_bytes())
    assert (data["version"], data["issuer"]["title"], data["internal"]) == ("publishable", "Pay", None)
    code, output, errors = run("certify", place / "out", "--check", tmp_path / "c" / "certificate.json")
    assert code == 0, errors
    assert "derived again" in output


def test_the_internal_version_measures(run, place, tmp_path):
    """With the original there are rates against it, under another name, with a warning."""
    table = place / "table.parquet"
    code, output, errors = run("certify", place / "out", "--internal", "--original", table, "--out", tmp_path)
    assert code == 0, errors
    assert "do not publish" in output
    assert {file.name for file in tmp_path.iterdir()} == {"certificate-internal.html", "certificate-internal.json"}
    code, output, _ = run("certify", place / "out", "--check", tmp_path / "certificate-internal.json")
    assert code == 0
    assert "was not compared" in output


def test_the_original_needs_the_internal_version(run, place, tmp_path):
    """Nobody measures against the original by mistake and publishes it."""
    code, _, errors = run("certify", place / "out", "--original", place / "table.parquet", "--out", tmp_path / "c")
    assert code == 2
    assert "--internal" in errors
    assert not (tmp_path / "c").exists()


def test_a_bundle_that_fails_gets_nothing(run, place, tmp_path):
    """Exit code 1, the reason, and no file."""
    shutil.copytree(place / "out", tmp_path / "out")
    with (tmp_path / "out" / "README.md").open("a") as file:
        file.write("and more")
    code, output, errors = run("certify", tmp_path / "out", "--out", tmp_path / "c")
    assert code == 1
    assert "not certified" in errors
    assert output == ""
    assert not (tmp_path / "c").exists()


def test_a_certificate_that_does_not_fit_says_where(run, place, tmp_path):
    """Other bytes, forged sentences and a bundle that broke since: exit code 1; no certificate at all: 2."""
    assert run("certify", place / "out", "--out", tmp_path / "c")[0] == 0
    held = tmp_path / "c" / "certificate.json"
    hr.KEAnonymity(k=3).publish(salaries(), SCHEMA).save(tmp_path / "other")
    code, _, errors = run("certify", tmp_path / "other", "--check", held)
    assert (code, "other bytes" in errors) == (1, True)
    from hedgerow.certificate.model import decode, encode

    forged = decode(held.read_bytes())
    (tmp_path / "forged.json").write_bytes(encode(type(forged)(**_fields(forged) | {"checks": ("all is well",)})))
    code, _, errors = run("certify", place / "out", "--check", tmp_path / "forged.json")
    assert (code, "in checks" in errors) == (1, True)
    shutil.copytree(place / "out", tmp_path / "out")
    (tmp_path / "out" / "help.parquet").unlink()
    code, _, errors = run("certify", tmp_path / "out", "--check", held)
    assert (code, "not verified" in errors) == (1, True)
    assert run("certify", place / "out", "--check", place / "table.parquet")[0] == 2


def _fields(certificate):
    return {name: getattr(certificate, name) for name in certificate.__struct_fields__}


def test_help_shows_both_uses(run):
    """Issuing and checking stand in the help with an example each."""
    code, output, _ = run("certify", "--help")
    assert code == 0
    assert "--check certificate/certificate.json" in output
    assert "--internal --original table.csv" in output
