"""Regression on (k,e)-anonymous releases: how wide the bounds of coefficients are, against k and e.

Source     own
Deviates   people are generated (`hedgerow.datasets.census`), so that a run can be repeated; the coefficients of the
           original table are those of groups of one row, solved in exact numbers

Income is regressed on age, gender and whether somebody has a degree from a bachelor's on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

import hedgerow as hr
from hedgerow.datasets import census
from hedgerow.query.regression import Coefficient, Regression
from hedgerow.release import Release
from hedgerow.report.release_figures import regression_figure
from studies.figures import Panel, curve_table, draw_curves
from studies.study import Claim, Part, Plan, Setting, Study, whole

__all__ = ["PLAN", "people", "run", "truth_of"]

FORMULA = "income ~ age + gender + degree"
DEGREES = ("Bachelor's degree", "Doctorate", "Master's degree", "Professional degree")
SIZES, SPREADS = (2, 5, 10, 20, 50, 100), (500, 1_000, 2_000, 5_000, 10_000, 20_000)
SCHEMA = hr.Schema(quasi=["age", "gender", "degree"], sensitive="income")


def people(rows: int, seed: int = 1) -> pa.Table:
    """Generated people with their age, gender, degree and income."""
    table = census(rows, seed=seed)
    degree = pa.array(["yes" if level in DEGREES else "no" for level in table.column("education").to_pylist()])
    return table.select(["age", "gender", "income"]).append_column("degree", degree)


def truth_of(release: Release, table: pa.Table) -> Regression:
    """The coefficients of the original table: as if every group had one row."""
    alone = table.append_column(release.group_column, pa.array(np.arange(len(table), dtype=np.int32)))
    return replace(release, tables={"release": alone}).regress(FORMULA)


def run(out: Path, *, quick: bool = False, progress: Callable[[str], None] = lambda step: None, seed: int = 1) -> Study:
    """Publish the same people with growing k, and with growing e, and fit the model on each release."""
    table = people(2_000 if quick else 20_000, seed)
    sizes, spreads = (SIZES[:3], SPREADS[:3]) if quick else (SIZES, SPREADS)
    panels: dict[str, tuple[Sequence[int], list[Regression]]] = {}
    for letter, settings in (("k", [(k, 1_000) for k in sizes]), ("e", [(5, e) for e in spreads])):
        found = []
        for k, e in settings:
            progress(f"k = {k}, e = {e}")
            found.append(hr.KEAnonymity(k=k, e=e).publish(table, SCHEMA).regress(FORMULA))
        panels[letter] = ([s[0] if letter == "k" else s[1] for s in settings], found)
    shown = hr.KEAnonymity(k=10, e=5_000).publish(table, SCHEMA)
    truth, example = truth_of(shown, table), shown.regress(FORMULA)
    expected = {line.term: line.expected for line in truth}
    figures = (regression_figure(example, out / "coefficients", expected),) if seed == 1 else ()
    return Study("bounds of coefficients against k and e", tuple(_claims(panels, expected)), figures,
                 _widths(panels, expected))  # fmt: skip


def _share(line: Coefficient, expected: dict[str, float]) -> float:
    return 100.0 * (line.upper - line.lower) / abs(expected[line.term])


def _widths(
    panels: dict[str, tuple[Sequence[int], list[Regression]]], expected: dict[str, float]
) -> dict[str, pa.Table]:
    """Widths in percent of the coefficient, on logarithmic axes."""
    labels = {"k": "k, the different values in a group (e = 1,000)", "e": "e, their spread (k = 5)"}
    drawn = []
    for letter, (settings, found) in panels.items():
        terms = [line.term for line in found[0] if line.term != "Intercept"]
        lines = {term: [_share(one[term], expected) for one in found] for term in terms}
        drawn.append(Panel(f"against {letter}", labels[letter], "width, % of the coefficient", settings, lines, "xy"))
    return curve_table("widths", drawn)


def _claims(panels: dict[str, tuple[Sequence[int], list[Regression]]], expected: dict[str, float]) -> list[Claim]:
    every = [line for _, found in panels.values() for one in found for line in one]
    inside = sum(line.lower <= expected[line.term] <= line.upper for line in every)
    claims = [
        Claim(
            "own", "the original coefficient lies inside its bounds", inside == len(every), f"{inside} of {len(every)}"
        )
    ]
    for letter, (settings, found) in panels.items():
        first, last = (_share(one["age"], expected) for one in (found[0], found[-1]))
        seen = f"age: {first:.1f} % at {letter} = {settings[0]:,}, {last:.1f} % at {letter} = {settings[-1]:,}"
        claims.append(Claim("own", f"bounds widen with {letter}", first < last, seen))
    return claims


PLAN = Plan(
    "bounds of coefficients against k and e",
    {"all": Part(whole(run), 0.1)},
    Setting(
        "no paper: our own method", "20,000 generated people, other ones for each seed", "other formulas and tables"
    ),
    draw=draw_curves,
)
