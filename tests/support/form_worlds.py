"""Every table that a small release of any form may come from, asked in DuckDB: a second opinion on whole questions.

The tables are written one below the other with the number of their world, and the plain question is asked of all of
them at once. Nothing of our engines takes part.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from hedgerow.release import Release
from hedgerow.release.forms import GENERALIZED, SCATTERED, SEPARATED
from tests.support.truth import database_of, fetch_rows

__all__ = ["as_generalized", "as_scattered", "as_separated", "possible_answers", "possible_groups"]

Row = tuple[Any, ...]


def as_separated(release: Release) -> Release:
    """The same groups in two tables."""
    table, columns = release.tables["release"], release.columns
    quasi = table.select([*columns.quasi, *columns.plain, release.group_column])
    sensitive = table.select([*columns.sensitive, release.group_column])
    return replace(release, form=SEPARATED, tables={"quasi": quasi, "sensitive": sensitive})


def as_scattered(release: Release) -> Release:
    """The same groups with columns apart; order inside a group means nothing, so none is shuffled."""
    return replace(as_separated(release), form=SCATTERED)


def as_generalized(release: Release) -> Release:
    """The same groups with the least intervals and sets that cover their quasi-identifiers."""
    table = release.tables["release"]
    groups = table.column(release.group_column).to_pylist()
    published = {name: table.column(name) for name in (*release.columns.plain, *release.columns.sensitive)}
    sets: dict[str, list[Any]] = {"column": [], "set": [], "value": []}
    for name in release.columns.quasi:
        boxes: dict[int, list[Any]] = {}
        for group, value in zip(groups, table.column(name).to_pylist(), strict=True):
            boxes.setdefault(group, []).append(value)
        published[name] = pa.array([str(sorted(set(boxes[group]))) for group in groups])
        if pa.types.is_string(table.schema.field(name).type):
            published[f"{name}_set"] = pa.array(groups, pa.int32())
            for group, values in boxes.items():
                for value in sorted(set(values)):
                    sets["column"].append(name)
                    sets["set"].append(group)
                    sets["value"].append(value)
        else:
            kind = table.schema.field(name).type
            published[f"{name}_low"] = pa.array([min(boxes[group]) for group in groups], kind)
            published[f"{name}_high"] = pa.array([max(boxes[group]) for group in groups], kind)
    published[release.group_column] = table.column(release.group_column)
    tables = {"release": pa.table(published)}
    if sets["set"]:
        tables["sets"] = pa.table({**sets, "set": pa.array(sets["set"], pa.int32())})
    return replace(release, form=GENERALIZED, tables=tables)


def possible_answers(whole: Release, form: str, aggregate: str, condition: str) -> list[Any]:
    """The answer of every table that the release in another form may come from; `whole` is the permuted one."""
    return _asked(*_stacked(whole, form), aggregate, condition)


def possible_groups(whole: Release, form: str, key: str, aggregates: str, condition: str) -> dict[Any, list[Row]]:
    """The answers of every group of every table that has it, by the group's key."""
    tables, _ = _stacked(whole, form)
    found: dict[Any, list[Row]] = {}
    with database_of(worlds=tables) as database:
        question = f"SELECT world, {key} AS k, {aggregates} FROM worlds WHERE {condition} GROUP BY world, k"
        for _, value, *answers in database.execute(question).fetchall():
            found.setdefault(value, []).append(tuple(answers))
    return found


def _stacked(whole: Release, form: str) -> tuple[pa.Table, int]:
    """All tables, one below the other, and their number."""
    table = whole.tables["release"]
    names = [*whole.columns.quasi, *whole.columns.sensitive]
    rows = list(zip(*(table.column(name).to_pylist() for name in names), strict=True))
    groups = table.column(whole.group_column).to_pylist()
    parts = [[rows[i] for i in found] for _, found in itertools.groupby(range(len(rows)), groups.__getitem__)]
    options = [list(_OPTIONS[form](part)) for part in parts]
    worlds = [[row for part in world for row in part] for world in itertools.product(*options)]
    columns: dict[str, Any] = {"world": [number for number, world in enumerate(worlds) for _ in world]}
    for place, name in enumerate(names):
        kind = table.schema.field(name).type
        columns[name] = pa.array([row[place] for world in worlds for row in world], kind)
    return pa.table(columns), len(worlds)


def _asked(tables: pa.Table, worlds: int, aggregate: str, condition: str) -> list[Any]:
    with database_of(worlds=tables) as database:
        rows = fetch_rows(database, f"SELECT world, {aggregate} AS x FROM worlds WHERE {condition} GROUP BY world")
        found = {row["world"]: row["x"] for row in rows}
        (nothing,) = database.execute(f"SELECT {aggregate} FROM worlds WHERE false").fetchone() or (None,)
    return [found.get(world, nothing) for world in range(worlds)]


def _shuffled(part: list[Row]) -> Iterator[list[Row]]:
    """Sensitive values in every order."""
    for order in set(itertools.permutations([row[-1] for row in part])):
        yield [(*row[:-1], value) for row, value in zip(part, order, strict=True)]


def _apart(part: list[Row]) -> Iterator[list[Row]]:
    """Every column but the last in every order."""
    columns = list(zip(*part, strict=True))
    orders = [set(itertools.permutations(column)) for column in columns[:-1]]
    for chosen in itertools.product(*orders):
        yield list(zip(*chosen, columns[-1], strict=True))


def _boxed(part: list[Row]) -> Iterator[list[Row]]:
    """Every value of the box in every row, sensitive values in every order."""
    boxes = []
    for column in list(zip(*part, strict=True))[:-1]:
        is_text = isinstance(column[0], str)
        boxes.append(sorted(set(column)) if is_text else list(range(min(column), max(column) + 1)))
    for chosen in itertools.product(itertools.product(*boxes), repeat=len(part)):
        yield from _shuffled([(*open_values, row[-1]) for open_values, row in zip(chosen, part, strict=True)])


_OPTIONS = {"permuted": _shuffled, "separated": _shuffled, "scattered": _apart, "generalized": _boxed}
