"""Put a certificate together from a manifest and what was measured: the same for tables and for graphs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hedgerow.certificate.model import Answers, BundleMark, Certificate, GroupSizes, Internal, Issuer, Published, Risk
from hedgerow.certificate.words import cited, never_promised, promises_privacy, unseen
from hedgerow.release.folder import FileEntry
from hedgerow.release.guarantee import Guarantee

__all__ = ["Progress", "group_sizes", "mark_of", "whole_certificate"]

Progress = Callable[[str, float], None]


def whole_certificate(
    issuer: Issuer,
    promise: Guarantee,
    mark: BundleMark,
    published: Published,
    *,
    checks: tuple[str, ...],
    risks: tuple[Risk, ...],
    answers: Answers,
    internal: Internal | None,
) -> Certificate:
    """Add to what was measured the words that follow from the promise and from what was published."""
    return Certificate(
        version="publishable" if internal is None else "internal",
        issuer=issuer,
        promise=promise,
        promises_privacy=promises_privacy(promise.criterion),
        not_promised=never_promised(promise.not_promised, promise.parameters),
        checks=checks,
        unseen=unseen(published.form, promise.criterion),
        published=published,
        risks=risks,
        answers=answers,
        bundle=mark,
        citation=cited(issuer, published, promise.parameters, mark),
        internal=internal,
    )


def mark_of(text: bytes, format: str, checksum: str, files: dict[str, FileEntry]) -> BundleMark:
    """Tie a certificate to the bytes of a manifest, which name the bytes of everything else."""
    return BundleMark(format=format, manifest_sha256=hashlib.sha256(text).hexdigest(), checksum=checksum, files=files)


def group_sizes(of: str, sizes: NDArray[np.int64]) -> GroupSizes:
    """Sum up how large groups are."""
    return GroupSizes(
        of=of, groups=len(sizes), least=int(sizes.min()), median=int(np.median(sizes)), most=int(sizes.max())
    )
