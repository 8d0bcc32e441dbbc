"""Check that the help table follows from the release, column by column: an edited bound would be believed by databases.

Source     [Zhang 2008], section 2.5.2 and table 2.4; docs/bundle.md
Guarantee  passes exactly the tables that have the columns of docs/bundle.md and no others, whose groups, hits, sizes
           and bounds are those that follow from the published rows; expectations agree to 9 digits. A value of a
           subdomain follows the target below its node; where the target gives nothing below it a chance, expectations
           lie between the bounds
Cost       O(n log n) per sensitive column; exact integers beyond 64 bits where sums need them

Bounds are sums and ends of exact ticks: floats without a common decimal unit lie between two ticks of 15 digits of the
largest value, and a lower bound takes the lower ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints, is_numeric
from hedgerow.errors import BrokenPromise, SchemaError
from hedgerow.exact import DecimalGrid, column_grid, floats_of, ticks
from hedgerow.verify.names import subdomain_columns
from hedgerow.verify.structure import check_table, layout_of
from hedgerow.verify.target import trees_of
from hedgerow.verify.values import PublishedRelease

__all__ = ["check_help", "grids_of"]

_FINEST = 10**38
_NEAR = 1e-9
_BOUNDS = ("sum_lower", "sum_upper", "min_lower", "min_upper", "max_lower", "max_upper")
_MEANS = ("sum_expected", "sum_variance")


@dataclass(frozen=True, eq=False)
class _Values:
    """The values of each group between ticks, ascending inside their group, from which its rows draw."""

    lows: Ints
    highs: Ints
    unit: Fraction
    starts: Ints
    sizes: Ints
    gap: float
    """How far apart the two ticks around a value are at most, in units; expectations lie as far from theirs."""


def check_help(release: PublishedRelease, helper: pa.Table, which: str = "all") -> str:
    """Compare the help table with what the published rows say; `which` tells whether it has sums alone."""
    bounds = _BOUNDS if which == "all" else _BOUNDS[:2]
    people = release.tables["quasi" if "quasi" in release.tables else "release"]
    rows = np.bincount(_groups(people, release), minlength=release.groups)
    table = release.tables["sensitive" if "sensitive" in release.tables else "release"]
    sizes = np.bincount(_groups(table, release), minlength=release.groups)
    helped = dict(pair for name in release.columns.sensitive for pair in _bounded_columns(release, table, name, sizes))
    _check_columns(helper, [prefix + name for prefix in helped for name in (*bounds, *_MEANS)])
    group = np.repeat(np.arange(len(rows)), rows)
    hits = np.arange(len(group)) - (np.cumsum(rows) - rows)[group] + 1
    counts = {"group": group, "hits": hits, "size": sizes[group]}
    if helper.num_rows != len(group) or not all(_equals(helper, name, wanted) for name, wanted in counts.items()):
        raise BrokenPromise("help.parquet does not list every number of hits of every group once.")
    for prefix, values in helped.items():
        _check_bounds(helper, prefix, values, (group, hits), bounds)
        if layout_of(release).has_subdomains:
            _check_between(helper, prefix, (group, hits), values)
            means, variances = _node_moments(release, table)
        else:
            means = (values.lows.astype(float) + values.highs.astype(float)) / 2.0 * float(values.unit)
            variances = np.zeros(len(means))
        if means is not None:
            _check_means(helper, prefix, values, (group, hits), (means, variances))
    return f"help.parquet: {(len(bounds) + len(_MEANS)) * len(helped)} columns follow from the published rows"


def _groups(table: pa.Table, release: PublishedRelease) -> NDArray[np.int32]:
    groups: NDArray[np.int32] = table.column(release.group_column).to_numpy()
    return groups


def _equals(helper: pa.Table, name: str, wanted: Ints) -> bool:
    column = helper.column(name)
    return not column.null_count and np.array_equal(column.to_numpy(), wanted)


def _bounded_columns(release: PublishedRelease, table: pa.Table, name: str, sizes: Ints) -> list[tuple[str, _Values]]:
    """The prefix of a sensitive column's bounds and its values; none where it is no number or has gaps."""
    prefix = "" if len(release.columns.sensitive) == 1 else f"{name}_"
    ends = [name]
    if layout_of(release).has_subdomains:
        ends = list(subdomain_columns(release.columns, release.group_column)[:2])
    columns = [table.column(end).combine_chunks() for end in ends]
    if not is_numeric(columns[0].type) or any(column.null_count for column in columns):
        return []
    grid = None if release.whole is None else release.whole.grids[name]
    if grid is not None and (grid.has_missing or not grid.fits):
        return []
    if layout_of(release).has_subdomains and grid is None:
        grid = grids_of(release)[name]
    # One line for both ends, so that they share a unit.
    found = _ticks(pa.concat_arrays(columns), grid)
    if found is None:
        return []
    lows, highs, unit = found
    gap = float((highs - lows).max())
    groups = _groups(table, release)
    lows, highs = lows[: len(groups)], highs[-len(groups) :]
    lows, highs = lows[np.lexsort((lows, groups))], highs[np.lexsort((highs, groups))]
    return [(prefix, _Values(lows, highs, unit, np.cumsum(sizes) - sizes, sizes, gap))]


