"""Partitions under (k,e)-anonymity, computed from distinct values and their counts."""

from hedgerow.partition.ke.max_overlap import ke_max_overlap
from hedgerow.partition.ke.runs import Pieces, ke_count, ke_max, ke_random, ke_sum

__all__ = ["Pieces", "ke_count", "ke_max", "ke_max_overlap", "ke_random", "ke_sum"]
