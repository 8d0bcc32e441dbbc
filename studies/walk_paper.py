"""Figures 4 and 5 in the paper's setting: blocks of consecutive rows, the walk as printed, and ours beside it.

Source     [Xue 2011], sections 5.2 and 5.3
"""

from __future__ import annotations

from collections.abc import Callable

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
from studies.walk_tables import Numbers, first_rows, generalize, substitute

__all__ = [
    "averages_at",
    "clustering_at",
    "column_distortions",
    "moving_table",
    "printed_table",
    "privacy_table",
    "tune",
]

_MOST_TRIES = 4
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


def tune(measure: Callable[[float], float], wanted: float, *, rounds: int = 7) -> float:
    """The largest share, to a hundredth or so, at which the distortion, which falls with the share, is as wanted."""
    low, high = 0.0, 1.0
    for _ in range(rounds):
        middle = (low + high) / 2
        low, high = (middle, high) if measure(middle) >= wanted else (low, middle)
    return low


def _at_distortion(
    walk: Callable[[float], Floats], table: Numbers, start: float, wanted: float
) -> tuple[float, Floats] | None:
    """A walk that distorts as wanted or a little more; the nearest above it where none is that near, None below."""
    share, best = start, None
    for _ in range(_MOST_TRIES):
        published = walk(share)
        reached = distortion(table.values, published)
        if reached >= wanted and (best is None or reached < best[2]):
            best = share, published, reached
        if wanted <= reached <= (1 + _OVER) * wanted:
            break
        share = min(1.0, max(0.0, share - 0.01 if reached < wanted else share + 0.007))
    return None if best is None else best[:2]


def averages_at(table: Numbers, l: int, *, seed: int, queries: int, steps: int) -> pa.Table:  # noqa: E741
    """Errors of AVG after Mondrian, and after the printed walk, ours and noise at its distortion: a row a query."""
    general = generalize(table, l)
    wanted = distortion(table.values, general.means)
    every = max(1, len(table.values) // 20 // 50)
    moved = (np.arange(len(table.values)) // 20) % every == 0

    def sampled(share: float) -> float:
        published = printed_table(table, share, segment=20, steps=steps, seed=seed, every=every)
        return distortion(table.values[moved], published[moved])

    small = first_rows(table, 2000)

    def ours_sampled(share: float) -> float:
        published = _ours(small, share, seed)
        return 0.0 if published is None else distortion(small.values, published)

    share = tune(sampled, wanted)
    printed = _at_distortion(
        lambda s: printed_table(table, s, segment=20, steps=steps, seed=seed), table, share, wanted
    )
    our_share = 1.0 if ours_sampled(1.0) > wanted else tune(ours_sampled, wanted)
    ours = _ours(table, our_share, seed)
    published = {
        "printed": None if printed is None else printed[1],
        "ours": ours,
        "noise": None
        if printed is None
        else noise_at_distortion(table.values, column_distortions(table, printed[1]), keys=seeded_keys(400 + seed)),
    }
    rows = []
    for target, name in enumerate(table.columns):
        asked = random_average_queries(
            table.values, table.sensitive, target, queries, keys=seeded_keys(31 * seed + target)
        )
        truths = np.array([query.answer(table.values, table.sensitive) for query in asked])
        answers = np.array([general.answer(query, table.sensitive) for query in asked])
        row = {"l": l, "name": name, "wanted": wanted, "share": -1.0 if printed is None else printed[0],
               "our_share": our_share,
               "mondrian": float(np.nan_to_num(np.abs(answers - truths) / np.abs(truths), nan=1.0).mean())}  # fmt: skip
        for method, other in published.items():
            row[method] = row[f"{method}_distortion"] = -1.0
            if other is not None:
                row[method] = float(average_errors(asked, table.values, other, table.sensitive).mean())
                row[f"{method}_distortion"] = distortion(table.values, other)
        rows.append(row)
    return pa.Table.from_pylist(rows)


def _ours(table: Numbers, share: float, seed: int, layout: str = "rows") -> Floats | None:
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
    if ours_too and (ours := _ours(table, share, seed)) is not None:
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
        **{f"{layout}, ours": _ours(table, share, seed, layout) for layout in ("rows", "runs", "scattered")},
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
