"""Open any bundle: its manifest says whether it holds a table or a graph."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hedgerow.release.holding import hold, read_manifest
from hedgerow.release.seal import format_of

if TYPE_CHECKING:
    from hedgerow.graph import GroupedGraph
    from hedgerow.release import Release

__all__ = ["holds_graph", "open_bundle"]


def open_bundle(path: str | os.PathLike[str]) -> Release | GroupedGraph:
    """Open the bundle in the folder `path`; raise BundleError unless it is whole and unedited."""
    with hold(path) as bundle:
        if _is_graph(bundle.manifest):
            from hedgerow.graph.bundle import read_held as read_graph

            return read_graph(bundle)
        from hedgerow.release.bundle import read_held

        return read_held(bundle)


def holds_graph(path: str | os.PathLike[str]) -> bool:
    """Tell whether a bundle says that it holds a grouped graph; nothing else of it is checked."""
    return _is_graph(read_manifest(path))


def _is_graph(manifest: bytes) -> bool:
    return format_of(manifest).startswith("hedgerow-graph/")
