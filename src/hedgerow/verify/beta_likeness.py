"""Check beta-likeness of published groups; logarithms are compared with 60 digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

from hedgerow.verify.group_counts import Counted, Parameters, require_shares

__all__ = ["check_beta"]

_DIGITS = 60


def check_beta(column: Counted, parameters: Parameters) -> str:
    """No value gains more than beta, nor, if enhanced, more than minus the logarithm of its share."""
    beta, enhanced = Fraction(parameters["beta"]), bool(int(parameters.get("enhanced", 0)))

    def good(share: Fraction, base: Fraction) -> bool:
        gain = (share - base) / base
        return gain <= beta and (not enhanced or _below_log(gain, base))

    require_shares(column, good, "gains more than beta in a group")
    return f"no value of '{column.name}' gains more than {parameters['beta']}"


def _below_log(gain: Fraction, base: Fraction) -> bool:
    if gain <= 0:
        return True
    with localcontext() as context:
        context.prec = _DIGITS
        bound = (Decimal(base.denominator) / Decimal(base.numerator)).ln()
        return Decimal(gain.numerator) / Decimal(gain.denominator) <= bound
