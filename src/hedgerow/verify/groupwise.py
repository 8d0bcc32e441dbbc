"""Check every classic criterion that a release promises of its groups; a letter among the parameters names it.

Guarantee  passes exactly the releases whose groups satisfy every criterion that is named, in every sensitive column;
           shares are compared as fractions, logarithms with 60 digits
Cost       O(n log n) for the counts; then O(distinct pairs of counts), and see `l_diversity` and `t_closeness`

What a published release shows of its groups (rows, and how often each sensitive value occurs in each) is found by
counting pairs of group and value, or by sorting them where there could be many, in O(n log n) per column. l-diversity
in the senses distinct, frequency and recursive is decided by whole numbers and fractions; entropy by decimals of 100
digits, and a group within 10^-80 of the border counts as on it. t-closeness moves each group's shares onto those of all
published rows, decided by whole numbers; the hierarchical distance uses the tree that the guarantee lists. It costs
O(pairs log values) for the ordered distance and O(pairs log pairs) a level for the others.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import one_array
from hedgerow.errors import BrokenPromise, counted
from hedgerow.verify.frequency import sensitive_groups
from hedgerow.verify.values import PublishedRelease, spread

__all__ = ["Counted", "Parameters", "check_groupwise", "check_l", "check_t", "count_values", "require_shares"]

Parameters = dict[str, int | str]


@dataclass(frozen=True, eq=False)
class Counted:
    """One sensitive column: group `owners[i]` has `counts[i]` rows of `values[codes[i]]`; sorted by group, then code.

    Codes ascend with the values; a missing value has the last code and is not in `values`.
    """

    name: str
    values: pa.Array
    sizes: NDArray[np.int64]
    owners: NDArray[np.int64]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    overall: NDArray[np.int64]

    @property
    def kind(self) -> type:
        """The type in which a number of rows times a size, or times the number of values, is exact."""
        most = int(self.overall.sum()) * max(int(self.sizes.max()), len(self.overall))
        return np.int64 if most < 2**62 else object

    def runs(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The codes and counts of each group."""
        borders = np.flatnonzero(np.diff(self.owners)) + 1
        return list(zip(np.split(self.codes, borders), np.split(self.counts, borders), strict=True))


def count_values(release: PublishedRelease) -> list[Counted]:
    """Count every sensitive column."""
    table, starts = sensitive_groups(release)
    sizes = np.diff(np.append(starts, table.num_rows))
    groups = np.repeat(np.arange(len(sizes)), sizes)
    columns = [_column(name, table.column(name), groups, sizes) for name in release.columns.sensitive]
    if release.whole is None or not release.whole.overall:
        return columns
    return [_against(column, *release.whole.overall[column.name]) for column in columns]


def _against(column: Counted, values: pa.Array, overall: NDArray[np.int64]) -> Counted:
    """The counts of a part with the codes and frequencies of all parts."""
    places = pc.index_in(column.values, value_set=values).to_numpy()
    codes = np.append(places, len(values))[column.codes]
    return replace(column, values=values, codes=codes, overall=overall)


def _column(name: str, column: pa.ChunkedArray, groups: NDArray[np.int64], sizes: NDArray[np.int64]) -> Counted:
    encoded = one_array(column).dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order) + 1, np.int64)
    ranks[order] = np.arange(len(order))
    ranks[-1] = len(order)
    codes = ranks[encoded.indices.fill_null(len(order)).to_numpy()]
    width = int(codes.max()) + 1
    pairs, counts = _count_pairs(groups * width + codes, len(sizes) * width)
    owners = pairs // width
    values = encoded.dictionary.take(pa.array(order))
    return Counted(name, values, sizes, owners, pairs - owners * width, counts, np.bincount(codes))


