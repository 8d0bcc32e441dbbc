"""Rows as a database hands them over: equal ones counted, per group; and the rows that such counts stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hedgerow.query.sql.printing import quoted, select_sql

__all__ = ["Counted", "Fetch", "Typed"]

Fetch = Callable[[str, pa.Schema], pa.Table]
"""Runs a statement and returns its columns, by place, under the names and types of a schema."""
Typed = tuple[str, pa.DataType]
"""An expression in SQL, and the type as which its values come back."""


@dataclass(frozen=True)
class Counted:
    """A select that counts equal rows of a table, per group where the table has groups."""

    table: str
    columns: Mapping[str, Typed]
    group: str

    @property
    def sql(self) -> str:
        """Print it: the columns, the group, the number of rows."""
        named = [sql for sql, _ in self.columns.values()] + ([quoted(self.group)] if self.group else [])
        select = [*(f"{sql} AS c{place}" for place, sql in enumerate(named, 1)), "count(*) AS n"]
        places = ", ".join(str(place) for place in range(1, len(named) + 1))
        grouped = f"\nGROUP BY {places}\nORDER BY {len(named)}" if named else ""
        return select_sql(select, quoted(self.table)) + grouped

    @property
    def schema(self) -> pa.Schema:
        """Say what comes back."""
        fields = [(name, kind) for name, (_, kind) in self.columns.items()]
        return pa.schema([*fields, *([(self.group, pa.int32())] if self.group else []), ("", pa.int64())])

    def rows(self, fetch: Fetch) -> dict[str, pa.ChunkedArray]:
        """Ask, and unroll the counts."""
        counted = fetch(self.sql, self.schema)
        number = counted.column(counted.num_columns - 1).to_numpy()
        every = counted.take(pa.array(np.repeat(np.arange(len(number)), number)))
        return dict(zip(counted.column_names[:-1], every.columns[:-1], strict=True))
