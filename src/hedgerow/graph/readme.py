"""The page inside a graph's bundle, for the person who receives it and has never heard of hedgerow."""

from __future__ import annotations

from hedgerow.graph.grouped import GroupedGraph

__all__ = ["readme"]

_PAGE = """\
# A protected graph

**What was done.** {left:,} left entities in {left_groups:,} groups, {right:,} right entities in {right_groups:,}
groups, {edges:,} links. The links are published exactly, but between numbered nodes; which node of a
group is which entity of that group is withheld.

**What is promised.** {promise}

**Against whom.** {adversary}

**What is not promised.**
{not_promised}

## What is in this folder
- `left.parquet`, `right.parquet`: the entities as they were, each with its group (`{left_column}`, `{right_column}`)
- `left_nodes.parquet`, `right_nodes.parquet`: node numbers, each with its group
- `edges.parquet`: pairs of node numbers
- `manifest.json`: method, parameters, guarantee, counts, checksums

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
        promise=release.guarantee.promise,
        adversary=release.guarantee.adversary,
        not_promised="\n".join(f"- {sentence}" for sentence in release.guarantee.not_promised),
        left_column=release.group_columns[0],
        right_column=release.group_columns[1],
    )
