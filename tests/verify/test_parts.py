"""Forged bundles in parts: every checksum fits, and what does not make one release is refused."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.errors import BrokenPromise, BundleError
from hedgerow.release.part_tables import split_release
from hedgerow.release.parts import seal, stage_bundle, write_part
from hedgerow.schema import Hierarchy
from hedgerow.verify import target, verify_bundle
from hedgerow.verify.manifest import decode, encode
from hedgerow.verify.words import word
from tests.support.every_method import SCHEMA, people

Manifest = dict[str, Any]
Forgery = Callable[[Path, Manifest], None]

PEOPLE = people(96)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of (k,e) in parts."""
    folder = tmp_path_factory.mktemp("parts") / "out"
    hr.KEAnonymity(k=2).publish(PEOPLE, SCHEMA).save(folder, rows_per_part=20)
    return folder


def _table(folder: Path, name: str) -> pa.Table:
    return pq.read_table(folder / name)


def _put(folder: Path, manifest: Manifest, name: str, table: pa.Table) -> None:
    pq.write_table(table, folder / name, compression="zstd", store_schema=False)
    manifest["files"].setdefault(name, {})
    _reseal(folder, manifest, name, table.num_rows)


def _reseal(folder: Path, manifest: Manifest, name: str, rows: int | None) -> None:
    content = (folder / name).read_bytes()
    manifest["files"][name] = {
        "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content), "rows": rows,
    }  # fmt: skip


