"""The permutation anonymization paper's experiment: does scattering near rows answer better than Anatomy?

Source     [Li 2015], section 4, figures 1 to 5
Tables     the generated census with salary class (SAL) and occupation (OCC) as the sensitive column
Deviates   the paper scatters groups of near rows and compares with Anatomy's blind groups. Both differ at once, so
           blind groups scattered and near groups in two tables are measured as well: which of the two makes the gain?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.criteria.proximity import same_value
from hedgerow.datasets import census
from hedgerow.datasets.census import EDUCATIONS
from hedgerow.partition.anatomy import anatomize
from hedgerow.partition.permutation import ncp_split, round_robin
from hedgerow.partition.proximity import proximity_split
from hedgerow.randomness import seeded_keys
from studies.counting import (
    Coded,
    Workload,
    coded,
    error_of,
    falls,
    grows,
    least_seconds,
    workload,
)
from studies.counts import expected_scattered, expected_separated
from studies.figures import Panel, curve_table, curves_of, draw_curves
from studies.study import Claim, Part, Plan, Setting, Study, depends, whole

__all__ = ["PLAN", "first_columns", "in_order", "run"]

QUASI = ("age", "gender", "education", "marital", "race", "workclass", "country")
DIVERSITIES = (2, 4, 6, 8, 10)
VOLUMES = (0.1, 0.15, 0.2, 0.25, 0.3)
WIDTHS = (3, 4, 5, 6, 7)
DIMENSIONS = (4, 5, 6, 7, 8)
CARDINALITIES = (100_000, 200_000, 300_000, 400_000, 500_000)
L = 10
LEVELS = (4, 10)
"""The paper does not say which l it takes where something else varies."""
TABLES = {"SAL": "salary_class", "OCC": "occupation"}

Progress = Callable[[str], None]
Labels = NDArray[np.int32]
Errors = tuple[dict[str, list[float]], dict[str, list[float]]]
"""Means and medians by method."""
At = Callable[[Coded, float], tuple[Coded, tuple[int, float]]]
"""What a sweep changes: the table, or conditions and volume of the questions."""


def _rounds(table: Coded, l: int, seed: int) -> Labels:  # noqa: E741
    return anatomize(table.sensitive, l=l, keys=seeded_keys(seed))


def _dealt(table: Coded, l: int, seed: int) -> Labels:  # noqa: E741
    return round_robin(table.sensitive, l=l, keys=seeded_keys(seed))


def _near(table: Coded, l: int, seed: int) -> Labels:  # noqa: E741
    reach = same_value(len(table.counts))
    return proximity_split(table.quasi, table.sizes, table.sensitive, reach, m=l, keys=seeded_keys(seed))


def _paper(table: Coded, l: int, seed: int) -> Labels:  # noqa: E741
    return ncp_split(table.quasi, table.sizes, table.sensitive, l=l, keys=seeded_keys(seed))


METHODS = {
    "Anatomy": (_rounds, expected_separated),
    "Permutation (the paper's)": (_paper, expected_scattered),
    "Permutation (hedgerow's)": (_near, expected_scattered),
    "near groups, two tables": (_near, expected_separated),
    "blind groups, scattered": (_dealt, expected_scattered),
}
"""Name to partition and what the form expects."""

ANATOMY, PAPER, OURS = "Anatomy", "Permutation (the paper's)", "Permutation (hedgerow's)"
COMPARED = (ANATOMY, PAPER)


def run(out: Path, *, quick: bool = False, progress: Progress = lambda _: None, seed: int = 1) -> Study:
    """Measure figures 1 to 5."""
    runs = _Runs(quick, progress, seed)
    runs.against_l()
    runs.sweep("d", "quasi-identifiers d", WIDTHS, lambda t, x: (first_columns(t, int(x)), (4, 0.1)))
    runs.sweep("w", "conditions w", DIMENSIONS, lambda t, x: (t, (int(x), 0.1)))
    runs.sweep("w_interval", "conditions w", DIMENSIONS, lambda t, x: (t, (int(x), 0.1)), exact=False)
    runs.sweep("s", "volume s", VOLUMES, lambda t, x: (t, (4, x)))
    runs.against_rows()
    return Study("Permutation anonymization", tables=runs.tables)


class _Runs:
    """The experiments on all tables."""

    def __init__(self, quick: bool, progress: Progress, seed: int) -> None:
        self.quick, self.progress, self.seed = quick, progress, seed
        self.queries = 30 if quick else 1000
        self._asked: dict[tuple[str, int, int, int, float, bool], Workload] = {}
        self._labels: dict[tuple[str, str, int, int], Labels] = {}
        people = in_order(census(5_000 if quick else 100_000, seed=seed))
        self.coded = [coded(name, people, QUASI, column) for name, column in TABLES.items()]
        top = [float(table.counts.max() / table.rows) for table in self.coded]
        self.tables = {"most frequent": pa.table({"table": list(TABLES), "share": top})}

    def _partition(self, table: Coded, method: str, l: int) -> Labels:  # noqa: E741
        key = (table.name, method, l, len(table.sizes))
        if key not in self._labels:
            self._labels[key] = METHODS[method][0](table, l, self.seed)
        return self._labels[key]

    def _error(
        self, table: Coded, method: str, labels: Labels, at: tuple[int, float], exact: bool = True
    ) -> tuple[float, float]:
        key, expected = (table.name, table.rows, len(table.sizes), *at, exact), METHODS[method][1]
        if key not in self._asked:
            self._asked[key] = workload(
                table, dimensions=at[0], volume=at[1], count=self.queries, exact_value=exact, seed=self.seed
            )
        return error_of(self._asked[key], lambda q: expected(q, table.quasi, labels, table.sensitive))

    def against_l(self) -> None:
        """Figure 1, with two methods of ours that tell near groups from scattering."""
        panels: list[Panel] = []
        for table in self.coded:
            self.progress(f"{table.name}: error against l")
            found = {m: [self._error(table, m, self._partition(table, m, l), (4, 0.1)) for l in DIVERSITIES]  # noqa: E741
                     for m in METHODS}  # fmt: skip
            panels += _means_and_medians(table.name, "l", DIVERSITIES, found)
        self.tables |= curve_table("l", panels)

    def sweep(self, name: str, label: str, xs: Sequence[float], at: At, *, exact: bool = True) -> None:
        """One figure of the paper at two levels of l: a panel of means and one of medians for each table."""
        panels: list[Panel] = []
        for table in self.coded:
            for l in LEVELS if exact else LEVELS[-1:]:  # noqa: E741
                self.progress(f"{table.name}, l = {l}: error against {label}")
                found: dict[str, list[tuple[float, float]]] = {method: [] for method in COMPARED}
                for x in xs:
                    source, asked = at(table, x)
                    for method in COMPARED:
                        found[method].append(
                            self._error(source, method, self._partition(source, method, l), asked, exact)
                        )
                panels += _means_and_medians(f"{table.name}, l = {l}", label, xs, found)
        self.tables |= curve_table(name, panels)

    def against_rows(self) -> None:
        """Figures 4 and 5: error, and for SAL processor time, against the number of rows."""
        sizes = tuple(size // 40 for size in CARDINALITIES[:3]) if self.quick else CARDINALITIES
        errors: dict[str, dict[str, list[float]]] = {name: {method: [] for method in COMPARED} for name in TABLES}
        costs: dict[str, list[float]] = {method: [] for method in (*COMPARED, OURS)}
        for size in sizes:
            people = in_order(census(size, seed=self.seed))
            for name, column in TABLES.items():
                self.progress(f"{name}: {size:,} rows")
                table = coded(name, people, QUASI, column)
                for method in COMPARED:
                    labels = METHODS[method][0](table, L, self.seed)
                    errors[name][method].append(self._error(table, method, labels, (4, 0.1))[0])
                for method in costs if name == "SAL" else ():
                    partition = METHODS[method][0]
                    costs[method].append(least_seconds(lambda p=partition, t=table: p(t, L, self.seed), runs=3))  # type: ignore[misc]
        thousands = [size / 1000 for size in sizes]
        lines = [Panel(f"{name}-7, l = {L}", "thousand rows", "mean relative error", thousands, errors[name])
                 for name in TABLES]  # fmt: skip
        self.tables |= curve_table("rows", lines)
        seconds = Panel(f"SAL-7, l = {L}", "thousand rows", "processor seconds", thousands, costs)
        self.tables |= curve_table("cost", [seconds])


def _means_and_medians(
    title: str, label: str, xs: Sequence[float], found: Mapping[str, Sequence[tuple[float, float]]]
) -> list[Panel]:
    return [
        Panel(f"{title}, {kind}", label, "relative error", xs,
              {method: [pair[place] for pair in pairs] for method, pairs in found.items()}, "y")
        for place, kind in enumerate(_KINDS)
    ]  # fmt: skip


_KINDS = ("means", "medians")


def in_order(people: pa.Table) -> pa.Table:
    """Education as a number from 0, no schooling, to 16, doctorate: the paper's intervals need an order."""
    rank = {level.label: place for place, level in enumerate(EDUCATIONS)}
    column = pa.array([rank[label] for label in people["education"].to_pylist()])
    return people.set_column(people.column_names.index("education"), "education", column)


