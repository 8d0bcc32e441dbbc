"""Check that no sensitive value fills more than alpha of a published group."""

from __future__ import annotations

from fractions import Fraction

from hedgerow.verify.group_counts import Counted, Parameters, require_shares

__all__ = ["check_alpha"]


def check_alpha(column: Counted, parameters: Parameters) -> str:
    """No share above alpha."""
    alpha = Fraction(parameters["alpha"])
    require_shares(column, lambda share, _: share <= alpha, "fills more than alpha of a group")
    return f"no value of '{column.name}' in more than {parameters['alpha']} of the rows"
