"""What each group of a release reveals about the sensitive values of its members.

Source     own: possible worlds, every assignment of a group's values to its people is equally likely
Guarantee  the probabilities of a group add up to 1; where values are shown unchanged the probability of one is c / N
Cost       a sort of (group, value) pairs; for subdomains times the values below them

A release without groups is seen as one with a group for every row. Subdomains are spread over the values below them by
the weights of the published target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.errors import ParameterError
from hedgerow.release import Release
from hedgerow.release.forms.disguised import subdomain_columns
from hedgerow.verify.names import tables_with

_EVERY_VALUE = "null"
"""How a robust guarantee writes that no value is left out."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Somebody in group `owners[i]` has the value `domain[values[i]]` with the probability `shares[i]`.

    Pairs are sorted by group and value; the code len(domain) stands for a missing value. Group g has `sizes[g]` people
    and the pairs `starts[g]:starts[g + 1]`. `overall` is the probability of each value for somebody of unknown group.
    """

    column: str
    domain: pa.Array
    owners: Ints
    values: Ints
    shares: Floats
    sizes: Ints
    starts: Ints
    overall: Floats

    def spread(self, groups: Ints, weights: Floats) -> Floats:
        """The probability of each value for a person whose group is one of `groups`, with odds `weights`."""
        if len(groups) == 0 or weights.sum() <= 0:
            return self.overall
        lengths = self.starts[groups + 1] - self.starts[groups]
        ends = np.cumsum(lengths)
        places = np.arange(ends[-1]) + np.repeat(self.starts[groups] - ends + lengths, lengths)
        parts = self.shares[places] * np.repeat(weights / weights.sum(), lengths)
        return _sums(self.values[places], parts, len(self.overall))


def beliefs(release: Release, column: str, *, beside: Sequence[pa.Table] = ()) -> Beliefs:
    """Read what a release reveals about one sensitive column: by group, or by row where there are no groups.

    The domain takes in the values of the tables `beside` it, so that guesses can be compared with them.
    """
    found = _of_subdomains(release, column) if release.form.has_subdomains else _of_values(release, column)
    others = [_as_type(table.column(column).unique(), found.domain.type, column) for table in beside]
    domain = pc.unique(pa.concat_arrays([found.domain, *others])).drop_null()
    if len(domain) == len(found.domain):
        return found
    domain = domain.take(pc.sort_indices(domain))
    spots = np.append(codes_in(domain, pa.chunked_array([found.domain]), column), len(domain))
    overall = np.zeros(len(domain) + 1)
    overall[spots] = found.overall
    return replace(found, domain=domain, values=spots[found.values], overall=overall)


def _of_values(release: Release, column: str) -> Beliefs:
    table = tables_with(release.tables, column)[0]
    is_grouped = release.group_column in table.column_names
    groups = table.column(release.group_column).to_numpy() if is_grouped else np.arange(table.num_rows)
    domain, codes = _encode(table.column(column))
    width = len(domain) + 1
    pairs, counts = np.unique(groups.astype(np.int64) * width + codes, return_counts=True)
    owners, values = np.divmod(pairs, width)
    # Counterfeits stand among the values; people are counted where they are.
    people = release.tables["quasi"].column(release.group_column).to_numpy() if release.form.may_have_fakes else groups
    return _beliefs(column, domain, owners, values, counts.astype(float), np.bincount(people))


def codes_in(domain: pa.Array, column: pa.ChunkedArray, name: str) -> Ints:
    """Codes of a column's values in `domain`: its length for missing ones, -1 for those that it does not have."""
    cast = _as_type(column.combine_chunks(), domain.type, name)
    places = pc.fill_null(pc.index_in(cast, value_set=domain), -1).to_numpy(zero_copy_only=False)
    return np.where(cast.is_null().to_numpy(zero_copy_only=False), len(domain), places).astype(np.int64)


def _as_type(column: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # Arrow's message names the cell that it could not read, so it is not passed on.
        raise ParameterError(
            f"'{name}' is of another type in the table than in the release; is it the table that was published?"
        ) from None


def _encode(column: pa.ChunkedArray) -> tuple[pa.Array, Ints]:
    """The distinct values in ascending order, and each row's code; missing has the last."""
    encoded = column.combine_chunks().dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order) + 1, np.int64)
    ranks[order], ranks[-1] = np.arange(len(order)), len(order)
    codes: Ints = ranks[encoded.indices.fill_null(len(order)).to_numpy()]
    return encoded.dictionary.take(pa.array(order)), codes


