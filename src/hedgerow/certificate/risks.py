"""What adversaries achieve who have nothing but the release: rates that anyone can compute again, so publishable.

Guarantee  nothing here is told more than the published bytes; guesses that must be checked against true values are not
           made here
Cost       a sort of the rows per rate, and whatever adversary runs on a release alone

Costly adversaries draw their targets from a seed: a measurement is no secret, and it can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from hedgerow.arrays import Ints
from hedgerow.attack.finding import Finding
from hedgerow.attack.report import AttackReport, run
from hedgerow.certificate.model import Risk, round_share
from hedgerow.randomness import seeded_keys
from hedgerow.release import Release
from hedgerow.verify.baselines import joint
from hedgerow.verify.frequency import value_codes

__all__ = ["attack_report", "exact_risk", "published_risks", "risk_of"]

_SEED = 1


def published_risks(release: Release) -> tuple[Risk, ...]:
    """Attack a release with nothing but itself: adversaries without the original, and what counting rows tells."""
    found = [risk_of(finding, "release") for finding in attack_report(release).findings]
    return (*found, *_rows_alike(release), *_values_kept(release), *_unique_rows(release))


def attack_report(
    release: Release,
    original: pa.Table | None = None,
    progress: Callable[[str, float], None] = lambda step, share: None,
) -> AttackReport:
    """Run the attack report in a way that can be repeated."""
    return run(release, original, keys=seeded_keys(_SEED), progress=progress)


def risk_of(finding: Finding, basis: Literal["release", "original"]) -> Risk:
    """Take the numbers of a finding; advice is for the owner, so the publishable version has none."""
    return Risk(
        adversary=finding.adversary,
        column=finding.column,
        knows=finding.knows,
        guesses=finding.guesses,
        basis=basis,
        rate=_six(finding.rate),
        low=_six(finding.low),
        high=_six(finding.high),
        exact=finding.exact,
        baseline=round_share(finding.baseline),
        worst=round_share(finding.worst),
        promised=round_share(finding.promised),
        next_step=finding.next_step if basis == "original" else "",
    )


def exact_risk(*, rate: float, basis: Literal["release", "promise"] = "release", **described: Any) -> Risk:
    """A rate that was computed, not sampled; `described` are further fields of a Risk."""
    shares: dict[str, Any] = {
        name: round_share(described.pop(name, None)) for name in ("baseline", "worst", "promised")
    }
    six = _six(rate)
    return Risk(rate=six, low=six, high=six, exact=True, basis=basis, **described, **shares)


def _six(number: float) -> float:
    return float(f"{number:.6g}")


def _rows_alike(release: Release) -> Iterator[Risk]:
    """Which of the rows that look alike is the person's? Only where rows were made to look alike."""
    if release.form.has_boxes:
        sizes = np.bincount(release.tables["release"].column(release.group_column).to_numpy())
        names = release.columns.quasi
    elif release.guarantee.criterion == "microaggregation":
        names = release.guarantee.columns
        sizes = np.bincount(_classes(release.tables["release"], names))
    else:
        return
    share = float(len(sizes) / sizes.sum())
    yield exact_risk(
        adversary="picking a row",
        column=", ".join(names),
        knows="a person's true values in these columns, and that they are in the table",
        guesses="one of the rows that fit, at random, as the person's own",
        rate=share,
        baseline=1 / float(sizes.sum()),
        worst=1 / float(sizes.min()),
        promised=1 / int(release.guarantee.parameters["k"]) if "k" in release.guarantee.parameters else None,
    )


def _values_kept(release: Release) -> Iterator[Risk]:
    """Values were kept with chance p, or drawn anew, and then they may be the same: p + (1 - p) / d."""
    if release.guarantee.criterion != "retention":
        return
    (name,) = release.guarantee.columns
    parameters, size = release.guarantee.parameters, release.tables["domain"].num_rows
    p = Fraction(parameters["p"])
    kept = float(p + (1 - p) / size)
    yield exact_risk(
        adversary="taking values at their word",
        column=name,
        knows="which row is a person's",
        guesses="that the published value is the true one",
        basis="promise",
        rate=kept,
        promised=1 / int(parameters["m"]) if "m" in parameters else None,
    )


def _unique_rows(release: Release) -> Iterator[Risk]:
    """Rows that nobody shares: whoever knows the quasi-identifiers sees that such a person is in the table."""
    if not release.form.keeps_rows:
        return
    replaced = release.guarantee.columns if release.form.is_altered else ()
    names = [name for name in release.columns.quasi if name not in replaced]
    if not names:
        return
    table = next(table for key, table in release.tables.items() if key in ("release", "quasi"))
    alone = float((np.bincount(_classes(table, names)) == 1).sum() / table.num_rows)
    yield exact_risk(
        adversary="seeing who is there",
        column=", ".join(names),
        knows="a person's quasi-identifiers",
        guesses="that the one row with them is the person's; this share of the rows is like no other",
        rate=alone,
    )


def _classes(table: pa.Table, names: Iterable[str]) -> Ints:
    """Number the combinations of values that occur."""
    classes = np.zeros(table.num_rows, np.int64)
    for name in names:
        classes = joint(classes, value_codes(table.column(name)))
    return classes
