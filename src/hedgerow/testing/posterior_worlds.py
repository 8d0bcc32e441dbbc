"""The possible worlds of an adversary before the release, and the probability of the release in each of them.

A world gives every row a secret: its sensitive value, and further hidden columns where a method looks at them. Without
a prior the adversary knows which secrets there are and nothing about who has which; with one, rows are independent.

Every possible world of a small group, one by one: a third opinion on what an adversary who knows the odds infers.

A world hands the group's published values to its rows. Its weight is the product of the probabilities that the
adversary's knowledge gives to each row's value. Everything is a fraction; eight rows take milliseconds.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hedgerow.errors import Infeasible, ParameterError
from hedgerow.exact import as_fraction
from hedgerow.methods.method import Method, prepare
from hedgerow.partition.shuffles import permutation
from hedgerow.randomness import Keys
from hedgerow.testing.posterior_draws import Uncountable, outcomes, sum_chances
from hedgerow.testing.posterior_view import ReleaseView, may_show, view_of

if TYPE_CHECKING:
    from hedgerow.methods.method import Prepared
    from hedgerow.release import Release
    from hedgerow.schema import Schema

Secret = tuple[Any, ...]

World = tuple[Secret, ...]

Prior = Mapping[Any, Any] | Sequence[Mapping[Any, Any]]
"""How likely each secret is for every row, or for each row in turn; any positive numbers in these ratios."""


@dataclass(eq=False)
class Likelihoods:
    """For each view the worlds that show it, weighted by prior times likelihood; a release for each view's promise."""

    weights: dict[ReleaseView, dict[World, Fraction]]
    examples: dict[ReleaseView, Release]
    worlds: int = 0
    runs: int = 0
    refused: Fraction = Fraction(0)

    def add(self, view: ReleaseView, world: World, weight: Fraction) -> None:
        """Count a world that shows a view."""
        seen = self.weights.setdefault(view, {})
        seen[world] = seen.get(world, Fraction(0)) + weight


@dataclass(frozen=True, eq=False)
class AuditSetup:
    """A method, the open columns that everybody knows, and the columns whose assignment nobody knows."""

    method: Method
    table: pa.Table
    schema: Schema
    hidden: tuple[str, ...]

    @property
    def secret_columns(self) -> tuple[str, ...]:
        """The sensitive column, then further hidden ones."""
        return (*self.schema.sensitive, *self.hidden)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The open columns of each row."""
        found: list[dict[str, Any]] = self.table.select([*self.schema.quasi, *self.schema.plain]).to_pylist()
        return found or [{}] * self.table.num_rows

    @property
    def world(self) -> World:
        """The world that the table is."""
        return tuple(zip(*(self.table.column(name).to_pylist() for name in self.secret_columns), strict=True))

    def prepare_world(self, world: World) -> Prepared:
        """The table of another world, ready to be published."""
        table = self.table
        for place, name in enumerate(self.secret_columns):
            column = pa.array([secret[place] for secret in world], table.schema.field(name).type)
            table = table.set_column(table.column_names.index(name), name, column)
        return prepare(table, self.schema, None)

    def publish(self, prepared: Prepared, keys: Keys) -> Release | None:
        """What the method publishes with these random draws; None where it refuses."""
        try:
            return self.method._release(replace(prepared, keys=keys), lambda step, share: None)
        except Infeasible:
            return None

    def worlds(self, prior: Prior | None) -> Iterator[tuple[World, Fraction]]:
        """Every world with its weight: all assignments of the table's secrets, or all that the prior allows."""
        if prior is None:
            kinds = sorted(set(self.world), key=repr)
            for numbers in worlds([kinds.index(secret) for secret in self.world]):
                yield tuple(kinds[number] for number in numbers), Fraction(1)
            return
        for picked in itertools.product(*(one.items() for one in chances_by_row(prior, len(self.world)))):
            weight = Fraction(1)
            for _, chance in picked:
                weight *= chance
            yield tuple(secret for secret, _ in picked), weight

    def count_worlds(self, prior: Prior | None, most: int) -> int:
        """How many worlds there are, or a number above `most`."""
        return sum(1 for _ in itertools.islice(self.worlds(prior), most + 1))


def chances_by_row(prior: Prior, rows: int) -> list[dict[Secret, Fraction]]:
    """The probabilities of each row's secrets."""
    each = [_chances(one) for one in ([prior] * rows if isinstance(prior, Mapping) else prior)]
    if len(each) != rows:
        raise ParameterError("'prior' must be one mapping, or one for each row of the table.")
    return each


def _chances(prior: Mapping[Any, Any]) -> dict[Secret, Fraction]:
    """The secrets that are possible at all."""
    exact = {key if isinstance(key, tuple) else (key,): as_fraction(chance) for key, chance in prior.items()}
    return {secret: chance for secret, chance in exact.items() if chance > 0}


