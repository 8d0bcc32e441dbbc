"""The door out for graphs: a grouped graph as a folder of Parquet files with a manifest.

The page inside a graph's bundle, for the person who receives it and has never heard of hedgerow.
"""

from __future__ import annotations

import os
from dataclasses import fields

from hedgerow._version import __version__
from hedgerow.graph.grouped import GroupedGraph
from hedgerow.release.bundle import refuse_seeded
from hedgerow.release.folder import write_folder
from hedgerow.verify.graph import HUBS, PublishedGraph, open_held, verify_graph, verify_graph_bundle
from hedgerow.verify.holding import Held, hold
from hedgerow.verify.manifest import GRAPH_FORMAT, GraphCounts, GraphManifest, encode
from hedgerow.verify.page import pages
from hedgerow.verify.values import FileEntry
from hedgerow.verify.words import page_words

__all__ = ["read", "read_held", "readme", "verify_graph", "verify_graph_bundle", "write"]


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
- `edges.parquet`: pairs of node numbers{edge_columns}{hubs}
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
        edge_columns=_edge_words(release),
        hubs=_hub_words(release),
        left_column=release.group_columns[0],
        right_column=release.group_columns[1],
    )


def _edge_words(release: GroupedGraph) -> str:
    if "edge_k" not in release.guarantee.parameters:
        return ""
    names = ", ".join(f"`{name}`" for name in release.edge_columns)
    return f", a row for each link{', with ' + names if names else ''}; a pair may occur several times"


def _hub_words(release: GroupedGraph) -> str:
    names = [name for name in HUBS if name in release.tables]
    if not names:
        return ""
    files = " and ".join(f"`{name}.parquet`" for name in names)
    return (
        f"\n- {files}: entities that were set aside, with their number of links; these links are not in `edges.parquet`"
    )
