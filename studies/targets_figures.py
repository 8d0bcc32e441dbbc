"""Curves side by side, one panel per table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from hedgerow.report.release_figures import new_figure, save_figure

__all__ = ["draw_curves"]


def draw_curves(
    folder: Path,
    name: str,
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    xlabel: str,
    at: Sequence[float],
    ylabel: str,
) -> Path:
    """Draw one panel per table and one curve per setting; return the path of the PNG."""
    figure, axes = new_figure(len(panels))
    for axis, (title, curves) in zip(np.atleast_1d(axes), panels.items(), strict=True):
        for (label, curve), marker in zip(curves.items(), "os^vDP*X", strict=False):
            axis.plot(at, curve, marker=marker, label=label, markersize=4)
        axis.set(title=title, xlabel=xlabel, ylabel=ylabel)
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=8)
    return save_figure(figure, folder, name)
