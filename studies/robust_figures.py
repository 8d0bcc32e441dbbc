"""The figures of the study of r-robustness."""

from __future__ import annotations

from pathlib import Path

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
    figure, panels = new_figure(len(_PANELS), width=3.9, height=3.6)
    rows = table.to_pylist()
    methods = list(dict.fromkeys(row["method"] for row in rows))
    for axes, (kind, title) in zip(panels, _PANELS.items(), strict=True):
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
    bound = [row for row in rows if row["method"] == "ART"]
    panels[-1].plot([row[over] for row in bound], [row["delta_max"] for row in bound], "k:", label="Delta_max of ART")
    figure.legend(*panels[-1].get_legend_handles_labels(), loc="outside lower center", ncols=len(methods) + 1)
    return save_figure(figure, out, name)
