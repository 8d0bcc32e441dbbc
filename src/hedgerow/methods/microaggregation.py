"""Microaggregation: near rows in groups of k, each published with the group's means or nodes. A baseline.

Source     [Hansen 2003] (one column); [Domingo-Ferrer 2002], MDAV of [Domingo-Ferrer 2005] (several)
Guarantee  every combination of published means and nodes is shared by at least k rows
Cost       see partition/microaggregate
Deviates   a column with a hierarchy is compared by the places of its leaves and published as the lowest node that
           covers its group, as generalization does; the papers take medians or most frequent values
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints, is_numeric
from hedgerow.errors import Infeasible, SchemaError
from hedgerow.exact import column_line
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.row_groups import (
    asked_columns,
    column_list,
    release_of_rows,
    require_complete,
    require_squares,
)
from hedgerow.methods.scaled import BlockPlan, divide_classes
from hedgerow.parameters import read_whole
from hedgerow.partition.microaggregate import microaggregate
from hedgerow.release import Guarantee, Release
from hedgerow.release.boxes import node_box
from hedgerow.release.forms.perturbed import PERTURBED, publish_perturbed

if TYPE_CHECKING:
    from hedgerow.scale.coding import CountedTable


@dataclass(frozen=True)
class Microaggregation(Method):
    """Replace numbers by the means of groups of `k` to 2k-1 near rows.

    `columns` names the columns that are replaced together; without it all quasi-identifiers that are numbers or have a
    hierarchy. A column with a hierarchy is published as the lowest node that covers its group.
    """

    needs_sensitive: ClassVar[bool] = False
    hierarchy_roles: ClassVar[tuple[str, ...]] = ("quasi",)

    k: int
    columns: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        read_whole("k", self.k, least=2, why="A group of one hides nobody.")

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        names = self._check_columns(prepared)
        progress("grouping", 0.2)
        trees = prepared.schema.hierarchies
        points = np.stack([_leaves(prepared, name) if name in trees else _numbers(prepared, name) for name in names], 1)
        return self._make_release(prepared, names, points)

    def _plan_blocks(self, whole: Prepared, counted: CountedTable) -> BlockPlan:
        from hedgerow.methods.blocks import cut_regions

        names = self._check_columns(whole)
        regions = cut_regions(
            replace(whole, columns=replace(whole.columns, quasi=names)), counted, (), lambda counts: True, least=self.k
        )
        most = counted.engine.block_rows
        placing = divide_classes(regions.classify, regions.left, most=most, least=self.k, keys=whole.keys)
        spread = np.array([_spread(_places(whole, name), counted.column(name).counts) for name in names])
        return BlockPlan(placing, partial(self._publish_region, names, spread), combine=_combine)

    def _publish_region(self, names: tuple[str, ...], spread: Floats, number: int, prepared: Prepared) -> Release:
        points = np.stack([_places(prepared, name)[prepared.table.encode(name).codes] for name in names], 1)
        return self._make_release(prepared, names, points, spread)

    def _check_columns(self, prepared: Prepared) -> tuple[str, ...]:
        """The columns to replace, or a reason why they cannot be."""
        trees = prepared.schema.hierarchies
        names = asked_columns(
            prepared, self.columns, prepared.columns.quasi, lambda name, kind: name in trees or is_numeric(kind)
        )
        if unused := [name for name in trees if name not in names]:
            raise SchemaError(f"The hierarchy of '{unused[0]}' is not used: 'columns' does not name it; leave it out.")
        require_complete(prepared, names)
        require_squares(prepared, [name for name in names if name not in trees])
        if prepared.rows.published < self.k:
            raise Infeasible(f"Groups of {self.k:,} rows need at least as many; there are {prepared.rows.published:,}.")
        return names

    def _make_release(
        self, prepared: Prepared, names: tuple[str, ...], points: Floats, spread: Floats | None = None
    ) -> Release:
        """Group rows that lie at these points, and publish them with means and nodes."""
        trees = prepared.schema.hierarchies
        labels = microaggregate(points, k=self.k, spread=spread, keys=prepared.keys)
        replaced = {
            name: _nodes(prepared, name, labels) if name in trees else _means(points[:, n], labels)
            for n, name in enumerate(names)
        }
        same = [name for n, name in enumerate(names) if _is_same(prepared, name, points[:, n], replaced[name])]
        table = publish_perturbed(prepared.table.arrow, prepared.columns, replaced, keys=prepared.keys)
        return release_of_rows(
            prepared,
            {"release": table},
            form=PERTURBED,
            guarantee=self._guarantee(names, same, [name for name in names if name in trees]),
            method="Microaggregation",
            parameters={"k": int(self.k), "columns": ",".join(names)},
        )

    def _guarantee(self, names: tuple[str, ...], same: Sequence[str], nodes: Sequence[str]) -> Guarantee:
        return Guarantee(
            criterion="microaggregation",
            parameters={"k": int(self.k)} | column_list("nodes", nodes) | column_list("unchanged", same),
            columns=names,
        )


def _combine(guarantees: Sequence[Guarantee]) -> Guarantee:
    """What is true of all blocks: a column is unchanged if it is so in each."""
    first = guarantees[0]
    same = [json.loads(str(one.parameters.get("unchanged", "[]"))) for one in guarantees]
    everywhere = [name for name in same[0] if all(name in own for own in same)]
    bare = {name: value for name, value in first.parameters.items() if name != "unchanged"}
    return replace(first, parameters=bare | column_list("unchanged", everywhere))


def _spread(at: Floats, counts: Ints) -> float:
    """The standard deviation of a column with so many rows at each place."""
    share = counts / counts.sum()
    return float(np.sqrt(share @ (at - share @ at) ** 2))


def _places(prepared: Prepared, name: str) -> Floats:
    """Where each code of a column lies: its number, or the place of its leaf."""
    domain = prepared.table.encode(name).domain
    if name in prepared.schema.hierarchies:
        return prepared.schema.hierarchies[name].leaf_codes(name, domain).astype(np.float64)
    return _on_line(domain, name)


def _numbers(prepared: Prepared, name: str) -> Floats:
    return _on_line(prepared.table.arrow.column(name), name)


def _on_line(values: pa.Array | pa.ChunkedArray, name: str) -> Floats:
    where = column_line(values, name)
    at = where.positions.astype(np.float64)
    return at * float(where.unit) if where.unit >= 1 else at / float(1 / where.unit)


def _leaves(prepared: Prepared, name: str) -> Floats:
    """The place of each row's value among the leaves of the column's hierarchy."""
    return _places(prepared, name)[prepared.table.encode(name).codes]


def _nodes(prepared: Prepared, name: str, labels: NDArray[np.int32]) -> pa.Array:
    """The label of the lowest node that covers each row's group."""
    order = np.argsort(labels, kind="stable")
    offsets = np.append(0, np.cumsum(np.bincount(labels))).astype(np.int64)
    encoded = prepared.table.encode(name)
    box = node_box(encoded.codes[order], offsets, encoded, prepared.schema.hierarchies[name], name=name)
    return box.label.take(pa.array(labels))


def _is_same(prepared: Prepared, name: str, points: Floats, published: pa.Array) -> bool:
    """Return whether every row is published with its own value."""
    if name in prepared.schema.hierarchies:
        return bool(prepared.table.arrow.column(name).cast(pa.string()).combine_chunks().equals(published))
    return bool((published.to_numpy() == points).all())


def _means(values: Floats, labels: NDArray[np.int32]) -> pa.Array:
    # Centred first, so that equal values have exactly their own value as the mean.
    base = np.full(int(labels.max()) + 1, np.inf)
    np.minimum.at(base, labels, values)
    sizes = np.bincount(labels)
    means = base + np.bincount(labels, weights=values - base[labels]) / sizes
    return pa.array(means[labels] + 0.0)
