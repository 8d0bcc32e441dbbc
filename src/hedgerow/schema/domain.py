"""Which values a column may take, and in which order.

A domain is declared, not observed: a range or an order taken from the table would reveal something about the people in
it. Bounds are compared as fractions, so that 0.1 means one tenth.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import is_numeric
from hedgerow.errors import SchemaError
from hedgerow.exact import as_fraction
from hedgerow.table.checks import BLANKS
from hedgerow.verify.names import text_in_form

Kind = Literal["numeric", "ordered", "nominal", "date"]

_MOST_VALUES = 10_000_000
"""Listing more values than this is a slip of the step, not a wish."""


@dataclass(frozen=True)
class Domain:
    """The values that a column may take; use the constructors `numeric`, `ordered`, `nominal` and `date`.

    `low`, `high` and `step` belong to numbers and dates (the step of dates is in days), `listed` to the other kinds.
    A bound that is None is open; an empty `listed` allows any value.

    >>> Domain.numeric(0, 10, step=5).values(), Domain.ordered(["low", "high"]).values()
    ((0, 5, 10), ('low', 'high'))
    """

    kind: Kind
    low: Any = None
    high: Any = None
    step: Any = None
    listed: tuple[Any, ...] = ()

    @classmethod
    def numeric(cls, low: object = None, high: object = None, *, step: object = None) -> Domain:
        """Numbers from `low` to `high`, both included; with a `step` only low, low + step, ..."""
        for name, bound in (("low", low), ("high", high), ("step", step)):
            _require_number(name, bound)
        _require_range(low, high, step)
        return cls("numeric", low, high, step)

    @classmethod
    def date(cls, low: datetime.date | None = None, high: datetime.date | None = None) -> Domain:
        """Days from `low` to `high`, both included."""
        for name, bound in (("low", low), ("high", high)):
            if bound is not None and type(bound) is not datetime.date:
                raise SchemaError(f"'{name}' must be a datetime.date or None; got {type(bound).__name__}.")
        if low is not None and high is not None and low > high:
            raise SchemaError(f"'low' must not be after 'high'; got {low} and {high}.")
        return cls("date", low, high, 1)

    @classmethod
    def ordered(cls, values: Iterable[object]) -> Domain:
        """Categories in the given order, lowest first."""
        listed = _list_of(values)
        if not listed:
            raise SchemaError("an ordered domain must list its values, lowest first; got none.")
        return cls("ordered", listed=listed)

    @classmethod
    def nominal(cls, values: Iterable[object] = ()) -> Domain:
        """Categories without an order; without `values` any category may occur."""
        return cls("nominal", listed=_list_of(values))

    @classmethod
    def of(cls, arrow_type: pa.DataType) -> Domain:
        """The domain that a column has when nobody declared one: open numbers and dates, any category otherwise."""
        if is_numeric(arrow_type):
            return cls("numeric")
        if pa.types.is_date(arrow_type) or pa.types.is_timestamp(arrow_type):
            return cls("date", step=1)
        return cls("nominal")

    @property
    def is_ordered(self) -> bool:
        """Whether the values have an order, so that ranges make sense."""
        return self.kind != "nominal"

    def in_form(self, policy: str) -> Domain:
        """The same domain with its texts in the form that a column's policy asks for, each once."""
        texts = [text_in_form(value, policy) if isinstance(value, str) else value for value in self.listed]
        return replace(self, listed=tuple(dict.fromkeys(texts)))

    def values(self) -> tuple[Any, ...]:
        """Every value in order; raises where the domain is open or has no step."""
        if self.kind in ("ordered", "nominal"):
            if not self.listed:
                raise SchemaError("this nominal domain lists no values; give them to Domain.nominal.")
            return self.listed
        if self.low is None or self.high is None or self.step is None:
            raise SchemaError(
                f"a {self.kind} domain can be listed only with 'low', 'high' and 'step'; some are missing."
            )
        return tuple(self._grid())

    def ranks(self, distinct: pa.Array) -> NDArray[np.int32]:
        """The rank of each of a column's ascending distinct values in this domain's order."""
        if self.kind != "ordered":
            return np.arange(len(distinct), dtype=np.int32)
        place = {value: rank for rank, value in enumerate(self.listed)}
        return np.array([place[value] for value in distinct.to_pylist()], dtype=np.int32)

    def check(self, column: str, distinct: pa.Array) -> None:
        """Raise SchemaError where some distinct values of `column` lie outside; the message counts them."""
        holds = self._membership()
        ends = [distinct[0].as_py(), distinct[-1].as_py()] if len(distinct) else []
        if self.step is None and not self.listed and all(map(holds, ends)):
            return  # the values ascend, so both ends inside means all inside
        outside = len(distinct) - sum(map(holds, distinct.to_pylist()))
        if outside:
            raise SchemaError(
                f"{outside} distinct values of '{column}' lie outside its {self.kind} domain; "
                "widen the domain or correct the column."
            )

    def _grid(self) -> Iterator[Any]:
        if self.kind == "date":
            first, last = self.low.toordinal(), self.high.toordinal()
            return map(datetime.date.fromordinal, range(first, last + 1))
        low, high, step = as_fraction(self.low), as_fraction(self.high), as_fraction(self.step)
        count = (high - low) // step + 1
        if count > _MOST_VALUES:
            raise SchemaError(f"a domain of {count} values is too long to list; give a larger 'step'.")
        return (plain_number(low + i * step) for i in range(count))

    def _membership(self) -> Callable[[Any], bool]:
        if self.kind in ("ordered", "nominal"):
            allowed = frozenset(self.listed)
            return lambda value: not allowed or value in allowed
        if self.kind == "date":
            return lambda value: isinstance(value, datetime.date) and _between(_day(value), self.low, self.high)
        low, high, step = (None if bound is None else as_fraction(bound) for bound in (self.low, self.high, self.step))
        return lambda value: is_number(value) and _on_grid(as_fraction(value), low, high, step)


