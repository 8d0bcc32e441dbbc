"""Lines of the bench that follow from the groups alone: exact, at any size, without the original table."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.attack.adversaries.linking import linking_of
from hedgerow.attack.adversaries.proximity import proximity
from hedgerow.attack.adversaries.skewness import skewness
from hedgerow.attack.context import Case
from hedgerow.attack.finding import Finding, exactly, with_words
from hedgerow.attack.promises import least_candidates, most_linked, most_skewed, near_of
from hedgerow.attack.rate import percent
from hedgerow.criteria.neighbourhood import Neighbourhood
from hedgerow.exact import as_fraction, written

__all__ = ["linking_line", "proximity_line", "skewness_line"]

_KNOWS = "quasi-identifiers of everyone and their groups"
_STOP = "Do not publish: the promise does not hold. Run `hedgerow verify` and report what it says."


def linking_line(case: Case) -> Finding:
    """The most frequent value of a person's group."""
    found, promised = linking_of(case.beliefs), most_linked(case.release)
    told = least_candidates(case.release)
    left = f"{found.fewest_candidates:,} or more values stay possible for everyone"
    left += f", {told:,} were promised" if told is not None else ""
    finding = Finding(
        adversary="linking",
        column=case.column,
        knows=_KNOWS,
        guesses="the most frequent value of the person's group",
        **exactly(found.rate, int(case.beliefs.sizes.sum())),
        baseline=found.baseline,
        worst=found.worst,
        promised=promised,
        sentence=f"In the worst group {percent(found.worst)} share one value; {left}.",
    )
    if finding.holds is False or (told is not None and found.fewest_candidates < told):
        return _then(finding, _STOP)
    if found.worst > 0.5 and promised is None:
        return with_words(
            finding, finding.sentence, "Cap the share of a value in every group: Anatomy, or Mondrian with l."
        )
    return _then(finding, "Nothing to do.")


def skewness_line(case: Case) -> Finding:
    """The value that a person's group raises most."""
    found = skewness(case.beliefs)
    caps = most_skewed(case.release, found.usual)
    finding = Finding(
        adversary="skewness",
        column=case.column,
        knows=_KNOWS,
        guesses="the value that the person's group raises most over the table",
        **exactly(found.rate, int(found.sizes.sum())),
        baseline=found.baseline,
        promised=None if caps is None else float(caps @ found.sizes / found.sizes.sum()),
        sentence=f"A value is up to {found.factor:,.1f} times as frequent in a group as in the whole table.",
    )
    if finding.holds is False:
        return _then(finding, _STOP)
    if finding.promised is None and found.factor > 5:
        return with_words(
            finding,
            finding.sentence,
            "If rare values are delicate, bound their growth: Mondrian with t, beta or delta.",
        )
    return _then(finding, "Nothing to do.")


def proximity_line(case: Case) -> Finding:
    """A number near the true one."""
    protected = near_of(case.release)
    near, promised = protected if protected is not None else (_hundredth(case), None)
    found = proximity(case.beliefs, near)
    finding = Finding(
        adversary="proximity",
        column=case.column,
        knows=_KNOWS,
        guesses=f"a number {_words(near)} the true one",
        **exactly(found.rate, int(case.beliefs.sizes.sum())),
        baseline=found.baseline,
        worst=found.worst,
        promised=promised,
        sentence=f"In the worst group {percent(found.worst)} lie so near one of its values, {percent(found.anywhere)} "
        "so near some number.",
    )
    if finding.holds is False:
        return _then(finding, _STOP)
    if promised is None and found.worst > 0.5:
        return with_words(
            finding, finding.sentence, "If nearly right is harmful, publish with the method Proximity and this eps."
        )
    return _then(finding, "Nothing to do.")


def _then(finding: Finding, next_step: str) -> Finding:
    return with_words(finding, finding.sentence, next_step)


def _hundredth(case: Case) -> Neighbourhood:
    """Where the guarantee names no distance: a hundredth of the column's range."""
    ends = pc.min_max(case.beliefs.domain).as_py()
    if pa.types.is_date32(case.beliefs.domain.type):
        width = Fraction((ends["max"] - ends["min"]).days)
    else:
        width = as_fraction(ends["max"]) - as_fraction(ends["min"])
    whole = not (pa.types.is_floating(case.beliefs.domain.type) or pa.types.is_decimal(case.beliefs.domain.type))
    # Between whole numbers and days nothing is nearer than 1.
    step = max(width / 100, Fraction(1)) if whole else width / 100
    return Neighbourhood(below=step, above=step)


def _words(near: Neighbourhood) -> str:
    if near.share:
        return f"within {written(near.share * 100)}% of"
    if near.below == near.above:
        return f"within {_short(near.below)} of"
    return f"from {_short(near.below)} below to {_short(near.above)} above"


def _short(number: Fraction) -> str:
    return f"{float(np.format_float_positional(float(number), precision=6)):,g}"
