"""A picture of a small grouped graph: nodes and edges as published, and beside each group the entities it may be."""

from __future__ import annotations

from typing import Any

from hedgerow.errors import ParameterError
from hedgerow.graph.grouped import GroupedGraph, Side

__all__ = ["draw"]

MOST = 40
"""More nodes a side cannot be read."""

_GAP = 0.8


def draw(release: GroupedGraph) -> Any:
    """Return a matplotlib figure of a release with at most 40 nodes a side."""
    from hedgerow.report.figure import COLOURS, new_figure

    sides = release.left, release.right
    if max(len(side.node_groups) for side in sides) > MOST:
        raise ParameterError(f"A picture shows at most {MOST} nodes a side; draw a smaller release.")
    height = 0.55 * max(len(side.node_groups) + _GAP * side.groups for side in sides) + 0.6
    figure, axes = new_figure(width=7.2, height=height)
    axes.set_axis_off()
    axes.grid(visible=False)
    tops = [_tops(side, sides) for side in sides]
    near = release.left.neighbours
    for v, w in zip(near.ends.tolist(), near.neighbours.tolist(), strict=True):
        axes.plot([1.0, 2.0], [tops[0][v], tops[1][w]], color="#888888", linewidth=1.0, zorder=1)
    for number, side in enumerate(sides):
        _draw_side(axes, side, tops[number], 1.0 + number, COLOURS[number])
    axes.set_xlim(-0.05, 3.05)
    axes.set_title(f"({release.k}, {release.l})-grouping: the edges are exact, who is which node of a group is secret")
    return figure


def _tops(side: Side, sides: tuple[Side, Side]) -> list[float]:
    """Where each node stands: a gap between groups, both sides equally tall."""
    tallest = max(len(other.node_groups) + _GAP * other.groups for other in sides)
    own = len(side.node_groups) + _GAP * side.groups
    return [-(node + _GAP * int(group)) * tallest / own for node, group in enumerate(side.node_groups)]


def _draw_side(axes: Any, side: Side, tops: list[float], x: float, colour: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    outwards = -1 if side.name == "left" else 1
    keys = side.entities.column(side.key).to_pylist()
    for group in range(side.groups):
        rows = [node for node, owner in enumerate(side.node_groups) if owner == group]
        low, high = tops[rows[-1]], tops[rows[0]]
        box = FancyBboxPatch((x - 0.09, low - 0.35), 0.18, high - low + 0.7, boxstyle="round,pad=0.02", zorder=0)
        box.set(facecolor="white", edgecolor=colour, linewidth=1.4)
        axes.add_patch(box)
        names = sorted(str(key) for key, owner in zip(keys, side.entity_groups, strict=True) if owner == group)
        place = {"ha": "right" if outwards < 0 else "left", "va": "center"}
        axes.text(x + 0.17 * outwards, (low + high) / 2, "{" + ", ".join(names) + "}", color=colour, **place)
        for node in rows:
            axes.plot([x], [tops[node]], "o", color=colour, markersize=7, zorder=3)
