"""Hold a bundle open: all of its files at once, so that what takes its place meanwhile is not mixed with it.

A writer puts a new folder in the place of the old one and removes the old. Paths would lead a reader from one to the
other in the middle; open files would not. So a reader opens the folder, through it every file, and looks whether the
folder is still in its place: then nothing had been removed, and whatever happens from here on, the files stay as they
are. A table is read from the very bytes whose checksum was compared.

Opening a bundle checks checksums, manifest, tables and their structure, all of one moment, or raises BundleError; words
other than those that follow from the parameters are a BrokenPromise, so that nobody meets a promise of a stranger.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import Generic, TypeVar

import pyarrow as pa

from hedgerow.errors import BrokenPromise, BundleError, as_path, counted
from hedgerow.verify.manifest import Manifest, PartsManifest, decode, release_of
from hedgerow.verify.parquet import read_parquet
from hedgerow.verify.parts import PartsBundle, concat_parts
from hedgerow.verify.shape import check_shape
from hedgerow.verify.structure import TABLES
from hedgerow.verify.values import MANIFEST, MOST_MANIFEST, MOST_PAGE, PAGES, FileEntry, PublishedRelease
from hedgerow.verify.words import check_words

__all__ = [
    "HELPERS",
    "Held",
    "Opened",
    "can_open_folders",
    "folder_to_read",
    "hold",
    "open_bundle",
    "open_held",
    "place_aside",
    "read_manifest",
]

_TRIES = 100
_MOST_OPEN = 200

_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)

Place = int | Path
"""An open folder; its path, where folders cannot be opened, but then what is open in them holds them in place."""


@dataclass(frozen=True)
class Held:
    """The open files of a bundle, the names of all that lies in its folder, and the text of its manifest.

    Of a folder with very many files only the folder is open, at `place`: a file is opened when it is read, and one that
    a writer removed meanwhile is missing.
    """

    path: Path
    names: frozenset[str]
    files: Mapping[str, BufferedReader]
    manifest: bytes
    place: Place | None = None

    @property
    def folder(self) -> str:
        """The name of the folder."""
        return self.path.name

    @cached_property
    def decoded(self) -> Manifest:
        """What the manifest says of a table."""
        return decode(self.manifest)

    def tables(
        self, entries: Mapping[str, FileEntry], wanted: Collection[str], *, max_bytes: int | None = None
    ) -> dict[str, pa.Table]:
        """Read the wanted Parquet files; raise BundleError unless there are exactly these entries, all unedited.

        A table that takes more than `max_bytes` is refused before it is decoded.
        """
        self.check_names(entries)
        for name in entries.keys() - set(wanted):
            self._check(name, entries[name])
        return self.read(entries, wanted, max_bytes=max_bytes)

    def check_names(self, entries: Mapping[str, FileEntry]) -> None:
        """Raise BundleError unless the folder holds exactly the files of these entries, in their sizes."""
        if any(Path(name).name != name or name.startswith(".") for name in entries):
            raise BundleError(f"{MANIFEST} lists a file outside the bundle.")
        if strange := self.names - {MANIFEST, *entries}:
            raise BundleError(f"'{self.folder}' holds {counted(len(strange), 'file')} that its manifest does not list.")
        if missing := entries.keys() - self.names:
            raise BundleError(f"{min(missing)} is missing from the bundle; ask for it again.")

    def read(
        self, entries: Mapping[str, FileEntry], wanted: Collection[str], *, max_bytes: int | None = None
    ) -> dict[str, pa.Table]:
        """Read some Parquet files, each from the bytes whose checksum was compared; others are not looked at."""
        return {name: self._table(name, entries[name], max_bytes) for name in wanted}

    def pages(self, entries: Mapping[str, FileEntry]) -> dict[str, str]:
        """The texts of the pages for people that there are, held against their checksums."""
        return {name: self._page(name, entries[name]) for name in PAGES if name in entries}

    def _page(self, name: str, entry: FileEntry) -> str:
        if entry.bytes > MOST_PAGE:
            raise BundleError(f"{name} has more than {MOST_PAGE >> 20} MB, so it is not read.")
        with _readable(name):
            content = self._content(name, entry)
        _require(name, hashlib.sha256(content).hexdigest() == entry.sha256)
        try:
            return content.decode()
        except UnicodeDecodeError:  # programs do not agree what such bytes show
            raise BundleError(f"{name} is not text in UTF-8.") from None

    def _check(self, name: str, entry: FileEntry) -> None:
        with _readable(name), self._open(name, entry) as file:
            _require(name, hashlib.file_digest(file, "sha256").hexdigest() == entry.sha256)

    def _table(self, name: str, entry: FileEntry, max_bytes: int | None) -> pa.Table:
        with _readable(name):
            content = self._content(name, entry)
        _require(name, hashlib.sha256(content).hexdigest() == entry.sha256)
        return read_parquet(name, content, rows=entry.rows, max_bytes=max_bytes)

    def _content(self, name: str, entry: FileEntry) -> bytes:
        with self._open(name, entry) as file:
            return file.read(entry.bytes)

    @contextmanager
    def _open(self, name: str, entry: FileEntry) -> Iterator[BufferedReader]:
        """The file from its beginning; its size is compared before anything is allocated."""
        with ExitStack() as stack:
            file = self.files.get(name)
            if file is None and self.place is not None and name in self.names:
                file = _open_file(self.place, name, stack)
            if file is None:
                raise BundleError(f"{name} is missing from the bundle; ask for it again.")
            _require(name, os.fstat(file.fileno()).st_size == entry.bytes)
            file.seek(0)
            yield file


@contextmanager
def hold(path: str | os.PathLike[str], *, most: int | None = None) -> Iterator[Held]:
    """Open a bundle's folder and files for as long as the block lasts; raise BundleError where there is none.

    Of more files than `most`, by default 200, only manifest and pages are opened.
    """
    target = as_path(path).absolute()
    with ExitStack() as stack:
        try:
            bundle = _hold_all(target, stack, _MOST_OPEN if most is None else most)
        except (FileNotFoundError, NotADirectoryError):
            reason = "there is no such folder"
            if os.path.exists(target):
                reason = f"it has no {MANIFEST}" if os.path.isdir(target) else "it is a file, and a bundle is a folder"
            raise BundleError(f"'{target.name}' is not a hedgerow bundle: {reason}.") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "no file has such a name"
            raise BundleError(f"'{target.name}' cannot be read: {reason}.") from None
        yield bundle


def read_manifest(path: str | os.PathLike[str]) -> bytes:
    """Read the manifest of a bundle; nothing else of it is checked."""
    with hold(path, most=0) as bundle:
        return bundle.manifest


def _hold_all(target: Path, stack: ExitStack, most: int) -> Held:
    """Open everything; again, if the folder lost its place before all of it was open."""
    for _ in range(_TRIES):
        with ExitStack() as attempt, suppress(FileNotFoundError):
            place = _open_folder(folder_to_read(target), attempt)
            names = frozenset(os.listdir(place))
            opened = names if len(names) <= most else names & {MANIFEST, *PAGES}
            found = {name: _open_file(place, name, attempt) for name in opened}
            files = {name: file for name, file in found.items() if file is not None}
            if os.path.samestat(os.stat(place), os.stat(folder_to_read(target))):
                stack.push(attempt.pop_all())
                break
    else:
        if folder_to_read(target).exists():
            raise BundleError(f"'{target.name}' is replaced faster than it can be read; try again later.")
        raise FileNotFoundError
    if MANIFEST not in files:
        raise FileNotFoundError
    manifest = files[MANIFEST].read(MOST_MANIFEST + 1)
    if len(manifest) > MOST_MANIFEST:
        raise BundleError(f"{MANIFEST} has more than {MOST_MANIFEST >> 20} MB, so it is not read.")
    later = None if opened == names else place
    return Held(target, names, files, manifest, later)


def _open_folder(folder: Path, stack: ExitStack) -> Place:
    if not can_open_folders():
        return folder
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    stack.callback(os.close, place)
    return place


def _open_file(place: Place, name: str, stack: ExitStack) -> BufferedReader | None:
    """Open a file; None for anything else, such as a folder, a device, or a pipe that would wait for its writer."""
    with suppress(FileNotFoundError):
        if _is_file(place, name):
            file = stack.enter_context(_open_at_once(place, name))
            return file if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    return None


def _is_file(place: Place, name: str) -> bool:
    found = os.stat(place / name) if isinstance(place, Path) else os.stat(name, dir_fd=place)
    return stat.S_ISREG(found.st_mode)


def _open_at_once(place: Place, name: str) -> BufferedReader:
    """Open without waiting, for a pipe may have taken the place of what was a file."""
    if isinstance(place, Path):
        return (place / name).open("rb")
    return open(name, "rb", opener=lambda name, flags: os.open(name, flags | _AT_ONCE, dir_fd=place))


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BundleError(f"{name} cannot be read: {error.strerror}.") from None


def _require(name: str, fits: bool) -> None:
    if not fits:
        raise BundleError(f"{name} was edited or damaged: its checksum does not fit the manifest; ask for it again.")


def folder_to_read(target: Path) -> Path:
    """Return the folder to read for `target`: itself, or the old one that a crash left aside."""
    aside = place_aside(target)
    return aside if not os.path.exists(target) and os.path.exists(aside) else target


def place_aside(target: Path) -> Path:
    """Where a folder stands while another one takes its place."""
    return target.with_name(f".{target.name}.hedgerow-aside")


def can_open_folders() -> bool:
    """Tell whether a folder can be opened as a file is; Windows cannot."""
    return hasattr(os, "O_DIRECTORY")


HELPERS = ("help",)
"""Tables that are derived from the published ones, so that plain SQL can answer; not part of the release itself."""


Kind = TypeVar("Kind", covariant=True)


@dataclass(frozen=True)
class Opened(Generic[Kind]):
    """All that a bundle holds: the release, the helper tables, the manifest that names their bytes, and the pages."""

    release: Kind
    helpers: Mapping[str, pa.Table]
    manifest: bytes
    pages: Mapping[str, str] = field(default_factory=dict)


def open_bundle(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Opened[PublishedRelease]:
    """Open a bundle with its helper tables."""
    with hold(path) as bundle:
        return open_held(bundle, max_bytes=max_bytes)


def open_held(bundle: Held, *, helpers: bool = True, max_bytes: int | None = None) -> Opened[PublishedRelease]:
    """Read a bundle that is held open; without `helpers` their bytes are compared but not decoded."""
    manifest = bundle.decoded
    if isinstance(manifest, PartsManifest):
        parts = PartsBundle.of(bundle, max_bytes=max_bytes)
        return Opened(concat_parts(parts), {}, bundle.manifest, bundle.pages(manifest.files))
    stems = [stem for stem in _stems(manifest) if helpers or stem not in HELPERS]
    found = bundle.tables(manifest.files, [f"{stem}.parquet" for stem in stems], max_bytes=max_bytes)
    tables = {Path(name).stem: table for name, table in found.items()}
    beside = {stem: tables.pop(stem) for stem in HELPERS if stem in tables}
    release = release_of(manifest, tables)
    try:
        check_shape(release)
    except BrokenPromise as error:
        raise BundleError(f"The bundle is not a release: {error}") from None
    check_words(release)
    return Opened(release, beside, bundle.manifest, bundle.pages(manifest.files))


def _stems(manifest: Manifest) -> list[str]:
    """The tables that the manifest lists; no other name of a file is ever looked at. Help is for groups."""
    tables = {*TABLES} if manifest.groups else {*TABLES} - {*HELPERS}
    if not set(manifest.files) <= {*PAGES, *(f"{name}.parquet" for name in tables)}:
        raise BundleError("The manifest lists a file that no release has.")
    return [Path(name).stem for name in manifest.files if name.endswith(".parquet")]
