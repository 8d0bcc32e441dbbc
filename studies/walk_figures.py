"""The figures of the study of the random walk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from hedgerow.report.release_figures import COLOURS, new_figure, save_figure

__all__ = ["attack_figure", "averages_figure", "clustering_figure", "runtime_figure"]


def runtime_figure(times: Mapping[str, pa.Table], out: Path) -> Path:
    """Time of extraction by size, and of 4,000 steps by number of properties."""
    figure, (left, right) = new_figure(2)
    left.plot(times["extraction"]["size"], 1000 * times["extraction"]["seconds"].to_numpy(), "o-")
    left.set(xlabel="values in a segment", ylabel="milliseconds", title="all localities")
    right.plot(times["walking"]["properties"], 1000 * times["walking"]["seconds"].to_numpy(), "o-")
    right.set(xlabel="properties of 100 values", ylabel="milliseconds", title="4,000 steps")
    for axes in (left, right):
        axes.set_ylim(bottom=0)
    return save_figure(figure, out, "runtime")


def clustering_figure(tables: Mapping[str, pa.Table], out: Path) -> Path:
    """Clustering error by share of properties: the walk, noise, and the untouched table clustered again."""
    figure, panels = new_figure(len(tables), width=4.2)
    for axes, (name, table) in zip(np.atleast_1d(panels), tables.items(), strict=True):
        for colour, k in zip(COLOURS, sorted(set(table["k"].to_pylist())), strict=False):
            mine = table.filter(pa.array(table["k"].to_numpy() == k))
            axes.plot(mine["share"], mine["walk"], "o-", color=colour, label=f"walk, k = {k}")
            axes.plot(mine["share"], mine["noise"], "s--", color=colour, label=f"noise, k = {k}")
            axes.axhline(np.mean(mine["again"]), color=colour, linestyle=":", label=f"k-means alone, k = {k}")
        axes.set(xlabel="share of localities kept", ylabel="share of rows misplaced", title=name)
        axes.set_ylim(bottom=0)
    np.atleast_1d(panels)[-1].legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    return save_figure(figure, out, "clustering")


def averages_figure(table: pa.Table, out: Path) -> Path:
    """Mean relative error of AVG queries at the distortion of Mondrian with l, a panel per averaged column."""
    targets = sorted(set(table["target"].to_pylist()))
    figure, panels = new_figure(len(targets), width=4.2)
    for axes, target in zip(np.atleast_1d(panels), targets, strict=True):
        mine = table.filter(pa.array(table["target"].to_numpy() == target))
        for style, name in (("^-", "mondrian"), ("o-", "walk"), ("s--", "noise")):
            axes.plot(mine["l"], mine[name], style, label="Mondrian" if name == "mondrian" else name)
        axes.fill_between(mine["l"], mine["least"], mine["most"], alpha=0.2, color=COLOURS[1], linewidth=0)
        axes.set(xlabel="l of Mondrian", ylabel="mean relative error", title=f"AVG({mine['name'][0].as_py()})")
        axes.set_ylim(bottom=0)
    np.atleast_1d(panels)[0].legend(fontsize=8)
    return save_figure(figure, out, "averages")


def attack_figure(table: pa.Table, out: Path) -> Path:
    """Rates with intervals, a panel per layout."""
    layouts = list(dict.fromkeys(table["layout"].to_pylist()))
    figure, panels = new_figure(len(layouts), height=3.8)
    for axes, layout in zip(np.atleast_1d(panels), layouts, strict=True):
        rows = [row for row in table.to_pylist() if row["layout"] == layout]
        names = list(dict.fromkeys(row["attack"] for row in rows))
        for shift, method in ((-0.2, "walk"), (0.2, "noise")):
            mine = [row for row in rows if row["method"] == method]
            rates = np.array([row["rate"] for row in mine])
            spread = np.abs(np.array([[row["low"], row["high"]] for row in mine]).T - rates)
            axes.barh(np.arange(len(names)) + shift, rates, 0.38, xerr=spread, label=method)
        baselines = [row["baseline"] for row in rows if row["method"] == "walk"]
        axes.plot(baselines, np.arange(len(names)), "k|", markersize=14, label="guessing")
        axes.set_yticks(np.arange(len(names)), names)
        axes.invert_yaxis()
        axes.set(xlabel="share of right guesses", title=layout, xlim=(0, 1))
    np.atleast_1d(panels)[-1].legend(fontsize=8)
    return save_figure(figure, out, "attacks")
