"""The adversary who has two lists about the same people, with nothing in common, and wants to join them.

Source     [Giomi 2023], linkability
Knows      half of a person's quasi-identifiers from one list and the other half from another
Guesses    that two entries are the same person if among the few published rows nearest to either one is the same
Rate       the share of people whose own two entries are joined
Baseline   two entries of different people, who should not be joined
Control    people of the same kind who were not published
"""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import Bools, Ints
from hedgerow.attack.candidates import CandidateRows, Fit, People, fit
from hedgerow.attack.context import Context, need_original, need_quasi
from hedgerow.attack.finding import NOTHING_TO_DO, SLIGHT, Adversary, Finding, percent, sampled_rate
from hedgerow.randomness import Keys, system_keys

NEIGHBOURS = 10


def link_entries(candidates: CandidateRows, people: People, *, shift: int = 0, keys: Keys = system_keys) -> Bools:
    """Return whose entries are joined; with a `shift` the second entry is that of the person `shift` places later."""
    half = (len(candidates.columns) + 1) // 2
    names = [column.name for column in candidates.columns]
    first = _nearest(candidates, fit(candidates.select(names[:half]), people[:half]), keys)
    second = _nearest(candidates, fit(candidates.select(names[half:]), np.roll(people[half:], -shift, axis=1)), keys)
    return np.array([len(np.intersect1d(one, other)) > 0 for one, other in zip(first, second, strict=True)])


def _nearest(candidates: CandidateRows, found: Fit, keys: Keys) -> list[Ints]:
    """A few of the nearest rows of each person, all of them if they are few; a box stands for several rows."""
    behind = np.cumsum(candidates.weights)
    return [_few(found.of(person), candidates.weights, behind, keys) for person in range(len(found.distances))]


def _few(rows: Ints, weights: Ints, behind: Ints, keys: Keys) -> Ints:
    ends = np.cumsum(weights[rows])
    total = int(ends[-1])
    drawn = np.arange(total) if total <= NEIGHBOURS else (keys(NEIGHBOURS) % np.uint64(total)).astype(np.int64)
    place = np.searchsorted(ends, drawn, side="right")
    return np.asarray(behind[rows[place]] - (ends[place] - drawn))


def _measure(context: Context) -> Finding:
    candidates, keys = context.candidates, context.keys
    ones = link_entries(candidates, context.people, keys=keys)
    wrong = link_entries(candidates, context.people, shift=1, keys=keys)
    control = None
    if context.strangers is not None:
        control = float(link_entries(candidates, context.strangers[0], keys=keys).mean())
    half = (len(candidates.columns) + 1) // 2
    finding = Finding(
        adversary=ADVERSARY.name,
        column="",
        knows=f"{half} quasi-identifiers of a person in one list, {len(candidates.columns) - half} in another",
        guesses="which entries of the two lists belong together",
        **sampled_rate(int(ones.sum()), len(ones)),
        baseline=float(wrong.mean()),
        control=control,
    )
    gain = finding.rate - (finding.baseline if control is None else control)
    return finding.conclude(
        f"{percent(finding.rate)} of the entries are joined rightly, {percent(finding.baseline)} of wrong pairs.",
        NOTHING_TO_DO if gain <= SLIGHT else "Publish scattered or in boxes, which do not tie columns together.",
    )


def _need_two_quasi(context: Context) -> str | None:
    return None if len(context.release.columns.quasi) > 1 else "one quasi-identifier cannot be halved"


ADVERSARY = Adversary("linkability", 110, _measure, (need_original, need_quasi, _need_two_quasi), per_column=False)
