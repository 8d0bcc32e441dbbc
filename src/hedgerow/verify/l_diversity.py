"""Check l-diversity of published groups, in the sense that the release names.

Guarantee  distinct, frequency and recursive are decided by whole numbers and fractions; entropy by decimals of 100
           digits, and a group within 10^-80 of the border counts as on it
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from hedgerow.errors import BrokenPromise
from hedgerow.verify.group_counts import Counted, Parameters

__all__ = ["check_l"]


def check_l(column: Counted, parameters: Parameters) -> str:
    """The promised sense of diversity."""
    check = _SENSES.get(str(parameters.get("diversity")))
    if check is None:
        raise BrokenPromise("The release promises a diversity that this version cannot verify.")
    return check(column, parameters)


def _distinct(column: Counted, parameters: Parameters) -> str:
    least = int(parameters["l"])
    if few := int((np.bincount(column.owners) < least).sum()):
        raise BrokenPromise(f"{few} group(s) hold fewer than {least} distinct values of '{column.name}'.")
    return f"at least {least} distinct values of '{column.name}'"


def _frequency(column: Counted, parameters: Parameters) -> str:
    parts = int(parameters["l"])
    # count * l <= size in whole numbers: the floor loses nothing, because a count is whole.
    if crowded := int((column.counts > column.sizes[column.owners] // parts).sum()):
        raise BrokenPromise(f"{crowded} value(s) of '{column.name}' fill more than 1/{parts} of a group.")
    return f"no value of '{column.name}' in more than 1/{parts} of the rows"


def _entropy(column: Counted, parameters: Parameters) -> str:
    wanted = Fraction(parameters["l"])
    for counts in {tuple(sorted(counts.tolist())) for _, counts in column.runs()}:
        if not _reaches(counts, wanted):
            raise BrokenPromise(f"A group's entropy in '{column.name}' is below the promised one.")
    return f"an entropy of at least log {parameters['l']} in '{column.name}'"


def _reaches(counts: tuple[int, ...], wanted: Fraction) -> bool:
    rows = sum(counts)
    shares = np.array(counts) / rows
    entropy = -float((shares * np.log(shares)).sum())
    target = float(np.log(float(wanted)))
    # Rounding of this sum stays far below a millionth, so only groups nearer than that need long decimals.
    if abs(entropy - target) > 1e-6:
        return entropy > target
    with localcontext() as context:
        context.prec = 100
        inside = sum((count * Decimal(count).ln() for count in counts), Decimal(0))
        margin = rows * (Decimal(rows) * wanted.denominator / wanted.numerator).ln() - inside
        return margin >= -(Decimal(10) ** -80)


def _recursive(column: Counted, parameters: Parameters) -> str:
    c, least = Fraction(parameters["c"]), int(parameters["l"])
    for _, counts in column.runs():
        descending = np.sort(counts)[::-1]
        if not int(descending[0]) < c * int(descending[least - 1 :].sum()):
            raise BrokenPromise(f"A group's most frequent value of '{column.name}' outweighs the rest.")
    return f"recursive ({parameters['c']}, {least})-diversity of '{column.name}'"


_SENSES: dict[str, Callable[[Counted, Parameters], str]] = {
    "distinct": _distinct,
    "frequency": _frequency,
    "entropy": _entropy,
    "recursive": _recursive,
}
