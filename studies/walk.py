"""[Xue 2011], section 5, re-run: runtime, clustering, averages, and what its walk does on whole numbers.

Source     [Xue 2011], section 5

Segments are runs of 20 distinct values, because 100 do not mix in 4,000 steps, as the study shows. Numbers are
published with decimals, as the paper's are. Noise has the same distortion in each column; Mondrian's groups are
represented by their means.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.partition.walk.parallel import ENOUGH
from hedgerow.randomness import seeded_keys
from studies.study import Claim, Study
from studies.walk_figures import attack_figure, averages_figure, clustering_figure, runtime_figure
from studies.walk_measures import (
    attack_rates,
    average_table,
    clustering_table,
    extraction_times,
    mixing_of,
    walk_times,
)
from studies.walk_tables import Numbers, acs_table, adult_table, synthetic_table

__all__ = ["run"]

_SIZES = (100, 300, 500, 700, 900)
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
_REPETITIONS = 5


def run(out: Path, *, quick: bool = False, progress: Callable[[str], None] = lambda step: None) -> Study:
    """Measure every claim; with `quick` on small tables, which decides less."""
    adult, census, synthetic = _tables(quick)
    progress("runtime")
    times = _runtime(synthetic, quick)
    progress("mixing")
    mixing = _mixing(adult)
    shares, ks = ((0.1, 0.3), (4,)) if quick else (_SHARES[::2], (5, 10, 20))
    effort = {"repetitions": 1, "restarts": 3} if quick else {"repetitions": _REPETITIONS, "restarts": 10}
    clusters = {
        f"{table.name}, {layout}": clustering_table(table, layout, shares, ks, **effort, progress=progress)
        for table in (census, synthetic)
        for layout in ("runs", "scattered")
    }
    averages = average_table(
        adult,
        (4, 8) if quick else (4, 6, 8, 10, 12),
        (0.0, 0.1) if quick else (0.05, 0.07, 0.09, 0.12, 0.15, 0.2, 0.25, 0.3),
        seeds=3 if quick else 10,
        queries=50 if quick else 2_000,
        progress=progress,
    )
    progress("attacks")
    attacks = pa.concat_tables(
        [
            attack_rates(adult, 0.1, layout="runs"),
            attack_rates(_first(adult, 200 if quick else 3000), 0.1, layout="scattered"),
        ]
    )
    figures = (
        runtime_figure(times, out),
        clustering_figure(clusters, out),
        averages_figure(averages, out),
        attack_figure(attacks, out),
    )
    claims = (
        *_runtime_claims(times),
        *_mixing_claims(mixing),
        *(_clustering_claim(name, table) for name, table in clusters.items()),
        *_average_claims(averages),
        _attack_claim(attacks),
    )
    tables = {**times, **{f"clustering {name}": t for name, t in clusters.items()}, "averages": averages}
    return Study("Values that keep properties of interest", claims, figures, {**tables, "attacks": attacks})


def _tables(quick: bool) -> tuple[Numbers, Numbers, Numbers]:
    keys = seeded_keys(11)
    rows = (800, 600, 400) if quick else (30_000, 75_000, 10_000)
    return adult_table(rows[0]), acs_table(rows[1], keys=keys), synthetic_table(rows[2], keys=keys)


def _first(table: Numbers, rows: int) -> Numbers:
    return Numbers(table.name, table.columns, table.values[:rows], table.sensitive[:rows])


def _runtime(table: Numbers, quick: bool) -> dict[str, pa.Table]:
    column = np.rint(table.values[:, 0] * 1e6).astype(np.int64)
    sizes = _SIZES[:3] if quick else _SIZES
    return {
        "extraction": extraction_times(column, sizes),
        "walking": walk_times(column, _SHARES, size=100, steps=4000),
    }


def _mixing(table: Numbers) -> dict[str, dict[str, tuple[float, float]]]:
    """Walks over the ages of 100 rows as whole numbers, and over runs of 20 and 100 final weights."""
    ages = table.values[:100, 0].astype(np.int64)
    weights = np.unique(table.values[:, 1].astype(np.int64))
    middle = len(weights) // 3
    return {
        "ages": mixing_of(ages, 0.1, steps=4_000, keys=seeded_keys(12)),
        "20": mixing_of(weights[middle : middle + 20], 0.1, steps=40_000, keys=seeded_keys(13)),
        "100": mixing_of(weights[middle : middle + 100], 0.1, steps=4_000, keys=seeded_keys(14)),
    }


def _runtime_claims(times: dict[str, pa.Table]) -> list[Claim]:
    extraction, walking = times["extraction"], times["walking"]
    sizes, took = (extraction[name].to_numpy() for name in ("size", "seconds"))
    power = float(np.polyfit(np.log(sizes), np.log(took), 1)[0])
    counts, spent = (walking[name].to_numpy() for name in ("properties", "seconds"))
    fit = float(np.corrcoef(counts, spent)[0, 1])
    growth = (spent[-1] / spent[0]) / (counts[-1] / counts[0])
    return [
        Claim(
            "5.1, figure 3(a)",
            "Finding all localities takes quadratic time in the size of a partition.",
            1.5 < power < 2.4,
            f"time grows like size^{power:.2f}; {sizes[-1]} values take {1000 * took[-1]:.1f} ms",
        ),
        Claim(
            "5.1, figure 3(b)",
            "4,000 steps over 100 values take time linear in the number of properties.",
            fit > 0.9 and 0.5 < growth < 2,
            f"correlation {fit:.2f}; {counts[-1] / counts[0]:.1f} times the properties take {spent[-1] / spent[0]:.1f} "
            f"times as long, at most {1000 * spent[-1]:.1f} ms",
        ),
    ]


def _mixing_claims(mixing: dict[str, dict[str, tuple[float, float]]]) -> list[Claim]:
    ages, twenty, hundred = mixing["ages"], mixing["20"], mixing["100"]
    return [
        Claim(
            "4",
            "The walk starts from the original values and arrives at another point.",
            ages["printed"][1] > 0.01,
            f"on the whole-numbered ages of 100 rows the printed walk moves by {ages['printed'][1]:.3f} years (root "
            f"mean square), ours by {ages['ours'][1]:.2f}",
        ),
        Claim(
            "5.3",
            "40,000 steps make the arrival nearly uniform in partitions of 20.",
            twenty["printed"][0] >= ENOUGH,
            f"least effective sample size of 256 states: printed {twenty['printed'][0]:.1f}, whole chord "
            f"{twenty['hit-and-run'][0]:.1f}, ours {twenty['ours'][0]:.1f}; {ENOUGH} is asked for",
        ),
        Claim(
            "5.1, 5.2",
            "4,000 steps are enough in partitions of 100.",
            hundred["printed"][0] >= ENOUGH,
            f"printed {hundred['printed'][0]:.1f}, whole chord {hundred['hit-and-run'][0]:.1f}, ours "
            f"{hundred['ours'][0]:.1f}",
        ),
    ]


def _clustering_claim(name: str, table: pa.Table) -> Claim:
    walk, noise = (table[column].to_numpy() for column in ("walk", "noise"))
    wins, single = int((walk < noise).sum()), int(table["better"].to_numpy().sum())
    return Claim(
        "5.2, figure 4",
        f"At equal distortion clustering always suffers less than from noise ({name}).",
        wins == len(walk),
        f"less error in {wins} of {len(walk)} settings by the median of repetitions, in {single} single repetitions; "
        f"on average {walk.mean():.1%} of the rows are misplaced, with noise {noise.mean():.1%}, by k-means alone when "
        f"it begins elsewhere {table['again'].to_numpy().mean():.1%}",
    )


def _average_claims(table: pa.Table) -> list[Claim]:
    targets = table["target"].to_numpy()
    return [_average_claim(table, targets == target) for target in np.unique(targets)]


def _average_claim(table: pa.Table, chosen: NDArray[Any]) -> Claim:
    mine = table.filter(pa.array(chosen))
    mondrian, walk, noise = (mine[column].to_numpy() for column in ("mondrian", "walk", "noise"))
    excess = (mine["walk_distortion"].to_numpy() / mine["mondrian_distortion"].to_numpy()).max() - 1
    return Claim(
        "5.3, figure 5",
        f"At equal distortion averages of {mine['name'][0].as_py()} are more accurate than after Mondrian.",
        bool((walk < mondrian).all()),
        f"better for {int((walk < mondrian).sum())} of {len(walk)} values of l, {min(mine['walks'].to_pylist())} to "
        f"{max(mine['walks'].to_pylist())} walks each, at most {excess:.1%} more distorted; mean error "
        f"{walk.mean():.2%}, Mondrian {mondrian.mean():.2%}, noise {noise.mean():.2%}",
    )


def _attack_claim(table: pa.Table) -> Claim:
    """The paper measures no adversary; the table says what one learns."""
    runs = table.filter(pa.array([layout == "runs" for layout in table["layout"].to_pylist()])).to_pylist()
    rate = {(row["method"], row["attack"]): row["rate"] for row in runs}
    worst = max(row["rate"] / max(row["baseline"], 1e-9) for row in runs if row["method"] == "walk")
    return Claim(
        "abstract",
        "The data are published while safeguarding privacy.",
        False if worst > 10 else None,
        f"no definition is given; identity {rate['walk', 'identity']:.1%} (noise {rate['noise', 'identity']:.1%}), "
        f"rank {rate['walk', 'rank']:.1%} (noise {rate['noise', 'rank']:.1%}), far above guessing",
    )
