"""The line of the bench about boxes: what their ends, or the levels that were chosen, tell about the values inside."""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.attack.adversaries.downcoding import downcoding
from hedgerow.attack.candidates import SeenColumn, people_of
from hedgerow.attack.context import Case
from hedgerow.attack.finding import SLIGHT, Finding, counted, with_words
from hedgerow.attack.levels import Told, told
from hedgerow.attack.rate import percent

__all__ = ["downcoding_line"]


def downcoding_line(case: Case) -> Finding | None:
    """What is undone from the choice of the boxes; None where nothing was widened."""
    alone = np.flatnonzero([len(groups) == 1 for groups in case.placed.groups] & case.placed.is_fit)
    rows = np.searchsorted(case.seen.groups, [case.placed.groups[person][0] for person in alone])
    return (
        _levels_line(case, alone, rows) if case.release.made.method == "FullDomain" else _ends_line(case, alone, rows)
    )


def _ends_line(case: Case, alone: Ints, rows: Ints) -> Finding | None:
    """The ends of intervals."""
    coins = case.keys(len(alone)) < np.uint64(2**63)
    found = downcoding(case.seen.columns, rows, case.people[:, alone], coins)
    if not found.trials:
        return None
    finding = Finding(
        adversary="downcoding",
        column=", ".join(case.release.columns.quasi),
        knows="quasi-identifiers as intervals, and that these are as narrow as they can be",
        guesses="an end of the interval",
        **counted(found.hits, found.trials),
        baseline=found.baseline,
    )
    said = (
        f"An end of an interval is the person's value for {percent(finding.rate)} of the widened cells; any of its "
        f"values would be for {percent(finding.baseline)}."
    )
    step = (
        "Nothing to do."
        if finding.low <= finding.baseline + SLIGHT
        else "Widen to fixed steps (FullDomain with hierarchies), so that ends say nothing; or larger k."
    )
    return with_words(finding, said, step)


def _levels_line(case: Case, alone: Ints, rows: Ints) -> Finding | None:
    """The values one level down, after finer levels failed."""
    everyone = people_of(case.seen, case.table, np.arange(case.table.num_rows))
    hits, blind, trials, bits = 0, 0, 0, 0.0
    for column, values, truth in zip(case.seen.columns, everyone, case.people[:, alone], strict=True):
        inside = _inside(column, values)
        if inside is None or not len(alone):
            continue
        known, odds = inside
        found = _told(case, column.name, odds)
        bits += found.bits
        guesses, plain = (known[[int(one[box].argmax()) for box in rows]] for one in (found.odds, odds))
        hits, blind = hits + int((guesses == truth).sum()), blind + int((plain == truth).sum())
        trials += len(rows)
    if not trials:
        return None
    finding = Finding(
        adversary="downcoding",
        column=", ".join(case.release.columns.quasi),
        knows="quasi-identifiers at the published levels, that finer ones failed, and the odds of the values below",
        guesses="the value that is likeliest after finer levels failed",
        **counted(hits, trials),
        baseline=blind / trials,
    )
    said = (
        f"That finer levels failed tells {bits:.2g} bits about all {case.release.rows.published:,} rows together; the "
        f"likeliest value of a widened cell is right for {percent(finding.rate)}, without it for "
        f"{percent(finding.baseline)}."
    )
    gain = finding.low - finding.baseline
    return with_words(finding, said, "Nothing to do." if gain <= SLIGHT else "Publish more rows, or larger k.")


def _inside(column: SeenColumn, values: Floats) -> tuple[Floats, list[Floats]] | None:
    """The values of a column and their odds in each box, as they are in the table; None where nothing was widened."""
    known, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    held = [column.holds(row, known) for row in range(len(column.low))]
    if all(one.sum() <= 1 for one in held) or not all(one.any() for one in held):
        return None
    return known, [one * counts / counts[one].sum() for one in held]


def _told(case: Case, name: str, odds: list[Floats]) -> Told:
    """What the level of a column tells; nothing is derived where it may have been chosen for other reasons than k.

    Values are one level down from level 1. Further up the parts are nodes of a hierarchy, which no release lists.
    """
    made, asked = case.release.made.parameters, case.release.guarantee.parameters
    is_plain = set(asked) == {"k"} and made.get("suppression") == "0" and made.get(f"level of {name}") == 1
    has_gaps = any(column.gaps.any() for column in case.seen.columns if column.name == name)
    if not is_plain or has_gaps:
        return Told(1.0, tuple(odds))
    return told(case.seen.weights.tolist(), odds, int(asked["k"]))
