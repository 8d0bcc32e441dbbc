"""Figures without a screen: one look for all of them, saved as SVG for pages and PNG for slides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hedgerow.errors import InputError

__all__ = ["COLOURS", "new_figure", "save_figure"]

COLOURS = ("#1b6e4a", "#c8553d", "#33658a", "#e0a458", "#6d597a", "#588157", "#8d99ae")
"""Distinguishable in print and for colour-blind readers; the first is the house colour."""

_STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "hedgerow",
}


def new_figure(columns: int = 1, *, width: float = 5.2, height: float = 3.4) -> tuple[Any, Any]:
    """Return a figure and its axes (an array if there are several), drawn off screen."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("Figures need matplotlib: pip install 'hedgerow[plot]'.") from None
    from cycler import cycler

    with rc_context({**_STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
        figure = Figure(figsize=(width * columns, height), layout="constrained")
        return figure, figure.subplots(1, columns)


def save_figure(figure: Any, folder: Path, name: str) -> Path:
    """Write <name>.svg and <name>.png; return the path of the PNG."""
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    with rc_context(_STYLE):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
        figure.savefig(folder / f"{name}.png", dpi=140)
    return folder / f"{name}.png"
