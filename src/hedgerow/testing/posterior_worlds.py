"""The possible worlds of an adversary before the release, and the probability of what the release shows in each.

A world gives every row a secret: its sensitive value, and further hidden columns where a method looks at them. Without
a prior the adversary knows which secrets there are and nothing about who has which; with one, rows are independent.

A `ReleaseView` is what a release shows once order and group numbers are taken off it: the same view, the same
knowledge. A group shows its open columns and its sensitive values. An attacker who knows somebody's open columns sees
which groups the person may be in. In forms without groups every published row is a group of its own.
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
from hedgerow.release import Release
from hedgerow.release.forms import Form
from hedgerow.release.forms.disguised import subdomain_columns
from hedgerow.release.forms.generalized import SETS, box_columns
from hedgerow.testing.posterior_draws import Uncountable, outcomes, sum_chances

if TYPE_CHECKING:
    from hedgerow.methods.method import Prepared
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


Row = Mapping[str, Any]


def worlds(values: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every distinct way to hand the values, repeated ones included, to as many rows."""
    yield from _deal(Counter(values), len(values))


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


@dataclass(frozen=True)
class ShownGroup:
    """A group as published: what its rows may have in each open column, and its sensitive values.

    `values` are those of the first sensitive column; with several, `together` is what is shown of all of them.
    """

    size: int
    opened: tuple[Any, ...]
    values: tuple[Any, ...]
    together: tuple[Any, ...] = ()

    def share(self, value: Any) -> Fraction:
        """How much of the group a value fills."""
        return Fraction(self.values.count(value), len(self.values))


@dataclass(frozen=True)
class ReleaseView:
    """The groups of a release in an order of their own, and what its manifest says beside them."""

    form: Form
    names: tuple[str, ...]
    groups: tuple[ShownGroup, ...]
    manifest: str

    @property
    def tells_values(self) -> bool:
        """Return whether groups list true sensitive values, so that shares in them mean something."""
        return self.form.lists_true_values

    def homes(self, row: Row) -> tuple[int, ...]:
        """The groups that somebody with these open columns may be in."""
        return tuple(number for number, group in enumerate(self.groups) if self._fits(group, row))

    def _fits(self, group: ShownGroup, row: Row) -> bool:
        if not self.form.keeps_rows:
            return all(_may_be(part, row[name]) for part, name in zip(group.opened, self.names, strict=True))
        return tuple(row[name] for name in self.names) in group.opened


def _may_be(part: Any, value: Any) -> bool:
    """Return whether a value is in a box: an interval with or without gaps, a set, or the values of a column."""
    if isinstance(part, _Interval):
        return part.has_gaps if value is None else part.low is not None and part.low <= value <= part.high
    return value in part


@dataclass(frozen=True)
class _Interval:
    low: Any
    high: Any
    has_gaps: bool


def view_of(release: Release) -> ReleaseView:
    """Take order and group numbers off a release."""
    names = (*release.columns.quasi, *release.columns.plain)
    made, promised = release.made, release.guarantee
    stated = (sorted(made.parameters.items()), sorted(promised.parameters.items()), promised.promise, release.rows)
    others = [release.tables[name].to_pydict() for name in ("target", "domain") if name in release.tables]
    # Shown groups hold values of many types, which have no order of their own; their text has.
    groups = tuple(sorted(_shown_groups(release, names), key=repr))
    return ReleaseView(release.form, names, groups, repr((stated, others)))


def _shown_groups(release: Release, names: tuple[str, ...]) -> list[ShownGroup]:
    people = release.tables["quasi" if "quasi" in release.tables else "release"].to_pydict()
    hidden = release.tables["sensitive" if "sensitive" in release.tables else "release"].to_pydict()
    column = release.columns.sensitive[0]
    if release.form.has_subdomains:
        column = subdomain_columns(release.columns, release.group_column)[2]
    by_group = _rows_by_group(release, people), _rows_by_group(release, hidden)
    return [
        ShownGroup(
            len(rows),
            _open_values(release, people, names, rows),
            _sort(hidden[column][place] for place in by_group[1][group]),
            _all_columns(release, hidden, by_group[1][group]),
        )
        for group, rows in by_group[0].items()
    ]


def _all_columns(release: Release, hidden: Mapping[str, Sequence[Any]], rows: list[int]) -> tuple[Any, ...]:
    """What a group shows of several sensitive columns: whole rows if shuffled together, else each by itself."""
    names = release.columns.sensitive
    if len(names) == 1:
        return ()
    if release.made.parameters.get("together"):
        return _sort(tuple(hidden[name][row] for name in names) for row in rows)
    return tuple(_sort(hidden[name][row] for row in rows) for name in names)


def _rows_by_group(release: Release, table: Mapping[str, Sequence[Any]]) -> dict[int, list[int]]:
    """The rows of each group; without groups, each row alone."""
    if not release.groups:
        return {row: [row] for row in range(len(next(iter(table.values()))))}
    found: dict[int, list[int]] = {}
    for row, group in enumerate(table[release.group_column]):
        found.setdefault(group, []).append(row)
    return found


def _open_values(
    release: Release, table: Mapping[str, Sequence[Any]], names: Sequence[str], rows: list[int]
) -> tuple[Any, ...]:
    if release.form.has_boxes:
        boxes = tuple(_box(release, table, name, rows[0]) for name in release.columns.quasi)
        return boxes + tuple(_sort(table[name][row] for row in rows) for name in release.columns.plain)
    if release.form.columns_apart:
        return tuple(_sort(table[name][row] for row in rows) for name in names)
    return _sort(tuple(table[name][row] for name in names) for row in rows)


def _sort(values: Any) -> tuple[Any, ...]:
    return tuple(sorted(values, key=repr))


def _box(release: Release, table: Mapping[str, Sequence[Any]], name: str, row: int) -> Any:
    box = box_columns(release.columns, release.group_column)[name]
    has_gaps = bool(table[box.missing][row]) if box.missing in table else False
    if box.set not in table:
        return _Interval(table[box.low][row], table[box.high][row], has_gaps)
    sets = release.tables[SETS].to_pylist()
    members = [one["value"] for one in sets if one["column"] == name and one["set"] == table[box.set][row]]
    return _sort([*members, *([None] if has_gaps else [])])


def may_show(view: ReleaseView, rows: Sequence[Row], values: Sequence[Any]) -> bool:
    """Return whether a view can come from these values at all, as far as rows with one home tell."""
    if not view.tells_values:
        return True
    homes = [view.homes(row) for row in rows]
    for number, group in enumerate(view.groups):
        mine = Counter(value for home, value in zip(homes, values, strict=True) if home == (number,))
        if mine - Counter(group.values):
            return False
    return True
