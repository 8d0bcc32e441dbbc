"""Search: which row goes to which group. One algorithm a file; the (k,e) partitions work on distinct values alone."""

from hedgerow.partition.ke_count import ke_count
from hedgerow.partition.ke_max import ke_max
from hedgerow.partition.ke_max_overlap import ke_max_overlap
from hedgerow.partition.ke_random import ke_random
from hedgerow.partition.ke_sum import ke_sum
from hedgerow.partition.pieces import Pieces

__all__ = ["Pieces", "ke_count", "ke_max", "ke_max_overlap", "ke_random", "ke_sum"]
