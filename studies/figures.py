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

__all__ = ["Panel", "curve_table", "curves_of", "draw_curves", "set_log"]

_PREFIX = "curves "
_MARKS = "os^Dv*PX"  # lines differ without colour, too
_LINES = "-", "--", "-.", ":"
_MOST_TICKS = 10
_WIDE = 3
_FEW = 500
_APART = 0.07

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


def curves_of(tables: Mapping[str, pa.Table], figure: str, panel: str) -> dict[str, list[float]]:
    """The ys of each line of one panel, as one seed left them in the table of a figure."""
    rows = [row for row in tables[_PREFIX + figure].to_pylist() if row["panel"] == panel]
    return {line: [row["y"] for row in rows if row["line"] == line] for line in dict.fromkeys(r["line"] for r in rows)}


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
    notes: dict[str, str] = {}
    for axis, title in zip(panels, titles, strict=False):
        for label, (handle, note) in _draw_panel(axis, [row for row in rows if row["panel"] == title], labels).items():
            handles[label], notes[label] = handle, note or notes.get(label, "")
    for axis in panels[len(titles) :]:
        axis.set_visible(False)
    if len(labels) > 1 or any(notes.values()):
        columns = min(len(handles), 4 if across > 1 else 2)
        named = [label + notes[label] for label in handles]
        figure.legend(handles.values(), named, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)
    return save_figure(figure, out, name)


def _draw_panel(axis: Any, rows: list[dict[str, Any]], labels: list[str]) -> dict[str, tuple[Any, str]]:
    """Draw the lines of one panel, each with the look that it has in all of them; return lines and notes by label."""
    first, drawn = rows[0], {}
    for label in dict.fromkeys(row["line"] for row in rows):
        mine = [row for row in rows if row["line"] == label]
        place = labels.index(label)
        look = {"color": COLOURS[place % len(COLOURS)], "marker": _MARKS[place % len(_MARKS)],
                "linestyle": _LINES[place // len(COLOURS) % len(_LINES)]}  # fmt: skip
        line, hidden = _band(axis, mine, "y" in first["scale"], look)
        note = " (infeasible beyond)" if any(row["y"] is None for row in mine) else ""
        drawn[label] = line, note + (" (0 where not shown)" if hidden else "")
    axis.set_title(first["panel"], fontsize=10)
    axis.set(xlabel=first["xlabel"], ylabel=first["ylabel"])
    xs = sorted({row["x"] for row in rows})
    if "x" in first["scale"]:
        set_log(axis, "x")
    elif len(xs) <= _MOST_TICKS and all(float(x).is_integer() for x in xs):
        axis.set_xticks(_apart(xs))
    if "y" in first["scale"]:
        set_log(axis, "y")
    else:
        axis.set_ylim(bottom=0)
    for scale in (axis.xaxis, axis.yaxis):
        scale.set_major_formatter("{x:,g}")
    return drawn


def set_log(axis: Any, name: str) -> None:
    """A logarithmic axis with marks at 1, 2 and 5 of each decade where it has few decades."""
    from matplotlib.ticker import LogLocator, NullFormatter

    (axis.set_xscale if name == "x" else axis.set_yscale)("log")
    low, high = axis.get_xlim() if name == "x" else axis.get_ylim()
    scale = axis.xaxis if name == "x" else axis.yaxis
    if high < _FEW * low:
        scale.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    scale.set_major_formatter("{x:,g}")
    scale.set_minor_formatter(NullFormatter())


def _apart(xs: Sequence[float]) -> list[float]:
    """Those of the xs whose numbers do not run into each other."""
    kept = [xs[0]]
    for x in xs[1:]:
        if x - kept[-1] >= _APART * (xs[-1] - xs[0]):
            kept.append(x)
    return kept


def _band(axis: Any, rows: list[dict[str, Any]], log: bool, look: dict[str, Any]) -> tuple[Any, bool]:
    """The mean over seeds at each place, and the range of seeds; and whether a mean is 0 and has no place."""
    known = [row for row in rows if row["y"] is not None]
    at = [[row for row in known if row["place"] == place] for place in sorted({row["place"] for row in known})]
    xs = [np.mean([row["x"] for row in here]) for here in at]
    ys = [np.array([row["y"] for row in here]) for here in at]
    means = [float(here.mean()) for here in ys]
    hidden = log and min(means, default=1.0) <= 0
    shown = [mean if mean > 0 or not log else np.nan for mean in means]
    line = axis.plot(xs, shown, markersize=4, linewidth=1.2, **look)[0]
    if any(len(here) > 1 for here in ys):
        least = min((here[here > 0].min() for here in ys if (here > 0).any()), default=1.0)
        low = [max(float(here.min()), least) if log else float(here.min()) for here in ys]
        axis.fill_between(xs, low, [max(float(here.max()), bottom) for here, bottom in zip(ys, low, strict=True)],
                          alpha=0.15, color=line.get_color(), linewidth=0)  # fmt: skip
    return line, hidden
