"""[Xue 2011], section 5, re-run in the paper's setting: the walk as printed, and hedgerow's beside it.

Source     [Xue 2011], section 5

Figures 4 and 5 take blocks of consecutive rows with ties apart, 100 values and 4,000 steps, or 20 and 40,000. Our own
walk takes blocks of 20 rows, merges ties and walks until mixed. Mondrian's groups are represented by their means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from hedgerow.partition.walk.parallel import ENOUGH
from hedgerow.randomness import seeded_keys
from studies.noise import NOISES
from studies.study import Claim, Part, Plan, Setting, Study, Unit
from studies.walk_figures import draw_walk
from studies.walk_measures import extraction_times, mixing_of, walk_times
from studies.walk_paper import (
    averages_at,
    clustering_at,
    moving_table,
    our_averages_at,
    our_walk,
    privacy_table,
)
from studies.walk_tables import Numbers, acs_table, adult_table, first_rows, synthetic_table

__all__ = ["PLAN"]

_SIZES = (100, 300, 500, 700, 900)
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
_DIVERSITIES = (4, 8, 12)
_QUERIES = 2000
_MOVING = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3)
_TABLES = {"synthetic": 10_000, "census": 75_000}
_CLUSTERED = {"synthetic": (0.01, 0.1, 0.5), "census": (0.001, 0.01, 0.1)}
_OURS = "synthetic", 0.1
"""Where our walk, which takes far longer to mix than the printed one to stop, stands beside it."""
_STILL = 0.99
_KS = (5, 10, 20)
_PRIVACY_SHARE = 0.3


def _adult(unit: Unit) -> Numbers:
    return adult_table(1000 if unit.quick else 30_000)


def _runtime(unit: Unit) -> Study:
    unit.progress("times")
    table = synthetic_table(400 if unit.quick else 2000, keys=seeded_keys(11 + unit.seed))
    column = np.rint(table.values[:, 0] * 1e6).astype(np.int64)
    sizes = _SIZES[:3] if unit.quick else _SIZES
    tables = {
        "extraction": extraction_times(column, sizes),
        "walking": walk_times(column, _SHARES, size=100, steps=4000),
    }
    return Study("times", tables=tables)


def _mixing(unit: Unit) -> Study:
    """Runs of 20 and 100 final weights from a random place of the sorted column."""
    unit.progress("mixing")
    weights = np.unique(_adult(unit).values[:, 1].astype(np.int64))
    rows = []
    for size, steps in ((20, 40_000), (100, 4_000)):
        first = int(seeded_keys(unit.seed)(1)[0] % np.uint64(len(weights) - size))
        found = mixing_of(weights[first : first + size], 0.1, steps=steps // (20 if unit.quick else 1),
                          keys=seeded_keys(13 + unit.seed))  # fmt: skip
        rows += [{"size": size, "walk": name, "effective": effective} for name, (effective, _) in found.items()]
    return Study("mixing", tables={"mixing": pa.Table.from_pylist(rows)})


def _moving(unit: Unit) -> Study:
    unit.progress("does the printed walk move?")
    blocks = 3 if unit.quick else 20
    table = _adult(unit)
    values = table.values
    tables = []
    for place, name in ((0, "age"), (1, "final weight")):
        for segment, steps in ((20, 40_000), (100, 4_000)):
            first = (unit.seed - 1) * blocks * segment % (len(values) - blocks * segment + 1)
            column = values[first : first + blocks * segment, place]
            named = name, column, table.domains[place]
            size = {"segment": segment, "steps": steps // (20 if unit.quick else 1), "seed": unit.seed}
            tables.append(moving_table(named, _MOVING, **size))
    return Study("moving", tables={"moving": pa.concat_tables(tables)})


def _averages(l: int, unit: Unit) -> Study:  # noqa: E741
    unit.progress(f"averages, l = {l}")
    size = {"queries": 100, "steps": 1000} if unit.quick else {"queries": _QUERIES, "steps": 40_000}
    return Study("averages", tables={f"averages {l}": averages_at(_adult(unit), l, seed=unit.seed, **size)})


def _our_averages(unit: Unit) -> Study:
    """Our walk keeps all localities: the least that it distorts, and far more than Mondrian at any l."""
    unit.progress("averages after our walk")
    table = _adult(unit)
    ours = our_walk(table, 1.0, unit.seed)
    queries = 100 if unit.quick else _QUERIES
    found = our_averages_at(table, _DIVERSITIES[:1], ours, seed=unit.seed, queries=queries)
    return Study("averages", tables={"our averages": found})


def _clustering(name: str, share: float, unit: Unit) -> Study:
    unit.progress(f"clustering of {name}, share {share}")
    rows = 600 if unit.quick else _TABLES[name]
    make = synthetic_table if name == "synthetic" else acs_table
    table = make(rows, keys=seeded_keys(11 + unit.seed))
    ours_too = (name, share) == _OURS
    found = clustering_at(table, share, _KS, seed=unit.seed, steps=400 if unit.quick else 4000, ours_too=ours_too)
    return Study("clustering", tables={f"clustering {name} {share}": found})


def _privacy(unit: Unit) -> Study:
    unit.progress("adversaries")
    table = _adult(unit)
    size = 500 if unit.quick else 3000
    moved = replace(table, values=np.roll(table.values, -size * unit.seed, axis=0))
    found = privacy_table(first_rows(moved, size), _PRIVACY_SHARE, seed=unit.seed, steps=1000 if unit.quick else 40_000)
    return Study("privacy", tables={"privacy": found})


def _judge(tables: Mapping[str, pa.Table], quick: bool) -> list[Claim]:
    claims: list[Claim] = []
    for wanted, judge in (
        (("extraction", "walking"), _runtime_claims),
        (("moving",), _moving_claims),
        (("mixing",), _mixing_claims),
        (("averages", "our averages"), _average_claims),
        (("clustering",), _clustering_claims),
        (("privacy",), _privacy_claims),
    ):
        mine = {name: table for name, table in tables.items() if name.startswith(wanted)}
        if mine:
            claims += judge(mine)
    return claims


def _rows(tables: Mapping[str, pa.Table]) -> list[dict[str, object]]:
    return [row for table in tables.values() for row in table.to_pylist()]


def _runtime_claims(tables: Mapping[str, pa.Table]) -> list[Claim]:
    sizes, took = (tables["extraction"][name].to_numpy() for name in ("size", "seconds"))
    power = float(np.polyfit(np.log(sizes), np.log(took), 1)[0])
    counts, spent = (tables["walking"][name].to_numpy() for name in ("properties", "seconds"))
    fit = float(np.corrcoef(counts, spent)[0, 1])
    growth = (spent[-1] / spent[0]) / (counts[-1] / counts[0])
    return [
        Claim("5.1, figure 3(a)", "Finding all localities takes quadratic time in the size of a partition.",
              1.5 < power < 2.4, f"time grows like size^{power:.2f}; {sizes[-1]} values take {1000 * took[-1]:.1f} ms"),
        Claim("5.1, figure 3(b)", "4,000 steps over 100 values take time linear in the number of properties.",
              bool(fit > 0.9 and 0.5 < growth < 2),
              f"correlation {fit:.2f}; {counts[-1] / counts[0]:.1f} times the properties take "
              f"{spent[-1] / spent[0]:.1f} times as long"),
    ]  # fmt: skip


def _moving_claims(tables: Mapping[str, pa.Table]) -> list[Claim]:
    """One claim, four columns: from which share on does nothing move?"""
    claims = []
    rows = _rows(tables)
    for column in ("age", "final weight"):
        for segment in (20, 100):
            mine = [row for row in rows if row["column"] == column and row["segment"] == segment]
            shares = [(float(str(row["share"])), float(str(row["still"])) >= _STILL) for row in mine]
            still, moves = ([share for share, stands in shares if stands is wanted] for wanted in (True, False))
            seen = "it moves at every share up to 0.3" if not still else (
                f"nothing moves at any share from {min(still):g} on" if not moves or min(still) > max(moves)
                else f"nothing moves at the shares {', '.join(f'{s:g}' for s in still)}"
            )  # fmt: skip
            at = {row["share"]: row for row in mine}[0.1]
            claims.append(
                Claim(f"4 ({column}, {segment} values)",
                      "The walk starts from the original values and arrives at another point.",
                      not still if not (still and moves) else None,
                      f"{seen}; at share 0.1 nothing moves in {at['still']:.0%} of the blocks, and the mean change is "
                      f"{at['change']:.1%}",
                      word="depends on the share" if still and moves else None)
            )  # fmt: skip
    return claims


def _mixing_claims(tables: Mapping[str, pa.Table]) -> list[Claim]:
    found = {(row["size"], row["walk"]): float(row["effective"]) for row in _rows(tables)}  # type: ignore[arg-type]
    says = {20: ("5.3", "40,000 steps make the arrival nearly uniform in partitions of 20."),
            100: ("5.1, 5.2", "4,000 steps are enough in partitions of 100.")}  # fmt: skip
    return [
        Claim(source, claim, found[size, "printed"] >= ENOUGH,
              f"least effective sample size of 256 states: printed {found[size, 'printed']:.1f}, whole chord "
              f"{found[size, 'hit-and-run']:.1f}, ours {found[size, 'ours']:.1f}; {ENOUGH} is asked for")
        for size, (source, claim) in says.items()
    ]  # fmt: skip


def _average_claims(tables: Mapping[str, pa.Table]) -> list[Claim]:
    rows = sorted(_rows(tables), key=lambda row: int(row["l"]))  # type: ignore[call-overload]
    claims = []
    for method, source in (
        ("printed", "5.3, figure 5, as printed"),
        ("ours_near", "ours, figure 5, at Mondrian's distortion"),
        ("ours", "ours, figure 5, as published"),
    ):
        for name in dict.fromkeys(row["name"] for row in rows):
            mine = [row for row in rows if row["name"] == name and row.get(method) is not None]
            walk, mondrian, reached, wanted = (
                np.array([row[column] for row in mine], float)
                for column in (method, "mondrian", f"{method}_distortion", "wanted")
            )
            if not len(mine):
                continue
            wins, ls = int((walk < mondrian).sum()), ", ".join(str(row["l"]) for row in mine)
            given = "With its larger distortion" if method == "ours" else "At equal distortion"
            claims.append(
                Claim(source, f"{given} averages of {name} are more accurate than after Mondrian.",
                      wins == len(mine),
                      f"better for {wins} of {len(mine)} values of l ({ls}); mean error {walk.mean():.1%}, Mondrian "
                      f"{mondrian.mean():.1%}; distorted {(reached / wanted).mean():.2f} times as much")
            )  # fmt: skip
    return claims


def _clustering_claims(tables: Mapping[str, pa.Table]) -> list[Claim]:
    rows = _rows(tables)
    claims = []
    for method, source in (("printed", "5.2, figure 4, as printed"), ("ours", "ours, figure 4")):
        for name in dict.fromkeys(row["table"] for row in rows):
            mine = [row for row in rows if row["table"] == name and row["method"] == method]
            moved = [row for row in mine if float(row["distortion"]) > 1e-6]  # type: ignore[arg-type]
            if not mine:
                continue
            walk = np.array([row["walk"] for row in moved] or [0.0], float)
            noisy = {reading: np.array([row[reading] for row in moved] or [0.0], float) for reading in NOISES}
            wins = {reading: int((walk <= errors).sum()) for reading, errors in noisy.items()}
            verdicts = {reading: bool(walk.mean() <= errors.mean()) for reading, errors in noisy.items()}
            words = "; ".join(
                f"{reading} {errors.mean():.2%}, the walk no worse in {wins[reading]} of {len(moved)} settings"
                for reading, errors in noisy.items()
            )
            agree = len(set(verdicts.values())) == 1
            claims.append(
                Claim(source, f"Clustering suffers less than from noise at equal distortion ({name}).",
                      None if not moved or not agree else verdicts["by column"],
                      f"misplaced {walk.mean():.2%}; noise {words}; in {len(mine) - len(moved)} of {len(mine)} "
                      "settings nothing moved",
                      word=None if agree or not moved else "depends on the noise")
            )  # fmt: skip
    return claims


def _privacy_claims(tables: Mapping[str, pa.Table]) -> list[Claim]:
    """The paper measures no adversary: a layout is judged against noise that distorts every column as much."""
    rows = _rows(tables)
    claims = []
    for layout in dict.fromkeys(row["layout"] for row in rows):
        rate = {(row["attack"], row["method"]): float(row["rate"]) for row in rows if row["layout"] == layout}  # type: ignore[arg-type]
        far = next(float(row["distortion"]) for row in rows if row["layout"] == layout)  # type: ignore[arg-type]
        names = dict.fromkeys(attack for attack, _ in rate)
        worse = sum(rate[name, "walk"] > rate[name, "noise"] for name in names)
        claims.append(
            Claim(f"abstract ({layout})", "The data are published while safeguarding privacy.",
                  not worse,
                  f"{worse} of {len(names)} adversaries learn more than from noise at its distortion of {far:.1%}: "
                  f"identity {rate['identity', 'walk']:.1%} (noise {rate['identity', 'noise']:.1%}), rank "
                  f"{rate['rank', 'walk']:.1%} (noise {rate['rank', 'noise']:.1%})",
                  word="no more than noise" if not worse else "less than noise")
        )  # fmt: skip
    return claims


def _parts() -> dict[str, Part]:
    def part(measure: Callable[..., Study], minutes: float, *given: object) -> Part:
        return Part(partial(measure, *given), minutes)

    return {
        **{f"averages {l}": part(_averages, 1.5, l) for l in _DIVERSITIES},  # noqa: E741
        "our averages": part(_our_averages, 0.7),
        **{f"clustering {name} {s}": part(_clustering, 0.2, name, s) for name in _CLUSTERED for s in _CLUSTERED[name]},
        "runtime": part(_runtime, 0.05),
        "moving": part(_moving, 0.1),
        "mixing": part(_mixing, 0.2),
        "privacy": part(_privacy, 0.3),
    }


PLAN = Plan(
    "Values that keep properties of interest",
    _parts(),
    Setting(
        "IPUMS 2008 sample of 75,000, synthetic table of 10,000, Adult's first 30,000 rows",
        "ACS 2018 sample of 75,000 (place of birth and occupation as codes), synthetic table of 10,000, Adult's first "
        "30,000 rows",
        "the paper's census sample; its code: it does not say how ties, domains and partitions were handled",
    ),
    {
        "figure 3": Setting("partitions of 100 to 900 values; 4,000 steps over 100 values", "the same, processor time, "
                            "our faster search for localities", "a slower machine changes the constant alone"),
        "4 (": Setting("no integers or shares named", "20 blocks of consecutive rows of Adult, ties apart, shares from "
                       "0.0005 to 0.3, 40,000 steps for 20 values and 4,000 for 100; ages from 1 to 120",
                       "data without ties move at every share; values at the ends of a domain move less"),
        "5.3": Setting("20 values, 40,000 steps", "20 neighbouring final weights, share 0.1",
                       "a smaller share: fewer constraints mix sooner"),
        "5.1, 5.2": Setting("100 values, 4,000 steps", "100 neighbouring final weights, share 0.1", "more steps"),
        "figure 5, as printed": Setting(
            "20 values a partition, 40,000 steps, share tuned to Mondrian's distortion, l = 4 to 12, 2,000 queries a "
            "type", "the same with the l that are named: blocks of consecutive rows, ties apart, from the data on, at "
            "most 5 % more distorted", "another domain or order of rows; queries that select few rows"),
        "ours, figure 5, at Mondrian's distortion": Setting(
            "not in the paper", "blocks of 20 rows, ties merged, order kept, all localities, walked until mixed, then "
            "drawn back on a straight line towards the data until it distorts as Mondrian does; every property is kept "
            "on the way", "nearer to the data is nearer to the truth: the privacy of this table is not judged"),
        "ours, figure 5, as published": Setting(
            "not in the paper", "the same, not drawn back", "a walk that does not mix distorts less"),
        "figure 4, as printed": Setting(
            "100 values a partition, 4,000 steps, three k, one total distortion", "the same with k = 5, 10, 20, "
            "k-means from the original's centres for both; noise of one amplitude, by range, by column; judged by the "
            "mean over shares and k",
            "new first centres would measure k-means; columns of other scales change the readings of noise"),
        "ours, figure 4": Setting("not in the paper", "blocks of 20 rows, ties merged, walked until mixed; share 0.1 "
                                  "of the synthetic table",
                                  "another share"),
        "abstract": Setting("no adversary, no definition", "3,000 rows of Adult, share 0.3; noise by column at the "
                            "same distortion; identity, rank, known sample of each column",
                            "another share; an adversary who knows less"),
    },
    judge=_judge,
    draw=draw_walk,
    data=("adult/adult_48842.parquet", "acs/acs_income_2018.parquet"),
)  # fmt: skip
