"""What is read of a bundle is of one bundle, whatever takes its place while it is read."""

import os
import shutil
import signal

import pytest

import hedgerow as hr
from hedgerow.query import connect
from hedgerow.release.bundle import as_release
from hedgerow.verify import holding, verify_bundle
from tests.support.every_method import PEOPLE, SCHEMA


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """Two bundles of the same people that differ in groups and promise."""
    folder = tmp_path_factory.mktemp("versions")
    for k in (2, 3):
        hr.KEAnonymity(k=k).publish(PEOPLE, SCHEMA).save(folder / str(k))
    return folder


@pytest.fixture
def place(versions, tmp_path):
    """A folder that holds the first bundle, and a function that puts either in its place as a writer does."""
    target = tmp_path / "out"
    shutil.copytree(versions / "2", target)

    def put(k):
        hr.open(versions / str(k)).save(target, overwrite=True)

    return target, put


def _swapping(monkeypatch, name, versions):
    """Let a step of reading be followed by the next of some versions, once each."""
    step, waiting = getattr(holding, name), list(versions)

    def then(*args, **options):
        found = step(*args, **options)
        if waiting:
            put, k = waiting.pop(0)
            with monkeypatch.context() as undisturbed:
                undisturbed.setattr(holding, name, step)
                put(k)
        return found

    monkeypatch.setattr(holding, name, then)


@pytest.mark.parametrize(
    "look", [hr.open, lambda path: as_release(holding.open_bundle(path).release)], ids=["open", "with help"]
)
@pytest.mark.parametrize("step", ["_open_folder", "_is_file", "_open_file", "_require", "read_parquet"])
def test_there_and_back_again_is_not_mixed(place, monkeypatch, step, look):
    """Another release comes, and the first comes back, between any two steps of a reader: it saw one of them whole."""
    target, put = place
    _swapping(monkeypatch, step, [(put, 3), (put, 2), (put, 3), (put, 2)])
    release = look(target)
    release.verify()
    assert release.guarantee.parameters["k"] in (2, 3)


@pytest.mark.parametrize("step", ["_require", "read_parquet"])
def test_what_is_open_stays(place, monkeypatch, step):
    """Once all files are open the bundle may be replaced and removed: it is read to its end, helper table included."""
    target, put = place
    checks = verify_bundle(target).checks
    _swapping(monkeypatch, step, [(put, 3)])
    assert verify_bundle(target).checks == checks
    assert hr.open(target).guarantee.parameters["k"] == 3


def test_the_helper_table_is_of_the_same_bundle(place, monkeypatch):
    """Nobody meets the rows of one release beside the bounds of another."""
    target, put = place
    _swapping(monkeypatch, "read_parquet", [(put, 3)])
    opened = holding.open_bundle(target)
    rows, bounds = (
        table.group_by("group", use_threads=False).aggregate([how]).to_pydict()
        for table, how in (
            (opened.release.tables["release"], ([], "count_all")),
            (opened.helpers["help"], ("hits", "max")),
        )
    )
    assert [*rows.values()] == [*bounds.values()]


def test_a_bundle_that_is_replaced_all_the_time_is_refused(place, monkeypatch):
    """A reader that never finds a folder in its place gives up with a sentence and keeps nothing open."""
    target, _ = place
    monkeypatch.setattr(holding.os.path, "samestat", lambda one, other: False)
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    with pytest.raises(hr.BundleError, match="replaced faster"):
        hr.open(target)
    assert before in (0, len(os.listdir("/proc/self/fd")))


def test_nothing_stays_open(place):
    """A bundle that was read, or refused, holds no file descriptor."""
    target, _ = place
    if not os.path.exists("/proc/self/fd"):
        pytest.skip("open files are not listed here")
    hr.open(target)
    before = len(os.listdir("/proc/self/fd"))
    hr.open(target)
    (target / "README.md").write_text("edited")
    with pytest.raises(hr.BundleError, match="checksum"):
        hr.open(target)
    assert len(os.listdir("/proc/self/fd")) == before


def test_pipes_and_folders_do_not_stop_a_reader(place):
    """What is no file is not opened: a pipe in place of a table would wait for its writer forever."""
    target, _ = place
    (target / "README.md").unlink()
    os.mkfifo(target / "README.md")
    with pytest.raises(hr.BundleError, match="missing"):
        hr.open(target)
    (target / "README.md").unlink()
    (target / "README.md").mkdir()
    with pytest.raises(hr.BundleError, match="missing"):
        hr.open(target)


@pytest.fixture
def in_time():
    """End the test if it waits for a pipe."""

    def end(*_):
        raise TimeoutError("a reader waits")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("stem", ["quasi", "help"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "nothing", "itself"])
def test_files_that_are_opened_later_are_files(tmp_path, monkeypatch, in_time, stem, kind):
    """Also where a folder has too many files to open all at once."""
    monkeypatch.setattr(holding, "_MOST_OPEN", 3)
    target = tmp_path / "out"
    hr.Anatomy(l=2).publish(PEOPLE, SCHEMA).save(target, rows_per_part=4)
    part = sorted(target.glob(f"{stem}-*.parquet"))[1]
    part.unlink()
    if kind == "pipe":
        os.mkfifo(part)
    elif kind == "folder":
        part.mkdir()
    else:
        part.symlink_to({"device": "/dev/zero", "nothing": "/nothing/there", "itself": part}[kind])
    with pytest.raises(hr.BundleError, match=part.name):
        verify_bundle(target)
    if stem == "quasi":  # help tables of parts are not read to answer
        with pytest.raises(hr.BundleError, match=part.name):
            connect(target, "duckdb")


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(place, monkeypatch, in_time):
    """Between the look at what it is and its opening."""
    target, _ = place
    look = os.stat

    def then(path, **options):
        found = look(path, **options)
        if path == "README.md":
            (target / path).unlink()
            os.mkfifo(target / path)
        return found

    monkeypatch.setattr(holding.os, "stat", then)
    with pytest.raises(hr.BundleError, match="missing"):
        hr.open(target)


def test_links_lead_to_bytes_that_fit_or_are_refused(place, tmp_path):
    """A file of a bundle may be a link: what is read is what its checksum says, wherever it lies."""
    target, _ = place
    (target / "README.md").rename(tmp_path / "README.md")
    (target / "README.md").symlink_to(tmp_path / "README.md")
    verify_bundle(target)
    (tmp_path / "README.md").write_text("CANARY")
    with pytest.raises(hr.BundleError, match="checksum") as error:
        verify_bundle(target)
    assert "CANARY" not in str(error.value)
