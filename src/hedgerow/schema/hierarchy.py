"""An ordered tree over a column's values, kept as arrays.

The values are nodes 0..u-1 in leaf order, the inner nodes follow, children before parents, the root is last. Every node
covers a contiguous run [low, high) of leaf codes. Level 0 is the values themselves and level `height` the root; a
level of an uneven tree is the cut at a depth, where a value that ends above the cut stays itself, so that every level
is a partition of the values. Missing values are not in a hierarchy: their policy is the schema's.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints, is_numeric
from hedgerow.errors import ParameterError, SchemaError, counted
from hedgerow.exact import as_fraction
from hedgerow.schema.domain import Domain
from hedgerow.schema.hierarchy_build import (
    Branch,
    arx_tree,
    balanced_tree,
    fixed_depth_tree,
    flatten,
    interval_tree,
    layers_of_width,
    nested_tree,
)
from hedgerow.verify.names import in_form, text_in_form

if TYPE_CHECKING:
    from hedgerow.table import Encoded


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A generalization hierarchy; build it by one of the class methods.

    `weights`, where present, holds the weight of the edge above each node (1 for the root) as whole numbers without a
    common divisor among siblings: the ratios of a target distribution.

    >>> Hierarchy.intervals([31, 35, 42, 48], width=[5, 10]).lines()[0]
    ('31', '[30, 35)', '[30, 40)', '*')
    """

    leaves: pa.Array
    parents: NDArray[np.int32]
    depths: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    labels: tuple[str, ...]
    weights: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        # Counts alone: leaves are values of the table, and this text ends up in logs and notebooks.
        return f"Hierarchy({len(self.leaves):,} values, {int(self.depths.max(initial=0))} levels)"

    @classmethod
    def from_nested(cls, tree: object) -> Hierarchy:
        """Read nested lists of values; mappings give names to branches: `{"north": ["a", "b"], "south": ["c"]}`."""
        return _plant(nested_tree(tree))

    @classmethod
    def from_arx(cls, path: str | PathLike[str], *, delimiter: str = ";") -> Hierarchy:
        """Read ARX's CSV format: no header, one line per value, most specific first."""
        return _plant(arx_tree(path, delimiter))

    @classmethod
    def binary(cls, domain: Domain | Iterable[object]) -> Hierarchy:
        """Halve the values again and again."""
        return cls.balanced(domain, fanout=2)

    @classmethod
    def balanced(cls, domain: Domain | Iterable[object], *, fanout: int) -> Hierarchy:
        """Cut the values into `fanout` even runs, again and again."""
        return _plant(balanced_tree(_values(domain), fanout))

    @classmethod
    def fixed_depth(cls, domain: Domain | Iterable[object], *, depth: int) -> Hierarchy:
        """Put every value `depth` steps below the root, with fan-outs as even as they can be."""
        return _plant(fixed_depth_tree(_values(domain), depth))

    @classmethod
    def intervals(
        cls,
        domain: Domain | Iterable[object],
        *,
        cuts: Sequence[Any] | None = None,
        width: Any = None,
        start: Any = None,
    ) -> Hierarchy:
        """Group ascending values into half-open intervals: at cut points, or of one width counted from `start`.

        A list of cut lists, or of widths, makes several levels, finest first: `width=[5, 10, 20]`. Without a `start`
        intervals begin at a multiple of the widest width.
        """
        values = _values(domain)
        if (cuts is None) == (width is None):
            raise ParameterError("give either 'cuts' or 'width' to an interval hierarchy, not both and not neither.")
        if cuts is None:
            return _plant(interval_tree(values, layers_of_width(values, width, start)))
        several = bool(cuts) and isinstance(cuts[0], list | tuple)
        return _plant(interval_tree(values, cuts if several else [cuts]))

    @property
    def num_leaves(self) -> int:
        """How many values the hierarchy covers."""
        return len(self.leaves)

    @property
    def num_nodes(self) -> int:
        """How many nodes there are, values included."""
        return len(self.labels)

    @property
    def root(self) -> int:
        """The number of the root."""
        return self.num_nodes - 1

    @property
    def height(self) -> int:
        """The highest level; levels run from 0 (values) to `height` (root)."""
        return int(self.depths.max())

    def parent(self, node: int) -> int:
        """The node above, or -1 above the root."""
        return int(self.parents[node])

    def children(self, node: int) -> NDArray[np.int32]:
        """The nodes directly below, in leaf order."""
        order, starts = self._children
        return order[starts[node] : starts[node + 1]]

    def leaves_under(self, node: int) -> tuple[int, int]:
        """The leaf codes below a node as a half-open range."""
        return int(self.low[node]), int(self.high[node])

    def recode(self, level: int) -> NDArray[np.int32]:
        """The node of `level` that stands for each leaf code."""
        if type(level) is not int or not 0 <= level <= self.height:
            raise ParameterError(f"'level' must be an integer from 0 to {self.height}; got {level!r}.")
        nodes = np.arange(self.num_leaves, dtype=np.int32)
        for _ in range(level):
            nodes = np.where(self.depths[nodes] > self.height - level, self.parents[nodes], nodes)
        return nodes

    def border_ranks(self) -> NDArray[np.int16]:
        """For each leaf code the depth of the lowest node above it and the next one; 0 for the last."""
        ranks = np.zeros(self.num_leaves, np.int16)
        for node in range(self.num_leaves, self.num_nodes):
            ranks[self.high[self.children(node)[:-1]] - 1] = self.depths[node]
        return ranks

    def lines(self) -> list[tuple[str, ...]]:
        """The labels of each value from most specific to root: the lines of ARX's format."""
        levels = [[self.labels[node] for node in self.recode(level)] for level in range(self.height + 1)]
        return list(zip(*levels, strict=True))

    def leaf_codes(self, column: str, distinct: pa.Array) -> NDArray[np.int32]:
        """The leaf code of each distinct value of `column`; the values may be fewer than the leaves, never others."""
        import pyarrow.compute as pc

        found = pc.index_in(distinct, value_set=self._leaves_as(column, distinct.type))
        if found.null_count:
            raise SchemaError(
                f"'{column}' has {counted(found.null_count, 'value')} not in the hierarchy; add them to it "
                "(--show-values names them to you, as does the error's `values` in Python).",
                values=tuple(map(str, distinct.filter(found.is_null()).to_pylist())),
            )
        return np.asarray(found, dtype=np.int32)

    def in_form(self, column: str, policy: str) -> Hierarchy:
        """The same tree with its texts in the form that the policy of `column` asks for."""
        labels = tuple(text_in_form(label, policy) for label in self.labels)
        leaves = in_form(self.leaves, policy) if pa.types.is_string(self.leaves.type) else self.leaves
        if len(leaves.unique()) < len(leaves):
            raise SchemaError(f"values of the hierarchy of '{column}' coincide: its texts are '{policy}'.")
        return (
            self
            if labels == self.labels and leaves.equals(self.leaves)
            else replace(self, leaves=leaves, labels=labels)
        )

    def with_weights(self, weights: Sequence[object]) -> Hierarchy:
        """The same tree with a weight on the edge above every node but the root, in node order."""
        if len(weights) != self.num_nodes - 1:
            raise SchemaError(f"'weights' must hold one number per edge, {self.num_nodes - 1}; got {len(weights)}.")
        exact = [_share(weight) for weight in weights]
        reduced = [1] * self.num_nodes
        for node in range(self.num_leaves, self.num_nodes):
            below = self.children(node).tolist()
            for child, ratio in zip(below, _ratios([exact[child] for child in below]), strict=True):
                reduced[child] = ratio
        self._require_somewhere_to_go(reduced)
        return replace(self, weights=tuple(reduced))

    def with_target(self, shares: Mapping[Any, object] | Sequence[object]) -> Hierarchy:
        """The same tree weighted so that its values follow `shares`, given per value or in leaf order."""
        if isinstance(shares, Mapping):
            shares = _in_leaf_order(shares, self.leaves.to_pylist())
        if len(shares) != self.num_leaves:
            raise SchemaError(f"'shares' must hold one number per value, {self.num_leaves}; got {len(shares)}.")
        sums = [Fraction(0)]
        for share in shares:
            sums.append(sums[-1] + _share(share))
        if not sums[-1]:
            raise SchemaError("'shares' must not be all zero; give at least one value a positive share.")
        spans = zip(self.low[:-1].tolist(), self.high[:-1].tolist(), strict=True)
        return self.with_weights([sums[high] - sums[low] for low, high in spans])

    def target(self) -> tuple[Fraction, ...]:
        """The probability of each value under the weights; raises where there are none."""
        if self.weights is None:
            raise SchemaError("this hierarchy has no weights; add them by 'with_target' or 'with_weights'.")
        shares = [Fraction(1)] * self.num_nodes
        for node in range(self.root, self.num_leaves - 1, -1):
            below = self.children(node).tolist()
            total = sum(self.weights[child] for child in below)
            for child in below:
                shares[child] = shares[node] * self.weights[child] / total if total else Fraction(0)
        return tuple(shares[: self.num_leaves])

    def _require_somewhere_to_go(self, weights: Sequence[int]) -> None:
        """Refuse weights that lead into a branch whose own children all have weight 0."""
        reached = [True] * self.num_nodes
        for node in range(self.root, self.num_leaves - 1, -1):
            below = self.children(node).tolist()
            if reached[node] and not any(weights[child] for child in below):
                raise SchemaError("below a branch of positive weight at least one weight must be positive.")
            for child in below:
                reached[child] = reached[node] and weights[child] > 0

    @functools.cached_property
    def _children(self) -> tuple[NDArray[np.int32], Ints]:
        order = np.lexsort((self.low, self.parents)).astype(np.int32)
        # The root's parent is -1, so it sorts first; node v's children start where parent v would be inserted.
        return order, np.searchsorted(self.parents[order], np.arange(self.num_nodes + 1))

    def _leaves_as(self, column: str, arrow_type: pa.DataType) -> pa.Array:
        """The leaves in the column's type: a text file writes 17 where the column holds a number."""
        try:
            leaves = self.leaves.cast(arrow_type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise SchemaError(f"the values of the hierarchy of '{column}' cannot be read as {arrow_type}.") from error
        if len(leaves.unique()) < len(leaves):
            raise SchemaError(f"values of the hierarchy of '{column}' coincide once they are read as {arrow_type}.")
        return leaves


def _plant(tree: Branch) -> Hierarchy:
    flat = flatten(tree)
    return Hierarchy(flat.leaves, flat.parents, flat.depths, flat.low, flat.high, flat.labels)


def _values(domain: Domain | Iterable[object]) -> list[Any]:
    if isinstance(domain, Domain):
        return list(domain.values())
    if isinstance(domain, str | bytes):
        raise SchemaError("'domain' must be a Domain or a sequence of values; got one text.")
    listed = domain.to_pylist() if isinstance(domain, pa.Array | pa.ChunkedArray) else list(domain)
    if not listed:
        raise SchemaError("'domain' must hold at least one value; got none.")
    return [value.item() if isinstance(value, np.generic) else value for value in listed]


def _share(number: object) -> Fraction:
    try:
        share = as_fraction(number)
    except ValueError as error:
        raise SchemaError(f"a weight must be a number of at least 0; got {number!r}.") from error
    if share < 0:
        raise SchemaError(f"a weight must be a number of at least 0; got {number}.")
    return share


def _ratios(shares: Sequence[Fraction]) -> list[int]:
    """Whole numbers in the ratio of `shares` without a common divisor; all zero stays all zero."""
    scale = math.lcm(*(share.denominator for share in shares))
    whole = [int(share * scale) for share in shares]
    divisor = math.gcd(*whole)
    return [number // divisor for number in whole] if divisor else whole


def _in_leaf_order(shares: Mapping[Any, object], leaves: Sequence[Any]) -> list[object]:
    missing = [leaf for leaf in leaves if leaf not in shares]
    if missing or len(shares) > len(leaves):
        extra = len(shares) + len(missing) - len(leaves)
        raise SchemaError(
            f"'shares' must name every value of the hierarchy and no other; {len(missing)} are missing, {extra} extra."
        )
    return [shares[leaf] for leaf in leaves]


Lines = list[tuple[str, ...]]
_ROOT = "*"
_OTHER = "other"
_DEEPEST = 64


def _intervals(column: str, encoded: Encoded, widths: Sequence[str]) -> Lines:
    """Half-open intervals of several widths, each a multiple of the one before."""
    kind = encoded.domain.type
    if not is_numeric(kind):
        raise SchemaError(f"'{column}' holds {kind}; intervals need numbers.")
    try:
        numbers = [float(width) for width in widths]
    except ValueError:
        numbers = [math.nan]
    if not all(map(math.isfinite, numbers)):
        raise SchemaError("The widths of intervals must be numbers, such as 5,10,20.")
    exact = [int(number) if number == int(number) else number for number in numbers]
    return Hierarchy.intervals(encoded.domain, width=exact).lines()


def _digits(column: str, encoded: Encoded, _: object) -> Lines:
    """One more sign at the end hidden on every level; values are filled up to one length with blanks in front."""
    texts = encoded.domain.cast(pa.string()).to_pylist()
    length = max(map(len, texts), default=0)
    if not 1 <= length <= _DEEPEST:
        raise SchemaError(f"The values of '{column}' must have 1 to {_DEEPEST} signs; the longest has {length}.")
    padded = [(text, text.rjust(length, "0" if text.isdecimal() else "_")) for text in texts]
    return [
        (text, *(filled[: length - hidden] + "*" * hidden for hidden in range(1, length)), _ROOT)
        for text, filled in padded
    ]


def _dates(column: str, encoded: Encoded, _: object) -> Lines:
    """Day, month, year, decade."""
    if not pa.types.is_date(encoded.domain.type):
        raise SchemaError(f"'{column}' holds {encoded.domain.type}; --dates needs dates, such as 2026-01-31.")
    days = [str(day) for day in encoded.domain.to_pylist()]
    return [(day, day[:7], day[:4], f"{day[:3]}0s", _ROOT) for day in days]


def _parents(column: str, encoded: Encoded, file: str) -> Lines:
    """A file of values and parents, followed upwards until a label has no parent."""
    from hedgerow.table import read_table

    table = read_table(file, types={})
    if len(table.names) != 2:
        raise SchemaError(f"The file of parents must have two columns, value and parent; it has {len(table.names)}.")
    values, above = (one.cast(pa.string()).to_pylist() for one in table.arrow.columns)
    parent = dict(zip(values, above, strict=True))
    if len(parent) < len(values):
        raise SchemaError(
            f"{counted(len(values) - len(parent), 'value has', 'values have')} two parents in the "
            f"file; a tree has one each."
        )
    paths = []
    texts = encoded.domain.cast(pa.string()).to_pylist()
    unknown = tuple(text for text in texts if text not in parent)
    if unknown:
        raise SchemaError(
            f"'{column}' has {counted(len(unknown), 'value')} without a parent in the file; add them.", values=unknown
        )
    for text in texts:
        path = [text]
        while (up := parent.get(path[-1])) is not None and up != _ROOT:
            if up in path or len(path) > _DEEPEST:
                raise SchemaError("The file of parents leads in a circle; correct it.")
            path.append(up)
        paths.append(path)
    # Paths are filled up below the root, so that every label stays on one level counted from the top.
    height = max(map(len, paths))
    return [(*path[:1], *path[:1] * (height - len(path)), *path[1:], _ROOT) for path in paths]


def _rare(column: str, encoded: Encoded, rows: int) -> Lines:
    """Values with fewer rows become one."""
    texts, counts = encoded.domain.cast(pa.string()).to_pylist(), encoded.counts()
    few = [text for text, count in zip(texts, counts.tolist(), strict=False) if count < rows]
    if len(few) < 2:
        raise SchemaError(
            f"'{column}' has {counted(len(few), 'value')} with fewer than {rows:,} rows; there is nothing to merge."
        )
    other = _OTHER
    while other in texts:
        other += " values"
    return [(text, other if text in set(few) else text, _ROOT) for text in texts]


LINES: dict[str, Callable[[str, Encoded, Any], Lines]] = {
    "intervals": _intervals,
    "digits": _digits,
    "dates": _dates,
    "parents": _parents,
    "rare": _rare,
}
"""Ways to build a hierarchy, by the name of their flag."""
