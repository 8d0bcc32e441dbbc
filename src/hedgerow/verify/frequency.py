"""Check frequency l-diversity of a published release of any form: no value fills more than 1/l of a group.

Source     [Li 2015], definition 2
Guarantee  passes exactly the releases in which l * c <= N for every group of N rows and every value, of which it has c,
           in each sensitive column; where rows and values are in two tables, both have the same groups
Cost       O(n log n) time; codes and a sorted copy of one column beyond the table

m-invariance [Xiao 2007] as far as the published bytes tell, which is m-uniqueness: `check_m_invariance` passes exactly
the releases whose every group publishes at least m values, all different, for at least one and at most as many rows,
with as many counterfeits as declared. Who was published before, and under which signature, is known to the owner alone,
and checked before a release leaves.

What can be seen of a baseline's promise (docs/methods/baselines.md) is little, and the sentence says so. Retention:
every value is in the published domain. Microaggregation: every combination of means is shared by k
rows. Noise and rank swapping: the columns are of the declared kind.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hedgerow.arrays import Ints, is_numeric, one_array
from hedgerow.errors import BrokenPromise, counted
from hedgerow.verify.structure import group_starts
from hedgerow.verify.values import PublishedRelease, is_end, spread, total

__all__ = [
    "check_frequency",
    "check_m_invariance",
    "check_microaggregation",
    "check_noise",
    "check_rank_swap",
    "check_retention",
    "joint",
    "note_rare",
    "sensitive_groups",
    "value_codes",
]


def check_frequency(release: PublishedRelease) -> str:
    """No value fills more than 1/l of a group, in any sensitive column."""
    l = int(release.guarantee.parameters["l"])  # noqa: E741
    table, starts = sensitive_groups(release)
    sizes = np.diff(np.append(starts, table.num_rows))
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for name in release.columns.sensitive:
        if crowded := _count_crowded(groups, value_codes(table.column(name)), sizes, l):
            raise BrokenPromise(
                f"{counted(crowded, 'group holds', 'groups hold')} one value of '{name}' in more "
                f"than 1/{l} of their rows."
            )
    number, rows = spread(release, sizes)
    return f"in each of {number} ({rows} rows) no sensitive value fills more than 1/{l}"


def sensitive_groups(release: PublishedRelease) -> tuple[pa.Table, NDArray[np.int64]]:
    """Find the table of sensitive values and where its groups begin."""
    table = release.tables["sensitive" if "sensitive" in release.tables else "release"]
    return table, group_starts(table, release)


def value_codes(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Number the values of a column; missing is a value like any other."""
    encoded = one_array(column).dictionary_encode()
    codes: NDArray[np.int64] = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy().astype(np.int64)
    return codes


