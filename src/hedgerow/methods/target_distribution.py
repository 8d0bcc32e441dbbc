"""Disguise the distribution of the sensitive column as a target distribution.

Source     [Zhang 2008], chapter 3
Guarantee  a subdomain of a group drawn at random, then a value from it by the target, follows exactly the target (with
           a shift factor: a distribution near it); grouping looks at no sensitive value, but how many values are
           generalized follows the true counts, and an attacker who knows the algorithm can learn from that
Cost       a counting pass, a pass over the distinct values, two shuffles; with fakes or a shift a program per group

The target of each part of the table is given, a named shape, or the part's own distribution. Rows are put together by
their part, and inside it by equal quasi-identifiers, before values are disguised.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.criteria.target import read_shift
from hedgerow.errors import Infeasible, ParameterError, SchemaError
from hedgerow.exact import as_fraction, fraction_text
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.prepared import missing_error, one_sensitive
from hedgerow.methods.scaled import BlockPlan, divide_classes
from hedgerow.partition.target.fake_values import disguise
from hedgerow.partition.target.least_range import PublishedNodes
from hedgerow.release import Guarantee, Made, Release
from hedgerow.release.forms.disguised import DISGUISED, DisguisedGroups, publish_disguised
from hedgerow.release.release import free_name
from hedgerow.scale.coding import ColumnClass
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.schema.target import histogram, normal, quantize, uniform, zipf
from hedgerow.table import Encoded, Table

if TYPE_CHECKING:
    from hedgerow.scale.coding import CountedTable


GROUPINGS = ("all", "quasi")


@dataclass(frozen=True, eq=False)
class TargetPlan:
    """Groups with their targets; `leaves` are the leaf codes of the rows' values, group after group."""

    column: str
    groups: PartGroups
    targets: Targets
    leaves: NDArray[np.int32]

    def disguise(self, *, fakes: Fraction = Fraction(0), shift: Fraction = Fraction(0)) -> PublishedNodes:
        """Choose the subdomains of every group."""
        targets = self.targets
        return disguise(self.leaves, self.groups.offsets, targets.trees, targets.which, fakes=fakes, shift=shift)


