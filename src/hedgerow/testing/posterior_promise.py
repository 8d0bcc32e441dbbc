"""What a guarantee promises about one row's sensitive value, held against a posterior distribution.

A promise judges a distribution: which event is the worst, how likely it is, and what the promise allows. Most promises
cap the probability of an event (a value, a neighbourhood); (k,e) and distinct diversity promise what stays possible.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa

from hedgerow.exact import as_fraction
from hedgerow.release import Release
from hedgerow.testing.posterior_draws import sum_chances


@dataclass(frozen=True)
class TargetTree:
    """The nodes of one published target: the node above each, its label, its weight; leaves by their value."""

    parents: dict[int, int | None]
    labels: dict[int, str]
    weights: dict[int, int]
    leaves: dict[Any, int]

    @classmethod
    def of(cls, target: pa.Table) -> TargetTree:
        """Read the table `target` of a release; of several targets, the first."""
        nodes = [node for node in target.to_pylist() if node["target"] == 0]
        above = {node["parent"] for node in nodes}
        return cls(
            {node["node"]: node["parent"] for node in nodes},
            {node["node"]: node["label"] for node in nodes},
            {node["node"]: node["weight"] for node in nodes},
            {node["low"]: node["node"] for node in nodes if node["node"] not in above},
        )

    def chance(self, value: Any) -> Fraction:
        """How likely the target makes a value."""
        node, found = self.leaves[value], Fraction(1)
        while (parent := self.parents[node]) is not None:
            siblings = [one for one, up in self.parents.items() if up == parent]
            found *= Fraction(self.weights[node], sum(self.weights[one] for one in siblings))
            node = parent
        return found

    def named_values(self, value: Any, wish: int | str) -> list[Any]:
        """The values of the part that somebody with this value named, by a level or by a label."""
        path = self._path(self.leaves[value])
        if isinstance(wish, int):
            # Levels are counted from the deepest values; those that end earlier stand for themselves until there.
            height = max(len(self._path(node)) for node in self.leaves.values()) - 1
            top = path[max(0, len(path) - 1 - (height - wish))]
        else:
            top = next(node for node in reversed(path) if self.labels[node] == wish)
        return [leaf for leaf, node in self.leaves.items() if top in self._path(node)]

    def _path(self, node: int) -> list[int]:
        path = [node]
        while (parent := self.parents[path[-1]]) is not None:
            path.append(parent)
        return path


Secret = tuple[Any, ...]

Chances = Mapping[Secret, Fraction]
"""How likely each secret of a row is: its sensitive value, then whatever else was hidden with it."""


@dataclass(frozen=True)
class Verdict:
    """The worst event of a distribution, its probability and what the promise allows (None: it caps no event)."""

    probability: Fraction
    limit: Fraction | None
    is_broken: bool
    event: tuple[Any, ...]

    @property
    def excess(self) -> Fraction:
        """How far the probability is above what is allowed."""
        return self.probability - (1 if self.limit is None else self.limit)


@dataclass(frozen=True)
class Promise:
    """A promise in words, and how it judges a row's distribution; `judge` is told the values published for the row."""

    words: str
    judge: Callable[[Chances, tuple[Any, ...]], Verdict]


def promise_of(release: Release) -> Promise:
    """The promise of a release about a row's sensitive value."""
    return _PROMISES.get(release.guarantee.criterion, _nothing)(release)


def of_values(chances: Chances) -> dict[Any, Fraction]:
    """The distribution of the sensitive value alone."""
    return sum_chances((secret[0], chance) for secret, chance in chances.items())


def _worst(events: Sequence[tuple[tuple[Any, ...], Fraction, Fraction | None]]) -> Verdict:
    """The event that exceeds its cap most; without a cap, the likeliest."""
    verdicts = [Verdict(chance, cap, cap is not None and chance > cap, event) for event, chance, cap in events]
    return max(verdicts, key=lambda verdict: (verdict.is_broken, verdict.excess, verdict.probability))


