"""Values that move at random while chosen properties stay."""

from hedgerow.partition.walk.chain import walk

__all__ = ["walk"]
