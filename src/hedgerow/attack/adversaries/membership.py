"""The adversary who knows a person's whole record and asks whether it was among those published.

Knows      quasi-identifiers and the sensitive value of a person
Guesses    that the better half of a list, of which half were published, were: those whose record the release supports
           best
Rate       the share of the list that is put on the right side
Baseline   a guess at random: one half
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.attack.beliefs import Beliefs
from hedgerow.attack.candidates import Placement
from hedgerow.attack.context import Context, need_holdout, need_original, need_quasi
from hedgerow.attack.finding import NOTHING_TO_DO, SLIGHT, Adversary, Finding, percent, sampled_rate


def support(seen: Beliefs, where: Placement, truth: Ints) -> Floats:
    """The expected number of published rows that match each record: rows that fit, times the value's probability."""
    found = np.zeros(len(where))
    for person in np.flatnonzero(where.is_fit & (truth >= 0)).tolist():
        groups, weights = where.groups[person], where.weights[person]
        found[person] = weights.sum() * seen.spread(groups, weights)[truth[person]]
    return found


def count_right_sides(members: Floats, others: Floats, keys: NDArray[np.uint64]) -> int:
    """Count right decisions if the better supported half is called published; ties are broken at random."""
    scores = np.concatenate((members, others))
    order = np.lexsort((keys, scores))
    said = np.zeros(len(scores), bool)
    said[order[len(order) - len(members) :]] = True
    return int(said[: len(members)].sum() + (~said[len(members) :]).sum())


def _measure(context: Context) -> Finding:
    strangers = context.strangers
    assert strangers is not None
    count = min(len(context.truth), len(strangers[1]))
    mine = support(context.beliefs, context.placement, context.truth)[:count]
    theirs = support(context.beliefs, context.strangers_placement, strangers[1])[:count]
    finding = Finding(
        adversary=ADVERSARY.name,
        column=context.column,
        knows="whole records, half of which were published",
        guesses="that those which the release supports best were",
        **sampled_rate(count_right_sides(mine, theirs, context.keys(2 * count)), 2 * count),
        baseline=0.5,
    )
    return finding.conclude(
        f"{percent(finding.rate)} of {finding.trials:,} records are put on the right side; chance gives half.",
        NOTHING_TO_DO if finding.low <= 0.5 + SLIGHT else "If membership is a secret, make groups larger.",
    )


ADVERSARY = Adversary("membership", 80, _measure, (need_original, need_quasi, need_holdout))
