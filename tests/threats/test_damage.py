"""threats.md, part D: damaged, hostile and oversized files are refused before memory is spent on them."""

import json

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import graph as hg
from hedgerow.ledger import Ledger
from hedgerow.partition.walk import parallel as walk_blocks
from hedgerow.recipe import read_recipe
from tests.support.every_method import PEOPLE, SCHEMA, cases


def _table(folder):
    hr.KEAnonymity(k=2).publish(PEOPLE, SCHEMA).save(folder)


def _graph(folder):
    names = {"person": [f"p{n}" for n in range(12)]}, {"drug": [f"d{n}" for n in range(12)]}
    hg.SafeGrouping(2, 2).publish(hg.BipartiteGraph.read(*names, {**names[0], **names[1]})).save(folder)


@pytest.mark.parametrize("kind", [_table, _graph], ids=["table", "graph"])
def test_every_region_of_every_file_is_covered(tmp_path, kind):
    """A flipped bit anywhere, a cut anywhere or a byte more: the bundle is refused, whichever file it is."""
    folder, chance, tried = tmp_path / "out", np.random.default_rng(0), 0
    kind(folder)
    for file in sorted(folder.iterdir()):
        whole = file.read_bytes()
        damaged = [_flipped(whole, place, chance) for place in range(0, len(whole), max(1, len(whole) // 60))]
        # The line break at the end of a text says nothing: without it the text is whole.
        rest = len(whole.rstrip(b"\n"))
        damaged += [whole[:length] for length in range(0, rest, max(1, rest // 12))]
        for content in (*damaged, whole + b"\0"):
            tried += 1
            file.write_bytes(content)
            with pytest.raises(hr.BundleError) as refusal:
                hr.open(folder)
            assert str(refusal.value).isprintable()
        file.write_bytes(whole)
    hr.open(folder).verify()
    assert tried > 200


def _flipped(whole, place, chance):
    return whole[:place] + bytes([whole[place] ^ (1 << int(chance.integers(8)))]) + whole[place + 1 :]


DEEP = b'{"a":' * 50_000 + b"1" + b"}" * 50_000


@pytest.mark.parametrize("content", [DEEP, b"[" * 100_000, b'{"files": {}}', b"\xff\xfe", b"", b"9" * 10_000, b"null"])
def test_hostile_json_is_refused(tmp_path, content):
    """Brackets in brackets, absurd numbers and other encodings in a manifest or a ledger raise nothing foreign."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_bytes(content)
    with pytest.raises(hr.BundleError):
        hr.open(tmp_path / "out")
    (tmp_path / "ledger.json").write_bytes(content)
    with pytest.raises(hr.BundleError):
        Ledger.open(tmp_path / "ledger.json")


@pytest.mark.parametrize("depth", [100, 5_000])
def test_hostile_recipes_are_refused(tmp_path, depth):
    """Nested arrays and tables of any depth end in a sentence."""
    for text in ("a = " + "[" * depth, "a = " + "{b = " * depth, "[" + "a." * depth + "b]\nc = 1"):
        (tmp_path / "r.toml").write_text(text)
        with pytest.raises(hr.HedgerowError):
            read_recipe(tmp_path / "r.toml")


def test_a_worker_that_dies_takes_the_release_with_it(tmp_path, monkeypatch):
    """What goes wrong on another thread reaches the caller; there is no release and no bundle."""

    def dies(*args, **kwargs):
        raise MemoryError("a worker died")

    walk = next(case.method for case in cases() if case.name.startswith("walk"))
    monkeypatch.setattr(walk_blocks, "_on_all_cores", dies)
    with pytest.raises(MemoryError):
        walk.publish(PEOPLE, SCHEMA).save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_an_edited_manifest_needs_more_than_a_new_checksum(tmp_path):
    """Whoever promises more in a manifest and seals it again is found out by the audit of the rows."""
    import hashlib

    _table(tmp_path / "out")
    file = tmp_path / "out" / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["guarantee"]["parameters"]["k"] = 9
    manifest["checksum"] = ""
    manifest["checksum"] = hashlib.sha256(json.dumps(manifest, separators=(",", ":")).encode()).hexdigest()
    file.write_text(json.dumps(manifest))
    with pytest.raises(hr.HedgerowError):
        hr.open(tmp_path / "out").verify()
