"""The experiment of [Li 2008]: how precise are answers under (eps,m)-anonymity, and what does it cost?

Source     [Li 2008], section 6, figures 4 to 7
Tables     the generated census and the ACS table, incomes up to 100,000; quasi-identifiers age, birthplace, occupation
Deviates   eps runs to shares of the largest that m = 5 allows on each table, because the paper's table is not public;
           answers from the same groups published as two tables stand beside the paper's boxes
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.criteria.proximity import Neighbourhood, absolute, eps_below, largest_retention, relative
from hedgerow.datasets import census
from hedgerow.errors import Infeasible
from hedgerow.partition.proximity import proximity_split
from hedgerow.randomness import seeded_keys
from hedgerow.release.forms.perturbed import retain_values
from studies.counting import (
    Coded,
    Workload,
    coded,
    falls,
    grows,
    least_seconds,
    mean_error,
    workload,
)
from studies.counts import expected_generalized, expected_retained, expected_separated
from studies.figures import Panel, curve_table, draw_curves
from studies.real import acs, data_folder
from studies.study import Claim, Part, Plan, Setting, Study, whole

__all__ = ["PLAN", "run"]

SHARES = (Fraction(1, 10), Fraction(1, 4), Fraction(2, 5), Fraction(11, 20), Fraction(7, 10), Fraction(17, 20))
RISKS = (2, 3, 4, 5, 6, 7)
VOLUMES = (0.01, 0.05, 0.1, 0.15, 0.2)
DIMENSIONS = (2, 3, 4)
RISK = 5
VOLUME = 0.1

Progress = Callable[[str], None]
Expected = Callable[..., NDArray[np.float64]]


def run(out: Path, *, quick: bool = False, progress: Progress = lambda _: None, seed: int = 1) -> Study:
    """Re-run figures 4 to 7 on each table that is there."""
    claims: list[Claim] = []
    tables: dict[str, pa.Table] = {}
    for table in _tables(quick, seed):
        study = _Runs(table, 40 if quick else 1000, progress, seed)
        claims += study.claims()
        tables |= study.tables
    return Study("Proximity: (eps,m)-anonymity", tuple(claims), tables=tables)


def _tables(quick: bool, seed: int = 1) -> list[Coded]:
    generated = _up_to_100k(census(5_000 if quick else 200_000, seed=seed), "income")
    found = [coded("census", generated, ("age", "country", "occupation"), "income", numeric=True)]
    if data_folder() is not None and not quick:
        real = _up_to_100k(acs(), "Income")
        found.append(coded("ACS", real, ("Age", "Place of birth", "Occupation"), "Income", numeric=True))
    return found


def _up_to_100k(table: pa.Table, column: str) -> pa.Table:
    return table.filter(pc.less_equal(table[column], 100_000))


class _Runs:
    """The experiments on one table."""

    def __init__(self, table: Coded, queries: int, progress: Progress, seed: int = 1) -> None:
        self.table, self.queries, self.progress, self.seed = table, queries, progress, seed
        self.tables: dict[str, pa.Table] = {}
        self._asked: dict[tuple[int, float], Workload] = {}

    def claims(self) -> list[Claim]:
        """Run everything; one claim a sentence of the paper."""
        return [*self._against_eps(), *self._against_m(), *self._against_volume(), *self._cost()]

    def _around(self, eps: Fraction, is_relative: bool) -> Neighbourhood:
        return relative(eps) if is_relative else absolute(eps)

    def _largest(self, is_relative: bool, m: int = RISK) -> Fraction:
        assert self.table.where is not None
        bound = eps_below(self.table.where, self.table.counts, m=m, is_relative=is_relative)
        return Fraction(1) if bound.below is None else bound.below

    def _labels(self, around: Neighbourhood, m: int) -> NDArray[np.int32]:
        assert self.table.where is not None
        reach = around.reach(self.table.where)
        return proximity_split(
            self.table.quasi, self.table.sizes, self.table.sensitive, reach, m=m, keys=seeded_keys(100 * self.seed + m)
        )

    def _error(
        self, labels: NDArray[np.int32], dimensions: int, volume: float, expected: Expected = expected_generalized
    ) -> float:
        """The error of boxes, or of another form of the same groups."""
        asked, table = self._workload(dimensions, volume), self.table
        return mean_error(asked, lambda q: expected(q, table.quasi, labels, table.sensitive))

    def _workload(self, dimensions: int, volume: float) -> Workload:
        if (dimensions, volume) not in self._asked:
            # The paper's share of a domain is volume^(1/w), that of the workload volume^(1/(w+1)).
            asked = volume ** ((dimensions + 1) / dimensions)
            self._asked[dimensions, volume] = workload(
                self.table, dimensions=dimensions, volume=asked, count=self.queries, exact_value=False, seed=self.seed
            )
        return self._asked[dimensions, volume]

    def _perturbed(self, around: Neighbourhood, m: int) -> float | None:
        """The error of retention with the largest probability that keeps the promise, or None where none does."""
        assert self.table.where is not None
        try:
            p = largest_retention(around.reach(self.table.where), self.table.counts, m=m, column=self.table.name)
        except Infeasible:
            return None
        if p == 0:
            return None
        size = len(self.table.counts)
        published = retain_values(self.table.sensitive, size, p=p, keys=seeded_keys(3 + self.seed))
        return mean_error(
            self._workload(3, VOLUME), lambda q: expected_retained(q, self.table.quasi, published, p=p, size=size)
        )

    def _against_eps(self) -> list[Claim]:
        panels, seen = [], {}
        for is_relative in (False, True):
            kind, largest = ("relative" if is_relative else "absolute"), self._largest(is_relative)
            self.progress(f"{self.table.name}: error against eps, {kind}")
            epses = [largest * share for share in SHARES]
            lines: list[list[float | None]] = [[], [], []]
            for eps in epses:
                around = self._around(eps, is_relative)
                labels = self._labels(around, RISK)
                lines[0].append(self._error(labels, 3, VOLUME))
                lines[1].append(self._error(labels, 3, VOLUME, expected_separated))
                lines[2].append(self._perturbed(around, RISK))
            xs = [float(eps) for eps in epses]
            names = ("boxes", "two tables", "perturbation")
            seen[kind] = dict(zip(names, lines, strict=True))
            panels.append(
                Panel(f"{self.table.name}, {kind}, m = {RISK}", "eps", "mean relative error", xs, seen[kind], "xy")
            )
        self.tables |= curve_table(f"eps_{self.table.name}", panels)
        return self._eps_claims(seen)

    def _eps_claims(self, seen: Mapping[str, Mapping[str, list[float | None]]]) -> list[Claim]:
        source = f"figure 4, {self.table.name}"
        boxes, perturbed = ({kind: s[name] for kind, s in seen.items()} for name in ("boxes", "perturbation"))
        pairs = [(b, p) for kind in seen for b, p in zip(boxes[kind], perturbed[kind], strict=True) if p is not None]
        worst = max(y for ys in boxes.values() for y in ys if y is not None)
        lost = {kind: sum(y is None for y in ys) for kind, ys in perturbed.items()}
        rises = {kind: grows(ys) for kind, ys in boxes.items()}
        ends = "; ".join(f"{kind} {ys[0]:.1%} to {ys[-1]:.1%}" for kind, ys in boxes.items())
        better = sum(b < p for b, p in pairs if b is not None)
        return [
            Claim(source, "groups answer more precisely than perturbation", better == len(pairs) if pairs else None,
                  f"in {better} of {len(pairs)} settings that both can keep"),
            Claim(source, "perturbation fails from some eps on, groups do not", any(lost.values()),
                  ", ".join(f"{kind}: {n} of {len(SHARES)} eps out of its reach" for kind, n in lost.items())),
            Claim(source, "error grows with eps", all(rises.values()), ends),
            Claim(source, "error stays below 15 %", worst < 0.15, f"at most {worst:.1%}"),
        ]  # fmt: skip

    def _against_m(self) -> list[Claim]:
        panels, claims = [], []
        for is_relative in (False, True):
            kind = "relative" if is_relative else "absolute"
            self.progress(f"{self.table.name}: error against m, {kind}")
            eps = self._largest(is_relative, max(RISKS)) / 2
            found = [self._labels(self._around(eps, is_relative), m) for m in RISKS]
            series = {f"{w}D": [self._error(labels, w, VOLUME) for labels in found] for w in DIMENSIONS}
            panels.append(self._panel(f"{kind}, half of the largest eps", "m", RISKS, series))
            worst, most = max(y for ys in series.values() for y in ys), (0.08 if is_relative else 0.2)
            source = f"figure 5, {self.table.name}, {kind}"
            ends = ", ".join(f"{label} {ys[0]:.1%} to {ys[-1]:.1%}" for label, ys in series.items())
            claims += [
                Claim(source, "error grows with m", all(map(grows, series.values())), ends),
                Claim(source, f"error stays below {most:.0%}", worst <= most, f"at most {worst:.1%}"),
            ]
        self.tables |= curve_table(f"m_{self.table.name}", panels)
        return claims

    def _against_volume(self) -> list[Claim]:
        panels, claims = [], []
        for is_relative in (False, True):
            kind = "relative" if is_relative else "absolute"
            self.progress(f"{self.table.name}: error against volume, {kind}")
            eps = self._largest(is_relative) / 2
            labels = self._labels(self._around(eps, is_relative), RISK)
            series = {f"{w}D": [self._error(labels, w, s) for s in VOLUMES] for w in DIMENSIONS}
            panels.append(self._panel(f"{kind}, half of the largest eps, m = {RISK}", "volume s", VOLUMES, series))
            ends = ", ".join(f"{label} {ys[0]:.1%} to {ys[-1]:.1%}" for label, ys in series.items())
            claims.append(
                Claim(f"figure 6, {self.table.name}, {kind}", "error falls as questions select more",
                      all(map(falls, series.values())), ends)
            )  # fmt: skip
        self.tables |= curve_table(f"volume_{self.table.name}", panels)
        return claims

    def _cost(self) -> list[Claim]:
        self.progress(f"{self.table.name}: cost")
        eps = self._largest(False, max(RISKS)) / 2
        by_m = tuple(self._seconds(absolute(eps), m) for m in RISKS)
        epses = [self._largest(True) * share for share in SHARES]
        by_eps = tuple(self._seconds(relative(eps), RISK) for eps in epses)
        panels = [
            self._panel("absolute, half of the largest eps", "m", RISKS, {"absolute": by_m}, "processor seconds"),
            self._panel(f"relative, m = {RISK}", "eps", [float(eps) for eps in epses], {"relative": by_eps},
                        "processor seconds"),
        ]  # fmt: skip
        self.tables |= curve_table(f"cost_{self.table.name}", panels)
        source = f"figure 7, {self.table.name}"
        peak = int(np.argmax(by_eps))
        return [
            Claim(source, "cost falls as m grows", falls(by_m, slack=0.25), f"{by_m[0]:.2f} s to {by_m[-1]:.2f} s"),
            Claim(source, "cost rises with eps at first, then falls", 0 < peak < len(by_eps) - 1,
                  " ".join(f"{y:.2f}" for y in by_eps) + " s: where it peaks"),
            Claim(source, "a minute is enough", max(*by_m, *by_eps) < 60, f"at most {max(*by_m, *by_eps):.2f} s"),
        ]  # fmt: skip

    def _seconds(self, around: Neighbourhood, m: int) -> float:
        return least_seconds(lambda: self._labels(around, m), runs=2)

    def _panel(
        self,
        title: str,
        xlabel: str,
        xs: Sequence[float],
        lines: Mapping[str, Sequence[float]],
        ylabel: str = "mean relative error",
    ) -> Panel:
        return Panel(f"{self.table.name}, {title}", xlabel, ylabel, xs, lines)


PLAN = Plan(
    "Proximity: (eps,m)-anonymity",
    {"all": Part(whole(run), 1.5)},
    Setting(
        "SAL, 500,000 people, incomes from 1,000 to 100,000, s = 0.1, m = 5, 1,000 queries a workload",
        "200,000 generated people (another table for each seed) and the ACS table, 1,000 queries that select somebody",
        "the paper's table; queries without answers, whose relative error it does not define",
    ),
    {
        "figure 4": Setting("eps up to some 8,000 or 0.25; perturbation ends at 4,000 and 0.15",
                            "eps as shares 0.1 to 0.85 of the largest that m = 5 allows on each table"),
        "figure 5": Setting("eps = 4,500 or 0.125, m = 2 to 7", "half of the largest eps that m = 7 allows"),
        "figure 6": Setting("eps = 4,500 or 0.125, m = 5", "half of the largest eps that m = 5 allows"),
        "figure 7": Setting("3 GHz, 500,000 rows", "processor time, least of two runs a seed",
                            "a larger table: here the rise and fall is a matter of tenths of a second"),
    },
    data=("acs/acs_income_2018.parquet",),
    stand_in="The generated census alone is measured.",
    draw=draw_curves,
)  # fmt: skip
