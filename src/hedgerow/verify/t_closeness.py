"""Check t-closeness of published groups: move each group's shares onto those of all published rows.

Guarantee  decided by whole numbers; the hierarchical distance uses the tree that the guarantee lists
Cost       O(groups * values) for the ordered distance, O(pairs * levels) for the others
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import BrokenPromise
from hedgerow.verify.group_counts import Counted, Parameters

__all__ = ["check_t"]


def check_t(column: Counted, parameters: Parameters) -> str:
    """Every group is within t of the column."""
    t, distance = Fraction(parameters["t"]), str(parameters.get("distance"))
    if distance == "ordered":
        far = any(moved > t for moved in _ordered(column))
    elif distance in ("equal", "hierarchical"):
        far = any(moved > t for moved in _by_levels(column, _levels(column, parameters, distance)))
    else:
        raise BrokenPromise("The release promises a distance that this version cannot verify.")
    if far:
        raise BrokenPromise(f"A group is farther than t from the distribution of '{column.name}'.")
    return f"within {parameters['t']} ({distance}) of the distribution of '{column.name}'"


def _ordered(column: Counted) -> Iterator[Fraction]:
    """The mass that crosses each gap between neighbouring values."""
    if len(column.overall) > len(column.values):
        raise BrokenPromise(f"'{column.name}' has missing values, which have no place in an order.")
    rows, steps = int(column.sizes.sum()), max(len(column.overall) - 1, 1)
    upto = np.cumsum(column.overall)
    for (codes, counts), size in zip(column.runs(), column.sizes.tolist(), strict=True):
        inside = np.zeros(len(upto), np.int64)
        inside[codes] = counts
        # Each difference fits 64 bits; their sum may not, but it does in two halves.
        apart = np.abs(np.cumsum(inside) * rows - upto * size)
        total = (int((apart >> 31).sum()) << 31) + int((apart & (2**31 - 1)).sum())
        yield Fraction(total, rows * size * steps)


def _levels(column: Counted, parameters: Parameters, distance: str) -> list[NDArray[np.int64]]:
    """For each level below the root the number of the node above each code; one level of values if all are equal."""
    size = len(column.overall)
    if distance == "equal":
        return [np.arange(size)]
    lines = json.loads(str(parameters.get(f"hierarchy of {column.name}", "[]")))
    texts = column.values.cast(pa.string()).to_pylist()
    known = {line[0]: line for line in lines}
    if not all(text in known for text in texts) or len({len(line) for line in lines}) > 1:
        raise BrokenPromise(f"The guarantee does not list the hierarchy of '{column.name}'.")
    height = max(len(lines[0]) - 1, 1) if lines else 1
    # A node is known by all labels from it to the root: the same label may stand in two branches.
    return [_numbered([tuple(known[text][level:]) for text in texts], size) for level in range(height)]


def _numbered(nodes: list[tuple[str, ...]], size: int) -> NDArray[np.int64]:
    """Number nodes by first appearance; a missing value behind them is a node of its own."""
    numbers = {node: place for place, node in enumerate(dict.fromkeys(nodes))}
    return np.array([*(numbers[node] for node in nodes), *range(len(nodes), size)])


def _by_levels(column: Counted, levels: list[NDArray[np.int64]]) -> Iterator[Fraction]:
    """The mean over levels of half the sum of differences of shares."""
    rows = int(column.sizes.sum())
    totals = [np.bincount(level, weights=column.overall).astype(np.int64).tolist() for level in levels]
    for (codes, counts), size in zip(column.runs(), column.sizes.tolist(), strict=True):
        moved = 0
        for level, total in zip(levels, totals, strict=True):
            # Both shares add up to one, so what one node has too much the others have too little.
            inside = np.bincount(level[codes], weights=counts)
            present = np.flatnonzero(inside)
            moved += sum(max(int(inside[node]) * rows - total[node] * size, 0) for node in present.tolist())
        yield Fraction(moved, rows * size * len(levels))
