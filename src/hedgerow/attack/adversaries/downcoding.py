"""The adversary who undoes a generalization from the fact that it is as narrow as it can be.

Source     [Cohen 2022]; for levels of whole columns derived here
Knows      of boxes: that an interval ends where somebody's value is, for a group's box is the least that covers it; of
           levels of whole columns: k, that the least lossy levels that keep it are published, and how frequent the
           values below each box are
Guesses    an end of the interval as the value of a person in the group; or a person's value one level down, given that
           no column could be published one level finer: in each generalized column some box falls apart into parts of
           which one has fewer than k rows, though not none
Rate       the share of guesses that are right
Baseline   a value of the interval at random; or the likeliest value of the box, as if the levels did not matter
Cost       O(boxes x parts) if the choice of levels reveals nothing; O(parts n log n) for a box of n rows if it does
Deviates   levels that are neither finer nor coarser than the chosen ones failed, too; what that adds is left out

Rows are independent given their boxes, so that each column's failure is evidence about that column alone. By merging
parts a failure one level down implies those further down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.attack.candidates import ORDERED, CandidateColumn, People, people_of
from hedgerow.attack.context import Context, need_original, need_quasi
from hedgerow.attack.finding import NOTHING_TO_DO, SLIGHT, Adversary, Finding, percent, sampled_rate

LONG = 200
"""Longer lists of probabilities are joined by Fourier transforms."""
NEGLIGIBLE = 1e-9
"""Where finer levels would have been possible with less than this chance, their failure is no news."""


@dataclass(frozen=True)
class Downcoding:
    """`hits` of `trials` ends were the person's value; `baseline` is the mean share of one value in its interval."""

    hits: int
    trials: int
    baseline: float


def downcoding(columns: tuple[CandidateColumn, ...], rows: Ints, people: People, sides: Bools) -> Downcoding:
    """Guess the values of people who are in the boxes `rows`, by the end that `sides` say."""
    hits, trials, blind = 0, 0, 0.0
    for column, values in zip(columns, people, strict=True):
        if column.kind != ORDERED:
            continue
        low, high = column.low[rows], column.high[rows]
        wide = (low < high) & ~np.isnan(values)
        guess = np.where(sides, low, high)
        hits += int((guess == values)[wide].sum())
        trials += int(wide.sum())
        blind += float((1 / _values_inside(column, values, low[wide], high[wide])).sum())
    return Downcoding(hits, trials, blind / trials if trials else 0.0)


def _values_inside(column: CandidateColumn, values: Floats, low: Floats, high: Floats) -> Floats:
    """How many values an interval has: whole numbers and days by its length, others as far as they are known."""
    known = np.unique(np.concatenate((column.low, column.high, values)))
    known = known[~np.isnan(known)]
    if np.array_equal(known, np.floor(known)):
        return high - low + 1
    return np.asarray(np.searchsorted(known, high, side="right") - np.searchsorted(known, low), np.float64)


@dataclass(frozen=True, eq=False)
class LevelEvidence:
    """`failing` is the prior probability that the finer level fails; `odds[b]` those in box b given that."""

    failing: float
    odds: tuple[Floats, ...]

    @property
    def bits(self) -> float:
        """How many bits the choice of the level reveals about all rows together."""
        return float(-np.log2(self.failing)) + 0.0


def weigh_parts(sizes: Sequence[int], odds: Sequence[Floats], k: int) -> LevelEvidence:
    """Update the probabilities of the parts of boxes of `sizes[b]` rows; `odds[b]` are the prior ones in box b."""
    bound = np.prod([_bound(rows, shares, k) for rows, shares in zip(sizes, odds, strict=True)])
    if bound < NEGLIGIBLE:
        return LevelEvidence(1.0, tuple(odds))
    joint = [whole_chances(rows, shares, k) for rows, shares in zip(sizes, odds, strict=True)]
    whole = np.array([float(chances.sum()) for chances in joint])
    failing = 1 - float(np.prod(whole))
    if failing <= 0:
        return LevelEvidence(1.0, tuple(odds))
    others = [float(np.prod(np.delete(whole, box))) for box in range(len(whole))]
    after = ((shares - chances * rest) / failing for shares, chances, rest in zip(odds, joint, others, strict=True))
    return LevelEvidence(failing, tuple(after))


def whole_chances(rows: int, odds: Floats, k: int) -> Floats:
    """The probability that a given row is in each part and that every part has no rows or at least k.

    A multinomial is independent Poisson counts that add up to the number of rows.
    """
    counts = np.arange(rows + 1)
    allowed = (counts == 0) | (counts >= k)
    parts = [_poisson(rows * share, rows) * allowed for share in odds.tolist()]
    before, behind = [np.eye(1, rows + 1)[0]], [np.eye(1, rows + 1)[0]]
    for part, last in zip(parts[:-1], parts[:0:-1], strict=True):
        before.append(_add_counts(before[-1], part))
        behind.append(_add_counts(behind[-1], last))
    total = _poisson(rows, rows)[-1]
    chances = [
        float(_add_counts(one, other)[::-1] @ (part * counts / rows))
        for one, other, part in zip(before, behind[::-1], parts, strict=True)
    ]
    return np.asarray(np.array(chances) / total)


def _bound(rows: int, odds: Floats, k: int) -> float:
    """At most so likely is a box to keep k one level down: as if counts were independent, whatever they add up to."""
    counts = np.arange(1, min(k, rows + 1))
    means = rows * odds[odds > 0]
    logs = np.cumsum(np.log(means)[:, None] - np.log(counts), axis=1) - means[:, None]
    bad = np.exp(logs).sum(axis=1)
    return float(min(1.0, np.prod(1 - bad) / _poisson(rows, rows)[-1]))


