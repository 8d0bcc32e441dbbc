"""Which rows belong together before values are disguised, and which target they get: given, a shape, or their own."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import Infeasible, ParameterError, SchemaError
from hedgerow.methods.method import Prepared
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.schema.target import histogram, normal, quantize, uniform, zipf
from hedgerow.table import Encoded, Table

__all__ = [
    "SHAPES",
    "Grouped",
    "Parts",
    "Targets",
    "check_target",
    "choose_targets",
    "default_tree",
    "equal_quasi",
    "grouped",
    "one_column",
    "parts_of",
]


@dataclass(frozen=True, eq=False)
class Parts:
    """The part of each row, and the keys by which targets are given: values of a column, or interval numbers."""

    codes: NDArray[np.int64]
    keys: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Grouped:
    """Rows group after group, with the part of each group."""

    rows: NDArray[np.int32]
    offsets: NDArray[np.int64]
    parts: NDArray[np.int64]


def parts_of(table: Table, parts: str | Mapping[str, Sequence[Any]] | None, open_columns: Sequence[str]) -> Parts:
    """Cut a table into parts: by a column's values, by cut points ({column: cuts}), or not at all."""
    if parts is None:
        return Parts(np.zeros(table.num_rows, np.int64), (None,))
    column, cuts = (parts, None) if isinstance(parts, str) else _one_column(parts)
    if column not in open_columns:
        raise SchemaError(f"'parts' must name a column that is published as it is; '{column}' is none of them.")
    encoded = table.encode(column)
    values = [*encoded.domain.to_pylist(), *([None] if encoded.has_missing else [])]
    if cuts is None:
        return Parts(encoded.codes.astype(np.int64), tuple(values))
    if encoded.has_missing:
        raise SchemaError(f"'{column}' has missing values, which lie in no interval; cut another column.")
    places = np.array([_interval(value, cuts, column) for value in values], np.int64)
    return Parts(places[encoded.codes], tuple(range(len(cuts) + 1)))


def _one_column(parts: Mapping[str, Sequence[Any]]) -> tuple[str, Sequence[Any]]:
    if not isinstance(parts, Mapping) or len(parts) != 1:
        raise ParameterError("'parts' must be a column's name, or one column with its cut points: {'age': [30, 50]}.")
    ((column, cuts),) = parts.items()
    if list(cuts) != sorted(set(cuts)):
        raise ParameterError("the cut points of 'parts' must ascend and differ.")
    return column, cuts


def _interval(value: Any, cuts: Sequence[Any], column: str) -> int:
    try:
        return bisect_right(cuts, value)
    except TypeError:
        raise ParameterError(f"the cut points of 'parts' must be of the kind of '{column}'.") from None


def equal_quasi(table: Table, quasi: Sequence[str], parts: Parts) -> NDArray[np.int64]:
    """Number the rows so that two rows agree exactly if their parts and quasi-identifiers do."""
    cells, size = parts.codes, len(parts.keys)
    for name in quasi:
        encoded = table.encode(name)
        cells = cells * encoded.size + encoded.codes
        size *= encoded.size
        if size > 2**40:
            found, cells = np.unique(cells, return_inverse=True)
            size = len(found)
    return cells


def grouped(cells: NDArray[np.int64], parts: Parts) -> Grouped:
    """Put rows with equal numbers next to each other."""
    if not cells.any():
        rows = np.arange(len(cells), dtype=np.int32)
        return Grouped(rows, np.array([0, len(cells)]), parts.codes[:1])
    order = np.argsort(cells, kind="stable")
    ascending = cells[order]
    starts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
    return Grouped(order.astype(np.int32), np.append(starts, len(cells)), parts.codes[order[starts]])


SHAPES: dict[str, Callable[[Hierarchy], Hierarchy]] = {"uniform": uniform, "normal": normal, "zipf": zipf}

SOURCE = "source"

_MOST_VALUES = 1 << 16
"""Exact shares of so many values take some ten seconds if they are equal, and minutes if they follow a bell."""

_SMALL = 10
"""Named shapes have ratios like 1000:1001, which keep everything at the root; sums of ten publish something."""


