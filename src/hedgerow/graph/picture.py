"""A picture of a grouped graph, small or large.

Up to 40 nodes a side every node and edge is drawn, and beside each group the entities that it may be. Larger graphs
are drawn as blocks: left groups down, right groups across, each square the number of edges between some groups, and
along the sides how many neighbours the nodes of the groups have.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.errors import counted
from hedgerow.graph.grouped import GroupedGraph, Side

MOST = 40
"""More nodes a side cannot be read one by one."""

_BLOCKS = 120
"""Blocks along each side of the picture of a large graph."""

_GAP = 0.8


def draw(release: GroupedGraph) -> Any:
    """Return a matplotlib figure of a release: nodes one by one, or groups as blocks where there are many."""
    sides = release.left, release.right
    if max(len(side.node_groups) for side in sides) > MOST:
        return _draw_blocks(release)
    return _draw_nodes(release)


def _draw_nodes(release: GroupedGraph) -> Any:
    from hedgerow.report.release_figures import COLOURS, new_figure

    sides = release.left, release.right
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


def _draw_blocks(release: GroupedGraph) -> Any:
    """Left groups down and right groups across, the busiest first; shades are edges per pair of nodes."""
    from matplotlib.colors import LogNorm

    from hedgerow.report.release_figures import COLOURS, new_figure

    figure, axes = new_figure(width=7.6, height=7.2)
    axes.grid(visible=False)
    places = [_block_places(side) for side in (release.left, release.right)]
    blocks = [int(place.max()) + 1 for place in places]
    ends = [place[end] for place, end in zip(places, release.pairs, strict=True)]
    counts = np.zeros(blocks)
    np.add.at(counts, (ends[0], ends[1]), 1.0)
    sizes = [np.bincount(place) for place in places]
    density = counts / (sizes[0][:, None] * sizes[1][None, :])
    shown = np.ma.masked_equal(density, 0.0)
    norm = LogNorm(shown.min(), max(shown.max(), shown.min() * 1.01)) if shown.count() else None
    extent = (0, release.right.groups, release.left.groups, 0)
    image = axes.imshow(shown, aspect="auto", cmap="Blues", norm=norm, extent=extent, interpolation="nearest")
    axes.set_xlabel(f"{release.right.groups:,} right groups, those with most edges first")
    axes.set_ylabel(f"{release.left.groups:,} left groups, those with most edges first")
    axes.set_title(
        f"({release.k}, {release.l})-grouping of {counted(release.edges, 'edge')}: share of the pairs of nodes joined"
    )
    figure.colorbar(image, ax=axes, shrink=0.8, label="edges per pair of nodes")
    for side, colour, direction in ((release.right, COLOURS[1], "top"), (release.left, COLOURS[0], "right")):
        _draw_degrees(axes, side, colour, direction)
    return figure


def _block_places(side: Side) -> Any:
    """The block of each node: groups by their edges, the busiest first, in equal numbers of groups."""
    edges = np.bincount(side.node_groups, weights=side.degrees, minlength=side.groups)
    rank = np.empty(side.groups, np.int64)
    rank[np.argsort(-edges, kind="stable")] = np.arange(side.groups)
    return (rank * min(_BLOCKS, side.groups) // side.groups)[side.node_groups]


def _draw_degrees(axes: Any, side: Side, colour: str, direction: str) -> None:
    """A line along the side: the mean number of neighbours of the nodes of its blocks."""
    places = _block_places(side)
    means = np.bincount(places, weights=side.degrees) / np.bincount(places)
    along = (np.arange(len(means)) + 0.5) * side.groups / len(means)
    beside = axes.inset_axes([0, 1.09, 1, 0.1] if direction == "top" else [-0.3, 0, 0.12, 1])
    beside.fill_between(along, means, color=colour, alpha=0.5) if direction == "top" else beside.fill_betweenx(
        along, means, color=colour, alpha=0.5
    )
    beside.grid(visible=False)
    for edge in beside.spines.values():
        edge.set_visible(False)
    if direction == "top":
        beside.set_xlim(0, side.groups)
        beside.set_xticks([])
        beside.set_yticks([round(float(means.max()), 1)])
    else:
        beside.set_ylim(side.groups, 0)
        beside.invert_xaxis()
        beside.set_yticks([])
        beside.set_xticks([round(float(means.max()), 1)])


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
