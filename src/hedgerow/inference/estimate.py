"""Estimate an adversary's knowledge from a table: the shares of the sensitive values for every well-filled signature.

Source     [Wong 2009], section 2; attribute sets with large samples as in its section 5
Guarantee  every signature listed has at least `support` rows; rows of rarer signatures share one distribution
Cost       one sort of n keys per attribute set
Deviates   shares are drawn towards those of the whole table by `smoothing` rows' worth: a share of 0 against a positive
           one could never be hidden in any group, and nobody knows an exact 0 from a sample
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.exact import as_fraction
from hedgerow.inference.knowledge import Alphabet, Distribution, Knowledge

__all__ = ["KnowledgeEstimate"]

_MOST_SHARES = 1 << 27
"""A gigabyte of counts."""

_MOST_SETS = 1 << 13
"""All subsets of thirteen quasi-identifiers; each takes a pass over the rows, and each is a table to hold."""


@dataclass(frozen=True)
class KnowledgeEstimate:
    """How to estimate: all subsets of up to `size` quasi-identifiers (None: all), signatures of `support` rows or more.

    The defaults are the paper's adversary: every subset with large samples. From a hundred rows a share of a few
    percent is more than noise, and one row's worth of smoothing keeps it positive without hiding a difference.
    """

    size: int | None = None
    support: int = 100
    smoothing: Fraction | int | float | str = 1

    def __post_init__(self) -> None:
        _require_whole("size", self.size if self.size is not None else 1)
        _require_whole("support", self.support)
        object.__setattr__(self, "smoothing", _smoothing(self.smoothing))

    def of(self, source: object, *, quasi: Sequence[str], sensitive: str) -> Knowledge:
        """Estimate from a table: a frame, a path, or a `Table`."""
        from hedgerow.table import read_table

        table = read_table(source)
        encoded = table.encode(sensitive)
        if encoded.has_missing:
            raise ParameterError(
                f"'{sensitive}' has missing values, for which there are no odds; leave these rows out."
            )
        alphabet = Alphabet({name: table.encode(name).domain for name in quasi})
        codes = {name: table.encode(name).codes.astype(np.int64) for name in quasi}
        distributions = tuple(self._distributions(alphabet, codes, encoded.codes.astype(np.int64), quasi))
        if not distributions:
            raise ParameterError(
                f"No combination of quasi-identifiers is shared by {self.support} rows, so there is nothing to know; "
                "lower 'support'."
            )
        return Knowledge(sensitive, encoded.domain, alphabet, distributions)

    def _distributions(
        self, alphabet: Alphabet, codes: dict[str, NDArray[np.int64]], values: NDArray[np.int64], quasi: Sequence[str]
    ) -> Iterator[Distribution]:
        overall, tried = np.bincount(values), 0
        known: set[tuple[str, ...]] = {()}
        for size in range(1, min(self.size or len(quasi), len(quasi)) + 1):
            candidates = list(islice(_extended(known, quasi), _MOST_SETS + 1 - tried))
            tried += len(candidates)
            _require_few(tried, len(quasi), size)
            known = set()
            for attributes in candidates:
                keys = alphabet.keys(codes, attributes)
                distribution = _estimate(attributes, keys, values, overall, self.support, Fraction(self.smoothing))
                if len(distribution.signatures):
                    known.add(attributes)
                    yield distribution


def _extended(known: set[tuple[str, ...]], quasi: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Sets of one attribute more of which every part is known: a set has no more rows in common than its parts."""
    place = {name: number for number, name in enumerate(quasi)}
    for shorter in sorted(known, key=lambda names: [place[name] for name in names]):
        for last in quasi[place[shorter[-1]] + 1 if shorter else 0 :]:
            longer = (*shorter, last)
            if all(part in known for part in combinations(longer, len(shorter))):
                yield longer


def _require_few(tried: int, columns: int, size: int) -> None:
    if tried > _MOST_SETS:
        raise ParameterError(
            f"{columns} quasi-identifiers have more than {_MOST_SETS:,} sets of up to {size} to estimate odds for; "
            "give fewer of them, or an estimate of a smaller 'size'."
        )


def _estimate(
    attributes: tuple[str, ...],
    keys: NDArray[np.int64],
    values: NDArray[np.int64],
    overall: NDArray[np.int64],
    support: int,
    smoothing: Fraction,
) -> Distribution:
    found, where, rows = np.unique(keys, return_inverse=True, return_counts=True)
    common = rows >= support
    place = np.where(common, np.cumsum(common) - 1, common.sum())[where]
    shape = int(common.sum()) + 1, len(overall)
    if shape[0] * shape[1] > _MOST_SHARES:
        raise ParameterError(
            f"{shape[0]:,} signatures times {shape[1]:,} sensitive values are too many shares to hold; "
            "raise 'support', or put sensitive values together before publishing."
        )
    counts = np.bincount(place * shape[1] + values, minlength=shape[0] * shape[1]).reshape(shape)
    if counts[-1].sum() < support:
        counts[-1] = overall  # too few people are left to know anything of them in particular
    weights, totals = _smoothed(counts, overall, smoothing)
    return Distribution(attributes, found[common], weights, totals)


def _smoothed(
    counts: NDArray[np.int64], overall: NDArray[np.int64], smoothing: Fraction
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(count + m share) / (rows + m) in whole numbers, for m = `smoothing` and the overall share of each value."""
    n, up, down = int(overall.sum()), smoothing.numerator, smoothing.denominator
    if (n * down + up) * n > 2**62:
        raise ParameterError(f"'smoothing' must be a short decimal for a table of {n:,} rows; take 1.")
    weights = counts * (n * down) + up * overall
    return weights, weights.sum(axis=1)


def _require_whole(name: str, number: object) -> None:
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1:
        raise ParameterError(f"'{name}' must be a whole number of at least 1; got {number!r}.")


def _smoothing(number: object) -> Fraction:
    try:
        exact = as_fraction(number)
    except ValueError:
        exact = Fraction(-1)
    if exact < 0:
        raise ParameterError("'smoothing' must be a number of at least 0, in rows; 1 is the default.")
    return exact