@dataclass(frozen=True, eq=False)
class Targets:
    """The different targets, the number of each group's, and the largest distance between asked and used."""

    trees: list[Hierarchy]
    which: NDArray[np.int32]
    distance: Fraction


def choose_targets(
    target: Any, most: int | None, prepared: Prepared, sensitive: Encoded, parts: Parts, groups: Grouped
) -> Targets:
    """Find the target of every group; `most` makes ratios small."""
    trees: list[Hierarchy] = []
    known: dict[Any, int] = {}
    numbers: dict[int, int] = {}
    furthest = Fraction(0)
    for part in np.unique(groups.parts).tolist():
        wanted = _wanted(target, parts.keys[part])
        key = (SOURCE, part) if wanted == SOURCE else wanted if isinstance(wanted, str) else id(wanted)
        if key not in known:
            tree, distance = _tree(wanted, most, prepared, sensitive, parts.codes == part)
            known[key] = len(trees)
            trees.append(tree)
            furthest = max(furthest, distance)
        numbers[part] = known[key]
    return Targets(trees, np.array([numbers[part] for part in groups.parts.tolist()], np.int32), furthest)


def _wanted(target: Any, key: Any) -> Any:
    if not isinstance(target, Mapping):
        return target
    if key not in target:
        raise ParameterError(f"'target' must name every part; {len(target)} are named, at least one is missing.")
    check_target(target[key])
    return target[key]


def _tree(
    wanted: Any, most: int | None, prepared: Prepared, sensitive: Encoded, rows: NDArray[np.bool_]
) -> tuple[Hierarchy, Fraction]:
    tree = wanted
    if isinstance(wanted, str):
        bare = default_tree(prepared, sensitive)
        tree = SHAPES[wanted](bare) if wanted in SHAPES else _own(bare, prepared.columns.sensitive[0], sensitive, rows)
        most = most or (_SMALL if wanted in SHAPES else None)
    if sum(share > 0 for share in tree.target()) < 2:
        raise Infeasible("a target that gives one value alone a chance hides nothing; use a wider one.")
    if most is None:
        return tree, Fraction(0)
    small = quantize(tree, most=most)
    return small.hierarchy, small.distance


def _own(bare: Hierarchy, column: str, sensitive: Encoded, rows: NDArray[np.bool_]) -> Hierarchy:
    codes = bare.leaf_codes(column, sensitive.domain)
    return histogram(bare, np.bincount(codes[sensitive.codes[rows]], minlength=bare.num_leaves).tolist())


def one_column(prepared: Prepared, what: str) -> str:
    """The one sensitive column, without missing values, or a reason."""
    if len(prepared.columns.sensitive) != 1:
        raise SchemaError(f"{what} protects one sensitive column; {len(prepared.columns.sensitive)} were given.")
    column = prepared.columns.sensitive[0]
    if prepared.table.encode(column).has_missing:
        raise SchemaError(
            f"'{column}' has missing values, which are in no hierarchy; "
            f'missing={{"{column}": "suppress"}} holds these rows back and counts them.'
        )
    return column


def default_tree(prepared: Prepared, sensitive: Encoded) -> Hierarchy:
    """The declared hierarchy, else a binary tree over the declared domain, else over the values that occur."""
    column = prepared.columns.sensitive[0]
    if column in prepared.schema.hierarchies:
        return prepared.schema.hierarchies[column]
    domain = prepared.schema.domains.get(column)
    is_listed = domain is not None and (domain.listed or None not in (domain.low, domain.high, domain.step))
    if domain is not None and is_listed:
        return Hierarchy.binary(domain)
    if len(sensitive.domain) > _MOST_VALUES:
        raise SchemaError(
            f"'{column}' has {len(sensitive.domain):,} different values, and exact shares are given to up to "
            f"{_MOST_VALUES:,}; declare a hierarchy or a domain with fewer values."
        )
    return Hierarchy.binary(sensitive.domain)


def check_target(target: object) -> None:
    """Refuse what is neither a hierarchy with weights nor the name of a shape."""
    if isinstance(target, Hierarchy) and target.weights is not None:
        return
    if not isinstance(target, str) or target not in (*SHAPES, SOURCE):
        raise ParameterError(f"'target' must be a hierarchy with weights or one of {', '.join((*SHAPES, SOURCE))}.")
