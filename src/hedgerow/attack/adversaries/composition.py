"""The adversary who holds two releases of the same people.

Source     Ganta, Kasiviswanathan and Smith, Composition attacks and auxiliary information in data privacy, 2008
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
from numpy.typing import NDArray

from hedgerow.attack.beliefs import Beliefs, codes_in
from hedgerow.attack.placing import Placed

__all__ = ["Composition", "composition"]


@dataclass(frozen=True, eq=False)
class Composition:
    """Of each person: how many values the first release leaves, how many all leave, and the likeliest of those.

    `likeliest` are codes in `domain`, -1 where the releases contradict each other.
    """

    domain: pa.Array
    alone: NDArray[np.int64]
    together: NDArray[np.int64]
    likeliest: NDArray[np.int64]


def composition(releases: Sequence[tuple[Beliefs, Placed]]) -> Composition:
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


def _places(seen: Beliefs, domain: pa.Array) -> NDArray[np.int64]:
    return np.append(codes_in(domain, pa.chunked_array([seen.domain]), seen.column), len(domain))


def _chances(seen: Beliefs, where: Placed, person: int, spot: NDArray[np.int64], width: int) -> NDArray[np.float64]:
    """The chances of the values; everything stays possible for somebody who fits no row perfectly."""
    if not where.is_fit[person]:
        return np.ones(width)
    spread = np.zeros(width)
    spread[spot] = seen.spread(where.groups[person], where.weights[person])
    return spread
