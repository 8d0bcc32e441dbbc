"""Measures of loss: how much information a partition, or changed cells, lose for analysts.

Source     NCP: [Xu 2006]; [Li 2015], definition 3. RCE: [Xiao 2006]; [Li 2015], section 2.3. Discernibility:
           [Bayardo 2005]. Average class size: [LeFevre 2006]. Distortion: [Xue 2011], equation 6
Cost       O(n) per column; RCE O(n log n)
Deviates   the printed RCE of a scattered release multiplies counts by a product that is no posterior; here a value v
           has the probability s c(v)/N, s being the probability that the person's row exists in the group: 1 where
           quasi-identifiers are published unchanged. A cell that is zero has no relative change; its distortion
           is measured against the mean size of its column

NCP, the normalized certainty penalty, is the share of its domain that the box of a row covers, summed over columns and
rows. A column of numbers costs its range over the range of the domain; a column of categories the values covered over
all of them, and nothing where there is one. A box with missing values costs a column's whole domain, for a missing
value may be any. The sum runs from 0 to rows times columns.

RCE, the reconstruction error of a person with value v in a group of N rows, is
(1 - s c(v)/N)^2 + sum over other values w of (s c(w)/N)^2.

Loss of generalization by the field's names: granularity [Iyengar 2002], precision [Sweeney 2002], non-uniform entropy
[Gionis 2009], discernibility [Bayardo 2005], average class size [LeFevre 2006], ambiguity [Goldberger 2010]. Where ARX
departs: docs/methods/measures.md. What is lost of a cell follows from its box: how many of the domain's values the box
covers, and how many rows of the table have one of these. The domain is the hierarchy's where there is one, else the
values that occur. A suppressed row loses everything. A box that may also be missing covers the whole domain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import Codes, Floats, Ints
from hedgerow.errors import ParameterError, SchemaError
from hedgerow.exact import Line, column_line
from hedgerow.parameters import read_whole
from hedgerow.release.forms.generalized import SETS, BoxColumns, box_columns
from hedgerow.utility.risk import class_codes

if TYPE_CHECKING:
    from hedgerow.release import Release
    from hedgerow.schema import Hierarchy
    from hedgerow.table import Encoded, Table


def ncp(release: Release, *, widths: Mapping[str, float] | None = None) -> float:
    """Add up the penalty of a generalized release.

    `widths` gives the range, or the number of values, of each column's domain; without it the domain is what the boxes
    cover together.
    """
    if not release.form.has_boxes:
        raise ParameterError(f"'release' must be generalized, for boxes are measured; this one is {release.form}.")
    boxes, known = box_columns(release.columns, release.group_column), widths or {}
    return float(sum(_column_penalty(release, name, box, known.get(name)) for name, box in boxes.items()))


def partition_ncp(columns: Mapping[str, pa.Array | pa.ChunkedArray], labels: Codes) -> float:
    """Add up the penalty that a partition of these columns would have if it were generalized.

    `labels` number the group of each row; suppressed rows, -1, cost every column's whole domain.
    """
    order = np.argsort(labels, kind="stable")
    kept = order[np.searchsorted(labels[order], 0) :]
    starts = np.flatnonzero(np.diff(labels[kept], prepend=-1))
    sizes = np.diff(starts, append=len(kept))
    total = float((len(labels) - len(kept)) * len(columns))
    return total + sum(float(_penalties(column, kept, starts, sizes) @ sizes) for column in columns.values())


def _column_penalty(release: Release, name: str, box: BoxColumns, width: float | None) -> float:
    table = release.tables["release"]
    if box.set in table.column_names:
        penalty = _set_penalties(release, name, table.column(box.set), width)
    else:
        penalty = _interval_penalties(table.column(box.low), table.column(box.high), width)
    if box.missing in table.column_names:
        penalty = np.where(table.column(box.missing).to_numpy(), 1.0, penalty)
    return float(penalty.sum())


def _interval_penalties(low: pa.ChunkedArray, high: pa.ChunkedArray, width: float | None) -> Floats:
    both = pa.concat_arrays([_fill_gaps(low), _fill_gaps(high)])
    at = _positions(both)
    lows, highs = at[: len(low)], at[len(low) :]
    spread = float(at.max() - at.min()) if width is None else width / _unit(both)
    return (highs - lows) / spread if spread > 0 else np.zeros(len(low))


def _set_penalties(release: Release, name: str, numbers: pa.ChunkedArray, width: float | None) -> Floats:
    sets = release.tables[SETS]
    listed = sets.filter(pc.equal(sets.column("column"), name))
    sizes = np.bincount(listed.column("set").to_numpy(), minlength=1)
    covered = sizes[numbers.fill_null(0).to_numpy()]
    total = len(listed.column("value").unique()) if width is None else width
    return np.where(covered > 1, covered / total, 0.0)


def _penalties(column: pa.Array | pa.ChunkedArray, kept: Ints, starts: Ints, sizes: Ints) -> Floats:
    """The penalty of each group in one column."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    gaps = np.maximum.reduceat(whole.is_null().to_numpy(zero_copy_only=False)[kept].astype(np.int8), starts) > 0
    if pa.types.is_string(whole.type) or pa.types.is_boolean(whole.type):
        penalty = _category_penalties(whole, kept, sizes)
    else:
        at = _positions(_fill_gaps(whole))
        spread = float(at.max() - at.min()) or 1.0
        penalty = (np.maximum.reduceat(at[kept], starts) - np.minimum.reduceat(at[kept], starts)) / spread
    return np.where(gaps, 1.0, penalty)


