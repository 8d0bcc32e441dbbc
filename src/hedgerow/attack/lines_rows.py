"""Lines of the bench about who is in the table and which descriptions and lists belong together."""

from __future__ import annotations

import numpy as np

from hedgerow.attack.adversaries.aligned import pick_rows
from hedgerow.attack.adversaries.linkability import linked
from hedgerow.attack.adversaries.membership import sides, support
from hedgerow.attack.adversaries.presence import Presence, made_up, presence_of
from hedgerow.attack.adversaries.singling_out import descriptions, fitting, mixed
from hedgerow.attack.candidates import People, Seen, people_of, point_column
from hedgerow.attack.context import Case
from hedgerow.attack.finding import SLIGHT, Finding, counted, counted_in, with_words
from hedgerow.attack.placing import placed, scatter_of
from hedgerow.attack.rate import percent

__all__ = ["linkability_line", "membership_line", "presence_line", "singling_out_line"]


def presence_line(case: Case) -> Finding:
    """Is somebody in the table?"""
    found = _presence(case, case.people)
    control = _presence(case, _absent(case))
    whose = "who were not published" if case.strangers is not None else "put together at random"
    is_scattered = case.release.form == "scattered"
    finding = Finding(
        adversary="presence",
        column="",
        knows="all quasi-identifiers of a person",
        guesses="that a row with them was published",
        **counted(round(float(found.chances.sum())), len(found.chances)),
        baseline=float(control.chances.mean()),
        control=float(control.chances.mean()),
        promised=float(found.bounds.mean()) if is_scattered else None,
    )
    said = (
        f"People in the table seem present with {percent(finding.rate)} on average, people {whose} with "
        f"{percent(finding.baseline)}."
    )
    gain = finding.rate - finding.baseline
    larger = "fewer quasi-identifiers or larger groups" if is_scattered else "the form scattered, or larger boxes"
    step = "Nothing to do." if gain <= SLIGHT else f"If being in the table is a secret: {larger}."
    return with_words(finding, said, step)


def membership_line(case: Case) -> Finding:
    """Which records were published?"""
    strangers = case.strangers
    assert strangers is not None
    count = min(len(case.truth), len(strangers[1]))
    mine = support(case.beliefs, case.placed, case.truth)[:count]
    theirs = support(case.beliefs, case.strangers_placed, strangers[1])[:count]
    finding = Finding(
        adversary="membership",
        column=case.column,
        knows="whole records, half of which were published",
        guesses="that those which the release supports best were",
        **counted(sides(mine, theirs, case.keys(2 * count)), 2 * count),
        baseline=0.5,
    )
    said = f"{percent(finding.rate)} of {finding.trials:,} records are put on the right side; a coin does half."
    step = "Nothing to do." if finding.low <= 0.5 + SLIGHT else "If membership is a secret, make groups larger."
    return with_words(finding, said, step)


def singling_out_line(case: Case) -> Finding | None:
    """Descriptions that fit one person; None where no description fits one published row."""
    seen, size = _described(case), case.table.num_rows
    found = descriptions(seen.columns, seen.weights, wanted=max(20, case.targets // 2), keys=case.keys)
    if not found:
        return None
    # Among some of the people a description would miss whoever was not drawn, so that all are asked.
    people = people_of(seen, case.table, np.arange(size))
    ones = fitting(seen.columns, found, people) == 1
    blind = fitting(seen.columns, mixed(found, len(seen.weights), keys=case.keys), people) == 1
    control = None
    if case.holdout is not None:
        others = people_of(seen, case.holdout, pick_rows(case.holdout.num_rows, size, keys=case.keys))
        control = float((fitting(seen.columns, found, others) == 1).mean())
    finding = Finding(
        adversary="singling out",
        column="",
        knows="the release",
        guesses="that a description which fits one published row fits exactly one person",
        # Descriptions by the same columns hit or miss together.
        **counted_in(ones, np.array([sum(1 << column for column in one.columns) for one in found])),
        baseline=float(blind.mean()),
        control=control,
    )
    said = f"{percent(finding.rate)} of {len(found):,} descriptions by some columns fit exactly one of {size:,} people."
    gain = finding.rate - (finding.baseline if control is None else control)
    step = (
        "Nothing to do."
        if gain <= SLIGHT
        else "If isolating people is harmful: larger groups, fewer columns; no form rules it out."
    )
    return with_words(finding, said, step)


def linkability_line(case: Case) -> Finding:
    """Two lists with nothing in common."""
    ones = linked(case.seen, case.people, keys=case.keys)
    wrong = linked(case.seen, case.people, shift=1, keys=case.keys)
    control = None
    if case.strangers is not None:
        control = float(linked(case.seen, case.strangers[0], keys=case.keys).mean())
    half = (len(case.seen.columns) + 1) // 2
    finding = Finding(
        adversary="linkability",
        column="",
        knows=f"{half} quasi-identifiers of a person in one list, {len(case.seen.columns) - half} in another",
        guesses="which entries of the two lists belong together",
        **counted(int(ones.sum()), len(ones)),
        baseline=float(wrong.mean()),
        control=control,
    )
    said = f"{percent(finding.rate)} of the entries are joined rightly, {percent(finding.baseline)} of wrong pairs."
    gain = finding.rate - (finding.baseline if control is None else control)
    step = "Nothing to do." if gain <= SLIGHT else "Publish scattered or in boxes, which do not tie columns together."
    return with_words(finding, said, step)


def _presence(case: Case, people: People) -> Presence:
    if case.release.form == "scattered":
        return presence_of(scatter_of(case.seen), people)
    fits = (case.placed if people is case.people else placed(case.seen, people, form=case.release.form)).is_fit
    return Presence(fits.astype(np.float64), np.ones(len(fits)))


def _absent(case: Case) -> People:
    if case.strangers is not None:
        return case.strangers[0]
    return made_up(case.people, case.people, case.keys(case.people.size))


def _described(case: Case) -> Seen:
    """The published rows with the sensitive column beside them where it has a value for each row."""
    release = case.release
    table = next((table for table in release.tables.values() if case.column in table.column_names), None)
    if table is None or table.num_rows != release.rows.published:
        return case.seen
    secret = point_column(case.column, table.column(case.column))
    if release.form != "generalized":
        return Seen((*case.seen.columns, secret), case.seen.groups, case.seen.weights)
    spread = np.repeat(np.arange(len(case.seen.weights)), case.seen.weights)
    boxes = tuple(column.at(spread) for column in case.seen.columns)
    return Seen((*boxes, secret), case.seen.groups[spread], np.ones(len(spread), np.int64))
