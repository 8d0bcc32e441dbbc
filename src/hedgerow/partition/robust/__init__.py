"""Groups that withstand an attacker who knows how values are distributed."""

from hedgerow.partition.robust.gather import art

__all__ = ["art"]
