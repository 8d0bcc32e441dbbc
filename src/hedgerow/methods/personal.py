"""Personalized privacy: everybody names the node of a hierarchy inside which nothing may be learned about them.

Source     [Zhang 2008], chapter 5
Guarantee  inside the node that a person named, the probabilities that a group implies are in the ratio of the target's
Cost       one pass for one group; the two searches grow with the number of different wishes and nodes
Deviates   groups are sought by four partitions and merged where that costs less; for each domain that has nothing to
           do with the others the cheapest is kept. No optimal algorithm is known

Read what people asked for: the node of each row, from a label or a level, and their consent to be exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Ints, distinct
from hedgerow.criteria.target import is_exact, possible_node
from hedgerow.errors import BrokenPromise, Infeasible, ParameterError, SchemaError, counted
from hedgerow.methods.method import Method, Prepared, Progress
from hedgerow.methods.target_distribution import (
    SHAPES,
    check_target,
    default_tree,
    equal_quasi,
    group_rows,
    one_column,
    parts_of,
)
from hedgerow.partition.personal import (
    Bundle,
    Wishes,
    merge_groups,
    one_group,
    one_groups,
    personal_bottom_up,
    personal_top_down,
    split_by_domain,
    total_cost,
)
from hedgerow.partition.shuffles import deal
from hedgerow.release import Guarantee, Release
from hedgerow.release.forms.disguised import DISGUISED, DisguisedGroups, publish_disguised
from hedgerow.release.release import free_name
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.verify.target import Counts, covering_nodes, spans, trees_of

PARTITIONS: dict[str, Callable[[Wishes], list[Bundle]]] = {
    "one": one_group,
    "top_down": personal_top_down,
    "bottom_up": personal_bottom_up,
}
_MOST_SEARCHED = 400_000
"""Wishes that differ times nodes of the tree up to which the searches are tried: about a minute."""


@dataclass(frozen=True)
class Personal(Method):
    """Publish subdomains that respect the node that each person named.

    - `node_column`: the label of each person's node, or its level (0 is the value itself); its role is identifier
    - `target`: as in `TargetDistribution`, for the whole table; "uniform" by default, as in the paper
    - `partition`: "cheapest", the default, or one of "one", "quasi", "top_down", "bottom_up". "one" reveals
      less to an attacker who knows the algorithm. For 1,000 people drawn from the target both gave the true value the
      promised 19 % on average; "cheapest" gave half as much again to 0.3 % of them (Adult's occupations: 23 % by
      "cheapest", 21 % by "one", 19 % promised). "one" is not the default because bounds on Adult are then 232 % of the
      truth instead of 138 % (docs/choosing.md)
    - `consent`: the column (of role identifier) in which people agree to be published exactly; True where the publisher
      vouches for all of them. Without consent nobody's node may be a single value
    """

    hierarchy_roles: ClassVar[tuple[str, ...]] = ("sensitive",)

    node_column: str
    target: Any = "uniform"
    partition: str = "cheapest"
    consent: str | bool = False

    def __post_init__(self) -> None:
        check_target(self.target)
        if self.target == "source":
            raise ParameterError("'target' must not be the table's own distribution: it would reveal what it hides.")
        if self.partition not in ("cheapest", "quasi", *PARTITIONS):
            raise ParameterError(f"'partition' must be one of cheapest, quasi, {', '.join(PARTITIONS)}.")

    def _release(self, prepared: Prepared, progress: Progress) -> Release:
        column = one_column(prepared, "personalized privacy")
        sensitive = prepared.table.encode(column)
        tree = (
            SHAPES[self.target](default_tree(prepared, sensitive))
            if isinstance(self.target, str)
            else prepared.tree_in_form(column, self.target)
        )
        leaves = tree.leaf_codes(column, sensitive.domain)[sensitive.codes]
        nodes = named_nodes(prepared, self.node_column, tree, leaves)
        require_consent(prepared, self.consent, tree, nodes)
        progress("grouping", 0.2)
        nodes = possible_node(tree)[nodes]
        kinds, places = _kinds(leaves, nodes, tree)
        bundles, chosen = self._bundles(prepared, kinds, places)
        progress("permuting", 0.6)
        groups = _as_groups(bundles, places, prepared)
        release = self._make_release(prepared, groups, tree, chosen)
        check_nodes(release, groups, nodes)
        return release

    def _bundles(self, prepared: Prepared, kinds: Wishes, places: Ints) -> tuple[list[Bundle], str]:
        if self.partition == "quasi":
            return _by_quasi(prepared, kinds, places), "quasi"
        work = len(kinds.leaves) * kinds.tree.num_nodes
        if self.partition in ("top_down", "bottom_up") and work > _MOST_SEARCHED:
            raise ParameterError(
                f"The search '{self.partition}' would look at {work:,} pairs of a wish and a node, and up to "
                f"{_MOST_SEARCHED:,} take about a minute; choose the partition 'one' or 'quasi', or a coarser tree."
            )
        if self.partition != "cheapest":
            return PARTITIONS[self.partition](kinds), self.partition
        return cheapest(kinds, _by_quasi(prepared, kinds, places))

    def _make_release(self, prepared: Prepared, groups: DisguisedGroups, tree: Hierarchy, chosen: str) -> Release:
        column = prepared.columns.sensitive[0]
        group_column = free_name("group", prepared.columns.all)
        tables = publish_disguised(
            prepared.table, prepared.columns, groups, [tree], group_column=group_column, keys=prepared.keys
        )
        exact = _count_exact(groups, tree)
        parameters: dict[str, int | str] = {
            "partition": chosen,
            "asked": self.partition,
            "node_column": self.node_column,
        }
        parameters["target"] = self.target if isinstance(self.target, str) else "given"
        return Release(
            form=DISGUISED,
            tables=tables,
            columns=prepared.columns,
            group_column=group_column,
            guarantee=Guarantee(
                criterion="personal",
                parameters={"exact": exact},
                columns=(column,),
            ),
            rows=prepared.rows,
            groups=len(groups.offsets) - 1,
            made=prepared.provenance("Personal", parameters),
            kind=prepared.table.kind,
        )


def cheapest(wishes: Wishes, by_quasi: Sequence[Bundle]) -> tuple[list[Bundle], str]:
    """For each domain apart from the others the cheapest partition, merged; by quasi-identifiers if that costs less."""
    is_small = len(wishes.leaves) * wishes.tree.num_nodes <= _MOST_SEARCHED
    tried = PARTITIONS if is_small else {"one": one_group}
    best: list[Bundle] = []
    names: set[str] = set()
    for _, inside in split_by_domain(wishes):
        found = {name: merge_groups(partition(inside), inside) for name, partition in tried.items()}
        name = min(found, key=lambda name: total_cost(found[name], wishes.tree))
        best += found[name]
        names.add(name)
    if total_cost(by_quasi, wishes.tree) < total_cost(best, wishes.tree):
        return list(by_quasi), "quasi"
    return best, "+".join(sorted(names))


def _kinds(leaves: NDArray[np.int32], nodes: NDArray[np.int32], tree: Hierarchy) -> tuple[Wishes, Ints]:
    """The different wishes, and the number of each row's."""
    pairs, places = distinct(leaves.astype(np.int64) * tree.num_nodes + nodes)
    return Wishes(tree, pairs // tree.num_nodes, pairs % tree.num_nodes, np.bincount(places)), places


def _by_quasi(prepared: Prepared, kinds: Wishes, places: Ints) -> list[Bundle]:
    parts = parts_of(prepared.table, None, ())
    cells = group_rows(equal_quasi(prepared.table, prepared.columns.quasi, parts), parts)
    # Cells with the same wishes are generalized alike: where every row is a cell there are few kinds of them.
    alike = Counter(np.sort(places[rows]).tobytes() for rows in np.split(cells.rows, cells.offsets[1:-1]))
    sets = [dict(Counter(np.frombuffer(cell, places.dtype).tolist())) for cell in alike]
    found = one_groups(kinds, sets)
    return [
        replace(bundle, times=times)
        for times, together in zip(alike.values(), found, strict=True)
        for bundle in together
    ]


def _as_groups(bundles: Sequence[Bundle], places: Ints, prepared: Prepared) -> DisguisedGroups:
    """Deal the rows to groups at random; bundles of many groups alike become many groups."""
    first = np.cumsum([0, *(bundle.times for bundle in bundles)]).tolist()
    pieces = [
        (np.full(bundle.times, wish), np.arange(start, start + bundle.times), np.full(bundle.times, people))
        for start, bundle in zip(first, bundles, strict=False)
        for wish, people in bundle.members.items()
    ]
    wishes, numbers, people = (np.concatenate(column) for column in zip(*pieces, strict=True))
    order = np.lexsort((numbers, wishes))
    rows, row_offsets = deal(
        places.astype(np.int32),
        wishes[order].astype(np.int32),
        numbers[order].astype(np.int32),
        people[order],
        keys=prepared.keys,
    )
    nodes = [np.tile(np.repeat(list(one.published), list(one.published.values())), one.times) for one in bundles]
    return DisguisedGroups(rows, row_offsets, np.concatenate(nodes).astype(np.int32), row_offsets)


def _count_exact(groups: DisguisedGroups, tree: Hierarchy) -> int:
    """People in groups that a node without a choice covers."""
    starts, sizes = groups.offsets[:-1], np.diff(groups.offsets)
    low = np.minimum.reduceat(tree.low[groups.nodes], starts)
    high = np.maximum.reduceat(tree.high[groups.nodes], starts)
    tops = groups.nodes[starts]
    while (short := (tree.low[tops] > low) | (tree.high[tops] < high)).any():
        tops = np.where(short, tree.parents[tops], tops)
    return int(sizes[is_exact(tree)[tops]].sum())


def named_nodes(prepared: Prepared, column: str, tree: Hierarchy, leaves: NDArray[np.int32]) -> NDArray[np.int32]:
    """The node that each person named: by its label, or by its level, 0 being the value itself."""
    _require_secret(prepared, column)
    wished = prepared.table.encode(column)
    if wished.has_missing:
        raise SchemaError(f"'{column}' has missing values; write the root's label for people who said nothing.")
    if pa.types.is_integer(wished.domain.type):
        return _by_level(tree, leaves, wished.domain.to_numpy()[wished.codes], column)
    if pa.types.is_string(wished.domain.type):
        labels = prepared.in_form(prepared.columns.sensitive[0], wished.domain.to_pylist())
        return _by_label(tree, leaves, labels, wished.codes, column)
    raise SchemaError(f"'{column}' must hold labels of nodes or whole levels, 0 for the value itself.")


def _require_secret(prepared: Prepared, column: str) -> None:
    if column not in prepared.schema.identifier:
        raise SchemaError(f"'{column}' reveals where a value lies, so it must not be published: make it an identifier.")


def _by_level(tree: Hierarchy, leaves: NDArray[np.int32], levels: NDArray[Any], column: str) -> NDArray[np.int32]:
    if levels.min() < 0 or levels.max() > tree.height:
        raise SchemaError(f"the levels in '{column}' must lie between 0 and {tree.height}, the root.")
    nodes = np.empty(len(leaves), np.int32)
    for level in np.unique(levels).tolist():
        nodes[levels == level] = tree.recode(level)[leaves[levels == level]]
    return nodes


def _by_label(
    tree: Hierarchy, leaves: NDArray[np.int32], labels: list[str], codes: NDArray[np.int32], column: str
) -> NDArray[np.int32]:
    # Of nodes with one label, which lie above each other, the widest is meant.
    numbers = {label: node for node, label in enumerate(tree.labels)}
    unknown = sum(label not in numbers for label in labels)
    if unknown:
        raise SchemaError(f"{unknown} labels in '{column}' are no nodes of the hierarchy.")
    nodes = np.array([numbers[label] for label in labels], np.int32)[codes]
    outside = int(((leaves < tree.low[nodes]) | (leaves >= tree.high[nodes])).sum())
    if outside:
        raise SchemaError(
            f"{counted(outside, 'person names', 'people name')} a node in '{column}' that their value is not below."
        )
    return nodes


def require_consent(prepared: Prepared, consent: str | bool, tree: Hierarchy, nodes: NDArray[np.int32]) -> None:
    """Refuse people who would be published exactly without having said so."""
    exact = is_exact(tree)[nodes]
    if consent is True or not exact.any():
        return
    agreed = np.zeros(len(nodes), bool)
    if isinstance(consent, str):
        _require_secret(prepared, consent)
        column = prepared.table.arrow.column(consent)
        if not pa.types.is_boolean(column.type) or column.null_count:
            raise SchemaError(f"'{consent}' must hold true or false for every person.")
        agreed = column.to_numpy()
    silent = int((exact & ~agreed).sum())
    if silent:
        raise Infeasible(
            f"{counted(silent, 'person names', 'people name')} a node that hides nothing, without "
            f"having consented to be published exactly. Name the "
            "column of their consent, or raise their nodes."
        )


def check_nodes(release: Release, groups: DisguisedGroups, nodes: NDArray[np.int32]) -> None:
    """Raise unless the node that covers a group covers all that is possible below the node that each member named.

    `nodes` are in the order of the input, `groups` the groups before they got their secret numbers. Only the owner
    knows the nodes, so only the owner can run this.
    """
    trees = trees_of(release.published)
    sizes = np.diff(groups.offsets)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    pairs, places = distinct(owner * len(trees.parents) + groups.nodes)
    counts = Counts(pairs // len(trees.parents), pairs % len(trees.parents), np.bincount(places))
    tops = covering_nodes(counts, trees, len(sizes))[np.repeat(np.arange(len(sizes)), np.diff(groups.row_offsets))]
    # Values that the target rules out need not be covered by the group.
    first, last = spans(trees, trees.weights > 0)
    named = nodes[groups.rows]
    outside = int(((first[named] < first[tops]) | (last[named] > last[tops])).sum())
    if outside:
        raise BrokenPromise(
            f"{counted(outside, 'person is', 'people are')} in a group that covers less than the node that they named."
        )