@dataclass(frozen=True)
class TargetDistribution(Method):
    """Publish subdomains that look as if the values followed `target`.

    - `target`: a hierarchy with weights, or "uniform", "normal", "zipf" over the schema's hierarchy (else its domain,
      else the values that occur), or "source", the part's own distribution; or a mapping from parts to any of these
    - `parts`: a column by whose values the table is cut, or `{column: cut points}`; the parts of a mapping of targets
      are named by value, or by the number of the interval
    - `grouping`: "all", the default, one group per part, which generalizes least; "quasi" rows with equal
      quasi-identifiers, which answers narrow questions better where they say little about the sensitive column
    - `fakes`: fake values, up to this share of a group's rows, where they make subdomains smaller
    - `shift`: how far each branch's share may be from the target's
    - `quantize`: replace ratios by whole numbers with at most this sum; by default 10 for named shapes
    """

    hierarchy_roles: ClassVar[tuple[str, ...]] = ("sensitive",)

    target: Any
    parts: str | Mapping[str, Sequence[Any]] | None = None
    grouping: str = "all"
    fakes: Any = 0
    shift: Any = 0
    quantize: int | None = None

    def __post_init__(self) -> None:
        if self.grouping not in GROUPINGS:
            raise ParameterError(f"'grouping' must be one of {', '.join(GROUPINGS)}.")
        shift = read_shift(self.shift)
        if self._fakes() and shift:
            raise ParameterError("'fakes' and 'shift' exclude each other; give one of them.")
        if not isinstance(self.target, Mapping):
            check_target(self.target)
        elif self.parts is None:
            raise ParameterError("a target for each part needs 'parts': the column that the parts come from.")

    def plan(self, prepared: Prepared) -> TargetPlan:
        """Group the rows and give every group its target: all that comes before subdomains are chosen."""
        one_column(prepared, "a target distribution")
        parts, groups = self._group_rows(prepared)
        targets = choose_targets(self.target, self.quantize, prepared, parts, np.unique(groups.parts))
        return self._plan(prepared, groups, targets)

    def _group_rows(self, prepared: Prepared) -> tuple[Parts, PartGroups]:
        parts = parts_of(prepared.table, self.parts, (*prepared.columns.quasi, *prepared.columns.plain))
        cells = parts.codes if self.grouping == "all" else equal_quasi(prepared.table, prepared.columns.quasi, parts)
        return parts, group_rows(cells, parts)

    def _plan(self, prepared: Prepared, groups: PartGroups, targets: PartTargets) -> TargetPlan:
        (column,) = prepared.columns.sensitive
        which = targets.of_part[groups.parts]
        leaves = _leaves(prepared.table.encode(column), column, targets.trees, which, groups)
        return TargetPlan(column, groups, Targets(targets.trees, which, targets.distance), leaves)

    def _plan_blocks(self, whole: Prepared, counted: CountedTable) -> BlockPlan:
        from hedgerow.methods.blocks import cut_regions

        column, most = one_column(whole, "a target distribution"), counted.engine.block_rows
        cut = [] if self.parts is None else [self.parts] if isinstance(self.parts, str) else [*self.parts]
        opened = [name for name in (*whole.columns.quasi, *whole.columns.plain) if name in cut]
        table, rows = counted.combinations((*opened, column))
        parts = parts_of(table, self.parts, opened)
        there = np.unique(parts.codes)
        targets = choose_targets(self.target, self.quantize, replace(whole, table=table), parts, there, rows)
        if self.grouping == "quasi" and whole.columns.quasi:
            regions = cut_regions(whole, counted, (), lambda counts: True, least=1)
            placing = divide_classes(regions.classify, regions.left, most=most, keys=whole.keys)
        else:
            of_row = ColumnClass()
            if opened:
                of_code = np.zeros(counted.column(opened[0]).size, np.int32)
                of_code[table.encode(opened[0]).codes] = parts.codes
                of_row = ColumnClass(opened[0], of_code)
            sizes = np.bincount(parts.codes, rows, minlength=len(parts.keys)).astype(np.int64)
            placing = divide_classes(of_row, sizes, most=most, keys=whole.keys)
        return BlockPlan(placing, partial(self._publish_parts, targets), combine=_combine)

    def _publish_parts(self, targets: PartTargets, number: int, prepared: Prepared) -> Release:
        plan = self._plan(prepared, self._group_rows(prepared)[1], targets)
        return self._make_release(prepared, plan, lambda step, share: None)

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        progress("counting", 0.1)
        return self._make_release(prepared, self.plan(prepared), progress)

    def _make_release(self, prepared: Prepared, plan: TargetPlan, progress: Progress) -> Release:
        column, groups, targets = plan.column, plan.groups, plan.targets
        progress("disguising", 0.3)
        published = plan.disguise(fakes=self._fakes(), shift=read_shift(self.shift))
        progress("permuting", 0.5)
        fakes = int(published.counts.sum()) - prepared.table.num_rows
        group_column = free_name("group", prepared.columns.all)
        return Release(
            form=DISGUISED,
            tables=publish_disguised(
                prepared.table,
                prepared.columns,
                replace(
                    _as_groups(groups, published, targets.trees, targets.which), is_shifted=read_shift(self.shift) > 0
                ),
                targets.trees,
                group_column=group_column,
                separate=self._fakes() > 0,
                keys=prepared.keys,
            ),
            columns=prepared.columns,
            group_column=group_column,
            guarantee=self._guarantee(column, fakes),
            rows=prepared.rows,
            groups=len(groups.parts),
            made=self._provenance(prepared, targets),
            kind=prepared.table.kind,
        )

    def _fakes(self) -> Fraction:
        try:
            share = as_fraction(self.fakes)
        except ValueError:
            share = Fraction(-1)
        if not 0 <= share <= 1:
            raise ParameterError("'fakes' must be a number from 0 to 1: fake values as a share of a group's rows.")
        return share

    def _guarantee(self, column: str, fakes: int) -> Guarantee:
        shift = read_shift(self.shift)
        return Guarantee(
            criterion="target",
            parameters={"shift": fraction_text(shift), "fakes": fakes},
            columns=(column,),
        )

    def _provenance(self, prepared: Prepared, targets: Targets) -> Made:
        said = self.target if isinstance(self.target, str) else "given"
        parameters: dict[str, int | str] = {"target": said, "targets": len(targets.trees), "grouping": self.grouping}
        parameters |= {"parts": self.parts if isinstance(self.parts, str) else ",".join(self.parts or ())}
        parameters |= {"fakes": fraction_text(self._fakes()), "shift": fraction_text(read_shift(self.shift))}
        parameters |= {"quantize": self.quantize or 0, "distance_asked_used": f"{float(targets.distance):.6g}"}
        return prepared.provenance("TargetDistribution", parameters)


def _combine(guarantees: Sequence[Guarantee]) -> Guarantee:
    """What is true of all blocks: fakes add up."""
    fakes = sum(int(one.parameters["fakes"]) for one in guarantees)
    return replace(guarantees[0], parameters={**guarantees[0].parameters, "fakes": fakes})


