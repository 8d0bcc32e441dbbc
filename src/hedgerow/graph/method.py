"""Safe (k,l)-groupings of a bipartite graph, and their entries in the owner's ledger.

Source     [Zhang 2008], chapter 4; entries: own, because of section 4.5
Guarantee  for any two entities at most one of max(k, l) of the assignments that fit the release joins them; r learned
           links leave all others in groups of at least k - r and l - r. A graph that was recorded is not published
           again by accident, and never as (k,1) beside (1,l)
Cost       near O(edges), and a sort of the edges

An entry holds a keyed hash of the graph with its k and l. The hash covers the keys of both sides and all edges, in no
order: the same graph from another file is the same graph. A graph with one edge changed has another hash and is not
recognized.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.arrays import Ints
from hedgerow.errors import Infeasible, ParameterError
from hedgerow.graph.adjacency import Order, check_order, check_size, side_by_side
from hedgerow.graph.bipartite import BipartiteGraph
from hedgerow.graph.form import check_no_names, check_no_structure, disguise_edges, group_graph
from hedgerow.graph.grouped import GroupedGraph
from hedgerow.graph.hubs import HUB_CHOICES, HubChoice, Hubs, Lowered, group_lowered, set_hubs_aside
from hedgerow.ledger import GraphEntry, Ledger
from hedgerow.ledger.ledger import Receipt, now
from hedgerow.ledger.store import lock
from hedgerow.markup import progress_or_notebook
from hedgerow.randomness import Keys, seeded_keys, system_keys, token
from hedgerow.release.release import Made
from hedgerow.verify.graph_words import graph_words
from hedgerow.verify.values import Guarantee

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class SafeGrouping:
    """Publish a graph with left groups of at least k nodes and right groups of at least l.

    `order` says which nodes come together: "random" (the default, because it favours no question), "degree" or
    "neighbourhood" (better answers to questions about degrees and larger groups, but they make the number of links of
    many entities certain), or "blurred" (nearly as large groups, and hardly any such number is certain). `strict`
    allows no sizes but k and k + 1, l and l + 1. With k = 1 or l = 1 one side is left as it is.

    `edge_k` is for graphs whose edges have columns: each combination of their values is shared by edges of as many
    left and as many right nodes; numbers and dates are published as intervals to reach that. 1 publishes them as they
    are. `hubs` says what becomes of nodes with so many links that no groups of these sizes exist: "refuse", "suppress"
    (they and their links are left out, and counted), "apart" (the same, and they are published in a table of their
    own with their number of links), or "lower" (all links are published, and neighbours of hubs have groups as large as
    counting allows; one end of each link is in a group of full size).
    """

    k: int
    l: int  # noqa: E741 - the paper's letter
    order: Order = "random"
    strict: bool = False
    edge_k: int = 1
    hubs: HubChoice = "refuse"

    def __post_init__(self) -> None:
        check_size("k", self.k)
        check_size("l", self.l)
        check_size("edge_k", self.edge_k)
        check_order(self.order)
        if self.hubs not in HUB_CHOICES:
            raise ParameterError(f"'hubs' must be one of {', '.join(map(repr, HUB_CHOICES))}.")
        if self.hubs == "lower" and min(self.k, self.l) == 1:
            raise ParameterError(
                "hubs=\"lower\" needs 'k' and 'l' of at least 2: one end of each link hides the other."
            )
        if self.k == self.l == 1:
            raise ParameterError("'k' or 'l' must be at least 2; a (1, 1)-grouping is the graph itself.")

    def publish(
        self,
        graph: BipartiteGraph,
        *,
        ledger: str | os.PathLike[str] | None = None,
        again: bool = False,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> GroupedGraph:
        """Group both sides, mask the nodes, audit the result and return it, or raise.

        `ledger` names the owner's file of what was published before: a second release of the same graph is refused
        unless `again` asks for it, and (k, 1) beside (1, l) is always refused. A `seed` makes the release reproducible,
        which undoes it for anyone who learns the seed.
        """
        progress = progress_or_notebook(progress)
        if ledger is not None:
            check_unpublished(Ledger.open(ledger), graph, self.k, self.l, again=again)
        # What both sides need is made at once, on two cores where the graph is large.
        side_by_side(graph.edges, lambda: graph.by_left.degrees, lambda: graph.by_right.degrees)
        check_no_structure(graph)
        check_no_names(graph)
        keys = system_keys if seed is None else seeded_keys(seed)
        progress("grouping", 0.1)
        kept, aside, found = self._group(graph, keys, progress)
        progress("masking", 0.6)
        parameters = self._parameters()
        if kept.values is not None and self.edge_k > 1:
            progress("disguising the columns of edges", 0.65)
            kept, intervals = disguise_edges(kept, self.edge_k)
            parameters |= {"intervals": ",".join(intervals)}
        made = Made("SafeGrouping", parameters, reproducible=seed is not None)
        stated = ({"edge_k": self.edge_k} if kept.values is not None else {}) | aside.counts | found.counts

        def guarantee(measured: Mapping[str, int]) -> Guarantee:
            return self.guarantee({**measured, **stated})

        release = group_graph(kept, *found.groupings, guarantee=guarantee, made=made, keys=keys)
        if self.hubs == "apart":
            release = replace(release, tables={**release.tables, **aside.tables(keys)})
        progress("auditing", 0.8)
        release.verify()
        # Raising from a progress callback here leaves no ledger entry: after recording no progress is reported.
        progress("done", 1.0)
        if ledger is not None:
            return replace(release, receipt=record_graph(ledger, graph, *found.least, again=again))
        return release

    def _group(self, graph: BipartiteGraph, keys: Keys, progress: Progress) -> tuple[BipartiteGraph, Hubs, Lowered]:
        """Group both sides; where that is not possible, set more and more hubs aside if they may be."""
        from hedgerow.graph.safe_grouping import group_both_sides

        sizes = (self.k, self.l)
        if self.hubs == "lower":
            left, right = (
                group_lowered(side, other, size, order=self.order, strict=self.strict, keys=keys)
                for side, other, size in (
                    (graph.by_left, graph.by_right, self.k),
                    (graph.by_right, graph.by_left, self.l),
                )
            )
            lowered = Lowered((left[0], right[0]), (left[1], right[1]), sizes)
            lowered.check_links(graph)
            return *set_hubs_aside(graph, self.k, self.l, 0), lowered
        for tightness in (0, 1, 2, 3, 4):
            kept, aside = set_hubs_aside(graph, self.k, self.l, tightness)
            try:
                found = group_both_sides(
                    kept.by_left,
                    kept.by_right,
                    sizes=sizes,
                    order=self.order,
                    strict=self.strict,
                    keys=keys,
                    progress=progress,
                )
            except Infeasible:
                if self.hubs == "refuse" or tightness == 4:
                    raise
                continue
            return kept, aside, Lowered(found, (0, 0), sizes)
        raise AssertionError("the last round raises")

    def guarantee(self, measured: Mapping[str, int] | None = None) -> Guarantee:
        """What a release of this method promises, and what it states about itself, where it was measured."""
        parameters: dict[str, int | str] = {"k": self.k, "l": self.l, **(measured or {})}
        return Guarantee("safe_grouping", parameters, ("left", "right"), *graph_words(parameters))

    def _parameters(self) -> dict[str, int | str]:
        chosen = {"k": self.k, "l": self.l, "order": self.order, "strict": int(self.strict)}
        return chosen | ({"hubs": self.hubs} if self.hubs != "refuse" else {})


Place = str | os.PathLike[str]


def check_unpublished(ledger: Ledger, graph: BipartiteGraph, k: int, l: int, *, again: bool = False) -> str:  # noqa: E741
    """Return the keyed hash of a graph that may be published, or raise Infeasible with the reason."""
    mark = _fingerprint(graph, ledger.key)
    for entry in ledger.entries:
        if isinstance(entry, GraphEntry) and entry.graph == mark:
            conflict((entry.k, entry.l), (k, l), again=again)
    return mark


def record_graph(path: Place, graph: BipartiteGraph, k: int, l: int, *, again: bool = False) -> Receipt:  # noqa: E741
    """Write a release into the ledger; check again, since others may have published meanwhile."""
    opened = Ledger.open(path)
    with lock(opened.path):
        ledger = Ledger.open(path)
        mark = check_unpublished(ledger, graph, k, l, again=again)
        receipt = Receipt(opened.path, token(4))
        ledger.write((*ledger.entries, GraphEntry(receipt.id, now(), mark, k, l)))
    return receipt


def conflict(before: tuple[int, int], now: tuple[int, int], *, again: bool) -> None:
    """Raise Infeasible if a graph that was published as (k, l) = `before` must not be published as `now`."""
    if (before[0] == 1 and now[1] == 1) or (before[1] == 1 and now[0] == 1):
        raise Infeasible(
            f"This graph was published as a ({before[0]}, {before[1]})-grouping; beside a ({now[0]}, "
            f"{now[1]})-grouping the shape of each node's surroundings joins the named left side of one to the named "
            f"right side of the other, and links become certain. Publish neither or one; a (k, l)-grouping of both "
            f"sides answers the same questions."
        )
    if not again:
        raise Infeasible(
            f"This graph was published before, as a ({before[0]}, {before[1]})-grouping. A second, independent "
            f"grouping can be joined to it by the shape of the graph, and an entity hides only among the nodes that "
            f"both allow. Reuse the first release, or ask for another one explicitly."
        )


def _fingerprint(graph: BipartiteGraph, key: bytes) -> str:
    digest = hmac.new(key, digestmod=hashlib.sha256)
    ranks = []
    for table, name in ((graph.left, graph.left_key), (graph.right, graph.right_key)):
        column = table.column(name)
        order = pc.sort_indices(column).to_numpy()
        # The length first, so that no two lists of keys run into each other.
        digest.update(len(column).to_bytes(8, "big"))
        for text in column.take(pa.array(order)).cast(pa.string()).to_pylist():
            digest.update(f"{len(text)}:{text}".encode())
        ranks.append(_inverse(order.astype(np.int64)))
    edges = np.sort(ranks[0][graph.left_ends] * graph.right.num_rows + ranks[1][graph.right_ends])
    digest.update(edges.astype("<i8").tobytes())
    return digest.hexdigest()


def _inverse(order: Ints) -> Ints:
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks
