"""What is told to somebody without the random numbers: `python -m studies.leak_unseeded [ROWS [RUNS]]`, 1000 and 400.

**Pairs**: methods that make groups of two by near rows and random numbers. After one release, everybody who has a
different value than the companion exchanges with that companion by the toss of a coin, and the method runs again with
other random numbers, many times over: how often does the same pair come out where they had exchanged, and where not?
By Bayes that is what their being a pair tells about who has which value, to somebody who knows the algorithm, every
open column and the release but not the random numbers. Without a leak it is 1/2.

**Retention**: every assignment of the table's values to its people is equally likely beforehand. Assignments are drawn
by exchanges (Metropolis) with the chances of the published values: the posterior of the published value, to be held
against the promise, which looks at one row alone.

**Targets** of two values: people have values by the target, independently. How many of them were generalized tells, and
what somebody whose value was generalized has is exact, by the binomial distribution.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import hedgerow as hr
from studies.leak import Subject, groups_of, subjects

__all__ = ["PairLeak", "pair_leak", "retained", "targeted"]

_PAIRS: dict[str, hr.Method] = {
    "Anatomy(l=2), near": hr.Anatomy(l=2, grouping="near"),
    "PermutationAnonymization(l=2), ncp": hr.Anatomy(l=2, grouping="ncp"),
    "Robust(r=1.5)": hr.Robust(r="1.5", max_suppressed="0.5"),
}
_PAIRS_OF_NUMBERS: dict[str, hr.Method] = {
    "Proximity(eps=5 %, m=2), near": hr.Proximity("0.05", 2, relative=True, form="permuted")
}
_ENOUGH = 30
"""Pairs that came out so often have a posterior of their own."""


@dataclass(frozen=True)
class PairLeak:
    """Pairs of a release, how often they came out again, and the posterior of who has which value.

    `largest` is that of the pair with most, of those that came out often enough; they are rarer pairs than most.
    """

    pairs: int
    again: float
    posterior: float
    largest: float | None


def pair_leak(method: hr.Method, subject: Subject, *, runs: int, seed: int = 1) -> PairLeak:
    """Exchange at random inside all pairs of a release, publish again, and count the pairs that come out."""
    table, (hidden,) = subject.table, subject.schema.sensitive
    place, values = table.column_names.index(hidden), np.array(table[hidden].to_pylist(), dtype=object)
    one, two = _pairs(groups_of(method, subject, table, seed=0))
    is_open = values[one] != values[two]
    one, two = one[is_open], two[is_open]
    rng, seen = np.random.default_rng(seed), np.zeros((2, len(one)))
    for run in range(1, runs + 1):
        exchanged = rng.random(len(one)) < 0.5
        dealt = values.copy()
        dealt[one[exchanged]], dealt[two[exchanged]] = values[two[exchanged]], values[one[exchanged]]
        world = table.set_column(place, hidden, pa.array(dealt.tolist(), table[hidden].type))
        try:
            groups = groups_of(method, subject, world, seed=run)
        except hr.Infeasible:
            continue
        sizes = np.bincount(groups[groups >= 0])
        together = (groups[one] == groups[two]) & (groups[one] >= 0)
        together[together] = sizes[groups[one[together]]] == 2
        seen[0, together & ~exchanged] += 1
        seen[1, together & exchanged] += 1
    kept, changed = seen
    often = kept + changed >= _ENOUGH
    each = (np.maximum(kept, changed) / np.maximum(kept + changed, 1))[often]
    posterior = float(kept.sum() / max(seen.sum(), 1))
    return PairLeak(
        len(one), float(seen.sum() / (runs * len(one))), posterior, float(each.max()) if often.any() else None
    )


def _pairs(groups: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of all groups of two."""
    sizes = np.bincount(groups[groups >= 0])
    rows = np.flatnonzero(groups >= 0)
    rows = rows[sizes[groups[rows]] == 2]
    rows = rows[np.argsort(groups[rows], kind="stable")]
    return rows[::2], rows[1::2]


