"""Figures of the graph study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.report.release_figures import new_figure, save_figure

__all__ = ["draw_classes", "draw_errors", "draw_frequencies"]

_MARKS = "os^Dv*"


def draw_frequencies(frequencies: Mapping[str, NDArray[np.int64]], out: Path, name: str) -> Path:
    """Pairs of co-authors by how many papers they share, before and after permuting edges."""
    figure, axes = new_figure()
    for mark, (label, counts) in zip(_MARKS, frequencies.items(), strict=False):
        shared = np.flatnonzero(counts)
        axes.loglog(shared, counts[shared], mark, markersize=3.5, label=label)
    axes.set_xlabel("papers that two authors share")
    axes.set_ylabel("pairs of authors")
    axes.set_title("Permuting edges destroys co-authorship")
    axes.legend()
    return save_figure(figure, out, name)


def draw_errors(
    panels: Mapping[str, Mapping[str, Sequence[float]]], x: Sequence[float], out: Path, name: str, *, label: str, y: str
) -> Path:
    """One panel a query: error against selectivity, a line for each grouping."""
    figure, axes = new_figure(len(panels), width=3.7, height=3.3)
    each: list[Any] = list(np.atleast_1d(axes))
    for panel, (title, lines) in zip(each, panels.items(), strict=True):
        _draw_lines(panel, lines, x)
        panel.set_title(title)
        panel.set_xlabel(label)
        panel.legend(fontsize=8)
    each[0].set_ylabel(y)
    return save_figure(figure, out, name)


def _draw_lines(panel: Any, lines: Mapping[str, Sequence[float]], x: Sequence[float]) -> None:
    for mark, (grouping, values) in zip(_MARKS, lines.items(), strict=False):
        # A logarithmic axis has no zero: exact answers are left out of the line.
        shown = [value if value > 0 else np.nan for value in values]
        label = grouping if min(values) > 0 else f"{grouping} (exact where unmarked)"
        panel.plot(x, shown, f"{mark}-", markersize=4, linewidth=1.2, label=label)
    panel.margins(y=0.2)
    if any(value > 0 for values in lines.values() for value in values):
        panel.set_yscale("log")


def draw_classes(sizes: Mapping[str, NDArray[np.int64]], out: Path, name: str) -> Path:
    """The share of authors in signature classes of at most a size, by rounds."""
    figure, axes = new_figure()
    edges = np.arange(1, 21)
    for mark, (label, classes) in zip(_MARKS, sizes.items(), strict=False):
        axes.plot(edges, [(classes <= edge).mean() for edge in edges], f"{mark}-", markersize=3.5, label=label)
    axes.set_xlabel("authors with the same signature, at most")
    axes.set_ylabel("share of authors")
    axes.set_ylim(0, 1)
    axes.set_xticks([1, 5, 10, 15, 20])
    axes.set_title("How far surroundings identify authors")
    axes.legend()
    return save_figure(figure, out, name)
