"""threats.md, part D: killed, failing or interrupted at any step, a writer leaves the whole old or the whole new thing.

Everything runs in children of a fresh process: forking the tests' own, whose libraries run threads, would not be safe.
"""

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")

_SETUP = """
    import errno, importlib, os, random, shutil, signal, sys, time
    from pathlib import Path

    import hedgerow as hr
    from hedgerow import graph as hg
    from tests.support.crashes import failed_at_each_step, forked, interrupted, killed_at_each_step
    from tests.support.every_method import PEOPLE, SCHEMA

    base = Path(sys.argv[1])
    target = base / "place" / "out"
    ABSENT, OLD, NEW, BROKEN = range(4)

    def graph_of(shift):
        people = {"person": [f"p{n}" for n in range(12)]}
        drugs = {"drug": [f"d{n}" for n in range(12)]}
        edges = {"person": people["person"], "drug": [f"d{(n + shift) % 12}" for n in range(12)]}
        return hg.BipartiteGraph.read(people, drugs, edges)

    def make(kind):
        for version, k in (("old", 2), ("new", 3)):
            if kind == "graph":
                hg.SafeGrouping(k, 2).publish(graph_of(k)).save(base / version)
            else:
                hr.KEAnonymity(k=k).publish(PEOPLE, SCHEMA).save(base / version)

    def opened(kind, path):
        return hg.open(path) if kind == "graph" else hr.open(path)

    def reset():
        shutil.rmtree(target.parent, ignore_errors=True)
        target.parent.mkdir()
        if start == "overwrite":
            shutil.copytree(base / "old", target)

    def write():
        try:
            opened(kind, base / "new").save(target, overwrite=start == "overwrite")
        except hr.BundleError as error:
            assert str(error).isprintable() and "canary" not in str(error)
            return 1
        return 0

    def look():
        if not target.exists() and not any(target.parent.glob(".*aside")):
            return ABSENT
        release = opened(kind, target)
        release.verify()
        return {2: OLD, 3: NEW}[int(release.guarantee.parameters["k"])]

    def look_and_tidy():
        # Nothing is left but what a reader sees: who failed has swept.
        names = sorted(entry.name for entry in target.parent.iterdir())
        return look() if names in ([], ["out"]) else BROKEN

    kind, start = sys.argv[2], sys.argv[3]
    before = OLD if start == "overwrite" else ABSENT
    def rehearse():
        make(kind)
        reset()
        write()
        look()
        (base / "modules").write_text(" ".join(sys.modules))

    # Children would each load these again; loading starts no threads, reading a bundle does.
    assert forked(rehearse) == 0
    for name in (base / "modules").read_text().split():
        if name.startswith(("hedgerow", "numpy", "pyarrow", "duckdb", "msgspec")):
            importlib.import_module(name)
"""


def _run(body, tmp_path, *words):
    """Run a script in a process of its own; return what it printed."""
    script = textwrap.dedent(_SETUP) + textwrap.dedent(body)
    command = [sys.executable, "-W", "error", "-c", script, str(tmp_path), *words]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "start"), [("table", "fresh"), ("table", "overwrite"), ("graph", "overwrite")])
