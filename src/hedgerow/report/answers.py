"""Figures of a release: how tight its answers are, and what its groups look like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.report.figure import COLOURS, new_figure, save_figure

if TYPE_CHECKING:
    from hedgerow.query import Answer
    from hedgerow.release import Release

__all__ = ["bounds_figure", "groups_figure"]


def bounds_figure(answered: Sequence[tuple[str, Answer, float]], folder: Path) -> Path:
    """Draw each answer's bounds around the truth, as a share of the truth."""
    figure, axes = new_figure(width=7.2, height=0.8 + 0.75 * len(answered))
    for line, (_, answer, truth) in enumerate(answered):
        lower, upper, expected = (_percent(value, truth) for value in (answer.lower, answer.upper, answer.expected))
        bar = {"color": COLOURS[0], "linewidth": 7, "alpha": 0.35, "solid_capstyle": "butt"}
        axes.plot([lower, upper], [line, line], **bar, label="guaranteed bounds" if line == 0 else None)
        axes.plot([expected], [line], "o", color=COLOURS[0], label="expected answer" if line == 0 else None)
    axes.axvline(0, color=COLOURS[1], linewidth=1.2, label="true answer")
    axes.set_yticks(range(len(answered)), [_short(question) for question, _, _ in answered], fontsize=8)
    axes.invert_yaxis()
    axes.set_ylim(len(answered) - 0.4, -0.6)
    axes.set_xlabel("distance from the true answer, %")
    figure.legend(loc="outside upper right", ncols=3, fontsize=8)
    return save_figure(figure, folder, "bounds")


def groups_figure(release: Release, folder: Path) -> Path:
    """Draw the range of sensitive values that each group leaves possible, and the sizes of the groups."""
    column = release.columns.sensitive[0]
    table = release.tables["release"]
    groups = table.column(release.group_column).to_numpy()
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    values = table.column(column).cast("double").to_numpy()
    lows, highs = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    order = np.argsort(lows)
    figure, (ranges, sizes) = new_figure(2, width=4.6, height=3.2)
    width = min(8.0, max(0.8, 200 / len(starts)))
    ranges.vlines(
        np.arange(len(starts)), lows[order], np.maximum(highs, lows + 1e-9)[order], color=COLOURS[0], linewidth=width
    )
    ranges.set_xlabel(f"{len(starts):,} groups, by least value")
    ranges.set_ylabel(f"values of {column} in the group")
    _thousands(ranges.yaxis)
    sizes.hist(np.diff(np.append(starts, len(values))), bins=30, color=COLOURS[2])
    sizes.set_xlabel("rows in a group")
    sizes.set_ylabel("groups")
    return save_figure(figure, folder, "groups")


def _percent(value: float | None, truth: float) -> float:
    return 100 * (float(value or 0) - truth) / abs(truth) if truth else 0.0


def _short(question: str) -> str:
    return question.replace(" FROM release", "").replace("SELECT ", "").replace(" WHERE ", "\n")


def _thousands(axis: Any) -> None:
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
