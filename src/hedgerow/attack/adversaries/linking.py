"""The adversary who knows everybody's quasi-identifiers and finds each person's group.

Knows      quasi-identifiers of everyone, and that they are in the table
Guesses    the most frequent sensitive value of the person's group
Rate       exact, not sampled: the share of people for whom the guess is right, on average over the shuffle
Baseline   the same adversary without groups, who guesses the most frequent value of the whole column
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.attack.beliefs import Beliefs, beliefs, promised_share
from hedgerow.attack.context import Context, need_groups
from hedgerow.attack.finding import KNOWS_GROUPS, NOTHING_TO_DO, STOP, Adversary, Finding, exact_rate, percent
from hedgerow.errors import ParameterError
from hedgerow.release import Release
from hedgerow.verify.names import tables_with


@dataclass(frozen=True)
class Linking:
    """How often the guess is right: on average, at worst, and without the release's groups."""

    column: str
    rate: float
    worst: float
    baseline: float
    fewest_candidates: int

    def __str__(self) -> str:
        return (
            f"Guessing the most frequent value of '{self.column}' in a person's group is right for {self.rate:.1%} of "
            f"the people ({self.baseline:.1%} without groups), for {self.worst:.0%} in the worst group; "
            f"at least {self.fewest_candidates} different values remain possible for everyone."
        )


def linking(release: Release) -> Linking:
    """Attack a release that shows which sensitive values each group has, in one table or in two."""
    column = release.columns.sensitive[0]
    if not tables_with(release.tables, release.group_column):
        raise ParameterError(f"Linking needs groups with values of '{column}'; a {release.form} release shows none.")
    return linking_of(beliefs(release, column))


def linking_of(seen: Beliefs) -> Linking:
    """Attack with what each group reveals."""
    best = np.maximum.reduceat(seen.shares, seen.starts[:-1])
    return Linking(
        column=seen.column,
        rate=float(best @ seen.sizes / seen.sizes.sum()),
        worst=float(best.max()),
        baseline=float(seen.overall.max()),
        fewest_candidates=int(np.diff(seen.starts).min()),
    )


def _measure(context: Context) -> Finding:
    found, promised = linking_of(context.beliefs), promised_share(context.release)
    least = _least_candidates(context.release)
    left = f"{found.fewest_candidates:,} or more values stay possible for everyone"
    left += f", {least:,} were promised" if least is not None else ""
    finding = Finding(
        adversary=ADVERSARY.name,
        column=context.column,
        knows=KNOWS_GROUPS,
        guesses="the most frequent value of the person's group",
        **exact_rate(found.rate, int(context.beliefs.sizes.sum())),
        baseline=found.baseline,
        worst=found.worst,
        promised=promised,
    )
    step = NOTHING_TO_DO
    if finding.holds is False or (least is not None and found.fewest_candidates < least):
        step = STOP
    elif found.worst > 0.5 and promised is None:
        step = "Cap the share of a value in every group: Anatomy, or Mondrian with l."
    return finding.conclude(f"In the worst group {percent(found.worst)} share one value; {left}.", step)


def _least_candidates(release: Release) -> int | None:
    """How many different values must remain possible for everyone by the guarantee; None where it says nothing."""
    parameters = release.guarantee.parameters
    if release.guarantee.criterion == "ke":
        return int(parameters["k"])
    return int(parameters["l"]) if parameters.get("diversity") == "distinct" else None


ADVERSARY = Adversary("linking", 10, _measure, (need_groups,))
