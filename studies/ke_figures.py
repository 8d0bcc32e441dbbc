"""Curves of relative errors, panels side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from hedgerow.report.release_figures import COLOURS, new_figure, save_figure

__all__ = ["draw_panels"]

_ORDER = ("min max", "generalization", "min sum", "most groups", "random", "rank swapping")
"""A partition has the same colour in every figure; of two forms the permuted one has the house colour."""


def draw_panels(
    folder: Path, name: str, panels: Mapping[str, tuple[Sequence[int], str, Mapping[str, Sequence[float]]]]
) -> Path:
    """Draw each panel's curves, on a logarithmic scale where they are far apart; return the path of the PNG."""
    figure, axes = new_figure(len(panels))
    for axis, (title, (at, xlabel, curves)) in zip(np.atleast_1d(axes), panels.items(), strict=True):
        for label, curve in curves.items():
            place = _ORDER.index(label) if label in _ORDER else ("permuted", "generalized").index(label)
            look = {"color": COLOURS[place], "marker": "os^vDP"[place]}
            axis.plot(at, np.array(curve) * 100, label=label, markersize=4, **look)
        axis.set(title=title, xlabel=xlabel, ylabel="width of bounds, % of the answer")
        errors = 100 * np.concatenate([np.array(curve) for curve in curves.values()])
        if errors.max() > 10 * errors.min():
            # Exact answers have a width of 0, which has no logarithm: the scale is linear below a tenth of a percent.
            axis.set_yscale("symlog", linthresh=0.1)
            axis.set_ylim(0 if errors.min() < 0.1 else 0.5 * errors.min(), 2 * errors.max())
            axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.legend(fontsize=7, ncols=2)
    return save_figure(figure, folder, name)