def _leaves(
    sensitive: Encoded, column: str, trees: Sequence[Hierarchy], which: NDArray[np.int32], groups: PartGroups
) -> NDArray[np.int32]:
    """The leaf of each row's value in the tree of its group, group after group."""
    codes = sensitive.codes[groups.rows]
    if len(trees) == 1:
        return trees[0].leaf_codes(column, sensitive.domain)[codes]
    of_row = np.repeat(which, np.diff(groups.offsets))
    order = np.argsort(of_row, kind="stable")
    leaves = np.empty(len(codes), np.int32)
    for tree, rows in zip(
        trees, np.split(order, np.cumsum(np.bincount(of_row, minlength=len(trees)))[:-1]), strict=True
    ):
        present, places = np.unique(codes[rows], return_inverse=True)
        leaves[rows] = tree.leaf_codes(column, sensitive.domain.take(present))[places]
    return leaves


def _as_groups(
    groups: PartGroups, published: PublishedNodes, trees: Sequence[Hierarchy], which: NDArray[np.int32]
) -> DisguisedGroups:
    bases = np.cumsum([0, *(tree.num_nodes for tree in trees)])[:-1].astype(np.int32)
    of_entry = np.repeat(bases[which], np.diff(published.offsets))
    nodes = np.repeat(published.nodes + of_entry, published.counts)
    return DisguisedGroups(groups.rows, groups.offsets, nodes, np.append(0, np.cumsum(published.values())))


SHAPES: dict[str, Callable[[Hierarchy], Hierarchy]] = {"uniform": uniform, "normal": normal, "zipf": zipf}

SOURCE = "source"

_MOST_VALUES = 1 << 16
"""Exact shares of so many values take some ten seconds if they are equal, and minutes if they follow a bell."""

_SMALL = 10
"""Named shapes have ratios like 1000:1001, which keep everything at the root; sums of ten publish something."""


@dataclass(frozen=True, eq=False)
class Targets:
    """The different targets, the number of each group's, and the largest distance between asked and used."""

    trees: list[Hierarchy]
    which: NDArray[np.int32]
    distance: Fraction


@dataclass(frozen=True, eq=False)
class PartTargets:
    """The different targets, the number of each part's, and the largest distance between asked and used."""

    trees: list[Hierarchy]
    of_part: NDArray[np.int32]
    distance: Fraction


def choose_targets(
    target: Any, most: int | None, prepared: Prepared, parts: Parts, there: Ints, rows: Ints | None = None
) -> PartTargets:
    """Find the target of the parts that are `there`; `most` makes ratios small.

    With `rows` each line of the table stands for so many rows.
    """
    sensitive = prepared.table.encode(prepared.columns.sensitive[0])
    trees: list[Hierarchy] = []
    known: dict[Any, int] = {}
    of_part = np.full(len(parts.keys), -1, np.int32)
    furthest = Fraction(0)
    for part in there.tolist():
        wanted = _target_of(target, parts.keys[part])
        key = (SOURCE, part) if wanted == SOURCE else wanted if isinstance(wanted, str) else id(wanted)
        if key not in known:
            own = (parts.codes == part) * (1 if rows is None else rows)
            tree, distance = _tree(wanted, most, prepared, sensitive, own)
            known[key] = len(trees)
            trees.append(tree)
            furthest = max(furthest, distance)
        of_part[part] = known[key]
    return PartTargets(trees, of_part, furthest)


def _target_of(target: Any, key: Any) -> Any:
    if not isinstance(target, Mapping):
        return target
    if key not in target:
        raise ParameterError(f"'target' must name every part; {len(target)} are named, at least one is missing.")
    check_target(target[key])
    return target[key]


def _tree(
    wanted: Any, most: int | None, prepared: Prepared, sensitive: Encoded, rows: Ints
) -> tuple[Hierarchy, Fraction]:
    tree = wanted
    if isinstance(wanted, str):
        bare = default_tree(prepared, sensitive)
        tree = SHAPES[wanted](bare) if wanted in SHAPES else _own(bare, prepared.columns.sensitive[0], sensitive, rows)
        most = most or (_SMALL if wanted in SHAPES else None)
    else:
        tree = prepared.tree_in_form(prepared.columns.sensitive[0], wanted)
    if sum(share > 0 for share in tree.target()) < 2:
        raise Infeasible("a target with one possible value hides nothing; use a wider one.")
    if most is None:
        return tree, Fraction(0)
    small = quantize(tree, most=most)
    return small.hierarchy, small.distance


def _own(bare: Hierarchy, column: str, sensitive: Encoded, rows: Ints) -> Hierarchy:
    leaves = bare.leaf_codes(column, sensitive.domain)[sensitive.codes]
    return histogram(bare, np.bincount(leaves, rows, minlength=bare.num_leaves).astype(np.int64).tolist())


