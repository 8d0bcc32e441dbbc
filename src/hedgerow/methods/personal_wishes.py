"""Read what people asked for: the node of each row, from a label or a level, and their consent to be exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.criteria.target import is_exact
from hedgerow.errors import BrokenPromise, Infeasible, SchemaError
from hedgerow.methods.method import Prepared
from hedgerow.release import Release
from hedgerow.release.forms.disguised import DisguisedGroups
from hedgerow.schema.hierarchy import Hierarchy
from hedgerow.verify.personal import covering_nodes, spans
from hedgerow.verify.subdomains import Counts, trees_of

__all__ = ["check_nodes", "named_nodes", "require_consent"]


def named_nodes(prepared: Prepared, column: str, tree: Hierarchy, leaves: NDArray[np.int32]) -> NDArray[np.int32]:
    """The node that each person named: by its label, or by its level, 0 being the value itself."""
    _require_secret(prepared, column)
    wished = prepared.table.encode(column)
    if wished.has_missing:
        raise SchemaError(f"'{column}' has missing values; write the root's label for people who said nothing.")
    if pa.types.is_integer(wished.domain.type):
        return _by_level(tree, leaves, wished.domain.to_numpy()[wished.codes], column)
    if pa.types.is_string(wished.domain.type):
        return _by_label(tree, leaves, wished.domain.to_pylist(), wished.codes, column)
    raise SchemaError(f"'{column}' must hold labels of nodes or whole levels, 0 for the value itself.")


def _require_secret(prepared: Prepared, column: str) -> None:
    if column not in prepared.schema.identifier:
        raise SchemaError(f"'{column}' says where a value lies, so it must not be published: make it an identifier.")


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
        raise SchemaError(f"{outside} people name a node in '{column}' that their value is not below.")
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
            f"{silent} people name a node that hides nothing, and have not consented to be published exactly. Name the "
            "column of their consent, or raise their nodes."
        )


def check_nodes(release: Release, groups: DisguisedGroups, nodes: NDArray[np.int32]) -> None:
    """Raise unless the node that covers a group covers all that is possible below the node that each member named.

    `nodes` are in the order of the input, `groups` the groups before they got their secret numbers. Only the owner
    knows the nodes, so only the owner can run this.
    """
    trees = trees_of(release)
    sizes = np.diff(groups.offsets)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    pairs, numbers = np.unique(owner * len(trees.parents) + groups.nodes, return_counts=True)
    counts = Counts(pairs // len(trees.parents), pairs % len(trees.parents), numbers)
    tops = covering_nodes(counts, trees, len(sizes))[np.repeat(np.arange(len(sizes)), np.diff(groups.row_offsets))]
    # What the target rules out below a node is nobody's secret: a group need not reach there.
    first, last = spans(trees, trees.weights > 0)
    named = nodes[groups.rows]
    outside = int(((first[named] < first[tops]) | (last[named] > last[tops])).sum())
    if outside:
        raise BrokenPromise(f"{outside} people are in a group that reaches less far than the node that they named.")