def first_columns(table: Coded, d: int) -> Coded:
    """SAL-d or OCC-d: the first d quasi-identifiers alone."""
    return replace(table, quasi=table.quasi[:d], sizes=table.sizes[:d])


def _judge(tables: Mapping[str, pa.Table], quick: bool) -> list[Claim]:
    """Claims about each table, then those about both."""

    def errors(figure: str, title: str) -> Errors:
        means, medians = (curves_of(tables, figure, f"{title}, {kind}") for kind in _KINDS)
        return means, medians

    def at_levels(figure: str, name: str, levels: Sequence[int] = LEVELS) -> dict[str, Errors]:
        return {f"l = {l}": errors(figure, f"{name}, l = {l}") for l in levels}  # noqa: E741

    by_l = {name: errors("l", name) for name in TABLES}
    claims = [claim for name, found in by_l.items() for claim in _l_claims(f"figure 1, {name}", found)]
    for name in TABLES:
        claims.append(_width_claim(f"figures 1 to 3 (d = 3 to 7), {name}", at_levels("d", name)))
        interval = at_levels("w_interval", name, LEVELS[-1:])
        readings = at_levels("w", name) | {f"{level}, b_w an interval": found for level, found in interval.items()}
        claims.append(_trend(f"figure 2, {name}", "error falls with more conditions", readings))
        claims.append(_trend(f"figure 3, {name}", "error falls as questions select more", at_levels("s", name)))
    tops = dict(zip(*tables["most frequent"].to_pydict().values(), strict=True))
    claims += _table_claims({name: found[0] for name, found in by_l.items()}, tops)
    return [*claims, *_row_claims(tables)]


