"""Figures of releases: bounds of answers, groups, rates of adversaries, and several releases compared.

Figures without a screen: one look for all of them, saved as SVG for pages and PNG for slides.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import InputError, counted
from hedgerow.query.answer_table import AnswerTable
from hedgerow.utility.compare import QuestionOutcome, score

if TYPE_CHECKING:
    from hedgerow.attack import AttackReport, Finding
    from hedgerow.query import Answer
    from hedgerow.query.regression import Regression
    from hedgerow.release import Release


def bounds_figure(answered: Sequence[tuple[str, Answer, float]], folder: Path) -> Path:
    """Draw each answer's bounds around the truth, as a share of the truth."""
    figure, axes = new_figure(width=7.2, height=0.8 + 0.75 * len(answered))
    for line, (_, answer, truth) in enumerate(answered):
        lower, upper, expected = (_off_percent(value, truth) for value in (answer.lower, answer.upper, answer.expected))
        bar = {"color": COLOURS[0], "linewidth": 7, "alpha": 0.35, "solid_capstyle": "butt"}
        axes.plot([lower, upper], [line, line], **bar, label="guaranteed bounds" if line == 0 else None)
        axes.plot([expected], [line], "o", color=COLOURS[0], label="expected answer" if line == 0 else None)
    axes.axvline(0, color=COLOURS[1], linewidth=1.2, label="true answer")
    axes.set_yticks(range(len(answered)), [_short(question) for question, _, _ in answered], fontsize=8)
    axes.invert_yaxis()
    axes.set_ylim(len(answered) - 0.4, -0.6)
    axes.set_xlabel("distance from the true answer, %")
    figure.legend(loc="outside upper right", ncols=3, fontsize=8, frameon=False)
    return save_figure(figure, folder, "bounds")


_SIGNS_BELOW = 50
"""So many characters stand below a figure side by side."""


def answers_figure(
    results: AnswerTable | Mapping[str, AnswerTable],
    path: str | os.PathLike[str],
    truth: Sequence[float] | None = None,
) -> Path:
    """Draw the first aggregate of a result with GROUP BY: bounds as bars, expected answers as dots, by the first key.

    Several results by name are drawn side by side. `truth` are the answers of the original, where the owner draws.
    """
    named = {"": results} if isinstance(results, AnswerTable) else dict(results)
    figure, axes = new_figure(width=6.4, height=3.2)
    for place, (name, result) in enumerate(named.items()):
        shift = 0.7 * ((place + 0.5) / len(named) - 0.5)
        answers = result.answers(result.aggregates[0])
        at = [row + shift for row in range(len(answers))]
        thick = {"color": COLOURS[place], "linewidth": 14 / (1 + len(named)), "alpha": 0.35}
        axes.vlines(
            at,
            [math.nan if one.lower is None else one.lower for one in answers],
            [math.nan if one.upper is None else one.upper for one in answers],
            **thick,
            label=name or "guaranteed bounds",
        )
        label = "expected answer" if place == 0 else None
        dots = [math.nan if one.expected is None else one.expected for one in answers]
        axes.plot(at, dots, "o", color=COLOURS[place], markersize=5, label=label)
    if truth is not None:
        axes.plot(range(len(truth)), truth, "x", color="black", markersize=7, label="true answer")
    keys = [str(key) for key in result.column(result.keys[0]).to_pylist()]
    is_wide = len(keys) * max(map(len, keys)) > _SIGNS_BELOW
    axes.set_xticks(range(len(keys)), keys, **({"rotation": 30, "ha": "right"} if is_wide else {}))
    axes.yaxis.set_major_formatter("{x:,.10g}")
    axes.set_xlabel(result.keys[0])
    axes.set_ylabel(result.aggregates[0])
    figure.legend(loc="outside upper left", ncols=4, fontsize=8)
    path = Path(path)
    return save_figure(figure, path.parent, path.stem)