def _day(value: datetime.date) -> datetime.date:
    return value.date() if isinstance(value, datetime.datetime) else value


def _on_grid(number: Fraction, low: Fraction | None, high: Fraction | None, step: Fraction | None) -> bool:
    return _between(number, low, high) and (step is None or (number - (low or 0)) % step == 0)


def is_number(value: object) -> bool:
    """Whether a value is a finite number; a text that looks like one is not."""
    try:
        as_fraction(value)
    except ValueError:
        return False
    return not isinstance(value, str)


def _between(value: Any, low: Any, high: Any) -> bool:
    return (low is None or low <= value) and (high is None or value <= high)


def plain_number(number: Fraction) -> int | float:
    """A whole number, or a float."""
    # A float stands for the shortest decimal that it prints, so the grid's values equal the column's.
    return int(number) if number.denominator == 1 else float(number)


def _list_of(values: Iterable[object]) -> tuple[Any, ...]:
    if isinstance(values, str):
        raise SchemaError("'values' must be a sequence of categories; got one text. Put it in a list.")
    listed = tuple(value.strip(BLANKS) if isinstance(value, str) else value for value in values)
    if None in listed:
        raise SchemaError("'values' must not contain None: missing values have their own policy in the schema.")
    if len(set(listed)) < len(listed):
        raise SchemaError(f"'values' must differ; {len(listed) - len(set(listed))} are listed twice.")
    return listed


def _require_number(name: str, bound: object) -> None:
    if bound is not None and not is_number(bound):
        raise SchemaError(f"'{name}' must be a finite number or None; got {bound!r}.")


def _require_range(low: object, high: object, step: object) -> None:
    if low is not None and high is not None and as_fraction(low) > as_fraction(high):
        raise SchemaError(f"'low' must not be above 'high'; got {low} and {high}.")
    if step is not None and as_fraction(step) <= 0:
        raise SchemaError(f"'step' must be positive; got {step}.")
