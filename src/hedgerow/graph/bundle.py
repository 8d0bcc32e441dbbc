"""Write and read bundles of grouped graphs: a folder of Parquet files with a manifest, and a README for its recipient.

Guarantee  every block of the README runs as it stands in the bundle's folder, and its bounds are those of
           hedgerow (tested: tests/graph/test_readme.py)

The question on that page is how many links the entities of one side have, by a column of theirs. Of the k nodes of a
group any a may be the a entities that have a value, so these have at least the a smallest numbers of links of its nodes
and at most the a largest.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import asdict, fields

import pyarrow.compute as pc

from hedgerow._version import __version__
from hedgerow.graph.grouped import GroupedGraph
from hedgerow.release.bundle import refuse_seeded
from hedgerow.release.folder import write_folder
from hedgerow.release.forms.example import Example, name_r, name_sql
from hedgerow.release.readme import EXAMPLE, has_own_names, in_code
from hedgerow.verify.graph import HUBS, SIDES, PublishedGraph, open_held, verify_graph, verify_graph_bundle
from hedgerow.verify.holding import Held, hold
from hedgerow.verify.manifest import GRAPH_FORMAT, GraphCounts, GraphManifest, encode
from hedgerow.verify.page import pages
from hedgerow.verify.values import FileEntry
from hedgerow.verify.words import page_fault, page_words

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


_PAGE = """\
# A protected graph

**What was done.** {left:,} left entities in {left_groups:,} groups, {right:,} right entities in {right_groups:,}
groups, {edges:,} links. The links are published exactly, but between numbered nodes; which node of a
group is which entity of that group is withheld.

{words}What is in this folder
- `left.parquet`, `right.parquet`: the entities as they were, each with its group ({group_columns})
- `left_nodes.parquet`, `right_nodes.parquet`: node numbers, each with its group
- `edges.parquet`: pairs of node numbers{edge_columns}{hubs}
- `manifest.json`: method, parameters, guarantee, counts, checksums
- `index.html`: this page for a browser

## How to ask
Every answer has a lower and an upper bound that hold for sure, and the expected value if every assignment inside a
group is equally likely. Questions about the graph alone (degrees, paths, components) are answered exactly by
`edges.parquet` with any tool. Do not join `left.parquet` to `left_nodes.parquet` on the group and read the rows
as facts: only the group is known.

With hedgerow (`pip install hedgerow`); the second command checks all that the files can show of the promise:

```sh
hedgerow graph query . {question}
hedgerow graph verify .
```
"""

_EXAMPLE = f"""{EXAMPLE}
With conditions on both sides look at pairs of groups: between a left group of k nodes, a of whose entities are asked
for, and a right group of l nodes, b of whose entities are, the c pairs that links join are of different nodes on both
sides. So at least max(0, a + b + c - k - l) and at most min(a, b, c) of them are asked for; hedgerow's bounds are never
wider than the sums of these.
"""


def readme(release: GroupedGraph) -> str:
    """Write the page for a release."""
    page = _with_example(release, example(release))
    return _with_example(release, None) if page_fault(page, release.guarantee) else page


def _with_example(release: GroupedGraph, shown: Example | None) -> str:
    question = "SELECT avg(degree) FROM left" if shown is None else shown.question
    page = _PAGE.format(
        left=release.tables["left"].num_rows,
        right=release.tables["right"].num_rows,
        edges=release.edges,
        left_groups=release.left.groups,
        right_groups=release.right.groups,
        words=page_words(release.guarantee),
        edge_columns=_edge_words(release),
        hubs=_hub_words(release),
        group_columns=", ".join(map(in_code, dict.fromkeys(release.group_columns))),
        question=shlex.quote(question),
    )
    return page + (_EXAMPLE.format(**asdict(shown)) if shown is not None else "")


def example(release: GroupedGraph) -> Example | None:
    """How many links the entities of a side have, by a column of theirs; None where no side has a column."""
    for number, side in enumerate(SIDES):
        entities, group = release.tables[side], release.group_columns[number]
        names = [name for name in entities.column_names if name not in (group, release.keys[number])]
        if names and has_own_names(entities.column_names):
            return _links(side, min(names, key=lambda name: pc.count_distinct(entities.column(name)).as_py()), group)
    return None


def _links(side: str, known: str, group: str) -> Example:
    ask, node = name_sql(known), f"{side}_node"
    return Example(
        f"how many links the {side} entities have, for each `{known}`: the a entities of a group that have a value are "
        "any a of its nodes, so that they have at least the a smallest numbers of links and at most the a largest",
        f"SELECT {side}.{ask} AS known, count(*) AS total FROM edges GROUP BY {side}.{ask}",
        f"""\