def _add_counts(one: Floats, other: Floats) -> Floats:
    """The probabilities of the sum of two counts, as far as either is listed."""
    if len(one) < LONG:
        return np.asarray(np.convolve(one, other)[: len(one)])
    width = 2 * len(one)
    found = np.fft.irfft(np.fft.rfft(one, width) * np.fft.rfft(other, width), width)[: len(one)]
    return np.asarray(np.maximum(found, 0.0))


def _poisson(mean: float, most: int) -> Floats:
    """The probabilities of 0 to `most`."""
    if mean == 0:
        return np.asarray(np.eye(1, most + 1)[0])
    counts = np.arange(1, most + 1)
    return np.asarray(np.exp(np.append(0.0, np.cumsum(np.log(mean) - np.log(counts))) - mean))


def _measure(context: Context) -> Finding | None:
    """What is undone from the choice of the boxes; None where nothing was generalized."""
    alone = np.flatnonzero([len(groups) == 1 for groups in context.placement.groups] & context.placement.is_fit)
    rows = np.searchsorted(context.candidates.groups, [context.placement.groups[person][0] for person in alone])
    return (
        _measure_levels(context, alone, rows)
        if context.release.made.method == "FullDomain"
        else _measure_ends(context, alone, rows)
    )


def _measure_ends(context: Context, alone: Ints, rows: Ints) -> Finding | None:
    """The ends of intervals."""
    sides = context.keys(len(alone)) < np.uint64(2**63)
    found = downcoding(context.candidates.columns, rows, context.people[:, alone], sides)
    if not found.trials:
        return None
    finding = Finding(
        adversary=ADVERSARY.name,
        column=", ".join(context.release.columns.quasi),
        knows="quasi-identifiers as intervals, and that these are as narrow as they can be",
        guesses="an end of the interval",
        **sampled_rate(found.hits, found.trials),
        baseline=found.baseline,
    )
    said = (
        f"An end of an interval is the person's value for {percent(finding.rate)} of the generalized cells; any of its "
        f"values would be for {percent(finding.baseline)}."
    )
    step = (
        NOTHING_TO_DO
        if finding.low <= finding.baseline + SLIGHT
        else "Widen to fixed steps (FullDomain with hierarchies), so that ends say nothing; or larger k."
    )
    return finding.conclude(said, step)


def _measure_levels(context: Context, alone: Ints, rows: Ints) -> Finding | None:
    """The values one level down, after finer levels failed."""
    everyone = people_of(context.candidates, context.table, np.arange(context.table.num_rows))
    hits, blind, trials, bits = 0, 0, 0, 0.0
    for column, values, truth in zip(context.candidates.columns, everyone, context.people[:, alone], strict=True):
        inside = _inside(column, values)
        if inside is None or not len(alone):
            continue
        known, odds = inside
        found = _level_evidence(context, column.name, odds)
        bits += found.bits
        guesses, plain = (known[[int(one[box].argmax()) for box in rows]] for one in (found.odds, odds))
        hits, blind = hits + int((guesses == truth).sum()), blind + int((plain == truth).sum())
        trials += len(rows)
    if not trials:
        return None
    finding = Finding(
        adversary=ADVERSARY.name,
        column=", ".join(context.release.columns.quasi),
        knows="quasi-identifiers at the published levels, that finer ones failed, and how frequent values are",
        guesses="the value that is likeliest after finer levels failed",
        **sampled_rate(hits, trials),
        baseline=blind / trials,
    )
    said = (
        f"That finer levels failed tells {bits:.2g} bits about all {context.release.rows.published:,} rows together; "
        f"the likeliest value of a generalized cell is right for {percent(finding.rate)}, without it for "
        f"{percent(finding.baseline)}."
    )
    gain = finding.low - finding.baseline
    return finding.conclude(said, NOTHING_TO_DO if gain <= SLIGHT else "Publish more rows, or larger k.")


def _inside(column: CandidateColumn, values: Floats) -> tuple[Floats, list[Floats]] | None:
    """A column's values and their shares in each box, as they are in the table; None where nothing was generalized."""
    known, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    inside = [column.holds(row, known) for row in range(len(column.low))]
    if all(one.sum() <= 1 for one in inside) or not all(one.any() for one in inside):
        return None
    return known, [one * counts / counts[one].sum() for one in inside]


def _level_evidence(context: Context, name: str, odds: list[Floats]) -> LevelEvidence:
    """What the level of a column reveals; nothing is derived if it may have been chosen for other reasons than k.

    Values are one level down from level 1. Further up the parts are nodes of a hierarchy, which no release lists.
    """
    made, asked = context.release.made.parameters, context.release.guarantee.parameters
    is_plain = set(asked) == {"k"} and made.get("suppression") == "0" and made.get(f"level of {name}") == 1
    has_gaps = any(column.gaps.any() for column in context.candidates.columns if column.name == name)
    if not is_plain or has_gaps:
        return LevelEvidence(1.0, tuple(odds))
    return weigh_parts(context.candidates.weights.tolist(), odds, int(asked["k"]))


def _need_boxes(context: Context) -> str | None:
    return None if context.release.form.has_boxes else f"a {context.release.form} release widens no values"


ADVERSARY = Adversary("downcoding", 120, _measure, (need_original, need_quasi, _need_boxes), per_column=False)
