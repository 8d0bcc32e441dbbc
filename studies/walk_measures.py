"""What the study of the random walk measures: times, mixing, clustering, averages, attacks. Each returns a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.attack import identity, known_sample, rank
from hedgerow.partition.walk.chain import Course, Polytope, deepest_points, effective_sizes, walk
from hedgerow.partition.walk.kept import Block, blocks
from hedgerow.partition.walk.segments import localities, runs, sample
from hedgerow.randomness import Keys, seeded_keys
from hedgerow.utility.measures import distortion
from studies.averages import average_errors, random_average_queries
from studies.clustering import k_means, misplaced
from studies.noise import noise_at_distortion
from studies.printed_walk import printed_walk
from studies.walk_tables import Numbers, generalize, substitute

__all__ = [
    "attack_rates",
    "average_table",
    "clustering_table",
    "column_distortions",
    "equally_distorted",
    "extraction_times",
    "mixing_of",
    "one_block",
    "walk_times",
]


def one_block(values: NDArray[np.int64], share: float, *, merged: bool = True, seed: int = 1) -> Block:
    """All values as one segment between its ends; as printed, equal values are not merged."""
    ascending = np.unique(values) if merged else np.sort(values)
    ends = {"low": int(ascending[0]), "high": int(ascending[-1])}
    cut = runs(ascending, np.arange(len(ascending), dtype=np.int32), segment=len(ascending), **ends)
    return next(blocks(cut, sample(localities(cut.values, cut.offsets), share, keys=seeded_keys(seed))))


def extraction_times(column: NDArray[np.int64], sizes: Sequence[int]) -> pa.Table:
    """Seconds to find all localities of the first so many distinct values."""
    distinct = np.unique(column)
    took = [_seconds(lambda n=n: localities(distinct[:n], np.array([0, n]))) for n in sizes]  # type: ignore[misc]
    return pa.table({"size": list(sizes), "seconds": took})


def walk_times(column: NDArray[np.int64], shares: Sequence[float], *, size: int, steps: int) -> pa.Table:
    """Seconds for so many steps over one segment, by the number of properties."""
    rows, took = [], []
    for share in shares:
        course = Course.of(one_block(column[:size], share).polytope)
        keys = seeded_keys(1)(steps // course.sweep * course.sweep)
        took.append(_seconds(lambda c=course, k=keys: walk(c, c.polytope.point, k)))  # type: ignore[misc]
        rows.append(len(course.polytope.system.bounds))
    return pa.table({"share": list(shares), "properties": rows, "seconds": took})


def mixing_of(values: NDArray[np.int64], share: float, *, steps: int, keys: Keys) -> dict[str, tuple[float, float]]:
    """For the printed walk, hit-and-run and ours: least effective sample size and root mean square displacement.

    The printed walk starts at the original values, equal ones apart; the others at the deepest point. All are judged
    by 256 states.
    """
    as_printed, block = one_block(values, share, merged=False).polytope, one_block(values, share).polytope
    start, course = deepest_points([block])[0], Course.of(block)
    walks = {
        "printed": (as_printed, _in_floats(as_printed, as_printed.point, steps, True, keys)),
        "hit-and-run": (block, _in_floats(block, start, steps, False, keys)),
        "ours": (block, walk(course, start, keys(steps // course.sweep * course.sweep)).trace.astype(float)),
    }
    return {name: _judged(polytope, trace) for name, (polytope, trace) in walks.items()}


def _in_floats(polytope: Polytope, start: NDArray[np.int64], steps: int, half: bool, keys: Keys) -> NDArray[np.float64]:
    system = polytope.system
    matrix, bounds = system.coefficients.astype(float), system.bounds.astype(float)
    return printed_walk(matrix, bounds, start.astype(float), steps=steps, half=half, keys=keys)


def _judged(polytope: Polytope, trace: NDArray[np.float64]) -> tuple[float, float]:
    width = max(float(np.ptp(polytope.point)), 1.0)
    effective = effective_sizes(np.rint(trace / width * 2**40).astype(np.int64))
    return float(effective.min()), float(np.sqrt(((trace - polytope.point) ** 2).mean()))


def column_distortions(table: Numbers, published: NDArray[np.float64]) -> list[float]:
    """The distortion of each column alone."""
    return [distortion(table.values[:, [n]], published[:, [n]]) for n in range(published.shape[1])]


def clustering_table(
    table: Numbers,
    layout: str,
    shares: Sequence[float],
    ks: Sequence[int],
    *,
    repetitions: int,
    restarts: int,
    progress: Callable[[str], None],
) -> pa.Table:
    """Clustering error of the walk and of noise that distorts each column as much: medians of several repetitions.

    `again` is the error of the untouched table when k-means draws other first centres: what nobody can be blamed for.
    `better` counts the repetitions in which the walk had the lesser error.
    """
    measured: list[dict[str, float]] = []
    for seed in range(1, repetitions + 1):
        judges = [_Judge.of(table, k, restarts, seed) for k in ks]
        for share in shares:
            progress(f"clustering {table.name}, {layout}, share {share}, {seed} of {repetitions}")
            published = substitute(table, share, layout=layout, seed=seed)
            noisy = noise_at_distortion(
                table.values, column_distortions(table, published), keys=seeded_keys(100 + seed)
            )
            for judge in judges:
                walk, noise = judge.error(published), judge.error(noisy)
                measured.append({"share": share, "k": judge.k, "distortion": distortion(table.values, published),
                                 "walk": walk, "noise": noise, "again": judge.again,
                                 "better": float(walk < noise)})  # fmt: skip
    settings = pa.Table.from_pylist(measured).group_by(["share", "k"], use_threads=False)
    medians = [(name, "approximate_median") for name in ("distortion", "walk", "noise", "again")]
    found = settings.aggregate([*medians, ("better", "sum")])
    return found.rename_columns(["share", "k", "distortion", "walk", "noise", "again", "better"])


@dataclass(frozen=True, eq=False)
class _Judge:
    """The clusters of the untouched table, which a published one is compared with."""

    k: int
    restarts: int
    seed: int
    spread: NDArray[np.float64]
    right: NDArray[np.int64]
    again: float

    @classmethod
    def of(cls, table: Numbers, k: int, restarts: int, seed: int) -> _Judge:
        spread = table.values.std(axis=0)
        right, other = (
            k_means(table.values / spread, k=k, restarts=restarts, keys=seeded_keys(draws))
            for draws in (200 + seed, 300 + seed)
        )
        return cls(k, restarts, seed, spread, right, misplaced(right, other))

    def error(self, published: NDArray[np.float64]) -> float:
        # The same draws choose the same first centres where they can, else restarts would differ more than tables.
        keys = seeded_keys(200 + self.seed)
        return misplaced(self.right, k_means(published / self.spread, k=self.k, restarts=self.restarts, keys=keys))


def average_table(
    table: Numbers,
    diversities: Sequence[int],
    shares: Sequence[float],
    *,
    seeds: int,
    queries: int,
    progress: Callable[[str], None],
) -> pa.Table:
    """Relative errors of AVG queries after Mondrian, walks with the distortion of Mondrian, and noise with theirs."""
    walks: list[tuple[float, NDArray[np.float64]]] = []
    for share in shares:
        progress(f"averages, share {share}")
        for seed in range(1, seeds + 1):
            published = substitute(table, share, seed=seed)
            walks.append((distortion(table.values, published), published))
    asked = [
        random_average_queries(table.values, table.sensitive, target, queries, keys=seeded_keys(5 + target))
        for target in range(len(table.columns))
    ]
    rows: list[dict[str, float | str]] = []
    for l in diversities:  # noqa: E741
        progress(f"averages, Mondrian with l = {l}")
        general = generalize(table, l)
        wanted = distortion(table.values, general.means)
        equal = equally_distorted(walks, wanted)
        noises = [
            noise_at_distortion(table.values, column_distortions(table, published), keys=seeded_keys(400 + n))
            for n, (_, published) in enumerate(equal)
        ]
        for target, name in enumerate(table.columns):
            truths = np.array([query.answer(table.values, table.sensitive) for query in asked[target]])
            answers = np.array([general.answer(query, table.sensitive) for query in asked[target]])
            by_group = float(np.nan_to_num(np.abs(answers - truths) / np.abs(truths), nan=1.0).mean())
            by_walk, by_noise = (
                [float(average_errors(asked[target], table.values, p, table.sensitive).mean()) for p in tables]
                for tables in ([published for _, published in equal], noises)
            )
            rows.append({"l": l, "target": target, "name": name, "mondrian_distortion": wanted, "walks": len(equal),
                         "walk_distortion": float(np.mean([reached for reached, _ in equal])),
                         "mondrian": by_group, "walk": float(np.mean(by_walk)), "noise": float(np.mean(by_noise)),
                         "least": min(by_walk), "most": max(by_walk)})  # fmt: skip
    return pa.Table.from_pylist(rows)


def equally_distorted(
    walks: Sequence[tuple[float, NDArray[np.float64]]], wanted: float, *, over: float = 0.05, most: int = 10
) -> list[tuple[float, NDArray[np.float64]]]:
    """The walks with the wanted distortion or up to `over` more, the nearest first; else the next one up."""
    above = sorted((walk for walk in walks if walk[0] >= wanted), key=lambda walk: walk[0])
    if not above:
        raise ValueError(f"no walk distorts by {wanted:.3f}: take smaller shares")
    return [walk for walk in above if walk[0] <= (1 + over) * wanted][:most] or above[:1]


def attack_rates(table: Numbers, share: float, *, layout: str, targets: int = 1000) -> pa.Table:
    """Rates of the three adversaries against the walk and against noise at equal distortion, and the baselines."""
    published = substitute(table, share, layout=layout)
    noisy = noise_at_distortion(table.values, column_distortions(table, published), keys=seeded_keys(6))
    rows = []
    for name, other in (("walk", published), ("noise", noisy)):
        rates = {
            attack.__name__: attack(table.values, other, targets=targets, keys=seeded_keys(7))
            for attack in (identity, rank)
        }
        for n, column in enumerate(table.columns):
            one = known_sample(table.values[:, n], other[:, n], targets=targets, keys=seeded_keys(8 + n))
            rates[f"known sample of {column}"] = one
        rows += [{"table": table.name, "layout": layout, "method": name, "attack": attack, "rate": rate.rate,
                  "low": rate.interval[0], "high": rate.interval[1], "baseline": rate.baseline}
                 for attack, rate in rates.items()]  # fmt: skip
    return pa.Table.from_pylist(rows)


def _seconds(work: Callable[[], object], *, runs: int = 9) -> float:
    """The median processor time of several runs after one that warms up: growth is judged, not the machine's day."""
    work()
    took = []
    for _ in range(runs):
        began = time.thread_time()
        work()
        took.append(time.thread_time() - began)
    return float(np.median(took))