def _count_pairs(pairs: NDArray[np.int64], width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct pairs below `width`, ascending, and how often each occurs: in a table of all, or by sorting."""
    if width <= 4 * len(pairs):
        table = np.bincount(pairs, minlength=width)
        seen = np.flatnonzero(table > 0)
        return seen, table[seen]
    ascending = np.sort(pairs)
    firsts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
    return ascending[firsts], np.diff(np.append(firsts, len(ascending)))


def require_shares(column: Counted, good: Callable[[Fraction, Fraction], bool], broken: str) -> None:
    """Raise BrokenPromise unless `good` says so of every value's share in its group and in the whole column."""
    rows = int(column.overall.sum())
    triples = _distinct(column.counts, column.sizes[column.owners], column.overall[column.codes])
    for count, size, frequency in triples:
        if not good(Fraction(count, size), Fraction(frequency, rows)):
            raise BrokenPromise(f"A value of '{column.name}' {broken}.")


def _distinct(*columns: NDArray[np.int64]) -> list[list[int]]:
    """The distinct rows of several columns of counts; packed into one number where they fit, which sorts faster."""
    widths = [int(column.max()) + 1 for column in columns]
    if math.prod(widths) >= 2**63:
        rows = np.unique(np.stack(columns, axis=1), axis=0)
    else:
        packed = np.unique(np.ravel_multi_index(columns, widths))
        rows = np.stack(np.unravel_index(packed, widths), axis=1)
    distinct: list[list[int]] = rows.tolist()
    return distinct


def check_l(column: Counted, parameters: Parameters) -> str:
    """The promised sense of diversity."""
    return _SENSES[str(parameters["diversity"])](column, parameters)


def _check_distinct(column: Counted, parameters: Parameters) -> str:
    least = int(parameters["l"])
    if few := int((np.bincount(column.owners) < least).sum()):
        raise BrokenPromise(
            f"{counted(few, 'group holds', 'groups hold')} fewer than {least} distinct values of '{column.name}'."
        )
    return f"at least {least} distinct values of '{column.name}'"


def _frequency(column: Counted, parameters: Parameters) -> str:
    parts = int(parameters["l"])
    # count * l <= size in whole numbers: the floor loses nothing, because a count is whole.
    if crowded := int((column.counts > column.sizes[column.owners] // parts).sum()):
        raise BrokenPromise(
            f"'{column.name}' has {counted(crowded, 'value that fills', 'values that fill')} more "
            f"than 1/{parts} of a group."
        )
    return f"no value of '{column.name}' in more than 1/{parts} of the rows"


def _entropy(column: Counted, parameters: Parameters) -> str:
    wanted = Fraction(parameters["l"])
    for counts in {tuple(sorted(counts.tolist())) for _, counts in column.runs()}:
        if not _reaches(counts, wanted):
            raise BrokenPromise(f"A group's entropy in '{column.name}' is below the promised one.")
    return f"an entropy of at least log {parameters['l']} in '{column.name}'"


def _reaches(counts: tuple[int, ...], wanted: Fraction) -> bool:
    rows = sum(counts)
    shares = np.array(counts) / rows
    entropy = -float((shares * np.log(shares)).sum())
    target = math.log(wanted.numerator) - math.log(wanted.denominator)
    # Rounding of this sum stays far below a millionth, so only groups nearer than that need long decimals.
    if abs(entropy - target) > 1e-6:
        return entropy > target
    with localcontext() as context:
        context.prec = 100
        inside = sum((times * count * _ln(count) for count, times in Counter(counts).items()), Decimal(0))
        margin = rows * (Decimal(rows) * wanted.denominator / wanted.numerator).ln() - inside
        return margin >= -(Decimal(10) ** -80)


@cache
def _ln(number: int) -> Decimal:
    return Decimal(number).ln(Context(prec=100))


def _recursive(column: Counted, parameters: Parameters) -> str:
    c, least = Fraction(parameters["c"]), int(parameters["l"])
    for _, counts in column.runs():
        descending = np.sort(counts)[::-1]
        if not int(descending[0]) < c * int(descending[least - 1 :].sum()):
            raise BrokenPromise(f"A group's most frequent value of '{column.name}' outweighs the rest.")
    return f"recursive ({parameters['c']}, {least})-diversity of '{column.name}'"


_SENSES: dict[str, Callable[[Counted, Parameters], str]] = {
    "distinct": _check_distinct,
    "frequency": _frequency,
    "entropy": _entropy,
    "recursive": _recursive,
}


def check_t(column: Counted, parameters: Parameters) -> str:
    """Every group is within t of the column."""
    t, distance = Fraction(parameters["t"]), str(parameters["distance"])
    is_ordered = distance == "ordered"
    masses = _gap_masses(column) if is_ordered else _by_levels(column, _levels(column, parameters, distance))
    if any(moved > t for moved in masses):
        raise BrokenPromise(f"A group is farther than t from the distribution of '{column.name}'.")
    return f"within {parameters['t']} ({distance}) of the distribution of '{column.name}'"


def _gap_masses(column: Counted) -> Iterator[Fraction]:
    """The mass that crosses each gap between neighbouring values, added up for each group.

    Between two values of a group its own share is one number, while that of the column grows: a binary search finds
    where one overtakes the other, and sums of the column's shares give the rest.
    """
    if len(column.overall) > len(column.values):
        raise BrokenPromise(f"'{column.name}' has missing values, which have no place in an order.")
    rows, steps = int(column.overall.sum()), max(len(column.overall) - 1, 1)
    upto = np.cumsum(column.overall)
    sums = np.append(0, np.cumsum(upto.astype(column.kind))).tolist()
    ends = np.append(column.codes[1:], 0)
    ends[np.append(np.flatnonzero(np.diff(column.owners)), len(ends) - 1)] = len(upto)
    firsts = np.flatnonzero(np.diff(column.owners, prepend=-1))
    before = np.cumsum(column.counts) - column.counts
    inside = before + column.counts - np.repeat(before[firsts], np.diff(np.append(firsts, len(before))))
    sizes = column.sizes[column.owners]
    # The first code at which the column has more: upto * size > inside * rows, in whole numbers.
    reached = (inside.astype(column.kind) * rows // sizes).astype(np.int64)
    overtaken = np.clip(np.searchsorted(upto, reached, side="right"), column.codes, ends)
    first_ends = np.append(firsts, len(before)).tolist()
    of_pairs = [array.tolist() for array in (column.codes, ends, inside, overtaken)]
    heads = column.codes[firsts].tolist()
    for place, size in enumerate(column.sizes.tolist()):
        total = sums[heads[place]] * size  # before the group's first value it has nothing
        for pair in range(first_ends[place], first_ends[place + 1]):
            first, end, own, cut = (array[pair] for array in of_pairs)
            total += own * rows * (2 * cut - first - end) + size * (sums[end] + sums[first] - 2 * sums[cut])
        yield Fraction(total, rows * size * steps)


def _levels(column: Counted, parameters: Parameters, distance: str) -> list[NDArray[np.int64]]:
    """For each level below the root the number of the node above each code; one level of values if all are equal."""
    size = len(column.overall)
    if distance == "equal":
        return [np.arange(size)]
    lines = json.loads(str(parameters.get(f"hierarchy of {column.name}", "[]")))
    texts = column.values.cast(pa.string()).to_pylist()
    known = {line[0]: line for line in lines}
    if not all(text in known for text in texts) or len({len(line) for line in lines}) > 1:
        raise BrokenPromise(f"The guarantee does not list the hierarchy of '{column.name}'.")
    # A node is known by its label and the node above it: the same label may stand in two branches.
    above, levels = [0] * len(texts), []
    for level in range(max(len(lines[0]) - 1, 1) - 1 if lines else 0, -1, -1):
        nodes = [(node, known[text][level]) for node, text in zip(above, texts, strict=True)]
        numbers = {node: place for place, node in enumerate(dict.fromkeys(nodes))}
        above = [numbers[node] for node in nodes]
        levels.append(np.array([*above, *range(len(above), size)]))  # a missing value is a node of its own
    return levels or [np.arange(size)]


def _by_levels(column: Counted, levels: list[NDArray[np.int64]]) -> Iterator[Fraction]:
    """The mean over levels of half the sum of differences of shares."""
    rows = int(column.overall.sum())
    moved: NDArray[Any] = np.zeros(len(column.sizes), column.kind)
    for level in levels:
        # Both shares add up to one, so what one node has too much the others have too little.
        totals = np.bincount(level, weights=column.overall).astype(np.int64)
        pairs, owner = np.unique(column.owners * len(totals) + level[column.codes], return_inverse=True)
        inside: NDArray[Any] = np.bincount(owner, weights=column.counts).astype(np.int64).astype(column.kind)
        owners, nodes = pairs // len(totals), pairs % len(totals)
        excess = np.maximum(inside * rows - totals[nodes].astype(column.kind) * column.sizes[owners], 0)
        moved += np.add.reduceat(excess, np.flatnonzero(np.diff(owners, prepend=-1)))
    for total, size in zip(moved.tolist(), column.sizes.tolist(), strict=True):
        yield Fraction(total, rows * size * len(levels))


_DIGITS = 60


def check_k(column: Counted, parameters: Parameters) -> str:
    """At least k rows."""
    k = int(parameters["k"])
    if few := int((column.sizes < k).sum()):
        raise BrokenPromise(f"{counted(few, 'group has', 'groups have')} fewer than {k} rows.")
    return f"at least {k} rows"


def check_alpha(column: Counted, parameters: Parameters) -> str:
    """No share above alpha."""
    alpha = Fraction(parameters["alpha"])
    require_shares(column, lambda share, _: share <= alpha, "fills more than alpha of a group")
    return f"no value of '{column.name}' in more than {parameters['alpha']} of the rows"


def check_beta(column: Counted, parameters: Parameters) -> str:
    """No value gains more than beta, nor, if enhanced, more than minus the logarithm of its share."""
    beta, enhanced = Fraction(parameters["beta"]), bool(parameters["enhanced"])

    def good(share: Fraction, base: Fraction) -> bool:
        gain = (share - base) / base
        return gain <= beta and (not enhanced or _below_log(gain, base))

    require_shares(column, good, "gains more than beta in a group")
    return f"no value of '{column.name}' gains more than {parameters['beta']}"


def _below_log(gain: Fraction, base: Fraction) -> bool:
    if gain <= 0:
        return True
    with localcontext() as context:
        context.prec = _DIGITS
        bound = (Decimal(base.denominator) / Decimal(base.numerator)).ln()
        return Decimal(gain.numerator) / Decimal(gain.denominator) <= bound


def check_delta(column: Counted, parameters: Parameters) -> str:
    """Every value is in every group, neither much more nor much less often than in the column."""
    delta = Fraction(parameters["delta"])
    if (np.bincount(column.owners) < len(column.overall)).any():
        raise BrokenPromise(f"A value of '{column.name}' is missing from a group.")
    require_shares(column, lambda share, base: _is_near(share / base, delta), "is too frequent or too rare in a group")
    return f"every value of '{column.name}' within e^{parameters['delta']} of its share"


def _is_near(ratio: Fraction, delta: Fraction) -> bool:
    with localcontext() as context:
        context.prec = _DIGITS
        logarithm = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        return abs(logarithm) < Decimal(delta.numerator) / Decimal(delta.denominator)


def check_presence(column: Counted, parameters: Parameters) -> str:
    """Members are those whose value is true, or the greater of two values."""
    low, high = Fraction(parameters["presence_low"]), Fraction(parameters["presence_high"])
    listed, is_truth = column.values.to_pylist(), pa.types.is_boolean(column.values.type)
    if len(column.overall) > len(listed) or not (is_truth or len(listed) == 2):
        raise BrokenPromise(
            f"'{column.name}' must tell members from others by truth values or by two values, in every row."
        )
    members = 1 if not is_truth else listed.index(True) if True in listed else -1
    is_member = column.codes == members
    present = np.bincount(column.owners[is_member], weights=column.counts[is_member], minlength=len(column.sizes))
    pairs = np.unique(np.stack([present.astype(np.int64), column.sizes], axis=1), axis=0).tolist()
    if not all(low <= Fraction(count, size) <= high for count, size in pairs):
        raise BrokenPromise(f"A group's share of members in '{column.name}' is outside the promised bounds.")
    return f"a share of members from {parameters['presence_low']} to {parameters['presence_high']}"


_LETTERS: dict[str, Callable[[Counted, Parameters], str]] = {
    "k": check_k,
    "l": check_l,
    "t": check_t,
    "alpha": check_alpha,
    "delta": check_delta,
    "beta": check_beta,
    "presence_low": check_presence,
}


def check_groupwise(release: PublishedRelease) -> str:
    """Every group satisfies every criterion that the guarantee names."""
    parameters = dict(release.guarantee.parameters)
    columns = count_values(release)
    seen = [check(column, parameters) for name, check in _LETTERS.items() if name in parameters for column in columns]
    groups, rows = spread(release, columns[0].sizes)
    seen[: len(columns)] = [f"{seen[0]} ({rows})"]
    return f"in each of {groups}: {'; '.join(dict.fromkeys(seen))}"
