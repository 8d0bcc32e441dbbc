"""A bipartite graph: its tables, k and l on one page, kept in the recipe; then it is published like a table."""

from __future__ import annotations

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hedgerow.app.owner import absolute
from hedgerow.app.site import Form, Site, go, or_show
from hedgerow.errors import InputError
from hedgerow.graph.adjacency import ORDERS
from hedgerow.graph.recipe import METHOD, GraphRecipe, GraphSource

__all__ = ["GraphPages"]

_SIDES = ("left", "right", "edges")
_FIELDS = (*_SIDES, "values", "repeats", "dangling", "k", "l", "order", "hubs")


class GraphPages:
    """The page of graphs."""

    def __init__(self, site: Site) -> None:
        self.site, self.workspace = site, site.workspace

    def routes(self) -> list[Route]:
        """The page's address."""
        return [self.site.get("/graph", self.graph), self.site.post("/graph", self.choose)]

    def graph(self, request: Request, problem: str = "", given: Form | None = None) -> Response:
        """Which tables, how large groups are, and what that hides."""
        filled = {name: str((given or self._said()).get(name, "")) for name in _FIELDS}
        return self.site.page(
            "graph", request, status=422 if problem else 200, problem=problem, given=filled, orders=list(ORDERS)
        )

    def _said(self) -> dict[str, Any]:
        """What the recipe says, as the form shows it."""
        recipe = self.workspace.any_recipe()
        if not isinstance(recipe, GraphRecipe):
            return {}
        said = {name: getattr(recipe.graph, name) or "" for name in (*_SIDES, "repeats", "dangling")}
        values = recipe.graph.values
        return said | {"values": "" if values is None else ", ".join(values) or "-"} | recipe.parameters

    @or_show("graph")
    def choose(self, request: Request, form: Form) -> Response:
        """Read the graph, so that a mistake is told at once, and keep it in the recipe."""
        places: dict[str, Any] = {side: text for side in _SIDES if (text := str(form.get(side, "")).strip())}
        if "edges" not in places or len(places) == 2:
            raise InputError(self.site.texts["graph"]["none"])
        reading: dict[str, Any] = {name: text for name in ("repeats", "dangling") if (text := str(form.get(name, "")))}
        tables: dict[str, Any] = {side: absolute(place) for side, place in places.items()}
        source = GraphSource(**tables, **reading, values=_values(form))
        chosen = {name: value for name in ("k", "l", "order", "hubs") if (value := _parameter(form, name)) != ""}
        before = self.workspace.any_recipe()
        recipe = GraphRecipe(
            graph=source,
            output=self.workspace.free_output(),
            method={"name": METHOD, **chosen},
            ledger=str(self.workspace.folder / "ledger.json") if before is None else before.ledger,
        )
        recipe.build_method()
        self.workspace.source(recipe)
        self.workspace.change(str(form.get("version", "")), recipe)
        return go("/publish" if form.get("action") == "next" else "/graph")


def _values(form: Form) -> list[str] | None:
    """Columns of the edges to publish with them; a dash leaves all others out."""
    names = [name.strip() for name in str(form.get("values", "")).split(",") if name.strip()]
    return [] if names == ["-"] else names or None


def _parameter(form: Form, name: str) -> int | str:
    """A whole number, or the text that the method refuses by name."""
    text = str(form.get(name, "")).strip()
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else text
