"""The contract that every method keeps; run it on a method of your own: `check_method(MyMethod(k=3))`.

Hypothesis strategies for tables at the edges: skew, ties, negatives, zeros, all equal, all different, missing.

Public, for people who add methods; needs hypothesis, which hedgerow itself does not.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hedgerow.errors import Infeasible
from hedgerow.release import Release, read
from hedgerow.schema import Schema

if TYPE_CHECKING:
    from hedgerow.methods import Method

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


_SHAPES = {
    "ties": st.integers(-3, 3),
    "skewed": st.sampled_from([0, 0, 0, 0, 0, 1, 5, 100]),
    "spread": st.integers(-1000, 1000),
    "large": st.integers(-(2**40), 2**40),
    "equal": st.just(7),
    "cents": st.integers(-500, 500).map(lambda cents: cents / 100),
    "floats": st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: value + 0.0),
}


@st.composite
def numbers(draw: st.DrawFn, rows: int) -> list[float]:
    """Draw a sensitive column of `rows` numbers of one of the awkward shapes."""
    shape = draw(st.sampled_from(sorted(_SHAPES)))
    column: list[Any] = draw(st.lists(_SHAPES[shape], min_size=rows, max_size=rows))
    # Negative zero is read as zero; a strategy that drew it would compare unequal bytes of equal numbers.
    return [value + 0 for value in column]


@st.composite
def microdata(draw: st.DrawFn, *, min_rows: int = 1, max_rows: int = 30) -> pa.Table:
    """Draw a table: `name` (unique), `age` and `town` (quasi-identifiers, `town` with gaps), `note` and `salary`."""
    rows = draw(st.integers(min_rows, max_rows))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=rows, max_size=rows))

    return pa.table(
        {
            "name": [f"canary-{row:05d}" for row in range(rows)],
            "age": pa.array(column(st.integers(0, 9)), pa.int64()),
            "town": pa.array(column(st.sampled_from(["Ash", "Elm", "Oak", None])), pa.string()),
            "note": pa.array(column(st.booleans()), pa.bool_()),
            "salary": draw(numbers(rows)),
        }
    )
