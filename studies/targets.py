"""Target distributions, fake values, shift factors: the experiments of dissertation 3.7, and one for chapter 5.

The paper plots curves and prints few numbers, so a claim is about the order and the trend of curves. Targets that are a
table's own distribution get ratios of at most ten, as the paper does for its fake values: exact ones keep every group
of equal ages at the root.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.partition.target.least_range import node_counts, node_ranges
from hedgerow.randomness import seeded_keys
from hedgerow.schema import Hierarchy
from hedgerow.schema.target import histogram, normal, quantize, uniform, zipf
from studies.figures import Panel, curve_table, draw_curves
from studies.study import Claim, Part, Plan, Setting, Study, whole
from studies.targets_data import (
    LOWEST,
    Losses,
    adult_losses,
    by_width,
    correlated,
    error,
    published,
    uncorrelated,
)
from studies.targets_personal import personal_claims

__all__ = ["PLAN", "run"]

Curves = dict[str, list[float]]
Settings = Mapping[str, tuple[Any, Mapping[str, Any]]]
SHARES = ("0.05", "0.1", "0.2")
SHIFTS = ("0", "0.1", "0.2", "0.3", "0.4", "0.5")
PRINTED_RANGE = (155, 3900)


@dataclass
class _Run:
    """One run of the study: its sizes, and what it collects."""

    quick: bool
    progress: Callable[[str], None]
    seed: int = 1
    claims: list[Claim] = field(default_factory=list)
    tables: dict[str, pa.Table] = field(default_factory=dict)

    @property
    def widths(self) -> tuple[int, ...]:
        return (5, 40) if self.quick else (5, 10, 20, 30, 40, 50, 60)

    @property
    def queries(self) -> int:
        return 3 if self.quick else 100

    @property
    def rows(self) -> int:
        return 300 if self.quick else 10_000

    @property
    def domain(self) -> int:
        return 128 if self.quick else 2048

    def claim(self, source: str, says: str, holds: bool | None, seen: str) -> None:
        self.claims.append(Claim(source, says, holds, seen))

    def curves(self, losses: Losses, settings: Settings) -> Curves:
        """Errors against the width of the question, one curve per setting."""
        found: Curves = {}
        for name, (target, parameters) in settings.items():
            self.progress(name)
            release = published(losses, target, **parameters)
            found[name] = [error(release, losses, width, queries=self.queries) for width in self.widths]
        return found

    def draw(self, name: str, panels: dict[str, Curves], xlabel: str, at: tuple[float, ...], ylabel: str) -> None:
        self.tables |= curve_table(name, [Panel(title, xlabel, ylabel, at, lines) for title, lines in panels.items()])


def run(out: Path, *, quick: bool = False, progress: Callable[[str], None] = lambda step: None, seed: int = 1) -> Study:
    """Re-run everything; `quick` uses small tables and few questions."""
    this = _Run(quick, progress, seed)
    adult = adult_losses(200, coarser=16, seed=seed) if quick else adult_losses(seed=seed)
    tables = {
        "no correlation": uncorrelated(this.rows, this.domain, seed=seed),
        "correlation": correlated(this.rows, this.domain, seed=seed),
    }
    if adult is not None:
        tables = {"Adult": adult, **tables}
    panels = _groupings(this, tables)
    _fakes_in_cells(this, tables, panels)
    _fakes_in_one_group(this, tables)
    _targets(this)
    _parts(this, adult)
    if adult is not None:
        _shifts(this, adult)
    claims, tables_of_wishes = personal_claims(quick=quick, progress=progress, seed=seed)
    return Study(
        "Disguising distributions (dissertation, chapters 3 and 5)",
        (*this.claims, *claims),
        tables={**this.tables, **tables_of_wishes},
    )


def _source(losses: Losses, most: int | None = 10) -> Hierarchy:
    values, counts = np.unique(losses.loss, return_counts=True)
    tree = histogram(by_width(values.tolist()), counts.tolist())
    return tree if most is None else quantize(tree, most=most).hierarchy


def _groupings(this: _Run, tables: dict[str, Losses]) -> dict[str, Curves]:
    """Figure 3.2 without fakes: everybody together against groups of equal age."""
    panels = {
        name: this.curves(
            losses,
            {"SA-only": (_source(losses, None), {}), "QI-SA": (_source(losses), {"grouping": "quasi"})},
        )
        for name, losses in tables.items()
    }
    for name, curves in panels.items():
        together, apart = curves["SA-only"], curves["QI-SA"]
        seen = f"SA-only {together[0]:.2f} to {together[-1]:.2f}, QI-SA {apart[0]:.2f} to {apart[-1]:.2f}"
        if name == "correlation":
            holds = all(a < b for a, b in zip(together, apart, strict=True))
            this.claim("3.7.1, fig. 3.2(c)", "with correlation SA-only is always better than QI-SA", holds, seen)
            continue
        place = "3.7.1, fig. 3.2(a)" if name == "Adult" else "3.7.1, fig. 3.2(b)"
        drops = together[-1] < 0.6 * together[0] and abs(apart[-1] - apart[0]) < 0.3 * apart[0]
        this.claim(place, f"{name}: wider ranges help SA-only much, QI-SA little", drops, seen)
        crosses = together[0] > apart[0] and together[-1] < apart[-1]
        this.claim(place, f"{name}: QI-SA is better on narrow ranges, SA-only on wide ones", crosses, seen)
    return panels


def _fakes_in_cells(this: _Run, tables: dict[str, Losses], panels: dict[str, Curves]) -> None:
    """Figure 3.2 with fakes: does a share of fakes in each group of equal age help?"""
    letters = {"Adult": "a", "no correlation": "b", "correlation": "c"}
    says = {
        "Adult": "some fakes help QI-SA, 20 % too many",
        "no correlation": "5 % of fakes help QI-SA, more harm",
        "correlation": "the more fakes the better for QI-SA",
    }
    for name, losses in tables.items():
        target = _source(losses)
        shares = SHARES[:1] if this.quick else SHARES
        fakes = {f"QI-SA +{Fraction(s) * 100}%": (target, {"grouping": "quasi", "fakes": s}) for s in shares}
        panels[name] |= this.curves(losses, fakes)
        means = [float(np.mean(curve)) for key, curve in panels[name].items() if key.startswith("QI-SA")]
        best = int(np.argmin(means))
        holds: bool = {"Adult": 0 < best < 3, "no correlation": best == 1, "correlation": best == 3}[name]
        seen = "mean error with 0, 5, 10, 20 %: " + ", ".join(f"{mean:.3f}" for mean in means)
        this.claim(f"3.7.2, fig. 3.2({letters[name]})", f"{name}: {says[name]}", None if this.quick else holds, seen)
    this.draw("fig_3_2", panels, "width of the age range", this.widths, "relative error of AVG")


def _fakes_in_one_group(this: _Run, tables: dict[str, Losses]) -> None:
    """Figure 3.3: a tenth of the people is taken away, so that the rest no longer follows the target."""
    panels: dict[str, Curves] = {}
    for name, losses in tables.items():
        kept = losses.only(np.argsort(seeded_keys(4 + this.seed)(len(losses.age)))[len(losses.age) // 10 :])
        target = _source(losses)
        shares = SHARES[:1] if this.quick else SHARES
        with_fakes = {f"SA-only +{Fraction(s) * 100}%": (target, {"fakes": s}) for s in shares}
        settings: Settings = {"SA-only": (target, {}), **with_fakes}
        panels[name] = this.curves(kept, settings)
        means = [float(np.mean(curve)) for curve in panels[name].values()]
        seen = "mean error with 0, 5, 10, 20 %: " + ", ".join(f"{mean:.3f}" for mean in means)
        best = int(np.argmin(means))
        says = f"{name}: fakes act on SA-only as on QI-SA, some help"
        this.claim("3.7.2, fig. 3.3", says, None if this.quick else best > 0, seen)
    this.draw("fig_3_3", panels, "width of the age range", this.widths, "relative error of AVG")


def _targets(this: _Run) -> None:
    """Figure 3.4: targets away from the source, and the fan-out of the hierarchy."""
    tree = Hierarchy.binary(range(LOWEST, LOWEST + this.domain))
    width = this.widths[-2]
    even = uncorrelated(this.rows, this.domain, shape="uniform", seed=this.seed)
    divisors = (4, 20) if this.quick else (2, 4, 8, 12, 16, 20)
    bells = [quantize(normal(tree, spread=Fraction(this.domain, r))).hierarchy for r in divisors]
    curves = _both(this, even, bells, width)
    grows = all(curve[0] < curve[-1] for curve in curves.values())
    seen = "; ".join(f"{name} {curve[0]:.2f} to {curve[-1]:.2f}" for name, curve in curves.items())
    this.claim("3.7.3, fig. 3.4(a)", "uniform values: the narrower the target bell, the larger the error", grows, seen)
    this.draw(
        "fig_3_4a", {"uniform values, normal target": curves}, "r (spread = range / r)", divisors, "relative error"
    )

    skewed = uncorrelated(this.rows, this.domain, shape="zipf", s=0.1, seed=this.seed)
    exponents = (0.1, 1.0) if this.quick else (0.1, 0.3, 0.5, 0.7, 1.0)
    zipfs = [quantize(zipf(tree, s=s, most_likely="high")).hierarchy for s in exponents]
    curves = _both(this, skewed, zipfs, width)
    least = all(curve[0] == min(curve) for curve in curves.values())
    seen = "; ".join(f"{name} {curve[0]:.2f} to {curve[-1]:.2f}" for name, curve in curves.items())
    this.claim("3.7.3, fig. 3.4(b)", "zipf values: the error is least where the target has the same s", least, seen)
    this.draw("fig_3_4b", {"zipf values, zipf target": curves}, "s of the target", exponents, "relative error")

    ternary = uniform(Hierarchy.balanced(range(LOWEST, LOWEST + (3**5 if this.quick else 3**7)), fanout=3))
    trees = {"(2)": uniform(tree), "(3)": ternary}
    settings = {
        f"{kind}{fan}": (target, {"grouping": grouping})
        for kind, grouping in (("SA-only", "all"), ("QI-SA", "quasi"))
        for fan, target in trees.items()
    }
    curves = this.curves(even, settings)
    mean = {name: float(np.mean(curve)) for name, curve in curves.items()}
    seen = ", ".join(f"{name} {value:.3f}" for name, value in mean.items())
    better = mean["SA-only(2)"] < mean["SA-only(3)"] and mean["QI-SA(2)"] < mean["QI-SA(3)"]
    this.claim("3.7.3, fig. 3.4(c)", "a binary hierarchy gives lower errors than a ternary one", better, seen)
    this.draw("fig_3_4c", {"fan-out 2 and 3": curves}, "width of the age range", this.widths, "relative error")


def _both(this: _Run, losses: Losses, targets: list[Hierarchy], width: int) -> Curves:
    """Errors of both groupings at one width, one point per target."""
    found: Curves = {"SA-only": [], "QI-SA": []}
    for number, target in enumerate(targets):
        this.progress(f"target {number + 1} of {len(targets)}")
        for name, grouping in (("SA-only", "all"), ("QI-SA", "quasi")):
            release = published(losses, target, grouping=grouping)
            found[name].append(error(release, losses, width, queries=this.queries))
    return found


def _parts(this: _Run, adult: Losses | None) -> None:
    """Figure 3.5: the table cut by age, every part with a target of its own."""
    panels: dict[str, Curves] = {}
    tables = {"correlation": correlated(this.rows, this.domain, seed=this.seed)} | (
        {} if adult is None else {"Adult": adult}
    )
    for name, losses in tables.items():
        panels[name] = {}
        for number in (2, 10):
            cuts = np.unique(np.quantile(losses.age, np.arange(1, number) / number).astype(int)).tolist()
            part = np.searchsorted(cuts, losses.age, side="right")
            settings = {
                f"{kind}-{number}": (
                    {p: _part_target(losses.only(part == p), name, grouping) for p in range(len(cuts) + 1)},
                    {"grouping": grouping, "parts": {"age": cuts}},
                )
                for kind, grouping in (("SA-only", "all"), ("QI-SA", "quasi"))
            }
            panels[name] |= this.curves(losses, settings)
        mean = {key: float(np.mean(curve)) for key, curve in panels[name].items()}
        seen = ", ".join(f"{key} {value:.3f}" for key, value in mean.items())
        better = mean["SA-only-10"] < mean["SA-only-2"] and mean["QI-SA-10"] <= mean["QI-SA-2"]
        place = "3.7.4, fig. 3.5(a)" if name == "Adult" else "3.7.4, fig. 3.5(b)"
        this.claim(place, f"{name}: more parts make both groupings more accurate", better, seen)
        if name == "correlation":
            first = mean["SA-only-10"] < mean["QI-SA-10"] and mean["SA-only-2"] < mean["QI-SA-2"]
            this.claim(place, f"{name}: SA-only stays better than QI-SA in parts", first, seen)
    this.draw("fig_3_5", panels, "width of the age range", this.widths, "relative error of AVG")


def _part_target(losses: Losses, name: str, grouping: str) -> Hierarchy:
    """On Adult a part's own distribution; on the synthetic table the uniform one over the part's range."""
    if name == "Adult":
        return _source(losses, None if grouping == "all" else 10)
    return quantize(uniform(Hierarchy.binary(range(int(losses.loss.min()), int(losses.loss.max()) + 1)))).hierarchy


def _shifts(this: _Run, adult: Losses) -> None:
    """Figure 3.6 and table 3.5: how much privacy of the distribution buys how much accuracy."""
    tree = Hierarchy.binary(range(int(adult.loss.min()), int(adult.loss.max()) + 1))
    spread = Fraction(tree.num_leaves - 1)
    shapes = {
        "uniform": uniform(tree),
        "normal(4)": normal(tree, spread=spread / 4),
        "normal(20)": normal(tree, spread=spread / 20),
        "zipf(1)": zipf(tree, s=1, most_likely="high"),
    }
    targets = {name: quantize(shape, most=100).hierarchy for name, shape in shapes.items()}  # as in table 3.5
    counts = np.bincount(adult.loss - adult.loss.min(), minlength=tree.num_leaves)
    ranges = node_ranges(tree)[0]
    sums: Curves = {}
    for name, target in targets.items():
        this.progress(f"shift towards {name}")
        sums[name] = [float(ranges @ node_counts(counts, target, shift=s)) / len(adult.loss) for s in SHIFTS]
    _shift_claims(this, sums, adult)
    tried = SHIFTS[::5] if this.quick else SHIFTS
    errors: Curves = {}
    for name in ("uniform", "normal(20)", "zipf(1)"):
        this.progress(f"questions to {name}")
        releases = [published(adult, targets[name], shift=s) for s in tried]
        for width in (30,) if this.quick else (30, 50):
            errors[f"{name}, width {width}"] = [error(r, adult, width, queries=this.queries) for r in releases]
    falls = all(curve[-1] <= curve[0] for curve in errors.values())
    seen = "; ".join(f"{name} {curve[0]:.2f} to {curve[-1]:.2f}" for name, curve in errors.items())
    this.claim("3.7.5, fig. 3.6(b)", "query errors fall with the shift as the sums of ranges do", falls, seen)
    at = tuple(float(s) for s in SHIFTS)
    this.draw("fig_3_6a", {"Adult": sums}, "shift factor", at, "range of a subdomain, mean")
    this.draw("fig_3_6b", {"Adult": errors}, "shift factor", tuple(map(float, tried)), "relative error of AVG")


def _shift_claims(this: _Run, sums: Curves, adult: Losses) -> None:
    falls = all(curve[i + 1] <= 1.02 * curve[i] for curve in sums.values() for i in range(len(curve) - 1))
    seen = "; ".join(f"{name} {', '.join(f'{v:.0f}' for v in curve)}" for name, curve in sums.items())
    this.claim("3.7.5, fig. 3.6(a)", "a larger shift factor lowers the sum of ranges for every target", falls, seen)
    order = [name for name, _ in sorted(sums.items(), key=lambda item: item[1][2])]
    this.claim(
        "3.7.5, fig. 3.6(a)",
        "normal(20) costs least, then normal(4), uniform, and zipf most",
        order == ["normal(20)", "normal(4)", "uniform", "zipf(1)"],
        f"at shift 0.2: {' < '.join(order)}",
    )
    lower = float((adult.loss <= sum(PRINTED_RANGE) / 2).mean())
    says = "82 % of the source lie in the lower half of its range (printed as 155 to 3900)"
    this.claims.append(
        Claim("3.7.5, table 3.5", says, round(100 * lower) == 82, f"{lower:.1%}", certain=not this.quick)
    )


PLAN = Plan(
    "Disguising distributions (dissertation, chapters 3 and 5)",
    {"all": Part(whole(run), 1.2)},
    Setting(
        "Adult's 1,427 capital losses, 10,000 synthetic rows; AVG over 100 random age ranges of a width",
        "the same sizes; for Adult the seed draws ranges and releases, for synthetic tables the rows, too",
        "the ratios of the hierarchies' weights, which the paper normalizes in places only",
    ),
    {
        "fig. 3.2": Setting(ours="SA-only with exact ratios, QI-SA with ratios of at most ten",
                            changes="the ratios of QI-SA: exact ones keep every group of one age at the root"),
        "fig. 3.3": Setting("10 % of the rows removed, ratios up to 10", "the same",
                            "a program that must use its whole allowance of fakes"),
        "fig. 3.4": Setting("uniform or zipf values in 1024..3072, width 50", "2,048 values, width 50"),
        "fig. 3.6": Setting("shift 0 to 0.5; uniform, normal, zipf", "the same; weights up to 100 as in table 3.5",
                            "the paper shifts towards the source's weights, we choose the counts directly"),
        "5.1": Setting("an argument, no experiment", "1,000 people on 64 skewed values", "uniform values"),
        "5.4": Setting("no experiment and no claim of optimality", "3 to 9 people on 8 or 9 values, 1,000 tables",
                       "larger tables, whose optimum nobody can compute"),
    },
    data=("adult/adult_48842.parquet",),
    stand_in="Figures on Adult are left out.",
    draw=draw_curves,
)  # fmt: skip
