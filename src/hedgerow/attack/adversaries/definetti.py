"""The adversary who learns from the release itself how the sensitive column depends on the quasi-identifiers.

Source     [Kifer 2009]
Knows      quasi-identifiers of everyone and their groups; no relation between columns beforehand
Guesses    the most likely value of a person's group under a naive Bayes model, fitted by expectation maximization over
           the worlds inside the groups
Rate       the share of people for whom the guess is right
Baseline   the most frequent value of the person's group: the same adversary without the model
Control    the fitted model on people of the same kind who were not published: the effect of correlation alone

l-diversity makes no promise against this adversary.
"""

from __future__ import annotations

from hedgerow.arrays import Ints
from hedgerow.attack.context import Context, Members, need_original, need_quasi, need_values
from hedgerow.attack.finding import KNOWS_GROUPS, NOTHING_TO_DO, SLIGHT, Adversary, Finding, clustered_rate, percent
from hedgerow.attack.worlds import Learner, classes_of, guess_within_groups, learn


def _measure(context: Context) -> Finding | None:
    """Attack with a model learned from the release itself; None if no target can be placed."""
    members, width = context.members, len(context.beliefs.overall)
    if len(members.truth) == 0:
        return None
    class_of = classes_of(context.beliefs.overall)
    learner = learn(members.rows, class_of, keys=context.keys)
    scores = learner.scores(members.offsets, members.fitting, width)
    finding = Finding(
        adversary=ADVERSARY.name,
        column=context.column,
        knows=KNOWS_GROUPS,
        guesses="the value that a model learned from the release itself finds most likely",
        **clustered_rate(scores.argmax(axis=1) == members.truth, members.groups),
        baseline=guess_within_groups(members.rows, members.offsets, members.fitting, width),
        control=_model_alone(learner, members, class_of),
    )
    gain = max(finding.rate - finding.baseline, 0.0)
    step = "No promise covers this adversary: drop quasi-identifiers that predict the value, or use the method Robust."
    return finding.conclude(
        f"A model learned from the release guesses {percent(gain)} more of the people than from groups alone.",
        NOTHING_TO_DO if finding.low <= finding.baseline + SLIGHT else step,
    )


def _model_alone(learner: Learner, members: Members, class_of: Ints) -> float | None:
    """How often the model is right about people of no group; None without any, or where it merges values."""
    if members.strangers is None or members.their_truth is None or class_of.max() < len(class_of) - 1:
        return None
    return float((learner.classify(members.strangers).argmax(axis=1) == members.their_truth).mean())


ADVERSARY = Adversary("deFinetti", 50, _measure, (need_original, need_quasi, need_values))