def _cap(words: str, cap: Callable[[Any], Fraction | None]) -> Promise:
    def judge(chances: Chances, published: tuple[Any, ...]) -> Verdict:
        return _worst([((value,), chance, cap(value)) for value, chance in of_values(chances).items()])

    return Promise(words, judge)


def _possible(words: str, is_enough: Callable[[list[Any]], bool]) -> Promise:
    """A promise about the values that stay possible."""

    def judge(chances: Chances, published: tuple[Any, ...]) -> Verdict:
        values = of_values(chances)
        likeliest = max(values, key=lambda value: values[value])
        return Verdict(values[likeliest], None, not is_enough(list(values)), (likeliest,))

    return Promise(words, judge)


def _nothing(release: Release) -> Promise:
    return _cap("nothing about sensitive values", lambda value: None)


def _frequency(release: Release) -> Promise:
    l = release.guarantee.parameters["l"]  # noqa: E741
    return _cap(f"at most 1/{l} for every value", lambda value: Fraction(1, int(l)))


def _m_invariance(release: Release) -> Promise:
    m = release.guarantee.parameters["m"]
    return _cap(f"at most 1/{m} for every value", lambda value: Fraction(1, int(m)))


def _ke(release: Release) -> Promise:
    k, e = int(release.guarantee.parameters["k"]), Fraction(release.guarantee.parameters["e"])

    def is_enough(values: list[Any]) -> bool:
        exact = [as_fraction(value) for value in values]
        return len(exact) >= k and max(exact) - min(exact) >= e

    return _possible(f"at least {k} values over a range of {e} stay possible", is_enough)


def _proximity(release: Release) -> Promise:
    asked = release.guarantee.parameters
    below, above, share = (Fraction(asked[name]) for name in ("below", "above", "relative"))

    def judge(chances: Chances, published: tuple[Any, ...]) -> Verdict:
        values = of_values(chances)
        return _worst([_near(values, value, below, above, share, Fraction(1, int(asked["m"]))) for value in values])

    return Promise(f"at most 1/{asked['m']} near every value", judge)


def _near(
    values: Mapping[Any, Fraction], centre: Any, below: Fraction, above: Fraction, share: Fraction, cap: Fraction
) -> tuple[tuple[Any, ...], Fraction, Fraction]:
    """The values near one, their probability together, and its cap."""
    at = as_fraction(centre)
    low, high = at - below - share * abs(at), at + above + share * abs(at)
    event = tuple(value for value in values if low <= as_fraction(value) <= high)
    return event, sum((values[value] for value in event), Fraction(0)), cap


def _retention(release: Release) -> Promise:
    asked = release.guarantee.parameters
    if "m" not in asked:
        return _nothing(release)
    cap, eps, relative = Fraction(1, int(asked["m"])), Fraction(asked["eps"]), bool(asked["relative"])

    def judge(chances: Chances, published: tuple[Any, ...]) -> Verdict:
        values = of_values(chances)
        if isinstance(next(iter(values)), str):
            return _worst([((value,), values.get(value, Fraction(0)), cap) for value in published])
        ends = (Fraction(0), Fraction(0), eps) if relative else (eps, eps, Fraction(0))
        return _worst([_near(values, value, *ends, cap) for value in published])

    return Promise(f"at most 1/{asked['m']} near the published value", judge)


def _robust(release: Release) -> Promise:
    asked = release.guarantee.parameters
    sets, cap = json.loads(str(asked["protect"])), 1 / Fraction(asked["r"])

    def judge(chances: Chances, published: tuple[Any, ...]) -> Verdict:
        values = of_values(chances)
        protected = [[value] for value in values] if sets is None else sets
        events = [tuple(value for value in values if value in one or str(value) in one) for one in protected]
        return _worst([(event, sum((values[value] for value in event), Fraction(0)), cap) for event in events])

    return Promise(f"at most 1/({asked['r']}) for every protected value", judge)


