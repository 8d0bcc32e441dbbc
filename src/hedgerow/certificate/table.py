"""Issue a certificate for a bundle that holds a table.

Guarantee  a certificate exists only if every check of `verify_opened` passed on the very bytes that it names
Cost       a verification, the adversaries that need no original, and 135 questions
"""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa

from hedgerow.certificate.answers import typical_answers
from hedgerow.certificate.assemble import Derived, Progress, fill, group_sizes
from hedgerow.certificate.internal import internal_part
from hedgerow.certificate.model import Certificate, GroupSizes, Issuer
from hedgerow.certificate.risks import published_risks
from hedgerow.release import Release
from hedgerow.release.bundle import as_release
from hedgerow.release.readme import done
from hedgerow.verify.bundle import open_bundle
from hedgerow.verify.manifest import decode
from hedgerow.verify.promise import verify_opened

__all__ = ["certify_table"]


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
    bundle = open_bundle(path)
    release, manifest = as_release(bundle.release), decode(bundle.manifest)
    progress("verifying", 0.0)
    checks = verify_opened(bundle).checks
    progress("attacking", 0.2)
    risks = published_risks(release)
    progress("asking", 0.3)
    derived = Derived(
        what="table",
        done=done(release),
        counts={
            "input": manifest.rows.input,
            "published": manifest.rows.published,
            "suppressed": manifest.rows.suppressed,
            "groups": manifest.groups,
        },
        sizes=_sizes(release),
        columns={role: getattr(manifest.columns, role) for role in ("quasi", "sensitive", "plain")},
        checks=checks,
        risks=risks,
        answers=typical_answers(release),
        internal=internal_part(release, original, risks, _second_half(progress)) if internal else None,
        missing=manifest.missing,
        unverifiable=release.form.unverifiable,
    )
    return fill(issuer, bundle.manifest, manifest, derived)


def _second_half(progress: Progress) -> Progress:
    """The second half of the way, by the steps of what is measured."""
    return lambda step, share: progress(f"measuring: {step}", 0.5 + share / 2)


def _sizes(release: Release) -> tuple[GroupSizes, ...]:
    if not release.groups:
        return ()
    people = next(table for name, table in release.tables.items() if name in ("release", "quasi"))
    return (group_sizes("rows", np.bincount(people.column(release.group_column).to_numpy())),)
