"""(k,e)-anonymity, section 2.7: permuted against generalized bounds, partitions, k, e, correlation, overhead, growth.

Source     [Zhang 2008], section 2.7
Deviates   the groups of the generalized table come from our own optimal full-domain search (the paper's from an older
           one), and its boxes are the least that cover a group, which favours generalization; tables and queries are
           drawn with fixed seeds, so that a run can be repeated
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.randomness import Keys, seeded_keys
from studies.figures import Panel, curve_table, draw_curves
from studies.ke_bounds import Grouped, Swapped, from_boxes, from_groups, from_nothing, from_ranks
from studies.ke_claims import accuracy_claims, algorithm_claims, correlation_claims, parameter_claims, speed_claims
from studies.ke_costs import growth, overhead
from studies.ke_tables import (
    Table,
    adult_table,
    correlated,
    generalized_labels,
    ke_labels,
    random_table,
    swapped_losses,
)
from studies.study import Part, Plan, Setting, Study, whole

__all__ = ["PLAN", "run"]

OBJECTIVES = ("max", "sum", "count", "random")
NAMES = {"max": "min max", "sum": "min sum", "count": "most groups", "random": "random"}
ROWS = tuple(range(100, 1401, 100))
SPANS = (5, 10, 15, 20, 30, 40, 50)
CROWDS = (300, 600, 1427, 3000)
"""Rows of the table with 64 ages in figure 2.8; the paper does not say how many it has."""
DISTINCT = (89, 760, 4000)
"""Different losses in figure 2.10: as many as Adult has, and nearly all numbers of its range."""
DEVIATIONS = (5, 10, 20, 50, 100, 200)
Curves = dict[str, list[float]]
Panels = dict[str, tuple[Sequence[int], str, Curves]]


def run(out: Path, *, quick: bool = False, progress: Callable[[str], None] = lambda step: None, seed: int = 1) -> Study:
    """Re-run the experiments of the chapter; `quick` asks fewer questions of smaller tables."""
    count, keys = (6 if quick else 100), seeded_keys(26 + seed)
    real = adult_table()
    table = real if real is not None else random_table(1427, seed=seed)
    progress("permuted against generalized")
    both = {name: _both_forms(one, count, keys) for name, one in _tables(table).items()}
    progress("partitions")
    partitions = _algorithms(table, keys, 4, 100)
    by_rows, by_span = _arbitrary(partitions, table, count, keys), _ranges(partitions, table, count, keys)
    progress("correlation, k and e")
    by_deviation = {rows: _by_deviation(count, keys, rows, seed) for rows in (CROWDS[1:3] if quick else CROWDS)}
    by_k, by_e = _by_parameter(count, keys, quick, seed)
    progress("overhead and growth")
    costs, times = overhead(2_000 if quick else 10_000, runs=5 if quick else 31), growth(quick=quick)
    panels: dict[str, Panels] = {
        **{f"forms_{n}": _form_panels(name, curves) for n, (name, curves) in enumerate(both.items(), 1)},
        "partitions": {
            "arbitrary queries": (ROWS, "rows selected", by_rows),
            "ranges of age": (SPANS, "span of ages", by_span),
        },
        "correlation": {
            f"ranges of 30 years, {rows:,} rows": (DEVIATIONS, "deviation of losses from age", curves)
            for rows, curves in by_deviation.items()
        },
        "parameters": {
            "e = 50": (by_k[0], "k", by_k[1]),
            **{f"k = 10, {distinct:,} different losses": (at, "e", curves) for distinct, (at, curves) in by_e.items()},
        },
    }
    claims = (
        *accuracy_claims(both),
        *algorithm_claims(by_rows, by_span),
        *correlation_claims(by_deviation),
        *parameter_claims(by_k, by_e),
        *speed_claims(costs, times),
    )
    source = "Adult, 1,422 people up to 80" if real is not None else "synthetic losses (Adult is not at hand)"
    tables = {key: table for name, parts in panels.items() for key, table in _curves(name, parts).items()}
    return Study(f"(k,e)-anonymity: {source}", claims, tables=tables)


def _tables(table: Table) -> dict[str, Table]:
    """Eight quasi-identifiers and age alone; where there is only age, that."""
    return (
        {"eight quasi-identifiers": table, "age alone": table.on_age_alone()}
        if len(table.quasi) > 1
        else {"age alone": table}
    )


def _both_forms(table: Table, count: int, keys: Keys) -> dict[str, Curves]:
    """The same partition, by generalization, published in both forms."""
    grouped = Grouped(table, generalized_labels(table, l=4, age_level=3)[0])
    arbitrary: Curves = {"generalized": [], "permuted": []}
    for rows in ROWS:
        asked = [_random_rows(len(table.ages), rows, keys) for _ in range(count)]
        arbitrary["generalized"].append(_mean(from_nothing(grouped, chosen) for chosen in asked))
        arbitrary["permuted"].append(_mean(from_groups(grouped, chosen) for chosen in asked))
    ranges: Curves = {"generalized": [], "permuted": []}
    for span in SPANS:
        asked_spans = [_random_range(table.ages, span, keys) for _ in range(count)]
        ranges["generalized"].append(_mean(from_boxes(grouped, *one) for one in asked_spans))
        ranges["permuted"].append(_mean(from_groups(grouped, one[0]) for one in asked_spans))
    return {"arbitrary": arbitrary, "ranges": ranges}


def _algorithms(table: Table, keys: Keys, k: int, e: int, *, generalize: bool = True) -> dict[str, Grouped | Swapped]:
    """Every way to cut a table that the chapter compares."""
    found: dict[str, Grouped | Swapped] = {}
    if generalize:
        found["generalization"] = Grouped(table, generalized_labels(table, l=k, age_level=3)[0])
    for objective in OBJECTIVES:
        found[NAMES[objective]] = Grouped(table, ke_labels(table, objective, k=k, e=e, keys=keys))
    found["rank swapping"] = Swapped(table, *swapped_losses(table, k=k, e=e, keys=keys))
    return found


def _error(cut: Grouped | Swapped, rows: NDArray[np.bool_]) -> float:
    return from_ranks(cut, rows) if isinstance(cut, Swapped) else from_groups(cut, rows)


def _arbitrary(cuts: Mapping[str, Grouped | Swapped], table: Table, count: int, keys: Keys) -> Curves:
    curves: Curves = {name: [] for name in cuts}
    for rows in ROWS:
        asked = [_random_rows(len(table.ages), rows, keys) for _ in range(count)]
        for name, cut in cuts.items():
            curves[name].append(_mean(_error(cut, chosen) for chosen in asked))
    return curves


def _ranges(
    cuts: Mapping[str, Grouped | Swapped], table: Table, count: int, keys: Keys, spans: Sequence[int] = SPANS
) -> Curves:
    curves: Curves = {name: [] for name in cuts}
    for span in spans:
        asked = [_random_range(table.ages, span, keys)[0] for _ in range(count)]
        for name, cut in cuts.items():
            curves[name].append(_mean(_error(cut, chosen) for chosen in asked))
    return curves


def _by_deviation(count: int, keys: Keys, rows: int, seed: int) -> Curves:
    curves: Curves = {}
    for deviation in DEVIATIONS:
        table = correlated(rows, deviation, seed=seed)
        for name, errors in _ranges(_algorithms(table, keys, 4, 100), table, count, keys, (30,)).items():
            curves.setdefault(name, []).extend(errors)
    return curves


def _by_parameter(
    count: int, keys: Keys, quick: bool, seed: int
) -> tuple[tuple[Sequence[int], Curves], dict[int, tuple[Sequence[int], Curves]]]:
    """Errors against k at e = 50, and against e at k = 10 by distinct losses, which do not depend on age."""
    tables = {d: random_table(600 if quick else 1427, distinct=d, seed=seed) for d in DISTINCT}
    table = tables[DISTINCT[-1]]
    ks: Sequence[int]
    es: Sequence[int]
    ks, es = ((4, 20, 40), (40, 200)) if quick else ((4, 10, 16, 22, 28, 34, 40), (40, 80, 120, 160, 200))
    by_k = _each([(k, 50) for k in ks], table, count, keys)
    by_e: dict[int, tuple[Sequence[int], Curves]] = {
        d: (es, _each([(10, e) for e in es], one, count, keys)) for d, one in tables.items()
    }
    return (ks, by_k), by_e


def _each(parameters: Sequence[tuple[int, int]], table: Table, count: int, keys: Keys) -> Curves:
    curves: Curves = {}
    for k, e in parameters:
        cuts = _algorithms(table, keys, k, e, generalize=False)
        for name, errors in _ranges(cuts, table, count, keys, (30,)).items():
            curves.setdefault(name, []).extend(errors)
    return curves


def _random_rows(total: int, rows: int, keys: Keys) -> NDArray[np.bool_]:
    chosen = np.zeros(total, np.bool_)
    chosen[np.argsort(keys(total))[: min(rows, total)]] = True
    return chosen


def _random_range(ages: NDArray[np.int64], span: int, keys: Keys) -> tuple[NDArray[np.bool_], int, int]:
    """A range of ages that somebody has."""
    while True:
        low = int(ages.min()) + int(keys(1)[0] % np.uint64(max(1, int(np.ptp(ages)) - span + 1)))
        rows = (ages >= low) & (ages <= low + span)
        if rows.any():
            return rows, low, low + span


def _mean(errors: Iterable[float]) -> float:
    return float(np.mean(list(errors)))


def _form_panels(name: str, curves: Mapping[str, Curves]) -> Panels:
    return {
        f"{name}: arbitrary queries": (ROWS, "rows selected", curves["arbitrary"]),
        f"{name}: ranges of age": (SPANS, "span of ages", curves["ranges"]),
    }


def _curves(name: str, parts: Panels) -> dict[str, pa.Table]:
    """The numbers behind a figure, in percent of the answer, on a logarithmic axis where they are far apart."""
    panels = []
    for title, (at, xlabel, lines) in parts.items():
        errors = [error for line in lines.values() for error in line if error > 0]
        far = errors and max(errors) > 10 * min(errors)
        shown = {label: [100 * error for error in line] for label, line in lines.items()}
        panels.append(Panel(title, xlabel, "width of bounds, % of the answer", at, shown, "y" if far else ""))
    return curve_table(name, panels)


PLAN = Plan(
    "(k,e)-anonymity",
    {"all": Part(whole(run), 0.4)},
    Setting(
        "Adult, 1,427 people with a capital loss less 6 over 80; 4-diverse groups by full-domain search (25 groups)",
        "the same rows less 5 over 80; our optimal full-domain search; 100 queries a point",
        "the search of generalization and its hierarchies, which the paper takes from elsewhere",
    ),
    {
        "figure 2.8": Setting(
            "synthetic losses that grow with age, variance 5 to 200; rows and scale not given",
            "40 per year of age plus normal noise in steps of 10; 300, 600, 1,427 and 3,000 rows over 64 ages",
            "rows per age: once every age has four losses nothing is generalized, and ranges of ages are exact",
        ),
        "figure 2.9": Setting(
            "synthetic, ranges as Adult's, e = 50, k = 4 to 40",
            "4,000 different losses, 1,427 rows",
            "fewer different losses: k of them span more",
        ),
        "figure 2.10": Setting(
            "the same, k = 10, e = 40 to 200; number of different losses not given",
            "1,427 rows with 89, 760 and 4,000 different losses",
            "the number of different losses: ten of 89 span more than any e asked for, ten of 4,000 span some 30",
        ),
        "figures 2.11": Setting("10,000 rows, 38 groups, SQL Server", "10,000 rows, DuckDB and arrays", "the engine"),
        "figure 2.13": Setting("100 to 2,000 rows", "2,000 to 2,000,000 different losses", "the printed inner loop"),
    },
    data=("adult/adult_48842.parquet", "adult/hierarchies"),
    stand_in="A synthetic table of 1,427 rows stands in for it.",
    draw=draw_curves,
)