def grids_of(release: PublishedRelease) -> dict[str, DecimalGrid]:
    """The units of sensitive columns of numbers; those of subdomains are the units of their targets' values."""
    columns: dict[str, DecimalGrid] = {}
    table = release.tables["sensitive" if "sensitive" in release.tables else "release"]
    for name in release.columns.sensitive:
        if layout_of(release).has_subdomains:
            target = release.tables["target"]
            found = column_grid(target.column("low"), target.column("high"))
        else:
            found = column_grid(table.column(name))
        columns |= {name: found} if found is not None else {}
    return columns


def _ticks(column: pa.Array, grid: DecimalGrid | None) -> tuple[Ints, Ints, Fraction] | None:
    """Numbers between ticks of one unit; None where these leave 64 bits or are finer than 38 places."""
    if pa.types.is_decimal(column.type):
        words = _words(column)
        steps = words[:, 0]
        found = None if (words[:, 1] != steps >> 63).any() else (steps, steps, Fraction(1, 10**column.type.scale))
    else:
        try:
            found = ticks(column.to_numpy(zero_copy_only=False), grid)
        except SchemaError:
            return None
    return found if found is not None and found[2].numerator == 1 and found[2].denominator <= _FINEST else None


def _words(column: pa.Array) -> Ints:
    """Decimals of 128 bits as pairs of 64-bit words, the lower one first."""
    words: Ints = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)
    return words[column.offset : column.offset + len(column)]


def _check_columns(helper: pa.Table, names: list[str]) -> None:
    """Exactly the columns that the published ones ask for; bounds are whole numbers or decimals."""
    expected: dict[str, pa.DataType | None] = {"group": pa.int32(), "hits": pa.int64(), "size": pa.int64()}
    if sorted(helper.column_names) != sorted([*expected, *names]):
        raise BrokenPromise("The columns of help.parquet are not those that follow from the published ones.")
    for name in names:
        kind = helper.schema.field(name).type
        is_bound = kind == pa.int64() or pa.types.is_decimal128(kind)
        if not (kind == pa.float64() if name.endswith(_MEANS) else is_bound) or helper.column(name).null_count:
            raise BrokenPromise(f"help.parquet: '{name}' is of a type that it cannot have, or has gaps.")
        expected[name] = None
    check_table(helper, expected)


def _check_bounds(
    helper: pa.Table, prefix: str, values: _Values, asked: tuple[Ints, Ints], names: tuple[str, ...]
) -> None:
    """Recompute every bound: h hits take the h smallest or the h largest values of their group."""
    group, hits = asked
    first, last = values.starts[group], values.starts[group] + values.sizes[group] - 1
    bounds = {
        "sum_lower": _sums(values.lows, values)[first + hits - 1],
        "sum_upper": _sums(_reverse(values.highs, values), values)[first + hits - 1],
        "min_lower": values.lows[first],
        "min_upper": values.highs[last - hits + 1],
        "max_lower": values.lows[first + hits - 1],
        "max_upper": values.highs[last],
    }
    for name in names:
        if not _is_same(helper.column(prefix + name).combine_chunks(), bounds[name], values.unit):
            raise BrokenPromise(f"help.parquet: '{prefix + name}' does not follow from the published rows.")


def _reverse(numbers: Ints, values: _Values) -> Ints:
    """The numbers of each group from the last to the first."""
    owner = np.repeat(np.arange(len(values.sizes)), values.sizes)
    turned: Ints = numbers[2 * values.starts[owner] + values.sizes[owner] - 1 - np.arange(len(numbers))]
    return turned


def _sums(numbers: Ints, values: _Values) -> NDArray[Any]:
    """Add up inside each group, exactly: in 64 bits where nothing can leave them."""
    largest = max(abs(int(numbers.min(initial=0))), abs(int(numbers.max(initial=0))))
    wide = numbers if largest * int(values.sizes.max()) < 2**62 else numbers.astype(object)
    # Whole numbers of 64 bits wrap around and back, so the difference of two sums is exact.
    totals = np.cumsum(wide)
    sums: NDArray[Any] = totals - np.repeat(totals[values.starts] - wide[values.starts], values.sizes)
    return sums