def _count_crowded(
    groups: NDArray[np.int64],
    codes: NDArray[np.int64],
    sizes: NDArray[np.int64],
    l: int,  # noqa: E741
) -> int:
    """Count the groups in which a run of equal values is longer than 1/l of the group."""
    ascending = np.sort(groups * (int(codes.max(initial=0)) + 1) + codes)
    firsts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
    owners = groups[firsts]
    runs = np.diff(np.append(firsts, len(ascending)))
    return len(np.unique(owners[runs > sizes[owners] // l]))


def check_m_invariance(release: PublishedRelease) -> str:
    """Every group publishes at least m values, each once, and no more rows than values."""
    m = int(release.guarantee.parameters["m"])
    people, values = release.tables["quasi"], release.tables["sensitive"]
    column = values.column(release.columns.sensitive[0])
    rows, sizes = (np.diff(np.append(group_starts(t, release), t.num_rows)) for t in (people, values))
    if column.null_count or (sizes < rows).any():
        raise BrokenPromise("A group has a missing value, or fewer values than rows.")
    if broken := _count_broken(np.repeat(np.arange(len(sizes)), sizes), value_codes(column), sizes, m):
        raise BrokenPromise(
            f"{counted(broken, 'group publishes', 'groups publish')} fewer than {m} values, or one of them twice."
        )
    counterfeits = total(release, "counterfeits", int(sizes.sum() - rows.sum()))
    if is_end(release) and counterfeits != release.guarantee.parameters["counterfeits"]:
        raise BrokenPromise("The number of counterfeits is not the one that the release declares.")
    number, different = spread(release, sizes)
    return (
        f"each of {number} publishes {different} different values, "
        f"{counterfeits:,} of them counterfeit; that everybody kept the signature of earlier releases was checked by "
        "the owner"
    )


def _count_broken(groups: Ints, codes: Ints, sizes: Ints, m: int) -> int:
    """Count the groups that publish fewer than m values, or one of them twice."""
    width = int(codes.max(initial=0)) + 1
    pairs = np.sort(groups * width + codes)
    is_broken = sizes < m
    is_broken[pairs[1:][pairs[1:] == pairs[:-1]] // width] = True
    return int(is_broken.sum())


def check_retention(release: PublishedRelease) -> str:
    """Every published value belongs to the published domain."""
    (name,) = release.guarantee.columns
    values, domain = release.tables["release"].column(name), release.tables["domain"].column(name)
    if values.null_count or domain.null_count or len(domain.unique()) != len(domain):
        raise BrokenPromise(f"The published values of '{name}' or of its domain are missing or listed twice.")
    if not pc.all(pc.is_in(values, value_set=domain.combine_chunks())).as_py():
        raise BrokenPromise(f"'{name}' has values outside the published domain.")
    _check_risk(release, len(domain))
    return f"values are from a domain of {len(domain):,}; how many were kept cannot be seen"


def _check_risk(release: PublishedRelease, size: int) -> None:
    """Whatever the true values are, some value has at least its part of them, and that is what its risk is at least.

    Around a value of share f, with n of the domain's values near, the risk is f (p + q n / size) / (p f + q n / size),
    q = 1 - p. It grows with f, which is at least 1 / size for some value, and falls with n.
    """
    parameters = release.guarantee.parameters
    if "m" in parameters:
        p, near = Fraction(parameters["p"]), size if Fraction(parameters["eps"]) else 1
        if int(parameters["m"]) * (p + (1 - p) * near / size) > p + (1 - p) * near:
            raise BrokenPromise("With such a probability of keeping a value no table has the risk that is promised.")


def check_noise(release: PublishedRelease) -> str:
    """The noisy columns hold numbers and nothing missing."""
    _require_complete(release, numbers=release.guarantee.columns)
    return "noisy columns have no gaps; how much noise was added cannot be seen"


def check_rank_swap(release: PublishedRelease) -> str:
    """The swapped columns hold nothing missing."""
    _require_complete(release)
    return "swapped columns have no gaps; who swapped with whom cannot be seen"


def check_microaggregation(release: PublishedRelease) -> str:
    """Every combination of means is shared by at least k rows."""
    nodes = json.loads(str(release.guarantee.parameters.get("nodes", "[]")))
    _require_complete(release, numbers=[name for name in release.guarantee.columns if name not in nodes])
    k = int(release.guarantee.parameters["k"])
    classes, sizes = _combinations(release)
    if release.whole is not None:
        return _add_rare(release, classes, sizes, k)
    if sizes.min() < k:
        raise BrokenPromise(
            f"{counted(int((sizes < k).sum()), 'combination of means is', 'combinations of means are')} "
            f"shared by fewer than {k} rows."
        )
    return f"each of {counted(len(sizes), 'combination')} of means is shared by {sizes.min():,} to {sizes.max():,} rows"


def _combinations(release: PublishedRelease) -> tuple[Ints, Ints]:
    """The number of each row's combination of means, and how many rows have each."""
    table = release.tables["release"]
    classes = np.zeros(table.num_rows, np.int64)
    for name in release.guarantee.columns:
        classes = joint(classes, value_codes(table.column(name)))
    return classes, np.bincount(classes)


def note_rare(release: PublishedRelease) -> None:
    """Remember the combinations of means that a part has fewer than k times: all parts are counted for these."""
    assert release.whole is not None
    classes, sizes = _combinations(release)
    for row in _rows_of(release, classes, np.flatnonzero(sizes < int(release.guarantee.parameters["k"]))):
        release.whole.rare[row] = 0


def _rows_of(release: PublishedRelease, classes: Ints, wanted: Ints) -> list[tuple[object, ...]]:
    first = np.zeros(int(classes.max(initial=0)) + 1, np.int64)
    first[classes] = np.arange(len(classes))
    table = release.tables["release"].select(list(release.guarantee.columns)).take(pa.array(first[wanted]))
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _add_rare(release: PublishedRelease, classes: Ints, sizes: Ints, k: int) -> str:
    assert release.whole is not None
    rare = release.whole.rare
    if rare:
        for row, size in zip(_rows_of(release, classes, np.arange(len(sizes))), sizes.tolist(), strict=True):
            if row in rare:
                rare[row] += size
    if is_end(release) and (few := sum(number < k for number in rare.values())):
        raise BrokenPromise(
            f"{counted(few, 'combination of means is', 'combinations of means are')} shared by fewer than {k} rows."
        )
    return f"each combination of means is shared by at least {k} rows"


def joint(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the pairs that occur, in their order."""
    width = int(other.max(initial=0)) + 1
    pairs, span = one * width + other, (int(one.max(initial=0)) + 1) * width
    numbers: NDArray[np.int64]
    if span > 8 * len(pairs):  # a table of all possible pairs would cost more than sorting those that there are
        numbers = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
        return numbers
    occurs = np.zeros(span, np.bool_)
    occurs[pairs] = True
    numbers = (np.cumsum(occurs) - 1)[pairs]
    return numbers


def _require_complete(release: PublishedRelease, *, numbers: Sequence[str] = ()) -> None:
    table = release.tables["release"]
    if any(table.column(name).null_count for name in release.guarantee.columns):
        raise BrokenPromise("A replaced column has missing values.")
    if not all(is_numeric(table.schema.field(name).type) for name in numbers):
        raise BrokenPromise("A column of other values than numbers has neither noise nor means.")
