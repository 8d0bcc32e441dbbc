"""Covariances, correlations and lines over a bundle in parts: sums first, then the sum that is linear in hidden values.

A part gives, for each of its cells, the sums that decide with which factors its rows enter; these are added up over the
parts, and another pass asks every part for its share with the factors of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pyarrow as pa

from hedgerow.query.aggregates.covariance import CellSums, factors_of, finish, spreads_of
from hedgerow.query.aggregates.linear import LinearShare
from hedgerow.query.answer import Estimate
from hedgerow.query.engines.stored import StoredEvidence
from hedgerow.query.evidence.groups import Evidence, Floats, Ints
from hedgerow.query.evidence.permuted import Plan
from hedgerow.query.sql.question import Aggregate

__all__ = ["JoinedSums", "LineRequests", "StoredSums", "cell_keys", "join_sums", "shares_of"]

CellKey = tuple[object, ...]

LineRequests = Mapping[Aggregate, Mapping[CellKey, tuple[Sequence[Fraction] | None, Floats]]]
"""For each aggregate and cell the factors of the whole release, and the largest numbers of its columns."""


@dataclass(frozen=True, eq=False)
class StoredSums:
    """The sums of one part, by cell, and its evidence of the hidden column where the variance is wanted."""

    sums: list[CellSums]
    is_swapped: bool
    unit: Fraction
    evidence: StoredEvidence | None

    @staticmethod
    def of(plan: Plan, item: Aggregate) -> StoredSums | None:
        """Ask a part."""
        found = plan.covariance(item)
        if found is None:
            return None
        drawn = found.evidence() if item.function in ("corr", "regr_r2") else None
        return StoredSums(
            found.sums(item.function),
            found.is_swapped,
            Fraction(1) if drawn is None else drawn[1].unit,
            None if drawn is None else StoredEvidence.of(*drawn),
        )

    def store(self, scratch: Path) -> StoredSums:
        """The same, its evidence in a file of a folder."""
        return self if self.evidence is None else replace(self, evidence=self.evidence.store(scratch))


def cell_keys(keys: Mapping[str, pa.Array], cells: int) -> list[CellKey]:
    """The keys of each cell."""
    return list(zip(*(values.to_pylist() for values in keys.values()), strict=True)) if keys else [()] * cells


@dataclass(frozen=True, eq=False)
class JoinedSums:
    """The sums of all parts, by cell of the whole answer."""

    item: Aggregate
    sums: list[CellSums]
    is_swapped: bool
    spreads: Sequence[tuple[Fraction, Fraction] | None]

    def requests(self, keys: Sequence[CellKey]) -> Mapping[CellKey, tuple[Sequence[Fraction] | None, Floats]]:
        """With which factors rows enter, by the keys of cells."""
        factors = [factors_of(self.item.function, self.is_swapped, one) for one in self.sums]
        return {
            key: (own, one.sizes) for key, own, one in zip(keys, factors, self.sums, strict=True)
        }  # fmt: skip

    def finish(self, parts: Sequence[list[LinearShare | None]], places: Sequence[Ints]) -> Estimate:
        """The answer, from the shares of all parts."""
        shares: list[list[LinearShare]] = [[] for _ in self.sums]
        for part, place in zip(parts, places, strict=True):
            for cell, share in zip(place.tolist(), part, strict=True):
                shares[cell] += [] if share is None else [share]
        return finish(self.item.function, self.is_swapped, self.sums, shares, self.spreads)


def join_sums(
    item: Aggregate,
    parts: Sequence[StoredSums],
    places: Sequence[Ints],
    evidence: Callable[[list[StoredEvidence]], Evidence],
) -> JoinedSums:
    """Add up the sums of parts, whose cells have so many `places` in the whole answer."""
    joined: dict[int, CellSums] = {}
    for part, place in zip(parts, places, strict=True):
        for cell, own in zip(place.tolist(), part.sums, strict=True):
            joined[cell] = joined[cell].add(own) if cell in joined else own
    sums = [joined[cell] for cell in range(len(joined))]
    stored = [part.evidence for part in parts if part.evidence is not None]
    spreads: Sequence[tuple[Fraction, Fraction] | None] = [None] * len(sums)
    if stored:
        spreads = spreads_of(evidence(stored), parts[0].unit)
    return JoinedSums(item, sums, parts[0].is_swapped, spreads)


def shares_of(plan: Plan, requests: LineRequests) -> dict[Aggregate, list[LinearShare | None]]:
    """What the rows of a part add, with the factors of the whole."""
    keys, found = cell_keys(plan.keys, plan.cells), {}
    for item, wanted in requests.items():
        covariance = plan.covariance(item)
        assert covariance is not None, "asked of parts that gave sums"
        asked = [wanted[key] for key in keys]
        found[item] = covariance.shares([one[0] for one in asked], [one[1] for one in asked])
    return found
