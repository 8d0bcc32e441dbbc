"""Grow a tree over values in any of the ways that people write one down, and lay it out as checked arrays.

Every way ends in the same thing, a `Branch` with branches or values below it; `flatten` turns that into arrays and
checks it: no empty branch, no value twice, no label for two different sets. Messages here may quote what the user wrote
into the hierarchy.

A file in ARX's format, the one that people already have, has no header; one line per value; the value first, then its
ever more general labels; the last label is the same on every line. Values of one branch need not stand together in the
file. Spaces and tabs around a label are dropped, as those around the cells of a table are.
"""

from __future__ import annotations

import csv
import datetime
import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, pairwise
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import InputError, ParameterError, SchemaError, as_path, counted
from hedgerow.exact import as_fraction
from hedgerow.schema.domain import is_number, plain_number
from hedgerow.table.checks import BLANKS

ROOT = "*"
"""The label of the root unless its author gave another."""

DEEPEST = 64
"""A hierarchy with more levels than this is a list that contains itself, or a slip."""


MOST_CUTS = 1_000_000
"""More intervals than this are a slip of the width."""


@dataclass(frozen=True)
class Branch:
    """A node with something below it; a label of None is made from the values below it."""

    label: str | None
    children: tuple[Any, ...]


def nested_tree(tree: object) -> Branch:
    """Read nested lists; a mapping gives its branches names: `{"north": ["a", "b"], "south": ["c"]}`."""
    return Branch(ROOT, _nested_children(tree, 1))


def _nested_children(tree: object, depth: int) -> tuple[Any, ...]:
    if depth > DEEPEST:
        raise SchemaError(f"a hierarchy must have at most {DEEPEST} levels; this one goes deeper.")
    if isinstance(tree, Mapping):
        return tuple(Branch(str(name), _nested_children(below, depth + 1)) for name, below in tree.items())
    if not isinstance(tree, list | tuple):
        raise SchemaError(f"a nested hierarchy must be made of lists and mappings; got {type(tree).__name__}.")
    return tuple(
        Branch(None, _nested_children(item, depth + 1)) if isinstance(item, list | tuple | Mapping) else item
        for item in tree
    )


def balanced_tree(values: Sequence[Any], fanout: int) -> Branch:
    """Cut the values into `fanout` runs of even length, each of these again, down to single values."""
    _require_whole("fanout", fanout, 2)
    return Branch(ROOT, tuple(_balance(part, fanout) for part in _even_runs(values, fanout)))


def _balance(values: Sequence[Any], fanout: int) -> Any:
    if len(values) == 1:
        return values[0]
    return Branch(None, tuple(_balance(part, fanout) for part in _even_runs(values, fanout)))


def fixed_depth_tree(values: Sequence[Any], depth: int) -> Branch:
    """Put every value `depth` steps below the root, with fan-outs as even as they can be."""
    _require_whole("depth", depth, 1)
    if depth > DEEPEST:
        raise ParameterError(f"'depth' must be at most {DEEPEST}; got {depth}.")
    return Branch(ROOT, _deep(values, depth))


def _deep(values: Sequence[Any], depth: int) -> tuple[Any, ...]:
    if depth == 1:
        return tuple(values)
    fanout = math.ceil(round(len(values) ** (1 / depth), 9))
    return tuple(Branch(None, _deep(part, depth - 1)) for part in _even_runs(values, fanout))


