"""The only door out: a release as a folder of Parquet files with a manifest."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from hedgerow.errors import BrokenPromise, BundleError
from hedgerow.release.folder import write_folder
from hedgerow.release.forms import form_of
from hedgerow.release.holding import Held, hold, read_manifest
from hedgerow.release.manifest import Manifest, decode, describe, encode
from hedgerow.release.readme import readme
from hedgerow.release.release import Made, PublishedColumns, Release, Rows
from hedgerow.verify.structure import TABLES, check_structure

__all__ = ["HELPERS", "Opened", "checksum", "read", "read_all", "read_held", "refuse_seeded", "write"]

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
    refuse_seeded(release.made, allow_insecure)
    write_folder(
        path,
        tables={**release.tables, **helpers},
        texts={"README.md": readme(release, helpers)},
        manifest=lambda files: encode(describe(release, files)),
        overwrite=overwrite,
    )


def refuse_seeded(made: Made, allow_insecure: bool) -> None:
    """Raise BundleError for what a seed can undo, unless that is wanted."""
    if made.reproducible and not allow_insecure:
        raise BundleError(
            "This release was made with a seed, so whoever learns the seed can undo it. Publish without a seed, "
            "or allow it for a test (--allow-insecure, allow_insecure=True)."
        )


@dataclass(frozen=True)
class Opened:
    """All that a bundle holds: the release, the helper tables, and the text of the manifest that names their bytes."""

    release: Release
    helpers: Mapping[str, pa.Table]
    manifest: bytes


def read(path: str | os.PathLike[str]) -> Release:
    """Open a bundle; raise BundleError unless it is whole and unedited."""
    with hold(path) as bundle:
        return read_held(bundle)


def read_held(bundle: Held) -> Release:
    """Read the release of a bundle that is held open; its helper tables are checked but not read."""
    manifest = decode(bundle.manifest)
    stems = [stem for stem in _stems(manifest) if stem not in HELPERS]
    return _release(manifest, _tables(bundle, manifest, stems))


def read_all(path: str | os.PathLike[str]) -> Opened:
    """Open a bundle with its helper tables, all of one moment."""
    with hold(path) as bundle:
        manifest = decode(bundle.manifest)
        tables = _tables(bundle, manifest, _stems(manifest))
        helpers = {stem: tables.pop(stem) for stem in HELPERS if stem in tables}
        return Opened(_release(manifest, tables), helpers, bundle.manifest)


def _stems(manifest: Manifest) -> list[str]:
    """The tables that the manifest lists; no other name of a file is ever looked at."""
    if not set(manifest.files) <= {"README.md", *(f"{name}.parquet" for name in TABLES)}:
        raise BundleError("The manifest lists a file that no release has.")
    return [Path(name).stem for name in manifest.files if name.endswith(".parquet")]


def _tables(bundle: Held, manifest: Manifest, stems: list[str]) -> dict[str, pa.Table]:
    tables = bundle.tables(manifest.files, [f"{stem}.parquet" for stem in stems])
    return {Path(name).stem: table for name, table in tables.items()}


def _release(manifest: Manifest, tables: dict[str, pa.Table]) -> Release:
    release = Release(
        form=form_of(manifest.form),
        tables=tables,
        columns=PublishedColumns(manifest.columns.quasi, manifest.columns.sensitive, manifest.columns.plain),
        group_column=manifest.group_column,
        guarantee=manifest.guarantee,
        rows=Rows(manifest.rows.input, manifest.rows.published, manifest.rows.suppressed),
        groups=manifest.groups,
        made=Made(manifest.method, manifest.parameters, manifest.missing, manifest.reproducible_insecure),
    )
    try:
        check_structure(release)
    except BrokenPromise as error:
        raise BundleError(f"The bundle is not a release: {error}") from None
    return release


def checksum(path: str | os.PathLike[str]) -> str:
    """The checksum of a bundle's manifest, which covers those of all files."""
    return decode(read_manifest(path)).checksum
