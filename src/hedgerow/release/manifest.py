"""The manifest: what a bundle says of itself, as JSON that any program can read."""

from __future__ import annotations

from dataclasses import asdict

import msgspec

from hedgerow._version import __version__
from hedgerow.errors import BundleError
from hedgerow.release.folder import FileEntry
from hedgerow.release.guarantee import Guarantee
from hedgerow.release.release import Release
from hedgerow.release.seal import format_of, seal, unseal

__all__ = ["FORMAT", "Manifest", "decode", "describe", "encode"]

FORMAT = "hedgerow/1"


class ColumnNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Published columns by role."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    plain: tuple[str, ...]


class RowCounts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows that came in, were published, were held back."""

    input: int
    published: int
    suppressed: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything about a release except its rows. `checksum` covers the rest of the manifest."""

    format: str = FORMAT
    hedgerow: str = __version__
    form: str
    method: str
    parameters: dict[str, int | str]
    guarantee: Guarantee
    columns: ColumnNames
    group_column: str
    rows: RowCounts
    groups: int
    missing: dict[str, str]
    reproducible_insecure: bool
    files: dict[str, FileEntry]
    checksum: str = ""


def describe(release: Release, files: dict[str, FileEntry]) -> Manifest:
    """Write down a release whose files are known."""
    return Manifest(
        form=release.form.name,
        method=release.made.method,
        parameters=dict(release.made.parameters),
        guarantee=release.guarantee,
        columns=ColumnNames(**asdict(release.columns)),
        group_column=release.group_column,
        rows=RowCounts(**asdict(release.rows)),
        groups=release.groups,
        missing=dict(release.made.missing),
        reproducible_insecure=release.made.reproducible,
        files=files,
    )


def encode(manifest: Manifest) -> bytes:
    """Turn a manifest into JSON with its checksum."""
    return seal(manifest)


def decode(text: bytes) -> Manifest:
    """Read a manifest; raise BundleError for anything but a whole, unedited one of this format."""
    if format_of(text).startswith("hedgerow-graph/"):
        raise BundleError(
            "The bundle holds a grouped graph, not a table; `hedgerow graph` queries, verifies and attacks it."
        )
    return unseal(text, Manifest, FORMAT)
