"""What `Personal` tells to whoever knows it: `python -m studies.leak_personal [ROWS [STEPS]]`, 1000 and 3000.

Half of the people ask for the whole domain, half for a part of four values or so. Beforehand everybody has each value
by the target and each wish by its share, independently. People with the same value and wish are interchangeable, and
groups are found from the numbers of such people alone; so what a release tells is which numbers give groups that are
published alike. Numbers are drawn by their chances given that (Metropolis, from the true ones, the first half of the
steps left out), and a person's posterior is how often members of groups that
look like theirs have each value; the chance of values is uniform. With too few steps numbers stay near the true ones,
so that the posteriors of true values are too high rather than too low. Groups by quasi-identifiers, which were never
the cheapest here, are left out.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import hedgerow as hr
from hedgerow.methods.personal import cheapest
from hedgerow.methods.target_distribution import SHAPES
from hedgerow.partition.personal import Bundle, Wishes, one_group
from studies.leak import subjects

__all__ = ["PARTITIONS", "PersonalLeak", "personal_leak"]

Numbers = NDArray[np.int64]
Look = tuple[tuple[int, int], ...]

_PART = 2
"""The level that half of the people name."""

_CLEARLY = 1.5
"""So many times as likely as promised is told apart."""


def _cheapest(wishes: Wishes) -> list[Bundle]:
    return cheapest(wishes, one_group(wishes))[0]


PARTITIONS: dict[str, Callable[[Wishes], list[Bundle]]] = {"cheapest": _cheapest, "one": one_group}


@dataclass(frozen=True)
class PersonalLeak:
    """Over people, of their true value inside the part that they named.

    What the target gives it and its mean posterior; how many have at least half as much again, the largest posterior
    and what was promised there; the share of steps that were taken.
    """

    promised: float
    posterior: float
    clearly: float
    largest: float
    there: float
    taken: float


class _People:
    """Kinds of people: a value, and whether they ask for the whole domain."""

    def __init__(self, tree: hr.Hierarchy, partition: Callable[[Wishes], list[Bundle]]) -> None:
        self.tree, self._partition = tree, partition
        part, whole = (tree.recode(level) for level in (_PART, tree.height))
        self.values = np.repeat(np.arange(tree.num_leaves), 2)
        self.nodes = np.column_stack((part, whole)).ravel().astype(np.int64)

    def groups(self, numbers: Numbers) -> list[Bundle]:
        """The groups of so many people of each kind."""
        return self._partition(Wishes.of(self.tree, self.values.tolist(), self.nodes.tolist(), numbers.tolist()))

    def inside(self, kind: int, members: NDArray[np.float64]) -> float:
        """The share of a kind's value inside the part that it names, of members by value."""
        low, high = self.tree.leaves_under(int(self.nodes[kind]))
        return float(members[self.values[kind]] / members[low:high].sum())


def _look(bundle: Bundle) -> Look:
    return tuple(sorted(bundle.published.items()))


def _looks(groups: Sequence[Bundle]) -> Counter[Look]:
    found: Counter[Look] = Counter()
    for bundle in groups:
        found[_look(bundle)] += bundle.times
    return found


def personal_leak(tree: hr.Hierarchy, numbers: Numbers, partition: str, *, steps: int, seed: int = 1) -> PersonalLeak:
    """Draw numbers of people that are published alike, and hold the posterior against the target, which is uniform."""
    people, rng = _People(tree, PARTITIONS[partition]), np.random.default_rng(seed)
    truth = people.groups(numbers)
    shown, held, groups = _looks(truth), numbers.copy(), truth
    members = {look: np.zeros(tree.num_leaves) for look in shown}
    taken = 0
    for step in range(steps):
        tried, odds = _changed(held, tree, rng)
        if rng.random() < odds and _looks(found := people.groups(tried)) == shown:
            held, groups, taken = tried, found, taken + 1
        for bundle in groups if 2 * step >= steps else ():
            for kind, number in bundle.members.items():
                members[_look(bundle)][people.values[kind]] += number * bundle.times
    each = [(bundle, kind, number * bundle.times) for bundle in truth for kind, number in bundle.members.items()]
    times = np.array([number for *_, number in each])
    posterior = np.array([people.inside(kind, members[_look(bundle)]) for bundle, kind, _ in each])
    promised = np.array([people.inside(kind, np.ones(tree.num_leaves)) for _, kind, _ in each])
    most = int(posterior.argmax())
    return PersonalLeak(
        promised=float(np.average(promised, weights=times)),
        posterior=float(np.average(posterior, weights=times)),
        clearly=float(np.average(posterior >= _CLEARLY * promised, weights=times)),
        largest=float(posterior[most]),
        there=float(promised[most]),
        taken=taken / steps,
    )


def _changed(held: Numbers, tree: hr.Hierarchy, rng: np.random.Generator) -> tuple[Numbers, float]:
    """Numbers near or far from those held, and how likely they are beside them.

    One person changes kind, or two of them their wish; or all people of two kinds, of two values, or of two parts of
    the domain with as many values change places.
    """
    tried, odds = held.copy(), 1.0
    one, other = rng.integers(len(held), size=2).tolist()
    how = int(rng.integers(6))
    if how >= 3:
        sources, goals = [np.arange(one, one + 1), np.arange(other, other + 1)]
        if how == 4:
            sources, goals = (np.arange(2 * (kind // 2), 2 * (kind // 2) + 2) for kind in (one, other))
        if how == 5:
            nodes = rng.integers(tree.num_nodes, size=2)
            sources, goals = (np.arange(2 * tree.low[node], 2 * tree.high[node]) for node in nodes)
        if len(sources) != len(goals):
            return held, 0.0
        tried[sources], tried[goals] = held[goals], held[sources]
        return tried, float(tried.sum() == held.sum())
    for source, goal in [(one, other)] if how == 0 else [(one, one ^ 1), (other, other ^ 1)]:
        if source == goal or not tried[source]:
            return held, 0.0
        odds *= tried[source] / (tried[goal] + 1)
        tried[source] -= 1
        tried[goal] += 1
    return tried, odds


def main() -> None:
    """Print a table as Markdown."""
    rows, steps = (int(text) for text in (sys.argv[1:] + ["1000", "3000"][len(sys.argv) - 1 :])[:2])
    print("| table | partition | promised | posterior | clearly likelier | largest | promised there | steps taken |")
    print("|---|---|---|---|---|---|---|---|")
    for subject in subjects(rows):
        if subject.name not in ("Adult, occupation", "ACS, education"):
            continue
        column = subject.table[subject.schema.sensitive[0]].to_numpy(zero_copy_only=False)
        domain, values = np.unique(column, return_inverse=True)
        tree = SHAPES["uniform"](hr.Hierarchy.binary(domain.tolist()))
        rng = np.random.default_rng(5)
        for name, leaves in ((subject.name, values), ("drawn from the target", rng.integers(len(domain), size=rows))):
            kinds = np.bincount(2 * leaves + (rng.random(rows) < 0.5), minlength=2 * len(domain))
            for partition in PARTITIONS:
                found = personal_leak(tree, kinds.astype(np.int64), partition, steps=steps)
                shares = (found.promised, found.posterior, found.clearly, found.largest, found.there, found.taken)
                told = " | ".join(f"{share:.1%}" for share in shares)
                print(f"| {name}, {len(domain)} values | {partition} | {told} |", flush=True)


if __name__ == "__main__":
    main()
