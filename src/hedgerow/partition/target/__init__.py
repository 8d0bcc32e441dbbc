"""Subdomains of a hierarchy, chosen so that published values follow a target distribution."""

from hedgerow.partition.target.disguise import disguise

__all__ = ["disguise"]
