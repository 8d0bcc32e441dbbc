"""Check delta-disclosure privacy of published groups; logarithms are compared with 60 digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from hedgerow.errors import BrokenPromise
from hedgerow.verify.group_counts import Counted, Parameters, require_shares

__all__ = ["check_delta"]

_DIGITS = 60


def check_delta(column: Counted, parameters: Parameters) -> str:
    """Every value is in every group, neither much more nor much less often than in the column."""
    delta = Fraction(parameters["delta"])
    if (np.bincount(column.owners) < len(column.overall)).any():
        raise BrokenPromise(f"A value of '{column.name}' is missing from a group.")
    require_shares(column, lambda share, base: _is_near(share / base, delta), "is too frequent or too rare in a group")
    return f"every value of '{column.name}' within e^{parameters['delta']} of its share"


def _is_near(ratio: Fraction, delta: Fraction) -> bool:
    with localcontext() as context:
        context.prec = _DIGITS
        logarithm = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        return abs(logarithm) < Decimal(delta.numerator) / Decimal(delta.denominator)
