"""What a ledger holds: one entry per release of a table or of a graph, and nothing of a cell."""

from __future__ import annotations

import msgspec

__all__ = ["Entry", "GraphEntry", "Mark", "TableEntry"]


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Keyed hashes of the rows of some columns: `file` holds them, sorted, and `sha256` tells whether it is whole."""

    columns: tuple[str, ...]
    file: str
    sha256: str


class TableEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="table"):
    """One release of a table.

    `table` is the keyed hash of the whole table, `marks` those of its rows: by identifiers first, where there are any.
    `series` names the chain of releases that this one continues, if it does. `bundle` is the checksum of the saved
    manifest; without one the release was made and, as far as the ledger knows, not saved.
    """

    id: str
    date: str
    table: str
    method: str
    parameters: dict[str, int | str]
    form: str
    rows: int
    marks: tuple[Mark, ...]
    series: str | None = None
    bundle: str | None = None


class GraphEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="graph"):
    """One release of a graph: its keyed hash, and its group sizes."""

    id: str
    date: str
    graph: str
    k: int
    l: int  # noqa: E741 - the paper's letter


Entry = TableEntry | GraphEntry
