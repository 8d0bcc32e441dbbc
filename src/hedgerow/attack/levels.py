"""The adversary who undoes full-domain generalization from the levels that were chosen.

Source     Cohen, Attacks on deidentification's defenses, 2022; for levels of whole columns derived here
Knows      k, that the least lossy levels that keep it are published, and the odds of the values below each box
Guesses    a person's value one level down, given that no column could be published one level finer: in each widened
           column some box falls apart into parts of which one has fewer than k rows, though not none
Rate       the share of guesses that are right
Baseline   the likeliest value of the box by the same odds, as if the levels did not matter
Cost       O(boxes x parts) where the choice tells nothing; O(parts n log n) for a box of n rows where it does
Deviates   levels that are neither finer nor coarser than the chosen ones failed, too; what that adds is left out

Rows are independent given their boxes, so that each column's failure speaks of that column alone. By merging parts a
failure one level down implies those further down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Floats

__all__ = ["Told", "told", "whole_chances"]


LONG = 200
"""Longer lists of chances are joined by Fourier transforms."""
NEGLIGIBLE = 1e-9
"""Where finer levels would have been possible with less than this chance, their failure is no news."""


@dataclass(frozen=True, eq=False)
class Told:
    """`failing` is the chance, beforehand, that the finer level fails; `odds[b]` are those in box b after it did."""

    failing: float
    odds: tuple[Floats, ...]

    @property
    def bits(self) -> float:
        """What the choice of the level tells about all rows together."""
        return float(-np.log2(self.failing)) + 0.0


def told(sizes: Sequence[int], odds: Sequence[Floats], k: int) -> Told:
    """Weigh the parts of boxes of `sizes[b]` rows anew; `odds[b]` are those of the parts of box b beforehand."""
    bound = np.prod([_bound(rows, shares, k) for rows, shares in zip(sizes, odds, strict=True)])
    if bound < NEGLIGIBLE:
        return Told(1.0, tuple(odds))
    joint = [whole_chances(rows, shares, k) for rows, shares in zip(sizes, odds, strict=True)]
    whole = np.array([float(chances.sum()) for chances in joint])
    failing = 1 - float(np.prod(whole))
    if failing <= 0:
        return Told(1.0, tuple(odds))
    others = [float(np.prod(np.delete(whole, box))) for box in range(len(whole))]
    after = ((shares - chances * rest) / failing for shares, chances, rest in zip(odds, joint, others, strict=True))
    return Told(failing, tuple(after))


def whole_chances(rows: int, odds: Floats, k: int) -> Floats:
    """The chance that a given row is in each part and that every part has no rows or at least k.

    A multinomial is independent Poisson counts that add up to the number of rows.
    """
    counts = np.arange(rows + 1)
    allowed = (counts == 0) | (counts >= k)
    parts = [_poisson(rows * share, rows) * allowed for share in odds.tolist()]
    before, behind = [np.eye(1, rows + 1)[0]], [np.eye(1, rows + 1)[0]]
    for part, last in zip(parts[:-1], parts[:0:-1], strict=True):
        before.append(_joined(before[-1], part))
        behind.append(_joined(behind[-1], last))
    total = _poisson(rows, rows)[-1]
    chances = [
        float(_joined(one, other)[::-1] @ (part * counts / rows))
        for one, other, part in zip(before, behind[::-1], parts, strict=True)
    ]
    return np.asarray(np.array(chances) / total)


def _bound(rows: int, odds: Floats, k: int) -> float:
    """At most so likely is a box to keep k one level down: as if counts were independent, whatever they add up to."""
    counts = np.arange(1, min(k, rows + 1))
    means = rows * odds[odds > 0]
    logs = np.cumsum(np.log(means)[:, None] - np.log(counts), axis=1) - means[:, None]
    bad = np.exp(logs).sum(axis=1)
    return float(min(1.0, np.prod(1 - bad) / _poisson(rows, rows)[-1]))


def _joined(one: Floats, other: Floats) -> Floats:
    """The chances of the sum of two counts, as far as either is listed."""
    if len(one) < LONG:
        return np.asarray(np.convolve(one, other)[: len(one)])
    width = 2 * len(one)
    found = np.fft.irfft(np.fft.rfft(one, width) * np.fft.rfft(other, width), width)[: len(one)]
    return np.asarray(np.maximum(found, 0.0))


def _poisson(mean: float, most: int) -> Floats:
    """The chances of 0 to `most`."""
    if mean == 0:
        return np.asarray(np.eye(1, most + 1)[0])
    counts = np.arange(1, most + 1)
    return np.asarray(np.exp(np.append(0.0, np.cumsum(np.log(mean) - np.log(counts))) - mean))
