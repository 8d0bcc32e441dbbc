"""A manifest as JSON that carries its own checksum: any program can read it, and an edit shows."""

from __future__ import annotations

import hashlib
from typing import Any, TypeVar

import msgspec

from hedgerow.errors import BundleError

__all__ = ["seal", "unseal"]

Sealed = TypeVar("Sealed", bound=msgspec.Struct)


def seal(manifest: msgspec.Struct) -> bytes:
    """Turn a manifest with the fields `format` and `checksum` into JSON with its checksum."""
    sealed = msgspec.structs.replace(manifest, checksum=_checksum(manifest))
    return msgspec.json.format(msgspec.json.encode(sealed), indent=2) + b"\n"


def unseal(text: bytes, kind: type[Sealed], format: str) -> Sealed:
    """Read a manifest; raise BundleError for anything but a whole, unedited one of this format."""
    try:
        manifest = msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BundleError(
            f"manifest.json is not a hedgerow manifest ({_kind_of(error)}); ask for the bundle again."
        ) from None
    fields: Any = manifest
    if fields.format != format:
        raise BundleError(f"manifest.json has a format that this version does not read; it reads {format!r}.")
    if fields.checksum != _checksum(manifest):
        raise BundleError("manifest.json was edited or damaged: its checksum does not fit; ask for the bundle again.")
    return manifest


def _checksum(manifest: msgspec.Struct) -> str:
    bare = msgspec.structs.replace(manifest, checksum="")
    return hashlib.sha256(msgspec.json.encode(bare)).hexdigest()


def _kind_of(error: Exception) -> str:
    return "a field is missing or wrong" if isinstance(error, msgspec.ValidationError) else "not valid JSON"
