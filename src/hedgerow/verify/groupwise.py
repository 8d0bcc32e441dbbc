"""Check every classic criterion that a release promises of its groups; a letter among the parameters names it.

Guarantee  passes exactly the releases whose groups satisfy every criterion that is named, in every sensitive column
Cost       O(n log n) for the counts; see each criterion's own file
"""

from __future__ import annotations

from collections.abc import Callable

from hedgerow.errors import BrokenPromise
from hedgerow.verify.alpha_k import check_alpha
from hedgerow.verify.beta_likeness import check_beta
from hedgerow.verify.delta_disclosure import check_delta
from hedgerow.verify.delta_presence import check_presence
from hedgerow.verify.group_counts import Counted, Parameters, counted
from hedgerow.verify.k_anonymity import check_k
from hedgerow.verify.l_diversity import check_l
from hedgerow.verify.t_closeness import check_t
from hedgerow.verify.values import PublishedRelease

__all__ = ["check_groupwise"]

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
