"""The rows of a release as arrays: each published column encoded once, groups as ranges of rows.

A condition on one column is decided on its distinct values and gathered by codes; conditions that compare columns
with each other are decided row by row. A view is built once per release object and forgotten with it.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.query.evidence.memory import LEAST, PER_ROW, Recent
from hedgerow.query.evidence.predicate import evaluate, values
from hedgerow.query.evidence.published import rows_of
from hedgerow.query.sql.question import And, Column, Expression, Kind, Not, Or, Predicate, Truth, columns_of, kind_of

if TYPE_CHECKING:
    from hedgerow.release import PublishedColumns, Release

__all__ = ["Codes", "View", "column_of", "is_paired", "missing_rows", "view_of"]

_MOST_DERIVED = 1_000

_views: weakref.WeakKeyDictionary[Any, View] = weakref.WeakKeyDictionary()


def view_of(release: Release) -> View:
    """Return the release's view, building it when first asked."""
    if release not in _views:
        _views[release] = View(rows_of(release), release.columns, release.group_column, is_paired(release))
    return _views[release]


def is_paired(release: Release) -> bool:
    """Tell whether several sensitive columns are published together: a person's values in one row, and said so."""
    return len(release.columns.sensitive) > 1 and release.made.parameters.get("together") == 1


class Codes:
    """A column as positions in its sorted distinct values; the last position stands for missing."""

    def __init__(self, array: pa.Array) -> None:
        encoded = pc.dictionary_encode(array)
        order = pc.array_sort_indices(encoded.dictionary)
        ranks = np.empty(len(order) + 1, dtype=_code_type(len(order)))
        ranks[order.to_numpy()] = np.arange(len(order))
        ranks[-1] = len(order)
        self.domain: pa.Array = encoded.dictionary.take(order)
        self.codes = ranks[encoded.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)]

    def where(self, truth: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Rows whose value is marked; `truth` has one entry per distinct value and one for missing."""
        marked = np.flatnonzero(truth)
        if len(marked) == 0:
            return np.zeros(len(self.codes), dtype=np.bool_)
        first, last = int(marked[0]), int(marked[-1])
        if last - first + 1 == len(marked):
            # Most conditions mark one run of the sorted values; unsigned wrap-around tests both ends at once.
            inside: NDArray[np.bool_] = (self.codes - self.codes.dtype.type(first)) <= last - first
            return inside
        gathered: NDArray[np.bool_] = truth[self.codes]
        return gathered


def _code_type(size: int) -> type[np.unsignedinteger[Any]]:
    return next((t for t in (np.uint8, np.uint16) if size <= np.iinfo(t).max), np.uint32)


class View:
    """The arrays of one release."""

    def __init__(self, table: pa.Table, columns: PublishedColumns, group_column: str, paired: bool = False) -> None:
        self._table, self.paired = table, paired
        self.memory = Recent(max(LEAST, PER_ROW * table.num_rows))
        self.derived: dict[str, Expression] = {}
        self.sensitive: tuple[str, ...] = tuple(columns.sensitive)
        names = (*columns.quasi, *columns.plain, *columns.sensitive)
        self.columns = {name: column_of(name, self._table.schema.field(name).type) for name in names}
        self.groups = _group_numbers(table, group_column)
        sizes = np.bincount(self.groups)
        self.offsets = np.concatenate(([0], np.cumsum(sizes)))
        if np.any(self.groups[1:] < self.groups[:-1]):
            raise QueryError(f"a release is sorted by '{group_column}'; sort it before asking")

    @property
    def num_rows(self) -> int:
        """The number of published rows."""
        return len(self.groups)

    def remember(self, key: str, make: Callable[[], Any]) -> Any:
        """Return what `make` gave when last asked; it may have been forgotten, and is made again."""
        return self.memory.remember(key, make)

    def derive(self, columns: Mapping[str, Expression]) -> None:
        """Let expressions be asked for by name, as if they were published columns; the oldest are forgotten."""
        for name, expression in columns.items():
            self.derived.pop(name, None)
            self.derived[name] = expression
        for name in list(self.derived)[:-_MOST_DERIVED]:
            del self.derived[name]

    def column(self, name: str) -> Column:
        """Say what a published or derived column holds."""
        if name in self.derived:
            kind = kind_of(self.derived[name])
            assert kind is not None, "a derived column has a kind"
            return Column(name, kind)
        return self.columns[name]

    def array(self, name: str) -> pa.Array:
        """Return a published or derived column in one piece."""
        if name in self.derived:
            return self.remember(f"column {name}", lambda: self._computed(self.derived[name]))
        return pa.concat_arrays(self._table.column(name).chunks) if self.num_rows else pa.array([], self._type(name))

    def _computed(self, expression: Expression) -> pa.Array:
        """Evaluate on distinct values where one column is read, row by row otherwise."""
        names = columns_of(expression)
        if len(names) > 1:
            return values(expression, {name: self.array(name) for name in names}, self.num_rows)
        (name,) = names
        codes = self.codes(name)
        domain = pa.concat_arrays([codes.domain, pa.nulls(1, codes.domain.type)])
        return values(expression, {name: domain}, len(domain)).take(pa.array(codes.codes))

    def _type(self, name: str) -> pa.DataType:
        return self._table.schema.field(name).type

    def codes(self, name: str) -> Codes:
        """Return a column's codes, encoding it when first asked."""
        codes: Codes = self.remember(f"codes of {name}", lambda: Codes(self.array(name)))
        return codes

    def has_missing(self, name: str) -> bool:
        """Tell whether a column has missing values."""
        column = self.array(name) if name in self.derived else self._table.column(name)
        return bool(column.null_count)

    def rows_where(self, predicate: Predicate, wanted: bool = True) -> NDArray[np.bool_]:
        """Rows where the predicate is true (or, with `wanted` False, where it is false rather than unknown)."""
        names = columns_of(predicate)
        if len(names) == 1:
            name = min(names)
            return self.codes(name).where(self.truth(name, predicate, wanted))
        if isinstance(predicate, Not):
            return self.rows_where(predicate.operand, not wanted)
        if isinstance(predicate, And | Or):
            # Kleene logic obeys De Morgan: "and is false" is "one is false".
            join = np.logical_and if isinstance(predicate, And) == wanted else np.logical_or
            return functools.reduce(join, (self.rows_where(operand, wanted) for operand in predicate.operands))
        if isinstance(predicate, Truth):
            return np.full(self.num_rows, predicate.value is wanted)
        arrays = {name: self.array(name) for name in names}
        return _is(evaluate(predicate, arrays, self.num_rows), wanted)

    def rows_that_are(self, told: bool | None, predicate: Predicate) -> NDArray[np.bool_]:
        """Rows where the predicate is true, false, or neither."""
        if told is not None:
            return self.rows_where(predicate, told)
        unknown: NDArray[np.bool_] = ~self.rows_where(predicate, True) & ~self.rows_where(predicate, False)
        return unknown

    def truth(self, name: str, predicate: Predicate, wanted: bool = True) -> NDArray[np.bool_]:
        """Distinct values (and missing, last) of a column for which a predicate on it alone is true (or false)."""
        domain = self.codes(name).domain
        values = pa.concat_arrays([domain, pa.nulls(1, domain.type)])
        return _is(evaluate(predicate, {name: values}, len(values)), wanted)


def missing_rows(view: View, name: str) -> NDArray[np.bool_]:
    """Rows in which a column is missing."""
    codes = view.codes(name)
    missing: NDArray[np.bool_] = codes.codes == len(codes.domain)
    return missing


def _group_numbers(table: pa.Table, group_column: str) -> NDArray[np.int64]:
    if not group_column:
        # Rows without groups: one for all, so that they can be counted like others.
        return np.zeros(table.num_rows, dtype=np.int64)
    numbers: NDArray[np.int64] = table.column(group_column).to_numpy().astype(np.int64, copy=False)
    return numbers


def _is(truth: pa.Array, wanted: bool) -> NDArray[np.bool_]:
    told = truth if wanted else pc.invert(truth)
    result: NDArray[np.bool_] = told.fill_null(False).to_numpy(zero_copy_only=False)
    return result


def column_of(name: str, arrow: pa.DataType) -> Column:
    """Say what a published column of an Arrow type holds; refuse types that cannot be asked about."""
    if pa.types.is_decimal(arrow):
        return Column(name, Kind.DECIMAL, arrow.precision, arrow.scale)
    tests = {
        Kind.BOOL: pa.types.is_boolean,
        Kind.INT: pa.types.is_integer,
        Kind.FLOAT: pa.types.is_floating,
        Kind.TEXT: lambda t: pa.types.is_string(t) or pa.types.is_large_string(t),
        Kind.DATE: pa.types.is_date32,
        Kind.TIME: pa.types.is_timestamp,
    }
    kind = next((kind for kind, test in tests.items() if test(arrow)), None)
    if kind is None:
        raise QueryError(f"column '{name}' has the type {arrow}, which cannot be asked about")
    return Column(name, kind)
