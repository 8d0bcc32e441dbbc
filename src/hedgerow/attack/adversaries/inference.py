"""The adversary who infers a person's sensitive value from the published rows that look most like the person.

Source     Giomi et al., A unified framework for quantifying privacy risk in synthetic data, 2023 (inference)
Knows      all quasi-identifiers of a person
Guesses    the sensitive value that is most likely over the rows that fit the person best; of numbers the one with most
           of them near it
Rate       the share of people for whom the guess is right; a number is right if it is within 5 % of the guess
Baseline   the most likely value of the whole column
Control    people of the same kind who were not published: what is right for them follows from how the columns hang
           together in general, and is not a leak about anybody
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.attack.beliefs import Beliefs
from hedgerow.attack.placing import Placed
from hedgerow.criteria.neighbourhood import Reach, relative, same_value
from hedgerow.exact import column_line

__all__ = ["guesses", "is_right", "reach_of"]


NEAR = "0.05"
"""A number is guessed if it is off by at most this share of the guess."""


def reach_of(domain: pa.Array, name: str) -> Reach:
    """Which values a guess covers: numbers nearby, a text itself alone; missing is a value."""
    if pa.types.is_string(domain.type) or pa.types.is_boolean(domain.type) or pa.types.is_timestamp(domain.type):
        return same_value(len(domain) + 1)
    near = relative(NEAR).reach(column_line(domain, name))
    last = np.int32(len(domain))
    return Reach(np.append(near.first, last), np.append(near.last, last))


def guesses(seen: Beliefs, where: Placed, reach: Reach) -> Ints:
    """Everybody's most likely value."""
    return np.array(
        [
            best(seen.spread(groups, weights), reach)
            for groups, weights in zip(where.groups, where.weights, strict=True)
        ],
        np.int64,
    )


def best(chances: NDArray[np.float64], reach: Reach) -> int:
    """The value with most of the chances near it; among equals the one that is itself most likely."""
    upto = np.append(0.0, np.cumsum(chances))
    near = upto[reach.last + 1] - upto[reach.first]
    return int(np.argmax(np.round(near, 12) + 1e-13 * chances))


def is_right(guessed: Ints, truth: Ints, reach: Reach) -> NDArray[np.bool_]:
    """Tell which guesses cover the truth; a value that the release does not have is never guessed."""
    return (reach.first[guessed] <= truth) & (truth <= reach.last[guessed])