def one_column(prepared: Prepared, what: str) -> str:
    """The one sensitive column, without missing values, or a reason."""
    column = one_sensitive(prepared, f"{what} protects one sensitive column")
    if prepared.table.encode(column).has_missing:
        raise missing_error(column, "missing values, which are in no hierarchy;")
    return column


def default_tree(prepared: Prepared, sensitive: Encoded) -> Hierarchy:
    """The declared hierarchy, else a binary tree over the declared domain, else over the values that occur."""
    column = prepared.columns.sensitive[0]
    if column in prepared.schema.hierarchies:
        return prepared.schema.hierarchies[column]
    domain = prepared.schema.domains.get(column)
    is_listed = domain is not None and (domain.listed or None not in (domain.low, domain.high, domain.step))
    if domain is not None and is_listed:
        return Hierarchy.binary(domain)
    if len(sensitive.domain) > _MOST_VALUES:
        raise SchemaError(
            f"'{column}' has {len(sensitive.domain):,} different values, and exact shares are given to up to "
            f"{_MOST_VALUES:,}; declare a hierarchy or a domain with fewer values."
        )
    return Hierarchy.binary(sensitive.domain)


def check_target(target: object) -> None:
    """Refuse what is neither a hierarchy with weights nor the name of a shape."""
    if isinstance(target, Hierarchy) and target.weights is not None:
        return
    if not isinstance(target, str) or target not in (*SHAPES, SOURCE):
        raise ParameterError(f"'target' must be a hierarchy with weights or one of {', '.join((*SHAPES, SOURCE))}.")


@dataclass(frozen=True, eq=False)
class Parts:
    """The part of each row, and the keys by which targets are given: values of a column, or interval numbers."""

    codes: Ints
    keys: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class PartGroups:
    """Rows group after group, with the part of each group."""

    rows: NDArray[np.int32]
    offsets: Ints
    parts: Ints


def parts_of(table: Table, parts: str | Mapping[str, Sequence[Any]] | None, open_columns: Sequence[str]) -> Parts:
    """Cut a table into parts: by a column's values, by cut points ({column: cuts}), or not at all."""
    if parts is None:
        return Parts(np.zeros(table.num_rows, np.int64), (None,))
    column, cuts = (parts, None) if isinstance(parts, str) else _one_column(parts)
    if column not in open_columns:
        raise SchemaError(f"'parts' must name a column that is published as it is; '{column}' is none of them.")
    encoded = table.encode(column)
    values = [*encoded.domain.to_pylist(), *([None] if encoded.has_missing else [])]
    if cuts is None:
        return Parts(encoded.codes.astype(np.int64), tuple(values))
    if encoded.has_missing:
        raise SchemaError(f"'{column}' has missing values, which lie in no interval; cut another column.")
    places = np.array([_interval(value, cuts, column) for value in values], np.int64)
    return Parts(places[encoded.codes], tuple(range(len(cuts) + 1)))


def _one_column(parts: Mapping[str, Sequence[Any]]) -> tuple[str, Sequence[Any]]:
    if not isinstance(parts, Mapping) or len(parts) != 1:
        raise ParameterError("'parts' must be a column's name, or one column with its cut points: {'age': [30, 50]}.")
    ((column, cuts),) = parts.items()
    try:
        is_ascending = all(one < other for one, other in pairwise(cuts)) and all(cut == cut for cut in cuts)
    except TypeError:
        is_ascending = False
    if not is_ascending:
        raise ParameterError("the cut points of 'parts' must be a list of values that ascend and differ.")
    return column, cuts


def _interval(value: Any, cuts: Sequence[Any], column: str) -> int:
    try:
        return bisect_right(cuts, value)
    except TypeError:
        raise ParameterError(f"the cut points of 'parts' must be of the kind of '{column}'.") from None


def equal_quasi(table: Table, quasi: Sequence[str], parts: Parts) -> Ints:
    """Number the rows so that two rows agree exactly if their parts and quasi-identifiers do."""
    cells, size = parts.codes, len(parts.keys)
    for name in quasi:
        encoded = table.encode(name)
        cells = cells * encoded.size + encoded.codes
        size *= encoded.size
        if size > 2**40:
            found, cells = np.unique(cells, return_inverse=True)
            size = len(found)
    return cells


def group_rows(cells: Ints, parts: Parts) -> PartGroups:
    """Put rows with equal numbers next to each other."""
    if not cells.any():
        rows = np.arange(len(cells), dtype=np.int32)
        return PartGroups(rows, np.array([0, len(cells)]), parts.codes[:1])
    order = np.argsort(cells, kind="stable")
    ascending = cells[order]
    starts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
    return PartGroups(order.astype(np.int32), np.append(starts, len(cells)), parts.codes[order[starts]])
