"""The posterior auditor: what an adversary who knows the algorithm infers from a release, next to what is promised.

Source     [Wong 2007] (minimality attacks); here by enumeration, with the real method
Guarantee  exact: every world, every outcome of the method's random draws, fractions throughout. Sampled where there
           are too many: worlds and random draws are drawn until enough of them give the release; all intervals hold at
           once in 999 of 1,000 audits
Cost       exact: worlds times outcomes of the random draws, a millisecond or three each; seven rows take seconds

The adversary knows all open columns, which sensitive values there are (or a prior), and the method; sees a release
without its order and group numbers; and applies Bayes' rule. Two references: the promise of the guarantee, and what the
release itself shows, which is the share of a value in the groups that a row may be in. A grouping that looks at nothing
but the sensitive values and secret random numbers gives exactly what it shows, for rows and for pairs of rows.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hedgerow.errors import Infeasible, ParameterError
from hedgerow.parameters import read_whole
from hedgerow.randomness import generator, seeded_keys
from hedgerow.schema import Schema
from hedgerow.table import read_table
from hedgerow.testing.posterior_draws import Uncountable, sum_chances
from hedgerow.testing.posterior_promise import Secret, Verdict, of_values, promise_of
from hedgerow.testing.posterior_worlds import (
    AuditSetup,
    Likelihoods,
    Prior,
    ReleaseView,
    ShownGroup,
    World,
    every_likelihood,
    sampled_likelihood,
)

if TYPE_CHECKING:
    from hedgerow.methods.method import Method

_RISK = 0.001
"""How often sampled intervals may fail, all of them together."""


@dataclass(frozen=True)
class PosteriorFinding:
    """What is known about one row, or about two together, after seeing a release.

    `shown` is what the release says without the algorithm, `limit` what is promised; None where there is no such
    number. A sampled posterior lies within `margin`.
    """

    rows: tuple[int, ...]
    event: tuple[Any, ...]
    posterior: Fraction
    shown: Fraction | None
    limit: Fraction | None
    view: ReleaseView
    margin: float = 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Where the posterior lies."""
        seen = float(self.posterior)
        return max(0.0, seen - self.margin), min(1.0, seen + self.margin)

    @property
    def gain(self) -> Fraction:
        """How far the posterior is above what the release shows."""
        return Fraction(0) if self.shown is None else self.posterior - self.shown

    @property
    def is_above_shown(self) -> bool:
        """Return whether the algorithm reveals more than the release."""
        return self.gain > self.margin

    @property
    def is_above_limit(self) -> bool:
        """Return whether the probability exceeds the promised one."""
        return self.limit is not None and self.posterior - self.limit > self.margin


@dataclass(frozen=True)
class PosteriorAudit:
    """The result of an audit. `worst` is the row that is farthest above its promise, else the likeliest value.

    `row` and `pair` are what reveals most beyond what the release shows, None where it shows no shares.
    """

    method: str
    promise: str
    worst: PosteriorFinding
    row: PosteriorFinding | None
    pair: PosteriorFinding | None
    is_broken: bool
    is_exact: bool
    worlds: int
    runs: int
    releases: int
    refused: Fraction

    @property
    def leaks(self) -> bool:
        """Return whether knowing the algorithm reveals more than the release shows, or more than is promised."""
        return self.is_broken or any(one is not None and one.is_above_shown for one in (self.row, self.pair))

    def __str__(self) -> str:
        kept = "which breaks the promise" if self.is_broken else "which keeps the promise"
        how = "exact" if self.is_exact else f"sampled, within {self.worst.margin:.2f}"
        sentence = (
            f"An attacker who knows how {self.method} works gives an event about one row a probability of up to "
            f"{_write_text(self.worst.posterior)}; promised is {self.promise}, {kept} ({how}; {self.worlds:,} worlds, "
            f"{self.releases:,} releases)."
        )
        more = [_beyond(what, one) for what, one in (("a row", self.row), ("a pair of rows", self.pair))]
        return " ".join([sentence, *(words for words in more if words)])


def _beyond(what: str, finding: PosteriorFinding | None) -> str:
    if finding is None or finding.shown is None:
        return ""
    if not finding.is_above_shown:
        return f"About {what} the algorithm reveals nothing that the release does not show."
    return f"About {what} the release shows {_write_text(finding.shown)} where it is {_write_text(finding.posterior)}."


def _write_text(share: Fraction) -> str:
    return str(share) if share.denominator <= 100 else f"{float(share):.3f}"


