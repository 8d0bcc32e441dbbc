"""The only door out: a release as a folder of Parquet files with a manifest."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields

import pyarrow as pa

from hedgerow._version import __version__
from hedgerow.errors import BundleError
from hedgerow.release.folder import write_folder
from hedgerow.release.forms import form_of
from hedgerow.release.readme import readme
from hedgerow.release.release import Release
from hedgerow.verify.holding import HELPERS, Held, Opened, hold, open_bundle, open_held, read_manifest
from hedgerow.verify.manifest import GRAPH_FORMAT, decode, decode_graph, describe, encode, format_of
from hedgerow.verify.page import pages
from hedgerow.verify.values import Made, PublishedRelease

__all__ = ["HELPERS", "as_release", "checksum", "read", "read_all", "read_held", "refuse_seeded", "write"]


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
    """Raise BundleError for what a seed can undo, unless that is wanted."""
    if made.reproducible and not allow_insecure:
        raise BundleError(
            "This release was made with a seed, so whoever learns the seed can undo it. Publish without a seed, "
            "or allow it for a test (--allow-insecure, allow_insecure=True)."
        )


def read(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Release:
    """Open a bundle; raise BundleError unless it is whole and unedited."""
    with hold(path) as bundle:
        return read_held(bundle, max_bytes=max_bytes)


def read_held(bundle: Held, *, max_bytes: int | None = None) -> Release:
    """Read the release of a bundle that is held open; its helper tables are checked but not read."""
    return as_release(open_held(bundle, helpers=False, max_bytes=max_bytes).release)


def read_all(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Opened[Release]:
    """Open a bundle with its helper tables, all of one moment."""
    opened = open_bundle(path, max_bytes=max_bytes)
    return Opened(as_release(opened.release), opened.helpers, opened.manifest, opened.pages)


def as_release(found: PublishedRelease) -> Release:
    """The release that a decoder found, to be asked and attacked."""
    said = {field.name: getattr(found, field.name) for field in fields(PublishedRelease) if field.name != "whole"}
    return Release(**said | {"form": form_of(found.form)})


def checksum(path: str | os.PathLike[str]) -> str:
    """The checksum of a bundle's manifest, which covers those of all files."""
    text = read_manifest(path)
    return decode_graph(text).checksum if format_of(text) == GRAPH_FORMAT else decode(text).checksum
