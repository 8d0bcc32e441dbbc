"""Re-derive a release's guarantee from what is published.

Nothing here is shared with the code that makes releases: groups are found by sorting, thresholds are compared as
fractions. One check a function; a check returns a sentence about what it saw or raises BrokenPromise.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from weakref import WeakKeyDictionary

import pyarrow as pa

from hedgerow.arrays import free_unused
from hedgerow.cores import on_cores
from hedgerow.errors import BrokenPromise, BundleError, counted, within_limits
from hedgerow.verify.boxes import check_boxes
from hedgerow.verify.frequency import (
    check_frequency,
    check_m_invariance,
    check_microaggregation,
    check_noise,
    check_rank_swap,
    check_retention,
)
from hedgerow.verify.groupwise import check_groupwise
from hedgerow.verify.help import check_help
from hedgerow.verify.holding import Held, Opened, hold, open_held
from hedgerow.verify.ke import check_ke
from hedgerow.verify.manifest import PartsManifest
from hedgerow.verify.names import SETS
from hedgerow.verify.parts import PARTED, PartsBundle, cut_blocks, verify_parts
from hedgerow.verify.properties import check_properties
from hedgerow.verify.proximity import check_proximity
from hedgerow.verify.robust import check_robust
from hedgerow.verify.structure import check_structure, layout_of
from hedgerow.verify.target import check_personal, check_target
from hedgerow.verify.values import PublishedRelease, Verification, told_seed
from hedgerow.verify.words import check_pages, check_words

__all__ = ["Verification", "verify", "verify_bundle", "verify_held", "verify_once", "verify_opened"]

_CRITERIA: dict[str, Callable[[PublishedRelease], str]] = {
    "frequency": check_frequency,
    "groupwise": check_groupwise,
    "ke": check_ke,
    "m_invariance": check_m_invariance,
    "microaggregation": check_microaggregation,
    "noise": check_noise,
    "personal": check_personal,
    "properties": check_properties,
    "proximity": check_proximity,
    "rank-swap": check_rank_swap,
    "retention": check_retention,
    "robust": check_robust,
    "target": check_target,
}


_verified: WeakKeyDictionary[PublishedRelease, tuple[Verification, list[pa.Table]]] = WeakKeyDictionary()


def verify_once(release: PublishedRelease) -> Verification:
    """Return what `verify` found for this very release and these very tables, which cannot change; else verify it."""
    tables = list(release.tables.values())
    if (known := _verified.get(release)) is not None and _are_same(known[1], tables):
        return known[0]
    verification = verify(release)
    _verified[release] = (verification, tables)
    return verification


def _are_same(one: list[pa.Table], other: list[pa.Table]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def verify(release: PublishedRelease) -> Verification:
    """Check that a release holds what it says and nothing else; raise BrokenPromise if not."""
    columns = check_structure(release)
    criterion = _CRITERIA[release.guarantee.criterion]
    checks: list[Callable[[PublishedRelease], str]] = [check_boxes] if layout_of(release).has_boxes else []
    checks.append(partial(_check_in_blocks, criterion) if _has_blocks(release) else criterion)
    whole = release if release.whole is None else replace(release, rows=release.whole.rows)
    # Parts add up what they see, and intervals are short work that takes memory: sets are looked at by a thread.
    rows = release.rows.published if whole is release and SETS in release.tables else 0
    kept = on_cores(lambda check: check(release), checks, rows=rows)
    return Verification((columns, _told_rows(whole), *kept, check_words(whole)))


_IN_BLOCKS = ("frequency", "groupwise", "ke", "m_invariance", "proximity")
"""Criteria that look at one group after the other, and at nothing but its published sensitive values."""

BLOCK = 1 << 15
"""Rows that such a criterion is shown at a time, so that what it sorts stays small beside the release."""


def _has_blocks(release: PublishedRelease) -> bool:
    is_large = release.whole is None and release.rows.published > BLOCK
    return is_large and release.guarantee.criterion in _IN_BLOCKS and set(release.tables) <= set(PARTED)


def _check_in_blocks(criterion: Callable[[PublishedRelease], str], release: PublishedRelease) -> str:
    """Check blocks of whole groups one after the other; the sentence is the one that all groups at once would give."""
    free_unused()  # what the check of boxes had
    sentence = ""
    try:
        for block in cut_blocks(release, BLOCK):
            sentence = criterion(block)
    except BrokenPromise:
        criterion(release)  # raises with the numbers of all groups
        raise
    return sentence


@within_limits
def verify_bundle(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Verification:
    """Check a bundle on disk: checksums first, then the promise, then the helper table."""
    with hold(path) as bundle:
        return verify_held(bundle, max_bytes=max_bytes)


def verify_held(
    bundle: Held, opened: Opened[PublishedRelease] | None = None, *, max_bytes: int | None = None
) -> Verification:
    """Check a bundle that is held open, and `opened` perhaps; one in parts is read part by part."""
    if isinstance(bundle.decoded, PartsManifest):
        return verify_parts(PartsBundle.of(bundle, max_bytes=max_bytes), lambda part: verify(part).checks)
    return verify_opened(open_held(bundle, max_bytes=max_bytes) if opened is None else opened)


def verify_opened(bundle: Opened[PublishedRelease]) -> Verification:
    """Check a bundle whose files were read, and so held against their checksums."""
    release = bundle.release
    told = told_seed(release.made.reproducible)
    checks = ("every file fits its SHA-256 in the manifest", *told, *verify(release).checks)
    check_pages(bundle.pages, release.guarantee)
    if not release.groups:  # there are no bounds to help with
        return Verification(checks)
    if "help" not in bundle.helpers:
        raise BundleError("The bundle has no help.parquet.")
    return Verification((*checks, check_help(release, bundle.helpers["help"])))


def _told_rows(release: PublishedRelease) -> str:
    rows = release.rows
    return f"{counted(rows.published, 'row')} published, {rows.suppressed:,} suppressed, {rows.input:,} came in"
