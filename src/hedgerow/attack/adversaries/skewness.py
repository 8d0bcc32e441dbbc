"""The adversary who looks for values that are far more frequent in a person's group than in the whole table.

Knows      quasi-identifiers of everyone, and that they are in the table
Guesses    the sensitive value whose share in the person's group exceeds its share in the table by the largest factor
Rate       exact, not sampled: the share of people for whom the guess is right, on average over the shuffle
Baseline   the share of the same value in the whole table, which is known without the person's group
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.attack.beliefs import Beliefs, promised_share
from hedgerow.attack.context import Context, need_groups
from hedgerow.attack.finding import KNOWS_GROUPS, NOTHING_TO_DO, STOP, Adversary, Finding, exact_rate
from hedgerow.release import Release


@dataclass(frozen=True, eq=False)
class Skewness:
    """How often the guess is right, what the table alone gives, and the largest factor between the two.

    `usual` are the shares in the table of the values guessed in each group, `sizes` the people of the groups.
    """

    rate: float
    baseline: float
    factor: float
    usual: Floats
    sizes: Ints


def skewness(seen: Beliefs) -> Skewness:
    """Attack with what each group reveals; ties go to the more frequent value."""
    usual = seen.overall[seen.values]
    order = np.lexsort((seen.shares, seen.shares / usual, seen.owners))
    picked = order[seen.starts[1:] - 1]
    people = seen.sizes.sum()
    return Skewness(
        rate=float(seen.shares[picked] @ seen.sizes / people),
        baseline=float(usual[picked] @ seen.sizes / people),
        factor=float((seen.shares[picked] / usual[picked]).max()),
        usual=usual[picked],
        sizes=seen.sizes,
    )


def most_skewed(release: Release, usual: Floats) -> Floats | None:
    """The largest share of each value in a group, by the guarantee, given its share in the table; None without one."""
    parameters = release.guarantee.parameters
    caps = []
    if "t" in parameters and parameters.get("distance") == "equal":
        caps.append(usual + float(Fraction(parameters["t"])))
    if "delta" in parameters:
        caps.append(usual * math.exp(Fraction(parameters["delta"])))
    if "beta" in parameters:
        beta = np.full(len(usual), float(Fraction(parameters["beta"])))
        gain = np.minimum(beta, -np.log(usual)) if parameters.get("enhanced") else beta
        caps.append(usual * (1 + gain))
    if (share := promised_share(release)) is not None and caps:
        caps.append(np.full(len(usual), share))
    return np.min(caps, axis=0) if caps else None


def _measure(context: Context) -> Finding:
    found = skewness(context.beliefs)
    caps = most_skewed(context.release, found.usual)
    finding = Finding(
        adversary=ADVERSARY.name,
        column=context.column,
        knows=KNOWS_GROUPS,
        guesses="the value whose share in the person's group exceeds its share in the table by the largest factor",
        **exact_rate(found.rate, int(found.sizes.sum())),
        baseline=found.baseline,
        promised=None if caps is None else float(caps @ found.sizes / found.sizes.sum()),
    )
    step = NOTHING_TO_DO
    if finding.holds is False:
        step = STOP
    elif finding.promised is None and found.factor > 5:
        step = "If rare values are delicate, bound their growth: Mondrian with t, beta or delta."
    return finding.conclude(
        f"A value is up to {found.factor:,.1f} times as frequent in a group as in the whole table.", step
    )


ADVERSARY = Adversary("skewness", 20, _measure, (need_groups,))
