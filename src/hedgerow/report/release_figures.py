"""The figure of a comparison: width of bounds, and error of expected answers, against how much a question selects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hedgerow.report.figure import COLOURS, new_figure, save_figure
from hedgerow.utility.compare import Outcome, score

__all__ = ["compare_figure"]


def compare_figure(outcomes: Mapping[str, Sequence[Outcome]], folder: Path) -> Path:
    """Draw one panel per aggregate and one line per release; medians, in percent of the answer."""
    every = [outcome for found in outcomes.values() for outcome in found]
    aggregates = list(dict.fromkeys(outcome.question.aggregate for outcome in every))
    axis = _axis(every)
    figure, drawn = new_figure(len(aggregates), width=max(3.9, 5.4 / len(aggregates)), height=3.6)
    panels = [drawn] if len(aggregates) == 1 else list(drawn)
    for aggregate, panel in zip(aggregates, panels, strict=True):
        for place, (name, found) in enumerate(outcomes.items()):
            mine = [outcome for outcome in found if outcome.question.aggregate == aggregate]
            _draw(panel, name, mine, axis, place)
        _label(panel, aggregate, axis, sorted({getattr(outcome.question, axis) for outcome in every}))
    _legend(figure, panels, has_errors=any(outcome.error is not None for outcome in every))
    return save_figure(figure, folder, "compare")


def _axis(outcomes: Sequence[Outcome]) -> str:
    """What the questions vary in: selectivity unless only the dimensions differ."""
    return "selectivity" if len({outcome.question.selectivity for outcome in outcomes}) > 1 else "dimensions"


def _draw(panel: Any, name: str, outcomes: Sequence[Outcome], axis: str, place: int) -> None:
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
    panel.set_ylim(bottom=0)
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    if axis == "selectivity":
        panel.set_xscale("log")
        panel.set_xticks([100 * place for place in places], [f"{100 * place:g}" for place in places])
        panel.set_xticks([], minor=True)
        panel.set_xlabel("rows selected, about, %")
    else:
        panel.set_xticks(places, [str(place) for place in places])
        panel.set_xlabel("conditions")


def _legend(figure: Any, panels: Sequence[Any], *, has_errors: bool) -> None:
    """Name each release once, and say what the two kinds of lines are."""
    from matplotlib.lines import Line2D

    named = {
        label: handle for panel in panels for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    named["width of the bounds"] = Line2D([], [], color="grey")
    if has_errors:
        named["error of the expected answer"] = Line2D([], [], color="grey", linestyle="--", linewidth=1.1)
    figure.legend(named.values(), named, loc="outside upper center", ncols=4, fontsize=8, frameon=False)
