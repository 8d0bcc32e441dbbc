"""[Wong 2009], section 5, re-run on Adult: time, query error, problematic rows and mean Delta of ART and five others.

Source     [Wong 2009], section 5

One run per setting instead of a hundred: differences that decide a claim are far larger than those between seeds. The
secret is education before the ninth year; attribute sets are all subsets with signatures of at least 100 rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

from hedgerow.partition.robust.candidates import RobustRows
from hedgerow.partition.robust.check import Check
from hedgerow.partition.robust.gather import art
from hedgerow.randomness import Keys, generator, seeded_keys
from studies.robust_data import People, adult_people
from studies.robust_figures import lines_figure
from studies.robust_measures import count_errors, count_queries, risk
from studies.robust_rivals import RIVALS, Grouping
from studies.study import Claim, Study

__all__ = ["run"]

_PAPER = "section 5"
Row = dict[str, object]


def run(out: Path, *, quick: bool = False, progress: Callable[[str], None] = lambda step: None) -> Study:
    """Measure every claim; with `quick` on 4,000 rows, which decides less."""
    widths, powers, queries = ((3, 5), (3, 6), 60) if quick else ((3, 4, 5, 6, 7), (2, 4, 6, 8, 10), 1000)
    rows, r = (4000, 5) if quick else (None, 10)
    progress("loading compiled loops, which no method should pay for")
    _measured(adult_people(3, rows=5000), 3, 1, 3, lambda step: None)
    by_width: list[Row] = []
    for width in widths:
        people = adult_people(width, rows=rows)
        by_width += _measured(people, r, queries, width, progress)
    people = adult_people(5, rows=rows)
    by_r = [row for power in powers for row in _measured(people, power, queries, 5, progress)]
    wide, strict = pa.Table.from_pylist(by_width), pa.Table.from_pylist(by_r)
    figures = (
        lines_figure(wide, "quasi", "quasi-identifiers", out, "robust_quasi"),
        lines_figure(strict, "r", "r", out, "robust_r"),
    )
    return Study("r-robustness on Adult", _claims(wide, strict, r), figures, {"by_width": wide, "by_r": strict})


def _measured(people: People, r: int, queries: int, quasi: int, progress: Callable[[str], None]) -> list[Row]:
    """Run every method once in one setting; counts are over all quasi-identifiers and the secret."""
    coins = generator(1)
    asked = count_queries(people, dimensions=quasi, selectivity=0.05, count=queries, generator=coins)
    methods: dict[str, Callable[[People, int, Keys], Grouping]] = {"ART": _art, **RIVALS}
    rows: list[Row] = []
    for name, method in methods.items():
        progress(f"{name}, {quasi} quasi-identifiers, r = {r}")
        begin = time.process_time()
        grouping = method(people, r, seeded_keys(7))
        seconds = time.process_time() - begin
        found = risk(people, grouping, r)
        rows.append(
            {
                "quasi": quasi,
                "r": r,
                "method": name,
                "seconds": seconds,
                "error": count_errors(people, grouping, asked),
                "problematic": found.problematic,
                "worst": found.worst,
                "delta": found.delta,
                "delta_max": found.delta_max,
                "held_back": float((grouping.labels < 0).mean()),
                "held_back_of_secret": float((grouping.labels < 0)[people.is_protected].mean()),
            }
        )
    return rows


def _art(people: People, r: int, keys: Keys) -> Grouping:
    candidates = RobustRows(people.knowledge, people.signatures, people.values, people.member)
    found = art(Check(candidates, Fraction(r)), allowed=people.size // 100, restarts=0, keys=keys)
    return Grouping(found.groups, people.is_protected)


def _claims(wide: pa.Table, strict: pa.Table, r: int) -> tuple[Claim, ...]:
    return (
        _no_violation(wide, strict),
        _others_violate(wide),
        _grows(wide, "problematic", "The share of problematic rows of the other methods grows with quasi-identifiers."),
        _grows(wide, "error", "The error of counts grows with the number of quasi-identifiers."),
        _grows(wide, "seconds", "ART's time grows with the number of quasi-identifiers.", only="ART"),
        _grows(wide, "delta", "The mean Delta grows with the number of quasi-identifiers."),
        _ranked(wide, "seconds", "ART takes longer than Anatomy, MASK and t-closeness.", "ART", largest=True),
        _ranked(wide, "error", "t-closeness has the largest error of counts.", "t-closeness", largest=True),
        _near(wide, "delta", "Anatomy and Injector have the largest mean Delta, above the bound."),
        _mask_breaches_less(wide),
        _held_back(wide, strict, r),
    )


def _column(table: pa.Table, method: str, name: str) -> list[float]:
    return [float(row[name]) for row in table.to_pylist() if row["method"] == method]


def _others(table: pa.Table) -> list[str]:
    return [name for name in dict.fromkeys(table["method"].to_pylist()) if name != "ART"]


def _words(numbers: Sequence[float], kind: str) -> str:
    style = {"problematic": "{:.1%}", "seconds": "{:.2f} s", "error": "{:.1%}", "delta": "{:.3f}"}[kind]
    return " to ".join(style.format(number) for number in (numbers[0], numbers[-1]))


def _no_violation(wide: pa.Table, strict: pa.Table) -> Claim:
    shares = _column(wide, "ART", "problematic") + _column(strict, "ART", "problematic")
    hidden = max(_column(wide, "ART", "held_back_of_secret") + _column(strict, "ART", "held_back_of_secret"))
    seen = (
        f"{sum(share > 0 for share in shares)} of {len(shares)} settings have a problematic row among those published; "
        f"up to {hidden:.0%} of those with the secret are held back instead"
    )
    return Claim(_PAPER, "ART leaves no problematic row.", max(shares) == 0.0, seen)


def _others_violate(wide: pa.Table) -> Claim:
    least = {name: min(_column(wide, name, "problematic")) for name in _others(wide)}
    seen = "at least " + ", ".join(f"{share:.1%} {name}" for name, share in least.items())
    return Claim(_PAPER, "Every other method leaves problematic rows.", min(least.values()) > 0, seen)


def _grows(table: pa.Table, kind: str, says: str, only: str | None = None) -> Claim:
    names = [only] if only else (_others(table) if kind == "problematic" else ["ART", *_others(table)])
    ends = {name: _column(table, name, kind) for name in names}
    seen = "; ".join(f"{name} {_words(values, kind)}" for name, values in ends.items())
    return Claim("figure 1", says, all(values[-1] > values[0] for values in ends.values()), seen)


def _ranked(table: pa.Table, kind: str, says: str, winner: str, *, largest: bool) -> Claim:
    means = {name: float(np.mean(_column(table, name, kind))) for name in ("ART", *_others(table))}
    top = max(means, key=lambda name: means[name] if largest else -means[name])
    seen = "means: " + ", ".join(f"{name} {_words([mean], kind).split(' to ')[0]}" for name, mean in means.items())
    return Claim("figure 1", says, top == winner, seen)


def _near(table: pa.Table, kind: str, says: str) -> Claim:
    means = {name: float(np.mean(_column(table, name, kind))) for name in ("ART", *_others(table))}
    bound = float(np.mean(_column(table, "ART", "delta_max")))
    first_two = sorted(means, key=lambda name: -means[name])[:2]
    holds = set(first_two) == {"Anatomy", "like Injector"} and min(means[name] for name in first_two) > bound
    seen = ", ".join(f"{name} {mean:.3f}" for name, mean in means.items()) + f"; ART's Delta_max {bound:.3f}"
    return Claim("figure 1(d)", says, holds, seen)


def _mask_breaches_less(table: pa.Table) -> Claim:
    means = {name: float(np.mean(_column(table, name, "problematic"))) for name in _others(table)}
    rivals = [means[name] for name in ("Anatomy", "like Injector", "t-closeness")]
    seen = ", ".join(f"{name} {mean:.1%}" for name, mean in means.items())
    return Claim(
        "figure 1(c)",
        "MASK leaves fewer problematic rows than Anatomy, Injector and t-closeness.",
        means["like MASK"] < min(rivals),
        seen + " (a stand-in for MASK)",
    )


def _held_back(wide: pa.Table, strict: pa.Table, r: int) -> Claim:
    shares = _column(wide, "ART", "held_back")
    strictest = _column(strict, "ART", "held_back")
    seen = (
        f"{shares[0]:.2%} to {shares[-1]:.2%} of the rows fit in no group as quasi-identifiers grow at r = {r}, "
        f"{strictest[0]:.2%} to {strictest[-1]:.2%} as r grows"
    )
    return Claim("theorem 2", "ART places every row in a group.", max(shares + strictest) == 0.0, seen)
