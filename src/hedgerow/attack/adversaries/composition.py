"""The adversary who holds two releases of the same people.

Source     [Ganta 2008]
Knows      quasi-identifiers of everyone, that they are in both tables, and both releases
Guesses    the only sensitive value that both releases leave possible for a person
Rate       the share of people for whom one value is left, which is then theirs
Baseline   the same from the first release alone
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import Floats, Ints
from hedgerow.attack.beliefs import Beliefs, beliefs, codes_in
from hedgerow.attack.candidates import Placement, candidate_rows, people_of, place_people
from hedgerow.attack.context import Context, need_groups, need_original, need_quasi
from hedgerow.attack.finding import NOTHING_TO_DO, SLIGHT, Adversary, Finding, percent, sampled_rate


@dataclass(frozen=True, eq=False)
class Composition:
    """Of each person: how many values the first release leaves, how many all leave, and the likeliest of those.

    `likeliest` are codes in `domain`, -1 where the releases contradict each other.
    """

    domain: pa.Array
    alone: Ints
    together: Ints
    likeliest: Ints


def composition(releases: Sequence[tuple[Beliefs, Placement]]) -> Composition:
    """Intersect what several releases leave possible for the same people, placed in each of them."""
    domain = pc.unique(pa.concat_arrays([seen.domain for seen, _ in releases]))
    spots = [_places(seen, domain) for seen, _ in releases]
    people = len(releases[0][1])
    alone, together, likeliest = (np.zeros(people, np.int64) for _ in range(3))
    for person in range(people):
        chances = np.ones(len(domain) + 1)
        for number, ((seen, where), spot) in enumerate(zip(releases, spots, strict=True)):
            chances *= _chances(seen, where, person, spot, len(domain) + 1)
            if number == 0:
                alone[person] = np.count_nonzero(chances)
        together[person] = np.count_nonzero(chances)
        likeliest[person] = int(chances.argmax()) if together[person] else -1
    return Composition(domain, alone, together, likeliest)


def _places(seen: Beliefs, domain: pa.Array) -> Ints:
    return np.append(codes_in(domain, pa.chunked_array([seen.domain]), seen.column), len(domain))


def _chances(seen: Beliefs, where: Placement, person: int, spot: Ints, width: int) -> Floats:
    """The probabilities of the values; everything stays possible for somebody who fits no row perfectly."""
    if not where.is_fit[person]:
        return np.ones(width)
    spread = np.zeros(width)
    spread[spot] = seen.spread(where.groups[person], where.weights[person])
    return spread


def _measure(context: Context) -> Finding:
    views = [(context.beliefs, context.placement)]
    for other in context.also:
        candidates = candidate_rows(other)
        people = people_of(candidates, context.table, context.target_rows)
        placement = place_people(candidates, people, columns_apart=other.form.columns_apart)
        views.append((beliefs(other, context.column), placement))
    found = composition(views)
    truth = codes_in(found.domain, context.table.column(context.column), context.column)[context.target_rows]
    is_only = (found.together == 1) & (found.likeliest == truth)
    finding = Finding(
        adversary=ADVERSARY.name,
        column=context.column,
        knows=f"{len(views)} releases, and quasi-identifiers of everyone",
        guesses="the only value that all releases leave possible",
        **sampled_rate(int(is_only.sum()), len(truth)),
        baseline=float((found.alone == 1).mean()),
    )
    sentence = (
        f"One value is left for {percent(finding.rate)} of the people, {percent(finding.baseline)} from this release "
        f"alone; guessing the likeliest is right for {percent(float((found.likeliest == truth).mean()))}."
    )
    step = NOTHING_TO_DO
    if finding.rate > finding.baseline + SLIGHT:
        step = "Never publish the same people twice independently: keep a ledger, re-publish the same groups."
    return finding.conclude(sentence, step)


def _need_second(context: Context) -> str | None:
    return None if context.also else "it needs another release of the same people: --also"


ADVERSARY = Adversary("composition", 60, _measure, (need_original, need_quasi, need_groups, _need_second))
