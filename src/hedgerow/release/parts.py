"""Bundles in parts: a release of any size, written part by part, possibly by several processes, and sealed once.

Guarantee  a part holds whole groups; its files get random names in a hidden folder beside the target, so that a task
           that is tried again leaves an orphan and no mixture; `seal` renames the parts that count, removes the rest,
           writes the manifest last and lets the bundle appear at once. After a crash nothing is at the target
Cost       O(rows of a part) memory for each part

A part is given as a release of its own with groups numbered from 0. In the files groups are numbered on from the
part's `first_group`, and so are the sets of a generalized release. First groups ascend; a gap between the groups of two
parts is allowed, so that parts can be written at the same time: the number of rows before a part always serves.
Group numbers are 32 bits wide; 64 where there are 2^31 rows or more.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pf
import pyarrow.parquet as pq

from hedgerow._version import __version__
from hedgerow.errors import BrokenPromise, BundleError, unwritten
from hedgerow.randomness import token
from hedgerow.release.bundle import refuse_seeded
from hedgerow.release.folder import (
    folder_beside,
    named_folder,
    put_in_place,
    require_replaceable,
    require_short,
    sync_folder,
)
from hedgerow.release.part_tables import numbered_tables
from hedgerow.release.readme import readme
from hedgerow.release.release import Release
from hedgerow.verify.holding import Held
from hedgerow.verify.manifest import MOST_PARTS, decode, describe, describe_parts, encode
from hedgerow.verify.page import pages
from hedgerow.verify.parts import SHARED, is_wide, part_file
from hedgerow.verify.promise import verify_bundle, verify_held
from hedgerow.verify.values import MANIFEST, FileEntry, PartEntry


@dataclass(frozen=True)
class WrittenPart:
    """A part that was written: what it holds, and by table the random name of its file, its entry and its columns."""

    part: PartEntry
    files: Mapping[str, tuple[str, FileEntry]]
    columns: Mapping[str, str]


@dataclass(frozen=True)
class Stage:
    """A hidden folder in which the parts of a bundle are written before it appears at `target`.

    `folder` is a path, or an address of a file system that pyarrow knows: what `write_part` takes, in any process.
    """

    target: str
    folder: str
    overwrite: bool = False

    @property
    def is_local(self) -> bool:
        """Return whether the folder is on a file system of this machine."""
        return "://" not in self.folder


@contextmanager
def stage_bundle(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Stage]:
    """Make the hidden folder of a bundle in parts; it is gone afterwards, whatever happens, unless it was sealed."""
    if "://" in os.fspath(path):
        with _stage_elsewhere(os.fspath(path), overwrite) as stage:
            yield stage
        return
    require_free(path, overwrite=overwrite)
    target = named_folder(path)
    with folder_beside(target) as folder:
        yield Stage(str(target), str(folder), overwrite)


def require_free(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise BundleError if something is at the target that may not be replaced."""
    text = os.fspath(path)
    if "://" not in text:
        require_replaceable(named_folder(path), overwrite)
        return
    system, place = pf.FileSystem.from_uri(text.rstrip("/"))
    try:
        is_free = overwrite or system.get_file_info(f"{place}/{MANIFEST}").type == pf.FileType.NotFound
    except OSError as error:
        raise unwritten(f"'{place.rpartition('/')[2]}'", error) from None
    if not is_free:
        raise BundleError(
            f"'{place.rpartition('/')[2]}' exists already; choose another folder, or replace it (overwrite=True)."
        )


@contextmanager
def _stage_elsewhere(address: str, overwrite: bool) -> Iterator[Stage]:
    bare = address.rstrip("/")
    system, _ = pf.FileSystem.from_uri(bare)
    parent, _, name = bare.rpartition("/")
    folder = f"{parent}/.{name}.hedgerow-writing-{token(8)}"
    _, inside = pf.FileSystem.from_uri(folder)
    try:
        require_free(bare, overwrite=overwrite)
        system.create_dir(inside, recursive=True)
        yield Stage(bare, folder, overwrite)
    except OSError as error:
        raise unwritten(f"'{name}'", error) from None
    finally:
        with suppress(OSError):
            system.delete_dir(inside)


