"""A picture of a hierarchy with its weights: nodes where their values lie, the weight on each edge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hedgerow.report.figure import COLOURS, new_figure, save_figure
from hedgerow.schema.hierarchy import Hierarchy

__all__ = ["draw_tree"]

_PLAIN = {"fc": "white", "ec": "none", "pad": 0.6}
_MOST_ENDS = 32
"""More ends than this cannot be read side by side; deeper levels are left out."""


def draw_tree(tree: Hierarchy, folder: Path, name: str = "tree") -> Path:
    """Draw the upper levels of a tree with its weights; return the path of the PNG."""
    deepest = _deepest(tree)
    shown = [node for node in range(tree.num_nodes) if tree.depths[node] <= deepest]
    ends = [node for node in shown if tree.depths[node] == deepest or node < tree.num_leaves]
    figure, axis = new_figure(width=max(5.2, 0.55 * len(ends)), height=1.8 + 0.9 * deepest)
    for node in shown:
        _draw_node(axis, tree, node, node in ends)
    # A layout that makes room for every label would squeeze the tree to nothing; labels hang into the margin.
    figure.set_layout_engine("none")
    axis.set_position((0.02, 0.02, 0.96, 0.92))
    axis.set_axis_off()
    axis.margins(0.06, 0.2)
    left_out = tree.height - deepest
    if left_out:
        axis.set_title(f"{tree.num_leaves:,} values; {left_out} further level(s) not shown", fontsize=9, loc="left")
    return save_figure(figure, folder, name)


def _deepest(tree: Hierarchy) -> int:
    """The deepest level whose ends fit side by side."""
    for depth in range(1, tree.height + 1):
        ends = sum(1 for node in range(tree.num_nodes) if _is_end(tree, node, depth))
        if ends > _MOST_ENDS:
            return max(depth - 1, 1)
    return tree.height


def _is_end(tree: Hierarchy, node: int, depth: int) -> bool:
    return bool(tree.depths[node] == depth or (node < tree.num_leaves and tree.depths[node] < depth))


def _place(tree: Hierarchy, node: int) -> tuple[float, float]:
    return (float(tree.low[node] + tree.high[node]) / 2 / tree.num_leaves, -float(tree.depths[node]))


def _draw_node(axis: Any, tree: Hierarchy, node: int, is_end: bool) -> None:
    x, y = _place(tree, node)
    parent = tree.parent(node)
    if parent >= 0:
        above = _place(tree, parent)
        axis.plot([above[0], x], [above[1], y], color=COLOURS[6], linewidth=1, zorder=1)
        if tree.weights is not None:
            weight = {"color": COLOURS[1], "ha": "center", "va": "center", "fontsize": 8}
            middle = ((above[0] + x) / 2, (above[1] + y) / 2)
            axis.text(*middle, str(tree.weights[node]), bbox=_PLAIN, **weight)
    axis.plot([x], [y], marker="o", color=COLOURS[0], markersize=4, zorder=2)
    label: dict[str, Any] = {"rotation": 90, "va": "top"} if is_end else {"va": "bottom", "bbox": _PLAIN}
    offset = (0, -7 if is_end else 6)
    axis.annotate(
        tree.labels[node], (x, y), xytext=offset, textcoords="offset points", ha="center", fontsize=8, **label
    )
