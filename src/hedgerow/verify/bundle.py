"""Open a bundle: checksums, manifest, tables and their structure, all of one moment, or a BundleError."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import pyarrow as pa

from hedgerow.errors import BrokenPromise, BundleError
from hedgerow.verify.holding import Held, hold
from hedgerow.verify.manifest import Manifest, decode, published
from hedgerow.verify.structure import TABLES, check_structure
from hedgerow.verify.values import PublishedRelease

__all__ = ["HELPERS", "Opened", "open_bundle", "open_held"]

HELPERS = ("help",)
"""Tables that are derived from the published ones, so that plain SQL can answer; not part of the release itself."""


Kind = TypeVar("Kind", covariant=True)


@dataclass(frozen=True)
class Opened(Generic[Kind]):
    """All that a bundle holds: the release, the helper tables, the manifest that names their bytes, and README.md."""

    release: Kind
    helpers: Mapping[str, pa.Table]
    manifest: bytes
    page: str | None = None


def open_bundle(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Opened[PublishedRelease]:
    """Open a bundle with its helper tables."""
    with hold(path) as bundle:
        return open_held(bundle, max_bytes=max_bytes)


def open_held(bundle: Held, *, helpers: bool = True, max_bytes: int | None = None) -> Opened[PublishedRelease]:
    """Read a bundle that is held open; without `helpers` their bytes are compared but not decoded."""
    manifest = decode(bundle.manifest)
    stems = [stem for stem in _stems(manifest) if helpers or stem not in HELPERS]
    found = bundle.tables(manifest.files, [f"{stem}.parquet" for stem in stems], max_bytes=max_bytes)
    tables = {Path(name).stem: table for name, table in found.items()}
    beside = {stem: tables.pop(stem) for stem in HELPERS if stem in tables}
    release = published(manifest, tables)
    try:
        check_structure(release)
    except BrokenPromise as error:
        raise BundleError(f"The bundle is not a release: {error}") from None
    return Opened(release, beside, bundle.manifest, bundle.page(manifest.files))


def _stems(manifest: Manifest) -> list[str]:
    """The tables that the manifest lists; no other name of a file is ever looked at."""
    if not set(manifest.files) <= {"README.md", *(f"{name}.parquet" for name in TABLES)}:
        raise BundleError("The manifest lists a file that no release has.")
    return [Path(name).stem for name in manifest.files if name.endswith(".parquet")]