def _is_same(column: pa.Array, wanted: NDArray[Any], unit: Fraction) -> bool:
    """Tell whether a column holds exactly these multiples of a unit."""
    if pa.types.is_integer(column.type):
        return unit == 1 and bool((column.to_numpy() == wanted).all())
    if Fraction(1, 10**column.type.scale) != unit:
        return False
    low, high = _words(column).T
    if wanted.dtype != object:
        return bool((low == wanted).all() and (high == wanted >> 63).all())
    pairs = zip(low.tolist(), high.tolist(), wanted.tolist(), strict=True)
    return all(upper * 2**64 + lower % 2**64 == number for lower, upper, number in pairs)


def _node_moments(release: PublishedRelease, table: pa.Table) -> tuple[Floats | None, Floats]:
    """The mean and the variance of each published subdomain under the target, in the order of the groups.

    None where the target gives no value below some published node a chance: then there is nothing to expect.
    """
    trees, target = trees_of(release), release.tables["target"]
    lows, highs = (floats_of(target.column(end)).to_numpy() for end in ("low", "high"))
    means, squares, has_chance = lows.copy(), np.zeros(len(lows)), trees.totals == 0
    has_chance &= lows == highs
    for depth in range(int(trees.depths.max(initial=0)) - 1, -1, -1):
        inner = np.flatnonzero((trees.depths == depth) & (trees.totals > 0))
        children = np.flatnonzero(trees.depths == depth + 1)
        children = children[has_chance[children] & (trees.totals[trees.parents[children]] > 0)]
        above = trees.parents[children]
        shares = trees.weights[children] / trees.totals[above]
        sums = np.bincount(above, shares * means[children], minlength=len(means))
        means[inner] = sums[inner]
        apart = squares[children] + (means[children] - means[above]) ** 2
        squares[inner] = np.bincount(above, shares * apart, minlength=len(means))[inner]
        has_chance[inner] = np.bincount(above, shares, minlength=len(means))[inner] > 1 - _NEAR
    nodes = table.column(subdomain_columns(release.columns, release.group_column)[2]).to_numpy()
    if not has_chance[nodes].all():
        return None, squares
    return means[nodes], squares[nodes]


def _check_means(
    helper: pa.Table, prefix: str, values: _Values, asked: tuple[Ints, Ints], moments: tuple[Floats, Floats]
) -> None:
    """What to expect of h values drawn from a group without putting them back, and how it varies."""
    (group, hits), (means, inside) = asked, moments
    unit, sizes = float(values.unit), values.sizes
    owner = np.repeat(np.arange(len(sizes)), sizes)
    mean = np.bincount(owner, means, minlength=len(sizes)) / sizes
    variance = np.bincount(owner, (means - mean[owner]) ** 2, minlength=len(sizes)) / sizes
    own = np.bincount(owner, inside, minlength=len(sizes)) / sizes
    size = sizes[group]
    drawn = hits * (size - hits) / np.maximum(size - 1, 1) * variance[group]
    wanted = (hits * mean[group], drawn + hits * own[group])
    widest, gap = _widest(values), values.gap
    slacks = (hits * (_NEAR * widest + gap)[group], hits * (_NEAR * widest**2 + gap * (2 * widest + gap))[group])
    for name, numbers, slack, power in zip(_MEANS, wanted, slacks, (1, 2), strict=True):
        found = helper.column(prefix + name).to_numpy()
        if not (np.abs(found - numbers) <= slack * unit**power).all():
            raise BrokenPromise(f"help.parquet: '{prefix + name}' does not follow from the published rows.")


def _widest(values: _Values) -> Floats:
    """The largest value of each group, in units, to which floats are compared: sums may cancel."""
    largest = np.maximum(np.abs(values.lows.astype(float)), np.abs(values.highs.astype(float)))
    found: Floats = np.maximum.reduceat(largest, values.starts)
    return found


def _check_between(helper: pa.Table, prefix: str, asked: tuple[Ints, Ints], values: _Values) -> None:
    """An expectation lies between the bounds, and a variance is at most the square of half their distance."""
    group, hits = asked
    lower, upper = (floats_of(helper.column(f"{prefix}sum_{end}")).to_numpy() for end in ("lower", "upper"))
    mean, variance = (helper.column(prefix + name).to_numpy() for name in _MEANS)
    slack = _NEAR * hits * _widest(values)[group] * float(values.unit) + np.finfo(float).tiny
    fits = (lower - slack <= mean) & (mean <= upper + slack) & (variance >= 0)
    if not (fits & (variance <= ((upper - lower) / 2 + slack) ** 2 * (1 + _NEAR))).all():
        raise BrokenPromise(f"help.parquet: '{prefix}sum_expected' or its variance cannot follow from the subdomains.")
