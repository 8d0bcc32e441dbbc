"""The contract that every method keeps; run it on a method of your own: `check_method(MyMethod(k=3))`."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from hypothesis import HealthCheck, given, settings

from hedgerow.errors import Infeasible
from hedgerow.release import Release, read
from hedgerow.schema import Schema
from hedgerow.testing.strategies import microdata

if TYPE_CHECKING:
    from hedgerow.methods import Method

__all__ = ["SCHEMA", "check_method"]

SCHEMA = Schema(quasi=["age", "town"], sensitive="salary", identifier=["name"], plain=["note"])
"""The roles of the columns that `microdata` draws."""


def check_method(method: Method, *, examples: int = 60) -> None:
    """Raise AssertionError where `method` breaks the contract on one of many awkward tables.

    A table is published or refused with Infeasible. What is published verifies, accounts for every row, keeps the
    columns that it should keep, holds no identifier, survives a round trip through a bundle, is the same for the same
    seed, and leaves its input as it was.
    """
    seen = {"published": 0}

    @settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(microdata())
    def contract(table: pa.Table) -> None:
        before = table.to_pydict()
        try:
            release = method.publish(table, SCHEMA, seed=7)
        except Infeasible:
            return
        seen["published"] += 1
        assert table.to_pydict() == before, "the input was changed"
        _check_release(method, table, release)

    contract()
    assert seen["published"], "the method refused every table, so nothing was checked"


def _check_release(method: Method, table: pa.Table, release: Release) -> None:
    release.verify()
    assert release.rows.input == table.num_rows, "rows are unaccounted for"
    assert release.rows.published + release.rows.suppressed == table.num_rows, "rows are unaccounted for"
    again = method.publish(table, SCHEMA, seed=7)
    assert _tables(release) == _tables(again), "the same seed gave another release"
    if release.form.is_permutation and "release" in release.tables and not release.rows.suppressed:
        _check_permuted(table, release)
    _check_bundle(release)


def _check_permuted(table: pa.Table, release: Release) -> None:
    """Open columns keep their rows, the sensitive column keeps its values; only the link is gone."""
    published = release.tables["release"]
    open_columns = ["age", "town", "note"]
    assert _rows(published.select(open_columns)) == _rows(table.select(open_columns)), "open columns changed"
    assert _rows(published.select(["salary"])) == _rows(table.select(["salary"])), "sensitive values changed"


def _check_bundle(release: Release) -> None:
    with tempfile.TemporaryDirectory() as folder:
        release.save(Path(folder) / "out", allow_insecure=True)
        opened = read(Path(folder) / "out")
        assert _tables(opened) == _tables(release), "the bundle is not the release"
        opened.verify()
        leaked = [file for file in (Path(folder) / "out").iterdir() if b"canary-" in file.read_bytes()]
        assert not leaked, "an identifier is in the bundle"


def _rows(table: pa.Table) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def _tables(release: Release) -> dict[str, dict[str, list[object]]]:
    return {name: table.to_pydict() for name, table in release.tables.items()}
