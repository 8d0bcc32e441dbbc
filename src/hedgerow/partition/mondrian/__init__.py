"""Splits at medians of quasi-identifiers, under any criterion."""

from hedgerow.partition.mondrian.split import mondrian

__all__ = ["mondrian"]
