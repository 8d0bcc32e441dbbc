"""Loaders of real tables for tests and studies; the files are not part of the package.

They are looked for in the folder named by the environment variable HEDGEROW_DATA, else in `../shared/data` beside the
working directory or the source tree.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from hedgerow.datasets.printed import GraphTables
from hedgerow.errors import InputError

__all__ = [
    "acs",
    "adult",
    "adult_arx",
    "adult_capital_loss",
    "adult_hierarchies",
    "coauthors",
    "data_folder",
    "missing",
]

SOURCES = {
    "adult": ("UCI Adult, archive.ics.uci.edu/dataset/2/adult, train and test in one file", "CC BY 4.0"),
    "acs": ("American Community Survey 2018, public use microdata of the US Census Bureau", "US public domain"),
    "acl": ("author-paper links of a digital library, names and titles removed", "facts only, not redistributed here"),
}
"""By folder of the file: where it comes from, and the terms."""

_UNKNOWN = "?"
_CAPITAL_LOSS_SHAPE = (1427, 89)


def data_folder() -> Path | None:
    """The folder that holds the data, or None where there is none."""
    named = os.environ.get("HEDGEROW_DATA")
    beside = Path("..", "shared", "data")
    places = [Path(named)] if named else [beside, Path(__file__).parents[1] / beside]
    return next((place.resolve() for place in places if place.is_dir()), None)


def adult() -> pa.Table:
    """UCI Adult, 48,842 people, with `part` telling train from test; a question mark is read as missing."""
    table = _read("adult/adult_48842.parquet")
    return pa.table({name: _without_unknowns(table[name]) for name in table.column_names})


def adult_arx() -> pa.Table:
    """The nine columns and 30,162 complete train rows of Adult that the anonymization literature uses."""
    return _read("adult/adult_arx_30162.parquet")


def adult_hierarchies() -> dict[str, Path]:
    """The hierarchy file of each column of `adult_arx`, in ARX's format."""
    folder = _require("adult/hierarchies")
    return {file.stem.removeprefix("adult_hierarchy_"): file for file in sorted(folder.glob("*.csv"))}


def adult_capital_loss() -> pa.Table:
    """The complete train rows of Adult with a capital loss: the 1,427 people of the dissertation's experiments."""
    import pyarrow.compute as pc

    table = adult()
    complete = table.filter(pc.equal(table["part"], "train")).drop_null()
    losses = complete.filter(pc.greater(complete["capital-loss"], 0)).drop_columns(["part"])
    shape = losses.num_rows, len(losses["capital-loss"].unique())
    if shape != _CAPITAL_LOSS_SHAPE:
        raise InputError(f"the Adult file must give {_CAPITAL_LOSS_SHAPE} rows and distinct losses; it gave {shape}.")
    return losses


def acs() -> pa.Table:
    """American Community Survey 2018: 295,243 people with income, 13 columns, some travel times missing."""
    table = _read("acs/acs_income_2018.parquet")
    # The file stores whole numbers as floats; whole numbers are what they are.
    return pa.table({name: _whole(table[name]) for name in table.column_names})


def coauthors() -> GraphTables:
    """Authors and papers of a large digital library, names and titles removed: 387,368 edges."""
    return GraphTables(_read("acl/authors.parquet"), _read("acl/papers.parquet"), _read("acl/edges.parquet"))


def missing(names: Sequence[str]) -> list[str]:
    """A sentence for each file that is wanted and not there: its name, its source, its terms."""
    folder = data_folder()
    return [_sentence(name) for name in names if folder is None or not (folder / name).exists()]


def _sentence(name: str) -> str:
    source, terms = SOURCES[name.partition("/")[0]]
    return (
        f"'{name}' is not on this machine; name the folder that holds it in HEDGEROW_DATA. "
        f"Source: {source}. Terms: {terms}."
    )


def _require(name: str) -> Path:
    folder = data_folder()
    if folder is None or not (folder / name).exists():
        raise InputError(_sentence(name))
    return folder / name


def _read(name: str) -> pa.Table:
    import pyarrow.parquet as pq

    table = pq.read_table(_require(name)).replace_schema_metadata(None)
    return pa.table({column: _plain(table[column]) for column in table.column_names})


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    is_text = pa.types.is_dictionary(column.type) or pa.types.is_large_string(column.type)
    return column.cast(pa.string()) if is_text else column


def _without_unknowns(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    if not pa.types.is_string(column.type):
        return column
    return pc.if_else(pc.equal(column, _UNKNOWN), pa.scalar(None, pa.string()), column)


def _whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.int64()) if pa.types.is_floating(column.type) else column