def _even_runs(values: Sequence[Any], parts: int) -> list[Sequence[Any]]:
    parts = max(1, min(parts, len(values)))
    ends = [len(values) * i // parts for i in range(parts + 1)]
    return [values[start:end] for start, end in pairwise(ends)]


def layers_of_width(values: Sequence[Any], width: Any, start: Any) -> list[list[Any]]:
    """Cut points of even width around the values, one list per width; each width must divide the next."""
    widths = [_positive(one) for one in (width if isinstance(width, list | tuple) else [width])]
    if any(coarser % finer for finer, coarser in pairwise(widths)):
        raise SchemaError("intervals overlap: every width must be a multiple of the one before it.")
    numbers = [_number(value) for value in values]
    if not numbers or not widths:
        raise SchemaError("an interval hierarchy needs at least one value and one width.")
    first = _number(start) if start is not None else min(numbers) // widths[-1] * widths[-1]
    steps = (max(numbers) - first) // widths[-1] + 1
    if steps * (widths[-1] / widths[0]) > MOST_CUTS:
        raise SchemaError(f"'width' must give at most {MOST_CUTS:,} intervals over the values; give a larger one.")
    # Every level ends where the widest one ends, so that all levels cover the same range.
    end = first + steps * widths[-1]
    return [[plain_number(first + i * one) for i in range(int((end - first) / one) + 1)] for one in widths]


def interval_tree(values: Sequence[Any], layers: Sequence[Sequence[Any]]) -> Branch:
    """Group ascending values by cut points, one layer of cuts per level, finest first.

    Cuts a < b < c make [a, b) and [b, c). The coarser layers' cuts must be among the finer ones'.
    """
    _require_one_kind([*values, *chain.from_iterable(layers)])
    exact = [_comparable(value) for value in values]
    if any(low >= high for low, high in pairwise(exact)):
        raise SchemaError("the values of an interval hierarchy must ascend; sort them and drop doubles.")
    exact_layers = [[_comparable(cut) for cut in cuts] for cuts in layers]
    for finer, coarser in pairwise(exact_layers):
        _require_nested(finer, coarser)
    for cuts in exact_layers:
        _require_covering(exact, cuts)
    levels = [_TreeLevel(exact_cuts, cuts) for exact_cuts, cuts in zip(exact_layers, layers, strict=True)]
    return Branch(ROOT, _cut(list(zip(exact, values, strict=True)), levels[::-1]))


@dataclass(frozen=True)
class _TreeLevel:
    """The cut points of one level, to compare with and as they were written."""

    exact: Sequence[Any]
    written: Sequence[Any]

    def label(self, place: int) -> str:
        return f"[{self.written[place - 1]}, {self.written[place]})"


def _cut(pairs: list[tuple[Any, Any]], coarsest_first: Sequence[_TreeLevel]) -> tuple[Any, ...]:
    if not coarsest_first:
        return tuple(value for _, value in pairs)
    level, finer = coarsest_first[0], coarsest_first[1:]
    runs: dict[int, list[tuple[Any, Any]]] = {}
    for pair in pairs:
        runs.setdefault(bisect_right(level.exact, pair[0]), []).append(pair)
    return tuple(Branch(level.label(place), _cut(run, finer)) for place, run in runs.items())


def _positive(width: object) -> Fraction:
    if _number(width) <= 0:
        raise SchemaError(f"'width' must be positive; got {width}.")
    return _number(width)


def _number(value: object) -> Fraction:
    try:
        return as_fraction(value)
    except ValueError as error:
        raise SchemaError("intervals need finite numbers, or 'cuts' among texts or dates.") from error


def _comparable(value: Any) -> Any:
    """Numbers as fractions, so that 0.3 is three tenths; dates and texts as they are."""
    is_text_or_date = isinstance(value, str | datetime.date)
    return value if is_text_or_date else _number(value)


def _require_one_kind(points: Iterable[Any]) -> None:
    kinds = {type(_comparable(point)) for point in points}
    if len(kinds) > 1:
        raise SchemaError("values and cuts must be of one kind: all numbers, all texts or all dates.")


def _require_covering(values: Sequence[Any], cuts: Sequence[Any]) -> None:
    if len(cuts) < 2 or any(low >= high for low, high in pairwise(cuts)):
        raise SchemaError("'cuts' must be at least two ascending, different points.")
    outside = sum(not cuts[0] <= value < cuts[-1] for value in values)
    if outside:
        raise SchemaError(
            f"{counted(outside, 'value lies', 'values lie')} in no interval: the cuts cover "
            f"[{cuts[0]}, {cuts[-1]}), the end not included."
        )


def _require_nested(finer: Sequence[Any], coarser: Sequence[Any]) -> None:
    known = set(finer)
    astray = [str(cut) for cut in coarser if cut not in known]
    if astray:
        raise SchemaError(
            f"intervals overlap: the cuts {', '.join(astray)} of a level are not cuts of the level below."
        )


def _require_whole(name: str, number: object, least: int) -> None:
    if type(number) is not int or number < least:
        raise ParameterError(f"'{name}' must be an integer of at least {least}; got {number!r}.")


def arx_tree(path: str | PathLike[str], delimiter: str) -> Branch:
    """Read ARX's format: no header, one line per value, most specific first, the last column the same everywhere."""
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise ParameterError(f"'delimiter' must be one character that is no quote or line end; got {delimiter!r}.")
    lines = _read_lines(path, delimiter)
    _require_rectangle(lines)
    root = {line[-1] for line in lines}
    if len(root) > 1:
        raise SchemaError(
            f"the last column of a hierarchy must hold one label; it holds {len(root)}. Add a column of '*'."
        )
    _require_differing([line[0] for line in lines])
    _require_one_parent(lines)
    return Branch(root.pop(), _arx_children([line[-2::-1] for line in lines]))


def _arx_children(paths: Sequence[list[str]]) -> tuple[Any, ...]:
    """Group root-to-value paths by their first label; first come, first placed."""
    if len(paths[0]) == 1:
        return tuple(path[0] for path in paths)
    below: dict[str, list[list[str]]] = {}
    for path in paths:
        below.setdefault(path[0], []).append(path[1:])
    return tuple(Branch(label, _arx_children(rest)) for label, rest in below.items())


def _read_lines(path: str | PathLike[str], delimiter: str) -> list[list[str]]:
    try:
        with open(as_path(path), encoding="utf-8-sig", newline="") as file:
            read = csv.reader(file, delimiter=delimiter, strict=True)
            lines = [[cell.strip(BLANKS) for cell in line] for line in read if line]
    except OSError as error:
        raise InputError(
            f"the hierarchy file cannot be read: {(error.strerror or 'input/output error').lower()}."
        ) from None
    except UnicodeDecodeError:
        raise InputError("the hierarchy file cannot be read: it is not UTF-8.") from None
    except ParameterError:
        raise
    except (ValueError, TypeError):  # no file has such a name; no sign parts cells by several letters
        raise InputError("the hierarchy file cannot be read: its name or the delimiter is none.") from None
    except csv.Error:
        raise InputError("the hierarchy file cannot be read: its quotes or line ends are broken.") from None
    if not lines:
        raise InputError("the hierarchy file holds no lines; it needs one per value.")
    return lines


def _require_rectangle(lines: Sequence[Sequence[str]]) -> None:
    width = len(lines[0])
    if width < 2:
        raise SchemaError(
            "a hierarchy file needs at least two columns: the value and one label. Is the delimiter right?"
        )
    if width > DEEPEST:
        raise SchemaError(f"a hierarchy must have at most {DEEPEST} levels; this file has {width}.")
    ragged = [number for number, line in enumerate(lines, 1) if len(line) != width]
    if ragged:
        raise SchemaError(
            f"line {ragged[0]} must have {width} columns as the first line has; "
            f"{counted(len(ragged), 'line differs', 'lines differ')}."
        )


def _require_differing(values: Iterable[str]) -> None:
    seen: set[str] = set()
    twice = [value for value in values if value in seen or seen.add(value)]  # type: ignore[func-returns-value]
    if twice:
        raise SchemaError(f"every value must be listed once; '{twice[0]}' is listed again ({len(twice)} such lines).")


def _require_one_parent(lines: Sequence[Sequence[str]]) -> None:
    for level in range(1, len(lines[0]) - 1):
        parents: dict[str, str] = {}
        for line in lines:
            if parents.setdefault(line[level], line[level + 1]) != line[level + 1]:
                raise SchemaError(f"'{line[level]}' of level {level} lies under two labels of level {level + 1}.")


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
    _require_distinct(walk.values)
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


def _require_distinct(values: list[Any]) -> None:
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