WITH known AS (SELECT {ask} AS known, {name_sql(group)} AS g, count(*) AS a FROM '{side}.parquet' GROUP BY 1, 2),
     links AS (SELECT n.node, n."group" AS g, count(e.{node}) AS d
               FROM '{side}_nodes.parquet' AS n LEFT JOIN 'edges.parquet' AS e ON e.{node} = n.node GROUP BY 1, 2),
     ranked AS (SELECT g, d, row_number() OVER (PARTITION BY g ORDER BY d) AS low,
                       row_number() OVER (PARTITION BY g ORDER BY d DESC) AS high FROM links)
SELECT known, sum(CASE WHEN low <= a THEN d ELSE 0 END) AS lower, sum(CASE WHEN high <= a THEN d ELSE 0 END) AS upper
FROM known JOIN ranked ON ranked.g = known.g
GROUP BY known ORDER BY known
""",
        f"""\
import pandas as pd

known = pd.read_parquet("{side}.parquet")[[{known!r}, {group!r}]].set_axis(["known", "g"], axis=1)
nodes = pd.read_parquet("{side}_nodes.parquet").set_index("node")["group"].rename("g").to_frame()
nodes["d"] = pd.read_parquet("edges.parquet")["{node}"].value_counts().reindex(nodes.index, fill_value=0)
nodes["low"] = nodes.groupby("g")["d"].rank(method="first")
nodes["high"] = nodes.groupby("g")["d"].rank(method="first", ascending=False)
known = known.groupby(["known", "g"], dropna=False).size().reset_index(name="a").merge(nodes, on="g")
known["lower"] = known["d"].where(known["low"] <= known["a"], 0)
known["upper"] = known["d"].where(known["high"] <= known["a"], 0)
answer = known.groupby("known", dropna=False)[["lower", "upper"]].sum().reset_index()
print(answer)
""",
        f"""\
library(arrow); library(dplyr)
known <- read_parquet("{side}.parquet") |>
  count(known = .data[[{name_r(known)}]], g = .data[[{name_r(group)}]], name = "a")
links <- count(read_parquet("edges.parquet"), node = {node}, name = "d")
read_parquet("{side}_nodes.parquet") |> rename(g = group) |> left_join(links, by = "node") |>
  mutate(d = coalesce(d, 0L)) |> group_by(g) |>
  mutate(low = row_number(d), high = row_number(desc(d))) |> ungroup() |>
  inner_join(known, by = "g", relationship = "many-to-many") |> group_by(known) |>
  summarise(lower = sum(d[low <= a]), upper = sum(d[high <= a]))
""",
    )


def _edge_words(release: GroupedGraph) -> str:
    if "edge_k" not in release.guarantee.parameters:
        return ""
    names = ", ".join(map(in_code, release.edge_columns))
    return f", a row for each link{', with ' + names if names else ''}; a pair may occur several times"


def _hub_words(release: GroupedGraph) -> str:
    names = [name for name in HUBS if name in release.tables]
    if not names:
        return ""
    files = " and ".join(f"`{name}.parquet`" for name in names)
    return (
        f"\n- {files}: entities that were set aside, with their number of links; these links are not in `edges.parquet`"
    )
