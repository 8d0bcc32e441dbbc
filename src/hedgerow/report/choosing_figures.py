"""Figures for choosing a method: promise against width, and the lattice of a full-domain search.

They show the owner's table and are not published.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.methods.frontier import FrontierPoint, pareto_points
from hedgerow.report.release_figures import COLOURS, new_figure, save_figure

if TYPE_CHECKING:
    from hedgerow.partition.full_domain import ExploredLattice

_MARKS = "osD^vPX<>*"
_MOST_LABELLED = 120
_MOST_LINKED = 400


def frontier_figure(points: Sequence[FrontierPoint], path: Path, chosen: FrontierPoint | None = None) -> Path:
    """Draw width of bounds and loss against the likeliest value, a mark per method; the frontier is a line."""
    shown = [point for point in points if point.likeliest is not None]
    figure, (widths, losses) = new_figure(2, width=4.7, height=4.2)
    methods = list(dict.fromkeys(point.setting.method for point in shown))
    for axes, measure in ((widths, "width"), (losses, "loss")):
        for place, method in enumerate(methods):
            mine = [p for p in shown if p.setting.method == method and getattr(p, measure) is not None]
            for resists, face in ((True, COLOURS[place % len(COLOURS)]), (False, "none")):
                some = [point for point in mine if point.resists == resists]
                axes.plot(
                    [100 * _or_nan(point.likeliest) for point in some],
                    [100 * _or_nan(getattr(point, measure)) for point in some],
                    linestyle="none", marker=_MARKS[place % len(_MARKS)], markersize=6.5, markeredgewidth=1.3,
                    color=COLOURS[place % len(COLOURS)], markerfacecolor=face,
                )  # fmt: skip
        axes.set_xlabel("likeliest value in a group, % (promise: left is stronger)")
        axes.margins(0.08)
        axes.set_ylim(bottom=-0.04 * axes.get_ylim()[1])
    _draw_frontier(widths, pareto_points(shown))
    widths.set_ylabel("median width of bounds, % of the answer")
    losses.set_ylabel("loss: domain covered by a box, %")
    if chosen is not None and chosen.likeliest is not None:
        for axes, value in ((widths, chosen.width), (losses, chosen.loss)):
            if value is not None:
                axes.plot([100 * chosen.likeliest], [100 * value], "o", markersize=15, markerfacecolor="none",
                          color="#222222", markeredgewidth=1.4)  # fmt: skip
    _legend(figure, methods, has_chosen=chosen is not None)
    return save_figure(figure, path.parent, path.stem)


def _or_nan(number: float | None) -> float:
    return float("nan") if number is None else number


def _draw_frontier(axes: Any, best: Sequence[FrontierPoint]) -> None:
    x, y = ([100 * _or_nan(getattr(point, name)) for point in best] for name in ("likeliest", "width"))
    axes.plot(x, y, drawstyle="steps-post", color="#999999", linewidth=1.1, zorder=0)


def _legend(figure: Any, methods: Sequence[str], *, has_chosen: bool) -> None:
    from matplotlib.lines import Line2D

    def mark(label: str, **style: Any) -> Any:
        return Line2D([], [], linestyle="none", label=label, markeredgewidth=1.3, **style)

    named = [
        mark(name, marker=_MARKS[n % len(_MARKS)], color=COLOURS[n % len(COLOURS)]) for n, name in enumerate(methods)
    ]
    named += [
        mark("filled: knowing the algorithm helps nobody", marker="s", color="#777777"),
        mark("hollow: it can", marker="s", color="#777777", markerfacecolor="none"),
        Line2D([], [], color="#999999", label="no other is better in both"),
    ]
    if has_chosen:
        named.append(mark("recommended", marker="o", color="#222222", markerfacecolor="none", markersize=10))
    figure.legend(handles=named, loc="outside lower center", ncols=4, fontsize=8, frameon=False)


def lattice_figure(found: ExploredLattice, path: Path, names: Sequence[str]) -> Path:
    """Draw every combination of levels, the finest at the bottom: feasible ones filled, the chosen one ringed."""
    places = _places(found.feasible.shape)
    widest = max(np.unique(places[..., 1], return_counts=True)[1])
    rows = int(places[..., 1].max()) + 1
    figure, axes = new_figure(width=min(16.0, max(5.0, 0.75 * widest)), height=min(12.0, 1.6 + 0.62 * rows))
    if found.feasible.size <= _MOST_LINKED:
        _draw_links(axes, places)
    size = 120 if found.feasible.size <= _MOST_LABELLED else 26
    for feasible, colour, label in ((True, COLOURS[0], "keeps the promise"), (False, "#c9ced6", "does not")):
        some = places[found.feasible == feasible]
        axes.scatter(some[:, 0], some[:, 1], s=size, color=colour, label=f"{label} ({len(some):,})", zorder=2)
    minimal = places[tuple(np.array(found.minimal, dtype=int).reshape(-1, len(names)).T)]
    ring: Any = {"facecolors": "none", "edgecolors": "#222222", "linewidths": 0.9}
    axes.scatter(minimal[:, 0], minimal[:, 1], s=size, **ring, zorder=3,
                 label=f"nothing finer keeps it ({len(minimal):,})")  # fmt: skip
    x, y = places[found.chosen]
    axes.scatter([x], [y], s=2.2 * size, facecolors="none", edgecolors=COLOURS[1], linewidths=2.2, zorder=4,
                 label=f"chosen: least loss ({', '.join(map(str, found.chosen))})")  # fmt: skip
    if found.feasible.size <= _MOST_LABELLED:
        for node in np.ndindex(*found.feasible.shape):
            at = places[node]
            axes.annotate(
                " ".join(map(str, node)), at, xytext=(0, -16), textcoords="offset points", ha="center", fontsize=7
            )
    axes.grid(visible=False)
    axes.set_xticks([])
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_yticks(range(rows), [str(n) for n in range(rows)])
    axes.margins(0.09, 0.06)
    axes.set_ylabel("sum of levels (0: every value as it is)")
    axes.set_xlabel(f"levels of {', '.join(names)}")
    figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False, markerscale=0.7 if size > 100 else 1)
    return save_figure(figure, path.parent, path.stem)


def _places(shape: tuple[int, ...]) -> Any:
    """Where each node is drawn: its sum of levels is the height, its rank among equals the place beside the others."""
    sums = np.indices(shape).sum(axis=0)
    places = np.zeros((*shape, 2))
    for height in range(int(sums.max()) + 1):
        nodes = np.argwhere(sums == height)
        places[(*nodes.T, 0)] = np.arange(len(nodes)) - (len(nodes) - 1) / 2
    places[..., 1] = sums
    return places


def _draw_links(axes: Any, places: Any) -> None:
    from matplotlib.collections import LineCollection

    lines = []
    for axis in range(places.ndim - 1):
        lower = np.moveaxis(places, axis, 0)[:-1].reshape(-1, 2)
        upper = np.moveaxis(places, axis, 0)[1:].reshape(-1, 2)
        lines += list(np.stack([lower, upper], axis=1))
    axes.add_collection(LineCollection(lines, colors="#dddddd", linewidths=0.7, zorder=1))