def judge_views(setup: AuditSetup, found: Likelihoods, *, is_exact: bool, pairs: bool) -> PosteriorAudit:
    """Look at every row, and every pair of rows, of every view."""
    if not found.weights:
        raise Infeasible("There is nothing to audit: no release of this table was seen often enough, or at all.")
    margins = {view: 0.0 if is_exact else _margin(found, view) for view in found.weights}
    rows = setup.rows
    judgements, singles, couples = [], [], []
    for view, weights in found.weights.items():
        places = _Places(view, rows, weights, margins[view])
        judgements += list(_judgements(places, found, is_exact))
        singles += list(places.singles())
        couples += list(places.couples()) if pairs else []
    verdict, worst = max(judgements, key=lambda one: (one[0].is_broken, one[0].excess, one[0].probability))
    return PosteriorAudit(
        method=type(setup.method).__name__,
        promise=promise_of(found.examples[worst.view]).words,
        worst=worst,
        row=_most(singles),
        pair=_most(couples),
        is_broken=verdict.is_broken,
        is_exact=is_exact,
        worlds=found.worlds,
        runs=found.runs,
        releases=len(found.weights),
        refused=found.refused,
    )


def _judgements(places: _Places, found: Likelihoods, is_exact: bool) -> Iterator[tuple[Verdict, PosteriorFinding]]:
    """Hold each row's distribution against the promise of the release."""
    promise = promise_of(found.examples[places.view])
    for row, chances in enumerate(places.chances):
        homes = places.homes[row]
        if homes == [places.suppressed]:
            continue  # nothing is promised about a row that was not published
        verdict = promise.judge(chances, tuple({value for group in homes for value in group.values}))
        shown = None
        if places.view.tells_values:
            shown = max(sum((group.share(value) for value in verdict.event), Fraction(0)) for group in homes)
        finding = PosteriorFinding(
            (row,), verdict.event, verdict.probability, shown, verdict.limit, places.view, places.margin
        )
        if not is_exact:
            # What was not sampled may be possible, so a sample breaks no promise about what stays possible.
            verdict = replace(verdict, is_broken=finding.is_above_limit)
        yield verdict, finding


def _most(findings: Sequence[PosteriorFinding]) -> PosteriorFinding | None:
    return max(findings, key=lambda one: (one.is_above_shown, one.gain, one.posterior), default=None)


def _margin(found: Likelihoods, view: ReleaseView) -> float:
    """Hoeffding's interval, narrow enough to hold for all events about rows and pairs of all views at once."""
    values = len({secret for world in found.weights[view] for secret in world})
    people = len(next(iter(found.weights[view])))
    events = len(found.weights) * (people * values + (people * values) ** 2 / 2)
    return math.sqrt(math.log(2 * events / _RISK) / (2 * float(sum(found.weights[view].values()))))


class _Places:
    """What one view says about where everybody is, and what Bayes' rule says about who has what."""

    def __init__(
        self, view: ReleaseView, rows: Sequence[Mapping[str, Any]], weights: Mapping[World, Fraction], margin: float
    ) -> None:
        self.view, self.margin = view, margin
        self.weights, self.total = weights, sum(weights.values(), Fraction(0))
        self.suppressed = _suppressed_group(view, next(iter(weights)))
        # Whose open columns were replaced may be any published row; where they were not, such a row was suppressed.
        elsewhere = [self.suppressed] if view.tells_values else list(view.groups)
        self.homes: list[list[ShownGroup]] = [
            [view.groups[home] for home in view.homes(row)] or elsewhere for row in rows
        ]
        self.chances = [self._chances(row) for row in range(len(rows))]

    def _chances(self, row: int) -> dict[Secret, Fraction]:
        return sum_chances((world[row], weight / self.total) for world, weight in self.weights.items())

    def singles(self) -> Iterator[PosteriorFinding]:
        """Each row and value, next to the largest share in a group that the row may be in."""
        if not self.view.tells_values:
            return
        for row, chances in enumerate(self.chances):
            for value, chance in of_values(chances).items():
                shown = max(group.share(value) for group in self.homes[row])
                yield PosteriorFinding((row,), (value,), chance, shown, None, self.view, self.margin)

    def couples(self) -> Iterator[PosteriorFinding]:
        """Each pair of rows and values, next to the largest probability that a fair deal inside groups gives it."""
        if not self.view.tells_values:
            return
        shares = {world: weight / self.total for world, weight in self.weights.items()}
        for pair in itertools.combinations(range(len(self.homes)), 2):
            one, other = pair
            both = sum_chances(((world[one][0], world[other][0]), share) for world, share in shares.items())
            for values, chance in both.items():
                yield PosteriorFinding(
                    pair, values, chance, self._pair_probability(pair, values), None, self.view, self.margin
                )

    def _pair_probability(self, pair: tuple[int, ...], values: tuple[Any, Any]) -> Fraction:
        return max(
            _together(one, other, values)
            for one, other in itertools.product(self.homes[pair[0]], self.homes[pair[1]])
            if one is not other or one.size > 1
        )


def _suppressed_group(view: ReleaseView, world: World) -> ShownGroup:
    """Rows that are in no published group, and the values that they have among them: those that were not published."""
    left = Counter(secret[0] for secret in world)
    for group in view.groups:
        left.subtract(group.values)
    values = tuple((+left).elements())
    return ShownGroup(len(values), (), values)


