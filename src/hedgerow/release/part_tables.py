"""Cut the tables of a release into parts at the borders of groups, number them across parts, and sample them.

Guarantee  a part holds whole groups, and every set that its rows refer to
Cost       O(rows) for cutting; a sample holds about as many rows as were asked for
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.errors import ParameterError
from hedgerow.exact import DecimalGrid
from hedgerow.release.bundle import PartedTables
from hedgerow.release.release import Release, Rows
from hedgerow.verify.help import grids_of
from hedgerow.verify.names import SETS, box_columns
from hedgerow.verify.parts import PARTED, SHARED


def split_release(release: Release, rows_per_part: int) -> Iterator[tuple[int, Release]]:
    """Cut a release into parts of whole groups with about `rows_per_part` rows; yield each with its first group."""
    if rows_per_part < 1:
        raise ParameterError("'rows_per_part' must be at least 1.")
    if set(release.tables) - set(PARTED) - set(SHARED):
        raise ParameterError(f"a release of the form '{release.form}' is saved whole; leave 'rows_per_part' out.")
    people = release.tables["quasi" if "quasi" in release.tables else "release"]
    if not release.groups:
        for first in range(0, people.num_rows, rows_per_part):
            rows = people.slice(first, rows_per_part)
            tables = {**release.tables, "release": rows}
            yield 0, replace(release, tables=tables, rows=Rows(rows.num_rows, rows.num_rows), receipt=None)
        return
    numbers = people.column(release.group_column).to_numpy()
    borders = np.flatnonzero(np.diff(numbers, append=-1)) + 1  # where each group ends
    first, start = 0, 0
    while first < release.groups:
        last = max(int(np.searchsorted(borders, start + rows_per_part, side="right")), first + 1)
        yield first, _cut(release, first, last)
        first, start = last, int(borders[last - 1])


def _cut(release: Release, first: int, last: int) -> Release:
    """The groups from `first` to before `last` as a release of their own, numbered from 0."""
    tables = dict(release.tables)
    for name in set(tables) - set(SHARED) - {SETS}:
        column = "group" if name == "implied" else release.group_column
        numbers = tables[name].column(column).to_numpy()
        start, end = np.searchsorted(numbers, [first, last]).tolist()
        tables[name] = _renumber(tables[name].slice(start, end - start), [column], -first, False)
    if SETS in tables:
        tables |= _cut_sets(release, tables["release"], tables[SETS])
    people = tables["quasi" if "quasi" in tables else "release"]
    rows = Rows(people.num_rows, people.num_rows)
    return replace(release, tables=tables, rows=rows, groups=last - first, receipt=None)


def _cut_sets(release: Release, table: pa.Table, sets: pa.Table) -> dict[str, pa.Table]:
    """The rows and sets of a part; the sets that its rows refer to are numbered from 0 in each column."""
    kept = []
    for name, box in box_columns(release.columns, release.group_column).items():
        if box.set not in table.column_names:
            continue
        used = np.unique(table.column(box.set).drop_null().to_numpy())
        mine = sets.filter(pc.equal(sets.column("column"), name))
        mine = mine.filter(pc.is_in(mine.column("set"), pa.array(used, pa.int32())))
        places = pa.array(np.searchsorted(used, mine.column("set").to_numpy()).astype(np.int32))
        kept.append(mine.set_column(1, "set", places))
        found = pc.index_in(table.column(box.set), pa.array(used, pa.int32()))
        table = table.set_column(table.column_names.index(box.set), box.set, found)
    return {"release": table, SETS: pa.concat_tables(kept).combine_chunks()}


def numbered_tables(part: Release, helper: pa.Table | None, first_group: int, *, wide: bool) -> dict[str, pa.Table]:
    """The tables of a part that it does not share, its groups and sets numbered on from `first_group`."""
    tables = {name: table for name, table in part.tables.items() if name not in SHARED}
    if strange := set(tables) - set(PARTED):
        raise ParameterError(f"a release with the table '{min(strange)}' is not written in parts.")
    tables |= {"help": helper} if helper is not None else {}
    return {name: _renumber(table, _number_columns(name, part), first_group, wide) for name, table in tables.items()}


def _number_columns(name: str, part: Release) -> list[str]:
    """The columns of a table that hold numbers of groups or sets."""
    if name == "help" or not part.group_column:
        return ["group"] if name == "help" else []
    if name == SETS:
        return ["set"]
    if name == "implied":
        return ["group"]
    sets = [box.set for box in box_columns(part.columns, part.group_column).values()] if part.form.has_boxes else []
    return [part.group_column, *(column for column in sets if column in part.tables[name].column_names)]


def _renumber(table: pa.Table, names: Sequence[str], first: int, wide: bool) -> pa.Table:
    kind = pa.int64() if wide else pa.int32()
    for name in names:
        numbers = pc.add(table.column(name).cast(pa.int64()), pa.scalar(first, pa.int64())).cast(kind)
        table = table.set_column(table.column_names.index(name), name, numbers)
    return table


def sample_groups(release: Release, rows: int) -> Release:
    """A sample of about `rows` rows of a bundle in parts: the first groups of every part, or all of a small one.

    Group numbers inside a part are random, so that these are groups drawn at random from each part.
    """
    if not isinstance(release.tables, PartedTables) or release.rows.published <= rows:
        return release

    def first_groups(part: Release) -> Release:
        quota = max(rows * part.rows.published // release.rows.published, 1)
        return next(split_release(part, quota))[1]

    drawn = release.tables.each(first_groups)
    tables: dict[str, list[pa.Table]] = {}
    groups = 0
    for part in drawn:
        for name, table in numbered_tables(part, None, groups, wide=False).items():
            tables.setdefault(name, []).append(table)
        groups += part.groups
    shared = {name: drawn[0].tables[name] for name in SHARED if name in drawn[0].tables}
    joined = {name: pa.concat_tables(each).combine_chunks() for name, each in tables.items()}
    number = sum(part.rows.published for part in drawn)
    return replace(release, tables=joined | shared, rows=Rows(number, number), groups=groups)


def whole_grids(release: Release) -> dict[str, DecimalGrid]:
    """The units of sensitive columns in all parts."""
    assert isinstance(release.tables, PartedTables)
    found: dict[str, DecimalGrid] = {}
    for grids in release.tables.each(lambda part: grids_of(part.published)):
        found |= {name: grid.merge(found[name]) if name in found else grid for name, grid in grids.items()}
    return found
