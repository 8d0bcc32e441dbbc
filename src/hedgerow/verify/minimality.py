"""What whoever knows an algorithm learns from the groups that it chose: measured, and said in one place.

The numbers come from the posterior auditor (`hedgerow.testing.audit_posterior`), which runs the real method on every
world of small tables; a test holds each of them against the table on which it was found.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MEASURED", "Measured", "minimality"]

_SENTENCE = "Minimality: {why}. Measured on tables of up to {rows} rows: {measured}. {instead}"
_DIVIDED = (
    "groups were divided by quasi-identifiers for as long as the sensitive values allowed it; whoever knows the "
    "algorithm and everybody's quasi-identifiers can learn from where it stopped"
)
_BLIND = "grouping='blind' needs no such assumption: it was found to tell nothing beyond what it shows."


@dataclass(frozen=True)
class Measured:
    """The worst that was found on tables of up to `rows` rows, and what to publish instead."""

    rows: int
    measured: str
    instead: str
    why: str = _DIVIDED


MEASURED: dict[str, Measured] = {
    "near": Measured(
        7,
        "a value promised with at most 1/2 became certain",
        _BLIND,
    ),
    "ncp": Measured(
        6,
        "a value promised with at most 1/2 had about 3/4",
        _BLIND,
    ),
    "ke-quasi": Measured(
        6,
        "where two values were promised to stay possible, one that the release shows with 1/4 became certain",
        "Without refine='quasi' nothing was found to be told beyond what the release shows.",
    ),
    "mondrian": Measured(
        6,
        "a value promised with at most 1/2 became certain, and so did values of two people together that the release "
        "shows with 1/6",
        "blind=True cuts without looking at sensitive values, needs no such assumption, and was found to tell nothing "
        "beyond what it shows.",
    ),
    "full-domain": Measured(
        6,
        "with suppressed rows a value promised with at most 1/2 had 3/4, and without them values of two people "
        "together that the release shows with 1/5 had 1/2",
        "blind=True chooses levels without looking at sensitive values, needs no such assumption, and was found to "
        "tell nothing beyond what it shows.",
    ),
    "robust": Measured(
        3,
        "a value promised with at most 10/19 became certain",
        "With k (blind groups, odds from elsewhere) nothing was found beyond the promise.",
    ),
    "personal": Measured(
        3,
        "a value that the target gives 1/4 inside the named part had 1/2",
        "partition='one' chooses no groups; how many values it generalizes tells less: one that the target gives 1/3 "
        "had 2/5.",
        "groups were chosen by looking at sensitive values and named parts, and whoever knows the algorithm can learn "
        "from the choice",
    ),
    "target": Measured(
        19,
        "a value that the target gives 1/10 was ruled out for everybody, and one that it gives 1/3 had 2/5",
        "Without a shift a hierarchy of one level with equal shares tells nothing beyond the target.",
        "how many values were generalized, and to which nodes, follows the true counts; whoever knows the algorithm "
        "can learn from that",
    ),
    "fakes": Measured(
        4,
        "a value that the target gives 1/4 had 1/2",
        "Without fakes the worst was 3/8 at 8 rows; on average over all tables fakes were found to tell both more and "
        "less than none.",
        "how many fake values there are, and which, was chosen by looking at the true ones, and whoever knows the "
        "algorithm can learn from the choice",
    ),
}
"""By the grouping or the method."""


def minimality(which: str) -> str:
    """The sentence about a grouping, or a method, that looks at sensitive values while it divides."""
    found = MEASURED[which]
    return _SENTENCE.format(why=found.why, rows=found.rows, measured=found.measured, instead=found.instead)
