"""The adversary who infers a person's sensitive value from the published rows that look most like the person.

Source     [Giomi 2023], inference
Knows      all quasi-identifiers of a person
Guesses    the sensitive value that is most likely over the rows that fit the person best; of numbers the one with most
           of them near it
Rate       the share of people for whom the guess is right; a number is right if it is within 5 % of the guess
Baseline   the most likely value of the whole column
Control    people of the same kind who were not published: their rate follows from the correlation of the columns in
           general, and is not a leak about anybody
"""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.attack.beliefs import Beliefs
from hedgerow.attack.candidates import Placement
from hedgerow.attack.context import Context, need_original, need_quasi
from hedgerow.attack.finding import NOTHING_TO_DO, SLIGHT, Adversary, Finding, percent, sampled_rate
from hedgerow.criteria.proximity import Reach
from hedgerow.errors import counted


def guesses(seen: Beliefs, where: Placement, reach: Reach) -> Ints:
    """Everybody's most likely value."""
    return np.array(
        [
            best(seen.spread(groups, weights), reach)
            for groups, weights in zip(where.groups, where.weights, strict=True)
        ],
        np.int64,
    )


def best(chances: Floats, reach: Reach) -> int:
    """The value with most of the probabilities near it; among equals the one that is itself most likely."""
    upto = np.append(0.0, np.cumsum(chances))
    near = upto[reach.last + 1] - upto[reach.first]
    return int(np.argmax(np.round(near, 12) + 1e-13 * chances))


def is_right(guessed: Ints, truth: Ints, reach: Reach) -> Bools:
    """Return which guesses cover the truth; a value that the release does not have is never guessed."""
    return (reach.first[guessed] <= truth) & (truth <= reach.last[guessed])


def _measure(context: Context) -> Finding:
    reach, truth = context.reach, context.truth
    hits = int(is_right(guesses(context.beliefs, context.placement, reach), truth, reach).sum())
    everybody = np.full(len(truth), best(context.beliefs.overall, reach))
    control = None
    if context.strangers is not None:
        theirs = guesses(context.beliefs, context.strangers_placement, reach)
        control = float(is_right(theirs, context.strangers[1], reach).mean())
    finding = Finding(
        adversary=ADVERSARY.name,
        column=context.column,
        knows="all quasi-identifiers of a person",
        guesses="the value most likely over the published rows that fit the person best",
        **sampled_rate(hits, len(truth)),
        baseline=float(is_right(everybody, truth, reach).mean()),
        control=control,
    )
    compared = "." if control is None else f", {percent(control)} of people who were not published."
    step = NOTHING_TO_DO
    if finding.rate - (finding.baseline if control is None else control) > SLIGHT:
        step = (
            "Try with --holdout, which tells a leak from correlation."
            if control is None
            else "Make groups larger or more diverse."
        )
    return finding.conclude(
        f"{percent(finding.rate)} of {counted(finding.trials, 'person is', 'people are')} guessed right{compared}", step
    )


ADVERSARY = Adversary("inference", 70, _measure, (need_original, need_quasi))
