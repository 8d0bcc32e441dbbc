"""From a tree of branches to arrays, checked: no empty branch, no value twice, no label for two different sets."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import SchemaError
from hedgerow.schema.domain import is_number
from hedgerow.schema.hierarchy_build import Branch
from hedgerow.table.checks import BLANKS


@dataclass(frozen=True)
class FlatTree:
    """A tree as arrays over its nodes: the values first, then the inner nodes, children before parents."""

    leaves: pa.Array
    parents: NDArray[np.int32]
    depths: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    labels: tuple[str, ...]


@dataclass
class _Walk:
    """What a depth-first walk collects; inner nodes are numbered in the order in which they are left."""

    values: list[Any] = field(default_factory=list)
    value_depths: list[int] = field(default_factory=list)
    value_parents: list[int] = field(default_factory=list)
    inner: list[tuple[str | None, int, int, int]] = field(default_factory=list)  # label, depth, low, high
    inner_parents: list[int] = field(default_factory=list)

    def visit(self, branch: Branch, depth: int) -> int:
        """Walk a branch and return its number among the inner nodes."""
        low = len(self.values)
        own_values: list[int] = []
        own_branches: list[int] = []
        for child in branch.children:
            if isinstance(child, Branch):
                own_branches.append(self.visit(child, depth + 1))
            else:
                own_values.append(self.add_value(child, depth + 1))
        return self.leave(branch, (depth, low), own_values, own_branches)

    def add_value(self, value: Any, depth: int) -> int:
        """Append a value; its parent is filled in when its branch is left."""
        plain = value.item() if isinstance(value, np.generic) else value
        self.values.append(plain.strip(BLANKS) if isinstance(plain, str) else plain)
        self.value_depths.append(depth)
        self.value_parents.append(-1)
        return len(self.values) - 1

    def leave(self, branch: Branch, place: tuple[int, int], own_values: list[int], own_branches: list[int]) -> int:
        """Number a branch after everything below it."""
        depth, low = place
        if low == len(self.values):
            raise SchemaError(
                f"the branch '{branch.label}' has no values below it." if branch.label else "a branch is empty."
            )
        number = len(self.inner)
        self.inner.append((branch.label, depth, low, len(self.values)))
        self.inner_parents.append(-1)
        for value in own_values:
            self.value_parents[value] = number
        for below in own_branches:
            self.inner_parents[below] = number
        return number


def flatten(tree: Branch) -> FlatTree:
    """Number the nodes and check that every level partitions the values."""
    walk = _Walk()
    walk.visit(tree, 0)
    leaves = _as_arrow(walk.values)
    _require_differing(walk.values)
    count = len(leaves)
    codes = range(count)
    parents = [count + parent for parent in walk.value_parents + walk.inner_parents[:-1]]
    labels = _labels(walk)
    low = [*codes, *(node[2] for node in walk.inner)]
    high = [*(code + 1 for code in codes), *(node[3] for node in walk.inner)]
    _require_clear_labels(labels, low, high)
    depths = [*walk.value_depths, *(node[1] for node in walk.inner)]
    return FlatTree(leaves, _frozen([*parents, -1]), _frozen(depths), _frozen(low), _frozen(high), labels)


def _frozen(numbers: Sequence[int]) -> NDArray[np.int32]:
    array = np.array(numbers, dtype=np.int32)
    array.setflags(write=False)
    return array


def _as_arrow(values: list[Any]) -> pa.Array:
    kinds = {_kind(value) for value in values}
    if len(kinds) > 1:
        raise SchemaError("the values of a hierarchy must be of one kind: all numbers, all texts or all dates.")
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError) as error:
        raise SchemaError(
            "the values of a hierarchy must fit a column: numbers of at most 64 bits, texts, dates."
        ) from error


def _kind(value: Any) -> type:
    """The kind of one value, or a refusal; whole numbers, floats and decimals are one kind."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise SchemaError("a hierarchy must not hold missing values: their policy is the schema's 'missing'.")
    if type(value) in (bool, str, datetime.date, datetime.datetime):
        return type(value)
    if is_number(value):
        return float
    raise SchemaError(f"a value of a hierarchy must be a finite number, a text or a date; got {type(value).__name__}.")


def _require_differing(values: list[Any]) -> None:
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            raise SchemaError(f"branches overlap: the value {value!r} is in the hierarchy twice.")
        seen.add(value)


def _labels(walk: _Walk) -> tuple[str, ...]:
    values = walk.values
    ascending = not isinstance(values[0], str) and all(a < b for a, b in pairwise(values))
    inner = [_made_label(values[low:high], ascending) if label is None else label for label, _, low, high in walk.inner]
    return (*map(_text, values), *inner)


def _made_label(values: Sequence[Any], ascending: bool) -> str:
    if len(values) == 1:
        return _text(values[0])
    if ascending:
        return f"[{_text(values[0])}, {_text(values[-1])}]"
    return "{" + ", ".join(map(_text, values)) + "}"


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def _require_clear_labels(labels: Sequence[str], low: Sequence[int], high: Sequence[int]) -> None:
    """Two nodes may share a label only where one lies below the other, as in ARX's `Male;Male;*`."""
    spans: dict[str, tuple[int, int]] = {}
    for label, start, end in zip(labels, low, high, strict=True):
        known = spans.setdefault(label, (start, end))
        if not (start <= known[0] and known[1] <= end):
            raise SchemaError(
                f"the label '{label}' stands for two different sets of values; give them different labels."
            )
        spans[label] = (start, end)
