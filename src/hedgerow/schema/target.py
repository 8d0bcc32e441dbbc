"""Target distributions: ways to put weights on a hierarchy, and to make the weights small.

A target is a hierarchy whose edges carry whole-number ratios, so that its probabilities are exact fractions. Shapes
that are no fractions by nature (normal, zipf with a broken exponent) are rounded once, to a part in 2^40 of the most
likely value; from then on everything is exact.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hedgerow.errors import ParameterError, SchemaError, counted
from hedgerow.exact import as_fraction
from hedgerow.schema.hierarchy import Hierarchy

_FINEST = 2**40


@dataclass(frozen=True)
class Quantized:
    """A target with small ratios, and how far it is from the one that was asked for."""

    hierarchy: Hierarchy
    distance: Fraction
    """Total variation: the largest difference that any event's probability makes."""


def uniform(hierarchy: Hierarchy) -> Hierarchy:
    """Every value equally likely."""
    return hierarchy.with_target([1] * hierarchy.num_leaves)


def normal(hierarchy: Hierarchy, *, mean: object = None, spread: object = None) -> Hierarchy:
    """The bell curve cut off at the ends of the domain; by default around its middle, with a quarter of its range."""
    numbers = leaf_numbers(hierarchy)
    low, high = min(numbers), max(numbers)
    centre = (low + high) / 2 if mean is None else _number("mean", mean)
    width = (high - low) / 4 or Fraction(1) if spread is None else _number("spread", spread)
    if width <= 0:
        raise ParameterError(f"'spread' must be a number above 0; got {spread}.")
    return hierarchy.with_target(_round_weights([-(float((number - centre) / width) ** 2) / 2 for number in numbers]))


def zipf(hierarchy: Hierarchy, *, s: object = 1, most_likely: str = "low") -> Hierarchy:
    """The value of rank k has a share of 1/k^s; rank 1 is the first value, with `most_likely="high"` the last."""
    exponent = _number("s", s)
    if exponent < 0:
        raise ParameterError(f"'s' must be a number of at least 0; got {s}.")
    if most_likely not in ("low", "high"):
        raise ParameterError("'most_likely' must be 'low' or 'high'.")
    ranks = range(1, hierarchy.num_leaves + 1)
    if exponent.denominator == 1:
        shares: Sequence[object] = [Fraction(1, rank**exponent.numerator) for rank in ranks]
    else:
        shares = _round_weights([-float(exponent) * math.log(rank) for rank in ranks])
    return hierarchy.with_target(shares if most_likely == "low" else shares[::-1])


def histogram(hierarchy: Hierarchy, counts: Mapping[Any, object] | Sequence[object]) -> Hierarchy:
    """The shape of given counts, per value or in leaf order; a value that is not named has none."""
    if isinstance(counts, Mapping):
        leaves = hierarchy.leaves.to_pylist()
        strange = len(counts.keys() - set(leaves))
        if strange:
            raise SchemaError(f"'counts' has {counted(strange, 'value')} not in the hierarchy; add them to it.")
        counts = [counts.get(leaf, 0) for leaf in leaves]
    return hierarchy.with_target(counts)


def population(hierarchy: Hierarchy, source: object, column: str) -> Hierarchy:
    """The shape of a column of another table: a frame, a DuckDB relation or a path."""
    from hedgerow.table import read_table

    encoded = read_table(source).encode(column)
    counts = [0] * hierarchy.num_leaves
    codes = hierarchy.leaf_codes(column, encoded.domain)
    for code, count in zip(codes.tolist(), encoded.counts().tolist(), strict=False):  # a count of missing comes last
        counts[code] = count
    return hierarchy.with_target(counts)


def quantize(hierarchy: Hierarchy, *, most: int = 10) -> Quantized:
    """Replace the ratios below each node by the nearest whole numbers that add up to at most `most`.

    A ratio of 1000:1001 keeps nearly every value at its parent; 1:1 does not. What is possible stays possible: a
    positive weight never becomes zero, so a node with more children than `most` gets one part for each.
    """
    if type(most) is not int or most < 2:
        raise ParameterError(f"'most' must be an integer of at least 2; got {most!r}.")
    asked = hierarchy.target()
    weights = list(hierarchy.weights or ())
    for node in range(hierarchy.num_leaves, hierarchy.num_nodes):
        below = hierarchy.children(node).tolist()
        for child, weight in zip(below, _nearest_ratio([weights[child] for child in below], most), strict=True):
            weights[child] = weight
    used = hierarchy.with_weights(weights[:-1])
    return Quantized(used, _variation(asked, used.target()))


def distance(asked: Hierarchy, used: Hierarchy) -> Fraction:
    """The total variation between two targets over the same values."""
    if not asked.leaves.equals(used.leaves):
        raise SchemaError("the distance between two targets needs the same values in the same order in both.")
    return _variation(asked.target(), used.target())


def leaf_numbers(hierarchy: Hierarchy) -> list[Fraction]:
    """The values as exact numbers, dates as days; raises for texts."""
    try:
        return [_value_number(value) for value in hierarchy.leaves.to_pylist()]
    except ValueError as error:
        raise SchemaError(
            "This target needs a hierarchy over numbers or dates; texts take 'uniform', 'zipf', 'source' or shares."
        ) from error


def _value_number(value: object) -> Fraction:
    if isinstance(value, datetime.date):
        return Fraction(value.toordinal())
    if isinstance(value, str):
        raise ValueError("a text is not a number")
    return as_fraction(value)


def _round_weights(logarithms: Sequence[float]) -> list[int]:
    top = max(logarithms)
    return [round(math.exp(logarithm - top) * _FINEST) for logarithm in logarithms]


def _nearest_ratio(weights: Sequence[int], most: int) -> list[int]:
    """Whole numbers of the least total variation from `weights`; the smallest among equals."""
    total, positive = sum(weights), sum(weight > 0 for weight in weights)
    if total <= most or positive < 2:
        return [min(weight, 1) for weight in weights] if positive < 2 else list(weights)
    candidates = [_apportion(weights, parts) for parts in range(positive, max(most, positive) + 1)]
    return min(candidates, key=lambda parts: _ratio_gap(weights, parts))


def _apportion(weights: Sequence[int], parts: int) -> list[int]:
    """Share out `parts` by largest remainders, at least one to each positive weight."""
    total = sum(weights)
    whole = [max(weight * parts // total, 1) if weight else 0 for weight in weights]
    while sum(whole) != parts:
        step = 1 if sum(whole) < parts else -1
        open_ = [i for i, weight in enumerate(weights) if weight and whole[i] + step > 0]
        whole[max(open_, key=lambda i: step * (weights[i] * parts - whole[i] * total))] += step
    return whole


def _ratio_gap(weights: Sequence[int], parts: Sequence[int]) -> Fraction:
    total, whole = sum(weights), sum(parts)
    return Fraction(sum(abs(w * whole - p * total) for w, p in zip(weights, parts, strict=True)), total * whole)


def _variation(asked: Sequence[Fraction], used: Sequence[Fraction]) -> Fraction:
    return sum((abs(a - b) for a, b in zip(asked, used, strict=True)), Fraction(0)) / 2


def _number(name: str, number: object) -> Fraction:
    try:
        return as_fraction(number)
    except ValueError:
        raise ParameterError(
            f"'{name}' must be a finite number; got a value of type {type(number).__name__}."
        ) from None
