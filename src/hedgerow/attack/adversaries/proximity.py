"""The adversary for whom a number near the true one is good enough.

Knows      quasi-identifiers of everyone, and that they are in the table
Guesses    the value of the person's group that has most of the group in its neighbourhood
Rate       exact, not sampled: the share of people whose number lies in the neighbourhood of the guess, on average over
           the shuffle
Baseline   the same without groups: the most crowded neighbourhood of the whole column

A guess may also lie between the values of a group, where a neighbourhood of the same width can hold more: `anywhere`
takes the fullest stretch that one neighbourhood covers, wherever its middle is. A promise about neighbourhoods of the
group's own values at most doubles for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import Floats
from hedgerow.attack.beliefs import Beliefs
from hedgerow.attack.context import Context, need_groups
from hedgerow.attack.finding import KNOWS_GROUPS, NOTHING_TO_DO, STOP, Adversary, Finding, exact_rate, percent
from hedgerow.criteria.proximity import Neighbourhood, Reach, general
from hedgerow.exact import Line, as_fraction, column_line, fraction_text
from hedgerow.release import Release


@dataclass(frozen=True)
class NearGuess:
    """How often a guess is near enough: on average, at worst, by a guess anywhere, and without groups."""

    rate: float
    worst: float
    anywhere: float
    baseline: float


def proximity(seen: Beliefs, near: Neighbourhood) -> NearGuess:
    """Attack a column of numbers without missing values."""
    line = column_line(seen.domain, seen.column)
    reach = near.reach(line)
    covered = np.maximum.reduceat(_near_shares(seen, reach), seen.starts[:-1])
    anywhere = np.maximum.reduceat(_near_shares(seen, _stretch(near, line).reach(line)), seen.starts[:-1])
    return NearGuess(
        rate=float(covered @ seen.sizes / seen.sizes.sum()),
        worst=float(covered.max()),
        anywhere=float(anywhere.max()),
        baseline=_fullest(seen.overall, reach),
    )


def _stretch(near: Neighbourhood, line: Line) -> Neighbourhood:
    """All that lies in one neighbourhood with a value that is the least in it, whatever the middle is."""
    if near.share == 0:
        return Neighbourhood(above=near.below + near.above)
    up, down = 1 + near.share, 1 - near.share
    if down == 0:  # neighbourhoods begin or end at 0: with a value that is not negative lie all that are greater
        top = as_fraction(line.positions.max().item()) * line.unit
        return general(lambda least: (least, top if least >= 0 else least * 0))
    return general(lambda least: (least, least * up / down if least >= 0 else least * down / up))


def _near_shares(seen: Beliefs, reach: Reach) -> Floats:
    """The probability of each (group, value) pair's neighbourhood."""
    width = len(seen.overall)
    bases = seen.owners * width
    keys = bases + seen.values
    upto = np.append(0.0, np.cumsum(seen.shares))
    first = np.searchsorted(keys, bases + reach.first[seen.values])
    behind = np.searchsorted(keys, bases + reach.last[seen.values], side="right")
    return _chance(upto[behind] - upto[first])


def _fullest(overall: Floats, reach: Reach) -> float:
    upto = np.append(0.0, np.cumsum(overall))
    return float(_chance(upto[reach.last + 1] - upto[reach.first]).max())


def _chance(differences: Floats) -> Floats:
    """Running sums round: a group that lies wholly in one neighbourhood would be hit with slightly more than 1."""
    return np.clip(differences, 0.0, 1.0)


def _measure(context: Context) -> Finding:
    protected = _protected_neighbourhood(context.release)
    near, promised = protected if protected is not None else (_hundredth(context.beliefs.domain), None)
    found = proximity(context.beliefs, near)
    finding = Finding(
        adversary=ADVERSARY.name,
        column=context.column,
        knows=KNOWS_GROUPS,
        guesses=f"a number {_words(near)} the true one",
        **exact_rate(found.rate, int(context.beliefs.sizes.sum())),
        baseline=found.baseline,
        worst=found.worst,
        promised=promised,
    )
    step = NOTHING_TO_DO
    if finding.holds is False:
        step = STOP
    elif promised is None and found.worst > 0.5:
        step = "If nearly right is harmful, publish with the method Proximity and this eps."
    sentence = (
        f"In the worst group {percent(found.worst)} of the values lie that near one of them, {percent(found.anywhere)} "
        "that near some number."
    )
    return finding.conclude(sentence, step)


def _protected_neighbourhood(release: Release) -> tuple[Neighbourhood, float] | None:
    """The neighbourhood that a release protects and its promise; None where it protects none."""
    if release.guarantee.criterion != "proximity":
        return None
    parameters = release.guarantee.parameters
    below, above, share = (Fraction(parameters[name]) for name in ("below", "above", "relative"))
    return Neighbourhood(below, above, share), float(1 / Fraction(parameters["m"]))


def _hundredth(domain: pa.Array) -> Neighbourhood:
    """Where the guarantee names no distance: a hundredth of the column's range."""
    ends = pc.min_max(domain).as_py()
    if pa.types.is_date32(domain.type):
        width = Fraction((ends["max"] - ends["min"]).days)
    else:
        width = as_fraction(ends["max"]) - as_fraction(ends["min"])
    whole = not (pa.types.is_floating(domain.type) or pa.types.is_decimal(domain.type))
    # Between whole numbers and days nothing is nearer than 1.
    step = max(width / 100, Fraction(1)) if whole else width / 100
    return Neighbourhood(below=step, above=step)


def _words(near: Neighbourhood) -> str:
    if near.share:
        return f"within {fraction_text(near.share * 100)}% of"
    if near.below == near.above:
        return f"within {_short(near.below)} of"
    return f"from {_short(near.below)} below to {_short(near.above)} above"


def _short(number: Fraction) -> str:
    return f"{float(np.format_float_positional(float(number), precision=6)):,g}"


def _need_numbers(context: Context) -> str | None:
    kind = context.beliefs.domain.type
    if pa.types.is_string(kind) or pa.types.is_boolean(kind) or pa.types.is_timestamp(kind):
        return f"'{context.column}' is not a column of numbers"
    return "missing values have no distance" if context.beliefs.overall[-1] > 0 else None


ADVERSARY = Adversary("proximity", 30, _measure, (need_groups, _need_numbers))
