"""Every assignment of a small permuted release, one by one: a second opinion on bounds, means and deviations.

Which rows a condition selects is asked of SQLite, which shares no code with our engines. Everything else is fractions
and permutations, all of them, so that repeated values have the weight that they have in a shuffle.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from hedgerow.exact import as_fraction
from hedgerow.release import Guarantee, Made, PublishedColumns, Release, Rows
from hedgerow.release.forms import PERMUTED

__all__ = ["every_answer", "release_of", "selected_rows"]


def release_of(
    columns: Mapping[str, Any], groups: Sequence[int], *, sensitive: str, plain: Sequence[str] = ()
) -> Release:
    """Take columns as a permuted release, sorted by `groups`; columns that are nothing else are quasi-identifiers."""
    order = pa.array(sorted(range(len(groups)), key=lambda row: groups[row]), pa.int64())
    table = pa.table({**columns, "group": pa.array(groups, pa.int32())}).take(order)
    quasi = tuple(name for name in columns if name != sensitive and name not in plain)
    guarantee = Guarantee("none", {}, (sensitive,), "nothing is promised", "anyone")
    return Release(
        form=PERMUTED,
        tables={"release": table},
        columns=PublishedColumns(quasi, (sensitive,), tuple(plain)),
        group_column="group",
        guarantee=guarantee,
        rows=Rows(len(groups), len(groups)),
        groups=len(set(groups)),
        made=Made("by_hand", {}, reproducible=True),
    )


def selected_rows(release: Release, condition: str) -> list[int]:
    """Rows that satisfy a condition on columns that are published as they are, according to SQLite."""
    table = release.tables["release"]
    with sqlite3.connect(":memory:") as database:
        database.execute("PRAGMA case_sensitive_like = ON")
        names = ", ".join('"' + name.replace('"', '""') + '"' for name in table.column_names)
        database.execute(f"CREATE TABLE release ({names})")
        marks = ", ".join("?" * table.num_columns)
        rows = [[_plain(value) for value in row.values()] for row in table.to_pylist()]
        database.executemany(f"INSERT INTO release VALUES ({marks})", rows)
        found = database.execute(f"SELECT rowid - 1 FROM release WHERE {condition} ORDER BY 1").fetchall()
    database.close()
    return [row for (row,) in found]


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def every_answer(
    release: Release, function: str, rows: Sequence[int], keep: Callable[[Any], bool] = lambda value: True
) -> list[Fraction | None]:
    """Return the answer of each assignment: an aggregate of the sensitive values of `rows` that `keep` keeps.

    `count` counts them, missing ones too if kept; the others leave missing values out. None is NULL.
    """
    answers: list[Fraction | None] = []
    for world in _worlds(release):
        chosen = [world[row] for row in rows if keep(world[row])]
        if function == "count":
            answers.append(Fraction(len(chosen)))
        else:
            answers.append(_aggregate(function, [as_fraction(value) for value in chosen if value is not None]))
    return answers


def _aggregate(function: str, numbers: list[Fraction]) -> Fraction | None:
    if not numbers:
        return None
    if function in ("sum", "avg"):
        return sum(numbers, Fraction(0)) / (len(numbers) if function == "avg" else 1)
    return min(numbers) if function == "min" else max(numbers)


def _worlds(release: Release) -> Iterator[list[Any]]:
    table = release.tables["release"]
    values = table.column(release.columns.sensitive[0]).to_pylist()
    groups = table.column(release.group_column).to_pylist()
    parts = [[values[row] for row in rows] for _, rows in itertools.groupby(range(len(groups)), groups.__getitem__)]
    for world in itertools.product(*(itertools.permutations(part) for part in parts)):
        yield [value for part in world for value in part]