def regression_figure(
    result: Regression, path: str | os.PathLike[str], truth: Mapping[str, float] | None = None
) -> Path:
    """Draw coefficients as error bars from their lower to their upper bounds, each on a scale that shows zero.

    `truth` are the coefficients of the original table by term, where the owner draws the figure.
    """
    figure, _ = new_figure(width=7.2, height=0.5 + 0.55 * len(result))
    figure.clear()
    panels = np.atleast_1d(figure.subplots(len(result), 1))
    for place, (axes, line) in enumerate(zip(panels, result, strict=True)):
        first = place == 0
        axes.plot([line.lower, line.upper], [0, 0], color=COLOURS[0], linewidth=6, alpha=0.35, solid_capstyle="butt",
                  label="guaranteed bounds" if first else None)  # fmt: skip
        axes.plot([line.expected], [0], "o", color=COLOURS[0], label="expected" if first else None)
        if truth is not None:
            axes.plot([truth[line.term]], [0], "|", color=COLOURS[1], markersize=13, markeredgewidth=2,
                      label="original table" if first else None)  # fmt: skip
        axes.axvline(0, color="#999999", linewidth=0.8)
        axes.set_yticks([0], [line.term])
        axes.set_ylim(-0.6, 0.6)
        axes.locator_params(axis="x", nbins=6)
        axes.tick_params(axis="x", labelsize=7)
        axes.xaxis.set_major_formatter("{x:,.6g}")
        axes.spines[["left", "top", "right"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside upper right", ncols=3, fontsize=8, frameon=False)
    target = Path(path)
    return save_figure(figure, target.parent, target.stem)


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
    ranges.set_xlabel(f"{counted(len(starts), 'group')}, by least value")
    ranges.set_ylabel(f"values of {column} in the group")
    _thousands(ranges.yaxis)
    sizes.hist(np.diff(np.append(starts, len(values))), bins=30, color=COLOURS[2])
    sizes.yaxis.get_major_locator().set_params(integer=True)
    _thousands(sizes.xaxis)
    sizes.set_xlabel("rows in a group")
    sizes.set_ylabel("groups")
    return save_figure(figure, folder, "groups")


def _off_percent(value: float | None, truth: float) -> float:
    return 100 * (float(value or 0) - truth) / abs(truth) if truth else 0.0


def _short(question: str) -> str:
    return question.replace(" FROM release", "").replace("SELECT ", "").replace(" WHERE ", "\n")


def _thousands(axis: Any) -> None:
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def attack_figure(report: AttackReport, folder: Path, name: str = "attack") -> Path:
    """Draw one row per adversary: a dot with its interval, and marks for what it is compared with."""
    findings = list(reversed(report.findings))
    figure, axes = new_figure(width=7.4, height=1.5 + 0.38 * len(findings))
    for place, finding in enumerate(findings):
        _draw_finding(axes, place, finding)
    axes.set_yticks(range(len(findings)), [report.label(finding) for finding in findings])
    axes.set_ylim(-0.6, len(findings) - 0.4)
    axes.set_xlim(-1.5, 101.5)
    axes.set_xlabel("% of the guesses that are right")
    axes.set_title(f"{report.method}, {report.form}, {counted(report.rows, 'row')}", fontsize=10, loc="left")
    _explain_marks(figure, findings)
    return save_figure(figure, folder, name)


def _draw_finding(axes: Any, place: int, finding: Finding) -> None:
    low, high = 100 * finding.low, 100 * finding.high
    axes.plot([100 * finding.baseline, 100 * finding.rate], [place, place], color=_GUESSED, linewidth=1, zorder=1)
    axes.plot([low, high], [place, place], color=_RIGHT, linewidth=4, alpha=0.45, solid_capstyle="butt", zorder=2)
    axes.plot(100 * finding.baseline, place, "|", color="#555555", markersize=11, markeredgewidth=1.6, zorder=3)
    if finding.control is not None:
        axes.plot(100 * finding.control, place, "x", color=_CONTROL, markersize=6, markeredgewidth=1.8, zorder=3)
    if finding.worst is not None:
        axes.plot(100 * finding.worst, place, "o", markerfacecolor="none", color=_RIGHT, markersize=7, zorder=3)
    axes.plot(100 * finding.rate, place, "o", color=_RIGHT, markersize=6, zorder=4)
    if finding.promised is not None:
        ends = [place - 0.32, place + 0.32]
        axes.plot([100 * finding.promised] * 2, ends, color=_PROMISED, linewidth=2.2, zorder=5)


def _explain_marks(figure: Any, findings: list[Finding]) -> None:
    """Explain the marks that occur."""
    from matplotlib.lines import Line2D

    def mark(label: str, **style: Any) -> Line2D:
        return Line2D([], [], linestyle="none", label=label, **style)

    shown = [
        mark("measured, with its 95% interval", marker="o", color=_RIGHT, markersize=6),
        mark("by guessing", marker="|", color="#555555", markersize=11, markeredgewidth=1.6),
    ]
    if any(finding.control is not None for finding in findings):
        shown.append(mark("about people not published", marker="x", color=_CONTROL, markeredgewidth=1.8))
    if any(finding.worst is not None for finding in findings):
        shown.append(mark("for the person worst off", marker="o", markerfacecolor="none", color=_RIGHT, markersize=7))
    if any(finding.promised is not None for finding in findings):
        shown.append(Line2D([], [], color=_PROMISED, linewidth=2.2, label="promised at most"))
    figure.legend(handles=shown, loc="outside lower center", ncols=3, fontsize=8.5, frameon=False)


def compare_figure(outcomes: Mapping[str, Sequence[QuestionOutcome]], folder: Path) -> Path:
    """Draw one panel per aggregate and one line per release; medians, in percent of the answer."""
    every = [outcome for found in outcomes.values() for outcome in found]
    aggregates = list(dict.fromkeys(outcome.question.aggregate for outcome in every))
    axis = _axis(every)
    figure, drawn = new_figure(len(aggregates), width=max(3.9, 5.4 / len(aggregates)), height=3.6)
    panels = [drawn] if len(aggregates) == 1 else list(drawn)
    for aggregate, panel in zip(aggregates, panels, strict=True):
        for place, (name, found) in enumerate(outcomes.items()):
            mine = [outcome for outcome in found if outcome.question.aggregate == aggregate]
            _draw_scores(panel, name, mine, axis, place)
        _label(panel, aggregate, axis, sorted({getattr(outcome.question, axis) for outcome in every}))
    _name_lines(figure, panels, has_errors=any(outcome.error is not None for outcome in every))
    return save_figure(figure, folder, "compare")


def _axis(outcomes: Sequence[QuestionOutcome]) -> str:
    """What the questions vary in: selectivity unless only the dimensions differ."""
    return "selectivity" if len({outcome.question.selectivity for outcome in outcomes}) > 1 else "dimensions"


def _draw_scores(panel: Any, name: str, outcomes: Sequence[QuestionOutcome], axis: str, place: int) -> None:
    places = sorted({getattr(outcome.question, axis) for outcome in outcomes})
    scores = [score([outcome for outcome in outcomes if getattr(outcome.question, axis) == x]) for x in places]
    shown = [100 * x if axis == "selectivity" else x for x in places]
    style: Any = {"color": COLOURS[place % len(COLOURS)], "marker": "osD^v<>"[place % 7], "markersize": 4.5}
    # Without bounds there is nothing on this line, but the legend has its name from it.
    panel.plot(shown, [_percent(s.width) for s in scores], label=name, **style)
    if any(s.error is not None for s in scores):
        panel.plot(shown, [_percent(s.error) for s in scores], linestyle="--", linewidth=1.1, **style)


def _percent(share: float | None) -> float:
    return float("nan") if share is None else 100 * share


def _label(panel: Any, aggregate: str, axis: str, places: Sequence[float]) -> None:
    panel.set_title(aggregate.upper(), fontsize=10)
    panel.set_ylabel("% of the answer")
    # Widths reach from nothing at all to many times the answer: linear up to 1 %, logarithmic above.
    panel.set_yscale("symlog", linthresh=1.0)
    panel.set_ylim(0, 1.5 * max(1.0, panel.dataLim.y1))  # whole markers above, too
    panel.yaxis.set_major_formatter("{x:,.10g}")
    if axis == "selectivity":
        panel.set_xscale("log")
        panel.set_xticks([100 * place for place in places], [f"{100 * place:g}" for place in places])
        panel.set_xticks([], minor=True)
        panel.set_xlabel("rows selected, about, %")
    else:
        panel.set_xticks(places, [str(place) for place in places])
        panel.set_xlabel("conditions")


def _name_lines(figure: Any, panels: Sequence[Any], *, has_errors: bool) -> None:
    """Name each release once, and say what the two kinds of lines are."""
    from matplotlib.lines import Line2D

    named = {
        label: handle for panel in panels for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    named["width of the bounds"] = Line2D([], [], color="grey")
    if has_errors:
        named["error of the expected answer"] = Line2D([], [], color="grey", linestyle="--", linewidth=1.1)
    figure.legend(named.values(), named, loc="outside upper center", ncols=4, fontsize=8, frameon=False)


COLOURS = ("#1b6e4a", "#c8553d", "#33658a", "#e0a458", "#6d597a", "#588157", "#8d99ae")
_RIGHT, _PROMISED, _GUESSED, _CONTROL = COLOURS[0], COLOURS[1], COLOURS[6], COLOURS[3]
"""Distinguishable in print and for colour-blind readers; the first is the house colour."""

_STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "hedgerow",
}


def new_figure(columns: int = 1, *, rows: int = 1, width: float = 5.2, height: float = 3.4) -> tuple[Any, Any]:
    """Return a figure and its axes (an array if there are several), drawn off screen."""
    require_drawing()
    from cycler import cycler
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({**_STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        return figure, figure.subplots(rows, columns)


def require_drawing() -> None:
    """Raise InputError where there is nothing to draw with."""
    try:
        import matplotlib.figure  # noqa: F401 - whether it can be imported is the question
    except ImportError:
        raise InputError("Figures need matplotlib: pip install 'hedgerow[plot]'.") from None


def save_figure(figure: Any, folder: Path, name: str) -> Path:
    """Write <name>.svg and <name>.png; return the path of the PNG."""
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    with rc_context(_STYLE):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
        figure.savefig(folder / f"{name}.png", dpi=140)
    return folder / f"{name}.png"
