"""Memory that is not enough and a disk that is full: one sentence on the command line, a type of ours in Python."""

import errno
import os
import subprocess
import sys

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import limit_reached, within_limits
from hedgerow.ledger import Ledger

ROWS = 40_000
SCHEMA = hr.Schema(quasi=["age"], sensitive="pay")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A table and its release, large enough that a few megabytes are not enough for them."""
    folder = tmp_path_factory.mktemp("limits")
    lines = "".join(f"{row % 90},{row % 1000},{row:0100d}\n" for row in range(ROWS))
    (folder / "t.csv").write_text("age,pay,note\n" + lines)
    schema = hr.Schema(quasi=["age"], sensitive="pay", plain="note")
    hr.KEAnonymity(k=2, e=1).publish(folder / "t.csv", schema).save(folder / "out")
    return folder


_LIMITED = """
import resource, sys
import hedgerow.cli, numpy, pyarrow.parquet, pyarrow.compute, duckdb, numba, sqlglot, rich.console, pyarrow.csv
import hedgerow.query.sql.parse, hedgerow.methods, hedgerow.table.csv, hedgerow.front, hedgerow.query
pyarrow.set_cpu_count(1); pyarrow.set_io_thread_count(1)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]), -1))
hedgerow.cli.main(sys.argv[2:], prog_name="hedgerow")
"""


@pytest.mark.slow
@pytest.mark.parametrize("room", [1 << 18, 6 << 20])
@pytest.mark.parametrize(
    "verb",
    [
        "publish t.csv --quasi age --sensitive pay --plain note --method ke --k 2 --e 1 --out new",
        "verify out",
        "query out 'SELECT count(*) FROM release WHERE age > 3 GROUP BY note'",
    ],
)
def test_too_little_memory_is_one_sentence(place, verb, room):
    """A process with little room ends with a sentence, or does its work."""
    import shlex

    run = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(room), *shlex.split(verb)],
        cwd=place, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = run.stderr.strip().splitlines()
    assert run.returncode in (0, 2), (run.returncode, lines[-3:])
    assert run.returncode == 2 or room > 1 << 18
    if run.returncode:
        assert lines == ["hedgerow: There is not enough memory for this; take fewer rows or columns, or a machine that "
                         "has more."]  # fmt: skip
    assert not (place / "new").exists() or run.returncode == 0
    if (place / "new").exists():
        (place / "new").rename(place / f"made {room}")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MemoryError(), hr.OutOfMemory),
        (pa.ArrowMemoryError("malloc of size 17 failed"), hr.OutOfMemory),
        (RuntimeError("can't start new thread"), hr.OutOfMemory),
        (ImportError("x.so: failed to map segment from shared object"), hr.OutOfMemory),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), hr.OutOfMemory),
        (OSError(errno.ENOSPC, "No space left on device"), hr.DiskFull),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), hr.DiskFull),
    ],
)
def test_each_limit_has_its_type(error, kind):
    """What libraries raise becomes ours, in a sentence without their words; the old types still catch it."""

    def fail():
        raise error

    with pytest.raises(kind) as caught:
        within_limits(fail)()
    assert str(caught.value).count(".") == 1
    assert isinstance(caught.value, MemoryError if kind is hr.OutOfMemory else hr.BundleError)


def test_other_errors_are_left_alone():
    """A fault is no limit."""
    assert limit_reached(ValueError("malloc")) is None
    assert limit_reached(OSError(errno.EACCES, "Permission denied")) is None

    def fail():
        raise KeyError("x")

    with pytest.raises(KeyError):
        within_limits(fail)()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of a megabyte; skipped where none can be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_one_sentence_everywhere(small_disk, tmp_path):
    """publish, its ledger, export, certify and a recipe to a disk of a megabyte: a sentence, and nothing left."""
    from click.testing import CliRunner

    from hedgerow import recipe
    from hedgerow.cli import main

    numbers = [f"{(row * 2654435761) % 2**32:x}{(row * 40503) % 2**31:x}" for row in range(60_000)]
    table = pa.table({"age": numbers, "pay": [row % 1000 for row in range(60_000)]})
    release = hr.Anatomy(l=2).publish(table, SCHEMA)
    with pytest.raises(hr.DiskFull, match="No space left on device"):
        release.save(small_disk / "out")
    assert os.listdir(small_disk) == []
    release.save(tmp_path / "out")
    run = CliRunner().invoke(main, ["export", str(tmp_path / "out"), "--csv", str(small_disk / "files")])
    assert run.exit_code == 2, run.output
    assert "No space left on device" in run.output
    assert len(run.output.strip().splitlines()) == 1
    assert os.listdir(small_disk) == []
    (small_disk / "filling").write_bytes(b"x" * ((1 << 20) - 8192))
    with pytest.raises(hr.DiskFull, match="No space left on device"):
        recipe.write_recipe(
            recipe.Recipe(table="t.csv", output="out", roles=recipe.Roles(quasi=["x" * 20_000]), method={"name": "ke"}),
            small_disk / "r.toml",
        )
    with pytest.raises(hr.DiskFull, match="No space left on device"):
        hr.Anatomy(l=2).publish(table, SCHEMA, ledger=small_disk / "ledger.json")
    assert not {"out", "files", "r.toml"} & set(os.listdir(small_disk))
    assert Ledger.open(small_disk / "ledger.json").entries == ()  # begun, and of nobody
    (small_disk / "filling").unlink()
    few = pa.table({"age": range(40), "pay": list(range(4)) * 10})
    hr.Anatomy(l=2).publish(few, SCHEMA, ledger=small_disk / "ledger.json").save(small_disk / "out")
    assert (small_disk / "ledger.json").exists()


def test_limits_are_asked_before_a_bundle_is_decoded(place):
    """`max_bytes` where a bundle is opened, or asked on the command line."""
    from click.testing import CliRunner

    from hedgerow.cli import main

    with pytest.raises(hr.BundleError, match="more than 10,000 bytes"):
        hr.open(place / "out", max_bytes=10_000)
    hr.open(place / "out", max_bytes=1 << 28)
    for verb in ("query", "verify"):
        asked = ["SELECT count(*) FROM release"] if verb == "query" else []
        run = CliRunner().invoke(main, [verb, str(place / "out"), *asked, "--max-bytes", "10000"])
        assert run.exit_code == (2 if verb == "query" else 1)
        assert "more than 10,000 bytes" in run.output
    run = CliRunner().invoke(main, ["export", str(place / "out"), "--csv", str(place / "c"), "--max-bytes", "10000"])
    assert run.exit_code == 2
    assert not (place / "c").exists()
