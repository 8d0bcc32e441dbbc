"""The rows of a release as arrays: each published column encoded once, groups as ranges of rows.

A condition on one column is decided on its distinct values and gathered by codes; conditions that compare columns
with each other are decided row by row, in SQL's three-valued logic: true, false, and null for unknown. A view is built
once per release object and forgotten with it. Between questions it remembers the arrays used last, within a number of
bytes; what was forgotten is computed again.
"""

from __future__ import annotations

import copy
import functools
import importlib
import re
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.exact import floats_of
from hedgerow.query.sql.computing import compute
from hedgerow.query.sql.digits import fits
from hedgerow.query.sql.question import (
    MOST_FLOAT,
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    Constant,
    Expression,
    In,
    IsNull,
    Kind,
    Like,
    Lookup,
    Not,
    Or,
    Part,
    Predicate,
    Scalar,
    Truth,
    columns_of,
    kind_of,
)
from hedgerow.verify.made import PAIRED

if TYPE_CHECKING:
    from hedgerow.exact import DecimalGrid
    from hedgerow.release import PublishedColumns, Release

__all__ = [
    "LEAST",
    "PER_ROW",
    "TYPES",
    "Codes",
    "Recent",
    "View",
    "bytes_of",
    "column_of",
    "evaluate",
    "fresh_source",
    "is_paired",
    "missing_rows",
    "source_of",
    "values",
    "view_of",
]

LEAST = 64 * 2**20
"""Bytes that may be remembered of a table of any size."""
PER_ROW = 160
"""Bytes that may be remembered per row of a large table: some ten columns as codes, two of them sorted with sums."""


class Recent:
    """Results by key; those that were asked for longest ago are forgotten first."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._kept: OrderedDict[str, Any] = OrderedDict()

    def remember(self, key: str, make: Callable[[], Any]) -> Any:
        """Return what `make` gave when last asked, if it is still there."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        made = make()
        self._kept[key] = made
        self._forget()
        return made

    @property
    def size(self) -> int:
        """The bytes of all that is remembered."""
        seen: set[int] = set()
        return sum(bytes_of(made, seen) for made in self._kept.values())

    def _forget(self) -> None:
        """Results grow after they were made (sums, mirror images), so all are measured again."""
        seen: set[int] = set()
        total = 0
        for key in reversed(list(self._kept)):
            total += bytes_of(self._kept[key], seen)
            if total > self.budget and key != next(reversed(self._kept)):
                del self._kept[key]


def bytes_of(item: Any, seen: set[int]) -> int:
    """The bytes of the arrays that an object holds, each once; other views and releases are not its own."""
    if id(item) in seen or item is None or isinstance(item, str | int | float | bool | type):
        return 0
    seen.add(id(item))
    if isinstance(item, np.ndarray):
        return bytes_of(item.base, seen) if item.base is not None else item.nbytes
    if isinstance(item, pa.Array | pa.ChunkedArray):
        return int(item.nbytes)
    if isinstance(item, tuple | list):
        return sum(bytes_of(part, seen) for part in item)
    if isinstance(item, dict):
        return sum(bytes_of(part, seen) for part in item.values())
    is_own = type(item).__module__.startswith("hedgerow.query") and not hasattr(item, "remember")
    return bytes_of(vars(item), seen) if is_own and hasattr(item, "__dict__") else 0


_COMPARE = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_ARITHMETIC = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
TYPES = {
    Kind.BOOL: pa.bool_(),
    Kind.INT: pa.int64(),
    Kind.FLOAT: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.timestamp("us"),
}


def evaluate(predicate: Predicate, columns: Mapping[str, pa.Array], length: int) -> pa.Array:
    """Return true, false or null for each of `length` rows."""
    return _compute_array(lambda: _truth(predicate, columns), length)


def values(expression: Expression, columns: Mapping[str, pa.Array], length: int) -> pa.Array:
    """Return the value of an expression in each of `length` rows."""
    return _compute_array(lambda: _value(expression, columns), length)


def _compute_array(compute: Callable[[], Any], length: int) -> pa.Array:
    try:
        result = compute()
    except pa.ArrowInvalid:
        raise QueryError("arithmetic in the question leaves 64-bit whole numbers; write x::DOUBLE") from None
    return result if isinstance(result, pa.Array) else pa.repeat(result, length)


def _truth(node: Predicate, columns: Mapping[str, pa.Array]) -> Any:
    if isinstance(node, Truth):
        return pa.scalar(node.value, pa.bool_())
    if isinstance(node, Not):
        return pc.invert(_truth(node.operand, columns))
    if isinstance(node, And | Or):
        join = pc.and_kleene if isinstance(node, And) else pc.or_kleene
        result = _truth(node.operands[0], columns)
        for operand in node.operands[1:]:
            result = join(result, _truth(operand, columns))
        return result
    if isinstance(node, Compare):
        return _COMPARE[node.operator](_value(node.left, columns), _value(node.right, columns))
    return _test(node, _value(node.operand, columns))