def _better(found: Errors) -> tuple[list[int], list[float]]:
    """By means and by medians: in how many settings permutation errs less, and by which part of Anatomy's error."""
    ratios = [np.array(lines[PAPER]) / np.array(lines[ANATOMY]) for lines in found]
    return [int((ratio < 1).sum()) for ratio in ratios], [float(1 - ratio.mean()) for ratio in ratios]


def _less_claim(source: str, says: str, found: Errors, over: str) -> Claim:
    count = len(found[0][PAPER])
    wins, gains = _better(found)
    return Claim(
        source, says, min(wins) == count,
        f"less for {wins[0]} of {count} {over}, by the medians {wins[1]}; by {gains[0]:.0%} of Anatomy's error on "
        f"average, by the medians {gains[1]:.0%}",
        word=None if min(wins) == count or max(wins) == 0 else f"depends on {over}",
    )  # fmt: skip


def _l_claims(source: str, found: Errors) -> list[Claim]:
    errors, middle = found
    anatomy, paper, ours = (errors[name] for name in (ANATOMY, PAPER, OURS))
    closer = 1 - np.mean(np.array(errors["near groups, two tables"]) / ours)
    worse = np.mean(np.array(errors["blind groups, scattered"]) / anatomy) - 1
    return [
        Claim(source, "error grows with l", grows(paper, slack=0.15),
              f"{paper[0]:.1%} to {paper[-1]:.1%}, medians {middle[PAPER][0]:.1%} to {middle[PAPER][-1]:.1%}"),
        _less_claim(source, "permutation errs significantly less than Anatomy, whatever l", found, "l"),
        Claim(source, "permutation errs below 14 % for every l", max(paper) < 0.14,
              f"at most {max(paper):.1%}, medians {max(middle[PAPER]):.1%}; below it for "
              f"{sum(error < 0.14 for error in paper)} of {len(paper)} l"),
        Claim(f"ours, {source}", "near groups make the gain, not scattering", bool(worse > 0),
              f"blind groups scattered err {worse:+.0%} against Anatomy, near groups in two tables {-closer:+.0%} "
              "against the same scattered"),
        Claim(f"ours, {source}", "dividing at medians errs no more than the paper's preprocessing",
              bool(np.mean(ours) <= np.mean(paper)), f"{np.mean(ours):.1%} against {np.mean(paper):.1%} on average"),
    ]  # fmt: skip


def _width_claim(source: str, levels: Mapping[str, Errors]) -> Claim:
    says = "permutation errs less than Anatomy for every d"
    return depends({level: _less_claim(source, says, found, "d") for level, found in levels.items()}, "l")


