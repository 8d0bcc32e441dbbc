"""Curves of a study: kept as tables by each seed, drawn over all of them as means with the range of seeds as a band."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.report.release_figures import COLOURS, new_figure, save_figure

__all__ = ["Panel", "curve_table", "draw_curves"]

_PREFIX = "curves "
_MARKS = "os^Dv*PX"  # lines differ without colour, too
_LINES = "-", "--", "-.", ":"
_MOST_TICKS = 10
_WIDE = 3

Ys = Sequence[float | None]


@dataclass(frozen=True)
class Panel:
    """One panel: its axes, and a line of ys over the xs for each label; None where there is no value.

    `scale` names the logarithmic axes: "", "x", "y" or "xy". A y of 0 has no place on a logarithmic axis and is left
    out; the legend says so.
    """

    title: str
    xlabel: str
    ylabel: str
    xs: Sequence[float]
    lines: Mapping[str, Ys]
    scale: str = ""


def curve_table(figure: str, panels: Sequence[Panel]) -> dict[str, pa.Table]:
    """The numbers of a figure as a table that `draw_curves` will find among the tables of all seeds."""
    rows = [
        {"panel": panel.title, "xlabel": panel.xlabel, "ylabel": panel.ylabel, "scale": panel.scale, "line": label,
         "place": place, "x": float(x), "y": None if y is None else float(y)}
        for panel in panels
        for label, ys in panel.lines.items()
        for place, (x, y) in enumerate(zip(panel.xs, ys, strict=True))
    ]  # fmt: skip
    return {_PREFIX + figure: pa.Table.from_pylist(rows)}


def draw_curves(out: Path, tables: Mapping[str, pa.Table]) -> list[Path]:
    """Draw every figure whose curves are among the tables."""
    kept = {name.removeprefix(_PREFIX): table for name, table in tables.items() if name.startswith(_PREFIX)}
    return [_draw(out, name, table.to_pylist()) for name, table in kept.items()]


def _draw(out: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    titles = list(dict.fromkeys(row["panel"] for row in rows))
    down = math.ceil(len(titles) / _WIDE)
    across = math.ceil(len(titles) / down)
    figure, axes = new_figure(across, rows=down, width=6.0 if len(titles) == 1 else 4.4, height=3.4)
    panels = np.atleast_1d(axes).ravel()
    labels = list(dict.fromkeys(row["line"] for row in rows))
    handles: dict[str, Any] = {}
    for axis, title in zip(panels, titles, strict=False):
        handles |= _draw_panel(axis, [row for row in rows if row["panel"] == title], labels)
    for axis in panels[len(titles) :]:
        axis.set_visible(False)
    if len(labels) > 1:
        columns = min(len(handles), 4 if across > 1 else 2)
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=columns, fontsize=8)
    return save_figure(figure, out, name)


def _draw_panel(axis: Any, rows: list[dict[str, Any]], labels: list[str]) -> dict[str, Any]:
    """Draw the lines of one panel, each with the look that it has in all of them; return what the legend names."""
    first, handles = rows[0], {}
    for label in dict.fromkeys(row["line"] for row in rows):
        mine = [row for row in rows if row["line"] == label]
        shown = [row for row in mine if row["y"] is not None and (row["y"] > 0 or "y" not in first["scale"])]
        note = " (infeasible beyond)" if any(row["y"] is None for row in mine) else ""
        note += " (0 not shown)" if len(shown) + sum(row["y"] is None for row in mine) < len(mine) else ""
        place = labels.index(label)
        look = {"color": COLOURS[place % len(COLOURS)], "marker": _MARKS[place % len(_MARKS)]}
        handles[label + note] = _band(axis, shown, linestyle=_LINES[place // len(COLOURS) % len(_LINES)], **look)
    axis.set_title(first["panel"], fontsize=10)
    axis.set(xlabel=first["xlabel"], ylabel=first["ylabel"])
    xs = sorted({row["x"] for row in rows})
    if "x" in first["scale"]:
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter("{x:,g}")
    elif len(xs) <= _MOST_TICKS and all(float(x).is_integer() for x in xs):
        axis.set_xticks(xs, [f"{x:,.0f}" for x in xs])
    if "y" in first["scale"]:
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter("{x:,g}")
        low, high = axis.get_ylim()
        if high < 20 * low:  # a decade or less has too few marks of its own
            axis.yaxis.set_minor_formatter("{x:,.2g}")
            axis.tick_params(axis="y", which="minor", labelsize=7)
    else:
        axis.set_ylim(bottom=0)
    return handles


def _band(axis: Any, rows: list[dict[str, Any]], **look: Any) -> Any:
    """The mean over seeds at each place, and the range of seeds."""
    places = sorted({row["place"] for row in rows})
    at = [[row for row in rows if row["place"] == place] for place in places]
    xs = [np.mean([row["x"] for row in here]) for here in at]
    ys = [[row["y"] for row in here] for here in at]
    line = axis.plot(xs, [np.mean(here) for here in ys], markersize=4, linewidth=1.2, **look)[0]
    if any(len(here) > 1 for here in ys):
        low, high = [min(here) for here in ys], [max(here) for here in ys]
        axis.fill_between(xs, low, high, alpha=0.15, color=line.get_color(), linewidth=0)
    return line