def _test(node: In | Like | IsNull, operand: Any) -> Any:
    if isinstance(node, IsNull):
        return pc.is_null(operand)
    if isinstance(node, Like):
        return pc.match_substring_regex(operand, _pattern(node))
    if pa.types.is_float64(operand.type):
        operand = pc.add(operand, 0.0)
    members = pa.array([constant.value for constant in node.values], operand.type)
    # is_in calls a missing value "not a member"; SQL does not know.
    return pc.if_else(pc.is_valid(operand), pc.is_in(operand, members), pa.scalar(None, pa.bool_()))


def _pattern(node: Like) -> str:
    pieces, characters = [], iter(node.pattern)
    for character in characters:
        if character == node.escape:
            pieces.append(re.escape(next(characters, "")))
        else:
            pieces.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    return f"(?s)^{''.join(pieces)}$"


def _value(node: Expression, columns: Mapping[str, pa.Array]) -> Any:
    if isinstance(node, Column):
        return columns[node.name]
    if isinstance(node, Constant):
        return pa.scalar(node.value, None if node.kind is Kind.DECIMAL or node.kind is None else TYPES[node.kind])
    if isinstance(node, Cast) and node.scale is not None:
        return _decimal(node, columns)
    if isinstance(node, Cast):
        # Whole numbers beyond 2^53 become the nearest float, as every database has it.
        operand = _value(node.operand, columns)
        return floats_of(operand) if node.kind is Kind.FLOAT else pc.cast(operand, TYPES[node.kind], safe=False)
    if isinstance(node, Part):
        return {"year": pc.year, "month": pc.month, "day": pc.day}[node.unit](_value(node.operand, columns))
    if isinstance(node, Case):
        return _case(node, columns)
    if isinstance(node, Lookup):
        return node.source.values(node.column, [_value(operand, columns) for operand in node.operands])
    if isinstance(node, Scalar):
        return _scalar(node, columns)
    if isinstance(node, Call):
        return _CALLS[node.function](*(_value(operand, columns) for operand in node.operands))
    assert isinstance(node, Arithmetic)
    return _compute(node, _value(node.left, columns), _value(node.right, columns))


def _decimal(node: Cast, columns: Mapping[str, pa.Array]) -> Any:
    def largest(part: Expression) -> float:
        sizes = pc.abs(floats_of(_value(part, columns)))
        return (sizes if isinstance(sizes, pa.Scalar) else pc.max(sizes)).as_py() or 0.0

    if not fits(node, largest):
        raise QueryError(
            "arithmetic with decimals in the question has more than 15 digits; write a column of large numbers as "
            "x::DOUBLE, which SQL computes in floats"
        )
    return _value(node.spelled, columns)


def _scalar(node: Scalar, columns: Mapping[str, pa.Array]) -> Any:
    operands = [_value(operand, columns) for operand in node.operands]
    length = next((len(operand) for operand in operands if isinstance(operand, pa.Array)), 1)
    found = compute(node, [one if isinstance(one, pa.Array) else pa.repeat(one, length) for one in operands], length)
    return found if any(isinstance(operand, pa.Array) for operand in operands) else found[0]


def _compute(node: Arithmetic, left: Any, right: Any) -> Any:
    if node.operator == "/":
        return pc.divide(left, pc.if_else(pc.equal(right, 0.0), pa.scalar(None, pa.float64()), right))
    if Kind.DATE in (kind_of(node.left), kind_of(node.right)):
        result = _ARITHMETIC[node.operator](_as_days(left), _as_days(right))
        return pc.cast(pc.cast(result, pa.int32()), pa.date32()) if node.kind is Kind.DATE else result
    return _ARITHMETIC[node.operator](left, right)


def _case(node: Case, columns: Mapping[str, pa.Array]) -> Any:
    result = _value(node.otherwise, columns)
    for when, then in reversed(node.branches):
        met = pc.fill_null(_truth(when, columns), False)
        result = pc.if_else(met, _value(then, columns), result)
    return result


def _as_float(whole: Any) -> Any:
    """Whole numbers that a float can hold."""
    sizes = pc.min_max(whole)
    if any(abs(sizes[end].as_py() or 0) > MOST_FLOAT for end in ("min", "max")):
        raise QueryError(
            "FLOOR and CEIL give floats, which have fewer digits than whole numbers beyond 2^53; leave them out"
        )
    return whole


def _mod(left: Any, right: Any) -> Any:
    divisor = pc.if_else(pc.equal(right, 0), pa.scalar(None, pa.int64()), right)
    return pc.subtract_checked(left, pc.multiply_checked(pc.divide_checked(left, divisor), divisor))


def _substring(text: Any, start: Any, length: Any) -> Any:
    first = start.as_py() - 1
    return pc.utf8_slice_codeunits(text, first, first + length.as_py())


