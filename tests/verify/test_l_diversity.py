"""The audit of l-diversity refuses a group that is a hair too uniform."""

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.errors import BrokenPromise
from hedgerow.verify.groupwise import Counted, check_l


def _counted(counts):
    table = np.array([counts], np.int64)
    codes = np.flatnonzero(table[0])
    return Counted(
        "ill",
        pa.array([f"v{n}" for n in range(len(counts))]),
        table.sum(1),
        codes * 0,
        codes,
        table[0, codes],
        table[0],
    )


def test_entropy_is_decided_to_the_last_row():
    """Three values equally often have the entropy of 3; with one row of three hundred thousand moved they do not."""
    parameters = {"l": "3", "diversity": "entropy"}
    check_l(_counted([100_000, 100_000, 100_000]), parameters)
    with pytest.raises(BrokenPromise):
        check_l(_counted([100_001, 100_000, 99_999]), parameters)
