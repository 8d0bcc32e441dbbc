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


def unseal(text: bytes, kind: type[Sealed], format: str, *, name: str = "manifest") -> Sealed:
    """Read a manifest, or what `name` says; raise BundleError for anything but a whole, unedited one of this format."""
    ask = f"ask for {'the bundle' if name == 'manifest' else 'it'} again"
    try:
        manifest = msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BundleError(f"{name}.json is not a hedgerow {name} ({_kind_of(error)}); {ask}.") from None
    fields: Any = manifest
    if fields.format != format:
        raise BundleError(f"{name}.json has a format that this version does not read; it reads {format!r}.")
    if fields.checksum != _checksum(manifest):
        raise BundleError(f"{name}.json was edited or damaged: its checksum does not fit; {ask}.")
    return manifest


def _checksum(manifest: msgspec.Struct) -> str:
    bare = msgspec.structs.replace(manifest, checksum="")
    return hashlib.sha256(msgspec.json.encode(bare)).hexdigest()


def _kind_of(error: Exception) -> str:
    return "a field is missing or wrong" if isinstance(error, msgspec.ValidationError) else "not valid JSON"
