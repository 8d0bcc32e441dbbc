"""Deal rows in the order of their sensitive values to as many groups as l-diversity allows.

Source     permutation anonymization, algorithm 1
Guarantee  frequency l-diversity: every group has l to 2l - 1 rows, all of different values; feasible exactly when
           l times the most frequent value is at most the rows. Looks at nothing but the sensitive values
Cost       O(n) time after drawing one key per row
Deviates   a value may fill exactly 1/l of the table (the printed test refuses that); equal values are in secret order;
           the printed further division of large groups never happens here and would break l-diversity elsewhere
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.groupwise import require
from hedgerow.criteria.l_diversity import FrequencyDiversity
from hedgerow.partition.shuffles import by_value
from hedgerow.randomness import Keys, system_keys

__all__ = ["round_robin"]


def round_robin(sensitive: NDArray[np.int32], *, l: int, keys: Keys = system_keys) -> NDArray[np.int32]:  # noqa: E741
    """Return a group number per row, from 0 without gaps."""
    counts = np.bincount(sensitive)
    criterion = FrequencyDiversity(l)
    require([criterion], [counts])
    labels = np.empty(len(sensitive), np.int32)
    groups = len(sensitive) // criterion.l
    # Equal values are at most n/l, and so at most as many as there are groups: no group gets two of them.
    labels[by_value(sensitive, counts, keys=keys)] = np.arange(len(sensitive), dtype=np.int32) % np.int32(groups)
    return labels
