"""Curves of relative errors, panels side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from hedgerow.report.figure import new_figure, save_figure

__all__ = ["draw_panels"]


def draw_panels(
    folder: Path, name: str, panels: Mapping[str, tuple[Sequence[int], str, Mapping[str, Sequence[float]]]]
) -> Path:
    """Draw each panel's curves, on a logarithmic scale where they are far apart; return the path of the PNG."""
    figure, axes = new_figure(len(panels))
    for axis, (title, (at, xlabel, curves)) in zip(np.atleast_1d(axes), panels.items(), strict=True):
        for (label, curve), marker in zip(curves.items(), "os^vDP*X", strict=False):
            axis.plot(at, np.array(curve) * 100, marker=marker, label=label, markersize=4)
        axis.set(title=title, xlabel=xlabel, ylabel="width of bounds, % of the answer")
        errors = np.concatenate([np.array(curve) for curve in curves.values()])
        if errors.max() > 10 * errors.min() > 0:
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.legend(fontsize=8)
    return save_figure(figure, folder, name)
