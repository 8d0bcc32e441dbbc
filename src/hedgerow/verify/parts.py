"""Read and verify a bundle in parts, with the memory of one part.

Guarantee  passes exactly the bundles whose parts, put together, are a release that keeps its promise: every group lies
           in one part, parts are listed once, in the order of their groups, with their true numbers of rows and groups,
           have the same columns and types, and their help tables have the units of the whole
Cost       two passes over the parts: counts of the whole table where a promise or a unit depends on them, then every
           check, part by part

What a promise says of the whole table (t-closeness, beta- and delta-likeness, numbers of fakes) is checked against all
parts. Numbers of groups are read from the part's `first_group` on; the checks see them counted from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import has_column
from hedgerow.errors import BrokenPromise, BundleError
from hedgerow.exact import DecimalGrid
from hedgerow.verify.boxes import check_names
from hedgerow.verify.frequency import note_rare
from hedgerow.verify.help import check_help, grids_of
from hedgerow.verify.manifest import PartsManifest, release_of
from hedgerow.verify.names import SETS, box_columns
from hedgerow.verify.shape import check_shape
from hedgerow.verify.structure import FORMS, group_starts, layout_of
from hedgerow.verify.values import PAGES, Guarantee, PartEntry, PublishedRelease, Rows, Verification, Whole, told_seed
from hedgerow.verify.words import check_pages, check_words

if TYPE_CHECKING:
    from hedgerow.verify.holding import Held

__all__ = ["PARTED", "SHARED", "PartsBundle", "concat_parts", "is_wide", "part_file", "verify_parts"]

PARTED = ("release", "quasi", "sensitive", "sets", "implied")
"""Tables that each part has a file of; and `help`."""

SHARED = ("target", "domain")
"""Tables that all parts share."""

WIDE = 2**31
"""Rows from which on numbers of groups take 64 bits."""

MOST_IN_MEMORY = 2**31 - 2
"""Rows of one part, and of parts that are put together: numbers of rows and groups take 32 bits there."""

_OVERALL = ("t", "beta", "delta", "presence_low")


def part_file(table: str, number: int) -> str:
    """The name of the file of a table's part."""
    return f"{table}-{number:05}.parquet"


def is_wide(rows: int) -> bool:
    """Tell whether numbers of groups of a release of so many rows take 64 bits."""
    return rows >= WIDE


@dataclass(frozen=True, eq=False)
class PartsBundle:
    """A bundle in parts whose files are held open: its manifest was decoded, its parts are read one by one."""

    bundle: Held
    manifest: PartsManifest
    tables: tuple[str, ...]
    max_bytes: int | None = None

    @staticmethod
    def of(bundle: Held, *, max_bytes: int | None = None) -> PartsBundle:
        """Decode what the manifest says of the parts; raise BundleError unless it is a list of files of parts."""
        manifest = bundle.decoded
        assert isinstance(manifest, PartsManifest)
        numbers = range(len(manifest.parts))
        tables = tuple(name for name in (*PARTED, "help") if part_file(name, 0) in manifest.files)
        shared = [f"{name}.parquet" for name in SHARED if f"{name}.parquet" in manifest.files]
        wanted = {part_file(name, number) for name in tables for number in numbers}
        if set(manifest.files) - set(PAGES) != {*wanted, *shared}:
            raise BundleError("The manifest does not list the files of every part, and no others.")
        _check_listed(manifest)
        bundle.check_names(manifest.files)
        return PartsBundle(bundle, manifest, tables, max_bytes)

    def __len__(self) -> int:
        return len(self.manifest.parts)

    def read(self, number: int, *, helper: bool = False) -> tuple[PublishedRelease, pa.Table | None]:
        """One part as a release of its own, groups numbered from 0; and its help table."""
        part = self.manifest.parts[number]
        names = [name for name in self.tables if name != "help" or helper]
        files = [part_file(name, number) for name in names]
        found = self.bundle.read(self.manifest.files, files, max_bytes=self.max_bytes)
        tables = dict(zip(names, (found[file] for file in files), strict=True))
        tables = {name: self._renumber(name, table, part) for name, table in tables.items()}
        beside = tables.pop("help", None)
        release = release_of(self.manifest, tables | self.shared_tables)
        rows = Rows(part.rows, part.rows)
        release = replace(release, rows=rows, groups=part.groups)
        try:
            check_shape(release)
        except BrokenPromise as error:
            raise BundleError(f"{part_file(names[0], number)} is not part of a release: {error}") from None
        check_words(replace(release, rows=self.manifest.rows))
        return release, beside

    @cached_property
    def shared_tables(self) -> dict[str, pa.Table]:
        """The tables that all parts share, read once: a target of many values costs nothing again in each part."""
        names = [name for name in SHARED if f"{name}.parquet" in self.manifest.files]
        files = [f"{name}.parquet" for name in names]
        found = self.bundle.read(self.manifest.files, files, max_bytes=self.max_bytes) if files else {}
        return {name: found[file] for name, file in zip(names, files, strict=True)}

    def _renumber(self, name: str, table: pa.Table, part: PartEntry) -> pa.Table:
        """The table with its groups and sets numbered from 0; numbers that are not of this part are refused."""
        manifest = self.manifest
        wide = pa.int64() if is_wide(manifest.rows.published) else pa.int32()

        def renumber(column: str) -> pa.ChunkedArray:
            if not has_column(table, column) or table.schema.field(column).type != wide:
                raise BundleError(f"'{column}' is missing from a part, or not a number of a group.")
            numbers = pc.subtract(table.column(column).cast(pa.int64()), part.first_group)
            ends = pc.min_max(numbers).as_py()
            if ends["min"] is not None and not 0 <= ends["min"] <= ends["max"] < part.groups:
                raise BundleError("A part holds groups or sets of other numbers than the manifest says.")
            return numbers.cast(pa.int32())

        return _exchange(table, {column: renumber(column) for column in _number_columns(name, table, manifest)})


