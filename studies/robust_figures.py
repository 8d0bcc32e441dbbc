"""The figures of the study of r-robustness."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from hedgerow.report.release_figures import COLOURS, new_figure, save_figure

__all__ = ["lines_figure"]

_PANELS = {
    "seconds": "seconds of processor time",
    "error": "mean relative error of counts",
    "problematic": "problematic rows among those with the secret",
    "delta": "mean Delta of groups with the secret",
}


def lines_figure(table: pa.Table, over: str, label: str, out: Path, name: str) -> Path:
    """Four measures of every method over one parameter."""
    rows = table.to_pylist()
    kinds = {kind: title for kind, title in _PANELS.items() if kind in rows[0]}
    figure, panels = new_figure(len(kinds), width=3.9 if len(kinds) > 1 else 6.4, height=3.6)
    panels = np.atleast_1d(panels)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    for axes, (kind, title) in zip(panels, kinds.items(), strict=True):
        for colour, marker, method in zip(COLOURS, "osv^Dx", methods, strict=False):
            mine = [row for row in rows if row["method"] == method]
            axes.plot(
                [row[over] for row in mine], [row[kind] for row in mine], f"{marker}-", color=colour, label=method
            )
        axes.set(xlabel=label, title=title)
        axes.title.set_fontsize(9)
        axes.set_xticks(sorted({row[over] for row in rows}))
        if kind in ("seconds", "error"):
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
    bound = [row for row in rows if row["method"] == "ART" and "delta_max" in row]
    if bound:
        panels[-1].plot(
            [row[over] for row in bound], [row["delta_max"] for row in bound], "k:", label="ART's Delta_max"
        )
    figure.legend(
        *panels[-1].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(methods) + 1 if len(kinds) > 1 else 3,
        fontsize=8,
    )
    return save_figure(figure, out, name)
