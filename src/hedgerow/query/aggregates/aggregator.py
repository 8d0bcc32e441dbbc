"""What the rest of the house knows about an aggregate: its names, what it takes and gives, and how it is answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from hedgerow.query.aggregates.bounds import Interval
from hedgerow.query.aggregates.expectation import Spread
from hedgerow.query.evidence.groups import Hits, Values

__all__ = ["Aggregator", "Gives"]

Answering = Callable[[Hits, Values, Fraction | None], tuple[Interval, Spread]]


class Gives(Enum):
    """What an aggregate is, beside the values that it is of: it tells unit and rounding."""

    NUMBER = "a number of rows or values"
    VALUE = "one of the values"
    TOTAL = "a sum of values"
    MEAN = "between the values"
    SQUARE = "in squares of the values' unit"
    ROOT = "the root of such a square"


@dataclass(frozen=True)
class Aggregator:
    """One aggregate.

    `answer` returns bounds and expectation, in ticks, from evidence and a fraction (of quantiles). `spelled` are the
    parser's names of functions of one column that are this aggregate; `helped` names the help table's columns from
    which one SQL statement answers it; `takes_any` says that the column may be of texts and dates.
    """

    name: str
    gives: Gives
    answer: Answering
    spelled: tuple[str, ...] = ()
    takes_any: bool = False
    helped: str = ""