def _exchange(table: pa.Table, columns: Mapping[str, pa.ChunkedArray]) -> pa.Table:
    """The table with other columns in the place of those of their names; all at once, for there may be thousands."""
    names = table.column_names
    return pa.table([columns.get(name, old) for name, old in zip(names, table.columns, strict=True)], names=names)


def _number_columns(name: str, table: pa.Table, manifest: PartsManifest) -> list[str]:
    """The columns of a table that hold numbers of groups or sets."""
    if name in ("help", "implied"):
        return ["group"]
    if name == SETS:
        return ["set"]
    if not manifest.group_column:
        return []
    has_boxes = manifest.form in FORMS and FORMS[manifest.form].has_boxes
    boxes = box_columns(manifest.columns, manifest.group_column).values() if has_boxes else ()
    return [manifest.group_column, *(box.set for box in boxes if has_column(table, box.set))]


def _check_listed(manifest: PartsManifest) -> None:
    """PartsBundle add up to the release, and their groups follow each other without overlap."""
    parts, rows = manifest.parts, manifest.rows
    if rows.input != rows.published + rows.suppressed:
        raise BundleError("The row counts do not add up: published and suppressed must make the input.")
    if sum(part.rows for part in parts) != rows.published or sum(part.groups for part in parts) != manifest.groups:
        raise BundleError("The parts do not have the rows and groups that the manifest says.")
    if any(part.rows > MOST_IN_MEMORY for part in parts):
        raise BundleError(f"A part has more than {MOST_IN_MEMORY:,} rows.")
    if any(not part.rows or part.groups > part.rows or bool(part.groups) != bool(manifest.groups) for part in parts):
        raise BundleError("A part is empty, or has more groups than rows.")
    ends = [part.first_group + part.groups for part in parts]
    starts = [part.first_group for part in parts]
    if any(start < end for start, end in zip(starts[1:], ends[:-1], strict=True)) or ends[-1] > rows.published:
        raise BundleError("The parts are not listed in the order of their groups, or share groups.")
    if manifest.groups == 0 and any(starts):
        raise BundleError("A release without groups has no numbers of groups.")


def cut_blocks(release: PublishedRelease, rows: int) -> Iterator[PublishedRelease]:
    """Blocks of whole groups of a release, of about so many rows, as parts that are checked one after the other."""
    whole, column = Whole(release.rows), release.group_column
    if _needs_overall(release.guarantee):
        whole.overall = {name: _ascending(_add_counts(None, release, name)) for name in release.columns.sensitive}
    grouped = {name: table for name, table in release.tables.items() if column in table.column_names}
    borders = {name: np.append(group_starts(table, release), table.num_rows) for name, table in grouped.items()}
    longest = max(borders.values(), key=lambda ends: int(ends[-1]))
    cuts = np.unique(np.append(np.searchsorted(longest, np.arange(0, longest[-1], rows)), release.groups)).tolist()
    for first, last in pairwise(cuts):
        tables = dict(release.tables)
        for name, table in grouped.items():
            start, end = int(borders[name][first]), int(borders[name][last])
            cut = table.slice(start, end - start)
            numbers = pc.subtract(cut.column(column), pa.scalar(first, cut.schema.field(column).type))
            tables[name] = cut.set_column(cut.column_names.index(column), column, numbers)
        whole.is_last = last == release.groups
        yield replace(release, tables=tables, groups=last - first, whole=whole)


def _needs_overall(guarantee: Guarantee) -> bool:
    """Tell whether a promise compares groups with the whole table."""
    return guarantee.criterion == "groupwise" and bool(set(_OVERALL) & set(guarantee.parameters))


def verify_parts(parts: PartsBundle, checks: Callable[[PublishedRelease], tuple[str, ...]]) -> Verification:
    """Check every part, and what the release says of all; `checks` are those of one release, with its sentences."""
    whole = _first_pass(parts)
    sentences: tuple[str, ...] = ()
    told = ""
    for number in range(len(parts)):
        release, helper = parts.read(number, helper=True)
        whole.is_last = number == len(parts) - 1
        release = replace(release, whole=whole)
        sentences = checks(release)
        told = _check_help(parts, release, helper, whole)
        del release, helper  # before the next ones are read
    _check_named(parts, whole)
    check_pages(parts.bundle.pages(parts.manifest.files), parts.manifest.guarantee)
    first = "every file fits its SHA-256 in the manifest", *told_seed(parts.manifest.reproducible_insecure)
    listed = f"{len(parts):,} parts, each of whole groups, in order and without overlap"
    return Verification((*first, listed, *sentences, *([told] if told else [])))


def _check_help(parts: PartsBundle, release: PublishedRelease, helper: pa.Table | None, whole: Whole) -> str:
    """Check a part's help table: there is one exactly where the manifest says so, with the types of the others."""
    which = parts.manifest.help
    if (helper is not None) != (which != "none" and layout_of(release).has_groups):
        raise BundleError("The bundle does not have the help tables that its manifest says.")
    if helper is None:
        return ""
    whole.help_types = whole.help_types or str(helper.schema)
    if whole.help_types != str(helper.schema):
        raise BrokenPromise("The help tables of the parts do not have the same columns and types.")
    return check_help(release, helper, which)


def _first_pass(parts: PartsBundle) -> Whole:
    """What checks of one part need to know of all; raise unless all have the same columns and types."""
    manifest = parts.manifest
    whole = Whole(manifest.rows)
    needs = _needs_overall(manifest.guarantee)
    counts: dict[str, pa.Table] = {}
    grids: dict[str, DecimalGrid] = {}
    schemas: dict[str, pa.Schema] = {}
    for number in range(len(parts)):
        release, _ = parts.read(number)
        schemas = schemas or {name: table.schema for name, table in release.tables.items()}
        if {name: table.schema for name, table in release.tables.items()} != schemas:
            raise BrokenPromise("The parts do not have the same tables, columns and types.")
        for name, grid in grids_of(release).items() if manifest.groups else ():
            grids[name] = grid.merge(grids[name]) if name in grids else grid
        for name in manifest.columns.sensitive if needs else ():
            counts[name] = _add_counts(counts.get(name), release, name)
        if manifest.guarantee.criterion == "microaggregation":
            note_rare(replace(release, whole=whole))
        del release
    whole.grids = grids
    whole.overall = {name: _ascending(found) for name, found in counts.items()}
    return whole


def _add_counts(before: pa.Table | None, release: PublishedRelease, name: str) -> pa.Table:
    """How often each value occurs in the parts so far."""
    table = release.tables["sensitive" if "sensitive" in release.tables else "release"]
    found = table.column(name).value_counts()
    mine = pa.table({"value": found.field("values"), "count": found.field("counts")})
    if before is None:
        return mine
    both = pa.concat_tables([before, mine]).group_by("value").aggregate([("count", "sum")])
    return both.rename_columns({"count_sum": "count"}).select(["value", "count"])


def _ascending(found: pa.Table) -> tuple[pa.Array, np.ndarray[Any, np.dtype[np.int64]]]:
    order = pc.sort_indices(found, sort_keys=[("value", "ascending")])  # missing last
    values, counts = (found.column(name).take(order).combine_chunks() for name in ("value", "count"))
    return values.drop_null(), counts.to_numpy(zero_copy_only=False).astype(np.int64)


def _check_named(parts: PartsBundle, whole: Whole) -> None:
    """Names that the owner gave to intervals are the same in all parts."""
    if not layout_of(release_of(parts.manifest, {})).has_boxes:
        return
    named: dict[str, dict[object, str | None]]
    named = {name: {} for name in parts.manifest.columns.quasi if f"'{name}'" in whole.named}
    for number in range(len(parts)) if named else ():
        check_names(parts.read(number)[0], named)


def concat_parts(parts: PartsBundle) -> PublishedRelease:
    """All parts put together in memory, groups numbered on without gaps."""
    if parts.manifest.rows.published > MOST_IN_MEMORY:
        raise BundleError(
            f"Parts of more than {MOST_IN_MEMORY:,} rows are not put together: ask about one column, which reads parts "
            "one by one, or ask a database."
        )
    found: dict[str, list[pa.Table]] = {}
    first = 0
    shared = parts.shared_tables
    for number in range(len(parts)):
        release, _ = parts.read(number)
        for name, table in release.tables.items():
            if name not in shared:
                numbered = _number_columns(name, table, parts.manifest)
                after = {column: pc.add(table.column(column), pa.scalar(first, pa.int32())) for column in numbered}
                found.setdefault(name, []).append(_exchange(table, after))
        first += release.groups
    if any(table.schema != each[0].schema for each in found.values() for table in each):
        raise BundleError("The parts do not have the same tables, columns and types.")
    tables = {name: pa.concat_tables(each).combine_chunks() for name, each in found.items()}
    return release_of(parts.manifest, tables | shared)
