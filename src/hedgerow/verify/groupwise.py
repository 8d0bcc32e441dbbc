"""Check every classic criterion that a release promises of its groups; a letter among the parameters names it.

Guarantee  passes exactly the releases whose groups satisfy every criterion that is named, in every sensitive column;
           shares are compared as fractions, logarithms with 60 digits
Cost       O(n log n) for the counts; then O(distinct pairs of counts), and see `l_diversity` and `t_closeness`
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from hedgerow.errors import BrokenPromise
from hedgerow.verify.group_counts import Counted, Parameters, counted, require_shares
from hedgerow.verify.l_diversity import check_l
from hedgerow.verify.t_closeness import check_t
from hedgerow.verify.values import PublishedRelease

__all__ = ["check_groupwise"]

_DIGITS = 60


def check_k(column: Counted, parameters: Parameters) -> str:
    """At least k rows."""
    k = int(parameters["k"])
    if few := int((column.sizes < k).sum()):
        raise BrokenPromise(f"{few} group(s) have fewer than {k} rows.")
    return f"at least {k} rows ({column.sizes.min():,} to {column.sizes.max():,})"


def check_alpha(column: Counted, parameters: Parameters) -> str:
    """No share above alpha."""
    alpha = Fraction(parameters["alpha"])
    require_shares(column, lambda share, _: share <= alpha, "fills more than alpha of a group")
    return f"no value of '{column.name}' in more than {parameters['alpha']} of the rows"


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


def check_presence(column: Counted, parameters: Parameters) -> str:
    """Members are those whose value is true, or the greater of two values."""
    low, high = Fraction(parameters["presence_low"]), Fraction(parameters["presence_high"])
    listed = column.values.to_pylist()
    if len(column.overall) > 2:
        raise BrokenPromise(f"'{column.name}' must tell members from others; it has more than two values.")
    members = 0 if listed == [True] else 1
    is_member = column.codes == members
    present = np.bincount(column.owners[is_member], weights=column.counts[is_member], minlength=len(column.sizes))
    pairs = np.unique(np.stack([present.astype(np.int64), column.sizes], axis=1), axis=0).tolist()
    if not all(low <= Fraction(count, size) <= high for count, size in pairs):
        raise BrokenPromise(f"A group's share of members in '{column.name}' is outside the promised bounds.")
    return f"a share of members from {parameters['presence_low']} to {parameters['presence_high']}"


_LETTERS: dict[str, Callable[[Counted, Parameters], str]] = {
    "k": check_k,
    "l": check_l,
    "t": check_t,
    "alpha": check_alpha,
    "delta": check_delta,
    "beta": check_beta,
    "presence_low": check_presence,
}
_BESIDE = {"diversity", "c", "distance", "enhanced", "presence_high"}


def check_groupwise(release: PublishedRelease) -> str:
    """Every group satisfies every criterion that the guarantee names."""
    parameters = dict(release.guarantee.parameters)
    unknown = {name for name in parameters if not name.startswith("hierarchy of ")} - set(_LETTERS) - _BESIDE
    if unknown or "k" not in parameters:
        raise BrokenPromise("The release promises a criterion that this version cannot verify.")
    columns = counted(release)
    seen = [check(column, parameters) for name, check in _LETTERS.items() if name in parameters for column in columns]
    return f"in each of {len(columns[0].sizes):,} groups: {'; '.join(dict.fromkeys(seen))}"
