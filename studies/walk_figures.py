"""The figures of the study of the random walk, means over seeds with the range of seeds as a band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.report.release_figures import COLOURS, new_figure, save_figure
from studies.figures import set_log
from studies.noise import NOISES

__all__ = ["draw_walk"]

Rows = list[dict[str, Any]]


def draw_walk(out: Path, tables: Mapping[str, pa.Table]) -> list[Path]:
    """Draw what has been measured."""
    found = []
    for prefix, draw in (
        (("averages", "our averages"), _averages),
        ("clustering", _clustering),
        ("privacy", _privacy),
        ("moving", _moving),
    ):
        rows = [row for name, table in tables.items() if name.startswith(prefix) for row in table.to_pylist()]
        if rows:
            found.append(draw(rows, out))
    if "extraction" in tables and "walking" in tables:
        found.append(_runtime(tables, out))
    return found


def _band(axes: Any, rows: Rows, x: str, y: str, **look: Any) -> None:
    """The mean over seeds at each x, and the range of seeds."""
    at = sorted({row[x] for row in rows})
    values = [[row[y] for row in rows if row[x] == place] for place in at]
    if len(at) == 1:  # no band: a bar
        mean = float(np.mean(values[0]))
        axes.errorbar(at, [mean], [[mean - min(values[0])], [max(values[0]) - mean]], markersize=4, capsize=3, **look)
        axes.set_xticks(at)
    elif at:
        line = axes.plot(at, [np.mean(v) for v in values], markersize=4, **look)[0]
        axes.fill_between(at, [min(v) for v in values], [max(v) for v in values], alpha=0.15, color=line.get_color(),
                          linewidth=0)  # fmt: skip


def _legend_below(figure: Any, axes: Any, columns: int = 5) -> None:
    """A legend under all panels, off the data."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize=8,
                  frameon=False)  # fmt: skip


def _averages(rows: Rows, out: Path) -> Path:
    names = list(dict.fromkeys(row["name"] for row in rows))
    figure, panels = new_figure(len(names), width=4.2)
    looks = (("mondrian", "Mondrian", "^-"), ("printed", "walk as printed", "o-"), ("noise", "noise by column", "s--"),
             ("ours_near", "our walk, drawn back", "D:"), ("ours", "our walk", "v:"))  # fmt: skip
    for axes, name in zip(np.atleast_1d(panels), names, strict=True):
        for place, (column, label, style) in enumerate(looks):
            mine = [row for row in rows if row["name"] == name and row.get(column) is not None]
            _band(axes, mine, "l", column, color=COLOURS[place], marker=style[0], linestyle=style[1:], label=label)
        axes.set(xlabel="l of Mondrian", ylabel="mean relative error", title=f"AVG({name})")
        set_log(axes, "y")
    _legend_below(figure, np.atleast_1d(panels)[0])
    return save_figure(figure, out, "averages")


def _clustering(rows: Rows, out: Path) -> Path:
    panels_of = list(dict.fromkeys((row["table"], row["method"]) for row in rows))
    ks = sorted({row["k"] for row in rows})
    k = ks[len(ks) // 2]
    figure, panels = new_figure(len(panels_of), width=3.8)
    for axes, (table, method) in zip(np.atleast_1d(panels), panels_of, strict=True):
        mine = [row for row in rows if (row["table"], row["method"], row["k"]) == (table, method, k)]
        for place, (column, label) in enumerate((("walk", "walk"), *((name, f"noise, {name}") for name in NOISES))):
            _band(axes, mine, "share", column, color=COLOURS[place], marker="os^D"[place],
                  linestyle="-" if place == 0 else "--", label=label)  # fmt: skip
        axes.set(xlabel="share of localities kept", ylabel="share of rows misplaced",
                 title=f"{table}, {method}, k = {k}")  # fmt: skip
        axes.set_ylim(bottom=0)
        if max(row["share"] for row in mine) > 20 * min(row["share"] for row in mine):
            set_log(axes, "x")
    _legend_below(figure, np.atleast_1d(panels)[0])
    return save_figure(figure, out, "clustering")


def _privacy(rows: Rows, out: Path) -> Path:
    layouts, names = (list(dict.fromkeys(row[column] for row in rows)) for column in ("layout", "attack"))
    figure, panels = new_figure(len(layouts), width=3.6, height=3.6)
    for number, (axes, layout) in enumerate(zip(np.atleast_1d(panels), layouts, strict=True)):
        for shift, method in ((-0.2, "walk"), (0.2, "noise")):
            rates = [_rates(rows, layout, method, name) for name in names]
            spread = np.array([[np.mean(r) - min(r), max(r) - np.mean(r)] for r in rates]).T
            axes.barh(np.arange(len(names)) + shift, [np.mean(r) for r in rates], 0.38, xerr=spread, label=method)
        axes.set_yticks(np.arange(len(names)), names if number == 0 else [""] * len(names), fontsize=8)
        axes.invert_yaxis()
        far = np.mean([row["distortion"] for row in rows if row["layout"] == layout])
        axes.set(xlabel="share of right guesses", title=f"{layout}\ndistortion {far:.0%}", xlim=(0, 1))
    _legend_below(figure, np.atleast_1d(panels)[-1])
    return save_figure(figure, out, "attacks")


def _rates(rows: Rows, layout: str, method: str, attack: str) -> Sequence[float]:
    wanted = layout, method, attack
    return [row["rate"] for row in rows if (row["layout"], row["method"], row["attack"]) == wanted]


def _moving(rows: Rows, out: Path) -> Path:
    figure, axes = new_figure()
    for place, (column, segment) in enumerate(dict.fromkeys((row["column"], row["segment"]) for row in rows)):
        mine = [row for row in rows if (row["column"], row["segment"]) == (column, segment)]
        _band(
            axes,
            mine,
            "share",
            "still",
            color=COLOURS[place],
            marker="os^D"[place],
            label=f"{column}, {segment} values",
        )
    axes.set(xlabel="share of localities kept", ylabel="share of blocks that stand still", ylim=(-0.05, 1.05))
    set_log(axes, "x")
    _legend_below(figure, axes, 2)
    return save_figure(figure, out, "moving")


def _runtime(tables: Mapping[str, pa.Table], out: Path) -> Path:
    figure, (left, right) = new_figure(2)
    for axes, name, x, title in (
        (left, "extraction", "size", "all localities"),
        (right, "walking", "properties", "4,000 steps over 100 values"),
    ):
        rows = [{**row, "ms": 1000 * row["seconds"]} for row in tables[name].to_pylist()]
        if name == "walking":  # the number of properties differs a little between seeds
            shares = {row["share"] for row in rows}
            typical = {s: float(np.mean([row[x] for row in rows if row["share"] == s])) for s in shares}
            rows = [{**row, x: typical[row["share"]]} for row in rows]
        _band(axes, rows, x, "ms", color=COLOURS[0], marker="o")
        axes.set(xlabel="values in a segment" if x == "size" else "properties", ylabel="milliseconds", title=title)
        axes.set_ylim(bottom=0)
    return save_figure(figure, out, "runtime")
