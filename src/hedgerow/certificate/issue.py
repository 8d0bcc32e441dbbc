"""Certificates of bundles on disk: issue one, write it, read it, compare one with a bundle."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from hedgerow.certificate.model import Certificate, EarlierRelease, Issuer, decode, encode
from hedgerow.certificate.page import page
from hedgerow.errors import BundleError, ParameterError, as_path, unwritten
from hedgerow.release.folder import replace_file
from hedgerow.verify.holding import read_manifest
from hedgerow.verify.manifest import GRAPH_FORMAT as GRAPH
from hedgerow.verify.manifest import format_of

NAMES = {"publishable": "certificate", "internal": "certificate-internal"}
"""What the files of each version are called, so that one is not taken for the other."""

_LONGEST = 200
_LARGEST = 1 << 24
_ALMOST = 1e-5
"""Numbers are rounded to six digits; the last one may differ between machines."""


def certify(
    bundle: str | os.PathLike[str],
    *,
    issuer: Issuer,
    internal: bool = False,
    original: pa.Table | None = None,
    ledger: str | os.PathLike[str] | None = None,
    progress: Any = lambda step, share: None,
) -> Certificate:
    """Verify a bundle and certify it; raise BrokenPromise or BundleError, and certify nothing, if it does not verify.

    The publishable version is made from the bundle alone. For the internal one there are `original`, the table behind
    the release, and `ledger`, the owner's record of other releases of its rows.
    """
    if not internal and (original is not None or ledger is not None):
        raise ParameterError(
            "'original' and 'ledger' are for the internal version, since nothing of them may be published: add "
            "internal=True, and keep it inside."
        )
    if ledger is not None and original is None:
        raise ParameterError("'ledger' needs 'original': rows are looked up in it.")
    _require_lines(issuer)
    if format_of(read_manifest(bundle)) != GRAPH:
        from hedgerow.certificate.table import certify_table

        issued = certify_table(bundle, issuer, internal=internal, original=original, progress=progress)
        return issued if ledger is None else _with_ledger(issued, ledger, original)
    if original is not None:
        raise ParameterError("'original' is a table; for graphs the internal version has no measurements.")
    from hedgerow.certificate.graph import certify_graph

    return certify_graph(bundle, issuer, internal=internal, progress=progress)


def _with_ledger(certificate: Certificate, ledger: str | os.PathLike[str], original: pa.Table | None) -> Certificate:
    """List the other releases that hold rows of the original."""
    from hedgerow.ledger import Ledger

    others = [
        overlap
        for overlap in Ledger.open(ledger).overlaps(original)
        if overlap.entry.bundle != certificate.bundle.checksum
    ]
    found = tuple(
        EarlierRelease(id=other.entry.id, date=other.entry.date, method=other.entry.method, rows=other.rows)
        for other in others
    )
    assert certificate.internal is not None
    part = msgspec.structs.replace(certificate.internal, ledger=found)
    return msgspec.structs.replace(certificate, internal=part)


def _require_lines(issuer: Issuer) -> None:
    for name in ("title", "publisher"):
        text = getattr(issuer, name)
        if len(text) > _LONGEST or not text.isprintable():
            raise ParameterError(f"'{name}' must be one line of at most {_LONGEST} characters; got {len(text)}.")
    if issuer.issued and not _is_day(issuer.issued):
        raise ParameterError("'issued' must be a date such as 2026-11-16, or empty.")


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def write(certificate: Certificate, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write the page and its data to `folder`, each whole or not at all; return both paths, the page first."""
    target, stem = Path(folder), NAMES[certificate.version]
    data = encode(certificate)
    files = {f"{stem}.html": page(decode(data)).encode(), f"{stem}.json": data}
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            replace_file(target / name, content)
    except OSError as error:
        raise unwritten(f"'{target.name}'", error) from None
    html, json = (target / name for name in files)
    return html, json


def read(file: str | os.PathLike[str]) -> Certificate:
    """Read a certificate's JSON; raise BundleError unless it is whole and unedited."""
    place = as_path(file)
    try:
        if place.stat().st_size > _LARGEST:
            raise BundleError(f"'{place.name}' is too large to be a certificate.")
        return decode(place.read_bytes(), name=place.name)
    except OSError as error:
        raise BundleError(f"'{place.name}' cannot be read: {(error.strerror or '').lower()}.") from None
    except ValueError:
        raise BundleError("A certificate's name holds a character that no file name can hold.") from None


def check(
    bundle: str | os.PathLike[str],
    certificate: Certificate,
    *,
    original: pa.Table | None = None,
    progress: Any = lambda step, share: None,
) -> tuple[str, ...]:
    """Verify the bundle, derive its certificate anew and return the names of the parts that differ; none is good.

    A certificate of other bytes differs in `bundle`, and then nothing else is compared. The internal part is compared
    only if the original is given. What the issuer says is taken as it is.
    """
    if not certificate.is_labelled:
        return ("version",)
    measured = original is not None and certificate.version == "internal"
    again = certify(
        bundle, issuer=certificate.issuer, internal=measured, original=original if measured else None, progress=progress
    )
    if again.bundle != certificate.bundle:
        return ("bundle",)
    ignored = {"checksum", "hedgerow", "version", *parts_not_compared(certificate, measured=measured)}
    ours, theirs = (
        {name: part for name, part in msgspec.to_builtins(which).items() if name not in ignored}
        for which in (again, _without_ledger(certificate))
    )
    return tuple(_differences(ours, theirs, ""))


def parts_not_compared(certificate: Certificate, *, measured: bool) -> tuple[str, ...]:
    """Which parts no check derives again: the internal one without the original, and what the ledger said."""
    if certificate.internal is None:
        return ()
    if not measured:
        return ("internal",)
    return ("internal.ledger",) if certificate.internal.ledger is not None else ()


def _without_ledger(certificate: Certificate) -> Certificate:
    """Leave out what the ledger said: it grows with every release, so that no later reading fits."""
    if certificate.internal is None:
        return certificate
    return msgspec.structs.replace(certificate, internal=msgspec.structs.replace(certificate.internal, ledger=None))


def _differences(ours: Any, theirs: Any, where: str) -> Iterator[str]:
    """Name the places at which two certificates differ by more than rounding."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        for name in ours:
            yield from _differences(ours[name], theirs[name], f"{where}.{name}" if where else name)
    elif isinstance(ours, list | tuple) and isinstance(theirs, list | tuple) and len(ours) == len(theirs):
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _differences(one, other, f"{where}[{place}]")
    elif not _are_alike(ours, theirs):
        yield where


def _are_alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=_ALMOST, abs_tol=1e-12)
    return bool(one == other)
