"""Issue a certificate for a bundle that holds a table.

Guarantee  a certificate exists only if every check of `verify_opened` passed on the very bytes that it names
Cost       a verification, the adversaries that need no original, and 135 questions
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from hedgerow.audit.certificate import BundleMark, Certificate, GroupSizes, Issuer, Published
from hedgerow.audit.certificate_answers import typical_answers
from hedgerow.audit.certificate_internal import internal_part
from hedgerow.audit.certificate_risks import published_risks
from hedgerow.audit.certificate_words import cited, never_promised, promises_privacy, unseen
from hedgerow.audit.verify import verify_opened
from hedgerow.release import Release
from hedgerow.release.bundle import read_all
from hedgerow.release.folder import FileEntry
from hedgerow.release.manifest import Manifest, decode
from hedgerow.release.readme import done

__all__ = ["Progress", "certify_table", "mark_of"]

Progress = Callable[[str, float], None]


def certify_table(
    path: str | os.PathLike[str],
    issuer: Issuer,
    *,
    internal: bool = False,
    original: pa.Table | None = None,
    progress: Progress = lambda step, share: None,
) -> Certificate:
    """Verify a bundle and write down what it is; raise BrokenPromise or BundleError if it does not verify.

    The publishable version, which is the default, is made from the bundle alone.
    """
    bundle = read_all(path)
    release, manifest = bundle.release, decode(bundle.manifest)
    progress("verifying", 0.0)
    checks = verify_opened(bundle).checks
    progress("attacking", 0.2)
    risks = published_risks(release)
    progress("asking", 0.3)
    answers = typical_answers(release)
    mark = mark_of(bundle.manifest, manifest.format, manifest.checksum, manifest.files)
    published = _published(manifest, release)
    return Certificate(
        version="internal" if internal else "publishable",
        issuer=issuer,
        promise=manifest.guarantee,
        promises_privacy=promises_privacy(manifest.guarantee.criterion),
        not_promised=never_promised(manifest.guarantee.not_promised, manifest.guarantee.parameters),
        checks=checks,
        unseen=unseen(manifest.form, manifest.guarantee.criterion),
        published=published,
        risks=risks,
        answers=answers,
        bundle=mark,
        citation=cited(issuer, published, manifest.guarantee.parameters, mark),
        internal=internal_part(release, original, risks, _later(progress)) if internal else None,
    )


def _later(progress: Progress) -> Progress:
    """The last half of the way, by the steps of what is measured."""
    return lambda step, share: progress(f"measuring: {step}", 0.5 + share / 2)


def mark_of(text: bytes, format: str, checksum: str, files: dict[str, FileEntry]) -> BundleMark:
    """Tie a certificate to the bytes of a manifest, which name the bytes of everything else."""
    return BundleMark(format=format, manifest_sha256=hashlib.sha256(text).hexdigest(), checksum=checksum, files=files)


def _published(manifest: Manifest, release: Release) -> Published:
    rows = manifest.rows
    return Published(
        what="table",
        done=done(release),
        form=manifest.form,
        method=manifest.method,
        parameters=manifest.parameters,
        counts={
            "input": rows.input,
            "published": rows.published,
            "suppressed": rows.suppressed,
            "groups": manifest.groups,
        },
        sizes=_sizes(release),
        columns={
            "quasi": manifest.columns.quasi,
            "sensitive": manifest.columns.sensitive,
            "plain": manifest.columns.plain,
        },
        missing=manifest.missing,
        reproducible_insecure=manifest.reproducible_insecure,
        made_with=manifest.hedgerow,
    )


def _sizes(release: Release) -> tuple[GroupSizes, ...]:
    if not release.groups:
        return ()
    people = next(table for name, table in release.tables.items() if name in ("release", "quasi"))
    sizes = np.bincount(people.column(release.group_column).to_numpy())
    spread = {"least": int(sizes.min()), "median": int(np.median(sizes)), "most": int(sizes.max())}
    return (GroupSizes(of="rows", groups=len(sizes), **spread),)
