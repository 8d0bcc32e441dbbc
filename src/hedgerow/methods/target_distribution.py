"""Disguise the distribution of the sensitive column as a target distribution.

Source     [Zhang 2008], chapter 3
Guarantee  a subdomain of a group drawn at random, then a value from it by the target, follows exactly the target (with
           a shift factor: a distribution near it); grouping looks at no sensitive value
Cost       a counting pass, a pass over the distinct values, two shuffles; with fakes or a shift a program per group
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.criteria.target import read_shift
from hedgerow.errors import ParameterError
from hedgerow.exact import as_fraction, written
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.target_choice import (
    Grouped,
    Targets,
    check_target,
    choose_targets,
    equal_quasi,
    grouped,
    one_column,
    parts_of,
)
from hedgerow.partition.target.disguise import disguise
from hedgerow.partition.target.least_range import PublishedNodes
from hedgerow.release import Guarantee, Made, Release
from hedgerow.release.forms.disguised import DISGUISED, DisguisedGroups, disguised
from hedgerow.release.release import free_name
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.table import Encoded

__all__ = ["GROUPINGS", "TargetDistribution", "TargetPlan"]

GROUPINGS = ("all", "quasi")


@dataclass(frozen=True, eq=False)
class TargetPlan:
    """Groups with their targets; `leaves` are the leaf codes of the rows' values, group after group."""

    column: str
    groups: Grouped
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
        column = one_column(prepared, "a target distribution")
        sensitive = prepared.table.encode(column)
        parts = parts_of(prepared.table, self.parts, (*prepared.columns.quasi, *prepared.columns.plain))
        cells = parts.codes if self.grouping == "all" else equal_quasi(prepared.table, prepared.columns.quasi, parts)
        groups = grouped(cells, parts)
        targets = choose_targets(self.target, self.quantize, prepared, sensitive, parts, groups)
        return TargetPlan(column, groups, targets, _leaves(sensitive, column, targets.trees, targets.which, groups))

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        progress("counting", 0.1)
        plan = self.plan(prepared)
        column, groups, targets = plan.column, plan.groups, plan.targets
        progress("disguising", 0.3)
        published = plan.disguise(fakes=self._fakes(), shift=read_shift(self.shift))
        progress("permuting", 0.5)
        fakes = int(published.counts.sum()) - prepared.table.num_rows
        group_column = free_name("group", prepared.columns.all)
        return Release(
            form=DISGUISED,
            tables=disguised(
                prepared.table.arrow,
                prepared.columns,
                _as_groups(groups, published, targets.trees, targets.which),
                targets.trees,
                group_column=group_column,
                separate=self._fakes() > 0,
                is_shifted=read_shift(self.shift) > 0,
                keys=prepared.keys,
            ),
            columns=prepared.columns,
            group_column=group_column,
            guarantee=self._guarantee(column, fakes),
            rows=prepared.rows,
            groups=len(groups.parts),
            made=self._made(prepared, targets),
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
            parameters={"shift": written(shift), "fakes": fakes},
            columns=(column,),
        )

    def _made(self, prepared: Prepared, targets: Targets) -> Made:
        said = self.target if isinstance(self.target, str) else "given"
        parameters: dict[str, int | str] = {"target": said, "targets": len(targets.trees), "grouping": self.grouping}
        parameters |= {"parts": self.parts if isinstance(self.parts, str) else ",".join(self.parts or ())}
        parameters |= {"fakes": written(self._fakes()), "shift": written(read_shift(self.shift))}
        parameters |= {"quantize": self.quantize or 0, "distance_asked_used": f"{float(targets.distance):.6g}"}
        return prepared.made("TargetDistribution", parameters)


def _leaves(
    sensitive: Encoded, column: str, trees: Sequence[Hierarchy], which: NDArray[np.int32], groups: Grouped
) -> NDArray[np.int32]:
    """The leaf of each row's value in the tree of its group, group after group."""
    codes = sensitive.codes[groups.rows]
    if len(trees) == 1:
        return trees[0].leaf_codes(column, sensitive.domain)[codes]
    of_row = np.repeat(which, np.diff(groups.offsets))
    order = np.argsort(of_row, kind="stable")
    leaves = np.empty(len(codes), np.int32)
    for tree, rows in zip(trees, np.split(order, np.cumsum(np.bincount(of_row))[:-1]), strict=True):
        present, places = np.unique(codes[rows], return_inverse=True)
        leaves[rows] = tree.leaf_codes(column, sensitive.domain.take(present))[places]
    return leaves


def _as_groups(
    groups: Grouped, published: PublishedNodes, trees: Sequence[Hierarchy], which: NDArray[np.int32]
) -> DisguisedGroups:
    bases = np.cumsum([0, *(tree.num_nodes for tree in trees)])[:-1].astype(np.int32)
    of_entry = np.repeat(bases[which], np.diff(published.offsets))
    nodes = np.repeat(published.nodes + of_entry, published.counts)
    return DisguisedGroups(groups.rows, groups.offsets, nodes, np.append(0, np.cumsum(published.values())))
