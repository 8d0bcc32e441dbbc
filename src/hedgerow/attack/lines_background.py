"""The line of the bench about the adversary who knows the odds of each value for each quasi-identifier."""

from __future__ import annotations

from fractions import Fraction

from hedgerow.attack.background import background
from hedgerow.attack.case import Case
from hedgerow.attack.finding import Finding, exactly
from hedgerow.attack.promises import most_linked
from hedgerow.attack.rate import percent
from hedgerow.criteria.estimate import Estimate
from hedgerow.errors import ParameterError

__all__ = ["background_line"]

_FEWEST = 20
"""Odds are known of combinations that at least so many people share."""


def background_line(case: Case) -> Finding | None:
    """Odds of single quasi-identifiers, estimated from the original: the worst case. None where there are none."""
    try:
        odds = Estimate(size=1, support=_FEWEST).of(case.table, quasi=case.release.columns.quasi, sensitive=case.column)
    except ParameterError:
        return None
    cap = Fraction(most_linked(case.release) or 0.5).limit_denominator(10**6) ** -1
    found = background(case.release, odds, r=cap, keys=case.keys)
    return Finding(
        adversary="background",
        column=case.column,
        knows="quasi-identifiers of everyone, their groups, and the odds of each value for each quasi-identifier",
        guesses=f"that a person has some value, and is surer of it than 1/{cap}",
        **exactly(found.problematic, found.rows),
        baseline=found.blind,
        worst=found.worst,
        sentence=f"Whoever knows the odds may be surer than 1/{cap} about {percent(found.problematic)} of the people, "
        f"{percent(found.blind)} without them; of the worst off {percent(found.worst)}.",
        next_step="Nothing to do." if found.problematic == 0 else "If such odds are known, use the method Robust.",
    )