def _beliefs(column: str, domain: pa.Array, owners: Ints, values: Ints, mass: Floats, sizes: NDArray[Any]) -> Beliefs:
    totals = _sums(owners, mass, len(sizes))
    shares = mass / totals[owners]
    starts = np.searchsorted(owners, np.arange(len(sizes) + 1))
    overall = _sums(values, shares * sizes[owners], len(domain) + 1) / sizes.sum()
    return Beliefs(column, domain, owners, values, shares, sizes.astype(np.int64), starts, overall)


def _sums(places: Ints, parts: Floats, width: int) -> Floats:
    return np.bincount(places, parts, minlength=width).astype(np.float64)


def _of_subdomains(release: Release, column: str) -> Beliefs:
    hidden = release.tables["sensitive" if "sensitive" in release.tables else "release"]
    people = release.tables["quasi" if "quasi" in release.tables else "release"]
    nodes = hidden.column(subdomain_columns(release.columns, release.group_column)[2]).to_numpy().astype(np.int64)
    groups = hidden.column(release.group_column).to_numpy().astype(np.int64)
    node_of, leaf_of, chances, domain = _spread_nodes(release.tables["target"])
    width = int(node_of.max()) + 1
    pairs, counts = np.unique(groups * width + nodes, return_counts=True)
    first, behind = (np.searchsorted(node_of, pairs % width, side=side) for side in ("left", "right"))
    lengths = behind - first
    places = np.arange(lengths.sum()) + np.repeat(first - np.cumsum(lengths) + lengths, lengths)
    keys = np.repeat(pairs // width, lengths) * (len(domain) + 1) + leaf_of[places]
    found, owner = np.unique(keys, return_inverse=True)
    mass = _sums(owner, chances[places] * np.repeat(counts, lengths), len(found))
    sizes = np.bincount(people.column(release.group_column).to_numpy())
    # A value whose weight in the target is 0 is no candidate.
    owners, values = np.divmod(found[mass > 0], len(domain) + 1)
    return _beliefs(column, domain, owners, values, mass[mass > 0], sizes)


def _spread_nodes(target: pa.Table) -> tuple[Ints, Ints, Floats, pa.Array]:
    """List the values below each node with their probabilities by the target: (node, value, probability), sorted."""
    parents = target.column("parent").fill_null(-1).to_numpy().astype(np.int64)
    weights = target.column("weight").to_numpy().astype(np.float64)
    inner = parents >= 0
    totals = np.bincount(parents[inner], weights[inner], minlength=len(parents))
    leaves = np.setdiff1d(np.arange(len(parents)), parents[inner])
    domain, codes = _encode(target.column("low").take(pa.array(leaves)))
    at, value, chance = leaves, codes, np.ones(len(leaves))
    found = [(at, value, chance)]
    while len(at := at[keep := parents[at] >= 0]):
        value, chance = value[keep], chance[keep] * weights[at] / totals[parents[at]]
        at = parents[at]
        found.append((at, value, chance))
    nodes, values, chances = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((values, nodes))
    return nodes[order], values[order], chances[order], domain


def target_peak(release: Release) -> float:
    """The largest probability that the published target gives to a value."""
    nodes, _, chances, _ = _spread_nodes(release.tables["target"])
    roots = np.flatnonzero(release.tables["target"].column("parent").is_null().to_numpy())
    return float(chances[np.isin(nodes, roots)].max())


def promised_share(release: Release) -> float | None:
    """The largest share of a group that one value may fill by the guarantee; None where it says nothing."""
    parameters, criterion = release.guarantee.parameters, release.guarantee.criterion
    if criterion == "target":
        return target_peak(release) if Fraction(parameters["shift"]) == 0 else None
    shares = []
    if criterion == "frequency" or parameters.get("diversity") == "frequency":
        shares.append(1 / Fraction(parameters["l"]))
    if criterion in ("m_invariance", "proximity"):
        shares.append(1 / Fraction(parameters["m"]))
    if criterion == "robust" and parameters["protect"] == _EVERY_VALUE:
        shares.append(1 / Fraction(parameters["r"]))
    if "alpha" in parameters:
        shares.append(Fraction(parameters["alpha"]))
    return float(min(shares)) if shares else None
