"""Splits at medians of quasi-identifiers, under (eps,m)-anonymity."""

from hedgerow.partition.proximity.split import proximity_split

__all__ = ["proximity_split"]