def every_likelihood(
    setup: AuditSetup, prior: Prior | None, *, order: Keys, most: int, every_release: bool = True
) -> Likelihoods:
    """Run the method on every world with every outcome of its draws, at most `most` times, else raise Uncountable.

    Without `every_release` only what the table itself may be published as is followed up, in the worlds that may show
    it: far fewer runs, and all that matters to the people in this very table.
    """
    found = Likelihoods({}, {})
    if (count := setup.count_worlds(prior, most)) > most:
        raise Uncountable(f"there are more than {most:,} worlds")
    wanted = None
    if not every_release:
        wanted = {view for view, _ in _views(setup, setup.world, order, most, found) if view is not None}
    found.runs, total = 0, Fraction(0)
    rows = setup.rows
    for world, weight in setup.worlds(prior):
        total += weight
        if wanted is not None and not any(may_show(view, rows, _values(world)) for view in wanted):
            continue
        found.worlds += 1
        for view, chance in _views(setup, world, order, most, found):
            if view is None:
                found.refused += weight * chance
            elif wanted is None or view in wanted:
                found.add(view, world, weight * chance)
        if wanted is None and found.worlds == 1 and found.runs * count > 2 * most:
            raise Uncountable("enumerating all worlds would exceed the run limit (estimated from the first)")
    found.refused /= total
    return found


def _views(
    setup: AuditSetup, world: World, order: Keys, most: int, found: Likelihoods
) -> Iterator[tuple[ReleaseView | None, Fraction]]:
    """What a world may be seen as, and how likely each is; keeps a release for each new view."""
    prepared = setup.prepare_world(world)
    seen: list[tuple[ReleaseView | None, Fraction]] = []
    for release, chance in outcomes(lambda keys: setup.publish(prepared, keys), order=order, most=most):
        found.runs += 1
        if found.runs > most:
            raise Uncountable(f"the worlds and random draws of this table need more than {most:,} runs")
        view = None if release is None else view_of(release)
        seen.append((view, chance))
        if view is not None and release is not None:
            found.examples.setdefault(view, release)
    yield from sum_chances(seen).items()


def _values(world: World) -> list[Any]:
    return [secret[0] for secret in world]


_RELEASES = 2

_ENOUGH = 30
"""Worlds that must give a release before anything is said about it."""


def sampled_likelihood(setup: AuditSetup, prior: Prior | None, *, samples: int, keys: Keys) -> Likelihoods:
    """Hold releases of the table against sampled worlds; a release that too few of them give is left out."""
    found = Likelihoods({}, {}, worlds=samples)
    for _ in range(_RELEASES):
        release = setup.publish(setup.prepare_world(setup.world), keys)
        if release is None or (view := view_of(release)) in found.weights:
            continue
        found.examples[view] = release
        draw = _drawer(setup, prior, view, keys)
        for _ in range(samples):
            world = draw()
            again = setup.publish(setup.prepare_world(world), keys)
            found.runs += 1
            if again is not None and view_of(again) == view:
                found.add(view, world, Fraction(1))
    found.weights = {view: seen for view, seen in found.weights.items() if sum(seen.values()) >= _ENOUGH}
    return found


def _drawer(setup: AuditSetup, prior: Prior | None, view: ReleaseView, keys: Keys) -> Callable[[], World]:
    if prior is not None:
        each = chances_by_row(prior, len(setup.world))
        return lambda: tuple(_pick(list(one), list(one.values()), keys) for one in each)
    groups = _groups(setup, view)

    def shuffle() -> World:
        world = list(setup.world)
        for rows in groups:
            for row, source in zip(rows, permutation(len(rows), keys=keys).tolist(), strict=True):
                world[row] = setup.world[rows[source]]
        return tuple(world)

    return shuffle


def _groups(setup: AuditSetup, view: ReleaseView) -> list[list[int]]:
    """The rows that may have each other's secrets: those of a group where everybody's is shown, else all of them."""
    homes = [view.homes(row) for row in setup.rows]
    if not view.tells_values or any(len(home) != 1 for home in homes):
        return [list(range(len(homes)))]
    return [[row for row, home in enumerate(homes) if home == (number,)] for number in range(len(view.groups))]


def _pick(secrets: Sequence[tuple[Any, ...]], weights: Sequence[Fraction], keys: Keys) -> tuple[Any, ...]:
    """One of the secrets, by its weight."""
    edges = np.cumsum([float(weight) for weight in weights])
    unit = float(keys(1)[0]) / 2.0**64
    return secrets[min(int(np.searchsorted(edges, unit * edges[-1], side="right")), len(secrets) - 1)]


Odds = Mapping[int, Fraction]
"""The probability of each value for one row, as the adversary knows it."""


def worlds(values: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every distinct way to hand the values, repeated ones included, to as many rows."""
    yield from _deal(Counter(values), len(values))


def posteriors(known: Sequence[Odds], values: Sequence[int]) -> list[dict[int, Fraction]]:
    """For each row the probability of each value, by adding up the weights of all worlds.

    Where every world has weight zero the knowledge contradicts the group; then ZeroDivisionError is raised.
    """
    total = Fraction(0)
    sums: list[dict[int, Fraction]] = [dict.fromkeys(values, Fraction(0)) for _ in known]
    for world in worlds(values):
        weight = Fraction(1)
        for odds, value in zip(known, world, strict=True):
            weight *= odds[value]
        total += weight
        for row, value in enumerate(world):
            sums[row][value] += weight
    return [{value: share / total for value, share in row.items()} for row in sums]


def _deal(left: Counter[int], rows: int) -> Iterator[tuple[int, ...]]:
    if rows == 0:
        yield ()
        return
    for value in sorted(left):
        if left[value]:
            left[value] -= 1
            for rest in _deal(left, rows - 1):
                yield (value, *rest)
            left[value] += 1
