"""Partitions under (k,e)-anonymity: they work on distinct values alone."""

from hedgerow.partition.ke.count import ke_count
from hedgerow.partition.ke.max import ke_max
from hedgerow.partition.ke.max_overlap import ke_max_overlap
from hedgerow.partition.ke.pieces import Pieces
from hedgerow.partition.ke.random import ke_random
from hedgerow.partition.ke.sum import ke_sum

__all__ = ["Pieces", "ke_count", "ke_max", "ke_max_overlap", "ke_random", "ke_sum"]
