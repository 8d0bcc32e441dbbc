"""Strategies, contracts and exhaustive oracles: public, for people who add methods."""

from typing import TYPE_CHECKING

from hedgerow._lazy import lazy

if TYPE_CHECKING:
    from hedgerow.testing.contract import check_method
    from hedgerow.testing.strategies import microdata, numbers

__all__ = ["check_method", "microdata", "numbers"]

_HOMES = {
    "check_method": "contract.check_method",
    "microdata": "strategies.microdata",
    "numbers": "strategies.numbers",
}
# The oracles need nothing but hedgerow; only these names need hypothesis.
__getattr__ = lazy(__name__, _HOMES)
