"""Lines of the bench that guess the sensitive values of people drawn from the original table."""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.attack.adversaries.composition import composition
from hedgerow.attack.adversaries.definetti import MOST_CLASSES, Learner, learn, learn_from
from hedgerow.attack.adversaries.inference import best, guesses, is_right
from hedgerow.attack.beliefs import beliefs, codes_in
from hedgerow.attack.candidates import people_of, seen_rows
from hedgerow.attack.context import Case
from hedgerow.attack.finding import SLIGHT, Finding, counted, counted_in, with_words
from hedgerow.attack.placing import placed
from hedgerow.attack.rate import percent
from hedgerow.attack.register import Register

__all__ = ["background_line", "composition_line", "definetti_line", "inference_line"]


_ROBUST = "No promise covers this adversary: drop telling quasi-identifiers, or use the method Robust."


def inference_line(case: Case) -> Finding:
    """The value most likely over the rows that fit."""
    hits = int(is_right(guesses(case.beliefs, case.placed, case.reach), case.truth, case.reach).sum())
    everybody = np.full(len(case.truth), best(case.beliefs.overall, case.reach))
    control = None
    if case.strangers is not None:
        theirs = guesses(case.beliefs, case.strangers_placed, case.reach)
        control = float(is_right(theirs, case.strangers[1], case.reach).mean())
    finding = Finding(
        adversary="inference",
        column=case.column,
        knows="all quasi-identifiers of a person",
        guesses="the value most likely over the published rows that fit the person best",
        **counted(hits, len(case.truth)),
        baseline=float(is_right(everybody, case.truth, case.reach).mean()),
        control=control,
    )
    gain = finding.rate - (finding.baseline if control is None else control)
    said = f"{percent(finding.rate)} of {finding.trials:,} people are guessed right" + _against(control)
    step = (
        "Nothing to do."
        if gain <= SLIGHT
        else (
            "Make groups larger or more diverse."
            if control is not None
            else "Try with --holdout, which tells a leak from correlation."
        )
    )
    return with_words(finding, said, step)


def background_line(case: Case) -> Finding | None:
    """The odds of the values for each quasi-identifier, as they are in the original."""
    known, class_of = case.register, _classes(case)
    if len(known.truth) == 0:
        return None
    scores = learn_from(known.teacher, known.rows, class_of, keys=case.keys).scores(
        known.offsets, known.fitting, len(case.beliefs.domain) + 1
    )
    finding = Finding(
        adversary="background",
        column=case.column,
        knows="quasi-identifiers of everyone, their groups, and how each quasi-identifier goes with the values",
        guesses="the value of the person's group that those odds make most likely",
        **counted_in(scores.argmax(axis=1) == known.truth, _groups(known)),
        baseline=_by_groups(known, len(case.beliefs.domain) + 1),
    )
    gain = finding.rate - finding.baseline
    said = f"Knowing the odds beforehand adds {percent(max(gain, 0.0))} of the people to guessing inside groups."
    return with_words(finding, said, "Nothing to do." if gain <= SLIGHT else _ROBUST)


def definetti_line(case: Case) -> Finding | None:
    """What the release itself teaches about the sensitive column; None where no target can be placed."""
    known = case.register
    if len(known.truth) == 0:
        return None
    class_of = _classes(case)
    learner = learn(known.rows, class_of, keys=case.keys)
    scores = learner.scores(known.offsets, known.fitting, len(case.beliefs.domain) + 1)
    finding = Finding(
        adversary="deFinetti",
        column=case.column,
        knows="quasi-identifiers of everyone and their groups",
        guesses="the value that a model learned from the release itself finds most likely",
        **counted_in(scores.argmax(axis=1) == known.truth, _groups(known)),
        baseline=_by_groups(known, len(case.beliefs.domain) + 1),
        control=_model_alone(learner, known, class_of),
    )
    gain = finding.rate - finding.baseline
    said = f"Learning how columns hang together adds {percent(max(gain, 0.0))} of the people to guessing inside groups."
    step = "Nothing to do." if finding.low <= finding.baseline + SLIGHT else _ROBUST
    return with_words(finding, said, step)


def composition_line(case: Case) -> Finding:
    """What two releases leave possible."""
    views = [(case.beliefs, case.placed)]
    for other in case.also:
        seen = seen_rows(other)
        people = people_of(seen, case.table, case.chosen)
        views.append((beliefs(other, case.column), placed(seen, people, form=other.form)))
    found = composition(views)
    truth = codes_in(found.domain, case.table.column(case.column), case.column)[case.chosen]
    is_told = (found.together == 1) & (found.likeliest == truth)
    finding = Finding(
        adversary="composition",
        column=case.column,
        knows=f"{len(views)} releases, and quasi-identifiers of everyone",
        guesses="the only value that all releases leave possible",
        **counted(int(is_told.sum()), len(truth)),
        baseline=float((found.alone == 1).mean()),
    )
    likely = float((found.likeliest == truth).mean())
    said = (
        f"One value is left for {percent(finding.rate)} of the people, {percent(finding.baseline)} from this release "
        f"alone; guessing the likeliest is right for {percent(likely)}."
    )
    step = (
        "Nothing to do."
        if finding.rate <= finding.baseline + SLIGHT
        else "Never publish the same people twice independently: keep a ledger, re-publish the same groups."
    )
    return with_words(finding, said, step)


def _by_groups(known: Register, width: int) -> float:
    """How often the most frequent value of the rows' groups is right, on average over the shuffle."""
    rows = known.rows
    lengths = np.diff(rows.offsets)
    group_of = np.repeat(np.arange(len(lengths)), lengths)
    owners, groups = np.repeat(np.arange(len(known.truth)), np.diff(known.offsets)), group_of[known.fitting]
    pairs, counts = np.unique(group_of * width + rows.values, return_counts=True)
    starts = np.searchsorted(pairs, np.arange(len(lengths) + 1) * width)
    spans = starts[groups + 1] - starts[groups]
    places = np.arange(spans.sum()) + np.repeat(starts[groups] - np.cumsum(spans) + spans, spans)
    share = counts[places] / np.repeat(lengths[groups] * np.diff(known.offsets)[owners], spans)
    keys, at = np.unique(np.repeat(owners, spans) * width + pairs[places] % width, return_inverse=True)
    chances = np.bincount(at, share)
    return float(np.maximum.reduceat(chances, np.searchsorted(keys // width, np.arange(len(known.truth)))).mean())


def _groups(known: Register) -> Ints:
    """The group of each target, of the first of its rows where there are several."""
    return np.asarray(np.searchsorted(known.rows.offsets, known.fitting[known.offsets[:-1]], side="right") - 1)


def _classes(case: Case) -> Ints:
    """Which values the model does not tell apart: neighbours by value, each class as full as the others."""
    width = len(case.beliefs.domain) + 1
    if width <= MOST_CLASSES:
        return np.arange(width)
    upto = np.cumsum(case.beliefs.overall) - case.beliefs.overall / 2
    return np.minimum((upto * MOST_CLASSES).astype(np.int64), MOST_CLASSES - 1)


def _model_alone(learner: Learner, known: Register, class_of: Ints) -> float | None:
    """How often the model is right about people of no group; None without any, or where it merges values."""
    if known.strangers is None or known.their_truth is None or len(np.unique(class_of)) < len(class_of):
        return None
    return float((learner.classify(known.strangers).argmax(axis=1) == known.their_truth).mean())


def _against(control: float | None) -> str:
    return "." if control is None else f", {percent(control)} of people who were not published."
