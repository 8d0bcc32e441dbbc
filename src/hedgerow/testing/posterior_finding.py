"""From likelihoods to findings: the worst row, the row and the pair that tell most beyond what the release shows."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from hedgerow.errors import Infeasible
from hedgerow.testing.posterior_coins import summed
from hedgerow.testing.posterior_promise import Secret, Verdict, of_values, promise_of
from hedgerow.testing.posterior_view import ReleaseView, Shown
from hedgerow.testing.posterior_worlds import AuditSetup, Likelihoods, World

__all__ = ["PosteriorAudit", "PosteriorFinding", "judged"]

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
        """Tell whether the algorithm tells more than the release."""
        return self.gain > self.margin

    @property
    def is_above_limit(self) -> bool:
        """Tell whether the probability exceeds the promised one."""
        return self.limit is not None and self.posterior - self.limit > self.margin


@dataclass(frozen=True)
class PosteriorAudit:
    """The result of an audit. `worst` is the row that is farthest above its promise, else the likeliest value.

    `row` and `pair` are what tells most beyond what the release shows, None where it shows no shares.
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
        """Tell whether knowing the algorithm tells more than the release shows, or more than is promised."""
        return self.is_broken or any(one is not None and one.is_above_shown for one in (self.row, self.pair))

    def __str__(self) -> str:
        kept = "which breaks the promise" if self.is_broken else "which keeps the promise"
        how = "exact" if self.is_exact else f"sampled, within {self.worst.margin:.2f}"
        sentence = (
            f"Whoever knows how {self.method} works gives an event about one row a probability of up to "
            f"{_written(self.worst.posterior)}; promised is {self.promise}, {kept} ({how}; {self.worlds:,} worlds, "
            f"{self.releases:,} releases)."
        )
        more = [_beyond(what, one) for what, one in (("a row", self.row), ("a pair of rows", self.pair))]
        return " ".join([sentence, *(words for words in more if words)])


def _beyond(what: str, finding: PosteriorFinding | None) -> str:
    if finding is None or finding.shown is None:
        return ""
    if not finding.is_above_shown:
        return f"About {what} the algorithm tells nothing that the release does not show."
    return f"About {what} the release shows {_written(finding.shown)} where it is {_written(finding.posterior)}."


def _written(share: Fraction) -> str:
    return str(share) if share.denominator <= 100 else f"{float(share):.3f}"


def judged(setup: AuditSetup, found: Likelihoods, *, is_exact: bool, pairs: bool) -> PosteriorAudit:
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
        if homes == [places.held_back]:
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
        self.held_back = _held_back(view, next(iter(weights)))
        # Whose open columns were replaced may be any published row; where they were not, such a row was suppressed.
        elsewhere = [self.held_back] if view.tells_values else list(view.groups)
        self.homes: list[list[Shown]] = [[view.groups[home] for home in view.homes(row)] or elsewhere for row in rows]
        self.chances = [self._chances(row) for row in range(len(rows))]

    def _chances(self, row: int) -> dict[Secret, Fraction]:
        return summed((world[row], weight / self.total) for world, weight in self.weights.items())

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
            both = summed(((world[one][0], world[other][0]), share) for world, share in shares.items())
            for values, chance in both.items():
                yield PosteriorFinding(pair, values, chance, self._dealt(pair, values), None, self.view, self.margin)

    def _dealt(self, pair: tuple[int, ...], values: tuple[Any, Any]) -> Fraction:
        return max(
            _together(one, other, values)
            for one, other in itertools.product(self.homes[pair[0]], self.homes[pair[1]])
            if one is not other or one.size > 1
        )


def _held_back(view: ReleaseView, world: World) -> Shown:
    """Rows that are in no published group, and the values that they have among them: those that were not published."""
    left = Counter(secret[0] for secret in world)
    for group in view.groups:
        left.subtract(group.values)
    values = tuple((+left).elements())
    return Shown(len(values), (), values)


def _together(one: Shown, other: Shown, values: tuple[Any, Any]) -> Fraction:
    """The probability that two rows of these groups have these values, each group's values dealt fairly."""
    if one is not other:
        return one.share(values[0]) * other.share(values[1])
    rest = one.values.count(values[1]) - (values[0] == values[1])
    return one.share(values[0]) * Fraction(rest, len(one.values) - 1)
