"""(k,e)-anonymity by permuting the sensitive column.

Source     dissertation on permutation-based microdata protection, chapter 2
Guarantee  every group has at least k distinct sensitive values over a range of at least e; the grouping looks at the
           sensitive values and secret coins alone, so knowing the algorithm does not help
Cost       a counting pass, a partition of the distinct values, two shuffles
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hedgerow.criteria.ke import KE
from hedgerow.errors import ParameterError, SchemaError
from hedgerow.exact import Line, line
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.release import Guarantee, Made, Release

if TYPE_CHECKING:
    from hedgerow.partition.pieces import Pieces
    from hedgerow.table import Encoded

__all__ = ["OBJECTIVES", "KEAnonymity"]

OBJECTIVES = ("sum", "max", "max_overlap", "count", "random")

_PROMISE = (
    "In each group of published rows the column '{column}' has at least {k} distinct values, and they span a range of at "
    "least {e}. Which row of a group has which of its values was decided by a fair shuffle."
)
_ADVERSARY = (
    "Knows everybody's quasi-identifiers, that they are in the table, and this algorithm; knows nobody's sensitive value "
    "and no relation between sensitive values and quasi-identifiers."
)