def retained(subject: Subject, m: int, *, rounds: int = 4000) -> tuple[float, float, float]:
    """The promise, the mean and the largest posterior of a published value, by sampled assignments."""
    release = hr.Retention(m=m).publish(subject.table, subject.schema, seed=1)
    (hidden,) = subject.schema.sensitive
    keep = float(Fraction(str(release.guarantee.parameters["p"])))
    domain = release.tables["domain"].num_rows
    held = subject.table[hidden].to_numpy().copy()
    published = release.tables["release"][hidden].to_numpy()
    rng, likely = np.random.default_rng(3), np.array([(1 - keep) / domain, keep + (1 - keep) / domain])
    # Which row is which makes no difference: rows with the same published value have the same posterior.
    held, hits, drawn = rng.permutation(held), np.zeros(len(held)), 0
    for step in range(rounds):
        one, two = np.split(rng.permutation(len(held) // 2 * 2), 2)
        now = likely[(held[one] == published[one]) * 1] * likely[(held[two] == published[two]) * 1]
        then = likely[(held[two] == published[one]) * 1] * likely[(held[one] == published[two]) * 1]
        taken = rng.random(len(one)) * now < then
        one, two = one[taken], two[taken]
        held[one], held[two] = held[two], held[one]
        if step >= rounds // 4:
            hits, drawn = hits + (held == published), drawn + 1
    values, place = np.unique(published, return_inverse=True)
    by_value = np.bincount(place, hits, minlength=len(values)) / np.bincount(place) / drawn
    return 1 / m, float(by_value[place].mean()), float(by_value.max())


def targeted(rows: int, share: Fraction) -> tuple[float, float, float, float]:
    """Of a target of two values, the rarer with this share, over tables drawn from it.

    The share of people who are generalized, how often all of them certainly have the frequent value, the mean
    posterior of the rare value then and otherwise: for somebody who is generalized, weighed by their number.
    """
    weights = share.numerator, share.denominator - share.numerator
    chance = {n: _binomial(rows, n, float(share)) for n in range(rows + 1)}
    pushed = {n: min(n // weights[0], (rows - n) // weights[1]) for n in chance}
    by_release: dict[int, list[int]] = {}
    for n, number in pushed.items():
        by_release.setdefault(number, []).append(n)
    general = never = sure = other = 0.0
    for number, worlds in by_release.items():
        total, left = sum(chance[n] for n in worlds), rows - number * sum(weights)
        if not left or not total:
            continue
        posterior = sum(chance[n] * (n - number * weights[0]) / left for n in worlds) / total
        general += total * left
        if posterior < 0.01:
            never += total * left
            sure += total * left * posterior
        else:
            other += total * left * posterior
    return general / rows, never / general, sure / max(never, 1e-300), other / max(general - never, 1e-300)


def _binomial(rows: int, number: int, share: float) -> float:
    logarithm = math.lgamma(rows + 1) - math.lgamma(number + 1) - math.lgamma(rows - number + 1)
    return math.exp(logarithm + number * math.log(share) + (rows - number) * math.log1p(-share))


def _measured(rows: int) -> Iterator[tuple[Subject, str, hr.Method]]:
    for subject in subjects(rows):
        if subject.name in ("Adult, occupation", "ACS, education"):
            yield from ((subject, name, method) for name, method in _PAIRS.items())
        if subject.name in ("Adult, age", "ACS, income"):
            yield from ((subject, name, method) for name, method in _PAIRS_OF_NUMBERS.items())


def main() -> None:
    """Print tables as Markdown."""
    rows, runs = (int(text) for text in (sys.argv[1:] + ["1000", "400"][len(sys.argv) - 1 :])[:2])
    for size in (19, 100, rows):
        for share in (Fraction(1, 10), Fraction(1, 3), Fraction(1, 2)):
            found = " | ".join(f"{each:.1%}" for each in targeted(size, share))
            print(
                f"| target {share.numerator} : {share.denominator - share.numerator} | {size} | {found} |", flush=True
            )
    for subject in subjects(rows):
        if subject.name in ("Adult, age", "ACS, income"):
            for m in (2, 4):
                promise, mean, largest = retained(subject, m)
                print(f"| {subject.name} | Retention(m={m}) | {promise:.1%} | {mean:.1%} | {largest:.1%} |", flush=True)
    print("| table | method | pairs | came out again | posterior | largest |")
    print("|---|---|---|---|---|---|")
    for subject, name, method in _measured(rows):
        pair = pair_leak(method, subject, runs=runs)
        most = "-" if pair.largest is None else f"{pair.largest:.1%}"
        print(
            f"| {subject.name} | {name} | {pair.pairs} | {pair.again:.2%} | {pair.posterior:.1%} | {most} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
