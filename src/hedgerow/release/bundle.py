"""Write and read bundles: a release as a folder of Parquet files with a manifest."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cached_property
from typing import Any, TypeVar

import pyarrow as pa

from hedgerow._version import __version__
from hedgerow.cores import FEW, cores
from hedgerow.errors import BundleError
from hedgerow.release.folder import write_folder
from hedgerow.release.forms import form_of
from hedgerow.release.readme import readme
from hedgerow.release.release import Release
from hedgerow.verify.holding import HELPERS, Held, hold, open_held, read_manifest
from hedgerow.verify.manifest import (
    GRAPH_FORMAT,
    PartsManifest,
    decode,
    decode_graph,
    describe,
    encode,
    format_of,
)
from hedgerow.verify.page import pages
from hedgerow.verify.parts import SHARED, PartsBundle, concat_parts
from hedgerow.verify.promise import verify_held
from hedgerow.verify.values import Made, PublishedRelease, Verification

__all__ = [
    "HELPERS",
    "PartedTables",
    "as_release",
    "checksum",
    "read",
    "read_held",
    "refuse_seeded",
    "write",
]


Found = TypeVar("Found")

_KEPT = 1 << 20
"""Bytes up to which all parts of a bundle are kept once they were read."""


def write(
    release: Release,
    path: str | os.PathLike[str],
    *,
    helpers: Mapping[str, pa.Table],
    overwrite: bool = False,
    allow_insecure: bool = False,
) -> None:
    """Write `release` and its helper tables to the folder `path`."""
    refuse_seeded(release.made, allow_insecure)
    write_folder(
        path,
        tables={**release.tables, **helpers},
        texts=pages(readme(release, helpers)),
        manifest=lambda files: encode(describe(release.published, files, __version__)),
        overwrite=overwrite,
    )


def refuse_seeded(made: Made, allow_insecure: bool) -> None:
    """Raise BundleError for a release made from a seed, which could be undone, unless `allow_insecure` permits it."""
    if made.reproducible and not allow_insecure:
        raise BundleError(
            "This release was made with a seed, so anyone who learns the seed can undo it. Publish without a seed, "
            "or allow it for a test (--allow-insecure, allow_insecure=True)."
        )


def read(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Release:
    """Open a bundle; raise BundleError unless it is whole and unedited."""
    with hold(path) as bundle:
        return read_held(bundle, max_bytes=max_bytes)


def read_held(bundle: Held, *, max_bytes: int | None = None) -> Release:
    """Read the release of a bundle that is held open; its helper tables are checked but not read."""
    if isinstance(manifest := bundle.decoded, PartsManifest):
        tables = PartedTables(PartsBundle.of(bundle, max_bytes=max_bytes))
        # Reading a part checks the words, and what is said of the making, before anybody meets them.
        return replace(tables.first, tables=tables, rows=manifest.rows, groups=manifest.groups)
    return as_release(open_held(bundle, helpers=False, max_bytes=max_bytes).release)


class PartedTables(Mapping[str, pa.Table]):
    """The tables of a bundle in parts, read when they are asked for: a part at a time, or all parts put together.

    What is read is compared with its checksum in the manifest of the moment in which the bundle was opened, and has the
    structure of a release; a bundle that took its place meanwhile is refused.
    """

    def __init__(self, parts: PartsBundle) -> None:
        self.path, self._manifest, self._max_bytes = parts.bundle.path, parts.bundle.manifest, parts.max_bytes
        shared = [name for name in SHARED if f"{name}.parquet" in parts.manifest.files]
        self._names = (*(name for name in parts.tables if name != "help"), *shared)
        self._rows, self.number = parts.manifest.rows.published, len(parts)
        self._kept: list[Release] | None = None
        self.remembered: dict[str, Any] = {}
        """What questions found out about all parts, and need again."""

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, name: str) -> pa.Table:
        return self._whole[name]

    @cached_property
    def _whole(self) -> Mapping[str, pa.Table]:
        with self._hold() as parts:
            return concat_parts(parts).tables

    @cached_property
    def first(self) -> Release:
        """The first part."""
        return next(self.parts())

    def __getstate__(self) -> dict[str, Any]:
        """What a task takes along: the place, and the manifest that was read; no table that was."""
        kept = ("path", "_manifest", "_max_bytes", "_names", "_rows", "number")
        return {name: getattr(self, name) for name in kept} | {"_kept": None, "remembered": {}}

    def part(self, number: int) -> Release:
        """One part as a release of its own, groups numbered from 0."""
        with self._hold() as parts:
            return as_release(parts.read(number)[0])

    def parts(self) -> Iterator[Release]:
        """The parts as releases of their own, groups numbered from 0, one after the other; small ones are kept."""
        if self._kept is not None:
            self._require_same(read_manifest(self.path))
            yield from self._kept
            return
        kinds: dict[str, pa.Schema] = {}
        kept: list[Release] = []
        room = _KEPT
        with self._hold() as parts:
            for number in range(len(parts)):
                release, _ = parts.read(number)
                found = {name: table.schema for name, table in release.tables.items()}
                kinds = kinds or found
                if found != kinds:
                    raise BundleError("The parts do not have the same tables, columns and types.")
                part = as_release(release)
                room -= sum(table.nbytes for table in release.tables.values())
                kept = [*kept, part] if room >= 0 else []
                del release
                yield part
                del part  # before the next one is read
        self._kept = kept if room >= 0 else None

    def each(self, function: Callable[[Release], Found]) -> list[Found]:
        """What a function finds in each part: the next part is read while others are looked at."""
        if self._rows <= FEW:
            return [function(part) for part in self.parts()]
        threads, found = max(cores() - 1, 1), []
        with ThreadPoolExecutor(threads) as pool:
            waiting: deque[Future[Found]] = deque()
            for part in self.parts():
                waiting.append(pool.submit(function, part))
                del part
                if len(waiting) > threads:
                    found.append(waiting.popleft().result())
            return [*found, *(one.result() for one in waiting)]

    def verify(self) -> Verification:
        """Check every part and what is promised of all."""
        with self._hold() as parts:
            return verify_held(parts.bundle, max_bytes=self._max_bytes)

    @contextmanager
    def _hold(self) -> Iterator[PartsBundle]:
        with hold(self.path) as bundle:
            self._require_same(bundle.manifest)
            yield PartsBundle.of(bundle, max_bytes=self._max_bytes)

    def _require_same(self, manifest: bytes) -> None:
        if manifest != self._manifest:
            raise BundleError(f"'{self.path.name}' was replaced after it was opened; open it again.")


def as_release(found: PublishedRelease) -> Release:
    """The release that a decoder found, to be asked and attacked."""
    said = {field.name: getattr(found, field.name) for field in fields(PublishedRelease) if field.name != "whole"}
    return Release(**said | {"form": form_of(found.form)})


def checksum(path: str | os.PathLike[str]) -> str:
    """The checksum of a bundle's manifest, which covers those of all files."""
    text = read_manifest(path)
    return decode_graph(text).checksum if format_of(text) == GRAPH_FORMAT else decode(text).checksum
