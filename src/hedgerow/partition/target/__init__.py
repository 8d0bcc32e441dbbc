"""Subdomains of a hierarchy, chosen so that published values follow a target distribution."""

from hedgerow.partition.target.fake_values import disguise

__all__ = ["disguise"]