def _together(one: ShownGroup, other: ShownGroup, values: tuple[Any, Any]) -> Fraction:
    """The probability that two rows of these groups have these values, each group's values dealt fairly."""
    if one is not other:
        return one.share(values[0]) * other.share(values[1])
    rest = one.values.count(values[1]) - (values[0] == values[1])
    return one.share(values[0]) * Fraction(rest, len(one.values) - 1)


@dataclass(frozen=True)
class AuditExtent:
    """How far an audit goes. It is exact if `runs` calls of the method are enough.

    `every_release` looks at the releases of all worlds, without it only at those of the table itself. Where `runs` are
    not enough, two releases of the table are compared with `samples` sampled worlds each. `pairs` looks at two rows
    together as well.
    """

    runs: int = 20_000
    samples: int = 2_000
    every_release: bool = True
    pairs: bool = True

    def __post_init__(self) -> None:
        read_whole("runs", self.runs, least=1)
        read_whole("samples", self.samples, least=1)


def audit_posterior(
    method: Method,
    table: object,
    schema: Schema | None = None,
    *,
    prior: Prior | None = None,
    hidden: Sequence[str] = (),
    extent: AuditExtent | None = None,
    seed: int = 0,
) -> PosteriorAudit:
    """Measure what an attacker who knows the algorithm infers from releases of a small table.

    Without a `schema` the last column is sensitive and the others are quasi-identifiers. Of several sensitive columns
    the first is followed: the others are published and unknown, too. Without a `prior` every
    assignment of the table's sensitive values is equally likely; a prior gives the probabilities of each value, for all
    rows or row by row, and `hidden` names columns that are unknown along with the sensitive one, as the parts that
    people name: secrets are tuples then.
    """
    extent = extent or AuditExtent()
    setup = _setup(method, table, schema, tuple(hidden))
    keys = seeded_keys(seed)
    try:
        found = every_likelihood(setup, prior, order=keys, most=extent.runs, every_release=extent.every_release)
        is_exact = True
    except Uncountable:
        found, is_exact = sampled_likelihood(setup, prior, samples=extent.samples, keys=keys), False
    return judge_views(setup, found, is_exact=is_exact, pairs=extent.pairs)


def _setup(method: Method, source: object, schema: Schema | None, hidden: tuple[str, ...]) -> AuditSetup:
    table: pa.Table = read_table(source).arrow
    roles = Schema(quasi=table.column_names[:-1], sensitive=table.column_names[-1]) if schema is None else schema
    if not roles.sensitive:
        raise ParameterError("'schema' must have a sensitive column.")
    return AuditSetup(method, table, roles, hidden)


@dataclass(frozen=True)
class WorstTable:
    """The table on which the posterior is farthest above the promise, else above what is shown, and its audit."""

    table: pa.Table
    audit: PosteriorAudit
    tables: int


def worst_table(
    method: Method,
    *,
    rows: int = 6,
    values: Sequence[object] = (0, 1, 2, 3, 4),
    quasi: int = 1,
    tables: int = 20,
    runs: int = 3_000,
    seed: int = 0,
) -> WorstTable:
    """Audit random tables of `quasi` quasi-identifiers and a sensitive column, exactly, and keep the worst.

    Every audit covers all arrangements of its table's values. Tables that the method refuses, or that need more than
    `runs` runs, are passed over; if none is left, Infeasible is raised.
    """
    for name, number in (("rows", rows), ("quasi", quasi), ("tables", tables)):
        read_whole(name, number, least=1)
    random, worst, audited = generator(seed), None, 0
    for _ in range(tables):
        table = _draw_table(random, rows, values, quasi)
        try:
            audit = audit_posterior(method, table, extent=AuditExtent(runs=runs, samples=1))
        except Infeasible:
            continue
        audited += 1
        if worst is None or _badness(audit) > _badness(worst.audit):
            worst = WorstTable(table, audit, audited)
    if worst is None:
        raise Infeasible("None of the tables tried was published, or none was small enough to enumerate.")
    return WorstTable(worst.table, worst.audit, audited)


def _draw_table(random: np.random.Generator, rows: int, values: Sequence[object], quasi: int) -> pa.Table:
    """Open columns with or without ties, and sensitive values of any skew."""
    columns: dict[str, list[object]] = {}
    for number in range(quasi):
        distinct = random.integers(2, rows + 1)
        columns[f"q{number}"] = list(range(rows)) if distinct == rows else random.integers(0, distinct, rows).tolist()
    shares = random.dirichlet(np.ones(len(values)))
    columns["s"] = [values[place] for place in random.choice(len(values), rows, p=shares)]
    return pa.table(columns)


def _badness(audit: PosteriorAudit) -> tuple[bool, Fraction, Fraction, Fraction]:
    row, pair = (Fraction(0) if one is None else one.gain for one in (audit.row, audit.pair))
    above = audit.worst.posterior - (1 if audit.worst.limit is None else audit.worst.limit)
    return audit.is_broken, above if audit.is_broken else Fraction(0), row, pair
