"""The door out for graphs: a grouped graph as a folder of Parquet files with a manifest."""

from __future__ import annotations

import os

import msgspec

from hedgerow._version import __version__
from hedgerow.errors import BundleError
from hedgerow.graph.grouped import TABLES, GroupedGraph
from hedgerow.graph.readme import readme
from hedgerow.release.bundle import refuse_seeded
from hedgerow.release.folder import FileEntry, write_folder
from hedgerow.release.guarantee import Guarantee
from hedgerow.release.holding import Held, hold
from hedgerow.release.release import Made
from hedgerow.release.seal import format_of, seal, unseal

__all__ = ["FORMAT", "GraphManifest", "read", "read_held", "write"]

FORMAT = "hedgerow-graph/1"


class GraphCounts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many entities, groups and edges were published; none are suppressed."""

    left: int
    right: int
    edges: int
    left_groups: int
    right_groups: int


class GraphManifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything about a grouped graph except its rows. `checksum` covers the rest of the manifest."""

    format: str = FORMAT
    hedgerow: str = __version__
    form: str = "grouped graph"
    method: str
    parameters: dict[str, int | str]
    guarantee: Guarantee
    keys: tuple[str, str]
    group_columns: tuple[str, str]
    counts: GraphCounts
    reproducible_insecure: bool
    files: dict[str, FileEntry]
    checksum: str = ""


def write(
    release: GroupedGraph, path: str | os.PathLike[str], *, overwrite: bool = False, allow_insecure: bool = False
) -> None:
    """Write `release` to the folder `path`."""
    refuse_seeded(release.made, allow_insecure)
    write_folder(
        path,
        tables=release.tables,
        texts={"README.md": readme(release)},
        manifest=lambda files: seal(_describe(release, files)),
        overwrite=overwrite,
    )


def read(path: str | os.PathLike[str]) -> GroupedGraph:
    """Open a bundle; raise BundleError unless it is a whole and unedited grouped graph."""
    with hold(path) as bundle:
        return read_held(bundle)


def read_held(bundle: Held) -> GroupedGraph:
    """Read the grouped graph of a bundle that is held open."""
    if format_of(bundle.manifest).startswith("hedgerow/"):
        raise BundleError("The bundle holds a table, not a graph; `hedgerow query`, `verify` and `attack` take it.")
    manifest = unseal(bundle.manifest, GraphManifest, FORMAT)
    if missing := [name for name in TABLES if f"{name}.parquet" not in manifest.files]:
        raise BundleError(f"The bundle has no {missing[0]}.parquet.")
    tables = bundle.tables(manifest.files, [f"{name}.parquet" for name in TABLES])
    return GroupedGraph(
        tables={name: tables[f"{name}.parquet"] for name in TABLES},
        keys=manifest.keys,
        group_columns=manifest.group_columns,
        guarantee=manifest.guarantee,
        made=Made(manifest.method, manifest.parameters, reproducible=manifest.reproducible_insecure),
    )


def _describe(release: GroupedGraph, files: dict[str, FileEntry]) -> GraphManifest:
    return GraphManifest(
        method=release.made.method,
        parameters=dict(release.made.parameters),
        guarantee=release.guarantee,
        keys=release.keys,
        group_columns=release.group_columns,
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
