"""The recipe of a graph: its tables, the method and where the release goes; `hedgerow.recipe` reads and writes it.

output = "out"
ledger = "ledger.json"             # your record of what was published; leave it out to keep none

[graph]
left   = "authors.csv"             # leave left and right out where the edges are all there is
right  = "papers.csv"
edges  = "wrote.csv"
values = ["price"]                 # columns of the edges to publish with them; [] leaves all of them out

[method]
name = "safe-grouping"
k = 5
l = 5
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import msgspec

from hedgerow.errors import ParameterError

if TYPE_CHECKING:
    from hedgerow.graph.bipartite import BipartiteGraph
    from hedgerow.graph.method import SafeGrouping

METHOD = "safe-grouping"
_KEYS = ("left_key", "right_key")


class GraphSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The tables of a graph, and how edges are read; see `BipartiteGraph.read`."""

    edges: str
    left: str | None = None
    right: str | None = None
    left_key: str | None = None
    right_key: str | None = None
    edge_columns: tuple[str, str] | None = None
    values: list[str] | None = None
    repeats: str = "refuse"
    dangling: str = "refuse"

    @property
    def reading(self) -> dict[str, Any]:
        """What is said beside the names of the tables."""
        said: dict[str, Any] = msgspec.structs.asdict(self)
        usual = {"values": None, "repeats": "refuse", "dangling": "refuse"}
        return {
            name: value
            for name, value in said.items()
            if name not in ("edges", "left", "right") and value != usual.get(name)
        }

    def read(self) -> BipartiteGraph:
        """Read the graph."""
        from hedgerow.graph.bipartite import BipartiteGraph

        if self.left is None and self.right is None:
            reading = {name: value for name, value in self.reading.items() if name not in _KEYS}
            return BipartiteGraph.from_edges(self.edges, **reading)
        if self.left is None or self.right is None:
            raise ParameterError("Give three tables, LEFT RIGHT EDGES, or a table of EDGES alone.")
        return BipartiteGraph.read(self.left, self.right, self.edges, **self.reading)


class GraphRecipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A graph, a method with parameters, and where the release goes."""

    graph: GraphSource
    output: str
    method: dict[str, int | str | bool]
    ledger: str | None = None

    @property
    def method_name(self) -> str:
        """The short name of the method."""
        return str(self.method.get("name", ""))

    @property
    def parameters(self) -> dict[str, int | str | bool]:
        """What [method] says beside the name."""
        return {key: value for key, value in self.method.items() if key != "name"}

    def build_method(self) -> SafeGrouping:
        """Build the method that the recipe names."""
        from hedgerow.graph.method import SafeGrouping

        if self.method_name != METHOD:
            raise ParameterError(f'[method] of a graph needs name = "{METHOD}".')
        known = {"k", "l", "order", "strict", "edge_k", "hubs"}
        if unknown := sorted(set(self.parameters) - known):
            raise ParameterError(f"{METHOD} has no parameter '{unknown[0]}'; it has {', '.join(sorted(known))}.")
        if missing := [name for name in ("k", "l") if name not in self.parameters]:
            raise ParameterError(f"{METHOD} needs '{missing[0]}'.")
        given: dict[str, Any] = self.parameters
        return SafeGrouping(**given)


def graph_script(recipe: GraphRecipe, *, seed: int | None = None) -> str:
    """A Python script that publishes what the recipe says; with a `seed`, byte by byte the same each time."""
    source = recipe.graph
    tables = [repr(place) for place in (source.left, source.right, source.edges) if place is not None]
    reading = [f"{name}={value!r}" for name, value in source.reading.items()]
    publishing = [f"ledger={recipe.ledger!r}"] if recipe.ledger is not None else []
    publishing += [f"seed={seed}"] if seed is not None else []
    parameters = ", ".join(f"{name}={value!r}" for name, value in recipe.parameters.items())
    lines = [
        "import hedgerow as hr",
        "",
        f"graph = hr.graph.BipartiteGraph.{'read' if source.left else 'from_edges'}({', '.join(tables + reading)})",
        f"method = hr.graph.SafeGrouping({parameters})",
        f"release = method.publish({', '.join(['graph', *publishing])})",
        f"release.save({recipe.output!r}{', allow_insecure=True' if seed is not None else ''})",
    ]
    return "\n".join(lines) + "\n"


def graph_command(recipe: GraphRecipe, *, seed: int | None = None) -> str:
    """A line for a shell that publishes what the recipe says."""
    source, given = recipe.graph, recipe.parameters
    words = ["hedgerow", "graph", "publish"]
    words += [place for place in (source.left, source.right, source.edges) if place is not None]
    for name in ("left_key", "right_key", "repeats", "dangling"):
        if name in source.reading:
            words += [f"--{name.replace('_', '-')}", str(source.reading[name])]
    words += ["--edge-columns", *source.edge_columns] if source.edge_columns is not None else []
    words += ["--no-values"] if source.values == [] else []
    for name in source.values or []:
        words += ["--value", name]
    words += ["-k", str(given["k"]), "-l", str(given["l"])]
    for name in ("order", "edge_k", "hubs"):
        words += [f"--{name.replace('_', '-')}", str(given[name])] if name in given else []
    words += ["--strict"] if given.get("strict") else []
    words += ["--out", recipe.output]
    words += ["--ledger", recipe.ledger] if recipe.ledger is not None else []
    words += ["--seed", str(seed), "--allow-insecure"] if seed is not None else []
    return shlex.join(words)
