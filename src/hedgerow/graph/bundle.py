"""Write and read bundles of grouped graphs: a folder of Parquet files with a manifest."""

from __future__ import annotations

import os
from dataclasses import fields

from hedgerow._version import __version__
from hedgerow.graph.grouped import GroupedGraph
from hedgerow.graph.readme import readme
from hedgerow.release.bundle import refuse_seeded
from hedgerow.release.folder import write_folder
from hedgerow.verify.graph import PublishedGraph, open_held, verify_graph, verify_graph_bundle
from hedgerow.verify.holding import Held, hold
from hedgerow.verify.manifest import GRAPH_FORMAT, GraphCounts, GraphManifest, encode
from hedgerow.verify.page import pages
from hedgerow.verify.values import FileEntry

__all__ = ["read", "read_held", "verify_graph", "verify_graph_bundle", "write"]


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
