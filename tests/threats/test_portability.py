"""What Linux has and other systems lack: without it the same promises hold, or a sentence says which does not."""

import errno
import importlib.util
import os
import sys
import threading
import time
import types

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import hedgerow as hr
from hedgerow.cli import main
from hedgerow.ledger import store
from hedgerow.release import folder as folders
from hedgerow.verify.holding import place_aside
from tests.support.every_method import PEOPLE, SCHEMA


@pytest.fixture
def bundle(tmp_path):
    """A saved release."""
    hr.KEAnonymity(k=2).publish(PEOPLE, SCHEMA).save(tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def release():
    """A release of the same people."""
    return hr.KEAnonymity(k=3).publish(PEOPLE, SCHEMA)


@pytest.fixture
def no_folders(monkeypatch):
    """A system on which a folder cannot be opened, and two cannot change places."""
    monkeypatch.delattr(os, "O_DIRECTORY")
    monkeypatch.setattr(folders, "_exchange", lambda one, other: False)


def test_bundles_are_written_and_read_where_folders_cannot_be_opened(bundle, release, no_folders):
    """Written, replaced, read and verified by paths alone; nothing stays beside the bundle."""
    release.save(bundle, overwrite=True)
    assert hr.open(bundle).guarantee.parameters["k"] == 3
    hr.open(bundle).verify()
    assert [place.name for place in bundle.parent.iterdir()] == ["out"]


def test_a_release_that_cannot_take_its_place_leaves_the_old_one_there(bundle, release, no_folders, monkeypatch):
    """If the second rename fails, as where a file is held open, the old release comes back to its place."""
    rename = os.rename

    def refuse(one, other):
        if "writing" in str(one):
            raise PermissionError(errno.EACCES, "Permission denied")
        rename(one, other)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(hr.BundleError, match="Permission denied"):
        release.save(bundle, overwrite=True)
    assert hr.open(bundle).guarantee.parameters["k"] == 2
    assert [place.name for place in bundle.parent.iterdir()] == ["out"]


def test_a_release_that_a_crash_left_aside_is_not_overwritten_unasked(bundle, release, no_folders):
    """It is read as the release, so it counts as one; if asked, the new one takes its place and the old one goes."""
    os.rename(bundle, place_aside(bundle))
    with pytest.raises(hr.BundleError, match="exists already"):
        release.save(bundle)
    release.save(bundle, overwrite=True)
    assert hr.open(bundle).guarantee.parameters["k"] == 3
    assert [place.name for place in bundle.parent.iterdir()] == ["out"]


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_file_systems_that_cannot_sync_a_folder_are_served(release, tmp_path, monkeypatch, number):
    """Network shares refuse it; files are synced all the same, and any other error is still an error."""
    sync = os.fsync

    def refuse(handle):
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            raise OSError(number, os.strerror(number))
        sync(handle)

    monkeypatch.setattr(os, "fsync", refuse)
    release.save(tmp_path / "out")
    hr.open(tmp_path / "out").verify()
    number = errno.EIO
    with pytest.raises(hr.BundleError, match="Input/output"):
        release.save(tmp_path / "other")


def test_abandoned_folders_go_by_their_age_where_processes_cannot_be_asked(release, tmp_path, monkeypatch):
    """On Windows asking after a process would end it: what is a day old is swept, what is younger may be in use."""
    old, young = (tmp_path / f".out{folders._MARK}{number}-ab" for number in (2**22 + 1, 2**22 + 2))
    old.mkdir()
    young.mkdir()
    os.utime(old, (0, 0))
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "kill", None)
    release.save(tmp_path / "out")
    assert sorted(place.name for place in tmp_path.iterdir()) == sorted([young.name, "out"])


def test_a_ledger_that_cannot_be_locked_is_refused_in_one_sentence(tmp_path, monkeypatch):
    """Some network shares have no locks: nothing is published, since two writers could miss each other."""

    def refuse(handle, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(store.fcntl, "flock", refuse)
    with pytest.raises(hr.BundleError, match=r"'ledger.json' could not be locked: No locks available"):
        hr.KEAnonymity(k=2).publish(PEOPLE, SCHEMA, ledger=tmp_path / "ledger.json")


@pytest.fixture
def windows(monkeypatch):
    """The ledger's store as Windows loads it, with a lock that gives up now and then as that of Windows does."""
    import fcntl

    tries = []

    def locking(handle, mode, size):
        if mode == "unlock":
            fcntl.flock(handle, fcntl.LOCK_UN)
            return
        tries.append(mode)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OSError(errno.EDEADLOCK, "Resource deadlock avoided") from None

    fake = types.SimpleNamespace(locking=locking, LK_LOCK="lock", LK_UNLCK="unlock", tries=tries)
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    monkeypatch.setattr(sys, "platform", "win32")
    spec = importlib.util.spec_from_file_location("hedgerow.ledger.store_on_windows", store.__file__)
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, loaded)
    spec.loader.exec_module(loaded)
    return loaded, tries


def test_writers_wait_for_each_other_without_flock(windows, tmp_path):
    """Windows gives up waiting after ten seconds; a writer asks again until the other one is done."""
    loaded, tries = windows
    path, order = tmp_path / "ledger.json", []

    def second():
        with loaded.lock(path):
            order.append("second")

    with loaded.lock(path):
        waiting = threading.Thread(target=second)
        waiting.start()
        while len(tries) < 5 and waiting.is_alive():
            time.sleep(0.001)
        order.append("first")
    waiting.join(10)
    assert order == ["first", "second"]


def test_hashes_in_use_stay_until_the_next_time(tmp_path, monkeypatch):
    """A file that another process reads cannot be removed on Windows: that ends no publication."""
    folder = store.folder_of(tmp_path / "ledger.json")
    folder.mkdir()
    (folder / "unnamed.u64").write_bytes(b"")

    def refuse(self, missing_ok=False):
        raise PermissionError(errno.EACCES, "in use")

    with monkeypatch.context() as busy:
        busy.setattr(type(folder), "unlink", refuse)
        store.sweep(tmp_path / "ledger.json", store.Contents("key"))
    store.sweep(tmp_path / "ledger.json", store.Contents("key"))
    assert not list(folder.iterdir())


@pytest.mark.parametrize("charset", ["ascii", "cp1252"])
def test_what_a_terminal_cannot_show_ends_no_verb(bundle, charset):
    """A redirected Windows console knows 255 characters, `LC_ALL=C` 127: others are shown as question marks."""
    pq.write_table(PEOPLE, bundle.parent / "people.parquet")
    words = ["attack", str(bundle), "--original", str(bundle.parent / "people.parquet")]
    result = CliRunner(charset=charset).invoke(main, words)
    assert result.exit_code == 0, result.exception
    assert "?" in result.output