def _forge(honest: Path, target: Path, change: Forgery) -> Path:
    """Change a copy of a bundle and make every checksum fit."""
    shutil.copytree(honest, target)
    manifest: Manifest = json.loads((target / "manifest.json").read_text())
    change(target, manifest)
    bare = json.dumps({**manifest, "checksum": ""}, ensure_ascii=False, separators=(",", ":"))
    manifest["checksum"] = hashlib.sha256(bare.encode()).hexdigest()
    (target / "manifest.json").write_text(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n")
    return target


def _last(manifest: Manifest) -> int:
    return len(manifest["parts"]) - 1


def _missing_part(folder: Path, manifest: Manifest) -> None:
    for name in ("release", "help"):
        file = f"{name}-{_last(manifest):05}.parquet"
        (folder / file).unlink()
        del manifest["files"][file]


def _missing_part_unlisted(folder: Path, manifest: Manifest) -> None:
    _missing_part(folder, manifest)
    part = manifest["parts"].pop()
    manifest["rows"]["suppressed"] += part["rows"]


def _extra_file(folder: Path, manifest: Manifest) -> None:
    _put(folder, manifest, f"release-{_last(manifest) + 1:05}.parquet", _table(folder, "release-00000.parquet"))


def _duplicated_part(folder: Path, manifest: Manifest) -> None:
    for name in ("release", "help"):
        file = f"{name}-{_last(manifest) + 1:05}.parquet"
        _put(folder, manifest, file, _table(folder, f"{name}-00000.parquet"))
    manifest["parts"].append(dict(manifest["parts"][0]))
    manifest["rows"] = {"input": 96 + manifest["parts"][0]["rows"], "suppressed": 0}
    manifest["rows"]["published"] = manifest["rows"]["input"]
    manifest["groups"] += manifest["parts"][0]["groups"]


def _exchanged(folder: Path, manifest: Manifest) -> None:
    for name in ("release", "help"):
        one, other = (_table(folder, f"{name}-0000{number}.parquet") for number in (0, 1))
        _put(folder, manifest, f"{name}-00000.parquet", other)
        _put(folder, manifest, f"{name}-00001.parquet", one)


def _exchanged_with_entries(folder: Path, manifest: Manifest) -> None:
    _exchanged(folder, manifest)
    parts = manifest["parts"]
    parts[0], parts[1] = parts[1], parts[0]


def _wrong_first(folder: Path, manifest: Manifest) -> None:
    manifest["parts"][-1]["first_group"] += 1


def _overlap(folder: Path, manifest: Manifest) -> None:
    manifest["parts"][1]["first_group"] -= 1


def _wrong_groups(folder: Path, manifest: Manifest) -> None:
    manifest["parts"][0]["groups"] += 1
    manifest["parts"][1]["groups"] -= 1


def _wrong_rows(folder: Path, manifest: Manifest) -> None:
    manifest["parts"][0]["rows"] += 1
    manifest["parts"][1]["rows"] -= 1


def _split_group(folder: Path, manifest: Manifest) -> None:
    """The first group of the second part loses a row to the first part."""
    one, other = _table(folder, "release-00000.parquet"), _table(folder, "release-00001.parquet")
    _put(folder, manifest, "release-00000.parquet", pa.concat_tables([one, other.slice(0, 1)]))
    _put(folder, manifest, "release-00001.parquet", other.slice(1))
    manifest["parts"][0]["rows"] += 1
    manifest["parts"][1]["rows"] -= 1


def _split_group_renumbered(folder: Path, manifest: Manifest) -> None:
    """A group's last row becomes a group of its own at the end of a part: it has one value."""
    table = _table(folder, "release-00000.parquet")
    numbers = table.column("group").to_pylist()
    numbers[-1] += 1
    _put(folder, manifest, "release-00000.parquet", table.set_column(
        table.column_names.index("group"), "group", pa.array(numbers, pa.int32())))  # fmt: skip


def _wide_numbers(folder: Path, manifest: Manifest) -> None:
    for name in ("release", "help"):
        table = _table(folder, f"{name}-00000.parquet")
        place = table.column_names.index("group")
        wide = table.set_column(place, "group", table.column("group").cast(pa.int64()))
        _put(folder, manifest, f"{name}-00000.parquet", wide)


def _equal_values(folder: Path, manifest: Manifest) -> None:
    table = _table(folder, "release-00002.parquet")
    place = table.column_names.index("salary")
    _put(folder, manifest, "release-00002.parquet", table.set_column(
        place, "salary", pa.array([7] * table.num_rows, pa.int64())))  # fmt: skip


def _edited_help(folder: Path, manifest: Manifest) -> None:
    table = _table(folder, "help-00001.parquet")
    place = table.column_names.index("sum_upper")
    _put(folder, manifest, "help-00001.parquet", table.set_column(
        place, "sum_upper", pc.subtract(table.column("sum_upper"), 1)))  # fmt: skip


def _help_of_another_unit(folder: Path, manifest: Manifest) -> None:
    table = _table(folder, "help-00001.parquet")
    for name in ("min_lower", "min_upper"):
        place = table.column_names.index(name)
        table = table.set_column(place, name, table.column(name).cast(pa.decimal128(38, 0)))
    _put(folder, manifest, "help-00001.parquet", table)


def _less_help(folder: Path, manifest: Manifest) -> None:
    manifest["help"] = "none"


def _other_help(folder: Path, manifest: Manifest) -> None:
    manifest["help"] = "sums"


def _another_column(folder: Path, manifest: Manifest) -> None:
    table = _table(folder, "release-00001.parquet")
    _put(folder, manifest, "release-00001.parquet", table.append_column("name", pa.array(["x"] * table.num_rows)))


def _another_type(folder: Path, manifest: Manifest) -> None:
    table = _table(folder, "release-00001.parquet")
    place = table.column_names.index("age")
    changed = table.set_column(place, "age", table.column("age").cast(pa.float64()))
    _put(folder, manifest, "release-00001.parquet", changed)


def _no_parts(folder: Path, manifest: Manifest) -> None:
    manifest["parts"] = []


def _old_format(folder: Path, manifest: Manifest) -> None:
    manifest["format"] = "hedgerow/1"


def _outside(folder: Path, manifest: Manifest) -> None:
    manifest["files"]["../x-00000.parquet"] = manifest["files"]["release-00000.parquet"]


FORGERIES = [
    _missing_part, _missing_part_unlisted, _extra_file, _duplicated_part, _exchanged, _exchanged_with_entries,
    _wrong_first, _overlap, _wrong_groups, _wrong_rows, _split_group, _split_group_renumbered, _wide_numbers,
    _equal_values, _edited_help, _help_of_another_unit, _less_help, _other_help, _another_column, _another_type,
    _no_parts, _old_format, _outside,
]  # fmt: skip


@pytest.mark.parametrize("change", FORGERIES, ids=lambda change: change.__name__.strip("_"))
def test_forged_parts_are_refused(change: Forgery, honest: Path, tmp_path: Path) -> None:
    """Whatever is done to the parts, verify says so in a sentence."""
    forged = _forge(honest, tmp_path / "out", change)
    with pytest.raises((BundleError, BrokenPromise)):
        verify_bundle(forged)


def test_resealing_alone_forges_nothing(honest: Path, tmp_path: Path) -> None:
    """The forger's own seal passes."""
    verify_bundle(_forge(honest, tmp_path / "out", lambda folder, manifest: None))


@pytest.mark.parametrize("seed", range(60))
def test_random_changes_of_the_manifest_are_refused_or_harmless(seed: int, honest: Path, tmp_path: Path) -> None:
    """A number or word of the manifest that is changed at random never ends in anything but a typed refusal."""
    rng = random.Random(seed)

    def change(folder: Path, manifest: Manifest) -> None:
        part = rng.choice(manifest["parts"])
        key = rng.choice(list(part))
        part[key] = rng.choice([-1, 0, 1, 2**31, 2**62, part[key] + 1, part[key] - 1, None, "1", True, 1.5, []])

    before = (honest / "manifest.json").read_text()
    forged = _forge(honest, tmp_path / "out", change)
    if json.loads((forged / "manifest.json").read_text())["parts"] == json.loads(before)["parts"]:
        verify_bundle(forged)
        return
    with pytest.raises((BundleError, BrokenPromise)):
        verify_bundle(forged)


def _seal_unverified(release: hr.Release, out: Path, parts: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a release in parts without its own audit."""
    monkeypatch.setattr("hedgerow.release.parts.verify_bundle", lambda path: None)
    with stage_bundle(out) as stage:
        rows = release.rows.published
        written = [
            write_part(stage.folder, part, first_group=first, rows=rows, helper=None)
            for first, part in split_release(release, parts)
        ]
        seal(stage, release, written, help="none")
    return out


@pytest.mark.parametrize("criterion", [{"t": "0.3"}, {"beta": "0.5"}, {"delta": "0.8"}])
def test_promises_about_the_whole_table_are_checked_against_it(
    criterion: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each part keeps the promise by itself, the whole does not: the halves of the table have other distributions."""
    table = pa.table(
        {"age": [n // 20 for n in range(80)], "ill": [("a", "b", "c", "d")[n % 2 + n // 40 * 2] for n in range(80)]}
    )
    schema = hr.Schema(quasi="age", sensitive="ill")
    mild = hr.Mondrian(k=20).publish(table, schema)
    assert mild.groups == 4
    strict = hr.Mondrian(k=20, **criterion).publish(table.slice(0, 40), schema)
    claimed = replace(mild.guarantee, parameters=dict(strict.guarantee.parameters))
    forged = replace(mild, guarantee=claimed)
    forged = replace(forged, guarantee=word(forged.published))
    out = _seal_unverified(forged, tmp_path / "out", 20, monkeypatch)
    with pytest.raises(BrokenPromise):
        verify_bundle(out)
    with pytest.raises(BrokenPromise):
        forged.verify()


def test_the_manifest_comes_back_from_its_bytes(honest: Path) -> None:
    """Decoding and encoding give the same bytes."""
    text = (honest / "manifest.json").read_bytes()
    assert encode(decode(text)) == text


def test_many_files_are_opened_one_by_one(honest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with more files than may be open is verified and read all the same."""
    monkeypatch.setattr("hedgerow.verify.holding._MOST_OPEN", 3)
    verify_bundle(honest)
    assert hr.open(honest).rows.published == 96


@pytest.mark.parametrize(
    "criterion", [{"t": "0.5"}, {"t": "0.5", "distance": "ordered"}, {"beta": "2"}, {"delta": "2"}]
)
def test_honest_promises_about_the_whole_table_pass(criterion: dict[str, str], tmp_path: Path) -> None:
    """The shares of parts differ from those of the whole, which count; missing values are values."""
    ill = [n % 3 for n in range(90)] if criterion.get("distance") or "delta" in criterion else None
    values = ill or [None if n % 10 == 0 else n % 3 for n in range(90)]
    table = pa.table({"age": list(range(90)), "ill": pa.array(values, pa.int64())})
    release = hr.Mondrian(k=9, **criterion).publish(
        table, hr.Schema(quasi="age", sensitive="ill", missing={"ill": "value"})
    )
    release.save(tmp_path / "one")
    release.save(tmp_path / "out", rows_per_part=9)
    assert release.groups > 1
    assert set(verify_bundle(tmp_path / "one").checks) <= set(verify_bundle(tmp_path / "out").checks)


def test_what_parts_share_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred parts beside a target of 20,000 values took ten seconds: the tree was read four times for each."""
    table = pa.table({"age": [n // 2 for n in range(20)], "pay": [n % 2 for n in range(20)]})
    method = hr.TargetDistribution(Hierarchy.binary(range(2)).with_target([1, 1]), parts="age")
    method.publish(table, hr.Schema(quasi="age", sensitive="pay")).save(tmp_path / "out", rows_per_part=2, help="none")
    found: list[pa.Table] = []
    honest = target._read

    def read(table: pa.Table) -> target.Trees:
        found.append(table)
        return honest(table)

    monkeypatch.setattr(target, "_read", read)
    target._latest.clear()
    assert "10 parts" in str(verify_bundle(tmp_path / "out"))
    assert len(found) == 1


@pytest.mark.parametrize("name", ["release.parquet", "help.parquet", "What is in this folder\n"])
def test_columns_called_like_files_of_parts(tmp_path, name):
    """The page for people named the files of the parts where the promise names the column, and was refused."""
    table = pa.table({"age": range(12), name: list("abc") * 4})
    release = hr.Anatomy(l=3, form="permuted").publish(table, hr.Schema(quasi=["age"], sensitive=name))
    release.save(tmp_path / "out", rows_per_part=6)
    assert "2 parts" in str(verify_bundle(tmp_path / "out"))
    page = (tmp_path / "out" / "README.md").read_text()
    assert "`release-*.parquet`" in page
    assert "The tables are in 2 parts" in page.partition("## What is in this folder\n")[2]