_CALLS: dict[str, Callable[..., Any]] = {
    "abs": pc.abs_checked,
    "floor": lambda number: _as_float(number) if pa.types.is_integer(number.type) else pc.floor(number),
    "ceil": lambda number: _as_float(number) if pa.types.is_integer(number.type) else pc.ceil(number),
    "round": lambda number: pc.round(number, round_mode="half_towards_infinity"),
    "lower": pc.utf8_lower,
    "upper": pc.utf8_upper,
    "length": lambda text: pc.cast(pc.utf8_length(text), pa.int64()),
    "left": lambda text, length: pc.utf8_slice_codeunits(text, 0, length.as_py()),
    "substring": _substring,
    "mod": _mod,
    "coalesce": pc.coalesce,
}


def _as_days(operand: Any) -> Any:
    is_date = pa.types.is_date32(operand.type)
    return pc.cast(pc.cast(operand, pa.int32()), pa.int64()) if is_date else operand


_MOST_DERIVED = 1_000

_views: weakref.WeakKeyDictionary[Any, View] = weakref.WeakKeyDictionary()
_sources: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def view_of(release: Release) -> View:
    """Return the release's view, building it when first asked."""
    if release not in _views:
        view = View(release.form.rows(release), release.columns, release.group_column, is_paired(release))
        view.grids = release.grids
        policies = dict.fromkeys(release.columns.sensitive, "trimmed") | dict(release.made.texts)
        view.columns = {n: replace(column, texts=policies.get(n, "read")) for n, column in view.columns.items()}
        _views[release] = view
    return _views[release]


def source_of(release: Release) -> Any:
    """The evidence of a release, from the module that its form names; it knows the view, which does not know it."""
    if release not in _sources:
        _sources[release] = fresh_source(release)
    return _sources[release]


def fresh_source(release: Release) -> Any:
    """The evidence of a release that nothing remembers."""
    return importlib.import_module(f"hedgerow.query.evidence.{release.form.evidence}").source(release)


def is_paired(release: Release) -> bool:
    """Tell whether several sensitive columns are published together: a person's values in one row, and said so."""
    return len(release.columns.sensitive) > 1 and release.made.parameters.get(PAIRED) == 1


class Codes:
    """A column as positions in its sorted distinct values; the last position stands for missing."""

    def __init__(self, array: pa.Array) -> None:
        # SQL has one zero, and Arrow tells two of them apart.
        array = pc.add(array, 0.0) if pa.types.is_float64(array.type) else array
        encoded = pc.dictionary_encode(array)
        order = pc.array_sort_indices(encoded.dictionary)
        ranks = np.empty(len(order) + 1, dtype=_code_type(len(order)))
        ranks[order.to_numpy()] = np.arange(len(order))
        ranks[-1] = len(order)
        self.domain: pa.Array = encoded.dictionary.take(order)
        self.codes = ranks[encoded.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)]
        self.width = len(order) + (array.null_count > 0)
        """How many codes there are, that of missing values among them if there are any."""

    def at(self, places: NDArray[Any]) -> pa.Array:
        """The values of some codes."""
        numbers = places.astype(np.int64)
        return self.domain.take(pa.array(numbers, mask=numbers == len(self.domain)))

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
    """The arrays of one release.

    Where it is a part of one, `grids` are the units of columns in the whole release, and `domains` the distinct values
    of columns whose places count.
    """

    def __init__(self, table: pa.Table, columns: PublishedColumns, group_column: str, paired: bool = False) -> None:
        self._table, self.paired = table, paired
        self.memory = Recent(max(LEAST, PER_ROW * table.num_rows))
        self._last: tuple[str, Any] | None = None
        self.derived: dict[str, Expression] = {}
        self.grids: Mapping[str, DecimalGrid] = {}
        self.domains: Mapping[str, pa.Array] = {}
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

    def within(self, grids: Mapping[str, DecimalGrid], domains: Mapping[str, pa.Array]) -> View:
        """The same rows as a part of a release with these units and distinct values.

        It remembers nothing of this view: numbers are counted in units, and those of another question differ.
        """
        part = copy.copy(self)
        part.grids, part.domains, part.derived = grids, domains, dict(self.derived)
        part.memory, part._last = Recent(self.memory.budget), None
        return part

    def remember(self, key: str, make: Callable[[], Any]) -> Any:
        """Return what `make` gave when last asked; it may have been forgotten, and is made again."""
        return self.memory.remember(key, make)

    def keep(self, key: str, make: Callable[[], Any]) -> Any:
        """Return what `make` gave when last asked for: of all that is kept so only the last, however large it is."""
        if self._last is None or self._last[0] != key:
            self._last = key, make()
        return self._last[1]

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
            return self.remember(f"column {name}", lambda: self._derive(self.derived[name]))
        return pa.concat_arrays(self._table.column(name).chunks) if self.num_rows else pa.array([], self._type(name))

    def _derive(self, expression: Expression) -> pa.Array:
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