def _category_penalties(column: pa.Array, kept: Ints, sizes: Ints) -> Floats:
    encoded = column.dictionary_encode()
    total = len(encoded.dictionary)
    codes = encoded.indices.fill_null(total).to_numpy().astype(np.int64)[kept]
    pairs = np.unique(np.repeat(np.arange(len(sizes)), sizes) * (total + 1) + codes)
    covered = np.bincount(pairs // (total + 1), minlength=len(sizes))
    return np.where(covered > 1, covered / max(total, 1), 0.0)


def _fill_gaps(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column with gaps replaced by some value that it has: they are charged elsewhere."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not whole.null_count:
        return whole
    return whole.fill_null(pc.min(whole)) if whole.null_count < len(whole) else pa.array(np.zeros(len(whole)))


def _positions(column: pa.Array) -> Floats:
    return _line(column).positions.astype(np.float64)


def _unit(column: pa.Array) -> float:
    return float(_line(column).unit)


def _line(column: pa.Array) -> Line:
    """A column on an exact line, or, where its numbers have more digits than that, on one of floats."""
    if pa.types.is_boolean(column.type) or pa.types.is_timestamp(column.type):
        return Line(np.asarray(column.cast(pa.int64())), Fraction(1))
    try:
        return column_line(column)
    except SchemaError:
        return Line(column.cast(pa.float64(), safe=False).to_numpy(), Fraction(1))


def rce(labels: Codes, sensitive: Codes, *, presence: Floats | None = None) -> float:
    """Add up the error of every row; `presence` is the probability of each row's combination of quasi-identifiers."""
    width = int(sensitive.max()) + 1
    groups, counts = np.unique(labels.astype(np.int64) * width + sensitive, return_counts=True)
    sizes = np.bincount(labels)
    owners = groups // width
    concentration = np.bincount(owners, weights=(counts / sizes[owners]) ** 2, minlength=len(sizes))
    own = counts[np.searchsorted(groups, labels.astype(np.int64) * width + sensitive)] / sizes[labels]
    chance = np.ones(len(labels)) if presence is None else presence
    return float((1.0 - 2.0 * chance * own + chance**2 * concentration[labels]).sum())


def average_class_size(labels: Codes, *, k: int = 1) -> float:
    """Rows per group over `k`; 1 is the best that k-anonymity can do. Suppressed rows, labelled -1, do not count."""
    kept = labels[labels >= 0]
    groups = len(np.unique(kept))
    return len(kept) / groups / read_whole("k", k, least=1) if groups else float("nan")


def discernibility(labels: Codes) -> int:
    """Add up the squared sizes of the groups; a suppressed row, labelled -1, is charged the whole table."""
    sizes = np.bincount(labels[labels >= 0]).astype(np.int64)
    suppressed = int((labels < 0).sum())
    return int((sizes**2).sum()) + suppressed * len(labels)


def distortion(original: Floats, published: Floats) -> float:
    """Mean of |published - original| / |original| over all cells of two aligned tables (rows x columns)."""
    sizes = np.abs(original)
    measure = np.where(sizes > 0, sizes, sizes.mean(axis=0))
    changes = np.abs(published - original)
    # A column of zeros that stays one did not change; any change of it is boundless.
    relative = np.divide(changes, measure, out=np.where(changes > 0, np.inf, 0.0), where=measure > 0)
    return float(relative.mean())


@dataclass(frozen=True)
class ColumnLoss:
    """Loss of one quasi-identifier; `*_share` run from 0, nothing lost, to 1."""

    granularity: float
    """Mean share of the domain's values that a cell's box covers."""
    granularity_share: float
    precision: float | None
    """1 - mean share of the hierarchy's levels that a cell was lifted; None without a hierarchy."""
    entropy_bits: float
    entropy_share: float


@dataclass(frozen=True)
class Loss:
    """Loss of a release: of each quasi-identifier, and of its classes."""

    rows: int
    suppressed: int
    discernibility: int
    average_class_size: float
    ambiguity: float
    """How many combinations of values the boxes of all rows cover; a suppressed row covers every one."""
    ncp: float
    """The normalized certainty penalty of [Xu 2006], per row and quasi-identifier: 0 nothing lost, 1 everything."""
    columns: Mapping[str, ColumnLoss]

    @property
    def granularity_share(self) -> float:
        """The mean over quasi-identifiers, each between 0 and 1."""
        return float(np.mean([one.granularity_share for one in self.columns.values()])) if self.columns else 0.0


class _DomainBoxes(NamedTuple):
    """Per published row: values covered, rows of the table inside, levels lifted."""

    covered: Ints
    inside: Ints
    levels: Ints


def generalization_loss(release: Release, original: Table, hierarchies: Mapping[str, Hierarchy]) -> Loss:
    """Measure a release against the table that it was made from; columns without boxes have lost nothing."""
    published = next(table for name, table in release.tables.items() if name in ("release", "quasi"))
    classes = class_codes([published.column(name) for name in release.columns.quasi])
    sizes = np.bincount(classes).astype(np.int64) if len(classes) else np.zeros(0, np.int64)
    suppressed, rows = release.rows.suppressed, release.rows.input
    found, combinations, everything = {}, np.ones(published.num_rows), 1.0
    if release.form.has_boxes:
        for name, box in box_columns(release.columns, release.group_column).items():
            tree = hierarchies.get(name)
            boxes = _boxes(release, original.encode(name), name, box, tree)
            found[name] = _column_loss(release, original.encode(name), boxes, tree)
            combinations *= boxes.covered
            everything *= max(_domain(original.encode(name), tree), 1)
    return Loss(
        rows=rows,
        suppressed=suppressed,
        discernibility=int((sizes**2).sum()) + suppressed * rows,
        average_class_size=float(sizes.sum() / len(sizes)) if len(sizes) else float("nan"),
        ambiguity=float(combinations.sum()) + suppressed * everything,
        ncp=_ncp_share(release, original),
        columns=found,
    )


def original_loss(original: Table, quasi: Sequence[str]) -> Loss:
    """The loss of the original table: only the sizes of its classes."""
    sizes = np.bincount(class_codes([original.arrow.column(name) for name in quasi])).astype(np.int64)
    rows = original.num_rows
    return Loss(rows, 0, int((sizes**2).sum()), rows / len(sizes), float(rows), 0.0, {})


def _ncp_share(release: Release, original: Table) -> float:
    """NCP over the domains of the table, per row and column; suppressed rows lose everything."""
    rows, quasi = release.rows.input, release.columns.quasi
    if not release.form.has_boxes or not quasi or not rows:
        return release.rows.suppressed / rows if rows else 0.0
    widths = {name: _width(original.encode(name)) for name in quasi}
    return (ncp(release, widths=widths) + release.rows.suppressed * len(quasi)) / (rows * len(quasi))


def _width(encoded: Encoded) -> float:
    """The range of a column's numbers, or the number of its values."""
    try:
        line = column_line(encoded.domain)
    except SchemaError:
        return float(max(len(encoded.domain), 1))
    return float(int(line.positions[-1] - line.positions[0]) * line.unit) if len(encoded.domain) else 1.0


def _domain(encoded: Encoded, tree: Hierarchy | None) -> int:
    return len(encoded.domain) if tree is None else tree.num_leaves


def _boxes(release: Release, encoded: Encoded, name: str, box: BoxColumns, tree: Hierarchy | None) -> _DomainBoxes:
    """What the boxes of a column cover, row by row."""
    table, rows, counts = release.tables["release"], release.rows.input, encoded.counts().astype(np.int64)
    if tree is not None:
        boxes = _node_boxes(table.column(box.label), encoded, name, tree)
    elif box.set in table.column_names:
        boxes = _set_boxes(release, table.column(box.set), encoded, name)
    else:
        boxes = _interval_boxes(table.column(box.low), table.column(box.high), encoded)
    if box.missing in table.column_names:
        whole = (_domain(encoded, tree), rows, 0 if tree is None else tree.height)
        boxes = _with_missing(table, box, boxes, whole, counts)
    return boxes


def _column_loss(release: Release, encoded: Encoded, boxes: _DomainBoxes, tree: Hierarchy | None) -> ColumnLoss:
    rows, suppressed, domain = release.rows.input, release.rows.suppressed, _domain(encoded, tree)
    counts = encoded.counts().astype(np.int64)
    covered = int(boxes.covered.sum()) + suppressed * max(domain, 1)
    own = counts[counts > 0]
    truth = float((own * np.log2(own)).sum())
    bits = float(np.log2(boxes.inside).sum() + suppressed * np.log2(rows)) - truth
    most = rows * float(np.log2(rows)) - truth
    return ColumnLoss(
        granularity=covered / (rows * max(domain, 1)),
        # In whole numbers, so that values that cover themselves alone have lost nothing, not -0.0 %.
        granularity_share=(covered - rows) / (rows * (domain - 1)) if domain > 1 else 0.0,
        precision=None
        if tree is None
        else 1 - float(boxes.levels.sum() + suppressed * tree.height) / (rows * tree.height),
        entropy_bits=max(bits, 0.0),
        entropy_share=max(bits, 0.0) / most if most > 0 else 0.0,
    )


def _node_boxes(labels: pa.ChunkedArray, encoded: Encoded, name: str, tree: Hierarchy) -> _DomainBoxes:
    texts, place = _distinct(labels)
    nodes = {label: node for node, label in enumerate(tree.labels)}
    at = np.array([nodes.get(text.removesuffix(" or missing"), tree.root) for text in texts], np.int64)
    leaves = np.zeros(tree.num_leaves + 1, np.int64)
    values = len(encoded.domain)
    np.add.at(leaves, tree.leaf_codes(name, encoded.domain) + 1, encoded.counts()[:values])
    sums = np.cumsum(leaves)
    levels = np.where(at < tree.num_leaves, 0, tree.height - tree.depths[at])
    covered, inside = tree.high[at] - tree.low[at], sums[tree.high[at]] - sums[tree.low[at]]
    return _DomainBoxes(covered[place], np.maximum(inside, 1)[place], levels[place])


def _interval_boxes(low: pa.ChunkedArray, high: pa.ChunkedArray, encoded: Encoded) -> _DomainBoxes:
    first, last = (
        pc.index_in(end.combine_chunks(), value_set=encoded.domain).fill_null(0).to_numpy().astype(np.int64)
        for end in (low, high)
    )
    sums = np.append(0, np.cumsum(encoded.counts()[: len(encoded.domain)]))
    return _DomainBoxes(last - first + 1, sums[last + 1] - sums[first], np.zeros(len(first), np.int64))


def _set_boxes(release: Release, numbers: pa.ChunkedArray, encoded: Encoded, name: str) -> _DomainBoxes:
    sets = release.tables[SETS]
    mine = sets.filter(pc.equal(sets.column("column"), name))
    owner = mine.column("set").to_numpy()
    codes = pc.index_in(mine.column("value").combine_chunks(), value_set=encoded.domain.cast(pa.string()))
    counts = encoded.counts()[codes.fill_null(0).to_numpy()] * codes.is_valid().to_numpy(zero_copy_only=False)
    covered = np.bincount(owner, minlength=1)
    inside = np.bincount(owner, weights=counts, minlength=1).astype(np.int64)
    at = numbers.fill_null(0).to_numpy()
    return _DomainBoxes(covered[at], np.maximum(inside[at], 1), np.zeros(len(at), np.int64))


def _with_missing(
    table: pa.Table, box: BoxColumns, boxes: _DomainBoxes, whole: tuple[int, int, int], counts: Ints
) -> _DomainBoxes:
    """Boxes that may also be missing cover everything; those that are missing throughout cover that alone."""
    some = table.column(box.missing).to_numpy()
    alone = np.asarray(pc.equal(table.column(box.label), "missing").to_numpy(zero_copy_only=False), bool)
    gone = (1, max(int(counts[-1]), 1), 0)
    return _DomainBoxes(
        *(np.where(alone, own, np.where(some, most, part)) for part, most, own in zip(boxes, whole, gone, strict=True))
    )


def _distinct(labels: pa.ChunkedArray) -> tuple[list[Any], Ints]:
    encoded = labels.combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
