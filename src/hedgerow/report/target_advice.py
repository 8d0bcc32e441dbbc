"""Advice on target distributions: distance of a table from its target, cost of disguising it, drawings of the tree.

The figures depend on the sensitive values: they are for the owner only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.criteria.target import read_shift
from hedgerow.errors import counted
from hedgerow.methods.method import prepare
from hedgerow.methods.target_distribution import TargetDistribution, TargetPlan
from hedgerow.partition.target.least_range import PublishedNodes, node_ranges
from hedgerow.report.release_figures import COLOURS, new_figure, save_figure
from hedgerow.schema import Hierarchy, Schema
from hedgerow.schema.target import leaf_numbers

SHIFTS = ("0", "0.1", "0.2", "0.3", "0.4", "0.5")
SHARES = ("0", "0.05", "0.1", "0.2")

_PLAIN = {"fc": "white", "ec": "none", "pad": 0.6}
_MOST_ENDS = 32
"""More ends than this cannot be read side by side; deeper levels are left out."""


@dataclass(frozen=True, eq=False)
class Advice:
    """What each setting costs.

    `distance` is the total variation between the table and its target, averaged over the rows' parts. `table` has one
    line per setting: shift, fakes, the sum of ranges, the share of values at a root, and the width of the bounds of AVG
    over everybody and over a tenth of every group (empty for categories).
    """

    distance: float
    table: pa.Table

    def figure(self, folder: Path, name: str = "advice") -> Path:
        """Draw cost against shift and against fakes; return the path of the PNG."""
        figure, axes = new_figure(2)
        lines = self.table.to_pylist()
        for axis, setting, other in zip(axes, ("shift", "fakes"), ("fakes", "shift"), strict=True):
            chosen = [line for line in lines if line[other] == 0]
            axis.plot([line[setting] for line in chosen], [line["sum_of_ranges"] for line in chosen], marker="o")
            axis.set(xlabel="shift factor" if setting == "shift" else "fake values, share of rows")
            axis.set(xticks=[line[setting] for line in chosen])
            axis.set_ylim(0, 1.05 * max(line["sum_of_ranges"] for line in lines) or 1)
        axes[0].set_ylabel("sum of ranges")
        return save_figure(figure, folder, name)

    def __str__(self) -> str:
        lines = [
            f"distance between table and target: {self.distance:.3f}",
            "shift  fakes  at root  sum of ranges  AVG width",
        ]
        for line in self.table.to_pylist():
            width = "" if line["avg_width"] is None else f"{line['avg_width']:,.4g}"
            lines.append(
                f"{line['shift']:5.2f}  {line['fakes']:5.2f}  {line['at_root']:7.1%}  {line['sum_of_ranges']:13,.6g}  "
                f"{width:>9}"
            )
        return "\n".join(lines)


def advise(
    method: TargetDistribution,
    source: object,
    schema: Schema,
    *,
    shifts: Sequence[object] = SHIFTS,
    fakes: Sequence[object] = SHARES,
) -> Advice:
    """Try shift factors without fakes and fakes without a shift, on the groups and targets of `method`."""
    plan = method.plan(prepare(source, schema, None))
    settings = [(read_shift(shift), Fraction(0)) for shift in shifts]
    settings += [(Fraction(0), share) for share in map(read_shift, fakes) if share]
    lines = [_line(plan, shift, share) for shift, share in settings]
    return Advice(_distance(plan), pa.Table.from_pylist(lines))


def _line(plan: TargetPlan, shift: Fraction, share: Fraction) -> dict[str, float | None]:
    published = plan.disguise(shift=shift, fakes=share)
    which = np.repeat(plan.targets.which, np.diff(published.offsets))
    roots = np.array([tree.root for tree in plan.targets.trees])
    at_root = int(published.counts[published.nodes == roots[which]].sum())
    rows = np.diff(plan.groups.offsets)
    return {
        "shift": float(shift),
        "fakes": float(share),
        "sum_of_ranges": _sum_of_ranges(plan, published, which),
        "at_root": at_root / int(published.counts.sum()),
        "avg_width": _avg_width(plan, published, which, rows),
        "avg_width_tenth": _avg_width(plan, published, which, -(-rows // 10)),
    }


def _sum_of_ranges(plan: TargetPlan, published: PublishedNodes, which: NDArray[np.int32]) -> float:
    total = Fraction(0)
    for number, tree in enumerate(plan.targets.trees):
        ranges, unit = node_ranges(tree)
        own = which == number
        total += unit * int(ranges[published.nodes[own]] @ published.counts[own])
    return float(total)


def _avg_width(
    plan: TargetPlan, published: PublishedNodes, which: NDArray[np.int32], hits: NDArray[np.int64]
) -> float | None:
    """The width of the bounds of AVG when `hits` rows of each group are asked for."""
    low, high = np.empty(len(which)), np.empty(len(which))
    for number, tree in enumerate(plan.targets.trees):
        if pa.types.is_string(tree.leaves.type):
            return None
        numbers = np.array([float(value) for value in leaf_numbers(tree)])
        own = which == number
        starts, ends = tree.low[published.nodes[own]], tree.high[published.nodes[own]]
        low[own] = [numbers[a:b].min() for a, b in zip(starts, ends, strict=True)]
        high[own] = [numbers[a:b].max() for a, b in zip(starts, ends, strict=True)]
    width = 0.0
    for group, h in enumerate(hits.tolist()):
        part = slice(published.offsets[group], published.offsets[group + 1])
        lows, highs = (np.sort(np.repeat(ends[part], published.counts[part])) for ends in (low, high))
        width += highs[len(highs) - h :].sum() - lows[:h].sum()
    return float(width / hits.sum())


def _distance(plan: TargetPlan) -> float:
    """Total variation between each target's rows and the target, weighted by rows."""
    of_row = np.repeat(plan.targets.which, np.diff(plan.groups.offsets))
    total = 0.0
    for number, tree in enumerate(plan.targets.trees):
        counts = np.bincount(plan.leaves[of_row == number], minlength=tree.num_leaves)
        asked = np.array([float(share) for share in tree.target()])
        total += counts.sum() * np.abs(counts / max(counts.sum(), 1) - asked).sum() / 2
    return float(total / len(plan.leaves))


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
        axis.set_title(
            f"{counted(tree.num_leaves, 'value')}; {counted(left_out, 'further level')} not shown",
            fontsize=9,
            loc="left",
        )
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