def _trend(source: str, says: str, readings: Mapping[str, Errors]) -> Claim:
    """Whether errors fall in every reading of the setting."""
    claims = {}
    for reading, (means, medians) in readings.items():
        holds = [all(falls(lines[m], slack=0.15) for m in COMPARED) for lines in (means, medians)]
        seen = ", ".join(
            f"{m} {means[m][0]:.1%} to {means[m][-1]:.1%} (medians {medians[m][0]:.1%} to {medians[m][-1]:.1%})"
            for m in COMPARED
        )
        word = None if holds[0] == holds[1] else "depends on mean or median"
        claims[reading] = Claim(source, says, holds[0], seen, word=word)
    return depends(claims, "the setting")


def _table_claims(errors: Mapping[str, Mapping[str, list[float]]], tops: Mapping[str, float]) -> list[Claim]:
    mean = {name: {method: float(np.mean(lines[method])) for method in COMPARED} for name, lines in errors.items()}
    rarer = min(tops, key=lambda name: tops[name])
    best = min(mean, key=lambda name: mean[name][PAPER])
    apart = {method: max(mean[n][method] for n in mean) / min(mean[n][method] for n in mean) for method in COMPARED}
    words = ", ".join(f"{name}: {tops[name]:.1%}, error {mean[name][PAPER]:.1%}" for name in TABLES)
    return [
        Claim("4.2.1, figure 1", "permutation errs less on the table whose most frequent value is rarer (the paper's "
              "SAL)", best == rarer, f"share of the most frequent value and mean error, {words}"),
        Claim("4.2.1, figure 1", "permutation is less sensitive to the sensitive column than Anatomy",
              apart[PAPER] < apart[ANATOMY],
              f"its error on one table is {apart[PAPER]:.1f} times that on the other, Anatomy's "
              f"{apart[ANATOMY]:.1f} times"),
    ]  # fmt: skip


def _row_claims(tables: Mapping[str, pa.Table]) -> list[Claim]:
    claims = []
    for name in TABLES:
        errors = curves_of(tables, "rows", f"{name}-7, l = {L}")
        ends = ", ".join(f"{method} {errors[method][0]:.1%} to {errors[method][-1]:.1%}" for method in COMPARED)
        lower = sum(p < a for p, a in zip(errors[PAPER], errors[ANATOMY], strict=True))
        claims += [
            Claim(f"figure 4, {name}", "error falls with more rows",
                  all(falls(errors[m], slack=0.15) for m in COMPARED), ends),
            Claim(f"figure 4, {name}", "permutation errs less than Anatomy for every number of rows",
                  lower == len(errors[PAPER]), f"for {lower} of {len(errors[PAPER])} numbers of rows"),
        ]  # fmt: skip
    took = curves_of(tables, "cost", f"SAL-7, l = {L}")
    last = ", ".join(f"{name} {ys[-1]:.2f} s" for name, ys in took.items())
    return [
        *claims,
        Claim("figure 5, SAL", "cost grows with the rows", all(ys[-1] > ys[0] for ys in took.values()), last),
        Claim("figure 5, SAL", "Anatomy is cheaper, permutation takes less than 80 seconds",
              took[ANATOMY][-1] < took[PAPER][-1] < 80, last),
    ]  # fmt: skip


PLAN = Plan(
    "Permutation anonymization",
    {"all": Part(whole(run), 1.6)},
    Setting(
        "CENSUS, 500,000 people, 7 quasi-identifiers, 1,000 queries, s = 0.1; l, w and n where others vary not given",
        "100,000 generated people of that shape, education in its order, 1,000 queries that select somebody, w = 4; "
        "l = 4 and 10 where something else varies",
        "the real CENSUS table, whose most frequent salary class is rarer than its most frequent occupation, here the "
        "other way round: 8.6 % and 5.1 %, so that at l = 10 SAL has hardly room for near groups; queries without "
        "answers, whose relative error the paper does not define",
    ),
    {
        "figure 2": Setting(changes="b_w as an interval (the text's length for every b_i) or one value (its formula); "
                            "queries without answers; another table"),
        "figure 4": Setting("100,000 to 500,000 rows, l not given", "the same numbers of generated people, l = 10"),
        "figure 5": Setting(
            "C++, 1.9 GHz, l = 10", "processor time, least of three runs", "a quiet machine changes seconds alone"
        ),
        "ours": Setting("not a claim of the paper"),
    },
    judge=_judge,
    draw=draw_curves,
)  # fmt: skip
