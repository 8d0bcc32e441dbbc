"""The figure of the attack report: measured rates beside what guessing gives and what was promised."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hedgerow.attack import AttackReport, Finding
from hedgerow.report.figure import COLOURS, new_figure, save_figure

__all__ = ["attack_figure"]

_RIGHT, _PROMISED, _GUESSED, _CONTROL = COLOURS[0], COLOURS[1], COLOURS[6], COLOURS[3]


def attack_figure(report: AttackReport, folder: Path, name: str = "attack") -> Path:
    """Draw one row per adversary: a dot with its interval, and marks for what it is compared with."""
    findings = list(reversed(report.findings))
    figure, axes = new_figure(width=7.4, height=1.5 + 0.38 * len(findings))
    for place, finding in enumerate(findings):
        _draw(axes, place, finding)
    axes.set_yticks(range(len(findings)), [report.label(finding) for finding in findings])
    axes.set_ylim(-0.6, len(findings) - 0.4)
    axes.set_xlim(-1.5, 101.5)
    axes.set_xlabel("% of the guesses that are right")
    axes.set_title(f"{report.method}, {report.form}, {report.rows:,} rows", fontsize=10, loc="left")
    _legend(figure, axes, findings)
    return save_figure(figure, folder, name)


def _draw(axes: Any, place: int, finding: Finding) -> None:
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


def _legend(figure: Any, axes: Any, findings: list[Finding]) -> None:
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