def test_kill_before_every_durable_step(tmp_path, kind, start):
    """Old, old, ..., old, new, ..., new: never anything else; and the next writer sweeps what was left."""
    body = """
        seen = killed_at_each_step(write, look, reset)
        assert seen == sorted(seen) and set(seen) == {before, NEW}, seen
        reset()
        forked(lambda: (shutil.copytree(base / "old", target.parent / ".out.hedgerow-writing-999999999-ab"), 0)[1])
        assert forked(write) == 0 and forked(look_and_tidy) == NEW
        print(len(seen) - 1)
    """
    assert int(_run(body, tmp_path, kind, start)) >= 8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "start", "stride"),
    [
        ("publish", "overwrite", 6),
        ("blocks", "overwrite", 6),
        ("graph", "fresh", 6),
        ("export", "fresh", 1),
        ("forget", "overwrite", 3),
    ],
)
def test_kill_whole_verbs(tmp_path, verb, start, stride):
    """A sample of the steps of publish with a ledger (also in blocks), graphs, export and a ledger that forgets."""
    command = [sys.executable, "-W", "error", "-m", "tests.support.kills", verb, start, str(tmp_path)]
    run = subprocess.run([*command, "--stride", str(stride)], capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    assert int(run.stdout.split()[-1]) >= 2


@pytest.mark.slow
def test_kill_where_folders_cannot_be_exchanged(tmp_path):
    """With two renames instead of one exchange a reader still finds the old release or the new one."""
    body = """
        from hedgerow.release import folder
        folder._exchange = lambda one, other: False
        seen = killed_at_each_step(write, look, reset)
        assert seen == sorted(seen) and set(seen) == {OLD, NEW}, seen
        print(len(seen) - 1)
    """
    assert int(_run(body, tmp_path, "table", "overwrite")) >= 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "start", "fault"),
    [("table", "overwrite", "ENOSPC"), ("table", "fresh", "EROFS"), ("graph", "overwrite", "EIO")],
)
def test_a_full_failing_or_read_only_disk_at_every_step(tmp_path, kind, start, fault):
    """Each step that fails ends in one sentence, the old release stays, and nothing partial is left."""
    body = f"""
        error = OSError(errno.{fault}, os.strerror(errno.{fault}))
        results = failed_at_each_step(write, look_and_tidy, reset, error)
        for step, (code, seen) in enumerate(results):
            # What fails after the new release is in place, such as removing the old one, may leave either.
            assert seen in (before, NEW) or code == 0, (step, code, seen)
            assert code in (0, 1), (step, code)
        assert (1, before) in results
        print(len(results))
    """
    assert int(_run(body, tmp_path, kind, start)) >= 6


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["table", "graph"])
def test_a_limit_on_the_size_of_files(tmp_path, kind):
    """The system itself refuses to let a file grow: at every size the old release stays whole."""
    body = """
        import resource
        done = set()
        def limited(size):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            return write()
        for size in (0, 100, 1000, 2000, 5000, 1 << 20):
            reset()
            code = forked(lambda: limited(size))
            seen = forked(look_and_tidy)
            assert (code, seen) in ((0, NEW), (1, OLD)), (size, code, seen)
            done.add(code)
        assert done == {0, 1}
    """
    _run(body, tmp_path, kind, "overwrite")


@pytest.mark.slow
def test_ctrl_c_at_any_moment(tmp_path):
    """An interrupt while writing leaves the old or the new release, and nothing beside it."""
    body = """
        reset()
        begin = time.perf_counter()
        assert forked(write) == 0
        whole, stopped = time.perf_counter() - begin, 0
        for n in range(20):
            reset()
            stopped += interrupted(write, whole * (n + 1) / 20)
            seen = forked(look_and_tidy)
            assert seen in (OLD, NEW), (n, seen)
        print(stopped)
    """
    assert int(_run(body, tmp_path, "table", "overwrite")) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["table", "graph"])
def test_two_writers_of_one_new_bundle(tmp_path, kind):
    """Who comes second is told so, and what stands is the whole release of who came first."""
    body = """
        for n in range(8):
            reset()
            begin = time.monotonic() + 0.3
            children = []
            for version in ("old", "new"):
                child = os.fork()
                if child == 0:
                    release = opened(kind, base / version)
                    time.sleep(max(0.0, begin - time.monotonic()))
                    try:
                        release.save(target)
                    except hr.BundleError:
                        os._exit(1)
                    os._exit(0)
                children.append(child)
            ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
            assert sorted(ends) == [0, 1], ends
            assert forked(look_and_tidy) == (OLD, NEW)[ends.index(0)], ends
    """
    _run(body, tmp_path, kind, "fresh")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["table", "graph"])
def test_two_writers_and_a_reader(tmp_path, kind):
    """Writers that overwrite each other all the time never show a reader anything but a whole release."""
    body = """
        reset()
        children = []
        for version in ("old", "new"):
            child = os.fork()
            if child == 0:
                release, end = opened(kind, base / version), time.monotonic() + 3
                while time.monotonic() < end:
                    try:
                        release.save(target, overwrite=True)
                    except hr.BundleError:
                        pass
                os._exit(0)
            children.append(child)
        def read():
            end, seen = time.monotonic() + 2.5, set()
            while time.monotonic() < end:
                seen.add(look())
            return 0 if seen <= {OLD, NEW} else 1
        assert forked(read) == 0
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
        assert forked(look_and_tidy) in (OLD, NEW)
    """
    _run(body, tmp_path, kind, "overwrite")
