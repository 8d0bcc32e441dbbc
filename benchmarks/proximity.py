"""(eps,m)-anonymous groups of the generated census, against np.lexsort of the 7 quasi-identifiers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.anatomy import coded, compare, penalty
from benchmarks.measure import show, sized
from hedgerow.criteria.proximity import absolute, relative
from hedgerow.exact import line
from hedgerow.partition.proximity import proximity_split

_SETUP = """
from benchmarks.anatomy import coded
from benchmarks.measure import sized
from benchmarks.proximity import PARTITIONS
partition = PARTITIONS[{name!r}]
partition(10_000)  # compiles and imports, which is not the data's fault
coded(sized(1_000_000))
"""


def split(rows: int, *, is_relative: bool = False, finest: bool = True) -> NDArray[np.int32]:
    """Absolute (2000, 5) or relative (0.05, 5) on the income."""
    quasi, sizes, _, income, values = coded(rows)
    reach = (relative("0.05") if is_relative else absolute(2000)).reach(line(values))
    return proximity_split(quasi, sizes, income, reach, m=5, finest=finest)


PARTITIONS = {
    "absolute (2000, 5)": split,
    "relative (0.05, 5)": lambda rows: split(rows, is_relative=True),
    "absolute, dealt as printed": lambda rows: split(rows, finest=False),
}


def main() -> None:
    compare("proximity_split, 7 quasi-identifiers", PARTITIONS, _SETUP)
    rows = [(name, penalty(partition(sized(1_000_000))), "") for name, partition in PARTITIONS.items()]
    show("normalized certainty penalty of a row (at most 7)", rows)


if __name__ == "__main__":
    main()
