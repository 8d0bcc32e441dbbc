"""What a release promises, to whom, and what it does not promise."""

from __future__ import annotations

import msgspec

__all__ = ["NOT_PROMISED", "Guarantee"]

NOT_PROMISED = (
    "Presence: whoever knows the quasi-identifiers of a person can see whether a row with them was published.",
    "Composition: a second, independent release of the same rows can narrow down what this one hides.",
    "Correlation: whoever knows how the sensitive column depends on the quasi-identifiers guesses better than chance.",
)
"""What no method that publishes quasi-identifiers as they are can promise."""


class Guarantee(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A promise as data, which `audit` re-derives, and in words, which a person reads.

    `parameters` are exact: integers, or fractions and decimals as text. `adversary` says what the other side is assumed
    to know; against anyone who knows more nothing is promised.
    """

    criterion: str
    parameters: dict[str, int | str]
    columns: tuple[str, ...]
    promise: str
    adversary: str
    not_promised: tuple[str, ...] = NOT_PROMISED
