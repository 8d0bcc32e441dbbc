"""Figures 4 and 5 in the paper's setting: blocks of consecutive rows, the walk as printed, and ours beside it.

Source     [Xue 2011], sections 5.2 and 5.3
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
import pyarrow as pa

from hedgerow.arrays import Floats, Ints
from hedgerow.attack import identity, known_sample, rank
from hedgerow.errors import Infeasible
from hedgerow.randomness import seeded_keys
from hedgerow.utility.measures import distortion
from studies.averages import average_errors, random_average_queries
from studies.clustering import centres_of, clusters_from, misplaced
from studies.noise import NOISES, noise_at_distortion
from studies.printed_walk import blocks_of_rows, walk_blocks_as_printed
from studies.walk_tables import Generalized, Numbers, generalize, substitute

__all__ = [
    "at_distortion",
    "averages_at",
    "clustering_at",
    "column_distortions",
    "drawn_back",
    "moving_table",
    "our_averages_at",
    "our_walk",
    "printed_table",
    "privacy_table",
    "tune",
]

_VALUES = 20
"""In a partition of figure 5."""
_MOST_TRIES = 3
_ROUNDS, _FEW_BLOCKS = 6, 50
"""Of bisection, on so many blocks of each column."""
_SAMPLES = 5, 1
"""Then a fifth of the blocks is walked, and then all."""
_NEAR, _AROUND, _FALLS = 0.1, 0.3, 1.5
"""How far a share is corrected at once, where its slope is looked at, and the least slope."""
_OVER = 0.05
"""How much more than Mondrian a walk may distort: the paper says just a bit."""


def printed_table(table: Numbers, share: float, *, segment: int, steps: int, seed: int, every: int = 1) -> Floats:
    """Every column walked as printed; with `every` above 1 only each so-many-th block moves."""
    columns = []
    for place, (column, domain) in enumerate(zip(table.values.T, table.domains, strict=False)):
        blocks = blocks_of_rows(column, share, segment=segment, seed=10 * seed + place, unit=table.unit, domain=domain)
        only = np.arange(0, len(blocks.offsets) - 1, every)
        columns.append(walk_blocks_as_printed(blocks, steps=steps, seed=1000 * seed + place, only=only))
    return np.column_stack(columns)


def column_distortions(table: Numbers, published: Floats) -> list[float]:
    """The distortion of each column alone."""
    return [distortion(table.values[:, [n]], published[:, [n]]) for n in range(published.shape[1])]


def tune(measure: Callable[[float, int], float], wanted: float, *, few: int = 30) -> tuple[float, float]:
    """The share at which a walk distorts a little more than wanted, and how steeply distortion falls there.

    `measure` moves each so-many-th block at a share. Distortion falls with the share, its logarithm about evenly near
    the answer: by the second number for a share of 1. Each `few`-th block finds the share roughly by bisection, each
    fifth corrects it, and then all of them.
    """
    seen: dict[float, float] = {}
    low, high = 0.0, 1.0
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        seen[middle] = reached = measure(middle, few)
        low, high = (middle, high) if reached >= wanted else (low, middle)
    near = {share: found for share, found in seen.items() if found > 0 and abs(share - low) <= _AROUND}
    falls = _FALLS if len(near) < 2 else max(-float(np.polyfit(list(near), np.log(list(near.values())), 1)[0]), _FALLS)
    share = low
    for every in _SAMPLES:
        share = _corrected(share, falls, measure(share, every) / wanted)
    return share, falls


def _corrected(share: float, falls: float, ratio: float) -> float:
    """The share at which a walk should distort a little more than wanted, after one that distorted `ratio` times."""
    moved = np.log(ratio / (1 + _OVER / 2)) / falls if ratio > 0 else -_NEAR
    return float(np.clip(share + np.clip(moved, -_NEAR, _NEAR), 0.0, 1.0))


def at_distortion(
    walk: Callable[[float], tuple[Floats, float]], start: tuple[float, float], wanted: float
) -> tuple[float, Floats] | None:
    """A walk that distorts as wanted or a little more; the nearest above it where none is that near, None below.

    `walk` moves all blocks and says how far; it begins at a share that `tune` found, and corrects it a few times.
    """
    (share, falls), best = start, None
    for _ in range(_MOST_TRIES):
        published, reached = walk(share)
        if reached >= wanted and (best is None or reached < best[2]):
            best = share, published, reached
        if wanted <= reached <= (1 + _OVER) * wanted:
            break
        share = _corrected(share, falls, reached / wanted)
    return None if best is None else best[:2]


@cache
def _tuned(table: Numbers, l: int, steps: int) -> tuple[float, float]:  # noqa: E741
    """The share that suits Mondrian's distortion, found with draws of its own: it differs little between seeds."""
    wanted = distortion(table.values, generalize(table, l).means)
    block = np.arange(len(table.values)) // _VALUES

    def measure(share: float, every: int) -> float:
        published = printed_table(table, share, segment=_VALUES, steps=steps, seed=0, every=every)
        moved = block % every == 0
        return distortion(table.values[moved], published[moved])

    return tune(measure, wanted, few=max(1, int(block[-1] + 1) // _FEW_BLOCKS))


def averages_at(table: Numbers, l: int, *, seed: int, queries: int, steps: int) -> pa.Table:  # noqa: E741
    """Errors of AVG after Mondrian, the printed walk tuned to its distortion, and noise like it: a row a column."""
    general = generalize(table, l)
    wanted = distortion(table.values, general.means)

    def walk(share: float) -> tuple[Floats, float]:
        published = printed_table(table, share, segment=_VALUES, steps=steps, seed=seed)
        return published, distortion(table.values, published)

    found = at_distortion(walk, _tuned(table, l, steps), wanted)
    share, published = (-1.0, {}) if found is None else (found[0], {
        "printed": found[1],
        "noise": noise_at_distortion(table.values, column_distortions(table, found[1]), keys=seeded_keys(400 + seed)),
    })  # fmt: skip
    rows = _average_errors(table, general, published, seed=seed, queries=queries)
    return pa.Table.from_pylist([{"l": l, "wanted": wanted, "share": share, **row} for row in rows])


def our_averages_at(table: Numbers, ls: Sequence[int], ours: Floats | None, *, seed: int, queries: int) -> pa.Table:
    """The same after our walk, which does not depend on l: as published, and drawn back to Mondrian's distortion.

    All properties are kept on the way back, since they are linear and hold at both ends.
    """
    rows = []
    for l in ls if ours is not None else ():  # noqa: E741
        assert ours is not None
        general = generalize(table, l)
        wanted = distortion(table.values, general.means)
        published = {"ours": ours, "ours_near": drawn_back(table.values, ours, wanted)}
        found = _average_errors(table, general, published, seed=seed, queries=queries)
        rows += [{"l": l, "wanted": wanted, **row} for row in found]
    return pa.Table.from_pylist(rows)


def _average_errors(
    table: Numbers, general: Generalized, published: Mapping[str, Floats], *, seed: int, queries: int
) -> list[dict[str, object]]:
    """A row a column: the mean relative error of AVG after Mondrian and in each published table, and its distortion."""
    rows = []
    for target, name in enumerate(table.columns):
        asked = random_average_queries(
            table.values, table.sensitive, target, queries, keys=seeded_keys(31 * seed + target)
        )
        truths = np.array([query.answer(table.values, table.sensitive) for query in asked])
        answers = np.array([general.answer(query) for query in asked])
        row: dict[str, object] = {
            "name": name, "mondrian": float(np.nan_to_num(np.abs(answers - truths) / np.abs(truths), nan=1.0).mean())
        }  # fmt: skip
        for method, other in published.items():
            row[method] = float(average_errors(asked, table.values, other, table.sensitive, truths).mean())
            row[f"{method}_distortion"] = distortion(table.values, other)
        rows.append(row)
    return rows


def drawn_back(original: Floats, published: Floats, wanted: float) -> Floats:
    """Values on the way from the original ones to the published ones that distort as wanted, at most all the way."""
    reached = distortion(original, published)
    return original + (published - original) * (min(1.0, wanted / reached) if reached > 0 else 1.0)


def our_walk(table: Numbers, share: float, seed: int, layout: str = "rows") -> Floats | None:
    """Our walk over blocks of 20 rows, or None where it refuses because nothing can move or mix."""
    try:
        return substitute(table, share, layout=layout, seed=seed)
    except Infeasible:
        return None


def clustering_at(
    table: Numbers, share: float, ks: tuple[int, ...], *, seed: int, steps: int, ours_too: bool = True
) -> pa.Table:
    """Rows misplaced after the printed walk and after three readings of noise, and the same for ours.

    k-means is begun from the centres of the original for all of them, so that what differs is the data.
    """
    spread = table.values.std(axis=0)
    walks = {"printed": printed_table(table, share, segment=100, steps=steps, seed=seed)}
    if ours_too and (ours := our_walk(table, share, seed)) is not None:
        walks["ours"] = ours
    rows = []
    for k in ks:
        centres, right = centres_of(table.values / spread, k=k, keys=seeded_keys(200 + seed))
        for name, published in walks.items():
            wanted = column_distortions(table, published)
            row = {"table": table.name, "share": share, "k": k, "method": name, "distortion": float(np.mean(wanted)),
                   "walk": _error(published / spread, centres, right)}  # fmt: skip
            for reading, noise in NOISES.items():
                noisy = noise(table.values, wanted, keys=seeded_keys(100 + seed))
                row[reading] = _error(noisy / spread, centres, right)
            rows.append(row)
    return pa.Table.from_pylist(rows)


def _error(points: Floats, centres: Floats, right: Ints) -> float:
    return misplaced(right, clusters_from(points, centres))


def moving_table(
    named: tuple[str, Floats, tuple[float, float] | None],
    shares: tuple[float, ...],
    *,
    segment: int,
    steps: int,
    seed: int,
) -> pa.Table:
    """Share of the blocks of a whole-numbered column, given with its domain, in which the printed walk is stuck."""
    rows = []
    name, column, domain = named
    for share in shares:
        cut = blocks_of_rows(column, share, segment=segment, seed=seed, domain=domain)
        change = np.abs(walk_blocks_as_printed(cut, steps=steps, seed=seed) - column)
        still = ~(change > 0).reshape(-1, segment).any(axis=1)
        rows.append({"column": name, "segment": segment, "share": share, "still": float(still.mean()),
                     "change": float((change / column).mean())})  # fmt: skip
    return pa.Table.from_pylist(rows)


def privacy_table(table: Numbers, share: float, *, seed: int, steps: int) -> pa.Table:
    """Rates of three adversaries against every layout, and against noise with the distortion of each column."""
    published = {
        "rows, printed": printed_table(table, share, segment=20, steps=steps, seed=seed),
        **{f"{layout}, ours": our_walk(table, share, seed, layout) for layout in ("rows", "runs", "scattered")},
    }
    rows = []
    for name, walked in published.items():
        if walked is None:
            continue
        wanted = column_distortions(table, walked)
        noisy = noise_at_distortion(table.values, wanted, keys=seeded_keys(6 + seed))
        for method, other in (("walk", walked), ("noise", noisy)):
            rates = {attack.__name__: attack(table.values, other, targets=1000, keys=seeded_keys(7 + seed))
                     for attack in (identity, rank)}  # fmt: skip
            for n, column in enumerate(table.columns):
                rates[f"known sample of {column}"] = known_sample(
                    table.values[:, n], other[:, n], targets=1000, keys=seeded_keys(8 + n + seed)
                )
            rows += [{"layout": name, "method": method, "attack": attack, "rate": rate.rate, "baseline": rate.baseline,
                      "distortion": float(np.mean(wanted))} for attack, rate in rates.items()]  # fmt: skip
    return pa.Table.from_pylist(rows)
