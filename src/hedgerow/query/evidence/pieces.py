"""Evidence in pieces of whole groups: what a question finds in each part of a release, reduced over all of them.

Guarantee  groups draw independently and lie in one piece, so that whatever an aggregate needs is a sum, a least or a
           greatest number, or a set, over pieces: the bounds are those of one piece that holds everything
Cost       the memory of one piece for each core; a pass over the pieces for each reduction

Evidence of a release in one file is one piece, which reductions take as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from hedgerow.cores import cores
from hedgerow.query.evidence.groups import Hits, Ints, Values

__all__ = ["Evidence", "Piece", "joined_sets"]

Piece = tuple[Hits, Values]
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rows hit and values drawn; each piece is made, or read, when it is called."""

    cells: int
    pieces: Sequence[Callable[[], Piece]]

    @staticmethod
    def of(hits: Hits, values: Values) -> Evidence:
        """Evidence in one piece."""
        return Evidence(hits.cells, (lambda: (hits, values),))

    @functools.cached_property
    def _traits(self) -> tuple[Fraction, bool, bool]:
        _, values = self.pieces[0]()
        return values.unit, values.ranged, values.is_rounded

    @property
    def unit(self) -> Fraction:
        """The unit of all values."""
        return self._traits[0]

    @property
    def is_ranged(self) -> bool:
        """Tell whether values are published as ranges."""
        return self._traits[1]

    @property
    def is_rounded(self) -> bool:
        """Tell whether some value is known only to lie between two ticks, for want of digits."""
        return self._traits[2]

    def each(self, function: Callable[[Hits, Values], Result]) -> list[Result]:
        """What a function finds in each piece."""
        if len(self.pieces) == 1:
            return [function(*self.pieces[0]())]
        with ThreadPoolExecutor(cores()) as pool:
            return list(pool.map(lambda piece: function(*piece()), self.pieces))

    def added(self, function: Callable[[Hits, Values], Any]) -> Any:
        """Sums over the pieces of what a function finds for each cell: a list, an array, or a tuple of these."""
        return functools.reduce(_sum, self.each(function))

    def least(self, function: Callable[[Hits, Values], list[Any]]) -> list[Any]:
        """The least over the pieces of what a function finds for each cell, None being nothing."""
        return [min((n for n in found if n is not None), default=None) for found in self._by_cell(function)]

    def greatest(self, function: Callable[[Hits, Values], list[Any]]) -> list[Any]:
        """The greatest over the pieces of what a function finds for each cell, None being nothing."""
        return [max((n for n in found if n is not None), default=None) for found in self._by_cell(function)]

    def _by_cell(self, function: Callable[[Hits, Values], list[Any]]) -> list[tuple[Any, ...]]:
        return list(zip(*self.each(function), strict=True))

    def every(self, function: Callable[[Hits, Values], bool]) -> bool:
        """Tell whether something is so in every piece."""
        return all(self.each(function))

    @functools.cached_property
    def mirrored(self) -> Evidence:
        """The negated values: least becomes greatest."""
        return self._changed(lambda hits, values: (hits.mirrored(len(values.sizes)), values.mirrored))

    @functools.cached_property
    def points(self) -> Evidence:
        """Rounded values as their numbers in ascending order."""
        return self._changed(lambda hits, values: (hits, values.points))

    @functools.cached_property
    def typical(self) -> Evidence:
        """The values with each interval shrunk to its mean: for expectations alone."""
        return self._changed(lambda hits, values: (hits, values.typical))

    def _changed(self, change: Callable[[Hits, Values], Piece]) -> Evidence:
        if len(self.pieces) == 1:
            return Evidence.of(*change(*self.pieces[0]()))
        return replace(self, pieces=[functools.partial(_change, change, piece) for piece in self.pieces])


def _change(change: Callable[[Hits, Values], Piece], piece: Callable[[], Piece]) -> Piece:
    return change(*piece())


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, tuple):
        return tuple(_sum(left, right) for left, right in zip(one, other, strict=True))
    if isinstance(one, list):
        return [left + right for left, right in zip(one, other, strict=True)]
    return one + other


def joined_sets(sets: Sequence[Ints]) -> Ints:
    """The different numbers of all pieces, ascending."""
    return sets[0] if len(sets) == 1 else np.unique(np.concatenate(sets))