def write_part(folder: str, part: Release, *, first_group: int, rows: int, helper: pa.Table | None) -> WrittenPart:
    """Write one part of a release of `rows` rows to a stage's folder; its groups are numbered from 0.

    `helper` is the part's help table (`query.help_table_of_part`), None where the bundle has none. Tables that all
    parts share (`target`, `domain`) are written when the bundle is sealed.
    """
    system, place = _system(folder)
    tables = numbered_tables(part, helper, first_group, wide=is_wide(rows))
    files = {}
    for name, table in tables.items():
        file = f"{token(8)}.parquet"
        files[name] = (file, _write_table(system, f"{place}/{file}", table))
    people = tables.get("quasi", tables.get("release"))
    assert people is not None
    held = PartEntry(people.num_rows, first_group, part.groups)
    return WrittenPart(held, files, {name: str(table.schema) for name, table in tables.items()})


def _system(folder: str) -> tuple[pf.FileSystem, str]:
    found: tuple[pf.FileSystem, str] = (
        pf.FileSystem.from_uri(folder) if "://" in folder else (pf.LocalFileSystem(), folder)
    )
    return found


def _write_table(system: pf.FileSystem, place: str, table: pa.Table) -> FileEntry:
    bare = table.replace_schema_metadata(None)
    with system.open_output_stream(place) as stream:
        pq.write_table(bare, stream, compression="zstd", store_schema=False)
    return _entry(system, place, table.num_rows)


def _write_text(system: pf.FileSystem, place: str, text: bytes) -> FileEntry:
    require_short(place.rpartition("/")[2], text)
    with system.open_output_stream(place) as stream:
        stream.write(text)
    return _entry(system, place)


def _entry(system: pf.FileSystem, place: str, rows: int | None = None) -> FileEntry:
    if isinstance(system, pf.LocalFileSystem):
        with Path(place).open("rb+") as handle:
            os.fsync(handle.fileno())
    digest, size = hashlib.sha256(), 0
    with system.open_input_stream(place) as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
            size += len(block)
    return FileEntry(sha256=digest.hexdigest(), bytes=size, rows=rows)


def seal(
    stage: Stage,
    release: Release,
    parts: Sequence[WrittenPart],
    *,
    helper: pa.Table | None = None,
    help: str = "all",
    allow_insecure: bool = False,
    keeping: Callable[[str], AbstractContextManager[None]] | None = None,
) -> None:
    """Let a bundle appear at its target: these parts, the tables that they share, its pages and its manifest.

    `release` says what is true of all parts together (rows, groups, guarantee); its tables, and `helper`, may be those
    of any part: the README takes its examples from them. The bundle is verified first, from the files that were
    written, through the file system that they were written to. It appears inside `keeping`, which is called with the
    checksum of its manifest: what has to be noted before a bundle is there.
    """
    refuse_seeded(release.made, allow_insecure)
    ordered = sorted(parts, key=lambda written: written.part.first_group)
    _check_parts(release, ordered, help)
    system, place = _system(stage.folder)
    is_whole = len(ordered) == 1 and help == "all" and ordered[0].part.first_group == 0
    files = _rename(system, place, ordered, is_whole)
    files |= {
        f"{name}.parquet": _write_table(system, f"{place}/{name}.parquet", release.tables[name])
        for name in SHARED
        if name in release.tables
    }
    page = readme(release, {} if helper is None else {"help": helper}, parts=0 if is_whole else len(ordered), help=help)
    files |= {name: _write_text(system, f"{place}/{name}", text.encode()) for name, text in pages(page).items()}
    listed = tuple(written.part for written in ordered)
    manifest = (
        describe(release.published, files, __version__)
        if is_whole
        else describe_parts(release.published, files, __version__, listed, help)
    )
    text = encode(manifest)
    kept = nullcontext() if keeping is None else keeping(decode(text).checksum)
    _write_text(system, f"{place}/{MANIFEST}", text)
    _remove_orphans(system, place, {*files, MANIFEST})
    if stage.is_local:
        sync_folder(Path(stage.folder))
        verify_bundle(stage.folder)
        with kept:
            put_in_place(Path(stage.folder), Path(stage.target), replace=stage.overwrite)
    else:
        verify_held(_hold_elsewhere(system, place, stage.target))
        with kept:
            _move(system, place, _system(stage.target)[1], [*files, MANIFEST])


