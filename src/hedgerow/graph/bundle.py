"""The door out for graphs: a grouped graph as a folder of Parquet files with a manifest.

The page inside a graph's bundle, for the person who receives it and has never heard of hedgerow.

A picture of a small grouped graph: nodes and edges as published, and beside each group the entities it may be.
"""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

from hedgerow._version import __version__
from hedgerow.errors import ParameterError
from hedgerow.graph.grouped import GroupedGraph, Side
from hedgerow.release.bundle import refuse_seeded
from hedgerow.release.folder import write_folder
from hedgerow.verify.graph import PublishedGraph, open_held, verify_graph, verify_graph_bundle
from hedgerow.verify.holding import Held, hold
from hedgerow.verify.manifest import GRAPH_FORMAT, GraphCounts, GraphManifest, encode
from hedgerow.verify.page import pages
from hedgerow.verify.values import FileEntry
from hedgerow.verify.words import page_words

__all__ = ["draw", "read", "read_held", "readme", "verify_graph", "verify_graph_bundle", "write"]


def write(
    release: GroupedGraph, path: str | os.PathLike[str], *, overwrite: bool = False, allow_insecure: bool = False
) -> None:
    """Write `release` to the folder `path`."""
    refuse_seeded(release.made, allow_insecure)
    write_folder(
        path,
        tables=release.tables,
        texts=pages(readme(release)),
        manifest=lambda files: encode(_describe(release, files)),
        overwrite=overwrite,
    )


def read(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> GroupedGraph:
    """Open a bundle; raise BundleError unless it is a whole and unedited grouped graph."""
    with hold(path) as bundle:
        return read_held(bundle, max_bytes=max_bytes)


def read_held(bundle: Held, *, max_bytes: int | None = None) -> GroupedGraph:
    """Read the grouped graph of a bundle that is held open."""
    found = open_held(bundle, max_bytes=max_bytes)
    return GroupedGraph(**{field.name: getattr(found, field.name) for field in fields(PublishedGraph)})


def _describe(release: GroupedGraph, files: dict[str, FileEntry]) -> GraphManifest:
    return GraphManifest(
        format=GRAPH_FORMAT,
        hedgerow=__version__,
        form="grouped graph",
        method=release.made.method,
        parameters=dict(release.made.parameters),
        guarantee=release.guarantee,
        keys=release.keys,
        group_columns=release.group_columns,
        columns=(tuple(release.tables["left"].column_names), tuple(release.tables["right"].column_names)),
        edge_columns=release.edge_columns,
        counts=GraphCounts(
            left=release.tables["left"].num_rows,
            right=release.tables["right"].num_rows,
            edges=release.edges,
            left_groups=release.left.groups,
            right_groups=release.right.groups,
        ),
        reproducible_insecure=release.made.reproducible,
        files=files,
    )


_PAGE = """\
# A protected graph

**What was done.** {left:,} left entities in {left_groups:,} groups, {right:,} right entities in {right_groups:,}
groups, {edges:,} links. The links are published exactly, but between numbered nodes; which node of a
group is which entity of that group is withheld.

{words}What is in this folder
- `left.parquet`, `right.parquet`: the entities as they were, each with its group (`{left_column}`, `{right_column}`)
- `left_nodes.parquet`, `right_nodes.parquet`: node numbers, each with its group
- `edges.parquet`: pairs of node numbers
- `manifest.json`: method, parameters, guarantee, counts, checksums
- `index.html`: this page for a browser

## How to ask
With hedgerow (`pip install hedgerow`):

    hedgerow graph query . "SELECT avg(degree) FROM left"
    hedgerow graph query . "SELECT count(*) FROM edges WHERE left.<column> = '...' AND right.<column> = '...'"
    hedgerow graph verify .

Every answer has a lower and an upper bound that hold for sure, and the expected value if every assignment inside a
group is equally likely. Questions about the graph alone (degrees, paths, components) are answered exactly by
`edges.parquet` with any tool. Do not join `left.parquet` to `left_nodes.parquet` on the group and read the rows
as facts: only the group is known.
"""


def readme(release: GroupedGraph) -> str:
    """Write the page for a release."""
    return _PAGE.format(
        left=release.tables["left"].num_rows,
        right=release.tables["right"].num_rows,
        edges=release.edges,
        left_groups=release.left.groups,
        right_groups=release.right.groups,
        words=page_words(release.guarantee),
        left_column=release.group_columns[0],
        right_column=release.group_columns[1],
    )


MOST = 40
"""More nodes a side cannot be read."""

_GAP = 0.8


def draw(release: GroupedGraph) -> Any:
    """Return a matplotlib figure of a release with at most 40 nodes a side."""
    from hedgerow.report.release_figures import COLOURS, new_figure

    sides = release.left, release.right
    if max(len(side.node_groups) for side in sides) > MOST:
        raise ParameterError(f"A picture shows at most {MOST} nodes a side; draw a smaller release.")
    height = 0.55 * max(len(side.node_groups) + _GAP * side.groups for side in sides) + 0.6
    figure, axes = new_figure(width=7.2, height=height)
    axes.set_axis_off()
    axes.grid(visible=False)
    tops = [_tops(side, sides) for side in sides]
    near = release.left.neighbours
    for v, w in zip(near.ends.tolist(), near.neighbours.tolist(), strict=True):
        axes.plot([1.0, 2.0], [tops[0][v], tops[1][w]], color="#888888", linewidth=1.0, zorder=1)
    for number, side in enumerate(sides):
        _draw_side(axes, side, tops[number], 1.0 + number, COLOURS[number])
    axes.set_xlim(-0.05, 3.05)
    axes.set_title(f"({release.k}, {release.l})-grouping: the edges are exact, who is which node of a group is secret")
    return figure


def _tops(side: Side, sides: tuple[Side, Side]) -> list[float]:
    """Where each node stands: a gap between groups, both sides equally tall."""
    tallest = max(len(other.node_groups) + _GAP * other.groups for other in sides)
    own = len(side.node_groups) + _GAP * side.groups
    return [-(node + _GAP * int(group)) * tallest / own for node, group in enumerate(side.node_groups)]


def _draw_side(axes: Any, side: Side, tops: list[float], x: float, colour: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    outwards = -1 if side.name == "left" else 1
    keys = side.entities.column(side.key).to_pylist()
    for group in range(side.groups):
        rows = [node for node, owner in enumerate(side.node_groups) if owner == group]
        low, high = tops[rows[-1]], tops[rows[0]]
        box = FancyBboxPatch((x - 0.09, low - 0.35), 0.18, high - low + 0.7, boxstyle="round,pad=0.02", zorder=0)
        box.set(facecolor="white", edgecolor=colour, linewidth=1.4)
        axes.add_patch(box)
        names = sorted(str(key) for key, owner in zip(keys, side.entity_groups, strict=True) if owner == group)
        place = {"ha": "right" if outwards < 0 else "left", "va": "center"}
        axes.text(x + 0.17 * outwards, (low + high) / 2, "{" + ", ".join(names) + "}", color=colour, **place)
        for node in rows:
            axes.plot([x], [tops[node]], "o", color=colour, markersize=7, zorder=3)
