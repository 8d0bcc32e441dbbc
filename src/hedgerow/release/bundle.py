"""The only door out: a release as a folder of Parquet files with a manifest."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from hedgerow.errors import BundleError
from hedgerow.release.folder import check_files, read_manifest, read_table, read_whole, write_folder
from hedgerow.release.manifest import Manifest, decode, describe, encode
from hedgerow.release.readme import readme
from hedgerow.release.release import Made, PublishedColumns, Release, Rows

__all__ = ["HELPERS", "checksum", "open_helper", "read", "write"]

HELPERS = ("help",)
"""Tables that are derived from the published ones, so that plain SQL can answer; not part of the release itself."""


def write(
    release: Release,
    path: str | os.PathLike[str],
    *,
    helpers: Mapping[str, pa.Table],
    overwrite: bool = False,
    allow_insecure: bool = False,
) -> None:
    """Write `release` and its helper tables to the folder `path`."""
    if release.made.reproducible and not allow_insecure:
        raise BundleError(
            "This release was made with a seed, so whoever learns the seed can undo it. Publish without a seed, "
            "or allow an insecure bundle explicitly for a test."
        )
    write_folder(
        path,
        tables={**release.tables, **helpers},
        texts={"README.md": readme(release)},
        manifest=lambda files: encode(describe(release, files)),
        overwrite=overwrite,
    )


def read(path: str | os.PathLike[str]) -> Release:
    """Open a bundle; raise BundleError unless it is whole and unedited."""
    return read_whole(path, _read)


def _read(folder: Path, text: bytes) -> Release:
    manifest = _checked(folder, text)
    stems = [Path(name).stem for name in manifest.files if name.endswith(".parquet")]
    return Release(
        form=manifest.form,
        tables={stem: _table(folder, manifest, stem) for stem in stems if stem not in HELPERS},
        columns=PublishedColumns(manifest.columns.quasi, manifest.columns.sensitive, manifest.columns.plain),
        group_column=manifest.group_column,
        guarantee=manifest.guarantee,
        rows=Rows(manifest.rows.input, manifest.rows.published, manifest.rows.suppressed),
        groups=manifest.groups,
        made=Made(manifest.method, manifest.parameters, manifest.missing, manifest.reproducible_insecure),
    )


def open_helper(path: str | os.PathLike[str], name: str) -> pa.Table:
    """Read a helper table of a bundle."""
    return read_whole(path, lambda folder, text: _table(folder, _checked(folder, text), name))


def checksum(path: str | os.PathLike[str]) -> str:
    """The checksum of a bundle's manifest, which covers those of all files."""
    return decode(read_manifest(path)[1]).checksum


def _checked(folder: Path, text: bytes) -> Manifest:
    manifest = decode(text)
    check_files(folder, manifest.files)
    return manifest


def _table(folder: Path, manifest: Manifest, stem: str) -> pa.Table:
    name = f"{stem}.parquet"
    if name not in manifest.files:
        raise BundleError(f"The bundle has no {name}.")
    return read_table(folder, name, manifest.files[name])