def checksum_at(path: str | os.PathLike[str]) -> str | None:
    """The checksum of the manifest at a target, on any file system; None where there is none that can be read."""
    try:
        system, place = _system(os.fspath(path).rstrip("/"))
        with system.open_input_stream(f"{place}/{MANIFEST}") as stream:
            return decode(stream.read()).checksum
    except (OSError, BundleError):
        return None


@dataclass(frozen=True)
class _HeldElsewhere(Held):
    """The files of a bundle on another file system, each opened when it is read."""

    system: pf.FileSystem = field(default_factory=pf.LocalFileSystem)
    root: str = ""

    @contextmanager
    def _open(self, name: str, entry: FileEntry) -> Iterator[Any]:
        if name not in self.names:
            raise BundleError(f"{name} is missing from the bundle; ask for it again.")
        with self.system.open_input_file(f"{self.root}/{name}") as file:
            if file.size() != entry.bytes:
                raise BundleError(f"{name} has not the size that was written.")
            yield file


def _hold_elsewhere(system: pf.FileSystem, place: str, target: str) -> _HeldElsewhere:
    names = frozenset(found.base_name for found in system.get_file_info(pf.FileSelector(place)))
    with system.open_input_stream(f"{place}/{MANIFEST}") as stream:
        manifest = stream.read()
    return _HeldElsewhere(Path(target), names, {}, manifest, None, system, place)


def _check_parts(release: Release, parts: Sequence[WrittenPart], help: str) -> None:
    """Raise BrokenPromise unless the parts make up the release: what was planned and what was written may differ."""
    if not parts or sum(written.part.rows for written in parts) != release.rows.published:
        raise BrokenPromise("The parts do not have as many rows as the release; was its table changed meanwhile?")
    if len(parts) > MOST_PARTS:
        raise BundleError(f"A bundle has at most {MOST_PARTS:,} parts; put more rows into each.")
    if sum(written.part.groups for written in parts) != release.groups:
        raise BrokenPromise("The parts do not have as many groups as the release.")
    if any(written.columns != parts[0].columns for written in parts):
        raise BrokenPromise("The parts do not have the same tables, columns and types.")
    if ("help" in parts[0].files) != (help != "none" and release.form.has_groups):
        raise BrokenPromise("The parts do not have the help tables that were asked for.")


def _rename(system: pf.FileSystem, place: str, parts: Sequence[WrittenPart], is_whole: bool) -> dict[str, FileEntry]:
    files: dict[str, FileEntry] = {}
    for name in parts[0].files:
        for number, written in enumerate(parts):
            file, entry = written.files[name]
            final = f"{name}.parquet" if is_whole else part_file(name, number)
            system.move(f"{place}/{file}", f"{place}/{final}")
            files[final] = entry
    return files


def _remove_orphans(system: pf.FileSystem, place: str, wanted: set[str]) -> None:
    for found in system.get_file_info(pf.FileSelector(place)):
        if found.base_name not in wanted:
            system.delete_file(found.path)


def _move(system: pf.FileSystem, folder: str, target: str, names: Sequence[str]) -> None:
    """Without a rename of folders the manifest, which comes last, makes the bundle one; the old one goes first."""
    system.create_dir(target, recursive=True)
    for found in system.get_file_info(pf.FileSelector(target)):
        if found.base_name == MANIFEST:
            system.delete_file(found.path)
    for found in system.get_file_info(pf.FileSelector(target)):
        system.delete_file(found.path)
    for name in names:
        system.move(f"{folder}/{name}", f"{target}/{name}")
