"""Additive noise, scaled until it distorts a table as much as another method does: what a release is compared with.

Source     [Xue 2011], section 5.2 (random perturbation with a uniform variable)
Cost       one pass per column; distortion is proportional to the width, so one trial gives the scale

The paper states one total distortion and not how it is spread over columns: `NOISES` has three readings.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.randomness import Keys, system_keys
from hedgerow.utility.measures import distortion

__all__ = ["NOISES", "noise_at_distortion", "noise_by_range", "noise_of_one_amplitude"]

Table = NDArray[np.float64]
Wanted = NDArray[np.float64] | list[float]


def noise_at_distortion(original: Table, wanted: Wanted, *, keys: Keys = system_keys) -> Table:
    """Add uniform noise on [-a, a] to each column, a chosen so that the column's distortion is `wanted`."""
    unit = _unit(original.shape, keys)
    scales = [distortion(one[:, None], (one + two)[:, None]) for one, two in zip(original.T, unit.T, strict=True)]
    noisy: Table = original + unit * (np.asarray(wanted) / np.array(scales))
    return noisy


def noise_of_one_amplitude(original: Table, wanted: Wanted, *, keys: Keys = system_keys) -> Table:
    """The same a for every column, chosen so that the mean distortion of the table is the mean of `wanted`."""
    return _scaled(original, _unit(original.shape, keys), wanted)


def noise_by_range(original: Table, wanted: Wanted, *, keys: Keys = system_keys) -> Table:
    """The same share of its range for every column, chosen so that the mean distortion is the mean of `wanted`."""
    return _scaled(original, _unit(original.shape, keys) * np.ptp(original, axis=0), wanted)


NOISES = {
    "one amplitude": noise_of_one_amplitude,
    "by range": noise_by_range,
    "by column": noise_at_distortion,
}
"""Readings of "the same amount of distortion"."""


def _unit(shape: tuple[int, ...], keys: Keys) -> Table:
    rows, columns = shape
    draws = [(keys(rows) >> np.uint64(11)).astype(float) / 2.0**52 - 1.0 for _ in range(columns)]
    return np.column_stack(draws)


def _scaled(original: Table, noise: Table, wanted: Wanted) -> Table:
    noisy: Table = original + noise * (float(np.mean(wanted)) / distortion(original, original + noise))
    return noisy
