"""A bundle is whole, unedited, atomic, and holds nothing but the release."""

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap

import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.release import folder as folders
from hedgerow.verify import holding, parquet
from hedgerow.verify.manifest import decode


@pytest.fixture
def bundle(salaries_release, tmp_path):
    """A saved bundle."""
    salaries_release.save(tmp_path / "out", allow_insecure=True)
    return tmp_path / "out"


def test_a_round_trip_keeps_everything(salaries_release, bundle):
    """What is opened is what was saved."""
    opened = hr.open(bundle)
    assert opened.tables["release"].equals(salaries_release.tables["release"])
    for part in ("form", "columns", "group_column", "guarantee", "rows", "groups"):
        assert getattr(opened, part) == getattr(salaries_release, part)
    assert opened.made.reproducible


def test_the_files_are_those_of_the_format(bundle):
    """The folder holds exactly what docs/bundle.md says, and no input metadata."""
    assert sorted(f.name for f in bundle.iterdir()) == [
        "README.md",
        "help.parquet",
        "index.html",
        "manifest.json",
        "release.parquet",
    ]
    assert pq.read_schema(bundle / "release.parquet").metadata is None
    assert "salary" in (bundle / "README.md").read_text()


def test_a_seeded_release_is_not_written_by_accident(salaries_release, tmp_path):
    """A seed must be allowed explicitly, because it undoes the release."""
    with pytest.raises(hr.BundleError, match="seed"):
        salaries_release.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten_by_accident(salaries_release, bundle, tmp_path):
    """An existing bundle needs a flag, and a folder that is no bundle is never replaced."""
    with pytest.raises(hr.BundleError, match="exists already"):
        salaries_release.save(bundle, allow_insecure=True)
    salaries_release.save(bundle, overwrite=True, allow_insecure=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(hr.BundleError, match="not a hedgerow bundle"):
        salaries_release.save(tmp_path / "mine", overwrite=True, allow_insecure=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("name", ["README.md", "help.parquet", "index.html", "manifest.json", "release.parquet"])
@pytest.mark.parametrize("damage", ["truncated", "edited", "removed"])
def test_damaged_files_are_refused(bundle, name, damage):
    """Each file, cut, changed in one byte or missing, is noticed on reading."""
    content = bytearray((bundle / name).read_bytes())
    if damage == "removed":
        (bundle / name).unlink()
    else:
        content[len(content) // 2] ^= 1
        (bundle / name).write_bytes(content[: len(content) // 2] if damage == "truncated" else content)
    with pytest.raises(hr.BundleError):
        hr.open(bundle)


@pytest.mark.parametrize("edit", [
    lambda m: m["guarantee"]["parameters"].update(k=9),
    lambda m: m.update(format="hedgerow/99"),
    lambda m: m.update(surprise=1),
    lambda m: m.pop("rows"),
    lambda m: m["files"].update({"../x": m["files"]["README.md"]}),
])  # fmt: skip
def test_an_edited_manifest_is_refused(bundle, edit):
    """A promise cannot be changed after the fact without the checksum telling."""
    manifest = json.loads((bundle / "manifest.json").read_text())
    edit(manifest)
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(hr.BundleError, match=r"manifest\.json"):
        hr.open(bundle)


@pytest.mark.parametrize(("opens", "inside", "ends"), [("[", "", "]"), ('{"a":', "1", "}")])
def test_a_manifest_that_is_nested_deep_is_refused(opens, inside, ends):
    """At whatever depth: one could be read, and ended in a RecursionError when its checksum was made."""
    for depth in range(600, 1_010):
        with pytest.raises(hr.BundleError, match="not a hedgerow manifest"):
            decode(f'{{"format": {opens * depth}{inside}{ends * depth}}}'.encode())


def test_a_strange_file_is_refused(bundle):
    """A bundle with a file that nobody signed for is not opened."""
    (bundle / "extra.csv").write_text("a,b")
    with pytest.raises(hr.BundleError, match="does not list"):
        hr.open(bundle)


@pytest.mark.parametrize("what", ["nothing", "file", "folder"])
def test_what_is_no_bundle_is_refused(tmp_path, what):
    """A missing path, a file or an empty folder each end in a sentence."""
    if what == "file":
        (tmp_path / "x").write_text("hello")
    elif what == "folder":
        (tmp_path / "x").mkdir()
    with pytest.raises(hr.BundleError, match="not a hedgerow bundle"):
        hr.open(tmp_path / "x")


def test_a_full_disk_leaves_nothing_behind(salaries_release, tmp_path, monkeypatch):
    """An error while writing is one sentence, and no partial release stays."""

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(folders.os, "fsync", full)
    with pytest.raises(hr.BundleError, match="No space left on device"):
        salaries_release.save(tmp_path / "out", allow_insecure=True)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_nothing_behind(salaries_release, tmp_path, monkeypatch):
    """Ctrl-C in the middle of writing removes what was written."""

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(folders, "sync_folder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        salaries_release.save(tmp_path / "out", allow_insecure=True)
    assert list(tmp_path.iterdir()) == []


def test_two_writers_do_not_mix(salaries_release, tmp_path, monkeypatch):
    """If another writer finishes first the second one fails instead of replacing it."""
    plain_sync = folders.sync_folder

    def slow(path):
        if ".hedgerow-writing-" in path.name and not (tmp_path / "out").exists():
            monkeypatch.setattr(folders, "sync_folder", plain_sync)
            salaries_release.save(tmp_path / "out", allow_insecure=True)
        plain_sync(path)

    monkeypatch.setattr(folders, "sync_folder", slow)
    with pytest.raises(hr.BundleError, match="could not be written"):
        salaries_release.save(tmp_path / "out", allow_insecure=True)
    hr.open(tmp_path / "out")
    assert [f.name for f in tmp_path.iterdir()] == ["out"]


def test_without_exchange_the_old_release_steps_aside(salaries_release, bundle, monkeypatch):
    """Where folders cannot be exchanged in one step, a crash between two renames still leaves the old release."""
    monkeypatch.setattr(folders, "_exchange", lambda one, other: False)
    salaries_release.save(bundle, overwrite=True, allow_insecure=True)
    hr.open(bundle)
    os.rename(bundle, holding.place_aside(bundle))
    hr.open(bundle)


def test_a_bundle_that_announces_too_much_is_not_read(salaries_release, tmp_path, monkeypatch):
    """The number of cells in a file's footer is compared with the limit before anything is allocated."""
    monkeypatch.setattr(parquet, "_FLOOR", 10)
    monkeypatch.setattr(parquet, "_TIMES", 0)
    salaries_release.save(tmp_path / "out", allow_insecure=True)
    with pytest.raises(hr.BundleError, match="announces more than 10 bytes"):
        hr.open(tmp_path / "out")


_WRITER = """
    import dataclasses, os, signal, sys
    from hedgerow.release import folder
    from hedgerow.release.bundle import as_release, write
    from hedgerow.verify.holding import open_bundle

    target, step = sys.argv[1], int(sys.argv[2])
    opened = open_bundle(target)
    release, helpers = as_release(opened.release), opened.helpers
    release = dataclasses.replace(release, made=dataclasses.replace(release.made, method="second"))
    done = 0
    def before(function):
        def wrapped(*args, **kwargs):
            global done
            if done == step:
                os.kill(os.getpid(), signal.SIGKILL)
            done += 1
            return function(*args, **kwargs)
        return wrapped
    os.fsync, os.rename, folder._exchange = before(os.fsync), before(os.rename), before(folder._exchange)
    folder.shutil.rmtree = before(folder.shutil.rmtree)
    write(release, target, helpers=helpers, overwrite=True, allow_insecure=True)
    print(done)
"""


@pytest.mark.slow
def test_kill_before_every_durable_step_leaves_the_old_or_the_new_release(salaries_release, bundle):
    """Kill -9 before each sync, rename and removal: a reader sees a whole release, and the next writer sweeps."""

    def write(step):
        command = [sys.executable, "-c", textwrap.dedent(_WRITER), str(bundle), str(step)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    step, killed = 0, 0
    while (run := write(step)).returncode == -signal.SIGKILL:
        killed += 1
        assert hr.open(bundle).made.method in ("KEAnonymity", "second")
        step += 1
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) == killed >= 7
    assert hr.open(bundle).made.method == "second"
    assert [f.name for f in bundle.parent.iterdir()] == ["out"]


def test_manifests_of_earlier_versions_are_read(bundle):
    """A manifest without the fields that later versions added opens, under a checksum of what it says."""
    manifest = json.loads((bundle / "manifest.json").read_text())
    del manifest["texts"], manifest["merged"]
    bare = json.dumps(manifest | {"checksum": ""}, ensure_ascii=False, separators=(",", ":")).encode()
    manifest["checksum"] = hashlib.sha256(bare).hexdigest()
    (bundle / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False))
    hr.open(bundle).verify()
    manifest["groups"] += 1
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(hr.BundleError, match="checksum"):
        hr.open(bundle)