def _target(release: Release) -> Promise:
    tree = TargetTree.of(release.tables["target"])
    if Fraction(release.guarantee.parameters["shift"]):
        return _nothing(release)
    return _cap("the target's probability for every value", lambda value: tree.chance(value))


def _personal(release: Release) -> Promise:
    tree = TargetTree.of(release.tables["target"])

    def judge(chances: Chances, published: tuple[Any, ...]) -> Verdict:
        values = of_values(chances)
        events = [
            event for value, wish, *_ in chances for event in _inside(tree, values, tree.named_values(value, wish))
        ]
        return _worst(events)

    return Promise("the target's probabilities inside the named part", judge)


def _inside(
    tree: TargetTree, values: Mapping[Any, Fraction], part: list[Any]
) -> list[tuple[tuple[Any, ...], Fraction, Fraction]]:
    """Each value of a part, how likely it is inside the part, and how likely the target makes it there."""
    seen = sum((values.get(value, Fraction(0)) for value in part), Fraction(0))
    due = sum((tree.chance(value) for value in part), Fraction(0))
    return [((value,), values.get(value, Fraction(0)) / seen, tree.chance(value) / due) for value in part]


def _groupwise(release: Release) -> Promise:
    asked = release.guarantee.parameters
    if "l" in asked and asked["diversity"] == "distinct":
        return _possible(f"at least {asked['l']} values stay possible", lambda values: len(values) >= int(asked["l"]))
    caps = [(words, cap) for words, cap in _caps(release) if words]
    if not caps:
        return _nothing(release)
    return _cap(" and ".join(words for words, _ in caps), lambda value: min(cap(value) for _, cap in caps))


def _caps(release: Release) -> list[tuple[str, Callable[[Any], Fraction]]]:
    """The caps that the classic criteria put on the probability of a value; entropy and recursion put none."""
    asked, share = release.guarantee.parameters, _shares(release)
    found: list[tuple[str, Callable[[Any], Fraction]]] = []
    if asked.get("diversity") == "frequency":
        found.append((f"at most 1/{asked['l']} for every value", lambda value: Fraction(1, int(asked["l"]))))
    if "alpha" in asked:
        found.append((f"at most {asked['alpha']} for every value", lambda value: Fraction(asked["alpha"])))
    if "t" in asked:
        found.append((f"at most {asked['t']} above its share", lambda value: share(value) + Fraction(asked["t"])))
    if "delta" in asked:
        factor = Fraction(math.exp(float(Fraction(asked["delta"]))))
        found.append((f"at most e^{asked['delta']} times its share", lambda value: share(value) * factor))
    if "beta" in asked:
        found.append((f"at most 1 + {asked['beta']} times its share", lambda value: _likeness(share(value), asked)))
    if "presence_high" in asked:
        high = Fraction(asked["presence_high"])
        found.append((f"at most {high} for members", lambda value: high if value is True else Fraction(1)))
    return found


def _likeness(share: Fraction, asked: Mapping[str, int | str]) -> Fraction:
    beta = Fraction(asked["beta"])
    gain = min(beta, Fraction(-math.log(share))) if asked.get("enhanced") else beta
    return share * (1 + gain)


def _shares(release: Release) -> Callable[[Any], Fraction]:
    """The share of each value among all published ones."""
    table = release.tables["sensitive" if "sensitive" in release.tables else "release"]
    values = table.column(release.columns.sensitive[0]).to_pylist()
    return lambda value: Fraction(values.count(value), len(values))


_PROMISES: dict[str, Callable[[Release], Promise]] = {
    "frequency": _frequency,
    "groupwise": _groupwise,
    "ke": _ke,
    "m_invariance": _m_invariance,
    "personal": _personal,
    "proximity": _proximity,
    "retention": _retention,
    "robust": _robust,
    "target": _target,
}
