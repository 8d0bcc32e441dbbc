"""Loops in two speeds."""

import numpy as np
import pytest

from hedgerow import kernel as kernels
from hedgerow.kernel import SMALL, kernel, on_compile


@kernel
def _twice(x):
    return x * 2


@kernel
def _sum_twice(array):
    total = 0
    for x in array:
        total += _twice(x)
    return total


def test_small_inputs_do_not_compile():
    """A small array runs the plain function."""
    fresh = kernel(_sum_twice.plain)
    assert fresh(np.arange(5)) == 20
    assert "compiled" not in vars(fresh)


def test_large_inputs_compile_and_agree():
    """A large array runs compiled, through a kernel that calls another, and gives the same result."""
    array = np.arange(SMALL + 1)
    assert _sum_twice(array) == _sum_twice.plain(array)
    assert "compiled" in vars(_sum_twice)


def test_compilation_is_announced(tmp_path, monkeypatch):
    """The first compilation on a machine tells every listener, once however many kernels follow."""
    heard = []
    monkeypatch.setattr(kernels, "_listeners", [])
    monkeypatch.setattr(kernels, "_cache_folder", lambda: tmp_path)
    on_compile(heard.append)
    _ = kernel(_twice.plain).compiled, kernel(_sum_twice.plain).compiled
    assert heard == ["compiling inner loops that this machine has not run before: some seconds"]


@pytest.mark.parametrize("writable", [True, False])
def test_the_cache_folder_is_writable_or_none(tmp_path, monkeypatch, writable):
    """Where no folder can be written kernels go without a cache instead of failing."""
    base = tmp_path / "cache" if writable else tmp_path / "file"
    if not writable:
        base.write_text("not a folder")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(base))
    monkeypatch.setenv("XDG_CACHE_HOME", str(base))
    monkeypatch.setenv("HOME", str(base))
    assert (kernels._cache_folder.__wrapped__() is not None) == writable


def test_a_cache_that_names_a_type_of_an_older_version_is_compiled_anew(tmp_path, monkeypatch):
    """A named tuple that was renamed is still in the index of an older version; that index is not read by Numba."""
    monkeypatch.setattr(kernels, "_cache_folder", lambda: tmp_path)
    function = kernels.kernel(_sum_twice.plain)
    assert function.compiled(np.arange(9_000)) == 9_000 * 8_999
    (index,) = kernels._indexes(tmp_path, function.plain)
    index.write_bytes(index.read_bytes().replace(b"numba", b"n0mba"))
    assert kernels.kernel(_sum_twice.plain).compiled(np.arange(9_000)) == 9_000 * 8_999
